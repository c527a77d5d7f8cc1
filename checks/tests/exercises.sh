#!/bin/sh
# The exercises' scripts: what they refuse, what they let through, and what they say. The exercises themselves are proven by
# checks/exercises/learn/prove.sh. Prints, on its last line, `N passed, M failed`.
set -u
passed=0; failed=0
is() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf '%s:\n  %s\nis not\n  %s\n' "$1" "$2" "$3"; fi; }
has() { case $2 in *"$3"*) passed=$((passed + 1)) ;; *) failed=$((failed + 1)); printf '%s: no "%s" in\n  %s\n' "$1" "$3" "$2" ;; esac; }
. checks/exercises/learn/functions.sh
tell= explain= grading= is_built= own_only= one_race=
root=$PWD
lines() { printf '%b\n' "$1"; }
echo '{ print strip($0) }' > "$tmp/strip.awk"
stripped() { lines "$1" | awk -f $learn/code.awk -f "$tmp/strip.awk"; }

is "comments go" "$(stripped 'a // b\nc /* d\ne */ f')" "$(lines 'a \nc \n  f')"
is "what only looks like one stays" "$(stripped "\"// no\" '\"' // yes")" "\"// no\" '\"' "
is "a digit separator is no quote" "$(stripped "1'000 // x")" "1'000 "

# Of a bug's patch its comments are not handed out; one whose lines have changed does not apply.
mkdir "$tmp/p"; cd "$tmp/p" || exit 2; mkdir -p checks/scripts; ln -s "$root/checks/exercises" checks/exercises; ln -s "$root/checks/scripts/patched.sh" checks/scripts/patched.sh
lines 'one;  // kept\ntwo;  // as it was\nthree;\nfour;' > k.cu
{ lines 'plants: x\npredicted: y\n\n--- a/k.cu\n+++ b/k.cu\n@@ -1,4 +1,5 @@\n one;  // kept\n-two;  // as it was\n-three;'
  lines '+two(2);  // as it was\n+three(3);  // the bug\n+// alone\n four;'; } > b.patch
is "a bug's comments" "$(patched b.patch)" "$(lines 'one;  // kept\ntwo(2);  // as it was\nthree(3);\nfour;')"
has "a hole's" "$(patched b.patch 1)" 'three(3);  // the bug'
sed -i 's/as it was/as it is/' k.cu
has "a patch that is too old" "$( (patched b.patch) 2>&1)" "b.patch no longer applies to k.cu"
cd "$root" || exit 2

# A call that is interrupted leaves nothing behind.
mkdir "$tmp/i"; TMPDIR=$tmp/i sh -c '. checks/exercises/learn/functions.sh; kill -TERM $$; :' 2> /dev/null
is "an interrupted call's files" "$(ls "$tmp/i")" ""

# A source that reaches for the checks.
given='#include "common/tile.cuh"'
refused() { lines "$given" > "$tmp/g"; lines "$1" > "$tmp/s"; awk -v shown=k.cu -f $learn/code.awk -f $learn/guard.awk pass=1 "$tmp/g" pass=2 "$tmp/s"; }
for good in "$given\\nint a;  // asm, #line, #include\\n#pragma unroll" 'int masm, asmx;' '#define A \\\\\n  b'; do is "let through: $good" "$(refused "$good")" ""; done
is "another include" "$(refused '\n#include <fstream>')" "k.cu:2: a handed-in kernel includes what was handed out with it, and no more"
while IFS='|' read -r bad why; do has "refused: $bad" "$(refused "$bad")" "$why"; done << 'END'
#include MACRO|includes what was handed out
 # include "reference/attention.hpp"|includes what was handed out
# 1 "other.cu"|#line
#line 1|#line
%:line 1|digraphs
#inc\\\nlude <fstream>|one line
void f() { asm(""); }|`asm` has no place
auto s = R"x(")x"; asm("") //"|raw strings
__attribute__((constructor)) void f();|`constructor`
END

# An object may call what a kernel needs.
symbol() { printf '                 U %s\n' "$1" | awk -f $learn/symbols.awk; }
while read -r one; do is "a kernel's" "$(symbol "$one")" ""; done << 'END'
expf
powf@GLIBC_2.27
lab::cpu::shuffle(int)
float lab::cpu::atomic<float>(lab::cpu::Atomic, float*, float)
__tsan_read4
operator new(unsigned long)
END
while read -r one; do is "not a kernel's" "$(symbol "$one")" "$one"; done << 'END'
exit
dlsym
lab::set_exec_options(lab::ExecOptions const&)
lab::attention(lab::Shape const&, double)
lab::cpu::Block::shadow()
float lab::cpu::Block<float>::shadow<float>(int)
float lab::other<float>(int)
std::basic_ofstream<char, std::char_traits<char> >::basic_ofstream()
END

