#!/bin/sh
# Fills the blocks of the Markdown pages with what their commands print, so that no page can go stale:
#   inject.sh [FILE.md...]            rewrites the blocks; default: writeups/*.md writeups/*/*.md
#   inject.sh --check [FILE.md...]    reruns them, and exits with 1 naming file and block where the page differs
# A block, at the start of a line:
#   <!-- begin: COMMAND | FILTER -->
#   <!-- end -->
# COMMAND runs at the repository's root and must succeed; written "! COMMAND", it must fail. What it prints loses colours,
# make's and git's own lines and the number of workers, then goes through FILTER. A table goes in as it is, all else fenced.
# A block whose command starts with another word than make, git, sed, grep, awk or sh is filled by somebody else.
#
# Two commands for blocks:
#   inject.sh plan DIR [VARIANT]      a stage's tile and shared memory at both head dimensions, as a table
#   inject.sh hunks REGEX OLD NEW     git diff --no-index OLD NEW, only the hunks that have a line with REGEX
set -u
cd "$(dirname "$0")/../.." || exit 2
# A make that called us hands its command line on; the commands of a page must not see it. (Its words the Makefile keeps back.)
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat

if [ "${1:-}" = plan ]; then
  lab=build/cpu/$2/${3:-fixed}/lab
  make backend=cpu "$lab" > /dev/null || exit 1
  { "$lab" plan 1 8 512 64; "$lab" plan 2 8 2048 128; } | awk '
    function field(key,  s) {
      if (!match($0, "\"" key "\": [^,}\\]]*")) return ""
      s = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4); gsub(/"/, "", s); return s }
    /"stage"/ { ++c; n = 0 }
    /"D":/ { d[c] = sprintf("(%s,%s,%s,%s)", field("B"), field("H"), field("S"), field("D")) }
    /"tile_m"/ { tile[c] = field("tile_m") " queries x " field("tile_n") " keys"; rows[c] = field("rows_per_warp"); slots[c] = field("slots") }
    /"grid"/ { match($0, /\[[0-9, ]*\]/); grid[c] = substr($0, RSTART + 1, RLENGTH - 2); gsub(/, /, " x ", grid[c]) }
    /"static_smem"/ { total[c] = field("smem") }
    /"name"/ { ++n; name[n] = field("name"); type[n] = field("type")
      extent[n, c] = field("rows") (field("pitch") > 1 ? " x " field("pitch") : ""); bytes[n, c] = field("bytes") }
    END {
      print "| | " d[1] " | bytes | " d[2] " | bytes |\n|---|---|--:|---|--:|"
      for (i = 1; i <= n; i++) print "| `" name[i] "`, " type[i] " | " extent[i, 1] " | " bytes[i, 1] " | " extent[i, 2] " | " bytes[i, 2] " |"
      print "| **shared memory a block** | | **" total[1] "** | | **" total[2] "** |"
      print "| tile | " tile[1] " | | " tile[2] " | |"
      print "| rows a computing warp owns | " rows[1] " | | " rows[2] " | |"
      print "| K/V slots | " slots[1] " | | " slots[2] " | |"
      print "| grid, blocks of 256 threads | " grid[1] " | | " grid[2] " | |" }'
  exit
fi

if [ "${1:-}" = hunks ]; then
  git diff --no-index --no-color --no-ext-diff -U2 "$3" "$4" | awk -v want="$2" '
    function flush() { if (hunk != "" && keep) printf "%s", hunk; hunk = ""; keep = 0 }
    /^(---|\+\+\+) [ab]\// && !started { print; next }
    /^@@/ { flush(); started = 1 }
    started { hunk = hunk $0 "\n"; if ($0 ~ want) keep = 1 }
    END { flush() }'
  exit
fi

check=; [ "${1:-}" = --check ] && { check=1; shift; }
[ $# -gt 0 ] || set -- writeups/*.md writeups/*/*.md
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
escape=$(printf '\033')
good=0; bad=0

# The body of a block, from its command line. What a command printed is kept: blocks share commands.
body() {
  command=$1; must_fail=
  case $command in '! '*) must_fail=1; command=${command#! } ;; esac
  first=${command%%" | "*}; filter=cat
  [ "$first" = "$command" ] || filter=${command#*" | "}
  run=$tmp/run-$(printf '%s' "$first" | cksum | tr ' ' -)
  if [ ! -f "$run.status" ]; then
    sh -c "$first" > "$run.raw" 2> "$run.errors"; status=$?
    sed -e "s/$escape\[[0-9;]*m//g" -e '/^make\(\[[0-9]*\]\)\{0,1\}: /d' -e '/^diff --git /d' -e '/^index [0-9a-f]*\.\./d' \
      -e 's/ (CPU, [0-9]* workers\{0,1\})//' "$run.raw" > "$run.out"
    echo $status > "$run.status"
  fi
  read -r status < "$run.status"
  case $first in 'git diff'*) [ "$status" -eq 1 ] && status=0 ;; esac
  if [ "$status" -ne 0 ] && [ -z "$must_fail" ]; then
    echo "exit status $status" >&2; tail -3 "$run.errors" >&2; return 1
  fi
  [ "$status" -eq 0 ] && [ -n "$must_fail" ] && { echo "succeeded, but must fail" >&2; return 1; }
  sh -c "$filter" < "$run.out" > "$tmp/filtered" || { echo "the filter failed" >&2; return 1; }
  [ -s "$tmp/filtered" ] || { echo "printed nothing" >&2; return 1; }
  case $first in
    'git diff'* | *'inject.sh hunks '*) language=diff ;;
    *.cu | *.cuh | *.cpp | *.hpp) language=cpp ;;
    *) language=text ;;
  esac
  awk -v language=$language '
    { line[NR] = $0
      if (language == "cpp" && $0 ~ /[^ ]/ && $0 !~ /^#/) { match($0, /^ */); if (indent == "" || RLENGTH < indent) indent = RLENGTH } }
    END {
      if (line[1] ~ /^\|/) { for (i = 1; i <= NR; i++) print line[i]; exit }
      print "```" language
      for (i = 1; i <= NR; i++) print (language == "cpp" && line[i] !~ /^#/ ? substr(line[i], indent + 1) : line[i])
      print "```" }' "$tmp/filtered"
}

for file; do
  [ -f "$file" ] || { echo "$file: no such file" >&2; bad=$((bad + 1)); continue; }
  rm -f "$tmp"/new.* "$tmp"/old.*; : > "$tmp/commands"
  # Block N's command goes to line N of `commands`, its committed body to old.N.
  awk -v tmp="$tmp" '
    !inside && /^(```|~~~)/ { fence = !fence }
    !fence && !inside && /^<!-- begin: (! )?(make|git|sed|grep|awk|sh) .* -->$/ {
      n++; inside = 1; old = tmp "/old." n; printf "" > old
      command = $0; sub(/^<!-- begin: /, "", command); sub(/ -->$/, "", command); print command > (tmp "/commands"); next }
    inside && /^<!-- end -->$/ { inside = 0; close(old); next }
    inside && /^<!-- begin: / { exit 1 }
    inside { print > old }
    END { if (inside) exit 1 }' "$file" || { echo "$file: a block has no <!-- end -->" >&2; bad=$((bad + 1)); continue; }
  n=0
  while IFS= read -r line; do
    n=$((n + 1))
    if ! body "$line" < /dev/null > "$tmp/new.$n" 2> "$tmp/why"; then
      echo "$file: block $n cannot be made: $line" >&2; sed 's/^/    /' "$tmp/why" >&2
      cp "$tmp/old.$n" "$tmp/new.$n"; bad=$((bad + 1))
    elif [ -n "$check" ] && ! cmp -s "$tmp/old.$n" "$tmp/new.$n"; then
      echo "$file: block $n is not what its command prints: $line" >&2
      diff "$tmp/old.$n" "$tmp/new.$n" | head -20 | sed 's/^/    /' >&2; bad=$((bad + 1))
    else
      good=$((good + 1))
    fi
  done < "$tmp/commands"
  [ -n "$check" ] || [ "$n" -eq 0 ] && continue
  awk -v tmp="$tmp" '
    !inside && /^(```|~~~)/ { fence = !fence }
    !fence && !inside && /^<!-- begin: (! )?(make|git|sed|grep|awk|sh) .* -->$/ {
      print; inside = 1; from = tmp "/new." ++n
      while ((getline text < from) > 0) print text
      close(from); next }
    /^<!-- end -->$/ { inside = 0 }
    !inside' "$file" > "$tmp/page"
  cmp -s "$tmp/page" "$file" || cat "$tmp/page" > "$file"
done
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
