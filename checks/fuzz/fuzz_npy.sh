#!/bin/sh
# make fuzz-npy seconds=N: the .npy reader under libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, from a corpus made
# on the spot. Exit status 1 where an input breaks it: libFuzzer keeps that input in build/fuzz-npy.
set -u
seconds=$1; work=build/fuzz-npy
die() { echo "fuzz-npy: $1" >&2; exit 2; }
case $seconds in ''|*[!0-9]*|0*) die "seconds=$seconds: must be a whole number of at least 1" ;; esac
clang=${CLANG:-}
for c in clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19; do
  [ -n "$clang" ] || ! command -v $c > /dev/null || clang=$c
done
[ -n "$clang" ] || die "needs clang, which is not on the PATH (Debian: apt-get install clang libclang-rt-14-dev)"
mkdir -p $work/corpus $work/broken
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' > $work/probe.cpp
"$clang" -fsanitize=fuzzer,address $work/probe.cpp -o $work/probe 2> $work/probe.log ||
  die "$clang has no libFuzzer or AddressSanitizer runtime (Debian: apt-get install libclang-rt-14-dev): $(grep -m1 error $work/probe.log)"
# npy MAJOR HEADER DATA_BYTES > FILE: a length of two bytes in version 1, of four in version 2; zeros for data.
npy() {
  length=${#2}; low=$(printf '%03o' $((length % 256))); high=$(printf '%03o' $((length / 256)))
  printf "\\223NUMPY\\00$1\\000\\$low\\$high"; [ $1 = 2 ] && printf '\000\000'
  printf '%s' "$2"; head -c "$3" /dev/zero
}
good="{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 3, 4), }"
npy 1 "$good" 48 > $work/corpus/good; npy 2 "$good" 48 > $work/corpus/good-2; npy 1 "$good" 47 > $work/corpus/truncated
npy 1 '{"shape":(1,1,1,1),"fortran_order":False,"descr":"<f2"}' 2 > $work/corpus/order; npy 3 "$good" 48 > $work/corpus/version
npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1), }" 4 > $work/corpus/type
npy 1 "{'descr': '<f2', 'fortran_order': True, 'shape': (1, 1, 1, 1), }" 2 > $work/corpus/fortran
npy 1 "{'descr': '<f2', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2147483647, 8), }" 2 > $work/corpus/huge
npy 1 "{'descr': [('x', '<f2')], 'fortran_order': False, 'shape': (0,), 'z': 1}" 0 > $work/corpus/struct
printf '\223NUMPY' > $work/corpus/magic; : > $work/corpus/empty
printf '"<f2"\n"<f4"\n"descr"\n"fortran_order"\n"shape"\n"True"\n"False"\n"\\x93NUMPY\\x01\\x00"\n"4294967296"\n"(1, 1, 1, 1)"\n' > $work/words
"$clang" -std=c++20 -O1 -g -I. -Wall -Wextra -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  checks/fuzz/fuzz_npy.cpp reference/npy.cpp -o $work/fuzz || exit 1
$work/fuzz -max_total_time="$seconds" -max_len=4096 -dict=$work/words -artifact_prefix=$work/broken/ -print_final_stats=1 \
  $work/corpus > $work/log 2>&1
status=$?
if [ $status -eq 0 ]; then
  echo "fuzz-npy: $(sed -n 's/^stat::number_of_executed_units: *//p' $work/log) files read in $seconds s, $(ls $work/corpus | wc -l) of them kept for the code they reach; none broke the reader"
else
  tail -30 $work/log
  echo "fuzz-npy: broken by the file in $work/broken; again: $work/fuzz $work/broken/NAME"
  exit 1
fi
