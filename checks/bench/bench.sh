#!/bin/sh
# make bench: every stage and PyTorch's attention on the same shapes, in turns, so that a clock that drifts or a neighbour
# who comes and goes touches them all alike. One JSON a run; a table at the end.
#   bench.sh SHAPES ROUNDS JSON STAGE LAB...
# SHAPES as `lab bench shape=` takes them; ROUNDS "" is 3; JSON "" is writeups/results/bench-DATE-GPU.json when all stages
# run, and none for a single one, which also leaves PyTorch out.
set -u
shapes=$1; rounds=${2:-3}; json=$3; stage=$4; shift 4
case $rounds in *[!0-9]*|0*) echo "rounds=$rounds: must be a whole number from 1" >&2; exit 2 ;; esac
[ -n "$stage" ] && { [ -n "$json" ] || { "$1" bench shape="$shapes"; exit; }; }

work=build/bench; rm -rf $work; mkdir -p $work
smi() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2> /dev/null | head -1; }
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
gpu=$(smi name)
{
  meta() { printf 'meta\t%s\t%s\n' "$1" "$2"; }
  meta date "$date"
  meta command "make ${stage:+stage=$stage }bench shape='$shapes' rounds=$rounds"
  meta commit "${LAB_COMMIT:-$(git describe --always --dirty 2> /dev/null || echo unknown)}"
  meta machine "$(uname -sr), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
  meta gpu "$gpu"
  meta driver "$(smi driver_version)"
  meta cuda "$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')"
  meta clock_limit_mhz "$(smi clocks.max.sm)"
  meta power_limit "$(smi power.limit)"
  for lab in "$@"; do
    s=${lab#build/*/}; s=${s%%/*}
    meta "kernel $s" "$(sha256sum "stages/$s/kernel.cu" | cut -c1-16)"
  done
} > $work/000-meta

peers=$PYTHON
[ -n "$stage" ] && peers=
if [ -n "$peers" ]; then
  $PYTHON reference/peers.py shape="$shapes" probe=1 || { echo "bench: the stages go without peers"; peers=; }
fi
# The short shapes and the long ones take turns apart: a round of the short ones is over before the GPU has warmed up.
case $shapes in all) groups="acceptance long" ;; *) groups=$shapes ;; esac
turn=0; status=0; started=$(date +%s)
turns=$((rounds * $(echo $groups | wc -w) * ($# + ${peers:+1}+0)))
for round in $(seq "$rounds"); do
  for group in $groups; do
    for lab in "$@" ${peers:+peers}; do
      turn=$((turn + 1)); file=$(printf '%s/%03d' $work $turn); s=${lab#build/*/}; s=${s%%/*}
      spent=$(($(date +%s) - started))
      echo "turn $turn of $turns: round $round, $group, $s, $((turns - turn)) more after it, $([ $turn -gt 1 ] && echo "about $((spent * (turns - turn + 1) / (turn - 1))) s left" || echo "no estimate yet")"
      if [ "$lab" = peers ]; then
        $PYTHON reference/peers.py shape="$group" round="$round" out="$file" || status=1
      else
        "$lab" bench shape="$group" round="$round" out="$file" || status=1
      fi
      [ -f "$file" ] || { echo "bench: $s left no samples" >&2; exit 2; }
    done
  done
done
if [ -z "$json" ]; then
  mkdir -p writeups/results
  json=writeups/results/bench-$(printf '%s-%s' "$date" "$gpu" | sed 's/NVIDIA //; s/[:]//g; s/[^A-Za-z0-9-]/-/g').json
fi
"$1" bench merge=$work json="$json" || exit
echo "results: $json"
exit $status
