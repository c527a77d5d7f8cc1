#!/bin/sh
# make racecheck backend=gpu: starts NVIDIA's compute-sanitizer on each LAB, its four tools on small shapes, as many at once as
# there are cores. Of each build what they saw: each kind of record, and the lines of kernels and patches that records name, with how often.
# Exit status 1 where there are records, or a run without the tool's summary.
#   sanitizer.sh KERNEL...; sanitizer.sh read LOGS: what logs say that are there
# SHAPES, LIMIT and JOBS of the environment: other shapes, seconds for a launch, runs at a time.
# The tools' own output stays in build/logs/sanitizer/STAGE-VARIANT/TOOL.SHAPE.log.
set -u; RUNNER=${RUNNER:-build/gpu/runner}
logs=build/logs/sanitizer
# A length that a tile divides, one that none does (and no 16-row stripe), both head dimensions, causal and not.
SHAPES=${SHAPES:-"1,1,128,64 1,2,100,128,causal"}
LIMIT=${LIMIT:-100}  # seconds that a launch may take: it is slow under the tools
# A build's records, but for each log's first line and a summary of nothing.
records() { grep -hE '^========= [A-Z]' "$1"/*.log | grep -vE 'COMPUTE-SANITIZER|SUMMARY: 0 ' | sed 's/^========= //; s/+0x[0-9a-f]*//g'; }
often() { sort | uniq -c | sort -rn | head -"$1" | sed 's/^ */    /'; }
read_logs() {
  good=0 bad=0
  for build in "$logs"/*/; do
    build=${build%/}; lost=$(grep -L SUMMARY "$build"/*.log)
    [ -n "$lost$(records "$build")" ] || { good=$((good + 1)); continue; }
    bad=$((bad + 1)); echo "$(basename "$build"), see $build:"
    records "$build" | often 8
    grep -ohE '(kernel\.cu|[A-Za-z0-9_]+\.patch):[0-9]+' "$build"/*.log | often 12
    for log in $lost; do echo "    $(basename "$log") has no summary"; done
  done
  echo "$good passed, $bad failed"; [ $bad = 0 ] && [ $good -gt 0 ]
}
[ "${1:-}" != read ] || { logs=$2; read_logs; exit; }
tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
  { echo "racecheck: no compute-sanitizer on the PATH; backend=cpu has a checker of its own" >&2; exit 2; }
[ $# -gt 0 ] || { echo "usage: sanitizer.sh KERNEL..." >&2; exit 2; }
# Older ones watch global memory only; where shared memory can be watched, it is.
shared=; "$tool" --help 2>&1 | grep -q initcheck-address-space && shared="--initcheck-address-space shared"
rm -rf $logs; mkdir -p $logs
exec 3>&1
for lab in "$@"; do
  # On a GPU that cannot run the stage there is nothing for the tools to see.
  if why=$(timeout 60 "$RUNNER" "$lab" once shape=1,1,1,64 2> /dev/null | grep '^skipped: '); then echo "$why" >&3; continue; fi
  variant=$(dirname "$lab"); stage=$(basename "$(dirname "$variant")"); variant=$(basename "$variant")
  mkdir -p "$logs/$stage-$variant"
  for t in memcheck racecheck initcheck synccheck; do
    options=; [ $t = initcheck ] && options=$shared
    for shape in $SHAPES; do
      echo "timeout $((LIMIT + 20)) $tool --tool $t $options --print-limit 200 $RUNNER $lab once shape=$shape seconds=$LIMIT > $logs/$stage-$variant/$t.$shape.log 2>&1"
    done
  done
done > $logs/runs
[ -s $logs/runs ] || exit 3
xargs -P "${JOBS:-$(nproc)}" -I LINE sh -c LINE < $logs/runs
read_logs
