#!/bin/sh
# An exercise as handed out is red, and gives nothing away; its solution is green; the reference's prediction holds, and near misses do not.
#   prove.sh text|quick|rest|whole [N]   the texts alone; and number 1, or N; all but what quick proves; everything
# Prints, on its last line, `N passed, M failed`. All is built by one make. A stage's kernel, which solves most of its exercises, and what a
# `fix` hands out, unless lines of it are asked for, are the lab's own builds: the same code. A stage's kernel is right,
# without races, and without its bugs by `make test`: that is asked here once more of the first exercise alone.
set -u
. checks/exercises/learn/functions.sh
much=$1 only=${2:-} texts=${LAB_TEXTS-1} tell= explain= grading= seed= one_race=1 first_number=1
if [ "$much" != one ]; then
  index > "$tmp/index"; LAB_INDEX=$tmp/index
  export LAB_INDEX
fi

verdict() {  # WHAT WRONG: one proof
  if [ -z "$2" ]; then echo "good|$number $name: $1"; else echo "WRONG|$number $name: $1: $2"; fi
}
given_word() {
  if [ "$kind" = predict ] || is_given "$kernel" 2> /dev/null; then echo checked
  elif [ "$own" = 1 ]; then echo "$number-given"
  else echo "bug-$bug"; fi
}
solution_word() {
  solution > "$tmp/solution"
  if cmp -s "$tmp/solution" "$kernel"; then echo checked; else echo "$number-solved"; fi
}
shown_of() { case $1 in checked|bug-*) echo "$kernel" ;; *) echo "$(built_dir "$1")/kernel.cu" ;; esac; }
put() {  # SOURCE WORD: where it is built, unless it is the lab's own
  place "$1" "$2" "$(shown_of "$2")"; [ "$(shown_of "$2")" = "$kernel" ] || cmp -s "$1" "$(shown_of "$2")" || cp "$1" "$(shown_of "$2")"
  built "$2"
}
half() {  # PARTLY: the source of half a solution, "STEP (SAYS): OLD => NEW ;; OLD => NEW"
  solution | partly=${1#*: } awk '{ text = text $0 "\n" }
    END { count = split(ENVIRON["partly"], edits, " ;; ")
      for (i = 1; i <= count; i++) {
        edit = edits[i]; while (at = index(edit, "\\n")) edit = substr(edit, 1, at - 1) "\n" substr(edit, at + 2)
        at = index(edit, " => "); old = substr(edit, 1, at - 1); place = index(text, old)
        if (!at || !place || index(substr(text, place + 1), old)) {
          print "partly: " (at ? old " is not in one place of the solution" : "must be OLD => NEW") > "/dev/stderr"; exit 1
        }
        text = substr(text, 1, place - 1) substr(edit, at + 4) substr(text, place + length(old))
      }
      printf "%s", text }'
}

# --- the texts ---
bad_text() {
  awk '/^#/ || /^[ \t]*$/ { next }
    /^  / && key { if (length($0) > 102) print "line " FNR " is longer than 100 bytes"; next }
    !match($0, /^[a-z]+:/) { print "line " FNR " is no `key: value`, nor in a block"; next }
    { key = substr($0, 1, RLENGTH - 1); value[key] = substr($0, RLENGTH + 2); seen[key]++ }
    index(" n name kind minutes after core predict shape inputs seen right parts menu budget goal from symptom task asks gpu ", " " key " ") {
      if (seen[key] > 1) print key ": is there twice"
      next
    }
    !index(" near limit partly question answer hint ", " " key " ") { print "line " FNR ": unknown key " key }
    function must(holds, what) { if (!holds) print what }
    END {
      kind = value["kind"]; split("n name kind minutes", keys, " "); for (i in keys) must(value[keys[i]], "lacks " keys[i] ":")
      must(index(" fix hole predict test faster instruction mechanism capstone ", " " kind " "), "kind: is none")
      must(value["name"] !~ /_/ && length(value["name"]) <= 36, "name: is not plain words of at most 36 bytes")
      must(seen["hint"] == 3, "must have three hints")
      must(seen[kind == "fix" ? "symptom" : "task"], "lacks a block symptom: or task:")
      must(kind != "fix" || seen["question"] == 2 || seen["question"] == 3, "must have two or three questions")
      must(seen["answer"] + 0 == (kind == "mechanism" ? seen["question"] : 0), "a mechanism has an answer for each question, others none")
      must((value["seen"] == "told") == ("asks" in seen), "asks: goes with seen: told")
      must(!seen["predict"] || value["predict"] == "none" || (seen["right"] && seen["near"]), "predict: needs right: and near:")
    }' "$exercise"
  [ "$kind" != fix ] || [ -f "$base.patch" ] || echo "lies beside no patch"
  [ "$kind" != faster ] || get partly | grep -q '^within bounds' || echo "has no partly: that misses its limit"
  for one in $after; do
    [ -f "writeups/$one.md" ] || [ -f "writeups/stages/$one.md" ] || ls -d stages/"$one"_* > /dev/null 2>&1 ||
      cut -d'|' -f8 "$LAB_INDEX" | grep -qx -- "$one" || echo "after: $one is no page and no exercise"
  done
  if [ "$predict" = formula ]; then
    { get right; get near; } | while read -r one; do case " $(get menu) " in *" $one "*) ;; *) echo "$one is not on the menu" ;; esac; done
  fi
  if [ "$predict" = lines ]; then { get right; get near; } | while read -r one; do as_typed "$one" | grep 'lines of'; done; fi
  get partly | while read -r one; do half "$one" 2>&1 > /dev/null; done
  leak
}
leak() {  # what gives the answer away
  given > "$tmp/given"; : > "$tmp/solution"; [ "$kind" = predict ] || solution > "$tmp/solution"
  { echo "$name"; card; block hint 1; echo; block hint 2; echo; block hint 3; echo; } > "$tmp/told"
  if [ -n "$bug" ]; then  # what the right kernel has anyway, an instruction's argument, gives nothing away
    for text in told given; do
      tr A-Z- a-z_ < "$tmp/$text" | grep -qwF "$bug" || continue
      [ $text = told ] || ! tr A-Z- a-z_ < "$tmp/solution" | grep -qwF "$bug" || continue
      echo "a text holds the bug's name, $bug"
    done
  fi
  case $kind in capstone|test|predict) return ;; esac
  awk -f $learn/code.awk -f $learn/leak.awk pass=1 "$tmp/given" pass=2 "$tmp/given" "$tmp/told" pass=3 "$tmp/solution"
}

