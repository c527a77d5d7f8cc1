#!/bin/sh
# make climb-table: the versions of the notes in order, as a Markdown table. Whether a version is correct comes from running
# the acceptance now; registers and shared memory from writeups/results/resources.json; the rest from stage.conf.
#   climb_table.sh LAB_PATTERN     build/cpu/STAGE/VARIANT/lab
set -u
pattern=$1
results=writeups/results/resources.json
[ -f $results ] || { echo "climb-table: no $results; make resources json=$results writes it" >&2; exit 2; }
lab() { printf '%s\n' "$pattern" | sed "s/STAGE/$1/; s/VARIANT/$2/"; }
conf() { build/desk conf "$1" "$2"; }

# "REGISTERS | SMEM" over the kernels of a stage at sm_89, smallest to largest.
resources() {
  awk -v stage="\"$1\"" '
    index($0, "\"stage\": " stage) && /"bug": ""/ && /"arch": "sm_89"/ {
      match($0, /"registers": [0-9]+/); r = substr($0, RSTART + 13, RLENGTH - 13) + 0
      match($0, /"smem": [0-9]+/); s = substr($0, RSTART + 8, RLENGTH - 8) / 1024
      if (!n++ || r < rl) rl = r; if (r > rh) rh = r; if (n == 1 || s < sl) sl = s; if (s > sh) sh = s }
    END { if (!n) { printf "not measured | not measured"; exit }
      printf (rl == rh ? "%d" : "%d-%d") " | %.1f-%.1f KiB", rl, (rl == rh ? sl : rh), (rl == rh ? sh : sl), sh }' $results
}

echo "| version | one idea | correct? | registers | shared memory | what was learned |"
echo "|---|---|---|---|---|---|"
{
  for d in $(build/desk dirs); do printf '%s stage %s\n' "${d%%_*}" "$d"; done
  build/desk list | sed -n '/^Broken/,$p' | sed 1d | awk 'NF { print $1, "broken" }'
} | sort -V -k1,1 | while read -r name kind d; do
  if [ $kind = stage ]; then
    if $(lab "$d" fixed) test quick=1 > /dev/null 2>&1; then correct=yes; else correct=no; fi
    echo "| [$name](stages/$d.md) | $(conf "$d" idea) | $correct | $(resources "$d") | $(conf "$d" learned) |"
  else
    red=; learned=
    for pair in $(build/desk bugs "$name"); do
      dir=${pair%%:*}; bug=${pair#*:}
      $(lab "$dir" "bug-$bug") test quick=1 > /dev/null 2>&1 || red="$red [$bug](bugs/$bug.md)"
      l=$(conf "$dir" "learned_$name"); [ -n "$l" ] && learned=$l
    done
    echo "| $name | a version that never worked | no:$red | | | $learned |"
  fi
done
