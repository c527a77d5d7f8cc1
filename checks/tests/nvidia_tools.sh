#!/bin/sh
# The rules of make resources and of racecheck on a GPU, on what nvcc 13.0, c++filt and compute-sanitizer print: no GPU, no nvcc.
# Where nvcc is, g++ then reads all that the runner of a GPU is built from.
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

# --- compute-sanitizer ---
silent() { printf '========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n'; }
races() { cat <<'END'
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at void attention<(int)64>(float)+0x1b70 in kernel.cu:178
=========     and Read access at attention+0x1a00 in interwarp_race.patch:14 [504 hazards]
=========     and Write access at attention+0x1a00 in kernel.cu:189 [1 hazard]
=========
========= Warning: Race reported between Read access at float warp_sum(float)+0x10 in warp.cuh:12
=========     and Write access at attention+0x1b70 in /work/stages/v2b_single_warp/kernel.cu:178
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 errors, 1 warnings)
END
}
memory() { cat <<'END'
========= COMPUTE-SANITIZER
========= Invalid __shared__ write of size 16 bytes
=========     at __pipeline_memcpy_async(void*, const void*, unsigned long)+0x50 in cuda_pipeline_primitives.h:70
=========     by thread (224,0,0) in block (0,0,0)
=========     Access to 0x7f0000001234 is misaligned
=========     Device Frame: issue_tile+0x10 in tile.cuh:44
=========     Device Frame: attention+0x1a00 in kernel.cu:134
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch in kernel.cu:300 [0x1234]
=========
========= Program hit cudaErrorMisalignedAddress (error 716) due to "misaligned address" on CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
========= Program hit cudaErrorMisalignedAddress (error 716) due to "misaligned address" on CUDA API call to cudaGetLastError.
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
END
}
bug=$work/logs/v2b_single_warp-bug-interwarp_race
reported() {  # STATUS LINE: the exit status, and a line of what was printed
  sh checks/races/sanitizer.sh read "$work/logs" > "$work/out"; got=$?
  if [ $got = "$1" ] && grep -qxF -- "$2" "$work/out"; then good=$((good + 1)); else bad=$((bad + 1)); echo "$got, '$2' wanted in:"; cat "$work/out"; fi
}
mkdir -p "$bug" "$work/logs/v1_scalar-fixed"; silent > "$work/logs/v1_scalar-fixed/memcheck.1,1,128,64.log"; silent > "$bug/memcheck.1,1,128,64.log"
reported 0 "2 passed, 0 failed"
memory > "$bug/memcheck.1,1,128,64.log"; races > "$bug/racecheck.1,1,128,64.log"; races > "$bug/racecheck.1,2,100,128,causal.log"
reported 1 "    1 Invalid __shared__ write of size 16 bytes"
reported 1 "    2 Error: Race reported between Write access at void attention<(int)64>(float) in kernel.cu:178"
reported 1 "    2 interwarp_race.patch:14"; reported 1 "    4 kernel.cu:178"; reported 1 "1 passed, 1 failed"
rm -r "$bug"; echo '========= COMPUTE-SANITIZER' > "$work/logs/v1_scalar-fixed/synccheck.1,1,128,64.log"
reported 1 "    synccheck.1,1,128,64.log has no summary"; reported 1 "0 passed, 1 failed"

# --- the harness on a GPU, as make would compile it there; nothing is taken from a build that is there ---
skipped=
if ! command -v nvcc > /dev/null; then
  skipped=", 1 skipped: there is no nvcc"
elif [ -e build/gpu/runner ]; then
  skipped=", 1 skipped: build/gpu/runner is compiled"
else
  printf '#!/bin/sh\necho "NVIDIA H200, 9.0"\n' > "$work/nvidia-smi"; chmod +x "$work/nvidia-smi"
  texts="core bugs_text exercises_text evidence_text search_text"
  rm -f $(printf 'build/gpu/obj/%s.o ' $texts)
  PATH=$work:$PATH ${MAKE:-make} backend=gpu CXXFLAGS='-std=c++20 -fsyntax-only' $(printf 'build/gpu/obj/%s.o ' $texts) > "$work/out" 2>&1 && good=$((good + 1)) ||
    { bad=$((bad + 1)); echo "the harness does not compile for a GPU:"; tail -20 "$work/out"; }
fi
echo "$good passed, $bad failed$skipped"
[ $bad = 0 ] && [ $good -gt 0 ]
