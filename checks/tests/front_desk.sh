#!/bin/sh
# Wrong words at the front desk: each must be one clear line and exit status 2, and leave nothing behind.
set -u
good=0; bad=0
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
MAKE=${MAKE:-make}
B=${backend:-cpu}
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL

# refuse PIECE COMMAND...: exit status 2, and a line with PIECE on standard error.
refuse() {
  piece=$1; shift
  "$@" > "$work/out" 2> "$work/err"; status=$?
  lines=$(grep -c . "$work/err")
  if [ $status -eq 2 ] && grep -qF -- "$piece" "$work/err" && [ "$lines" -le 2 ]; then
    good=$((good + 1))
  else
    bad=$((bad + 1)); echo "exit $status, '$piece' wanted in one line: $*"; sed 's/^/    /' "$work/err" | head -5
  fi
}
accept() {
  if "$@" > "$work/out" 2> "$work/err"; then good=$((good + 1)); else bad=$((bad + 1)); echo "failed: $*"; tail -3 "$work/err"; fi
}
same() {  # same WHAT A B
  if [ "$2" = "$3" ]; then good=$((good + 1)); else bad=$((bad + 1)); echo "$1: '$2' is not '$3'"; fi
}

# A tensor of zeros: npy FILE SHAPE DESCR ORDER BYTES
npy() {
  header="{'descr': '$3', 'fortran_order': $4, 'shape': $2, }"
  pad=$((63 - (10 + ${#header}) % 64)); size=$((${#header} + pad + 1))
  { printf '\223NUMPY\001\000'; printf "\\$(printf %03o $((size % 256)))\\$(printf %03o $((size / 256)))"
    printf '%s%*s\n' "$header" $pad ''; head -c "$5" /dev/zero; } > "$work/$1"
}
npy good.npy "(1, 2, 5, 64)" "<f2" False 1280
npy other.npy "(1, 2, 6, 64)" "<f2" False 1536
npy wide.npy "(1, 2, 5, 32)" "<f2" False 640
echo "not an array" > "$work/text.npy"

run="$MAKE stage=v1 backend=$B run"
tensors="k=$work/good.npy v=$work/good.npy"
refuse "no stage 'v2bb'" $MAKE stage=v2bb test
refuse "make list" $MAKE stage=nothing reproduce-bug
refuse "a backward stage has no bits" $MAKE stage=b1 backend=$B bits
refuse "a backward stage has no fuzz" $MAKE stage=b2 backend=$B fuzz
refuse "same-bits is for backward stages" $MAKE stage=v1 backend=$B same-bits
refuse "argument dk= is missing" $MAKE stage=b1 backend=$B run q=$work/good.npy k=$work/good.npy v=$work/good.npy do=$work/good.npy dq=$work/dq.npy
refuse "two gradients cannot be in one file" $MAKE stage=b1 backend=$B run q=$work/good.npy k=$work/good.npy v=$work/good.npy do=$work/good.npy dq=$work/dq.npy dk=$work/dq.npy dv=$work/dv.npy
refuse "shapes disagree" $MAKE stage=b1 backend=$B run q=$work/good.npy k=$work/good.npy v=$work/good.npy do=$work/other.npy dq=$work/dq.npy dk=$work/dk.npy dv=$work/dv.npy
refuse "unknown argument 'do='" $MAKE stage=v1 backend=$B run q=$work/good.npy k=$work/good.npy v=$work/good.npy out=$work/o.npy do=$work/good.npy
refuse "ldm is a bug of v2c5 (stage=v2c5 or v2c4)" $MAKE stage=v2b backend=$B bug=ldm test
refuse "nothing is called 'tset'; the nearest are: test" $MAKE backend=$B tset
refuse "nothing is called 'it's'" $MAKE backend=$B "it's"
refuse "nothing is called 'tset'" $MAKE -C stages/v1_scalar backend=$B tset
refuse "no bug 'warp7'" $MAKE stage=v2b reproduce-bug bug=warp7
refuse "warp7_nan" $MAKE stage=v2b reproduce-bug bug=warp7
refuse "no stage 'v2b''" $MAKE "stage=v2b'" test
refuse "casual= means nothing" $run q=$work/good.npy $tensors out=$work/o.npy casual=1
refuse "needs stage=NAME" $MAKE backend=$B bug=ldm reproduce-bug
refuse "takes no bug=" $MAKE stage=v2b backend=$B bug=warp7_nan profile
refuse "whole number" $MAKE JOBS=abc stage=v1 backend=$B test
refuse "which stage" $MAKE backend=$B run
refuse "which stage" $MAKE backend=cpu trace
refuse "from 0 to 63" $MAKE stage=v2d backend=cpu trace tile=64
refuse "which stage" $MAKE backend=$B evolve
refuse "v1_scalar has no levers" $MAKE stage=v1 backend=$B evolve
refuse "minutes=0: must be a whole number from 1" $MAKE stage=v3b backend=$B evolve minutes=0
refuse "neither B,H,S,D" $MAKE stage=v3b backend=$B evolve shape=1,2
[ "$B" = gpu ] || refuse "evolve-adopt needs nvcc and a GPU" $MAKE stage=v3b backend=$B evolve-adopt
refuse "try needs n=NUMBER" $MAKE backend=$B try
refuse "no exercise 999; the nearest is" $MAKE backend=$B hint n=999
refuse "a number is given as n=, as in make exercise n=7" $MAKE backend=$B exercise 7
refuse "make grade takes no n=; its words are json seed assigned" $MAKE backend=$B grade n=5
refuse "make grade takes no only=" $MAKE backend=$B grade only=x
refuse "make hint takes no stage=" $MAKE backend=$B stage=v2b hint n=1
refuse "no exercise 999; the nearest is" $MAKE backend=$B grade assigned='1 999'
refuse "no exercise 999; the nearest is" $MAKE backend=$B autograder out=build/no.zip assigned='1 999'
refuse "what is assigned? make autograder out=" $MAKE backend=$B autograder assigned=1
refuse "nothing is predicted: make predict n=1 say='RULE'" $MAKE backend=$B predict n=1
refuse "write parentheses, as in (row & 7) == 0" $MAKE backend=$B predict n=1 say='row & 7 == 0'
refuse "one-eighth-nan" $MAKE backend=$B hint n=one-eigth-nan
refuse "no exercise 999; the nearest is" $MAKE backend=$B racecheck n=999
refuse "exercise 28 has no kernel of its own" $MAKE backend=$B trace n=28
if [ ! -e work/180 ]; then
  accept $MAKE exercise n=180
  refuse "the card asks which lines this names; make predict n=180" $MAKE backend=$B racecheck n=180
  rm -rf work/180
fi
refuse "counters takes stage= or n=, not both" $MAKE backend=$B stage=v2b counters n=1
refuse "predict takes it as say='...'" $MAKE backend=$B predict n=1 'row % 64 < 3'
refuse "predict takes it as say='...'" $MAKE backend=$B predict n=1 'row>=3'
refuse "at character 5: '=' compares nothing" $MAKE backend=$B predict n=1 say='row = 3'
refuse "is a prediction" $MAKE backend=$B try n=28
refuse "seed=x: must be a whole number" $MAKE backend=$B grade seed=x
refuse "must be text, quick, half or whole" $MAKE backend=$B check-exercises check=all
refuse "it is cpu or gpu" $MAKE stage=v1 backend=tpu test
refuse "never worked" $MAKE stage=v2c4 backend=$B run
refuse "never worked" $MAKE stage=v2c4 backend=$B counters
refuse "the lab needs g++ 12" $MAKE stage=v1 backend=$B CXX=no-such-compiler test
# A compiler that finds no header but doctest's.
mkdir -p "$work/bare/doctest"; : > "$work/bare/doctest/doctest.h"
printf '#!/bin/sh\nexec %s -nostdinc -nostdinc++ -isystem %s "$@"\n' "$(command -v g++-12 || command -v g++)" "$work/bare" > "$work/bare-gcc"
chmod +x "$work/bare-gcc"
refuse "not installed: nlohmann-json3-dev libboost-context-dev; sh common/setup.sh" $MAKE stage=v2b backend=cpu CXX="$work/bare-gcc" test
rm -rf "$work/bare" "$work/bare-gcc"
nvidia-smi -L > /dev/null 2>&1 || refuse "backend=gpu needs" $MAKE stage=v1 backend=gpu test
refuse "q= is missing" $run $tensors out=$work/o.npy
refuse "cannot be opened" $run q=$work/absent.npy $tensors out=$work/o.npy
refuse "not a .npy file" $run q=$work/text.npy $tensors out=$work/o.npy
refuse "(1,2,6,64)" $run q=$work/other.npy $tensors out=$work/o.npy
refuse "64 and 128" $run q=$work/wide.npy k=$work/wide.npy v=$work/wide.npy out=$work/o.npy
refuse "scale" $run q=$work/good.npy $tensors out=$work/o.npy scale=fast
for scale in nan inf -inf 1e39; do
  refuse "scale=$scale: must be a finite decimal number" $run q=$work/good.npy $tensors out=$work/o.npy scale=$scale
done
refuse "scale= is empty" $run q=$work/good.npy $tensors out=$work/o.npy scale=
refuse "must be 0 or 1" $run q=$work/good.npy $tensors out=$work/o.npy causal=yes
refuse "cannot be written" $run q=$work/good.npy $tensors out=$work/no/such/o.npy
same "files left by refused runs" "$(ls "$work" | grep -v -e '^out$' -e '^err$' | wc -l | tr -d ' ')" 4
refuse "stage=best is for one of run, test, bench" $MAKE stage=best backend=$B counters
refuse "stage=best is for one of run, test, bench" $MAKE stage=best backend=$B bug=ldm test
refuse "stage=best test needs shape=" $MAKE stage=best backend=$B test
refuse "shape= names one shape" $MAKE stage=best backend=$B test shape=long
refuse "cannot be opened" $MAKE stage=best backend=$B run q=$work/absent.npy $tensors out=$work/o.npy
accept $MAKE stage=best backend=$B run q=$work/good.npy $tensors out=$work/o.npy causal=1
same "the reason for the best stage" "$(grep -c -e 'fastest of v.* at (1,8,128,64,causal), the nearest shape in sweep-.*json' -e 'the last stage of' "$work/out")" 1
same "the best stage and the stage that ran" "$(sed -n 's/^\(v[^ ]*\): [ft].*/\1/p' "$work/out")" "$(sed -n 's/_.*: (1,2,5,64) causal, .*//p' "$work/out")"
accept $run q=$work/good.npy $tensors out=$work/o.npy
accept test -s "$work/o.npy"
# The bugs' effects are tested elsewhere: runs of `make test` that still hold are not run again.
for version in $(build/desk list | sed '1,/^Broken/d;s/ .*//'); do accept env LAB_KEPT=use $MAKE stage=$version backend=$B reproduce-bug; done
same "what v2 names" "$(echo $(build/desk bugs v2 | sort))" "v2b_single_warp:interwarp_race v2b_single_warp:smem_48k"
accept $MAKE list
accept $MAKE help
# Kernels of a learner's own: built as stages are, and no command of the whole lab sees them.
own=front-desk-$$
trap 'rm -rf "$work" "work/own/$own" "build/$B/own/$own"' EXIT
refuse "what name? make own name=" $MAKE own
refuse "name=v2b is the name of a stage" $MAKE own name=v2b
refuse "made of a-z" $MAKE own name=../v2b
refuse "from=v2c4 never worked" $MAKE own name=$own from=v2c4
refuse "no stage 'v99'" $MAKE own name=$own from=v99
same "what refused names leave" "$(ls -d work/own/$own 2> /dev/null)" ""
accept $MAKE own name=$own from=blank
refuse "is there already" $MAKE own name=$own from=v1
same "files of an own kernel" "$(echo $(ls work/own/$own))" "kernel.cu notes.md stage.conf"
same "stages with an own kernel" "$(build/desk dirs | grep -c own)" 0
refuse "the nearest are: $own" $MAKE stage=x$own test
refuse "show-bug is for stages of the ladder" $MAKE stage=$own show-bug
refuse "is a kernel of your own and has no bugs" $MAKE stage=$own bug=ldm test
accept $MAKE stage=$own backend=$B build/$B/own/$own/fixed/lab
if build/$B/own/$own/fixed/lab test cheapest=3 > "$work/out" 2>&1; then bad=$((bad + 1)); echo "a blank kernel passes"; else good=$((good + 1)); fi
same "what a blank kernel writes" "$(grep -m1 -o "not written, or made of it" "$work/out")" "not written, or made of it"
refuse "which stage" $MAKE show-bug
refuse "no bug 'lmd'" $MAKE stage=v2c5 show-bug bug=lmd
refuse "no bug 'lmd'" $MAKE stage=v2c5 edit-bug bug=lmd
refuse "is there already" $MAKE stage=v2c5 edit-bug bug=ldm new=1
refuse "edit-bug bug=no_such makes it" $MAKE stage=v2c5 save-bug bug=no_such
accept $MAKE stage=v2c5 show-bug bug=ldm
same "show-bug's diff" "$(sed -n '/^--- a/,$p' "$work/out")" "$(sed -n '/^--- a/,$p' stages/v2c5_wmma_qk/bugs/ldm.patch)"
same "colours where no thread sees them" "$(grep -c "$(printf '\033')" "$work/out")" 0
accept $MAKE stage=v2c5 show-bug
same "bugs that show-bug shows" "$(grep -c '^--- a/' "$work/out")" "$(build/desk bugs v2c5 | wc -w | tr -d ' ')"

# Bugs outside of the repository: a stage's like its own, where bugs= names their folder, and unknown elsewhere.
mkdir -p "$work/outside/v1_scalar"
sed 's/^n: .*/n: 998/;s/^name: .*/name: unseen-by-others/' stages/v1_scalar/bugs/head_dim_64.exercise > "$work/outside/v1_scalar/kept_apart.exercise"
sed 's/head_dim_64\./kept_apart./' stages/v1_scalar/bugs/head_dim_64.cpp > "$work/outside/v1_scalar/kept_apart.cpp"
cp stages/v1_scalar/bugs/head_dim_64.patch "$work/outside/v1_scalar/kept_apart.patch"
refuse "there is no such folder" $MAKE bugs="$work/nowhere" list
refuse "no bug 'kept_apart'" $MAKE stage=v1 backend=$B reproduce-bug bug=kept_apart
accept $MAKE bugs="$work/outside" stage=v1 backend=$B reproduce-bug bug=kept_apart
same "bugs from outside that are reproduced" "$(grep -c '^1 passed, 0 failed' "$work/out")" 1
accept $MAKE bugs="$work/outside" exercise n=unseen-by-others
same "what is laid out of an exercise from outside" "$(echo $(ls work/998))" "ANSWERS.md CARD.md kernel.cu"
rm -rf work/998
refuse "no exercise 998" $MAKE exercise n=998
cp stages/v1_scalar/bugs/head_dim_64.patch "$work/outside/v1_scalar"
refuse "v1_scalar has a bug head_dim_64 already" $MAKE bugs="$work/outside" list
rm -rf "$work/outside"
# A class: each student's variants, and the key.
printf 'ada\nada\n' > "$work/class"
refuse "which students" $MAKE variants assigned=1 out="$work/variants"
refuse "ada is there twice" $MAKE variants students="$work/class" assigned=1 out="$work/variants"
echo bob/.. > "$work/class"
refuse "a student's name here is made of" $MAKE variants students="$work/class" assigned=1 out="$work/variants"
printf 'ada\nbob\n' > "$work/class"
refuse "exercise 21 is assigned twice" $MAKE variants students="$work/class" assigned='21 1 21' out="$work/variants"
same "what refused variants leave" "$(ls -d "$work/variants" 2> /dev/null)" ""
accept $MAKE variants students="$work/class" seed=5 assigned='1 21/31' out="$work/variants"
same "what a student has" "$(cd "$work/variants/students/ada" && find . -type f | grep -c -e variant -e kernel.cu)" 3
same "answers that two students share" "$(cut -f5 "$work/variants/key/key.tsv" | sort | uniq -d)" ""
refuse "is there already" $MAKE variants students="$work/class" seed=5 assigned=1 out="$work/variants"
refuse "there is no such file" $MAKE grade variant="$work/nowhere" assigned=1
rm -rf "$work/variants" "$work/class"

# The desk away from home: a tree of one stage, whose patch is stale; words that are not good.
mkdir -p "$work/tree/stages/v1_s/bugs"
echo 'idea="one"' > "$work/tree/stages/v1_s/stage.conf"
seq 1 20 > "$work/tree/stages/v1_s/kernel.cu"
sed 's/^10$/ten/' "$work/tree/stages/v1_s/kernel.cu" > "$work/edited"
{ printf 'plants: ten\npredicted: 10\n\n'
  diff -u --label a/stages/v1_s/kernel.cu --label b/stages/v1_s/kernel.cu "$work/tree/stages/v1_s/kernel.cu" "$work/edited"; } > "$work/tree/stages/v1_s/bugs/ten.patch"
desk=$PWD/build/desk
at_tree() { (cd "$work/tree" && "$desk-work" "$@"); }
accept at_tree patches
sed -i '1i new' "$work/tree/stages/v1_s/kernel.cu"
accept at_tree patches
same "a moved patch is named" "$(grep -c 'ten.patch: applies, but its lines have moved' "$work/out")" 1
accept at_tree patches fix
accept at_tree patches
same "a renewed patch is silent" "$(cat "$work/out")" "1 passed, 0 failed"
sed -i 's/^9$/nine/' "$work/tree/stages/v1_s/kernel.cu"
refuse "stages/v1_s/bugs/ten.patch:6: hunk 1 of 1 no longer applies" at_tree patches
refuse "hunk 1 of 1 no longer applies" at_tree patch v1_s ten "$work/tree/out.cu"
same "what a stale patch leaves" "$(ls "$work/tree")" stages
refuse "stage.conf:1: " sh -c 'cd "$1" && echo nonsense > stages/v1_s/stage.conf && "$2" dirs' - "$work/tree" "$desk"
refuse "unknown command" build/desk no-such-command
refuse "usage: desk" build/desk conf
refuse "run from the repository's root" sh -c 'cd / && "$1" dirs' - "$desk"
rm -rf "$work/tree" "$work/edited"
accept $MAKE -C stages/v2b_single_warp list
ln -s "$PWD" "$work/my lab"
accept $MAKE -C "$work/my lab/stages/v2b_single_warp" backend=$B build/$B/v1_scalar/fixed/lab
cp "$work/good.npy" "$work/it's.npy"
accept $run q="$work/it's.npy" $tensors out="$work/o's.npy"
if $MAKE stage=v1 backend=$B bug=head_dim_64 test > "$work/out" 2>&1; then bad=$((bad + 1)); echo "a planted bug passed the acceptance"; else good=$((good + 1)); fi
same "the goals' order" "$($MAKE list help | sed -n '1s/ .*//p;$s/ .*//p' | tr '\n' ' ')" "Main Start "
same "stages in make list" "$($MAKE list | sed '/^Broken/,$d' | grep -c '^[ |]*v[0-9a-z]* *v[0-9a-z]*_')" "$(build/desk dirs | wc -l | tr -d ' ')"

# Incremental builds: a touched kernel rebuilds its own binaries only; a changed flag rebuilds what it concerns.
a=build/$B/v1_scalar/fixed/lab; b=build/$B/v2b_single_warp/fixed/lab
$MAKE -s backend=$B $a $b > /dev/null 2>&1
stamp_a=$(stat -c %Y.%i $a); stamp_b=$(stat -c %Y.%i $b); sleep 1
touch -r stages/v1_scalar/kernel.cu "$work/time"
touch stages/v1_scalar/kernel.cu
$MAKE -s backend=$B $a $b > /dev/null 2>&1
touch -r "$work/time" stages/v1_scalar/kernel.cu  # what others have built of it holds
same "the untouched stage was not rebuilt" "$(stat -c %Y.%i $b)" "$stamp_b"
if [ "$(stat -c %Y.%i $a)" != "$stamp_a" ]; then good=$((good + 1)); else bad=$((bad + 1)); echo "a touched kernel was not rebuilt"; fi
if $MAKE -n backend=$B CXXFLAGS="-std=c++20 -O1" $a 2> /dev/null | grep -q 'kernel.o'; then good=$((good + 1)); else bad=$((bad + 1)); echo "a changed flag would reuse a stale binary"; fi

# A linker is used where it links. Of a GPU too old for a stage, the stage's build takes no notice.
grep_link() { $MAKE -n backend=cpu CXX="$1" build/cpu/v1_scalar/fixed/lab 2> /dev/null | grep -c -e "-no-pie -g -fuse-ld=gold"; }
printf '#!/bin/sh\ncase "$*" in *fuse-ld=gold*) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v g++-12 || command -v g++)" > "$work/no-gold"
chmod +x "$work/no-gold"
same "links by a gold that does not link" "$(grep_link "$work/no-gold")" 0
if command -v nvcc > /dev/null 2>&1; then
  mkdir "$work/t4"; printf '#!/bin/sh\ncase "$*" in -L) echo "GPU 0: Tesla T4" ;; *) echo 7.5 ;; esac\n' > "$work/t4/nvidia-smi"
  chmod +x "$work/t4/nvidia-smi"
  t4_code() { PATH=$work/t4:$PATH $MAKE -n backend=gpu "build/gpu/$1/fixed/kernel.o" 2> /dev/null | grep -c '^nvcc.*code=sm_75'; }
  same "builds of v1 and v2c8 for a T4" "$(t4_code v1_scalar) $(t4_code v2c8_mma_sync)" "1 0"
fi
echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 0 ]
