#!/bin/sh
# All questions of the Makefile while it is read: backend, compiler, stages. The words of the call are in the environment, and
# `goals`. Prints NAME=VALUE with | for a blank, to be read by make; or ERROR and why there is nothing to be made.
set -f
facts=
fail() { printf 'ERROR %s\n' "$*"; exit; }
has() { command -v "$1" > /dev/null 2>&1; }
say() { facts="$facts
$1=$(printf %s "$2" | tr ' ' '|')"; }
with_gpu() { has nvidia-smi && [ -n "$(nvidia-smi -L 2> /dev/null)" ]; }

one() { printf '%s\n' "${1%% *}"; }  # the first word
is_in() { case " $2 " in *" $1 "*) return 0 ;; esac; return 1; }

# --- words ---
PROGRAMS="JOBS CXX CXXFLAGS NVCC NVCCFLAGS CUDA_HOME GPU_ARCHS PYTHON SANITIZE MAKE MAKEFLAGS SHELL"  # run as they are given
saying() { is_in predict "$goals" && fail "predict takes it as say='...', as in make predict n=1 say='row % 16 < 4'"; }
# The words of the goals, as their lines of `make help` have them; nothing where one is none of those: then any word is right.
words_of() {
  awk -v goals="$1" '
    sub(/.*## make /, "") {
      words = ""
      for (rest = $0; match(rest, /[a-z-]+=/); rest = substr(rest, RSTART + RLENGTH)) words = words " " substr(rest, RSTART, RLENGTH - 1)
      sub(/ \| .*/, ""); n = split($0, tokens, /[ |]/)
      for (i = 1; i <= n; i++) of[tokens[i]] = of[tokens[i]] words
    }
    END {
      of["help"]; if (!(n = split(goals, goal, " "))) exit
      for (i = 1; i <= n; i++) { if (!(goal[i] in of)) exit; all = all of[goal[i]] }
      print all " backend bugs"
    }' Makefile
}
taken=$(words_of "$goals")
[ "$MAKELEVEL" = 0 ] || taken=${taken:+"$taken stage full verbose"}  # of make -C stages/NAME, and of make test for its pieces
for word in $typed; do
  case $word in -*) continue ;; esac
  is_in "$word" "$WORDS $PROGRAMS" || { saying; fail "$word= means nothing here; the words are $WORDS"; }
  [ -z "$taken" ] || is_in "$word" "$taken $PROGRAMS" || fail "make $(one "$goals") takes no $word=; its words are$taken"
done
for word in full verbose quick new again all record check; do
  eval "value=\${$word:-1}"
  case $value,$goals in 1,*|quick,*sanitize*) ;; *) fail "$word=$value: it is 1, or not given" ;; esac
done
for word in seconds cases rounds; do
  eval "value=\${$word:-1}"
  case $value in *[!0-9]*|0*|??????????*) fail "$word=$value: must be a whole number from 1 to 999999999" ;; esac
