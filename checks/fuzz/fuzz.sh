#!/bin/sh
# make fuzz: random problems on every LAB in turn, `seconds` in all; a line a stage, and what to type where one fails.
#   fuzz.sh "seconds=N seed=K cases=N case=I check=1" ONLY LAB...     ONLY: one case in words, as a failure prints it
set -u
args=$1; only=$2; shift 2
die() { echo "fuzz: $1" >&2; exit 2; }
if [ -n "$only" ]; then
  [ $# -eq 1 ] || die "only= is a case of one stage: name it with stage="
  exec "$1" fuzz only $only
fi
seconds=60; rest=
for a in $args; do
  case $a in seconds=*) seconds=${a#*=} ;; *) rest="$rest $a" ;; esac
done
case $seconds in ''|*[!0-9]*|0*) die "seconds=$seconds: must be a whole number of at least 1" ;; esac
share=$((seconds / $#)); [ $share -gt 0 ] || share=1
red=; ran=  # 3: a GPU that cannot run the stage
for lab in "$@"; do
  "$lab" fuzz seconds=$share $rest
  case $? in 0) ran=1 ;; 2) exit 2 ;; 3) ;; *) red=1 ;; esac
done
[ -z "$red" ] || exit 1
[ -n "$ran" ] || exit 3
