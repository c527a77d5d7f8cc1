#!/bin/bash
# Everything that needs the GPU, in one go, for a machine that is lent by the minute:
#   h200.sh OUT_DIR [test] [bugs] [sanitizer]
# builds all, runs what is named (all of it by default), leaves logs in OUT_DIR and prints a short table.
set -u
out=$1; shift
what=${*:-test bugs sanitizer}
mkdir -p "$out"
say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
say "$(date -u +%F) $(nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv,noheader) $(nvcc --version | tail -1)"
start=$(date +%s)
make backend=gpu build-gpu > "$out/build.log" 2>&1 || { tail -20 "$out/build.log"; say "build failed"; exit 1; }
say "built in $(($(date +%s) - start)) s"
for w in $what; do
  for s in v1 v2b v2c3 v2c5 v2c6; do
    start=$(date +%s)
    case $w in
      test) make stage=$s backend=gpu test full=1 > "$out/test-$s.log" 2>&1; status=$?; last=$(tail -2 "$out/test-$s.log" | head -1) ;;
      bugs) make stage=$s backend=gpu reproduce-bug > "$out/bugs-$s.log" 2>&1; status=$?; last=$(tail -1 "$out/bugs-$s.log") ;;
      sanitizer) make stage=$s backend=gpu racecheck > "$out/sanitizer-$s.log" 2>&1; status=$?; last=$(tail -1 "$out/sanitizer-$s.log") ;;
    esac
    say "$w $s: exit $status, $(($(date +%s) - start)) s: $last"
  done
done
