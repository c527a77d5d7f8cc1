#!/bin/sh
# Puts real output into Markdown, so that no page quotes a number that the lab no longer prints.
#   inject.sh [--check] FILE.md ...
# A block is   <!-- begin: COMMAND -->  ...  <!-- end -->   in a file below writeups/. COMMAND runs from the repository's root;
# what it prints replaces the block, fenced, or as it is where it starts with '|' or '#' (a table). `begin: table NAME` is left
# to checks/plots.py. With --check nothing is written, and a block that would change is an error.
set -u
cd "$(dirname "$0")/.." || exit 2
check=0; [ "${1:-}" = --check ] && { check=1; shift; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export MAKEFLAGS= MFLAGS= LC_ALL=C
status=0; blocks=0
for file in "$@"; do
  [ -f "$file" ] || { echo "inject: no file $file" >&2; exit 2; }
  : > "$work/new"; inside=0
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      "<!-- begin: table "*) printf '%s\n' "$line" >> "$work/new"; continue ;;
      "<!-- begin: "*" -->")
        command=${line#"<!-- begin: "}; command=${command%" -->"}; inside=1; blocks=$((blocks + 1))
        printf '%s\n' "$line" >> "$work/new"
        sh -c "$command" < /dev/null 2>&1 | grep -vE '^make(\[[0-9]+\])?: ' | sed 's/(CPU, [0-9]* workers*)/(CPU)/; s/ *$//' > "$work/out"
        [ -s "$work/out" ] || { echo "inject: $file: nothing came from: $command" >&2; status=1; }
        case $(head -c 1 "$work/out") in
          '|' | '#') cat "$work/out" >> "$work/new" ;;
          *) { echo '```'; cat "$work/out"; echo '```'; } >> "$work/new" ;;
        esac ;;
      "<!-- end -->") inside=0; printf '%s\n' "$line" >> "$work/new" ;;
      *) [ $inside -eq 1 ] || printf '%s\n' "$line" >> "$work/new" ;;
    esac
  done < "$file"
  [ $inside -eq 0 ] || { echo "inject: $file: a block has no end" >&2; exit 2; }
  if ! cmp -s "$work/new" "$file"; then
    if [ $check -eq 1 ]; then
      echo "inject: $file is stale; make writeups renews it:"; diff "$file" "$work/new" | head -10; status=1
    else
      cat "$work/new" > "$file"; echo "renewed $file"
    fi
  fi
done
echo "$blocks blocks in $# files"
exit $status
