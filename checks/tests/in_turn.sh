#!/bin/sh
# in_turn.sh N NAME...: N of the names, another day the next N, so that all have their turn. DAY=K chooses the day, counted from 1970.
set -u
n=$1; shift
day=${DAY:-$(($(date +%s) / 86400))}
for i in $(seq 0 $((n - 1))); do
  at=$(((day * n + i) % $# + 1))
  eval "echo \${$at}"
done
