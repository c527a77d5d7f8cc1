#!/bin/sh
# probe.sh PROGRAM, of make probe: each section in a process of its own: one that faults or hangs costs itself alone. `only` of the
# environment: sections with this word in their name; `sample`: a file for what was measured.
set -u
only=${only:-} work=$(mktemp -d) passed=0 failed=0; trap 'rm -rf "$work"' EXIT
"$1" > "$work/sample" 2> "$work/sections" || { cat "$work/sections" >&2; exit 2; }
{
  read -r gpu; echo "$gpu"
  while read -r section; do
    case $section in *"$only"*) ;; *) continue ;; esac
    timeout 60 "$1" "$section" >> "$work/sample" 2> "$work/report"; status=$?
    cat "$work/report"
    [ $status -lt 2 ] || printf '%-44s did not come to its end\n' "$section"
    [ $status = 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
  done
} < "$work/sections"
[ $((passed + failed)) -gt 0 ] || { echo "no section has '$only' in its name" >&2; exit 2; }
[ -z "${sample:-}" ] || cp "$work/sample" "$sample" || exit 2
echo "$passed passed, $failed failed"
[ $failed = 0 ]
