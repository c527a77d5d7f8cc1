#!/bin/sh
# make fuzz: random problems on every KERNEL in turn, `seconds` in all; a line a stage, and what to type where one fails. The words seconds,
# seed, cases, check and only come from the environment; `only` is one case in words, as a failure prints it.
#   fuzz.sh KERNEL...
set -u; set -f
die() { echo "fuzz: $1" >&2; exit 2; }
rest=
for word in seed cases check; do
  eval "value=\${$word:-}"
  case $value in *[!0-9]*) die "$word=$value: must be a whole number" ;; ?*) rest="$rest $word=$value" ;; esac
done
if [ -n "${only:-}" ]; then
  [ $# -eq 1 ] || die "only= is a case of one stage: name it with stage="
  exec "$RUNNER" "$1" fuzz only $only ${check:+check=$check}
fi
seconds=${seconds:-60}
share=$((seconds / $#)); [ $share -gt 0 ] || share=1
red=; ran=  # 3: a GPU that cannot run the stage
for kernel in "$@"; do
  "$RUNNER" "$kernel" fuzz seconds=$share $rest
  case $? in 0) ran=1 ;; 2) exit 2 ;; 3) ;; *) red=1 ;; esac
done
[ -z "$red" ] || exit 1
[ -n "$ran" ] || exit 3