# A test is scored by what it catches, less what it accuses.
is "enough" "$(lines '1 1\n1 1\n0 0' | judged_cases 2)" ""
is "missed" "$(lines '1 1\n1 0\n0 0' | judged_cases 2)" "caught 1 of 2 wrong kernels, 0 false alarms; asked for are 2; number 2 gets through"
is "accused" "$(lines '1 1\n1 1\n0 1' | judged_cases 2)" "caught 2 of 2 wrong kernels, 1 false alarms; asked for are 2; number 3 is right, and accused"
find_exercise 98; budget=$(get budget); source=$tmp/cases.txt
i=0; while [ $i -le "$budget" ]; do i=$((i + 1)); echo "B=$i # a case"; done > "$source"
has "too many cases" "$( (check_cases) 2>&1)" "has $((budget + 1)) cases; the budget is $budget"
echo '# none' > "$source"; has "no case" "$( (check_cases) 2>&1)" "has no case"

# A red step's report is shown, unless it names lines that the card asks for.
file=work/07/kernel.cu predict_first=first n=7
red_of() { hidden=$1; show_red step "$2" | tail -n +2; }
has "a report that begins with a number" "$(red_of '' '1 step: work/07/kernel.cu:3: a race')" "work/07/kernel.cu:3: a race"
has "lines that are asked for" "$(red_of 1 'a race at work/07/kernel.cu:3: x')" "make predict n=7 first, then it is shown"
has "a report without lines" "$(red_of 1 'the answer is wrong')" "the answer is wrong"
has "a map keeps its columns" "$(red_of '' "$(lines '  row  0..7      ##..\n  row  64..127   ....')")" "$(lines '      row  0..7      ##..\n      row  64..127   ....')"