done
case $JOBS in ''|*[!0-9]*|0*|?????*) fail "JOBS=$JOBS: must be a whole number from 1 to 9999" ;; esac
case ${SANITIZE:-quick} in quick|whole) ;; *) fail "SANITIZE is for make sanitize" ;; esac
[ -z "$bug" ] || [ -n "$stage" ] || fail "bug=$bug needs stage=NAME; see 'make list'"
[ -z "$bug" ] || ! is_in profile "$goals" || fail "profile takes no bug="
for goal in $goals; do
  is_in "$goal" "$GOALS $INNER_GOALS" && continue
  case $goal in *[!a-zA-Z0-9_./-]*) ;; */*) continue ;; esac  # a file
  saying
  case $goal in *[!0-9]*) ;; *) [ "$goal" = "$goals" ] || fail "a number is given as n=, as in make $(one "$goals") n=$goal" ;; esac
  fail "$(LC_ALL=C what=nearest names="$GOALS" name="$goal" awk -f checks/scripts/ladder.awk /dev/null | sed 's/^ERROR //')"
done
needs() { fail "which $1? $goal needs $2; see 'make $3'"; }
for goal in $goals; do
  case $goal in
    reproduce-bug|show-bug|edit-bug|save-bug|run|profile|trace|evolve) [ -n "$stage$n" ] || [ "$check" = 1 ] || needs stage stage=NAME list ;;
    predict|try|hint|solution) [ -n "$n" ] || needs exercise n=NUMBER exercise ;;
    sanitize) case ${check:-quick} in quick) ;; *) fail "check=$check: sanitize takes check=quick" ;; esac ;;
  esac
  case $goal in racecheck|counters|trace) [ -z "$stage" ] || [ -z "$n" ] || fail "$goal takes stage= or n=, not both" ;; esac
done
if is_in probe "$goals"; then
  case ${what:-none} in wmma|mma|wgmma|ex2) say PROBE build/gpu/probe_$what ;; *) fail "probe takes what=, one of wmma mma wgmma ex2" ;; esac
fi
if is_in evolve-labs "$goals"; then
  case $only in *[!a-zA-Z0-9_.\ -]*) fail "only= names candidates" ;; *) say CANDIDATES "$only" ;; esac
fi
if is_in bits "$goals" && [ "$record" = 1 ] && [ "$backend$stage$quick" != gpu ]; then
  fail "record=1 writes what a GPU computes, of all cases of all stages: with backend=gpu, without stage= and quick="
fi
for goal in $goals; do
  is_in "$goal" "help list show-bug" || { mkdir -p build 2> /dev/null && [ -w build ] && [ -w . ]; } || fail "make $goal writes into $PWD/build, and has no right to"
done
if [ -n "$bugs" ]; then
  [ -d "$bugs" ] || fail "bugs=$bugs: there is no such folder"
  set +f; for file in "$bugs" "$bugs"/* "$bugs"/*/*; do [ ! -e "$file" ] || [ -r "$file" ] || fail "bugs=$bugs: $file cannot be read"; done; set -f
  mkdir -p build; ln -sfn "$(realpath "$bugs")" build/outside-bugs; export LAB_BUGS=build/outside-bugs
fi

# --- backend and compiler ---
case ${backend:=} in
  '') backend=cpu; has nvcc && with_gpu && backend=gpu ;;
  cpu) ;;
  gpu)
    has nvcc || fail "backend=gpu needs nvcc, which is not on the PATH; backend=cpu runs the same kernels with no GPU"
    is_in evolve-labs "$goals" || with_gpu || fail "backend=gpu needs a GPU, and nvidia-smi finds none; backend=cpu runs the same kernels with no GPU" ;;
  *) fail "backend=$backend is unknown; it is cpu or gpu" ;;
esac
for goal in bench profile probe; do
  ! is_in $goal "$goals" || [ $backend = gpu ] || fail "make $goal needs nvcc and a GPU, and this is backend=$backend"
done
say backend $backend

# The first g++ that is new enough; CXX=... chooses one. Once it is known to have the libraries, build/ keeps that.
major() { "$@" -dumpversion 2> /dev/null | cut -d. -f1; }
compiler() {
  if [ -z "${CXX:-}" ]; then
    CXX=g++
    for one in g++ g++-14 g++-13 g++-12; do [ "$(major $one)" -ge 12 ] 2> /dev/null && { CXX=$one; break; }; done
  fi
  mark=build/compiler-$backend
  version=$(major $CXX)
  [ "$(cat $mark 2> /dev/null)" = "$CXX $version $flags" ] || {
    [ "$version" -ge 12 ] 2> /dev/null || fail "$CXX $(if [ -n "$version" ]; then echo "is version $version"; else echo 'cannot be run'; fi); the lab needs g++ 12 or newer (CXX=g++-12 chooses one; sh common/setup.sh installs it)"
    boost=; [ $backend = gpu ] || boost='boost/context/detail/fcontext.hpp libboost-context-dev'
    lacking=$(printf '\043if !__has_include(<%s>)\n%s\n\043endif\n' doctest/doctest.h doctest-dev $boost | $CXX $flags -E -P -x c++ - 2>&1 | tr '\n' ' ')
    [ -z "$(echo $lacking)" ] || fail "not installed: $(echo $lacking); sh common/setup.sh installs what the lab needs"
    mkdir -p build && echo "$CXX $version $flags" > $mark
  }
  say CXX "$CXX"; say COMPILES 1
}
for goal in $goals; do is_in "$goal" "help list clean show-bug edit-bug save-bug" || { compiler; break; }; done
if [ $backend = gpu ]; then
  here=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -1 | tr -d .)
  nvcc --list-gpu-code 2> /dev/null | grep -qx "sm_$here" || here=
  say GPU_ARCHS "$(printf '%s\n' 89 90 $here | sort -un | tr '\n' ' ' | sed 's/ $//')"
  say CUDA_HOME "$(readlink -f "$(command -v nvcc)" | sed 's,/bin/nvcc$,,')"
