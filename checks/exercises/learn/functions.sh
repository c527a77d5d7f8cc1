# Shared by the exercises' commands and their proof: finding one, what is handed out, the checks of what is handed in. No learner's word
# is a part of a command here. exercise.sh and prove.sh read this.
: "${MAKE:=make}"
learn=checks/exercises/learn
newline='
'
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT; trap 'exit 130' INT TERM
mkdir -p build/logs
fail() { printf '%s\n' "$*" >&2; exit 2; }

# --- what a kernel is built as, and run by ---
built_dir() {  # WORD: the lab's own, or an exercise's
  case $1 in checked|bug-*) echo "build/cpu/$stage/$1" ;; *) echo "build/cpu/$stage/learn-$1" ;; esac
}
built() { echo "$(built_dir "$1")/kernel.so"; }            # WORD
runner=build/cpu/runner
runs() { timeout 240 $runner "$@"; }                       # BUILT WORD...
make_it() {  # LOG BUILT...
  log=$1; shift
  if [ ! -e build/cpu/commands.so ]; then  # with its progress, which goes to standard error
    echo "building what runs kernels without a GPU: once, one to three minutes; every later call takes seconds" >&2
    $MAKE backend=cpu -s -j"${JOBS:-$(nproc)}" $runner build/cpu/commands.so > "$log" < /dev/null || return
  fi
  $MAKE backend=cpu -s -k -j"${JOBS:-$(nproc)}" $runner build/cpu/commands.so "$@" > "$log" 2>&1 < /dev/null
}
signatures() { [ -z "$bug" ] || echo "build/cpu/$stage/signatures.so"; }

# --- which exercises there are ---
slug_awk='function slug(s) { s = tolower(s); gsub(/[^a-z0-9]+/, "-", s); gsub(/^-|-$/, "", s); return s }'
# Lines n|name|kind|minutes|after|file|own|slug|core|predict|shape|inputs|seen|right: `own`, whether the lab has no build of what it
# hands out, or one with other lines; `core`, its place on the core path, and in a line what it is about. LAB_INDEX: a file of them.
index() {
  [ -z "${LAB_INDEX:-}" ] || { cat "$LAB_INDEX"; return; }
  set -- /dev/null
  for path in stages/*/bugs/*.exercise stages/*/exercises/*.exercise checks/exercises/drills/*.exercise ${LAB_BUGS:+"$LAB_BUGS"/*/*.exercise}; do
    [ ! -f "$path" ] || set -- "$@" "$path"  # LAB_BUGS: make bugs=DIR
  done
  awk "$slug_awk"'
    function get(key, otherwise) { return key in v ? v[key] : otherwise }
    function flush(   own, shape) {
      own = v["kind"] != "fix" || v["predict"] == "lines" || v["n"] == 1; shape = get("shape", "1,8,512,64"); gsub(/ /, "", shape)
      if (file) print v["n"] "|" v["name"] "|" v["kind"] "|" v["minutes"] "|" v["after"] "|" file "|" own "|" slug(v["name"]) "|" v["core"] "|" \
        get("predict", "none") "|" shape "|" get("inputs", "unit") "|" get("seen", "wrong") "|" v["right"] }
    FNR == 1 { flush(); split("", v); file = FILENAME }
    match($0, /^[a-z]+: */) { v[substr($0, 1, index($0, ":") - 1)] = substr($0, RLENGTH + 1) }
    END { flush() }' "$@" | sort -n
}
get() { sed -n "s/^$1: *//p" "$exercise"; }  # KEY: its values, a line each
block() {  # KEY NUMBER: a block's text
  awk -v key="$1:" -v nth="$2" '/^[a-z]+:/ { on = $0 == key && ++seen == nth; next } !on { next }
    /^[ \t]*$/ { blanks = blanks "\n"; next } { sub(/^  /, ""); printf "%s%s\n", said ? blanks : "", $0; said = 1; blanks = "" }' "$exercise"
}
# Sets what is known of it: n name kind minutes after exercise own, number dir base stage short bug backward handed file ...
find_exercise() {  # NUMBER or NAME
  line=$(index | word=$1 awk -F'|' "$slug_awk"'
    BEGIN { word = ENVIRON["word"]; name = slug(word) } word ~ /^[0-9]+$/ ? $1 + 0 == word + 0 : $8 == name { print; exit }')
  [ -n "$line" ] || fail "no exercise '$1'; make exercise lists them"
  take "$line"
}
take() {  # LINE of the index
  IFS='|' read -r n name kind minutes after exercise own slug core predict shape inputs seen right << END
$1
END
  number=$(printf %02d "$n"); dir=work/$number; base=${exercise%.exercise}; bug=; short=; backward=
  case $exercise in
    checks/*) stage=drill-${base##*/} ;;
    stages/*) stage=${exercise#stages/}; stage=${stage%%/*}; short=${stage%%_*} ;;
    *) stage=${exercise%/*}; stage=${stage##*/}; short=${stage%%_*} ;;
  esac
  kernel=stages/$stage/kernel.cu
  if [ -n "$short" ] && grep -q '^pass="backward"' "stages/$stage/stage.conf"; then backward=1; fi
  [ "$kind" != fix ] || bug=${base##*/}
  case $kind in predict) handed= ;; test) handed=cases.txt ;; *) handed=kernel.cu ;; esac
  file=$dir/$handed
}
drill() { [ -z "$short" ]; }
command_of() { echo "make $1 n=$n"; }

