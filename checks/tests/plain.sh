#!/bin/sh
# CUDA programs through make check: each file of checks/tests/plain against its line in expected.tsv: the exit status, the last line that
# the program prints (an H200's, where it is one) and the kinds of findings. Prints `N passed, M failed`.
#   plain.sh [quick]     those of quick.tsv, one for each rule that no unit test proves; JOBS at once
set -u
root=checks/tests/plain
# The objects that a program is linked with, found once: make's last line.
[ -n "${CHECK_BUILDS:-}" ] || { CHECK_BUILDS=$(${MAKE:-make} -s backend=cpu check-builds | tail -1) && export CHECK_BUILDS; } || exit 1
one() {  # NAME: what its line in expected.tsv would be
  case $1 in *_order) quick= ;; *) quick=1 ;; esac  # seen in some orders of blocks alone
  out=$(file=$root/$1.cu quick=$quick seconds=20 sh checks/scripts/check.sh $CHECK_BUILDS 2>&1); status=$?
  printf '%s\n' "$out" | awk -v name="$1" -v status=$status '
    /^$/ || /^note: / || /^checks\/tests\/plain\/[^ ]*: / { said = 1 }
    !said { last = $0 }
    said && /^[a-z].*, kernel / { kind = $0; sub(/,? ?(on |kernel ).*/, "", kind); if (!seen[kind]++) kinds = kinds (kinds == "" ? "" : "; ") kind }
    status == 2 && /^checks/ && unread == "" { unread = $0; sub(/^[^:]*:/, "", unread) }
    name == "features/cvta" { last = "(an address)" }
    END { print name "\t" status "\t" (status == 2 ? unread : last) "\t" kinds }'
}
if [ "${1:-}" = one ]; then one "$2"; exit; fi
names=$(cut -f1 $root/expected.tsv)
[ "${1:-}" != quick ] || names=$(cut -f1 $root/quick.tsv)
[ "${1:-}" != record ] || names=$(cd $root && ls */*.cu | sed 's/\.cu$//')
lines=$(mktemp); trap 'rm -f "$lines"' EXIT
echo "$names" | xargs -P "${JOBS:-2}" -I{} sh "$0" one {} > "$lines"
if [ "${1:-}" = record ]; then sort "$lines" > $root/expected.tsv; exit; fi
# Every file has a line, and every line is met.
sort "$lines" | awk -F'\t' -v files="$(cd $root && ls */*.cu | wc -l)" -v expected=$root/expected.tsv '
  BEGIN { while ((getline line < expected) > 0) { name = line; sub(/\t.*/, "", name); wanted[name] = line; ++lines } }
  $0 == wanted[$1] { ++passed; next }
  { ++failed; print "wanted: " wanted[$1]; print "is:     " $0 }
  END {
    if (files != lines) { ++failed; print files " files, " lines " lines" }
    print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 || passed == 0 }'
