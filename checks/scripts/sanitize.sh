#!/bin/sh
# make sanitize: host code, harness, runtime and kernels under AddressSanitizer and UndefinedBehaviorSanitizer: the unit tests
# and random problems against the oracle. A report of theirs ends a program at once, with its stack, and counts as a failure.
# Prints `N passed, M failed`.
#   sanitize.sh CASES BINARY...     the unit tests (a program called unit), and of stages CASES random problems each
set -u
logs=build/logs; mkdir -p $logs
# A launch that fails leaves its fibers where they are, and the strings that they hold with them: that is no leak of ours.
echo 'leak:lab::cpu::Block::fiber_main' > $logs/leaks-by-design
export LSAN_OPTIONS=suppressions=$logs/leaks-by-design:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1
# Stacks that outlive their frames are checked too: the fibers' annotations must hold for that.
common=detect_stack_use_after_return=1:exitcode=99
passed=0; failed=0
piece() {
  name=$1; log=$logs/sanitize-$2.log; shift 2
  before=$(date +%s)
  if "$@" > "$log" 2>&1; then passed=$((passed + 1)); word=clean; else failed=$((failed + 1)); word=RED; fi
  printf '%-32s %-6s %4d s  %s\n' "$name" $word $(($(date +%s) - before)) "$(grep -E '^[0-9]+ passed' "$log" | tail -1)"
  [ $word = clean ] || { echo "    $log:"; grep -E -A4 'ERROR: |runtime error' "$log" | head -6; } | sed 's/^/    /'
}
cases=$1; shift
for binary in "$@"; do
  if [ "$(basename "$binary")" = unit ]; then
    # What cannot share a build with AddressSanitizer says so in its test suite: checks/tests/test_exec.hpp.
    # Whole stacks, or the suppression above would miss what libstdc++ allocates.
    export ASAN_OPTIONS=$common:fast_unwind_on_malloc=0
    piece "unit tests" unit "$binary" '-tse=instrumented'
    echo "    left out: $("$binary" --count '-ts=instrumented' | sed -n 's/.*: //p') cases that this build cannot run (checks/tests/test_exec.hpp)"
  else
    export ASAN_OPTIONS=$common
    stage=$(basename "$(dirname "$(dirname "$binary")")")
    piece "$stage" "$stage" "$RUNNER" "$binary" fuzz cases="$cases" seconds=3600
  fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
