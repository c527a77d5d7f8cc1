#!/bin/sh
# make test: the lab's own tests, every stage's acceptance, every bug's fingerprint, the proof that the acceptance can fail,
# and the race check of every correct stage. Prints a line a piece (the whole logs are in build/logs) and, alone on the last
# line, `N passed, M failed`.
set -u
set -- ${MAKEFLAGS-}  # make -n test: its recipe names make, so it runs all the same
case ${1-} in -*|*=*) ;; *n*) echo "sh checks/tests/run_all.sh"; exit 0 ;; esac
: "${MAKE:=make}" "${backend:=cpu}"
logs=build/logs; mkdir -p $logs
passed=0; failed=0; skipped=0
started=$(date +%s)

running=
trap 'kill $running 2> /dev/null; exit 130' INT TERM  # timeout has a process group of its own, which ^C does not reach

# piece NAME COMMAND...: runs it, adds up the counts of its last line `N passed, M failed`. What hangs is stopped and failed.
piece() {
  name=$1; shift
  log=$logs/$(printf '%s' "$name" | tr ' /' '--').log
  before=$(date +%s)
  timeout 600 "$@" < /dev/null > "$log" 2>&1 & running=$!
  wait $running; status=$?
  [ $status -ne 124 ] || echo "stopped: still running after 600 s" >> "$log"
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -1)
  p=${counts%% *}; f=$(printf '%s' "$counts" | sed 's/.*passed, \([0-9]*\) failed.*/\1/')
  : "${p:=0}" "${f:=0}"
  k=$(printf '%s' "$counts" | sed -n 's/.* failed, \([0-9]*\) skipped$/\1/p'); : "${k:=0}"
  [ -n "$counts" ] || { [ $status -eq 0 ] && p=1; }
  # A GPU that cannot run a stage: nothing was looked at, which make calls an error and this does not.
  case $counts in "0 passed, 0 failed, "*) skip=1 ;; *) skip= ;; esac
  [ $status -ne 0 ] && [ "$f" -eq 0 ] && [ -z "$skip" ] && f=1
  skipped=$((skipped + k))
  passed=$((passed + p)); failed=$((failed + f))
  printf '%-34s %4d passed %3d failed %5d s  %s\n' "$name" "$p" "$f" $(($(date +%s) - before)) \
    "$(grep -E '^[a-z0-9_]+ (cpu|gpu): |^bounds|findings? in |^skipped: ' "$log" | tail -1 | cut -c1-220)"
  if [ "$f" -gt 0 ]; then
    echo "    $log ends:"; tail -25 "$log" | sed 's/^/    /'
  fi
}

make_it="$MAKE backend=$backend"
if [ $backend = cpu ]; then piece "unit tests" $make_it unit; else piece "WMMA layout" $make_it probe-wmma check=1; fi
piece "front desk" sh checks/tests/front_desk.sh
for s in $(sh common/stages.sh dirs); do piece "acceptance $s" $make_it stage=$s test; done
for s in $(sh common/stages.sh dirs); do piece "bugs $s" $make_it stage=$s reproduce-bug; done
piece "every bug turns it red" $make_it check-harness
if [ $backend = cpu ]; then
  for s in $(sh common/stages.sh dirs); do piece "race check $s" $make_it stage=$s racecheck; done
fi
echo "$(($(date +%s) - started)) s in all"
if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed -eq 0 ] && [ $passed -gt 0 ]
