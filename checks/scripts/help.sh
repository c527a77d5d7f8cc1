#!/bin/sh
# help.sh MAKEFILE: what stands behind ## in its goals, `## USAGE | WHAT`.
echo "The SDPA lab notebook: fused attention kernels, one idea per stage, every bug a patch beside its kernel."
echo
awk '
  /(^| )## make/ {
    sub(/.*## make/, "make"); bar = index($0, " | ")
    usage = bar ? substr($0, 1, bar - 1) : $0; what = bar ? substr($0, bar + 3) : "what can be done here"
    if (length(usage) <= 42) printf "  %-42s %s\n", usage, what
    else printf "  %s\n  %-42s %s\n", usage, "", what
  }' "$1"
cat << 'END'

stage= takes a short name (v2b), a directory (v2b_single_warp), a version of the notes (v2), or the folder of a kernel of your own, with
a kernel.cu and a stage.conf (cp -r stages/v2c8_mma_sync mine; make stage=mine test; a shape for which it returns cudaErrorNotSupported is
skipped and counted).
bugs=DIR: with any goal, your own bugs and exercises outside of this repository, as DIR/v2b_single_warp/NAME.patch.
backend=cpu|gpu: gpu where nvcc and a GPU are both there, else cpu. The same from inside a stage: make -C stages/v2b_single_warp test
A file that a goal writes (out=, json=, ...) replaces only what the same goal wrote before.
Start with README.md, and make exercise: twelve exercises, in order.
END
