#!/bin/sh
# make archs: every stage compiled by nvcc for every architecture that it claims. A warning of ptxas that wgmma lost its
# pipeline (C7508 to C7514) is a failure too. Prints `N passed, M failed` last.
#   archs.sh JOBS CLAIMS     CLAIMS: the program of checks/budget/claims.cpp
set -u
command -v nvcc > /dev/null 2>&1 || { echo 'make archs needs nvcc, which is not on the PATH' >&2; exit 2; }
work=build/archs; rm -rf $work; mkdir -p $work
"$2" $(nvcc --list-gpu-code) > $work/claims || exit 2
xargs -P "$1" -L 1 sh -c '
  log=build/archs/$0-$1.log
  if nvcc -std=c++20 -O3 -I. -arch="$1" -cubin -Xptxas -v -o "build/archs/$0-$1.cubin" "stages/$0/kernel.cu" > "$log" 2>&1 &&
    ! grep -E "\(C75(0[89]|1[0-4])\)" "$log"; then echo "$0 $1 good"; else echo "$0 $1 RED: $(grep -m1 -E "error|fatal|\(C75" "$log")"; fi
' < $work/claims > $work/results
sort $work/results | awk '{ if ($1 != last) { printf "%s%-20s", (NR > 1 ? "\n" : ""), $1; last = $1 } printf " %s%s", $2, ($3 == "good" ? "" : " " substr($0, index($0, "RED"))) } END { print "" }'
claimed=$(grep -c . $work/claims); passed=$(grep -c ' good$' $work/results)
echo "$passed passed, $((claimed - passed)) failed"
[ "$passed" -eq "$claimed" ] && [ "$passed" -gt 0 ]