# --- what is built and run ---
proof_red() {
  is_built=1 own_only=; given > "$tmp/work"
  [ "$given_word" != checked ] || own_only=1
  [ "$predict" != lines ] || own_only=reported
  check "$tmp/work" "$given_word" "$(shown_of "$given_word")"
  case $red:$good:$says in
    :*) echo "passes as it is handed out" ;;
    *:[012]:*|*:"could not be run"*) echo "is red before anything runs: $red: $says" ;;
  esac
  [ "$n" = $first_number ] || return 0
  explain=1; check "$tmp/work" "$given_word" "$(shown_of "$given_word")"; explain=
  case $red:$whole in "the card's case:"*"the first is (b,h,row,col) = ("*) ;; *) echo "make try names no element: $red: $whole" ;; esac
}
proof_green() {
  is_built=1 own_only=$1
  solution > "$tmp/work"; check "$tmp/work" "$solution_word" "$(shown_of "$solution_word")"
  [ -z "$red" ] || echo "is red: $red: $says"
}
proof_half() {  # PARTLY WORD: a near miss is red, in the step that is to see it
  head=${1%%: *} wanted=${1%%: *} telling=
  case $head in *" ("*")") wanted=${head%% \(*} telling=${head#* \(}; telling=${telling%)} ;; esac
  is_built=1 own_only=; [ "$wanted" != "within bounds" ] || own_only=1
  half "$1" > "$tmp/work"; check "$tmp/work" "$2" "$(shown_of "$2")"; own_only=
  if [ -z "$red" ]; then echo "gets through"; return; fi
  case $red:$says$whole in "$wanted":*"$telling"*) ;; *) echo "is refused, but not by '$wanted' ($telling): $red: $says" ;; esac
}
prove_one() {  # N [proofs OWN_ONLY]: its text; and all else, of its solution what own_only says (check)
  find_exercise "$1"
  [ -z "$texts" ] || verdict "gives nothing away" "$(bad_text 2>&1 | sed "s,^,$exercise ," | paste -sd';' -)"
  [ $# -gt 1 ] || return 0
  if [ "$kind" = test ]; then
    given > "$tmp/work"; check "$tmp/work" x x; [ -n "$red" ]; verdict "red as handed out" "$([ -n "$red" ] || echo passes)"
    solution > "$tmp/work"; check "$tmp/work" x x; verdict "its solution passes" "$says"
  elif [ "$kind" != predict ]; then
    given_word=$(given_word) solution_word=$(solution_word)
    verdict "red as handed out" "$(proof_red)"; verdict "its solution passes" "$(proof_green "${3:-}")"
    i=0; get partly > "$tmp/partly"
    while read -r one; do i=$((i + 1)); verdict "half a solution is refused" "$(proof_half "$one" "$number-half-$i")"; done < "$tmp/partly"
  fi
  [ "$predict" != none ] || return 0
  at=$(built "$(given_word)")
  get near | while read -r one; do as_typed "$one"; done > "$tmp/nears"
  together=; case $predict-$seen in counts-*|*-told) ;; *) together=$(cat "$tmp/nears") ;; esac
  verdict "the reference's prediction holds" "$(judge "$(as_typed "$right")" "$at" "$together" 2>&1; [ -n "$holds" ] || cat "$tmp/measured")"
  while read -r one; do
    verdict "a near miss is refused" "$(
      if [ -n "$together" ]; then grep -xF -e "$one" "$tmp/accepted" 2>&1 | sed "s,$, is accepted,"
      else judge "$one" "$at" 2>&1; [ -z "$holds" ] || echo "'$one' is accepted"; fi)"
  done < "$tmp/nears"
}
lay_out() {  # N: prints what make is to build, and "solution N STAGE/WORD" of what solves it
  find_exercise "$1"
  case $kind in test|predict) echo "solution $n -"; [ "$kind" = test ] || built checked; return ;; esac
  given > "$tmp/work"; put "$tmp/work" "$(given_word)"
  i=0; get partly > "$tmp/partly"
  while read -r one; do i=$((i + 1)); half "$one" > "$tmp/work"; put "$tmp/work" "$number-half-$i"; done < "$tmp/partly"
  word=$(solution_word); put "$tmp/solution" "$word"; signatures
  echo "solution $n $stage/$word"
}

