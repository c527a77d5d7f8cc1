#!/bin/sh
# make resources: registers, shared memory, spills and stack of every kernel, from nvcc alone, each stage against what its
# stage.conf declares: registers per thread at its target, and shared memory per block, at most the target's (101,376 B at sm_89,
# 232,448 B at sm_90a). No spills anywhere; a remark of ptxas that wgmma lost its pipeline (C7508 to C7514) is an error.
# The 72 registers of the JSON are the lab's own budget for its first five stages. checks/budget/ptxas.hpp has the same rules.
# Bug builds that break it are listed too, since breaking it is what some of them are for.
#   resources.sh LAB_PATTERN [JSON]     LAB_PATTERN: build/cpu/STAGE/VARIANT/lab, with those two words to be filled in
# Writes JSON (for the plots and tables) if named; else holds the committed one against what this nvcc says, if it is of the
# same version. Exit status 1 if a fixed kernel is over the budget, or the committed figures are stale.
set -u
committed=writeups/results/resources.json
pattern=$1; json=${2:-}
work=build/resources; mkdir -p $work
LAB_REGISTERS=72; MAX_SMEM=101376
lab() { printf '%s\n' "$pattern" | sed "s/STAGE/$1/; s/VARIANT/$2/"; }

# One line a kernel: STAGE BUG ARCH KERNEL REGISTERS STACK SPILL_STORES SPILL_LOADS STATIC_SMEM
compile() {  # compile STAGE BUG ARCH
  nvcc -std=c++20 -O3 -arch=sm_"$3" -cubin -Xptxas -v -I. -DLAB_BUG="\"$2\"" -o $work/out-"$1-$2-$3".cubin stages/"$1"/kernel.cu > $work/log-"$1-$2-$3" 2>&1 ||
    { cat $work/log-"$1-$2-$3"; exit 1; }
  [ -n "$2" ] || grep -E '\(C75(0[89]|1[0-4])\)' $work/log-"$1-$2-$3" | sed "s/^/$1: /" >> $work/lost
  awk -v stage="$1" -v bug="${2:--}" -v arch="$3" '
    /Compiling entry function/ { match($0, /[a-z0-9]*_kernelI(Li[0-9]+E)+/); name = substr($0, RSTART, RLENGTH)
      sub(/^[0-9]+/, "", name); if (match(name, /v[0-9]/)) name = substr(name, RSTART)
      gsub(/E$/, ">", name); sub(/ILi/, "<", name); gsub(/ELi/, ",", name) }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5); smem = 0
      if (match($0, /[0-9]+ bytes smem/)) { split(substr($0, RSTART, RLENGTH), word, " "); smem = word[1] }
      print stage, bug, arch, name, registers, stack, stores, loads, smem }' $work/log-"$1-$2-$3"
}

# KERNEL -> dynamic bytes, from the binary that would launch it: 512 keys take two slots for K/V tiles, 2048 take three.
dynamic() {  # dynamic STAGE BUG
  variant=fixed; [ -n "$2" ] && variant=bug-$2
  for shape in "1 8 512 64" "2 8 2048 64" "1 8 512 128" "2 8 2048 128"; do
    $(lab "$1" "$variant") plan $shape | awk -v stage="$1" -v bug="${2:--}" -v D="${shape##* }" '
      /"static_smem"/ { gsub(/[:,"]/, " "); bytes = $4 } /"stages"/ { match($0, /"stages": [0-9]+/); split(substr($0, RSTART, RLENGTH), w, " "); n = w[2] }
      END { name = stage; sub(/_.*/, "_kernel<" D, name); print stage, bug, name ">", bytes; print stage, bug, name "," n ">", bytes }'
  done
}

: > $work/lost; : > $work/kernels; : > $work/dynamic; : > $work/declared
for stage in $(sh common/stages.sh dirs); do
  registers=$(sh common/stages.sh conf "$stage" registers); smem=$(sh common/stages.sh conf "$stage" smem)
  target=$(sh common/stages.sh conf "$stage" target)
  case $target in sm_89) home=89 other=90 limit=101376 ;; sm_90a) home=90a other= limit=232448 ;;
    *) echo "resources: stages/$stage/stage.conf: target='$target' is not sm_89 or sm_90a" >&2; exit 2 ;; esac
  [ "${registers:-0}" -gt 0 ] && [ "${smem:-0}" -gt 0 ] && [ "$smem" -le $limit ] ||
    { echo "resources: stages/$stage/stage.conf: registers='$registers' and smem='$smem' must be numbers, smem at most $limit" >&2; exit 2; }
  echo "$stage $home declared $registers $smem $limit" >> $work/declared
  for bug in "" $(sh common/stages.sh bugs "$stage" | tr ' ' '\n' | sed 's/.*://'); do
    dynamic "$stage" "$bug" >> $work/dynamic
    if [ -z "$bug" ]; then
      : > $work/out-other
      [ -z "$other" ] || compile "$stage" "" $other > $work/out-other &
      compile "$stage" "" $home >> $work/kernels
      wait; cat $work/out-other >> $work/kernels
    else
      compile "$stage" "$bug" $home >> $work/kernels
    fi
  done
