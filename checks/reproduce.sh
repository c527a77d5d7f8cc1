#!/bin/sh
# make stage=S reproduce-bug: each bug's fingerprint in the build that has it, then its absence in the fixed build.
#   reproduce.sh STAGE DIR:BUG=BUG_LAB=FIXED_LAB ...
# Exit status 0 only if every fingerprint showed and no fixed build shows it.
stage=$1; shift
good=0; bad=0
for entry in "$@"; do
  pair=${entry%%=*}; labs=${entry#*=}; bug=${pair#*:}
  echo "----------------------------------------------------------------------------------------"
  if "${labs%%=*}" fingerprint "$bug" && "${labs#*=}" fingerprint "$bug"; then
    good=$((good + 1)); echo "  RESULT:    reproduced, and gone in the fixed build"
  else
    bad=$((bad + 1)); echo "  RESULT:    NOT as predicted"
  fi
  echo "  again:     make stage=$stage reproduce-bug bug=$bug"
  echo "  read:      writeups/bugs/$bug.md"
done
echo "----------------------------------------------------------------------------------------"
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