# --- what is handed out, and what solves it ---
patched() {  # PATCH [1]: with 1 all comments
  sh checks/scripts/patched.sh "$1" > "$tmp/patched" || exit 2
  awk -v patch="$1" -v all="${2:-}" -f $learn/code.awk -f $learn/planted.awk "$1" "$tmp/patched"
}
drill_text() {  # SOLVED: lines between #ifdef SOLUTION, #else and #endif are the solution's, or what is handed out
  awk -v solved="$1" '$0 == "#ifdef SOLUTION" { within = 1; next } within && $0 == "#else" { within = 2; next }
    within && $0 == "#endif" { within = 0; next } !within || (within == 1) == solved' "$base.cu"
}
given() {
  case $kind in
    predict) ;;
    test) cat "$base.txt" ;;
    capstone) cat "stages/$(get from)/kernel.cu" ;;
    instruction|mechanism) drill_text 0 ;;
    fix) patched "$base.patch" ;;
    *) if [ -f "$base.patch" ]; then patched "$base.patch" 1; else cat "$kernel"; fi ;;  # a hole's comments say what is to be done
  esac
}
solution() {
  case $kind in
    test) cat "$base.solution" ;;
    instruction|mechanism) drill_text 1 ;;
    *) if own_solution; then patched "$base.solution" 1; else cat "$kernel"; fi ;;
  esac
}
own_solution() { [ -f "$base.solution" ]; }  # a patch of the stage's kernel, which is not the solution then
is_given() { given > "$tmp/given"; cmp -s "$1" "$tmp/given"; }
read_first() {  # what to have read or done, as a card names it
  for one in $after; do
    page=$(ls writeups/"$one".md writeups/stages/"$one".md writeups/stages/"$one"_*.md 2> /dev/null | head -1)
    case $page in
      '') index | awk -F'|' -v slug="$one" '$8 == slug { print "exercise " $1 " (" $2 ")" }' ;;
      */stages/*) echo "[$one](../../$page)" ;;
      *) echo "[$(sed -n '1s/# //p' "$page")](../../$page)" ;;
    esac
  done | awk '{ printf "%s%s", (NR > 1 ? ", " : ""), $0 }'
}
card() { awk -v after="$(read_first)" -v stage="$stage" -v own_solution="$(own_solution && echo 1)" -v short="$short" -v backward="$backward" -f $learn/card.awk "$exercise"; }

# --- the checks of what is handed in, from cheap to expensive, up to the first red ---
few_lines() {  # LOG [MOST]: standard input, and where the rest is
  awk -v log_file="$1" -v most="${2:-24}" 'NR <= most; END { if (NR > most) print "and " NR - most " more lines: " log_file }'
}
wrapped() { fold -s -w 96 | sed 's/^/    /'; }
show_red() {  # STEP TEXT: with hidden=1 no text that names lines which the card asks for
  text=$2
  case ${hidden:-0}:$text in 1:*"$file":*)
    text="its report names lines that the card asks for; $(command_of predict) $predict_first, then it is shown" ;;
  esac
  echo "  RED:  $1"; printf '%s\n' "$text" | wrapped
}
clipped() { cut -c1-230; }
last_line() { awk 'NF { line = $0 } END { sub(/^ +/, "", line); print line }' "$1"; }
told() { [ -z "$tell" ] || printf '%s\n' "$1"; }
# NAME COMMAND...: does nothing after a red step. COMMAND leaves its most telling line in $tmp/says, all of it in $tmp/whole, and
# a figure in $tmp/figure.
step() {
  step=$1; shift
  [ -z "$red" ] || return 0
  : > "$tmp/says"; : > "$tmp/whole"; : > "$tmp/figure"
  "$@"
  says=$(cat "$tmp/says"); whole=$(cat "$tmp/whole")
  if [ -n "$says" ]; then red=$step; else good=$((good + 1)); told "  good: $step$(cat "$tmp/figure")"; fi
}
# WORD...: runs what is built; a status that is not 0 is red.
run_built() { run_into "" "build/logs/learn-$number-$word.log" "$@"; }
race_check() { run_into "$1" "build/logs/learn-$number-$word-races.log" racecheck short=1 ${one_race:+first=1}; }
run_into() {  # PREFIX LOG WORD...: $tmp/PREFIXsays has the most telling line
  into=$tmp/$1 log=$2; shift 2
  rm -f "$log.verdict"
  status=0; LAB_VERDICT=$log.verdict runs "$(built "$word")" "$@" > "$log" 2>&1 < /dev/null || status=$?
  [ -s "$tmp/printed" ] || grep '^block [0-9,]* thread [0-9]*: ' "$log" > "$tmp/printed"  # a kernel's own words, of one run
  [ $status -ne 0 ] || return 0
  if [ $status -eq 124 ]; then echo "still running after 240 s" > "${into}says"; return; fi
  if [ $status -eq 2 ]; then echo "could not be run: $(last_line "$log")" > "${into}says"; return; fi
  touch "$log.verdict"
  ! grep -q '^hang=' "$log.verdict" || : > "$tmp/hangs"
  sed -n 's/^red=//p' "$log.verdict" | few_lines "$log" > "${into}whole"
  { sed -n 's/^tells=//p' "$log.verdict" | grep -m1 . || last_line "$log" | grep . || echo "exit status $status; see $log"; } |
    clipped > "${into}says"
}
nothing_but_a_kernel() {
  given > "$tmp/given"; solution > "$tmp/solution"
  awk -v shown="$shown" -f $learn/code.awk -f $learn/guard.awk pass=1 "$tmp/given" "$tmp/solution" pass=2 "$source" > "$tmp/says"
}
# Puts the source where make finds it, if it is another than what is there; the lab's own is there.
place() {  # SOURCE WORD SHOWN
  case $2 in checked|bug-*) return ;; esac
  mkdir -p "$(built_dir "$2")"
  { echo "#line 1 \"$3\""; cat "$1"; } > "$tmp/source"
  cmp -s "$tmp/source" "$(built_dir "$2")/source.cu" || cp "$tmp/source" "$(built_dir "$2")/source.cu"
}
compiles() {
  [ -z "$is_built" ] || return 0
  place "$source" "$word" "$shown"; log=build/logs/learn-$word.log
  make_it "$log" "$(built "$word")" ${with_signatures-$(signatures)} && return
  awk '/: error: |undefined reference/ { on = 1 } on && NF' "$log" | few_lines "$log" > "$tmp/whole"
  { head -1 "$tmp/whole" | grep . || last_line "$log" | grep . || echo "it does not build; see $log"; } | clipped > "$tmp/says"
}
calls_nothing_else() {
  nm -C -u "$(built_dir "$word")/kernel.o" > "$tmp/symbols" || fail "nm cannot be run; it comes with binutils"
  awk -f $learn/symbols.awk "$tmp/symbols" | sed "s|^|$shown calls what a kernel has no use for: |" | clipped > "$tmp/says"
}
bounded() {  # "SHAPE: WHAT <= N", WHAT as `counts` has it
  log=build/logs/learn-$number-$word.log
  runs "$(built "$word")" counts shape="${1%%: *}" > "$log" 2>&1 < /dev/null || { last_line "$log" | clipped > "$tmp/says"; return; }
  awk -v limit="$1" -v shown="$shown" -v who="$(if drill; then echo the launch; else echo a block of; fi)" -v figure="$tmp/figure" '
    BEGIN { at = index(limit, ": "); split(substr(limit, at + 2), w, " ")
            asked = (w[2] == "<=" ? "at most " : w[2] == ">=" ? "at least " : "exactly ") w[3] }
    $1 == w[1] { count = $2; counted = 1 }
    $1 == "most" && $2 == w[1] && index($3, shown ":") == 1 { most = "; most come from " $3 }
    END {
      if (!counted) { print "nothing is counted that is called " w[1]; exit }
      if (w[2] == "<=" ? count <= w[3] + 0 : w[2] == ">=" ? count >= w[3] + 0 : count == w[3] + 0) print ": " count " " w[1] ", " asked > figure
      else print who " " substr(limit, 1, at - 1) " has " count " " w[1] "; asked for are " asked (count > w[3] + 0 ? most : "")
    }' "$log" > "$tmp/says"
}
bounds() { get limit > "$tmp/limits"; while read -r limit; do step "within bounds" bounded "$limit"; done < "$tmp/limits"; }
# The lab's own variant with the bug is what is handed out: of that the runner says with 0 that the bug shows.
reported_is_gone() {
  run_built signature "$bug"
  case $word:$status in bug-*:0) status=1; echo "the planted bug shows" > "$tmp/says"; : > "$tmp/whole" ;; esac
}
# SOURCE WORD SHOWN: judges a kernel (or cases), built as the variant learn-WORD of its stage; what the compiler and reports name is
# SHOWN. tell=1: steps are told as they pass; explain=1: the card's case first, the race check also where answers are wrong; grading=1:
# inputs and shapes not seen before, under all schedules; is_built=1; one_race=1: the race check ends with a finding. own_only=1: what it
# asks beside the stage's exercises; own_only=lab: and what the lab asks of the stage's kernel nowhere else; own_only=reported: and whether
# the bug's own signature shows, of races that most answers come through.
# Sets red, the step, with says and whole, and good, how many came before it.
check() {
  source=$1 word=$2 shown=$3 red= says= whole= good=0
  rm -f "$tmp/hangs" "$tmp/printed" "$tmp"/races-*
  [ "$kind" != test ] || { check_cases; return; }
  step "nothing but a kernel" nothing_but_a_kernel
  step "it compiles" compiles
  step "it calls nothing else" calls_nothing_else
  if drill; then
    step "the right bits" run_built drill ${grading:+"seed=$seed"}
    [ "$kind" = instruction ] || step "the right order" run_built order
    bounds
    return
  fi
  # Only these predictions are of wrong answers at a shape of the card's own.
  case $explain-$predict in 1-mask|1-formula) step "the card's case" run_built card shape="$shape" inputs="$inputs" ;; esac
  if [ -n "$grading" ]; then step "right answers, every schedule" run_built test cheapest=40 "seed=$seed"
  elif [ -z "$own_only" ]; then step "right answers" run_built test cheapest=40 once=1; fi
  # Wrong answers often have a cause that the race check names; of a deadlock it says the same once more.
  if [ -n "$explain" ] && [ ! -e "$tmp/hangs" ] && { [ "$red" = "the card's case" ] || [ "$red" = "right answers" ]; }; then race_check races-; return; fi
  if [ -n "$bug" ] && [ -z "${own_only#reported}" ]; then step "what was reported is gone" reported_is_gone; fi
  [ -n "$own_only" ] || step "no races" race_check ""
  # Values computed by a launcher on the host are written whichever blocks run.
  [ "$own_only" = 1 ] || step "the kernel does the work" run_built counts shape=1,2,129,64
  bounds
  [ -z "$grading" ] || step "held-out shapes" run_built fuzz seconds=20 cases=24 "seed=$seed"
}

# Of a test of the learner's own: each case is one problem under one schedule, tried on the stage's bugs and on what must not alarm it.
check_cases() {
  budget=$(get budget) goal=$(get goal)
  sed 's/#.*//' "$source" | awk 'NF { $1 = $1; print }' > "$tmp/cases"
  count=$(wc -l < "$tmp/cases")
  [ "$count" -gt 0 ] || fail "$file has no case"
  [ "$count" -le "$budget" ] || fail "$file has $count cases; the budget is $budget"
  # An unseen bug shows in no run: that cannot be asked of a test. What is slow or harmless must not be accused.
  { for patch in stages/$stage/bugs/*.patch; do
      case $(sed -n '/^--- a/q; s/^\(unseen\|harmless\|slow\):.*/\1/p' "$patch") in
        *unseen*) ;; ?*) echo "0 bug-$(basename "$patch" .patch)" ;; *) echo "1 bug-$(basename "$patch" .patch)" ;;
      esac
    done; echo "0 checked"; } > "$tmp/suspects"
  red="its kernels compile"; log=build/logs/learn-$number.log
  make_it "$log" $(while read -r wrong word; do built "$word"; done < "$tmp/suspects") || { says="see $log"; return; }
  while read -r wrong word; do
    caught=0
    while read -r one; do
      status=0; set -f; runs "$(built "$word")" fuzz only $one > "$log" 2>&1 < /dev/null || status=$?; set +f
      [ $status -ne 2 ] || fail "$file: '$one': $(last_line "$log")"
      [ $status -eq 0 ] || caught=1
    done < "$tmp/cases"
    echo "$wrong $caught"
  done < "$tmp/suspects" > "$tmp/judged"
  red="bugs caught, less false alarms"; says=$(judged_cases "$goal" < "$tmp/judged")
  [ -n "$says" ] || red=
}
judged_cases() {  # GOAL: a line WRONG RED for each kernel; prints what the test misses or accuses, and nothing if it reaches its goal
  awk -v goal="$1" '{ wrong += $1; caught += $1 && $2; alarms += !$1 && $2 }
    $1 && !$2 { missed = missed (missed ? ", " : "; number ") NR } !$1 && $2 { accused = accused (accused ? ", " : "; number ") NR }
    END { if (caught - alarms < goal) print "caught " caught + 0 " of " wrong + 0 " wrong kernels, " alarms + 0 " false alarms; asked for are " goal \
      (missed ? missed " gets through" : "") (accused ? accused " is right, and accused" : "") }'
}

