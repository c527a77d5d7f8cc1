#!/bin/sh
# make stage=S test: the acceptance, then the short race check; the counts of both on the last line. full=1 and verbose=1
# come from the environment.
#   stage_test.sh FIXED_KERNEL [CHECKED_KERNEL]
words="full=${full:-0} verbose=${verbose:-0}"; fixed=$1; checked=${2:-}
[ -n "$checked" ] || exec "$RUNNER" "$fixed" test $words
log=build/logs/stage-test-$$; mkdir -p build/logs
trap 'rm -f $log' EXIT
{ "$RUNNER" "$fixed" test $words; echo "status $?"; } | tee $log |
  grep -vE '^(status [0-9]+$|[0-9]+ passed, )'
status=$(sed -n 's/^status //p' $log)
[ "$status" -le 1 ] || exit "$status"
"$RUNNER" "$checked" racecheck short=1
race=$?
[ $race -le 1 ] || exit $race
passed=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' $log); failed=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' $log)
skipped=$(sed -n 's/^.* failed, \([0-9]*\) skipped$/\1/p' $log)
echo "$((passed + 1 - race)) passed, $((failed + race)) failed${skipped:+, $skipped skipped}"
[ "$status" -eq 0 ] && [ $race -eq 0 ]
