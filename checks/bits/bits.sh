#!/bin/sh
# bits.sh RECORD QUICK KERNEL...: holds what `runner KERNEL bits` prints of each stage to writeups/results/digests.txt, lines STAGE DIGEST CASE; with
# RECORD 1 writes that file, on a GPU. QUICK 1: each fifth case. A stage without a record is skipped, and said.
set -u
file=writeups/results/digests.txt record= quick= now=build/digests good=0 bad=0 skipped=0
[ "$1" != 1 ] || record=1
[ "$2" != 1 ] || quick=quick=1
shift 2
mkdir -p $now
for kernel; do
  stage=${kernel#build/*/} && stage=${stage%%/*}
  $RUNNER $kernel bits $quick > $now/$stage.new 2> $now/$stage.err
  status=$?
  [ $status != 3 ] || { skipped=$((skipped + 1)); continue; }  # not for this GPU
  [ $status = 0 ] || { echo "$stage: $(head -1 $now/$stage.err)"; bad=$((bad + 1)); continue; }
  sed "s/^/$stage /" $now/$stage.new | sort > $now/$stage
  [ -z "$record" ] || continue
  grep "^$stage " $file | sort > $now/$stage.was
  [ -s $now/$stage.was ] || { echo "$stage: no GPU has recorded its bits (make backend=gpu bits record=1)"; skipped=$((skipped + 1)); continue; }
  # Of a quick run only what it ran can differ.
  differ=$(comm -23 $now/$stage $now/$stage.was; [ "$quick" ] || comm -13 $now/$stage $now/$stage.was | sed 's/$/ (recorded)/')
  cases=$(wc -l < $now/$stage)
  if [ -z "$differ" ] && [ $cases -gt 0 ]; then
    echo "$stage: $cases cases have the bits of the record" && good=$((good + 1))
  else
    echo "$stage: $(comm -12 $now/$stage $now/$stage.was | wc -l) of $cases cases have the bits of the record" && bad=$((bad + 1))
    echo "$differ" | head -6 | sed 's/^/    /'
  fi
done
if [ "$record" ] && [ $bad = 0 ] && [ $skipped = 0 ]; then
  {
    echo "# FNV-1a, 64 bits, of the output's fp16 bytes, every NaN as 7e00"
    echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(date -u +%FT%TZ), commit $(git rev-parse --short HEAD); make backend=gpu bits record=1"
    for kernel; do stage=${kernel#build/*/} && cat $now/${stage%%/*}; done
  } > $file
  echo "recorded: $file" && good=$#
fi
echo "$good passed, $bad failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
[ $bad = 0 ] && [ $good -gt 0 ]