# --- predictions, held against what the kernel as it was handed out really does ---
asked() {  # what one looks like
  printf '%s say=' "$(command_of predict)"
  case $predict in
    mask) if [ -n "$backward" ]; then echo "'RULE': a C expression over b h row col S D causal dq dk dv, as in 'dk && row % 16 < 4'"
          else echo "'RULE': a C expression over b h row col S D causal, as in 'row % 16 < 4 && col >= 32'"; fi ;;
    formula) echo "NAME, one of: $(get menu)" ;;
    count) echo NUMBER ;;
    lines) echo "'LINE LINE': two lines of $file" ;;
    counts) echo "'$right'" | sed 's/=[0-9]*/=COUNT/g' ;;
  esac
}
built_for_prediction() {  # sets at, where what is asked was built
  word=$number-given shown=$dir/kernel.cu what="exercise $number's kernel as it was handed out"
  [ "$kind" != predict ] || word=checked what=$kernel
  at=$(built "$word")
  [ -e "$at" ] || echo "compiling $what" >&2
  given > "$tmp/predicted"
  source=$tmp/predicted is_built= with_signatures=; : > "$tmp/says"; compiles; unset with_signatures
  [ ! -s "$tmp/says" ] || fail "what was handed out does not build: $(cat "$tmp/says")"
}
# SAY [BUILT [NEAR]]: sets holds, right_parts, asked_parts, and which of two is right; $tmp/measured, shown once it is right or given up, and $tmp/near, shown before. Of
# NEAR, what is judged of the same launches, a line each: $tmp/accepted has what holds.
judge() {
  : > "$tmp/measured"; : > "$tmp/near"; rm -f "$tmp/accepted"; holds= right_parts=0 asked_parts=1 which=
  # What needs no build comes first.
  case $predict in
    mask) case $1 in *[!A-Za-z0-9_\ +*/%\&\|^\<\>=!~?:\(\)-]*)
        fail "'$1': a rule is made of names, whole numbers, parentheses and C's operators" ;;
      esac ;;
    formula) case " $(get menu) " in *" $1 "*) ;; *) fail "'$1' is not on the menu: $(get menu)" ;; esac ;;
    count) case $1 in ''|*[!0-9]*) fail "'$1' is no whole number" ;; esac ;;
    counts) for one in $1; do
        case " $(asked | sed "s/.*say='//; s/'//") " in *" ${one%%=*}=COUNT "*) ;; *) fail "'$one' is not asked for; $(asked)" ;; esac
      done ;;
  esac
  if [ "$seen" = told ]; then  # nothing is run: what the number is about is refused, or hangs
    [ "$1" -ne "$right" ] || holds=1 right_parts=1
    parts=$(get parts)  # two numbers in one: this many times the first, plus the second. To the shell 012 would be octal
    [ -z "$parts" ] || {
      first=$(expr "$1" / $parts = "$right" / $parts) second=$(expr "$1" % $parts = "$right" % $parts)
      asked_parts=2 right_parts=$((first + second))
      case $first$second in 10) which=", the first" ;; 01) which=", the second" ;; esac
    }
    return
  fi
  at=${2:-}; [ -n "$at" ] || built_for_prediction
  if [ "$predict" = counts ]; then
    runs "$at" counts shape="$shape" > "$tmp/counts" 2>&1 < /dev/null
    said=$1 right=$right awk '
      function read(text, into,   w, i) { split(text, w, " "); for (i in w) { split(w[i], p, "="); into[p[1]] = p[2] } }
      BEGIN { read(ENVIRON["said"], said); read(ENVIRON["right"], asked) }
      $1 in asked { seen[$1] = $2 }
      END { for (what in asked) {
          good = what in said && what in seen && said[what] == seen[what]; right += good; count++
          printf "  %s: you say %s, measured %s%s\n", what, what in said ? said[what] : "nothing", seen[what], good ? "" : "  <-- differs" | "sort"
        }
        close("sort"); print right + 0, count > "/dev/stderr" }' "$tmp/counts" > "$tmp/measured" 2> "$tmp/score"
    read -r right_parts asked_parts < "$tmp/score"
  else
    status=0; rm -f "$tmp/verdict"
    LAB_VERDICT=$tmp/verdict runs "$at" predict kind="$predict" say="$1" shape="$shape" inputs="$inputs" seen="$seen" \
      ${3:+"near=$3"} > "$tmp/measured" 2>&1 < /dev/null || status=$?
    [ $status -ne 2 ] || fail "$(sed 's/^lab: //' "$tmp/measured")"
    [ $status -lt 2 ] || fail "the prediction could not be judged: exit status $status"
    right_parts=$(sed -n 's/^right=//p' "$tmp/verdict") asked_parts=$(sed -n 's/^asked=//p' "$tmp/verdict")
    sed -n 's/^near=//p' "$tmp/verdict" > "$tmp/near"
    sed -n 's/^accepted=//p' "$tmp/verdict" > "$tmp/accepted"
  fi
  [ "$right_parts" -lt "$asked_parts" ] || holds=1
}
# A prediction as the exercise's file has it, as a learner would type it: pieces of lines become their numbers in what was handed out.
as_typed() {
  [ "$predict" = lines ] || { printf '%s\n' "$1"; return; }
  given | pieces=$1 awk 'BEGIN { count = split(ENVIRON["pieces"], piece, " [|] ") }
    { for (i = 1; i <= count; i++) if (index($0, piece[i])) { at[i] = NR; places[i]++ } }
    END { for (i = 1; i <= count; i++) { if (places[i] != 1) { print piece[i] " is in " places[i] + 0 " lines of what is handed out"; exit }
      printf "%s%s", at[i], i < count ? " " : "\n" } }'
}
