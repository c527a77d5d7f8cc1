#!/bin/sh
# bench.sh SHAPES ROUNDS CSV STAGE KERNEL...: stages and PyTorch's attention on the same shapes, alternately, so that a drifting clock or a
# temporary neighbour affects them all alike. ROUNDS "" is 3; CSV "" is build/bench-DATE.csv when all stages run, and none for a single
# STAGE, which also leaves PyTorch out. SHAPES sweep: the fastest program by shape, one quick round of the stages for the GPU at hand.
set -u
shapes=$1 rounds=$2 csv=$3 stage=$4; shift 4
work=build/bench kind=bench date=$(date -u +%Y-%m-%d) quick=0 status=0 turn=0
name=$date; [ "$shapes" = sweep ] && kind=sweep name=sweep quick=1
rounds=${rounds:-$((3 - 2 * quick))}
case $rounds in *[!0-9]*|0*|?????*) echo "rounds=$rounds: must be a whole number from 1 to 9999" >&2; exit 2 ;; esac
if [ $quick = 1 ] && [ $# -gt 1 ]; then  # others are 2 to 100 times slower, and would take most of the time
  for kernel; do shift; grep -q '^target="sm_90a"' "${kernel%/*/*}/stage.conf" && set -- "$@" "$kernel"; done
fi
[ -z "$stage" ] || [ -n "$csv" ] || exec "$RUNNER" "$1" bench shape="$shapes" quick=$quick
rm -rf $work; mkdir -p $work
stage_of() { set -- "${1#build/*/}"; echo "${1%/*/*}"; }
{
  printf 'meta\tcommand\tmake %sbench shape=%s rounds=%s\n' "${stage:+stage=$stage }" "'$shapes'" "$rounds"
  sh checks/scripts/measured_on.sh | sed 's/^/meta\t/'
  for kernel; do
    here=$(stage_of "$kernel")
    printf 'meta\tkernel %s\t%.16s\n' "$here" "$(sha256sum < "${OWN:-stages/$here}/kernel.cu")"
  done
} > $work/000-meta
if [ -z "$stage" ]; then
  $PYTHON reference/peers.py shape="$shapes" probe=1 && set -- "$@" peers || echo "bench: the stages go without peers"
fi
groups=1; [ "$shapes" = all ] && groups=2
turns=$((rounds * $# * groups)) begun=$(date +%s) round=0
time_all() {  # GROUP PROGRAM...
  group=$1; shift
  for program; do
    turn=$((turn + 1)) left="no estimate yet"
    [ $turn = 1 ] || left="about $((($(date +%s) - begun) * (turns - turn + 1) / (turn - 1))) s left"
    [ "$program" = peers ] && said=peers || said=$(stage_of "$program")
    echo "run $turn of $turns: round $round, $group, $said, $((turns - turn)) more after it, $left"
    file=$work/$(printf %04d $turn)
    if [ "$program" = peers ]; then $PYTHON reference/peers.py shape="$group" round=$round out=$file quick=$quick
    else "$RUNNER" "$program" bench shape="$group" round=$round out=$file quick=$quick; fi
    case $? in 0) ;; 2) exit 2 ;; 3) continue ;; *) status=1 ;; esac  # 3: it has said why it is skipped
    [ -f "$file" ] || { echo "bench: $said left no samples" >&2; exit 2; }
    [ -z "$csv" ] || "$RUNNER" bench-table "$name" "$csv" $work/* > /dev/null || exit  # a run that is cut off keeps what it has
  done
}
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  # The short shapes and the long ones alternate apart: a round of the short ones is over before the GPU has warmed up.
  if [ "$shapes" = all ]; then time_all acceptance "$@"; time_all long "$@"; else time_all "$shapes" "$@"; fi
done
csv=${csv:-build/$kind-$date.csv}
"$RUNNER" bench-table "$name" "$csv" $work/* || exit
echo "results: $csv"
exit $status
