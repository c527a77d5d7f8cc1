#!/bin/sh
# resources.sh KERNEL.so...: each stage's kernel.cu as ptxas sees it, held against the registers, shared memory and architectures that
# its stage.conf claims. The CPU's kernel.so says how much dynamic shared memory a launch asks for. `out` of the environment: the CSV
# to write; without it, of the whole ladder, the committed one is compared, if it is of this nvcc. OWN: the folder of an own kernel.
# An older architecture's PTX runs on every later one: of those that are claimed, the oldest and the newest are compiled, beside the
# target and sm_90, whose figures are the table's.
set -u
RUNNER=build/cpu/runner
work=build/resources committed=writeups/results/resources.csv
command -v nvcc > /dev/null || { echo "make resources needs nvcc, which is not on the PATH" >&2; exit 2; }

of_conf() { sed -n "s/^$1=\"\(.*\)\"/\1/p" "$conf"; }
# Kernel names as readers write them: attention<64,2>.
names() { c++filt -p | sed 's/(anonymous namespace):://g; s/ //g; s/^[^<]*:://'; }
# "attention<64,2> 97920" of each kernel that some shape launches: 512 keys take other tiles than 2048, long grids others than short.
launched() {
  for shape in 1,8,512,64 2,8,2048,64 1,8,512,128 2,8,2048,128 2,8,2048,64,causal 4,16,8192,64 4,16,8192,128; do
    case $1/$shape in */b[0-9]*/4,*) continue ;; esac
    "$RUNNER" "$1" plan shape=$shape || echo "failed $shape"
  done | awk '$1 == "failed" { print } $1 == "kernel" { kernel = $2 } $1 == "smem" { print kernel, $2 }'
}
one() {
  dir=$(dirname "$(dirname "$1")"); stage=${dir#build/*/} conf=$dir/stage.conf
  base=$work/$(echo "$stage" | tr / -); target=$(of_conf target)
  source=stages/$stage/kernel.cu; case $stage in own/*) source=$OWN/kernel.cu ;; esac
  limit=$(sed -n "s/.*{\"$target\", [0-9]*, [a-z]*, \([0-9]*\)}.*/\1/p" common/target.hpp)
  [ -n "$limit" ] || { echo "red $stage: stage.conf says target=\"$target\", which common/target.hpp has not"; return; }
  oldest=75 archs=$target
  for need in $(of_conf needs); do
    least=$(sed -n "s/.*{\"$need\", \([0-9]*\),.*/\1/p" common/gpu_fit.hpp)
    [ "${least:-0}" -le $oldest ] || oldest=$least
  done
  known=$(for arch in 75 80 86 89 90 100 120; do [ $arch -lt "$oldest" ] || nvcc --list-gpu-code | grep -x sm_$arch; done)
  case $target in *a) ;; *) archs="$target sm_90 $(echo "$known" | sed -n '1p;$p')" ;; esac
  archs=$(printf '%s\n' $archs | awk '!seen[$0]++')
  ptx=; ! grep -q grid_dependency_wait "$source" || ptx="-no-compress -gencode arch=compute_${target#sm_},code=compute_${target#sm_}"
  nvcc -std=c++20 -O3 -fmad=false -fatbin -Xptxas -v -I. -o "$base.fatbin" "$source" \
    $(for arch in $archs; do echo -gencode "arch=compute_${arch#sm_},code=$arch"; done) $ptx > "$base.log" 2>&1 ||
    { echo "red $stage: nvcc refuses it for one of" $archs: "$(grep -m1 -E 'error|fatal' "$base.log")"; return; }
  # Begun before the kernel before it has ended, it reads nothing by ld.global.nc: common/ptx/grid_dependency.cuh says why.
  [ -z "$ptx" ] || LC_ALL=C grep -aE "^\.?[a-z.]*entry|griddepcontrol|ld\.global\.nc" "$base.fatbin" | awk -v stage="$stage" '
    /\.entry/ { kernel = $NF; sub(/\(.*/, "", kernel) } /griddepcontrol\.wait/ { waits[kernel]; all++ } /ld\.global\.nc/ { nc[kernel]++ }
    END {
      for (kernel in waits) if (kernel in nc) print "red " stage ": " kernel " reads " nc[kernel] " times by ld.global.nc"
      if (!all) print "red " stage ": no griddepcontrol.wait is in its PTX"
    }' | c++filt -p
  launched "$1" > "$base.smem"
  sed -n "s/.*Compiling entry function '\([^']*\)'.*/\1/p" "$base.log" | names > "$base.names"
  awk -v stage="$stage" -v target="$target" -v limit="$limit" -v registers="$(of_conf registers)" -v smem="$(of_conf smem)" \
    -v archs="$(echo $archs)" -f checks/scripts/resources.awk "$base.smem" "$base.names" "$base.log"
}
case ${1:-} in --one) shift; one "$1"; exit ;; esac

rm -rf $work; mkdir -p $work
for kernel; do echo "$kernel"; done | xargs -P "${JOBS:-$(nproc)}" -I KERNEL sh -c 'sh "$0" --one KERNEL > "$1/$(echo KERNEL | cksum | cut -d" " -f1)"' "$0" $work
for kernel; do cat "$work/$(echo "$kernel" | cksum | cut -d' ' -f1)"; done > $work/all
nvcc=$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
{ echo "# nvcc $nvcc, make resources. smem, static_smem, stack, spills: bytes. over: what breaks the stage's budget."
  echo "stage,bug,arch,kernel,registers,smem,static_smem,stack,spills,over"; sed -n 's/^row //p' $work/all; } > $work/csv
[ -z "${out:-}" ] || cp $work/csv "$out"
if [ -z "${out:-}${stage:-}" ] && head -1 $committed | grep -q "^# nvcc $nvcc,"; then
  if cmp -s $work/csv $committed; then echo good; else echo "red $committed is stale; make resources record=1 renews it"; fi >> $work/all
fi
sed -n 's/^line //p' $work/all; sed -n 's/^red //p' $work/all
good=$(grep -c '^good' $work/all); bad=$(grep -c '^red' $work/all)
echo "$good passed, $bad failed"
[ "$bad" = 0 ] && [ "$good" -gt 0 ]
