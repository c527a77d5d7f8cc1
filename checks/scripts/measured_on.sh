#!/bin/sh
# Where and when something is measured: lines of a key, a tab and its value. LAB_COMMIT stands for a copy without git.
gpu() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2> /dev/null | head -1; }
printf '%s\t%s\n' date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" commit "${LAB_COMMIT:-$(git describe --always --dirty 2> /dev/null || echo unknown)}" \
  machine "$(uname -sr), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores" gpu "$(gpu name)" \
  driver "$(gpu driver_version)" cuda "$(nvcc --version 2> /dev/null | sed -n 's/.*release \([^,]*\),.*/\1/p')" \
  clock_limit_mhz "$(gpu clocks.max.sm)" power_limit "$(gpu power.limit)"
