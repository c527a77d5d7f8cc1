# Of "KERNEL DYNAMIC" lines, the kernels' names in the log's order, and nvcc's log (-Xptxas -v): a row and a line of the table for each
# kernel of the target and of sm_90; `good` and `red`.
function number(unit) { return match($0, "[0-9]+ bytes " unit) ? substr($0, RSTART) + 0 : 0 }
function red(what) { print "red " stage ": " what }
BEGIN {
  split(archs, order, " ")
  if (registers !~ /^[1-9][0-9]*$/ || smem !~ /^[1-9][0-9]*$/ || smem > limit + 0) red("stage.conf: registers=" registers " smem=" smem " of " limit)
}
FILENAME == ARGV[1] { if ($1 == "failed") red("no plan for " $0); dynamic[$1] = $2; next }
FILENAME == ARGV[2] { name[++names] = $1; next }
/Potential Performance Loss/ { red($0) }  # wgmma that ptxas serialised, setmaxnreg that it ignored: right and slow
/Compiling entry function/ {
  if (open) red("ptxas tells no registers of " name[kernels])
  open = 1; split($0, quoted, "'"); arch = quoted[4]; kernels++
}
open && /bytes stack frame/ { stack = number("stack frame"); spills = number("spill stores") + number("spill loads") }
open && /Used [0-9]+ registers/ {
  open = 0; kernel = name[kernels]; match($0, /Used [0-9]+/); used = substr($0, RSTART + 5) + 0; fixed = number("smem")
  judged[arch]++
  if (arch != target && arch != "sm_90") next
  if (!(kernel in dynamic)) { red("no plan launches " kernel); next }
  all = fixed + dynamic[kernel]; most = all > most ? all : most
  budget = arch == target ? registers + 0 : 255
  over = (used > budget ? " registers" : "") (all > limit + 0 || all > smem + 0 ? " shared memory" : "") (spills ? " spills" : "")
  sub(/^ /, "", over)
  quotes = kernel ~ /,/ ? "\"" : ""
  rows[arch] = rows[arch] sprintf("row %s,,%s,%s%s%s,%d,%d,%d,%d,%d,%s\n", stage, arch, quotes, kernel, quotes, used, all, fixed, stack, spills, over)
  rows[arch] = rows[arch] sprintf("line %-20s %-7s %-26s %3d%4s registers %7d B %3d B stack %3d spills  %s\n", stage, arch, kernel, used, \
    arch == target ? "/" registers : "", all, stack, spills, over == "" ? "ok" : "over: " over)
  if (over == "") rows[arch] = rows[arch] "good\n"; else red(kernel " on " arch " is over its budget: " over)
}
END {
  if (open) red("ptxas tells no registers of " name[kernels])
  for (i = 1; i in order; i++) {
    printf "%s", rows[order[i]]
    if (judged[order[i]]) print "good " order[i]; else red("ptxas names no kernel for " order[i])
  }
  if (most != smem + 0) red("stage.conf declares smem=" smem ", its largest kernel asks for " most + 0 " B: write that there")
}
