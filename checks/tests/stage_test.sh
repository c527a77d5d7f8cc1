#!/bin/sh
# make stage=S test: the acceptance, then the short race check; the counts of both on the last line.
#   stage_test.sh FULL TURNS FIXED_LAB [CHECKED_LAB]
words="full=$1 turns=$2"; fixed=$3; checked=${4:-}
[ -n "$checked" ] || exec "$fixed" test $words
log=build/logs/stage-test-$$; mkdir -p build/logs
trap 'rm -f $log' EXIT
{ "$fixed" test $words; echo "status $?"; } | tee $log | grep -v '^status [0-9]*$'
status=$(sed -n 's/^status //p' $log)
[ "$status" -le 1 ] || exit "$status"
# With turns=1, which is `make test`, the pages' table of tools finds what this run has said (checks/desk/runs.hpp).
if [ "$2" = 1 ]; then build/desk-work racecheck short=1 "$checked"; else "$checked" racecheck short=1; fi
race=$?
[ $race -le 1 ] || exit $race
passed=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' $log); failed=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' $log)
skipped=$(sed -n 's/^.* failed, \([0-9]*\) skipped$/\1/p' $log)
echo "$((passed + 1 - race)) passed, $((failed + race)) failed${skipped:+, $skipped skipped}"
[ "$status" -eq 0 ] && [ $race -eq 0 ]
