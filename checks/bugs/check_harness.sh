#!/bin/sh
# make check-harness: the acceptance must go red on every planted bug, or it proves nothing when it is green.
#   check_harness.sh DIR:BUG=LAB ...
# A change listed as `harmless` in its stage.conf must stay green: it turned out to be no bug. One listed as `lucky` may stay
# green on a GPU, and is then not counted: the CPU, which runs several orders and layouts, turns it red.
good=0; bad=0; skipped=0
listed() { case " $(sh common/stages.sh conf "$dir" "$1") " in *" $bug "*) return 0 ;; esac; return 1; }
mkdir -p build/logs
for entry in "$@"; do
  pair=${entry%%=*}; lab=${entry#*=}; dir=${pair%%:*}; bug=${pair#*:}
  log=build/logs/check-harness-$dir-$bug.log
  "$lab" test quick=1 > "$log" 2>&1; status=$?
  want=1; word=red
  listed harmless && want=0 && word=green
  why=$(grep -m1 -E '^ *(FAIL|RED|red|!)' "$log" | cut -c1-100)
  if [ "$status" -eq 3 ] && grep -q '^skipped: ' "$log"; then
    skipped=$((skipped + 1)); printf '%-20s %-22s %s\n' "$dir" "$bug" "$(grep -m1 '^skipped: ' "$log")"
  elif [ "$status" -eq 0 ] && [ "${lab#build/gpu/}" != "$lab" ] && listed lucky; then
    printf '%-20s %-22s green: this GPU hides it; not counted; make backend=cpu check-harness shows it\n' "$dir" "$bug"
  elif [ "$status" -eq "$want" ]; then
    good=$((good + 1)); printf '%-20s %-22s %s, as it must be  %s\n' "$dir" "$bug" "$word" "$why"
  else
    bad=$((bad + 1)); printf '%-20s %-22s exit %s, but it must be %s: see %s\n' "$dir" "$bug" "$status" "$word" "$log"
  fi
done
if [ $skipped -gt 0 ]; then echo "$good passed, $bad failed, $skipped skipped"; else echo "$good passed, $bad failed"; fi
[ "$bad" -eq 0 ] && [ $((good + skipped)) -gt 0 ]
