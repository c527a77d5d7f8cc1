#!/bin/sh
# Renews the blocks of the pages from their commands; with `check` first, says which pages differ, and which links lead nowhere.
#     <!-- begin: COMMAND | FILTER -->  lines  <!-- end -->       "! COMMAND" must fail
# Output loses colours, make's and git's own lines and the number of workers; a table and a card go in as they are, all else fenced.
set -u
kept=build/writeups  # what a command has printed, for its other blocks

block() {
  all=${1#! } && first=${all%% | *} && filter=cat
  [ "$first" = "$all" ] || filter=${all#* | }
  out=$kept/$(printf %s "$first" | cksum | tr ' ' -)
  flock $out.lock sh -c '[ -f "$1.status" ] || { sh -c "$2" > "$1" 2> "$1.err" < /dev/null; echo $? > "$1.status"; }' - "$out" "$first"
  status=$(cat $out.status)
  case "$status $first" in '1 git diff'*) status=0 ;; esac  # what git says of files that differ
  case $1 in '! '*) [ $status != 0 ] ;; *) [ $status = 0 ] ;; esac || { echo "exit status $status: $1" >&2; tail -3 $out.err >&2; return 1; }
  case $first in
    git\ diff* | *.patch) language=diff ;;
    *.cu | *.cuh | *.cpp | *.hpp) language=cpp ;;
    *.py) language=python ;;
    *.exercise) language= ;;
    *) language=text ;;
  esac
  sed -E 's/\x1b\[[0-9;]*m//g; /^(make(\[[0-9]*\])?: |diff --git |index [0-9a-f]*\.\.)/d; s/ \(CPU, [0-9]* workers?\)//' $out | sh -c "$filter" |
    awk -v language=$language '
      { line[NR] = $0; if ($0 !~ /^#/ && match($0, /[^ ]/) && (!found++ || RSTART < first)) first = RSTART }
      END {
        if (!NR) exit 1
        plain = language == "" || line[1] ~ /^\|/
        if (!plain) print "```" language
        for (i = 1; i <= NR; i++) print language == "cpp" && line[i] !~ /^#/ ? substr(line[i], first) : line[i]
        if (!plain) print "```"
      }' || { echo "printed nothing: $1" >&2; return 1; }
}

page() {
  awk -v script="$0" '
    /^(```|~~~)/ && !inside { fence = !fence }
    inside { if ($0 == "<!-- end -->") inside = 0; else next }
    { print }
    !fence && /^<!-- begin: .* -->$/ {
      inside = 1; command = substr($0, 13, length - 16); gsub(/\047/, "\047\\\047\047", command)
      command = "sh " script " block \047" command "\047"
      while ((command | getline line) > 0) print line
      if (close(command)) bad = 1
    }
    END { exit bad || inside }' "$1" > "$kept/$(echo "$1" | tr / _)" || { echo "$1: a block cannot be made, or has no end" >&2; return 1; }
  new=$kept/$(echo "$1" | tr / _)
  if cmp -s "$1" "$new"; then return 0; fi
  [ "$check" ] || { cat "$new" > "$1"; return 0; }
  echo "$1 is not what its commands print:" >&2; diff "$1" "$new" | head -12 >&2; return 1
}

case ${1-} in
  block) block "$2"; exit ;;
  page) check=$2; page "$3" && echo "$3" >> $kept/good; exit 0 ;;
  check) check=1; shift ;;
  *) check= ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES  # the commands of a page must not see those of the make that called
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
rm -rf $kept && mkdir -p $kept && : > $kept/good
[ $# -gt 0 ] || set -- README.md $(find writeups -name '*.md' | sort)
printf '%s\n' "$@" | xargs -P 2 -n 1 sh "$0" page "$check"
good=$(wc -l < $kept/good) bad=$(($# - $(wc -l < $kept/good)))
if [ "$check" ]; then sh checks/scripts/links.sh "$@" && good=$((good + 1)) || bad=$((bad + 1)); fi
echo "$good passed, $bad failed"
[ $bad = 0 ]
