#!/bin/sh
# make stage=S profile: one launch of a stage's kernel under Nsight Compute; the metrics that the notes name, each with a
# sentence of diagnosis, and the same as JSON. The clocks are left alone.
#   profile.sh LAB SHAPE [JSON]     JSON "" is writeups/results/profile-STAGE-SHAPE.json
# NVTX ranges are left out: they mark the host's time, and a fused kernel's phases all lie inside one launch. Ranges inside
# it would need clock reads and stores, which cost registers and issue slots also when nobody reads them.
set -u
lab=$1; shape=$2; json=$3
stage=${lab#build/*/}; stage=${stage%%/*}
[ -n "$json" ] || json=writeups/results/profile-$stage-$(printf '%s' "$shape" | tr , -).json
command -v ncu > /dev/null 2>&1 || { echo "make profile needs Nsight Compute (ncu), which is not on the PATH" >&2; exit 2; }
words=$(printf '%s\n' "$shape" | sed -n 's/^\([0-9]\{1,\}\),\([0-9]\{1,\}\),\([0-9]\{1,\}\),\(64\|128\)\(,causal\)\{0,1\}$/\1 \2 \3 \4 \5/p' | sed 's/,causal/1/')
[ -n "$words" ] || { echo "shape=$shape: not B,H,S,D[,causal] with D 64 or 128" >&2; exit 2; }

stalls="long_scoreboard short_scoreboard barrier mio_throttle math_pipe_throttle wait lg_throttle not_selected selected no_instruction branch_resolving dispatch_stall"
metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,sm__inst_executed_pipe_tensor.sum
metrics=$metrics,sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active
metrics=$metrics,sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active
metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed,dram__bytes.sum
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active,smsp__inst_executed.sum
metrics=$metrics,sm__inst_executed_pipe_lsu.sum,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum
for s in $stalls; do metrics=$metrics,smsp__average_warps_issue_stalled_${s}_per_issue_active.ratio; done

log=build/profile-$stage.csv
ncu --clock-control none --csv --kernel-name 'regex:attention' --launch-count 1 --metrics "$metrics" \
  "$lab" once $words > $log 2>&1 || { echo "ncu failed: $(grep -m1 -E 'ERROR|error' $log || tail -1 $log)" >&2; exit 2; }
grep -q '"Metric Name"' $log || { echo "ncu saw no kernel: $(tail -1 $log)" >&2; exit 2; }

# shellcheck disable=SC2086
awk -v stage="$stage" -v shape="$shape" -v json="$json" -v rows="$words" -v gpu="$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)" \
  -v driver="$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)" -v ncu="$(ncu --version | sed -n 's/^Version //p')" \
  -v date="$(date -u +%Y-%m-%dT%H:%M:%SZ)" -v commit="${LAB_COMMIT:-$(git describe --always --dirty 2> /dev/null || echo unknown)}" -v stalls="$stalls" '
  /^"/ { line = $0; sub(/^"/, "", line); sub(/"$/, "", line); n = split(line, f, "\",\"")
    if (f[1] == "ID") { for (i = 1; i <= n; i++) at[f[i]] = i; next }
    kernel = f[at["Kernel Name"]]; sub(/\(.*/, "", kernel); sub(/.*::/, "", kernel); v = f[at["Metric Value"]]; gsub(/,/, "", v); unit = f[at["Metric Unit"]]
    if (v !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/) next
    name = f[at["Metric Name"]]; scale = 1
    if (name ~ /time_duration/) scale = unit == "ns" || unit == "nsecond" ? 1e-3 : unit == "ms" || unit == "msecond" ? 1e3 : unit == "s" || unit == "second" ? 1e6 : 1
    if (name ~ /dram__bytes/) scale = unit == "Kbyte" ? 1e3 : unit == "Mbyte" ? 1e6 : unit == "Gbyte" ? 1e9 : 1
    value[name] = v * scale; order[++count] = name }
  function has(name) { return name in value }
  function row(title, text, say) { printf "%-34s %14s  %s\n", title, text, say; said[++lines] = sprintf("    {\"what\": \"%s\", \"value\": \"%s\", \"diagnosis\": \"%s\"}", title, text, say) }
  function missing(title) { row(title, "-", "This ncu or GPU does not give it.") }
  END {
    printf "%s, %s, %s: %s\n", stage, kernel, shape, gpu
    split(rows, e, " "); tiles = e[1] * e[2] * e[3] * e[3] / 64  # a query row times 64 keys
    if (e[5]) tiles /= 2
    m = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    if (!has(m)) m = "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active"
    if (has(m)) row("tensor pipe active", sprintf("%.1f %%", value[m]), value[m] < 0.5 ? "No matrix instruction is issued: all arithmetic is scalar." : value[m] < 20 ? "The tensor cores mostly wait for the code around them." : "The tensor cores have work a good part of the time."); else missing("tensor pipe active")
    m = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
    if (has(m)) row("fp32 pipe active", sprintf("%.1f %%", value[m]), value[m] > 60 ? "Scalar multiply-adds are near their limit." : value[m] > 25 ? "Scalar arithmetic is a good part of the work, and not the limit." : "Scalar arithmetic is not what takes the time."); else missing("fp32 pipe active")
    m = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    if (has(m)) row("DRAM throughput", sprintf("%.1f %%", value[m]), value[m] < 20 ? "Not bound by device memory: tiles are reused from L2 and shared memory." : value[m] < 60 ? "Device memory is busy, and not the limit." : "Bound by device memory."); else missing("DRAM throughput")
    c = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"; w = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
    if (has(c) && has(w) && value[w] > 0) { p = 100 * value[c] / value[w]
      row("bank conflicts of wavefronts", sprintf("%.1f %%", p), p < 5 ? "The padded pitch keeps shared-memory accesses apart." : p < 25 ? "Some accesses meet in a bank, at a price." : "A good part of shared-memory time is spent on conflicts.") } else missing("bank conflicts of wavefronts")
    m = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"
    if (has(m)) row("shared-memory pipe active", sprintf("%.1f %%", value[m]), value[m] > 70 ? "Shared memory and shuffles are near their limit: fewer or wider accesses would help." : value[m] > 40 ? "Shared memory is busy about half of the time." : "Shared memory has time to spare."); else missing("shared-memory pipe active")
    m = "sm__warps_active.avg.pct_of_peak_sustained_active"
    if (has(m)) row("active warps", sprintf("%.1f %%", value[m]), value[m] < 30 ? "Few warps to hide a latency behind: shared memory limits the blocks an SM holds." : "Enough warps to switch to while some wait."); else missing("active warps")
    m = "smsp__issue_active.avg.pct_of_peak_sustained_active"
    if (has(m)) row("issue slots used", sprintf("%.1f %%", value[m]), value[m] > 70 ? "Instructions are issued nearly every cycle: only fewer instructions make it faster." : value[m] > 40 ? "Half of the cycles issue nothing." : "Most cycles issue nothing: warps wait."); else missing("issue slots used")
    m = "smsp__inst_executed.sum"
    if (has(m)) row("instructions a row and 64 keys", sprintf("%.0f", value[m] / tiles), "Warp instructions for one query row against one tile of 64 keys; the writeup predicts them by counting.")
    k = split(stalls, s, " "); total = 0
    for (i = 1; i <= k; i++) { m = "smsp__average_warps_issue_stalled_" s[i] "_per_issue_active.ratio"; if (has(m)) { stall[s[i]] = value[m]; total += value[m] } }
    why["long_scoreboard"] = "waiting for global or L2 memory"; why["short_scoreboard"] = "waiting for shared memory, shuffles or exp"
    why["barrier"] = "waiting at a block barrier"; why["mio_throttle"] = "the queue to shared memory and shuffles is full"
    why["math_pipe_throttle"] = "an arithmetic pipe is busy"; why["wait"] = "fixed latency of the instruction before"
    why["lg_throttle"] = "the queue to global memory is full"; why["not_selected"] = "ready, while another warp was chosen"
    why["selected"] = "issuing"; why["no_instruction"] = "waiting for instructions to be fetched"; why["branch_resolving"] = "waiting for a branch"; why["dispatch_stall"] = "held back by the dispatcher"
    for (shown = 0; shown < 4 && total > 0; shown++) { best = ""
      for (r in stall) if (!done[r] && (best == "" || stall[r] > stall[best])) best = r
      if (best == "") break
      done[best] = 1; row("stall " best, sprintf("%.0f %%", 100 * stall[best] / total), "Share of the time of a resident warp: " why[best] ".") }
    if (total == 0) missing("stalls")
    m = "gpu__time_duration.sum"; if (has(m)) row("time under the profiler", sprintf("%.1f us", value[m]), "Caches flushed by ncu; not a benchmark.")
    printf "{\n  \"schema\": \"profile-1\",\n  \"stage\": \"%s\", \"kernel\": \"%s\", \"shape\": \"%s\",\n  \"date\": \"%s\", \"commit\": \"%s\", \"command\": \"make stage=%s profile shape=%s\",\n  \"gpu\": \"%s\", \"driver\": \"%s\", \"ncu\": \"%s\",\n", stage, kernel, shape, date, commit, stage, shape, gpu, driver, ncu > json
    printf "  \"table\": [\n" > json
    for (i = 1; i <= lines; i++) print said[i] (i < lines ? "," : "") > json
    printf "  ],\n  \"metrics\": {\n" > json
    for (i = 1; i <= count; i++) printf "    \"%s\": %.8g%s\n", order[i], value[order[i]], i < count ? "," : "" > json
    print "  }\n}" > json }' $log && echo "kept as $json"
