#!/bin/sh
# CI: the zip of `make autograder`, unpacked as Gradescope lays it out, in a bare directory: source/ with its two scripts, of
# which run_autograder is copied beside it, submission/, results/. A good hand-in, a bad one, one that cheats and an empty one are
# graded. Objects that this tree has built are copied: what is compiled there is what differs. Prints `N passed, M failed`.
set -u
MAKE=${MAKE:-make}; PYTHON=${PYTHON:-python3}
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL
home=$PWD; root=$home/build/autograder; log=$home/build/logs/autograder.log
good=0; bad=0
holds() { # WHAT COMMAND...
  what=$1; shift
  if "$@" > "$log.last" 2>&1; then good=$((good + 1)); else bad=$((bad + 1)); echo "not so: $what"; tail -5 "$log.last" | sed 's/^/    /'; fi
}
mkdir -p build/logs; : > "$log"
rm -rf "$root"; mkdir -p "$root/source"
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM
$MAKE -s backend=cpu build/cpu/libtest.a build/desk-work || exit 1
holds "it packs" $MAKE -s backend=cpu autograder out="$root/autograder.zip" assigned='5 three-slots-five-warps,1'
$PYTHON -m zipfile -e "$root/autograder.zip" "$root/source" || exit 1
lab=$root/source/lab
# unzip would restore the archive's dates; what was built is younger.
find "$root/source" -exec touch -d 2020-01-01 {} +
mkdir -p "$lab/build/cpu"
cp -a build/desk build/desk-work build/desk-objects "$lab/build" || exit 1
cp -a build/cpu/obj build/cpu/parsed build/cpu/flags build/cpu/libtest.a "$lab/build/cpu" || exit 1
cp "$root/source/run_autograder" "$root/run_autograder"; chmod +x "$root/run_autograder"

# As in the image: by a shell that knows nothing of this tree.
bare() { env -i PATH="$PATH" HOME="$root" AUTOGRADER="$root" JOBS="${JOBS:-2}" "$@"; }
cd "$root" || exit 2
holds "setup.sh builds what grading needs" bare sh source/setup.sh

drills=$home/checks/exercises/drills
# What solves an exercise: of its file one of two parts.
solved() { sed '/^#ifdef SOLUTION$/d; /^#else$/,/^#endif$/d; /^#endif$/d' "$drills/$1.cu"; }
submit() { rm -rf "$root/submission"; mkdir -p "$root/submission"; }
graded() { bare ./run_autograder >> "$log" 2>&1; cp results/results.json "$home/build/logs/autograder-$1.json"; }
result() { $PYTHON -c "import json; r = json.load(open('results/results.json')); t = [x for x in r['tests'] if 'score' in x]; written = ''.join(x['output'] for x in r['tests'] if 'score' not in x); look = r['extra_data']['look']; assert $1, r"; }

submit; mkdir -p submission/work/05 submission/work/214 submission/work/01
solved phases | sed 's/i % 2 ^ 1/(i + 1) % 2/' > submission/work/05/kernel.cu
solved ring | sed 's/use % 2 ^ 1/(use + 1) % 2/' > submission/work/214/kernel.cu
printf '# answers\n\n## 1. What?\n\nBecause of the lanes.\n' > submission/work/01/ANSWERS.md
graded good
holds "a good hand-in has its points, and what is missing none" result "[x['score'] for x in t] == [10, 10, 0]"
holds "nothing of it is marked" result "look == {}"
holds "its answers are collected" result "'Because of the lanes.' in written"

submit; mkdir -p submission/05 submission/214
solved phases | sed 's/i % 2 ^ 1/0/' > submission/05/kernel.cu
solved ring | sed 's/use % 2 ^ 1/use % 2/' > submission/214/kernel.cu
graded bad
holds "a bad hand-in, without the folder work, has none" result "[x['score'] for x in t] == [0, 0, 0]"
holds "it says which check was red" result "'the right bits: ' in t[0]['output'] and 'deadlock' in t[1]['output']"

submit; mkdir -p submission/work/05 submission/work/214 submission/work/01
{ echo '#include "checks/exercises/drills/drill.hpp"'; solved phases; } > submission/work/05/kernel.cu
solved ring | grep -v '^ *//' | sed 's/\bslots\b/places/g; s/\buse\b/round/g' > submission/work/214/kernel.cu
ln -s "$home/stages/v2b_single_warp/kernel.cu" submission/work/01/kernel.cu
graded cheating
holds "what includes the checks is refused" result "t[0]['score'] == 0 and 'no more' in t[0]['output']"
holds "the solution with other names is marked, and students are not told" \
  result "'tokens that were not handed out' in look['214'] and 'tokens' not in json.dumps(r['tests'])"
holds "a link is not followed" result "'missing' in t[2]['output']"

submit
graded empty
holds "an empty hand-in is a result" result "[x['score'] for x in t] == [0, 0, 0] and 'Because' not in written"
mv source/lab/build/desk-work source/lab/build/aside; mv source/lab/checks source/lab/gone
graded broken
holds "a grader that fails says so" $PYTHON -c "import json; assert 'autograder failed' in json.load(open('results/results.json'))['output']"
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
