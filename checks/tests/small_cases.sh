#!/bin/sh
# CI: the goals of common/help.txt that nothing else runs, each on its smallest case, in a scratch copy of the tree below build/:
# work/ is the learner's, and clean and format change what is there. Before that: whether every goal is run by something.
# Prints `N passed, M failed`.
set -u
MAKE=${MAKE:-make}
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL
home=$PWD; tree=$home/build/small-cases; log=$home/build/logs/small-cases.log
mkdir -p build/logs
good=0; bad=0; skipped=
# small STATUS PIECE COMMAND...: ends with STATUS and prints a line with PIECE
small() {
  wanted=$1; piece=$2; shift 2
  timeout 240 "$@" > "$log" 2>&1; status=$?
  if [ $status -eq "$wanted" ] && { [ -z "$piece" ] || grep -qF -- "$piece" "$log"; }; then good=$((good + 1))
  else bad=$((bad + 1)); echo "exit $status ($wanted wanted), '$piece' wanted: $*"; tail -5 "$log" | sed 's/^/    /'; fi
}
have() { command -v "$1" > /dev/null 2>&1; }

# A goal is run where a line of these names it after make; a refusal, and make -n, run nothing. What needs a GPU, or PyTorch, and
# what needs minutes of nvcc, no machine of CI has: checks/tests/h200.sh and people run those. The desk's table commands are blocks of
# pages, which make writeups check=1 prints.
elsewhere="$(sed -n 's/^GPU_GOALS [:+]*= //p' Makefile | tr '\n' ' ') build-gpu peers evolve-confirm climb-table"
runs() {
  cat .ci/run checks/tests/run_all.sh checks/tests/arm64.sh checks/tests/autograder.sh
  cat checks/tests/front_desk.sh checks/tests/scratch_tree.sh checks/tests/small_cases.sh | grep -v -e '^ *refuse' -e 'MAKE -n' -e '^elsewhere'
  grep -rhE '^<!-- begin: .*make ' writeups README.md
}
runs > "$log"
for goal in $(sed -n 's/^GOALS [:+]*= //p' Makefile); do
  case " $elsewhere " in *" $goal "*) continue ;; esac
  if grep -qE "(make|MAKE|make_it)\"?( [^;|&]*)? $goal( |\$|[\"'\`;|)])" "$log"; then good=$((good + 1))
  else bad=$((bad + 1)); echo "CI runs 'make $goal' nowhere: checks/tests/small_cases.sh is the place for its smallest case"; fi
done

rm -rf "$tree"; mkdir -p "$tree/build/cpu"
trap 'rm -rf "$tree"' EXIT
trap 'exit 130' INT TERM
$MAKE -s backend=cpu build/cpu/libtest.a build/cpu/liblab.a || exit 1
cp -a .clang-format Makefile README.md common reference checks stages writeups "$tree"
cp -a build/desk* "$tree/build"
cp -a build/cpu/obj build/cpu/flags build/cpu/*.a "$tree/build/cpu"
[ ! -d build/cpu/parsed ] || cp -al build/cpu/parsed "$tree/build/cpu"
cd "$tree" || exit 2

small 0 "0 of " $MAKE backend=cpu exercise
small 0 "Laid out in work/08" $MAKE backend=cpu exercise n=8
small 0 "extent" $MAKE backend=cpu hint n=8
small 2 "RED:" $MAKE backend=cpu try n=8
small 124 "watching work/08/kernel.cu" timeout 5 $MAKE backend=cpu watch n=8
small 0 "+++" $MAKE backend=cpu solution n=8 give-up=1
small 0 "as it was handed out" $MAKE backend=cpu reset n=8
small 0 "the same elements" $MAKE backend=cpu predict n=10 say='col >= 64'
small 2 "not handed in" $MAKE backend=cpu grade
small 0 " candidates" $MAKE backend=cpu stage=v3b evolve shape=1,1,64,64 candidates=1 minutes=1
small 0 "scale_missing" $MAKE backend=cpu stage=v1 mutants only=scale_missing
if [ -e "$home/.venv/ready" ]; then ln -s "$home/.venv" .venv && small 0 "figures in writeups/figures" $MAKE -o .venv/ready plots
else skipped="$skipped plots"; fi
if have clang-format-14; then small 0 "" $MAKE format; else skipped="$skipped format"; fi
small 0 "" $MAKE clean
small 1 "" test -e build/cpu

[ -z "$skipped" ] || echo "their tools are not here:$skipped"
echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 0 ]
