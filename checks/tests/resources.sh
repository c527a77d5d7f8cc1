#!/bin/sh
# The rules of make resources, on what nvcc 13.0 and c++filt say of kernels: no nvcc is needed.
good=0 bad=0 work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
kernel() { printf "ptxas info    : Compiling entry function '_Zk' for '$1'\n    0 bytes stack frame, $3 bytes spill stores, 0 bytes spill loads\nptxas info    : Used $2 registers, used 1 barriers, 100 bytes smem\n"; }
# judged WANTED: of the log in standard input, with 48 registers and 1000 bytes allowed.
judged() {
  cat > "$work/log"; echo "k<64,2> ${dynamic:-900}" > "$work/smem"; for i in 1 2; do echo "${name:-k<64,2>}"; done > "$work/names"
  awk -v stage=s -v target=sm_89 -v limit=101376 -v registers="${registers:-48}" -v smem="${smem:-1000}" -v archs="${archs:-sm_89}" \
    -f checks/scripts/resources.awk "$work/smem" "$work/names" "$work/log" > "$work/out"
  case $1 in none) ! grep -q '^red' "$work/out" ;; *) grep '^r' "$work/out" | grep -qF -- "$1" ;; esac && good=$((good + 1)) || { bad=$((bad + 1)); echo "'$1' wanted in:"; cat "$work/out"; }
}
check() { wanted=$1; shift; "$@" > "$work/in"; judged "$wanted" < "$work/in"; }
check none kernel sm_89 48 0
check 'row s,,sm_89,"k<64,2>",48,1000,100,0,0,' kernel sm_89 48 0
check "over its budget: registers" kernel sm_89 49 0
check "over its budget: spills" kernel sm_89 48 4
check "ptxas tells no registers" printf "Compiling entry function 'k' for 'sm_89'\n"
check "ptxas names no kernel for sm_89" kernel sm_80 48 0
lost() { kernel sm_89 48 0; echo "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async is serialized"; }
check "Potential Performance Loss" lost
archs="sm_89 sm_90"; check "ptxas names no kernel for sm_90" kernel sm_89 48 0
archs="sm_89 sm_90"; both() { kernel sm_89 48 0; kernel sm_90 99 0; }; check none both; archs=
dynamic=901; check "over its budget: shared memory" kernel sm_89 48 0
check "its largest kernel asks for 1001 B" kernel sm_89 48 0; dynamic=
smem=1001; check "its largest kernel asks for 1000 B" kernel sm_89 48 0; smem=200000; check "stage.conf: registers=48 smem=200000" kernel sm_89 48 0; smem=
registers=many; check "stage.conf: registers=many" kernel sm_89 48 0; registers=
name=other; check "no plan launches other" kernel sm_89 48 0
echo "$good passed, $bad failed"
[ $bad = 0 ] && [ $good -gt 0 ]
