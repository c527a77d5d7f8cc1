#!/bin/sh
# make sanitize: host code, harness, runtime and kernels under AddressSanitizer and UndefinedBehaviorSanitizer: the unit tests
# and, for every stage, random problems against the oracle and the acceptance's small cases. A report of theirs ends a program
# at once, with its stack, and counts as a failure. Prints `N passed, M failed`.
#   sanitize.sh UNIT LAB...     seconds of random problems a stage: SECONDS_EACH, 15 if not set
set -u
logs=build/logs; mkdir -p $logs
# Stacks that outlive their frames are checked too: the fibers' annotations must hold for that.
export ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
passed=0; failed=0
piece() {
  name=$1; log=$logs/sanitize-$2.log; shift 2
  before=$(date +%s)
  if "$@" > "$log" 2>&1; then passed=$((passed + 1)); word=clean; else failed=$((failed + 1)); word="RED, see $log"; fi
  printf '%-34s %-6s %4d s  %s\n' "$name" "$word" $(($(date +%s) - before)) "$(grep -E '^[0-9]+ passed' "$log" | tail -1)"
  [ "$word" = clean ] || { grep -m1 -E 'ERROR: AddressSanitizer|runtime error|LeakSanitizer' "$log" || tail -3 "$log"; } | sed 's/^/    /'
}
unit=$1; shift
# Not these: they need the checker's instrumentation, or let a kernel fault on purpose, which is AddressSanitizer's to catch.
piece "unit tests" unit "$unit" -sfe='*test_checker*' -tce='*fault*'
for lab in "$@"; do
  stage=$(basename "$(dirname "$(dirname "$lab")")")
  piece "$stage, random problems" "fuzz-$stage" "$lab" fuzz seconds="${SECONDS_EACH:-15}"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
