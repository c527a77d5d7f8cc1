#!/bin/sh
# make figure-data: writes writeups/results/plans.json and writeups/results/error-maps/BUG.txt from the CPU binaries.
#   figure_data.sh BUILD_DIR STAGE:BUG...
set -u
build=$1; shift
out=writeups/results; mkdir -p $out/error-maps
for pair in "$@"; do
  "$build/${pair%%:*}/bug-${pair#*:}/lab" error-map > "$out/error-maps/${pair#*:}.txt" || exit 1
done
{
  printf '{\n"schema": "plans-1",\n"command": "make figure-data",\n"budget": {"arch": "sm_89", "smem": 101376},\n"plans": [\n'
  comma=
  plan() { printf '%s' "$comma"; comma=',
'; "$@"; }
  for stage in $(build/desk dirs); do
    for shape in "1 8 512 64" "2 8 2048 64" "2 8 2048 128"; do plan "$build/$stage/fixed/lab" plan $shape || exit 1; done
  done
  plan "$build/v2b_single_warp/bug-smem_overflow/lab" plan 2 8 2048 128 || exit 1
  printf '\n]\n}\n'
} > $out/plans.json
echo "wrote $out/plans.json and $# maps in $out/error-maps"
