#!/bin/sh
# Words of a call: a wrong one is one clear line and exit status 2, and leaves nothing behind; none is ever run, in any goal; no output
# replaces a file that the goal did not write. Then kernels and bugs of one's own, and a stage that is new. Prints `N passed, M failed`.
set -u
good=0; bad=0
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
MAKE=${MAKE:-make} B=cpu
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL

fail() { bad=$((bad + 1)); echo "$@"; tail -4 "$work/err" | cut -c1-200 | sed 's/^/    /'; }
# refuse PIECE COMMAND...: exit status 2, and a line with PIECE on standard error.
refuse() {
  piece=$1; shift
  "$@" > "$work/out" 2> "$work/err"; status=$?
  if [ $status -eq 2 ] && grep -qF -- "$piece" "$work/err" && [ "$(grep -c . "$work/err")" -le 2 ]; then good=$((good + 1))
  else fail "exit $status, '$piece' wanted in one line: $*"; fi
}
accept() { if "$@" > "$work/out" 2> "$work/err"; then good=$((good + 1)); else fail "failed: $*"; fi; }
says() { piece=$1; shift; if "$@" > "$work/out" 2> "$work/err" && grep -qF -- "$piece" "$work/out"; then good=$((good + 1)); else fail "no '$piece' in: $*"; fi; }
same() { if [ "$2" = "$3" ]; then good=$((good + 1)); else bad=$((bad + 1)); echo "$1: '$2' is not '$3'"; fi; }  # WHAT A B

