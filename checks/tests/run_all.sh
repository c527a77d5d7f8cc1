#!/bin/sh
# make test: the lab's own tests, every stage's acceptance, every bug's fingerprint, the proof that the acceptance can fail,
# and the race check of every correct stage. The desk runs the pieces, a line each (the whole logs are in build/logs), stops
# what hangs, and prints, alone on the last line, `N passed, M failed`.
set -u
set -- ${MAKEFLAGS-}  # make -n test: its recipe names make, so it runs all the same
case ${1-} in -*|*=*) ;; *n*) echo "sh checks/tests/run_all.sh"; exit 0 ;; esac
: "${MAKE:=make}" "${backend:=cpu}"
make_it="$MAKE backend=$backend"
stages=$(build/desk dirs) || exit 2
{
  if [ "$backend" = cpu ]; then echo "unit tests: $make_it unit"; else echo "WMMA layout: $make_it probe-wmma check=1"; fi
  echo "every patch applies: $make_it patches"
  echo "front desk: sh checks/tests/front_desk.sh"
  echo "a new stage, a new bug: sh checks/tests/scratch_tree.sh"
  for s in $stages; do echo "acceptance $s: $make_it stage=$s test turns=1"; done
  for s in $stages; do [ -z "$(find stages/$s -name '*.patch')" ] || echo "bugs $s: $make_it stage=$s reproduce-bug"; done
  echo "every bug turns it red: $make_it check-harness"
  # All side by side, for one alone keeps one core busy; then what that run said of each.
  if [ "$backend" = cpu ]; then
    echo "race checks: $make_it racecheck"
    for s in $stages; do echo "race check $s: LAB_KEPT=use $make_it stage=$s racecheck"; done
  fi
} | build/desk pieces
