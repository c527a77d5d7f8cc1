#!/bin/sh
# make stage=S reproduce-bug: each bug's fingerprint in the build that has it, then its absence in the fixed build.
#   reproduce.sh STAGE DIR:BUG=BUG_LAB=FIXED_LAB ...
# Exit status 0 only if every fingerprint showed and no fixed build shows it.
stage=$1; shift
good=0; bad=0; hidden=0
for entry in "$@"; do
  pair=${entry%%=*}; labs=${entry#*=}; bug=${pair#*:}
  echo "----------------------------------------------------------------------------------------"
  "${labs%%=*}" fingerprint "$bug"; planted=$?
  "${labs#*=}" fingerprint "$bug"; fixed=$?
  if [ $planted -eq 3 ] && [ $fixed -eq 3 ] && "${labs#*=}" once 1 1 1 64 | grep -q '^skipped: '; then
    hidden=$((hidden + 1)); echo "  RESULT:    skipped: this GPU cannot run the stage; backend=cpu shows it"
  elif [ $planted -eq 3 ] && [ $fixed -ne 1 ]; then  # only on a GPU, where nobody chooses the schedule
    hidden=$((hidden + 1)); echo "  RESULT:    hidden on this GPU; backend=cpu shows it"
  elif [ $planted -eq 0 ] && { [ $fixed -eq 0 ] || [ $fixed -eq 3 ]; }; then
    good=$((good + 1)); said="reproduced, and gone in the fixed build"
    case " $(sh common/stages.sh conf "${pair%%:*}" harmless) " in *" $bug "*) said="no bug: with it or without it, nothing is wrong" ;; esac
    echo "  RESULT:    $said"
  else
    bad=$((bad + 1)); echo "  RESULT:    NOT as predicted"
  fi
  echo "  again:     make stage=$stage reproduce-bug bug=$bug"
  echo "  read:      writeups/bugs/$bug.md"
done
echo "----------------------------------------------------------------------------------------"
if [ $hidden -gt 0 ]; then echo "$good passed, $bad failed, $hidden skipped"; else echo "$good passed, $bad failed"; fi
[ "$bad" -eq 0 ] && [ $((good + hidden)) -gt 0 ]