done

awk -v lab_registers=$LAB_REGISTERS -v max_smem=$MAX_SMEM -v json="$work/resources.json" -v counts="$work/counts" -v nvcc="$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')" '
  $3 == "declared" { home[$1] = $2; budget[$1] = $4; smem[$1] = $5; limit[$1] = $6; next }
  NF == 4 { dynamic[$1 " " $2 " " $3] = $4; next }
  { key = $1 " " $2 " " $4; total = $9 + dynamic[key]
    if (!(key in dynamic)) { print "resources: no plan for " key; failed++ }
    over = ""
    if ($3 == home[$1] && $5 > budget[$1]) over = over " registers"
    if (total > ($2 == "-" ? smem[$1] : limit[$1])) over = over " shared memory"
    if ($2 == "-" && total > most[$1]) most[$1] = total
    if ($7 + $8 > 0) over = over " spills"
    row = sprintf("%-18s %-20s sm_%s  %-18s %4d %3s %8d B %6.1f KiB %6d %6d  %s", $1, $2 == "-" ? "" : $2, $3, $4, $5, $3 == home[$1] ? budget[$1] : "", total, total / 1024, $6, $7 + $8, over == "" ? "ok" : "over:" over)
    if ($2 == "-") { rows = rows row "\n"; kernels++; if (over != "") failed++; else passed++ }
    else if (over != "") bugs = bugs row "\n"
    out = out (out == "" ? "" : ",\n") sprintf("    {\"stage\": \"%s\", \"bug\": \"%s\", \"arch\": \"sm_%s\", \"kernel\": \"%s\", \"registers\": %d, \"smem\": %d, \"static_smem\": %d, \"stack\": %d, \"spills\": %d, \"over\": \"%s\"}", $1, $2 == "-" ? "" : $2, $3, $4, $5, total, $9, $6, $7 + $8, substr(over, 2)) }
  END {
    printf "%-18s %-20s %-5s  %-18s %4s %3s %10s %10s %6s %6s\n", "stage", "bug", "arch", "kernel", "regs", "of", "smem", "", "stack", "spills"
    printf "%s", rows
    for (s in smem) if (most[s] != smem[s]) { failed++; printf "%s: stage.conf declares smem=%d, its largest kernel asks for %d B\n", s, smem[s], most[s] }
    printf "\nBug builds over their stage'"'"'s budget (registers, shared memory, no spills):\n%s", bugs
    printf "{\n  \"schema\": \"resources-1\",\n  \"nvcc\": \"%s\",\n  \"command\": \"make resources\",\n  \"budget\": {\"arch\": \"sm_89\", \"registers\": %d, \"smem\": %d},\n  \"kernels\": [\n%s\n  ]\n}\n", nvcc, lab_registers, max_smem, out > json
    print passed + 0, failed + 0 > counts }' $work/declared $work/dynamic $work/kernels
read -r passed failed < $work/counts
if [ -s $work/lost ]; then cat $work/lost; failed=$((failed + $(grep -c . $work/lost))); fi
if [ -n "$json" ]; then
  cp $work/resources.json "$json" || exit 2
elif [ "$(sed -n 's/.*"nvcc": //p' $committed)" = "$(sed -n 's/.*"nvcc": //p' $work/resources.json)" ]; then
  if cmp -s $work/resources.json $committed; then passed=$((passed + 1)); else
    failed=$((failed + 1)); echo "$committed is stale; make resources json=$committed renews it:"; diff $work/resources.json $committed | head -6; fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
