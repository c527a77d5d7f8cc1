#!/bin/sh
# sum.sh LOG...: of pieces that have run (piece.sh), which were red, and alone on the last line `N passed, M failed`.
good=0 bad=0 left=0
for log; do
  read -r passed failed skipped < "$log.counts" || { echo "$log: it did not run"; passed=0 failed=1 skipped=0; }
  [ "$failed" = 0 ] || echo "RED $(basename "$log" .log): $log"
  good=$((good + passed)) bad=$((bad + failed)) left=$((left + skipped))
done
[ $left = 0 ] && left= || left=", $left skipped"
echo "$good passed, $bad failed$left"
[ $bad = 0 ] && [ $good -gt 0 ]
