#!/bin/sh
# make check file=foo.cu: compiles a CUDA file with its own main() for the CPU and runs it under the checker. What the program prints
# is shown once; then each finding once, perhaps of another run; then one line, which says so. Exit status: 0 nothing was found,
# 1 something was or the program failed, 2 the file is not read.
#   check.sh FRONTEND HEADER OBJECT...   the words are in the environment: file, args, include, quick, seconds
#   check.sh precompile HEADER FLAG...   all of CUDA that the CPU reads, which takes longer to read than most files
set -u
CXX=${CXX:-g++}
flags='-std=gnu++20 -fsanitize=thread -O1 -g1 -w -ffp-contract=off -fno-optimize-sibling-calls -fno-strict-aliasing -fno-var-tracking
  -fno-delete-null-pointer-checks -fno-tree-sra -fno-elide-constructors --param tsan-distinguish-volatile=1'
! grep -qswom1 fma /proc/cpuinfo || flags="$flags -mfma"
frontend=$1 header=${2%.gch}; shift 2
if [ "$frontend" = precompile ]; then
  echo '#include "common/cpu/plain_cuda.h"' > "$header"
  exec $CXX $flags "$@" -x c++-header -Icommon/cpu -I. "$header" -o "$header.gch"
fi
say() { printf '%s\n' "$*" >&2; exit 2; }
[ -n "${file:-}" ] || say "which file? make check file=foo.cu"
case $file in -*) file=./$file ;; esac
[ -e "$file" ] || say "$file: there is no such file"
[ ! -d "$file" ] || say "$file is a directory; check wants a file"
[ -r "$file" ] || say "$file cannot be read"
[ -s "$file" ] || say "$file is empty"
LC_ALL=C grep -qI . "$file" || say "$file is no text"
seconds=${seconds:-60}
set -f  # a * in a word stays one
folders=
for folder in ${include:-}; do
  [ -d "$folder" ] || say "include=$folder: there is no such folder"
  folders="$folders -I$folder"
done
set +f
mkdir -p build/check
work=$(mktemp -d build/check/XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
unread() { sed "s,^\./,," "$1" | sort -u -t: -k1,1 -k2,2n; say "$file is not read: $(sort -u "$1" | wc -l) of its constructs, above, are not"; }
"$frontend" "$file" "$PWD" scan 2> "$work/unread" || unread "$work/unread"
# g++ says where in the user's file; of the lab's headers no word.
told() {
  grep -E '^[^ ]+:[0-9]+(:[0-9]+)?: (fatal )?error: ' "$1" | grep -v -E '^(\./)?common/' | sed -E 's/^([^:]+:[0-9]+)(:[0-9]+)?: (fatal )?error: /\1: /' | awk '!seen[$0]++' > "$work/told"
  [ -s "$work/told" ] || awk '/required from here/ { at = $1 } /error: / { sub(/.*error: /, ""); print at " " $0; exit }' "$1" | sed -E 's/:[0-9]+: / /' > "$work/told"
  head -8 "$work/told"
  say "$file is not read: g++ refuses it"
}
$CXX $flags -E -fpch-preprocess -x c++ -include "$header" -Icommon/cpu -I. -I"$(dirname "$file")" $folders "$file" -o "$work/expanded.ii" 2> "$work/errors" || {
  # A header's own #include of a library is refused in the same words as the file's.
  sed -n 's/^\([^:]*\):[0-9].*: No such file or directory$/\1/p' "$work/errors" | sort -u | while read -r included; do
    "$frontend" "$included" "$PWD" scan 2>> "$work/unread"
  done
  [ ! -s "$work/unread" ] || unread "$work/unread"
  told "$work/errors"
}
grep -v "^#" "$work/expanded.ii" | grep -qw main || say "$file has no main(); check runs a whole program"  # nor is a folder main one
"$frontend" "$work/expanded.ii" "$PWD" > "$work/rewritten.ii" 2> "$work/unread" || unread "$work/unread"
$CXX $flags -fpreprocessed -c "$work/rewritten.ii" -o "$work/program.o" 2> "$work/errors" || told "$work/errors"
$CXX -no-pie -g "$work/program.o" "$@" -lboost_context -ldl -pthread -o "$work/program" 2> "$work/errors" ||
  { sed -n 's/.*undefined reference to \(.*\)/    \1/p' "$work/errors" | sort -u | head -5; say "$file is not read: these functions are not there"; }
run() {  # SCHEDULE COPIES: what it prints; its findings and its status lie beside
  ( set -f; LAB_RUN="$1 $2 $seconds" LAB_FINDINGS="$work/$1.$2.found" timeout -k 2 $((seconds + 5)) "$work/program" ${args:-}
    echo $? > "$work/$1.$2.status" ) 2>&1
}
# Lane 0 is the last of a warp here: where all write one place, a GPU mostly keeps the value of lane 0.
run descending at_wait | tee "$work/descending.at_wait.out"
runs=1
if [ -z "${quick:-}" ]; then
  runs=8
  two() { run "$1" "$2" > "$work/$1.$2.out" & run "$3" "$4" > "$work/$3.$4.out" & wait; }
  two ascending at_wait round_robin at_wait
  two random at_wait descending at_issue
  two ascending at_issue round_robin at_issue
  run random at_issue > "$work/random.at_issue.out"
fi
for found in "$work"/*.found; do
  [ -e "$found" ] || continue
  under=${found##*/}; under=${under%.found}
  awk -v under="$under" '{ print under "\t" $0 }' "$found"
done | awk -F'\t' -v runs=$runs '
  { line = substr($0, length($1) + 2) }
  !open { key = line; open = 1; text = ""; next }
  line == "." { open = 0
    if (key == "message") { if (!(text in messages)) { messages[text] = 1; order_of_messages[++m] = text } }
    else { if (!(key in first)) { first[key] = text; order[++n] = key } if (!counted[key, $1]++) count[key]++ }
    next }
  { text = text (text == "" ? "" : "\n") line }
  END {
    for (i = 1; i <= n; ++i) { print ""; print first[order[i]]; if (runs > 1) print "    in " count[order[i]] " of " runs " runs" }
    if (!n) for (i = 1; i <= m; ++i) print "note: " order_of_messages[i]
    exit n > 0 }'
found=$?
failed=0; late=0; differ=0
for status in "$work"/*.status; do
  case $(cat "$status") in 0) ;; 124 | 137) late=$((late + 1)) ;; *) failed=$((failed + 1)) ;; esac
done
for out in "$work"/*.out; do cmp -s "$work/descending.at_wait.out" "$out" || differ=$((differ + 1)); done
how=$([ $runs = 8 ] && echo '8 runs: 4 schedules of threads, asynchronous work as late and as early as it may happen; the output is of one run, a finding of the first that has it' || echo '1 run')
[ $differ = 0 ] || echo "$file: it does not print the same in $differ of the other runs"
[ $late = 0 ] || echo "$file: $late of $runs runs had not ended after $seconds s; seconds= allows more, a smaller input takes less"
[ $failed = 0 ] || [ $found = 1 ] || echo "$file: the program fails (exit status $(cat "$work/descending.at_wait.status")) in $failed of $runs runs"
number=$(cat "$work"/*.found 2> /dev/null | grep -E '^(finding|same-value) ' | sort -u | wc -l)
echo "$file: $number finding$([ "$number" = 1 ] || echo s) in $how"
[ $found = 0 ] && [ $late = 0 ] && [ $failed = 0 ]
