# compute-sanitizer's logs, LOGS/STAGE-VARIANT/TOOL.SHAPE.log: a line for each build and tool that saw something, and for each build. A run
# without the tool's summary is not clean.
function add(list, key, word) { if (!((list, key, word) in seen)) { seen[list, key, word]; all[list, key] = all[list, key] (all[list, key] == "" ? "" : ", ") word } }
function close_record() { if (kind != "") add("kinds", key, kind); kind = "" }
function places(text, most) {  # lines of kernel.cu and of the bug's patch
  while (most-- && match(text, /kernel\.cu:[0-9]+|[A-Za-z0-9_]+\.patch:[0-9]+/)) {
    place = substr(text, RSTART, RLENGTH); sub(/^kernel\.cu:/, "", place); add("lines", key, place); found = 1
    text = substr(text, RSTART + RLENGTH)
  }
}
FNR == 1 {
  close_record()
  count = split(FILENAME, part, "/"); build = part[count - 1]; split(part[count], name, ".")
  if (!(build in runs)) order[++builds] = build
  key = build SUBSEP name[1]; runs[build]++; race = hit = found = 0
}
!sub(/^========= /, "") { next }
/SUMMARY/ { close_record(); ended[build]++; next }
/^[A-Z]/ && !/^(COMPUTE-SANITIZER|Target application)/ {
  close_record(); records[key]++; found = 0; kind = $0; race = /Race reported/
  if (race) { kind = /^Warning/ ? "race (warning)" : "race"; places($0, 9) }
  if (sub(/ due to .*API call to/, " at", kind)) {
    sub(/\.$/, "", kind); code = kind; sub(/ at .*/, "", code)
    if (code == hit) { kind = ""; records[key]-- }  # the calls after the failed one only repeat it
    hit = code
  }
  next
}
race && / and / { places($0, 9); next }
kind != "" && /Access to .* is / { sub(/.* is /, ""); sub(/ +$/, ""); kind = kind ": " $0; next }
kind != "" && !found && /^ +(at |Device Frame)/ { places($0, 1) }  # the innermost frame in the stage
END {
  close_record()
  tools = split("memcheck racecheck initcheck synccheck", tool, " ")
  for (b = 1; b <= builds; b++) {
    build = order[b]; stage = build; bug = ""; sub(/-.*/, "", stage); of = 0
    if (build ~ /-bug-/) { bug = build; sub(/.*-bug-/, "", bug) }
    for (t = 1; t <= tools; t++) {
      key = build SUBSEP tool[t]; of += records[key]
      if (records[key]) printf "%s%s, %s: %s; lines %s\n", stage, bug == "" ? "" : " with " bug, tool[t], all["kinds", key], all["lines", key]
    }
    lost = runs[build] - ended[build]
    printf "%s%s: %d records in %d runs%s\n", stage, bug == "" ? "" : " with " bug, of, runs[build], lost ? ", " lost " without a summary: see the logs" : ""
    if (of || lost) bad++; else good++
  }
  printf "%d passed, %d failed\n", good, bad
  exit bad > 0 || !good
}
