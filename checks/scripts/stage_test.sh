#!/bin/sh
# make stage=S test: the acceptance, then the short race check; of a backward stage also whether its bits depend on the order of its
# blocks, and whether stage.conf says so. The counts of all on the last line. full=1 and turns=1 come from the environment.
#   stage_test.sh once|same-bits FIXED_LAB [CHECKED_LAB]
words="full=${full:-0} turns=${turns:-0} verbose=${verbose:-0}"; extra=$1; fixed=$2; checked=${3:-}
[ -n "$checked" ] || exec "$RUNNER" "$fixed" test $words
log=build/logs/stage-test-$$; mkdir -p build/logs
trap 'rm -f $log' EXIT
{ "$RUNNER" "$fixed" test $words; echo "status $?"; } | tee $log | grep -v '^status [0-9]*$'
status=$(sed -n 's/^status //p' $log)
[ "$status" -le 1 ] || exit "$status"
"$RUNNER" "$checked" racecheck short=1
race=$?
[ $race -le 1 ] || exit $race
more=1; bits=0
if [ "$extra" = same-bits ]; then more=2; "$RUNNER" "$fixed" same-bits; bits=$?; [ $bits -le 1 ] || exit $bits; fi
passed=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' $log); failed=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p' $log)
skipped=$(sed -n 's/^.* failed, \([0-9]*\) skipped$/\1/p' $log)
echo "$((passed + more - race - bits)) passed, $((failed + race + bits)) failed${skipped:+, $skipped skipped}"
[ "$status" -eq 0 ] && [ $race -eq 0 ] && [ $bits -eq 0 ]
