#!/bin/sh
# make test of a stage with a bug, and of a version of the notes that never worked: the acceptance of each build; status 1 where one is red.
#   broken_test.sh build/BACKEND/STAGE/bug-BUG/kernel.so...     stage= is in the environment
red=0 green=0 skipped=0 never_worked=1
for kernel; do
  variant=${kernel%/*} home=${kernel%/*/*}
  bug=${variant##*/bug-} home=${home##*/}
  case $stage in "$home" | "${home%%_*}") never_worked= ;; esac
  echo "=== $stage is $home with the bug $bug"
  "$RUNNER" "$kernel" test quick=1
  case $? in
    0) green=$((green + 1))
      ! grep -q '^unseen:' "stages/$home/bugs/$bug.patch" 2> /dev/null || echo "No answer shows it on the CPU: make stage=$stage racecheck bug=$bug does." ;;
    3) skipped=$((skipped + 1)) ;;
    *) red=$((red + 1)) ;;
  esac
done
[ -z "$never_worked" ] || echo "$stage never worked."
echo "$red of $((red + green)) planted changes turn the acceptance red. To see why: make stage=$stage reproduce-bug"
[ $skipped = 0 ] && skipped= || skipped=", $skipped skipped"
echo "$green passed, $red failed$skipped"
[ $red = 0 ]
