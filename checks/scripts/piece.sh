#!/bin/sh
# piece.sh LOG BACKEND: a piece of make test or of CI, named as its log is; MAKE is in the environment. It has forty minutes. Prints a
# line: what it counted, or that it failed, and then where and how its log ends. `PASSED FAILED SKIPPED` goes into LOG.counts.
log=$1 name=$(basename "$1" .log) make="$MAKE backend=$2"
case $name in
  acceptance-*) set -- $make stage="${name#*-}" test ;;
  bugs-*) set -- $make stage="${name#*-}" reproduce-bug ;;
  bits) set -- $make bits quick=1 ;;
  writeups|evolve|plots) set -- $make $name check=1 ;;
  sanitize) set -- $make sanitize check=quick ;;
  wmma-layout) set -- $make probe what=wmma ;;
  exercises) set -- sh checks/exercises/learn/prove.sh quick ;;
  all-exercises) set -- sh checks/exercises/learn/prove.sh rest ;;
  exercise-scripts) set -- sh checks/tests/exercises.sh ;;
  patches) set -- sh checks/scripts/patches.sh ;;
  nvidia-tools) set -- sh checks/tests/nvidia_tools.sh ;;
  words) set -- sh checks/tests/words.sh ;;
  plain-cuda) set -- sh checks/tests/plain.sh ;;
  resources) command -v nvcc > /dev/null && set -- $make resources || set -- echo "0 passed, 0 failed, 1 skipped: there is no nvcc" ;;
  format) command -v clang-format-14 > /dev/null && set -- sh checks/scripts/format.sh check || set -- echo "0 passed, 0 failed, 1 skipped: there is no clang-format-14" ;;
  clean-tree) set -- sh -c 'dirty=$(git status --porcelain); echo "$dirty"; [ -z "$dirty" ] && echo "1 passed, 0 failed"' ;;
  *) set -- $make $name ;;
esac
mkdir -p "$(dirname "$log")"
begun=$(date +%s)
timeout --kill-after=5 2400 sh checks/scripts/alone.sh "$@" > "$log" 2>&1 < /dev/null
status=$?
[ $status != 124 ] || echo "stopped: still running after 40 minutes" >> "$log"
# The last line that counts; a piece without one is red: it may have done nothing. A status that says otherwise is believed.
awk -v status=$status '
  /^[0-9]+ passed, [0-9]+ failed/ { passed = $1; failed = $3; skipped = $6 ~ /^skipped/ ? $5 : 0; counts = 1 }
  END {
    if (!counts) { passed = 0; failed = 1 }
    if (status && !failed && !(passed == 0 && skipped)) failed = 1
    print passed + 0, failed + 0, skipped + 0
  }' "$log" > "$log.counts"
read -r passed failed skipped < "$log.counts"
printf '%-34s %4d passed %3d failed %5d s\n' "$name" "$passed" "$failed" $(($(date +%s) - begun))
[ "$failed" = 0 ] || { echo "    $log ends:"; tail -25 "$log" | sed 's/^/    /'; }
