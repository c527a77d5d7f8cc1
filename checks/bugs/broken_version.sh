#!/bin/sh
# make stage=v2c4 test: a version of the notes that never worked. The acceptance runs on each of its bugs and is red.
# make stage=v2b bug=accum_tail test: the same for one bug.
#   broken_version.sh STAGE DIR:BUG=LAB ...
stage=$1; shift
red=0; green=0
for entry in "$@"; do
  pair=${entry%%=*}; lab=${entry#*=}
  echo "=== $stage is ${pair%%:*} with the bug ${pair#*:}"
  if "$lab" test quick=1; then green=$((green + 1)); else red=$((red + 1)); fi
done
case $(sh common/stages.sh resolve "$stage") in *:*) echo "$stage never worked." ;; esac
echo "$red of $((red + green)) planted changes turn the acceptance red. To see why: make stage=$stage reproduce-bug"
echo "$green passed, $red failed"
[ "$red" -eq 0 ]
