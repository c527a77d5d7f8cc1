#!/bin/sh
# make fuzz: random problems on every KERNEL in turn, `seconds` in all; a line a stage, and what to type where one fails. The words seconds,
# seed, cases, check and only come from the environment; `only` is one case in words, as a failure prints it.
#   fuzz.sh KERNEL...
set -u; set -f
if [ -n "${only:-}" ]; then
  [ $# -eq 1 ] || { echo "only= is a case of one stage: name it with stage=" >&2; exit 2; }
  exec "$RUNNER" "$1" fuzz only $only ${check:+check=$check}
fi
seconds=${seconds:-60}
share=$((seconds / $#)); [ $share -gt 0 ] || share=1
red=; ran=  # 3: a GPU that cannot run the stage
for kernel in "$@"; do
  "$RUNNER" "$kernel" fuzz seconds=$share ${seed:+"seed=$seed"} ${cases:+"cases=$cases"} ${check:+"check=$check"}
  case $? in 0) ran=1 ;; 2) exit 2 ;; 3) ;; *) red=1 ;; esac
done
[ -z "$red" ] || exit 1
[ -n "$ran" ] || exit 3
