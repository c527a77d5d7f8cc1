#!/bin/sh
# outputs.sh GOAL 'WORD...' COMMAND...: runs COMMAND, which writes the files that the WORDs of the environment name (out=O.npy). A file
# that is there already must be one that an earlier call of GOAL wrote, and as it wrote it: build/outputs has its sum. Otherwise
# nothing is run: one line, exit status 2.
set -u
goal=$1; words=$2; shift 2
known=build/outputs
refuse() { echo "$*" >&2; exit 2; }
mark() { echo "$goal $(cksum < "$1") $(realpath -- "$1")"; }
for word in $words; do
  eval "file=\${$word:-}"
  [ -n "$file" ] || continue
  [ -d "$(dirname -- "$file")" ] || refuse "$word=$file cannot be written: there is no folder $(dirname -- "$file")"
  [ -e "$file" ] || [ -L "$file" ] || continue
  [ -f "$file" ] && grep -qxF -- "$(mark "$file")" $known 2> /dev/null ||
    refuse "$word=$file is there, and it is not what an earlier make $goal wrote: name another file, or remove it"
done
written() {
  for word in $words; do
    eval "file=\${$word:-}"
    if [ -n "$file" ] && [ -f "$file" ]; then mkdir -p build; mark "$file" >> $known; fi
  done
}
trap 'written; exit 130' INT TERM
"$@"; status=$?
written
exit $status
