#!/bin/sh
# trace.sh [WORD=VALUE...] -- KERNEL...: a block's steps of each, at a shape that takes no time unless there is one kernel or a shape=. An
# output is kept as outputs.sh says.
words=
while [ "$1" != -- ]; do words="$words '$(printf %s "$1" | sed "s/'/'\\\\''/g")'"; shift; done
shift
[ $# = 1 ] || case $words in *"'shape="*) ;; *) words="$words shape=1,1,256,64" ;; esac
status=0 good=0
for kernel; do
  eval "sh checks/scripts/outputs.sh trace json $RUNNER $kernel trace $words" && good=$((good + 1)) || status=$?
done
[ $# = 1 ] || echo "$good passed, $(($# - good)) failed"
exit $status