# An exercise's file, and half a solution.
find_exercise 'a producer WARP'; is "by name" "$number $stage $handed" "216 drill-producer kernel.cu"
has "no such exercise" "$( (find_exercise frist) 2>&1)" "no exercise 'frist'"
find_exercise 40; predict=lines
first=$(as_typed 'const bool computes = | const auto &K =' | cut -d' ' -f1)
has "a piece becomes its line" "$(given | sed -n "${first}p")" "const bool computes ="
has "a piece in many lines" "$(as_typed half)" "lines of what is handed out"
text_of() {  # FILE TEXT: what prove.sh says of it beside a bug's patch
  rm -rf "$tmp/r"; mkdir -p "$tmp/r/stages/v1_x/bugs" "$tmp/r/checks/exercises/drills" "$tmp/r/build"; cd "$tmp/r" || exit 2
  ln -s "$root/checks/exercises/learn" checks/exercises/learn; ln -s "$root/checks/scripts" checks/scripts; ln -s "$root/writeups" writeups
  echo 'idea="x"' > stages/v1_x/stage.conf; lines 'int a = 1;  // one\nint quick_brown = fox(12);' > stages/v1_x/kernel.cu
  lines 'plants: x\npredicted: y\n\n--- a/stages/v1_x/kernel.cu\n+++ b/stages/v1_x/kernel.cu\n@@ -1,2 +1,2 @@\n int a = 1;  // one\n-int quick_brown = fox(12);\n+int quick_brown = fox(13);' > stages/v1_x/bugs/bad_fox.patch
  lines "$1" > stages/v1_x/bugs/bad_fox.exercise
  sh checks/exercises/learn/prove.sh text 2>&1; cd "$root" || exit 2
}
head='n: 7\nname: a name\nkind: fix\nminutes: 5\nafter: on-ramp'
body='\nsymptom:\n  It is\n\n  wrong.\n\nquestion:\n  Why?\nquestion:\n  Where?\nhint:\n  A\nhint:\n  B\nhint:\n  C'
has "a good file" "$(text_of "$head$body")" "1 passed, 0 failed"
while IFS='|' read -r text why; do has "$why" "$(text_of "$text")" "$why"; done << END
$head\nn: 8\n$body|n: is there twice
$head\nnmae: x\n$body|unknown key nmae
$head$body\nhint:\n  D|must have three hints
$head|lacks a block symptom: or task:
$head$body\nanswer:\n  D|an answer for each question
$head\npredict: mask\nright: row\n$body|needs right: and near:
$head$body\n lost|is no \`key: value\`
$head$body\ngpu:\n  Look at Bad-Fox, please. xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx|longer than 100 bytes
$head$body bad-fox|holds the bug's name, bad_fox
$head$body int quick_brown = fox( 12 );|holds a line of the solution
$head$body\npredict: formula\nmenu: a b c\nright: a\nnear: d|d is not on the menu
END

# A learner's state, and grades. A word is text, and nothing of it is run.
rm -rf "$tmp/r"; mkdir -p "$tmp/r/build/logs"; cd "$tmp/r" || exit 2
for one in checks stages writeups; do ln -s "$root/$one" $one; done
ex() { sh checks/exercises/learn/exercise.sh "$@" 2>&1; }
has "laid out" "$(n=1 ex exercise)" "Laid out in work/01."
has "it stays" "$(n=01 ex exercise)" "work/01/kernel.cu is as you left it; make exercise n=1 again=1 begins anew."
echo '// mine' >> work/01/kernel.cu; has "begun anew" "$(n=1 again=1 ex exercise)" "Yours is work/01/kernel.cu.1."
has "kept" "$(cat work/01/kernel.cu.1)" "// mine"
is "hints are counted" "$(for i in 1 2 3 4; do n=1 ex hint | head -1; done)" "$(lines 'hint 1 of 3\nhint 2 of 3\nhint 3 of 3\nhint 3 of 3')"
has "a list" "$(n=v2b ex exercise)" "an eighth of the output is NaN       fix              10 begun, 3 hints"
has "the core path" "$(ex exercise)" " 1.  n=1    an eighth of the output is NaN        10 minutes  begun, 3 hints"
has "the next is the first that is not done" "$(echo '01 done' >> work/state.txt; ex exercise)" "1 of 12 done, 330 minutes left. Next: make exercise n=11"
sed -i '$d' work/state.txt
has "all" "$(all=1 ex exercise | tail -1)" "0 of $(index | wc -l) done"
has "not shown before it is done" "$(n=1 ex solution)" "exercise 01 is not done; make solution n=1 give-up=1 shows it all the same"
for bad in 'row; touch x' '$(touch x)' '`touch x`' "row' touch x '" 'row[1]' 'row{' 'row"'; do has "no rule: $bad" "$(n=1 say=$bad ex predict)" "a rule is made of"; done
is "nothing was run" "$(ls)" "$(lines 'build\nchecks\nstages\nwork\nwriteups')"
# The map of a wrong rule shows the answer: it comes from the second on.
mkdir build/cpu; touch build/cpu/commands.so
lines '#!/bin/sh\nprintf "right=0\\\\nasked=1\\\\nnear=your rule marks 3\\\\nnear=a map\\\\n" > "$LAB_VERDICT"; exit 1' > build/cpu/runner; chmod +x build/cpu/runner
mapped() { MAKE=true n=1 say='row == 1' ex predict | grep -v '^compiling'; }
is "a first wrong rule" "$(mapped)" "$(lines 'your rule marks 3\nAfter a second rule that is not right you see a map.\nnot right; try again, or look with make try.')"
has "a second" "$(mapped)" "a map"
told=$(grep -l '^seen: told' stages/*/exercises/*.exercise | head -1); take "$(index | grep "$told")"
is "a number that is wrong" "$(n=$n say=$((right + 1)) ex predict)" "not right; make hint helps."
has "a number that is right" "$(n=$n say=$right ex predict)" "right."
take "$(index | grep '|accumulators-become-an-operand|')"
is "one of two numbers in one" "$(n=$n say=$((right - 1)) ex predict)" "1 of 2 right, the first; try again, or look with make try."
is "none of them, and no octal number" "$(n=$n say=0${right%??}9 ex predict)" "0 of 2 right; try again, or look with make try."
take "$(index | grep "$told")"
echo "$number sai" >> work/state.txt  # cut short, as by a full disk
printf 'Because.\n' >> work/01/ANSWERS.md
graded=$(assigned="1,$n" seed=7 json=out.json ex grade)
has "not handed in" "$graded" "RED, not handed in: work/01/kernel.cu is missing, or as it was handed out"
has "the second attempt was right" "$graded" "attempt 2 of 2"
has "points" "$graded" "8 of 20 points"
has "answers are shown" "$graded" "Because."
has "as JSON" "$(cat out.json)" '"score": 8, "max_score": 10, "output": "passed; prediction: attempt 2 of 2"}'
has "nobody is assigned" "$(assigned=, ex grade)" "names no exercise"
cd "$root" || exit 2

# The core path has one order: of its exercises' files, of the two evenings' pages; and what an exercise comes after is behind a learner.
index > "$tmp/index"
order=$(awk -F'|' '$9 { print $9 + 0, $1 }' "$tmp/index" | sort -n)
is "the core's places" "$(echo "$order" | cut -d' ' -f1)" "$(seq 12)"
is "the core on the evenings" "$(grep -oh 'make exercise n=[0-9]*' writeups/ampere-in-one-evening.md writeups/hopper-in-one-evening.md | sed 's/.*=//' | awk '!seen[$1]++')" "$(echo "$order" | cut -d' ' -f2)"
is "what comes after what" "$(awk -F'|' 'FNR == NR { exercise[$8] = 1; place[$8] = $9 + 0; next }
  $9 { count = split($5, word, " "); for (i = 1; i <= count; i++) if (word[i] in exercise && (!place[word[i]] || place[word[i]] > $9 + 0)) print $2 " is before " word[i] }' "$tmp/index" "$tmp/index")" ""

# The course assigns what there is, with its minutes.
is "the course's minutes" "$(awk -F'|' 'FILENAME ~ /index/ { minutes[$1 + 0] = $4; next } /^\| .*`.*` \| [0-9]+ \|$/ { weeks++; split($0, cell, "`"); count = split(cell[2], n, " "); sum = 0
    for (i = 1; i <= count; i++) sum += minutes[n[i] + 0]; split(cell[3], last, "|"); if (sum != last[2] + 0) print $0 ": " sum } END { print weeks " weeks" }' "$tmp/index" writeups/teaching.md)" "8 weeks"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
