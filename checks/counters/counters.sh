#!/bin/sh
# counters.sh RECORD KERNEL...: whether `runner KERNEL counters` counts of each stage what writeups/results/counters.csv says of (1,1,512,64); with
# RECORD 1 counts all three shapes and writes the file, which takes minutes.
set -u
file=writeups/results/counters.csv record= now=build/counters.csv good=0 bad=0
[ "$1" != 1 ] || record=1
shift
head -1 $file > $now
for kernel; do
  stage=${kernel#build/*/} && stage=${stage%%/*}
  for shape in 1,1,512,64 ${record:+1,8,512,64 2,8,2048,64}; do
    # The last asks for 32 times as much as the second: not where that takes minutes.
    [ $shape != 2,8,2048,64 ] || awk -F, -v stage=$stage '$1 == stage && $3 == 8 { n += $8 } END { exit n > 3e6 }' $now || continue
    $RUNNER $kernel counters shape=$shape csv=1 >> $now || { bad=$((bad + 1)); continue; }
    [ "$record" ] && continue
    if [ "$(grep "^$stage,1,1,512,64,0," $file)" = "$(grep "^$stage,1,1,512,64,0," $now)" ]; then
      good=$((good + 1))
    else
      echo "$stage: not as in $file (make counters record=1 renews it)" && bad=$((bad + 1))
      { grep "^$stage,1,1,512,64,0," $file | diff - $now | grep '^[<>] '"$stage" | head -6; }
    fi
  done
done
[ -z "$record" ] || [ $bad != 0 ] || { cp $now $file && good=$#; }
echo "$good passed, $bad failed"
[ $bad = 0 ]
