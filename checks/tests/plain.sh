#!/bin/sh
# CUDA programs through make check: each file of checks/tests/plain against its rows in expected.tsv. The first row: the exit status and the
# last line that the program prints (an H200's, where it is one). Then a row for each finding: its kernel, its sentence, and its sides, a line
# by its comment's [mark] or its number. Prints `N passed, M failed`.
#   plain.sh [NAME...]          all, or these
#   plain.sh record [NAME...]   writes their rows
set -u; export LC_ALL=C
root=checks/tests/plain
# The objects that a program is linked with, found once: make's last line.
[ -n "${CHECK_BUILDS:-}" ] || { CHECK_BUILDS=$(${MAKE:-make} -s backend=cpu check-builds | tail -1) && export CHECK_BUILDS; } || exit 1
one() {  # NAME: what its rows in expected.tsv would be
  case $1 in *_order | rules/* | memory/*) quick= ;; *) quick=1 ;; esac  # these in all orders
  out=$(file=$root/$1.cu quick=$quick seconds=20 sh checks/scripts/check.sh $CHECK_BUILDS 2>&1); status=$?
  printf '%s\n' "$out" | awk -v name="$1" -v status=$status -v file=$root/$1.cu '
    function row() { if (finding != "") rows = rows "\n" name "\t" kernel "\t" finding "\t" sides; finding = sides = "" }
    BEGIN { while ((getline line < file) > 0) mark[++lines] = match(line, /\/\/ \[.*\]/) ? substr(line, RSTART + 3, RLENGTH - 3) : lines }
    { rest = $0; $0 = ""
      for (; match(rest, file ":[0-9]+"); rest = substr(rest, RSTART + RLENGTH))
        $0 = $0 substr(rest, 1, RSTART - 1) "line " mark[substr(rest, RSTART + length(file) + 1, RLENGTH - length(file) - 1)]
      $0 = $0 rest }
    { sub(/memory fault at address 0x[0-9a-f]+/, "memory fault at an address") }
    /^$/ || /^note: / || index($0, file) == 1 || /^line / { said = 1 }
    status == 2 && /^line / { unread = unread (unread == "" ? "" : "; ") $0 }
    !said { last = $0 }
    said && /^[A-Za-z].*, kernel / {
      row(); kernel = finding = $0
      sub(/.*, kernel /, "", kernel); sub(/, block .*/, "", kernel); sub(/, kernel .* times?(:|$)/, ":", finding) }
    /^    (earlier: |then: +|warp |read |write )/ { sub(/^ +(earlier: +|then: +)?/, ""); sub(/: .*/, ""); sides = sides (sides == "" ? "" : "; ") $0 }
    /^    in [0-9]+ instances/ || /^    as / || (/^    in [0-9]+ of/ && $2 != $4) { sub(/^ +/, ""); sides = sides "; " $0 }
    index($0, file ": it does not") == 1 { row(); kernel = ""; finding = substr($0, length(file) + 3) }
    END { row(); print name "\t" status "\t" (status == 2 ? unread : last) rows }'
}
if [ "${1:-}" = one ]; then one "$2"; exit; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
record=; [ "${1:-}" != record ] || { record=1; shift; }
[ $# -gt 0 ] && printf '%s\n' "$@" > "$work/names" || (cd $root && ls */*.cu | sed 's/\.cu$//') > "$work/names"
xargs -P "${JOBS:-2}" -I{} sh -c 'sh "$0" one "$2" > "$1/$(echo "$2" | tr / :).rows"' "$0" "$work" {} < "$work/names"
cat "$work"/*.rows > "$work/rows"
# Without names every row counts: also that of a program that is gone.
awk -F'\t' -v all=$(($# == 0)) 'FILENAME != ARGV[2] { named[$1]; next } all || $1 in named' "$work/names" $root/expected.tsv > "$work/wanted"
if [ "$record" ]; then grep -vxFf "$work/wanted" $root/expected.tsv | sort -s -t'	' -k1,1 - "$work/rows" > "$work/all"; cp "$work/all" $root/expected.tsv; exit; fi
diff "$work/wanted" "$work/rows" > "$work/differ"
sed -n 's/^</wanted:/p; s/^>/is:    /p' "$work/differ"
failed=$(sed -n 's/^[<>] \([^	]*\)	.*/\1/p' "$work/differ" | sort -u | wc -l)
echo "$(($(wc -l < "$work/names") - failed)) passed, $failed failed"
[ "$failed" = 0 ]