# A tensor of zeros: npy FILE SHAPE BYTES
npy() {
  header="{'descr': '<f2', 'fortran_order': False, 'shape': $2, }"
  pad=$((63 - (10 + ${#header}) % 64)); size=$((${#header} + pad + 1))
  { printf '\223NUMPY\001\000'; printf "\\$(printf %03o $((size % 256)))\\$(printf %03o $((size / 256)))"
    printf '%s%*s\n' "$header" $pad ''; head -c "$3" /dev/zero; } > "$work/$1"
}
npy good.npy "(1, 2, 5, 64)" 1280
npy other.npy "(1, 2, 6, 64)" 1536
npy wide.npy "(1, 2, 5, 32)" 640
cp "$work/good.npy" "$work/it's \$a.npy"
run="$MAKE stage=v1 backend=cpu run" tensors="k=$work/good.npy v=$work/good.npy"

# --- no word is run ---
goals=$(sed -n 's/^GOALS [:+]*= //p' Makefile) words=$(sed -n 's/^WORDS [:+]*= //p' Makefile)
trap_file=$work/run
evil="'; touch $trap_file; '\"; touch $trap_file; \"\`touch $trap_file\`\$(touch $trap_file)\$(shell touch $trap_file); touch $trap_file; #"
# A machine with nvcc and a GPU, as far as make can see: nothing is compiled there.
mkdir "$work/gpu"; printf '#!/bin/sh\necho GPU 0\n' > "$work/gpu/nvidia-smi"; printf '#!/bin/sh\n' > "$work/gpu/nvcc"; chmod +x "$work"/gpu/*
eval "$(sed -n '/^words_of() {/,/^}/p' checks/scripts/begin.sh)"
call() {  # GOAL WORD...: the goal's recipe, with all words evil but those that it must find to come that far; then really, on the CPU
  goal=$1; shift
  set -- "$goal" "$@"
  for word in $(words_of "$goal"); do
    case " $* $word= " in *" $word="*" $word="*) ;; *) case $word in
      stage|n|bug|bugs|backend|what|full|verbose|again|all|new|give-up|record|quick|check|seconds|cases|rounds) ;;
      *) set -- "$@" "$word=$evil" ;; esac ;; esac
  done
  PATH=$work/gpu:$PATH timeout 60 $MAKE -n backend=gpu "$@" > "$work/out" 2> "$work/err"  # a program may quote a word on standard error
  if ! [ -s "$work/out" ]; then fail "make $goal comes to no recipe"
  elif grep -qF "$trap_file" "$work/out"; then bad=$((bad + 1)); echo "make $goal pastes a word into its recipe: $(grep -m1 -F "$trap_file" "$work/out" | cut -c1-160)"; else good=$((good + 1)); fi
}
for goal in $goals; do
  case $goal in
    exercise|predict|try|hint|solution) call $goal n=1 ;;
    probe) for what in wmma mma ex2; do call probe what=$what; done ;;
    grade|list|help|clean|check|unit|writeups|plots) call $goal ;;
    *) call $goal stage=v1 ;;
  esac
done
call racecheck n=1; call counters n=1; call run stage=b1; call bench stage=b1; call test stage=v2; call evolve check=1; call evolve stage=v3b
# Where make itself looks at a word: alone, one that any goal takes; and really, not only as a recipe.
for word in backend bugs JOBS SANITIZE GPU_ARCHS; do timeout 60 $MAKE list "$word=$evil" > /dev/null 2>&1; done
set --; for word in $words; do set -- "$@" "$word=$evil"; done
timeout 60 $MAKE list "$@" > /dev/null 2>&1
timeout 60 $run q="$evil" out="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu predict n=1 say="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu grade assigned="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu stage=v1 fuzz only="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu stage=v1 fuzz seconds="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu stage=v3b evolve-labs only="$evil" > /dev/null 2>&1
timeout 60 $MAKE backend=cpu "build/\$(shell touch $trap_file)/x" list > /dev/null 2>&1
seed="\$(shell touch $trap_file)" stage="\$(shell touch $trap_file)" timeout 60 $MAKE backend=cpu list > /dev/null 2>&1
same "what words have run" "$(ls "$trap_file" 2> /dev/null)" ""
refuse "only= holds a line break" $MAKE backend=cpu stage=v1 fuzz only="a
touch $trap_file"
for word in stage scale json n bug; do refuse "$word= is empty" $MAKE backend=cpu test $word=; done
refuse "probe takes what=, one of" env PATH="$work/gpu:$PATH" $MAKE backend=gpu probe what=wmna
accept env n=5 shape=nonsense stage=nothing $MAKE backend=cpu list

# --- a piece is never all good with an exit status that says otherwise; nothing at all is no success ---
printf '#!/bin/sh\nprintf "$said"; exit $status\n' > "$work/piece"; chmod +x "$work/piece"
piece() {  # STATUS OUTPUT PASSED FAILED SKIPPED
  MAKE="$work/piece" said="$2" status=$1 sh checks/scripts/piece.sh "$work/piece.log" cpu > /dev/null
  same "the counts of '$2', exit status $1," "$(cat "$work/piece.log.counts")" "$3 $4 $5"
}
piece 0 '5 passed, 0 failed\n' 5 0 0; piece 1 '5 passed, 2 failed\n' 5 2 0; piece 1 '5 passed, 0 failed\n' 5 1 0
piece 0 '' 0 1 0; piece 2 '' 0 1 0; piece 0 '5 passed, 2 failed\n' 5 2 0; piece 1 '5 passed, 0 failed, 2 skipped\n' 5 1 2
piece 1 '0 passed, 0 failed, 2 skipped\n' 0 0 2; piece 1 '0 passed, 0 failed\n' 0 1 0
piece 0 '3 passed, 1 failed\nx\n17 passed, 2 failed, 1 skipped\n' 17 2 1; piece 0 '2 passed, 0 failed: both show\n' 2 0 0
says "RED piece" sh -c "echo 1 1 0 > '$work/piece.log.counts'; sh checks/scripts/sum.sh '$work/piece.log' || :"
says "0 passed, 1 failed" sh -c "rm '$work/piece.log.counts'; sh checks/scripts/sum.sh '$work/piece.log' 2> /dev/null || :"
rm -f "$work"/piece*

# --- no output replaces another's file ---
cp "$work/good.npy" "$work/mine.npy"
for goal in "$run q=$work/good.npy $tensors out=" "$MAKE backend=cpu stage=v2d trace json=" "$MAKE backend=cpu grade assigned=1 json=" \
  "$MAKE backend=cpu stage=v3b evolve out="; do
  refuse "is there, and it is not what an earlier make" $goal"$work/mine.npy"
  refuse "there is no folder" $goal"$work/no/such"
done
cmp -s "$work/mine.npy" "$work/good.npy"; same "the file that was in the way" $? 0
accept $run q="$work/it's \$a.npy" $tensors out="$work/o's.npy"
accept $run q="$work/good.npy" $tensors out="$work/o's.npy"
echo changed >> "$work/o's.npy"
refuse "o's.npy is there, and it is not what an earlier make run wrote" $run q="$work/good.npy" $tensors out="$work/o's.npy"
rm -f "$work/o's.npy" "$work/mine.npy" "$work/it's \$a.npy"

# --- wrong words ---
: > "$work/empty.cu"; head -c 64 /dev/zero > "$work/zeros.cu"; echo 'int main() { nope(); }' > "$work/wrong.cu"; mkdir -p "$work/main"; echo 'int x;' > "$work/main/nomain.cu"
echo '#include <cub/cub.cuh>' > "$work/cub.cu"
for case in "$work/none.cu|there is no such file" "$work|is a directory" "$work/empty.cu|is empty" "$work/zeros.cu|is no text" \
  "-none|there is no such file" "$work/wrong.cu|is not read: g++ refuses it" "$work/main/nomain.cu|has no main()" "$work/cub.cu|is not read: 1 of"; do
  refuse "${case#*|}" $MAKE backend=cpu check file="${case%|*}"
done
refuse "seconds=0: must be" $MAKE backend=cpu check file=$work/cub.cu seconds=0
rm -r "$work"/*.cu "$work/main"
# A word that a goal would ignore, a switch that is neither, a number that is none.
refuse "make test takes no causal=; its words are stage full verbose bug" $MAKE stage=v1 backend=cpu test causal=1
refuse "make clean takes no stage=" $MAKE stage=v1 clean
accept $MAKE -C stages/v1_scalar backend=cpu list
for word in full verbose; do refuse "$word=yes: it is 1, or not given" $MAKE stage=v1 backend=cpu test $word=yes; done
refuse "check=no: it is 1, or not given" $MAKE backend=cpu plots check=no
refuse "seconds=9999999999: must be a whole number from 1 to 999999999" $MAKE stage=v1 backend=cpu fuzz seconds=9999999999
refuse "cases=-5: must be a whole number" $MAKE backend=cpu sanitize cases=-5
refuse "lines=no: must be a whole number" $MAKE stage=v2d backend=cpu counters lines=no
refuse "at most 18 digits" $MAKE backend=cpu grade assigned=1 seed=1234567890123456789
refuse "no exercise '-1'" $MAKE backend=cpu hint n=-1
refuse "a backward stage has no bits" $MAKE stage=b1 backend=cpu bits
# A machine without patch, on which another apt-get is at work: it is waited for.
mkdir "$work/apt"; for one in sh id env dirname cut make addr2line; do ln -s "$(command -v $one)" "$work/apt"; done
printf '#!/bin/sh\nexec "$@"\n' > "$work/apt/sudo"; printf '#!/bin/sh\necho 12\n' > "$work/apt/g++"
printf '#!/bin/sh\ncase $* in *DPkg::Lock::Timeout=*) /bin/ln -sf /bin/true "%s/patch" ;; *) echo Could not get lock >&2; exit 100 ;; esac\n' "$work/apt" > "$work/apt/apt-get"
chmod +x "$work"/apt/sudo "$work"/apt/g++ "$work/apt/apt-get"; says "setup: installing patch" env PATH="$work/apt" sh common/setup.sh sh -c :
rm -r "$work/apt"
# A tree in which nothing can be built.
mkdir "$work/tree"; for one in Makefile checks common reference stages; do ln -s "$PWD/$one" "$work/tree"; done; : > "$work/tree/build"
for goal in exercise "stage=v1 test" "stage=v2c5 edit-bug bug=ldm"; do refuse "has no right to" sh -c "cd '$work/tree' && $MAKE backend=cpu $goal"; done
accept sh -c "cd '$work/tree' && $MAKE list"
rm -r "$work/tree"
refuse "no stage 'v2bb'" $MAKE stage=v2bb test
refuse "argument dk= is missing" $MAKE stage=b1 backend=cpu run q=$work/good.npy $tensors do=$work/good.npy dq=$work/dq.npy
refuse "two gradients cannot be in one file" $MAKE stage=b1 backend=cpu run q=$work/good.npy $tensors do=$work/good.npy dq=$work/dq.npy dk=$work/./dq.npy dv=$work/dv.npy
refuse "unknown argument 'do='" $run q=$work/good.npy $tensors out=$work/o.npy do=$work/good.npy
refuse "nothing is called 'tset'; the nearest are: test" $MAKE backend=cpu tset
refuse "nothing is called 'it's'" $MAKE backend=cpu "it's"
refuse "nothing is called 'tset'" $MAKE -C stages/v1_scalar backend=cpu tset
refuse "casual= means nothing" $run q=$work/good.npy $tensors out=$work/o.npy casual=1
refuse "needs stage=NAME" $MAKE backend=cpu bug=ldm reproduce-bug
refuse "takes no bug=" $MAKE stage=v2b backend=cpu bug=warp7_nan profile
for jobs in abc 0 99999; do refuse "must be a whole number from 1 to 9999" $MAKE JOBS=$jobs stage=v1 backend=cpu test; done
refuse "which stage" $MAKE backend=cpu run
refuse "from 0 to 31" $MAKE stage=v2d backend=cpu trace tile=32
refuse "v1_scalar has no tunables" $MAKE stage=v1 backend=cpu evolve
refuse "minutes=0: must be a whole number from 1" $MAKE stage=v3b backend=cpu evolve minutes=0
refuse "try needs n=NUMBER" $MAKE backend=cpu try
refuse "a number is given as n=, as in make exercise n=7" $MAKE backend=cpu exercise 7
refuse "no exercise '999'" $MAKE backend=cpu grade assigned='1 999'
refuse "seed=x: must be a whole number" $MAKE backend=cpu grade seed=x
refuse "nothing is predicted: make predict n=1 say='RULE'" $MAKE backend=cpu predict n=1
timeout 120 $MAKE backend=cpu predict n=1 say='row & 7 == 0' > /dev/null 2>&1  # the first prediction builds the kernel, and says so
refuse "suggest parentheses around comparison" $MAKE backend=cpu predict n=1 say='row & 7 == 0'
refuse "predict takes it as say='...'" $MAKE backend=cpu predict n=1 'row % 64 < 3'
refuse "predict takes it as say='...'" $MAKE backend=cpu predict n=1 'row>=3'
refuse "counters takes stage= or n=, not both" $MAKE backend=cpu stage=v2b counters n=1
refuse "exercise 28 has no kernel of its own" $MAKE backend=cpu trace n=28
refuse "is a prediction" $MAKE backend=cpu try n=28
refuse "it is cpu or gpu" $MAKE stage=v1 backend=% test
refuse "never worked" $MAKE stage=v2c4 backend=cpu run
refuse "there is no such folder" $MAKE bugs="$work/nowhere" list
refuse "the lab needs g++ 12" $MAKE stage=v1 backend=cpu CXX=no-such-compiler test
nvidia-smi -L > /dev/null 2>&1 || refuse "backend=gpu needs" $MAKE stage=v1 backend=gpu test
refuse "(1,2,6,64)" $run q=$work/other.npy $tensors out=$work/o.npy
refuse "64 and 128" $run q=$work/wide.npy k=$work/wide.npy v=$work/wide.npy out=$work/o.npy
for scale in fast nan 1e39; do refuse "scale=$scale: must be a finite decimal number" $run q=$work/good.npy $tensors out=$work/o.npy scale=$scale; done
refuse "must be 0 or 1" $run q=$work/good.npy $tensors out=$work/o.npy causal=yes
same "files left by refused runs" "$(ls "$work" | grep -v -e '^out$' -e '^err$' -e '^gpu$' | wc -l | tr -d ' ')" 3
refuse "no bug 'lmd'" $MAKE stage=v2c5 show-bug bug=lmd
refuse "edit-bug bug=no_such makes it" $MAKE stage=v2c5 save-bug bug=no_such
refuse "is there already" $MAKE stage=v2c5 edit-bug bug=ldm new=1
# Names, on a small ladder: versions in order, near names, paths that lead nowhere.
tree=$work/ladder; mkdir -p "$tree"; ln -s "$PWD/checks" "$tree/checks"
stage() { mkdir -p "$tree/stages/$1/bugs"; echo "$2" > "$tree/stages/$1/stage.conf"; }
bug() { printf 'plants: a\npredicted: b\n%s\n\n--- a/k\n+also: v7\n' "$2" > "$tree/stages/$1.patch"; }
ladder() { (cd "$tree" && env -u LAB_BUGS sh checks/scripts/ladder.sh "$@"); }
stage v10_late "$(printf 'from="v1_first"\nroad="side"\nwas="v9_early"')"
stage v2b_middle 'from="v1_first"'; stage v1_first 'idea="one"'; stage b10_last 'pass="backward"'; stage b2_next 'pass="backward"'
bug v2b_middle/bugs/race "also: v2 v2a"; bug v2b_middle/bugs/accum "slow: two"; bug v10_late/bugs/ldm "also: v2a"
same "the ladder's order" "$(ladder list | grep -oE 'v[0-9]+b?_[a-z]+|b[0-9]+_[a-z]+' | tr '\n' ' ')" "v1_first v10_late v2b_middle b2_next b10_last v2b_middle v2b_middle v10_late "
same "the bugs of v2a" "$(ladder bugs v2a | tr '\n' ' ')" "v2b_middle:race v10_late:ldm "
same "one bug of v2a" "$(ladder bugs v2a ldm)" v10_late:ldm
refuse "no stage 'v2bb'; the nearest are: v2b v2a v2" ladder bugs v2bb
refuse "stage 'v2b' has no bug 'acum'; the nearest are: accum race" ladder bugs v2b acum
refuse "ldm is a bug of v10 (stage=v10 or v2a)" ladder bugs v2 ldm
refuse "v9 became v10_late: stage=v10" ladder bugs v9
stage v2b_middle "$(printf 'from="v1_first"\nroad="wide"')"; refuse "road=wide: must be main or side" ladder list
stage v2b_middle 'from="v10_late"'; refuse "from=v10_late: must be the directory of an earlier stage" ladder list
stage v2b_middle 'from="v1_first"'; stage v11_on 'from="v10_late"'; refuse "road=main, and from=v10_late is on a side road" ladder list
rm -r "$tree"
# With nvcc and no GPU, nothing is called built (defect 3).
PATH=$work/gpu:$PATH; printf '#!/bin/sh\nexit 1\n' > "$work/gpu/nvidia-smi"
refuse "resources" $MAKE backend=cpu stage=v1 resources
PATH=${PATH#*:}

# --- a kernel of one's own, a bug of one's own, and a stage that is new, in a copy of the tree ---
tree=build/words-tree; rm -rf $tree; mkdir -p $tree/build/cpu
trap 'rm -rf "$work" $tree' EXIT
cp -a Makefile common reference checks stages $tree; mkdir -p $tree/writeups/stages; cp writeups/stages/v1_scalar.md $tree/writeups/stages/v9_new.md
cp -a build/compiler-cpu $tree/build; cp -a build/cpu/flags build/cpu/obj build/cpu/runner build/cpu/*.so $tree/build/cpu
cd $tree || exit 2
cp -a stages/v1_scalar stages/v9_new
sed -i "s/v1_scalar/v9_new/g" stages/v9_new/Makefile stages/v9_new/bugs/*.patch
sed -i 's/^idea=.*/idea="known to a test alone"/' stages/v9_new/stage.conf; rm -rf stages/v9_new/exercises stages/v9_new/bugs/*.exercise
says "known to a test alone" $MAKE list
says "edit it, and build/edit/v9_new-twice/head" $MAKE stage=v9 edit-bug bug=twice new=1
mv build/edit build/kept; : > build/edit
refuse "build/edit" $MAKE stage=v2c5 edit-bug bug=ldm
rm build/edit; mv build/kept build/edit
sed -i 's/visible ? s \* scale :/visible ? s * scale * scale :/' build/edit/v9_new-twice/kernel.cu
refuse "its head is lines" sh -c "printf 'plants: the scale twice\n' > build/edit/v9_new-twice/head; $MAKE stage=v9 save-bug bug=twice"
printf 'plants: the scale twice\npredicted: softmax(scale^2 Q K^T) V\nalso: v8\n' > build/edit/v9_new-twice/head
says "stages/v9_new/bugs/twice.patch is written" $MAKE stage=v9 save-bug bug=twice
sed 's/double_scale\./twice./' stages/v2c3_scalar_smem/bugs/double_scale.cpp > stages/v9_new/bugs/twice.cpp
says "2 passed, 0 failed" $MAKE backend=cpu stage=v9 reproduce-bug
says "1 passed, 0 failed" $MAKE backend=cpu stage=v8 reproduce-bug
accept $MAKE backend=cpu build/cpu/v9_new/fixed/kernel.so
says "24 passed, 0 failed" build/cpu/runner build/cpu/v9_new/fixed/kernel.so test cheapest=24
sed -i '1i // one line more' stages/v9_new/kernel.cu
says "its lines have moved" sh checks/scripts/patches.sh
accept sh checks/scripts/patches.sh fix
same "patches that have moved after that" "$(sh checks/scripts/patches.sh | grep -c moved)" 0
sed -i 's/visible ? s \* scale :/visible ? scale * s :/' stages/v9_new/kernel.cu
refuse "twice.patch no longer applies to stages/v9_new/kernel.cu" sh checks/scripts/patched.sh stages/v9_new/bugs/twice.patch
for head in 'harmles: no' 'plants: again'; do
  sed "1i $head" stages/v9_new/bugs/twice.patch > build/wrong.patch; refuse "wrong.patch: its head is lines" sh checks/scripts/patched.sh build/wrong.patch
done
sed 1d stages/v9_new/bugs/twice.patch > build/wrong.patch; refuse "wrong.patch: its head is lines" sh checks/scripts/patched.sh build/wrong.patch
mkdir "mine"; cp stages/v1_scalar/kernel.cu mine; refuse "mine has no stage.conf" $MAKE stage=mine test
cp stages/v1_scalar/stage.conf mine
accept $MAKE backend=cpu stage=mine run q="$work/good.npy" k="$work/good.npy" v="$work/good.npy" out="$work/mine-out.npy"
sed 's/^idea=/ideal=/' stages/v1_scalar/stage.conf > mine/stage.conf; refuse "'ideal' is no key; there are idea" $MAKE backend=cpu stage=mine run q="$work/good.npy" k="$work/good.npy" v="$work/good.npy" out="$work/mine-out.npy"
cp stages/v1_scalar/stage.conf mine
# A shape that it does not take is skipped and counted, not red: of cases, overlapping launches and the race check.
sed -i 's/^  return D == 64 ? launch<64>(args) : .*/  if (D == 128) lab::refuse("no D = 128 here");\n  return D == 64 ? launch<64>(args) : cudaErrorNotSupported;/' mine/kernel.cu
own=$(ls -d build/cpu/own/*/mine); accept $MAKE backend=cpu stage=mine $own/fixed/kernel.so $own/checked/kernel.so
says "24 passed, 0 failed, 56 skipped" build/cpu/runner $own/fixed/kernel.so test cheapest=80
says "the kernel does not take" build/cpu/runner $own/checked/kernel.so racecheck short=1
mkdir back; cp stages/b1_two_kernels/kernel.cu stages/b1_two_kernels/stage.conf back
for goal in counters trace; do refuse "$goal is for stages of the ladder; for a backward kernel of your own" $MAKE backend=cpu stage=back $goal; done
refuse "show-bug is for stages of the ladder" $MAKE stage=mine show-bug
refuse "is a kernel of your own and has no bugs" $MAKE stage=mine bug=ldm test
mkdir -p ../words-outside/v1_scalar
for end in patch cpp; do sed 's/head_dim_64\./kept_apart./' stages/v1_scalar/bugs/head_dim_64.$end > ../words-outside/v1_scalar/kept_apart.$end; done
says "bug=kept_apart" $MAKE bugs=../words-outside list
cp stages/v1_scalar/bugs/head_dim_64.patch "../words-outside/v1_scalar/x;touch y.patch"
refuse "a bug's name is made of a-z" $MAKE bugs=../words-outside list
cd ../.. && rm -rf build/words-outside
echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 0 ]
