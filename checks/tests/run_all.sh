#!/bin/sh
# make test: the lab's own tests, every stage's acceptance with its short race check, every bug's fingerprint. The desk runs the
# pieces, a line each (the whole logs are in build/logs), stops what hangs, and prints, alone on the last line, `N passed, M
# failed`. All is built first, so that pieces side by side find nothing to build. On a GPU their launches alternate (common/gpu_access.hpp), but not
# the acceptances' copies, between which it can forget the NaN that a launch is to find in shared memory: bugs, which need it, come later.
# Longer checks are in .ci/run.
set -u
set -- ${MAKEFLAGS-}  # make -n test: its recipe names make, so it runs all the same
case ${1-} in -*|*=*) ;; *n*) echo "sh checks/tests/run_all.sh"; exit 0 ;; esac
: "${MAKE:=make}" "${backend:=cpu}"
make_it="$MAKE backend=$backend"
stages=$(build/desk dirs) && backward=$(build/desk dirs backward) || exit 2
bugs_of() {
  [ -z "$(find stages/$1/bugs -name '*.patch' 2> /dev/null)" ] || echo "bugs $1: $make_it stage=$1 reproduce-bug"
}
{
  echo "everything is built: $make_it test-builds"
  echo
  if [ "$backend" = cpu ]; then
    echo "unit tests: $make_it unit"
    echo "counts as committed: $make_it counters"
    echo "the H100's bits, 24 cases a stage: $make_it bits quick=1"
    echo "traces: $make_it trace check=1"
    echo "exercises: build/desk-work check-exercises $MAKE quick"
  else
    echo "WMMA layout: $make_it probe what=wmma check=1"
  fi
  echo "every patch applies: sh checks/scripts/patches.sh"
  for s in $stages $backward; do
    echo "acceptance $s: $make_it stage=$s test turns=1"
    [ "$backend" != cpu ] || bugs_of $s
  done
  [ "$backend" = cpu ] || { echo; for s in $stages $backward; do bugs_of $s; done; }
  echo
  [ "$backend" = cpu ] || echo "every bug turns it red: $make_it check-harness"
  [ "$backend" != cpu ] || echo "packages that setup.sh asks for: sh checks/tests/setup_packages.sh"
  [ "$backend" != cpu ] || echo "words, outputs, a new stage: sh checks/tests/words.sh"  # builds too, and touches a kernel
} | build/desk-work pieces limit=1200