fi

# --- stages ---
OWN="test racecheck counters trace run fuzz resources bench profile" own= kind=
# On a GPU bits, too: the CPU's logf is not a GPU's: no record of a backward stage holds for both.
BACKWARD="test racecheck$([ $backend = cpu ] || echo ' bits') reproduce-bug show-bug edit-bug save-bug check-harness run bench resources"
# A kernel of one's own is a folder with a kernel.cu and a stage.conf.
folder=${stage%/}
if [ -n "$folder" ] && [ -f "$folder/kernel.cu" ]; then
  case $folder in *[!A-Za-z0-9_./-]*) fail "stage=$stage: a folder's name is made of letters, digits and _ - . /" ;; esac
  where=$(realpath -- "$folder"); home=$(realpath stages)
  if [ "$(dirname "$where")" = "$home" ]; then stage=$(basename "$where")
  else
    [ -f "$folder/stage.conf" ] || fail "stage=$stage: $folder has no stage.conf"
    for file in kernel.cu stage.conf; do [ -r "$folder/$file" ] || fail "stage=$stage: $folder/$file cannot be read"; done
    [ -z "${bug:-}" ] || fail "$folder is a kernel of your own and has no bugs"
    ! grep -q '^pass="backward"' "$folder/stage.conf" || { kind='backward '; OWN="test racecheck run fuzz resources bench"; }
    own=$folder; say OWN "$folder"; say STAGE "own/$(printf %s "$where" | cksum | cut -d' ' -f1)/$(basename "$where")"
    say target_own "$(sed -n 's/^target="\([^"]*\)".*/\1/p' "$folder/stage.conf")"; say needs_own "$(sed -n 's/^needs="\([^"]*\)".*/\1/p' "$folder/stage.conf")"
    stage=
  fi
fi
for goal in edit-bug save-bug; do ! is_in $goal "$goals" || export any_bug=1; done
export backend name="${stage:-}" bug="${bug:-}"
set +f
ladder=$(sh checks/scripts/ladder.sh resolve)
case $ladder in *"ERROR "*) fail "${ladder##*ERROR }" ;; esac
for goal in $goals; do
  case $goal in */*) ;; *) [ -z "$own" ] || is_in "$goal" "$OWN" || fail "make $goal is for stages of the ladder; for a ${kind}kernel of your own there are: $OWN" ;; esac
done
if [ -n "$stage" ] && [ -z "$bug" ] && printf '%s\n' "$ladder" | grep -qx STAGE=; then
  pairs=$(printf '%s\n' "$ladder" | sed -n 's/^PAIRS=//p' | tr '|' ' ')
  for goal in $goals; do case $goal in run|counters|bits|profile|resources|evolve) fail "stage=$stage never worked; its bugs: $pairs" ;; esac; done
fi
back=$(printf '%s\n' "$ladder" | sed -n 's/^BACKWARD_STAGES=//p' | tr '|' ' ') one=$(printf '%s\n' "$ladder" | sed -n 's/^STAGE=//p')
if [ -n "$one" ] && is_in "$one" "$back"; then
  for goal in $goals; do case $goal in */*) ;; *) is_in "$goal" "$BACKWARD" || fail "a backward stage has no $goal; it has: $BACKWARD" ;; esac; done
fi
printf '%s\n' "$facts" "$ladder"
