#!/bin/bash
# Everything that needs the GPU, in one go, for a machine that is lent by the minute:
#   h200.sh OUT_DIR [test] [bugs] [sanitizer]
# builds all, runs what is named (all of it by default), leaves logs in OUT_DIR and prints a short table. OUT_DIR/h200-test.txt
# and h200-bugs.txt are what writeups/results/ keeps; the rows of tools-h200.csv go into tools.csv there.
set -u
out=$1; shift
what=${*:-test bugs sanitizer}
mkdir -p "$out"
say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
say "$(date -u +%F) $(nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv,noheader) $(nvcc --version | tail -1)"
start=$(date +%s)
make backend=gpu built > "$out/build.log" 2>&1 || { tail -20 "$out/build.log"; say "build failed"; exit 1; }
say "built in $(($(date +%s) - start)) s"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/, /, driver /')
cuda=$(nvcc --version | sed -n 's/.*release \([0-9.]*\), \(V.*\)/\1 (nvcc \2)/p')
# kept WHAT STAGE WORDS: a log without its progress, under the command that printed it.
kept() {
  local file="$out/h200-$1.txt"
  [ -f "$file" ] || { echo "# $gpu, CUDA $cuda, $(nproc) cores, $(date -u +%F), commit ${LAB_COMMIT:-$(git describe --always --dirty)}, by: bash checks/h200.sh OUT $1"
    head -1 "$out/summary.txt"; } > "$file"
  { echo; echo "=== make stage=$2 backend=gpu $3"; grep -v -E '^\[[0-9]+/[0-9]+\]|^make' "$out/$1-$2.log"; } >> "$file"
}
for w in $what; do
  start=$(date +%s)
  if [ "$w" = sanitizer ]; then
    sh checks/races/sanitizer.sh -j "$out/tools-h200.csv" build/gpu/*/*/kernel.so > "$out/sanitizer.log" 2>&1
    say "sanitizer: exit $? (1: the bugs were found), $(($(date +%s) - start)) s, $(grep -c ': 0 findings' "$out/sanitizer.log") builds silent"
    continue
  fi
  for s in $(ls stages | grep ^v | sed 's/_.*//'); do
    start=$(date +%s); words="test full=1"; [ "$w" = bugs ] && words=reproduce-bug
    # shellcheck disable=SC2086
    make stage=$s backend=gpu $words > "$out/$w-$s.log" 2>&1; status=$?
    say "$w $s: exit $status, $(($(date +%s) - start)) s: $(tail -2 "$out/$w-$s.log" | head -1)"
    kept "$w" "$s" "$words"
  done
done
