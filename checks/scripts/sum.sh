#!/bin/sh
# sum.sh LOG...: of pieces that have run (piece.sh), which were red, and alone on the last line `N passed, M failed`.
for log; do
  read -r passed failed skipped < "$log.counts" || { echo "$log: it did not run"; failed=1; }
  [ "$failed" = 0 ] || echo "RED $(basename "$log" .log): $log"
done
cat $(printf '%s.counts\n' "$@") | awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""; exit f || !p }'
