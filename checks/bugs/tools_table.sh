#!/bin/sh
# make tools-table: what shows each bug, as a Markdown table. The CPU's columns come from running the binaries now, those of
# compute-sanitizer from writeups/results/tools-h200.json, which names its machine, driver, date and command.
#   tools_table.sh LAB_PATTERN     build/cpu/STAGE/VARIANT/lab
set -u
results=writeups/results/tools-h200.json
[ -f $results ] || { echo "tools-table: no $results; checks/races/sanitizer.sh -j writes it on a machine with a GPU" >&2; exit 2; }
lab() { printf '%s\n' "$1" | sed "s/STAGE/$2/; s/VARIANT/$3/"; }
value() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" $results | head -1; }
echo "| bug | \`notes\` inputs | \`unit\` inputs | schedules | CPU checker | memcheck | racecheck | initcheck | synccheck |"
echo "|---|---|---|---|---|---|---|---|---|"
for pair in $(for d in $(build/desk dirs); do echo "$d:"; build/desk bugs "$d"; done); do
  stage=${pair%%:*}; bug=${pair#*:}; variant=checked; [ -n "$bug" ] && variant=bug-$bug
  binary=$(lab "$1" "$stage" $variant)
  { "$binary" blindness && "$binary" racecheck; echo "end"; } | awk -v title="${stage%%_*}, ${bug:-correct}" -v stage="$stage" -v bug="$bug" '
    # The answers of the one shape, not causal and causal.
    function verdict(plain, causal) {
      if (plain == "refused") return "refused"
      if (plain == causal) return plain == "pass" ? "pass" : "**fail**"
      return plain == "pass" ? "**fail** if causal" : "**fail** if not causal"
    }
    function add(list, word) { return index("; " list ";", "; " word ";") ? list : list (list == "" ? "" : "; ") word }
    FNR == NR {  # the JSON, a row a line
      if (!index($0, "\"stage\": \"" stage "\", \"bug\": \"" bug "\"")) next
      match($0, /"tool": "[a-z]+/); tool = substr($0, RSTART + 9, RLENGTH - 9)
      match($0, /"kinds": "[^"]*/); n = split(substr($0, RSTART + 10, RLENGTH - 10), kind, ", ")
      for (i = 1; i <= n; i++) {
        k = kind[i]
        if (k ~ /^Program hit/) { if (gpu[tool] != "") continue; sub(/.*Program hit /, "", k); sub(/ .*/, "", k) }
        sub(/^Invalid __shared__ (write|read) of size [0-9]+ bytes: /, "", k)
        gpu[tool] = add(gpu[tool], k)
      }
      seen = 1; next
    }
    $1 == "notes" || $1 == "unit" { answer[$1 $2] = $4; next }
    $1 == "schedules" { schedules = $2 == "differ" ? "**differ**" : "agree"; next }
    /^[a-z].*, kernel / {
      k = $0; sub(/,? kernel .*/, "", k); sub(/ on .*/, "", k); sub(/ \((RAW|WAR|WAW)\)/, "", k)
      if (!(k in kinds)) order[++count] = k; kinds[k]++; last = k; next
    }
    /^launch failed: / { if ($0 ~ /asks for/) refused = 1; else if (!count) { order[++count] = "misaligned address"; } next }
    /^end/ { ended = 1 }
    END {
      if (!ended || length(answer) < 4) exit 1
      for (i = 1; i <= count; i++) cpu = add(cpu, order[i])
      if (cpu == "") cpu = refused ? "launch refused" : "-"
      if (answer["notes0"] == "refused") schedules = "-"
      printf "| %s | %s | %s | %s | %s |", title, verdict(answer["notes0"], answer["notes1"]), verdict(answer["unit0"], answer["unit1"]), schedules, cpu
      for (t = split("memcheck racecheck initcheck synccheck", tools, " "); j++ < t;) printf " %s |", !seen ? "not run" : gpu[tools[j]] == "" ? "-" : gpu[tools[j]]
      print "" }' $results - || { echo "tools-table: no answer from $binary" >&2; exit 1; }
done
cat <<END

*\`notes\` and \`unit\`: the mission shape (1,8,512,64), causal and not, at the tolerance of the notes, 1e-3. Schedules: eight of
them on (1,1,128,64), bit by bit. CPU checker: \`make racecheck\`. The four tools: compute-sanitizer $(value compute_sanitizer | cut -d' ' -f1) on an
$(value gpu), driver $(value driver), CUDA $(value cuda), $(value date), on two small shapes;
the lines they name are in $results.*
END