case $much in
  one) prove_one $only; exit ;;
  lay-out) lay_out $only; exit ;;
  text) run= ;;
  quick) run=${only:-$first_number} ;;
  rest) run=$(cut -d'|' -f1 "$LAB_INDEX" | grep -vx $first_number); export LAB_TEXTS= ;;
  whole) run=${only:-$(cut -d'|' -f1 "$LAB_INDEX")} ;;
  *) fail "prove.sh $much: must be text, quick, rest or whole" ;;
esac
{ cut -d'|' -f1 "$LAB_INDEX" | sort -n | uniq -d | sed 's/.*/WRONG|n: & is there twice/'
  cut -d'|' -f8 "$LAB_INDEX" | sort | uniq -d | sed 's/.*/WRONG|name: & is there twice/'; } > "$tmp/proofs"
echo $run | tr ' ' '\n' | grep . | xargs -P "$(nproc)" -I N sh $learn/prove.sh lay-out N > "$tmp/laid" || echo "WRONG|not all can be laid out" >> "$tmp/proofs"
# What the lab asks of a stage's kernel, the first exercise that it solves asks.
awk -F'[| ]' -v first=$first_number '
  pass == 1 { if ($1 == "solution") solution[$2] = $3; next }
  !($1 in solution) { print $1; next }
  solution[$1] !~ /\/checked$/ { print $1 " proofs"; next }
  { again = seen[solution[$1]]++; print $1 " proofs" ($1 == first ? "" : again ? " 1" : " lab") }' pass=1 "$tmp/laid" pass=2 "$LAB_INDEX" > "$tmp/jobs"
if [ -n "$run" ]; then
  make_it build/logs/learn-all.log $(grep ^build "$tmp/laid" | sort -u) || echo "WRONG|not all builds: see build/logs/learn-all.log" >> "$tmp/proofs"
fi
xargs -P "$(nproc)" -I JOB sh $learn/prove.sh one JOB < "$tmp/jobs" >> "$tmp/proofs" || echo "WRONG|a proof ended early" >> "$tmp/proofs"
case $much in rest|whole) show=. ;; *) show=^WRONG ;; esac
grep "$show" "$tmp/proofs" | grep -v '^good.*gives nothing away' | sed 's/|/  /'
awk -F'|' '$1 == "good" { good++ } $1 == "WRONG" { wrong++ }
  END { print good + 0 " passed, " wrong + 0 " failed"; exit wrong > 0 || !good }' "$tmp/proofs"
