#!/bin/sh
# make blindness: would the notes' own test have seen each bug? Their mission shape, max |out - ref| under their inputs,
# 0.1 N(0,1), and under unit variance, causal and not, all at their tolerance of 1e-3; as a Markdown table.
#   blindness.sh LAB_PATTERN     build/cpu/STAGE/VARIANT/lab
set -u
lab() { printf '%s\n' "$1" | sed "s/STAGE/$2/; s/VARIANT/$3/"; }
echo "| build | \`notes\` inputs | \`notes\`, causal | \`unit\` inputs | \`unit\`, causal |"
echo "|---|---|---|---|---|"
for pair in $(for d in $(build/desk dirs); do echo "$d:"; build/desk bugs "$d"; done); do
  stage=${pair%%:*}; bug=${pair#*:}; variant=fixed; [ -n "$bug" ] && variant=bug-$bug
  $(lab "$1" "$stage" $variant) blindness | awk -v title="${stage%%_*}, ${bug:-correct}" '
    $1 == "notes" || $1 == "unit" { cell[$1 $2] = $4 == "refused" ? "refused" : $4 == "pass" ? sprintf("pass, %.1e", $3) : "**fail**, " ($3 == "NaN" ? "NaN" : sprintf("%.1e", $3)) }
    END { if (length(cell) < 4) exit 1; print "| " title " | " cell["notes0"] " | " cell["notes1"] " | " cell["unit0"] " | " cell["unit1"] " |" }' ||
    { echo "blindness: no answer from $(lab "$1" "$stage" $variant)" >&2; exit 1; }
done
