#!/bin/sh
# make stage=S profile: one launch under Nsight Compute, at the clock rate that the GPU has by itself.
#   profile.sh KERNEL B,H,S,D[,causal]
# Two tables of ncu's own, and the metrics that writeups/reading-sass.md reads.
set -u
command -v ncu > /dev/null || { echo "make profile needs Nsight Compute (ncu), which is not on the PATH" >&2; exit 2; }
metrics=sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,sm__warps_active.avg.pct_of_peak_sustained_active
"$RUNNER" "$1" plan shape="$2" > /dev/null || exit
# ncu repeats the launch: it may take 100 seconds.
exec ncu --clock-control none --kernel-name regex:attention --launch-count 1 --section SpeedOfLight --section LaunchStats \
  --metrics "$metrics,regex:smsp__average_warps_issue_stalled_.*_per_issue_active.ratio" \
  "$RUNNER" "$1" once shape="$2" seconds=100
