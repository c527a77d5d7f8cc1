#!/bin/sh
# make exercise, predict, try, hint, solution, grade; and racecheck, counters, trace of an exercise that is laid out. The words of the call
# are in the environment: n= again= say= assigned= seed= json=.
#   exercise.sh GOAL [give-up | WORD=VALUE...]
set -u
. checks/exercises/learn/functions.sh
goal=$1; shift
number_given=${n:-}; all=${all:-} again=${again:-} say=${say:-} assigned=${assigned:-} json=${json:-} seed=${seed:-}
tell= explain= grading= is_built= own_only= one_race= state=work/state.txt

# --- what is known of a learner: a line for each fact, "07 hint", "07 try", "07 done", "07 shown", "07 said RIGHT LATE WORDS" ---
note() { mkdir -p work; printf '%s %s\n' "$number" "$*" >> $state; }
known() {  # sets hints tries finished gave_up said (how many) right_at (the first right one) late first_right first_late, of this exercise
  eval "$(awk -v number="$number" '
    $1 != number { next }
    $2 == "hint" { hints++ } $2 == "try" { tries++ } $2 == "done" { finished = 1 } $2 == "shown" { gave_up = 1 }
    $2 == "said" { said++; if (said == 1) { first_right = $3; first_late = $4 } if ($3 && !right_at) { right_at = said; late = $4 } }
    END { printf "hints=%d tries=%d finished=%d gave_up=%d said=%d right_at=%d late=%d first_right=%d first_late=%d\n", \
      hints, tries, finished, gave_up, said, right_at, late, first_right, first_late }' "$(test -f $state && echo $state || echo /dev/null)")"
}
lies_there() { [ -f "$file" ] || fail "there is no $file; $(command_of exercise) lays it out"; }
# The card asks which lines the race check names, and nothing is predicted yet: then they are not shown.
asked_first() { known; [ "$predict" = lines ] && [ "$said$finished$gave_up" = 000 ] && is_given "$file"; }
predict_first="say='LINE LINE' first"
answers_sheet() {
  count=$(grep -c '^question:' "$exercise")
  [ "$count" -gt 0 ] || return 0
  printf '# %s %s: answers\n\nWrite below each question, in a few sentences. A person reads them, no check does.\n' "$number" "$name"
  i=0; while [ $i -lt "$count" ]; do i=$((i + 1)); printf '\n## %d. %s\n\n' $i "$(block question $i | tr '\n' ' ' | sed 's/ $//')"; done
}

list() {  # WORD: a kind, or a stage by either name, or all; none: the core path. Nothing where there is no such
  mkdir -p work
  index | awk -F'|' -v word="$1" -v state=$state -v begun="$(ls work)" '
    BEGIN { while ((getline line < state) > 0) {
              split(line, w, " "); if (w[2] == "hint") hints[w[1]]++
              if (w[2] ~ /^(done|shown)$/ && how[w[1]] != "done") how[w[1]] = w[2]
            }
            split(begun, folders, "\n"); for (i in folders) there[folders[i]] }
    { stage = $6; drill = stage ~ /^checks/; sub(/\/(bugs|exercises)?\/?[^\/]*$/, "", stage); sub(/.*\//, "", stage)
      short = drill ? "" : stage; sub(/_.*/, "", short) }
    word == "" ? !$9 : word != "all" && $3 != word && (drill || (stage != word && short != word)) { next }
    !count++ && word != "" { printf "%-4s %-6s %-36s %-11s %-7s %-16s %s\n", "n", "stage", "name", "kind", "minutes", "state", "after" }
    { number = sprintf("%02d", $1); is = number in how ? how[number] : number in there ? "begun" : "open"; place = word == "" ? $9 + 0 : count
      if (is == "done") done++; else { minutes += $4; if (!next_one || place < next_place) { next_one = $1; next_place = place } }
      if (number in hints) is = is ", " hints[number] (hints[number] == 1 ? " hint" : " hints")
      if (word == "") path[place] = sprintf("%2d.  %-6s %-36s %3d minutes  %s", place, "n=" $1, $2, $4, is)
      else printf "%-4s %-6s %-36s %-11s %7d %-16s %s\n", number, short, $2, $3, $4, is, $5 }
    END {
      for (i = 1; i in path; i++) print path[i]
      if (count) print "\n" done + 0 " of " count " done, " minutes + 0 " minutes left. " (next_one ? "Next: make exercise n=" next_one : "Well done." (word == "" ? " Next: the backward pass, writeups/stages/b1_two_kernels.md" : "")) \
        (word == "" ? "\nAll exercises: make exercise all=1 (n=v2c9: of a stage, n=faster: of a kind)" : "") }'
}
core_table() {  # for the README: the core path, FROM its place TO
  echo '| exercise | what it is about | minutes |'; echo '|---|---|--:|'
  index | awk -F'|' -v from="$1" -v to="$2" '
    $9 { place = $9 + 0; text = $9; sub(/^[0-9]+ */, "", text); line[place] = "| `n=" $1 "` " $2 " | " text " | " $4 " |" }
    END { for (i = from; i <= to && i in line; i++) print line[i] }'
}

exercise() {
  [ "$all" != 1 ] || all=all
  list "${number_given:-$all}" > "$tmp/list"
  if [ -s "$tmp/list" ]; then cat "$tmp/list"; return; fi
  find_exercise "$number_given"
  mkdir -p "$dir"
  if [ "$again" = 1 ] && [ -n "$handed" ] && [ -f "$file" ] && ! is_given "$file"; then
    i=1; while [ -e "$file.$i" ]; do i=$((i + 1)); done
    mv "$file" "$file.$i"; echo "Yours is $file.$i."
  fi
  card | tee "$dir/CARD.md"; echo
  [ -f "$dir/ANSWERS.md" ] || { answers_sheet > "$dir/ANSWERS.md"; [ -s "$dir/ANSWERS.md" ] || rm "$dir/ANSWERS.md"; }
  if [ -n "$handed" ] && [ -f "$file" ]; then echo "$file is as you left it; $(command_of exercise) again=1 begins anew."; return; fi
  [ -z "$handed" ] || { given > "$tmp/given"; cp "$tmp/given" "$file"; }
  echo "Laid out in $dir."
}

hint() {
  known
  if [ "$finished" = 1 ]; then  # all three, and none is counted
    for i in 1 2 3; do printf 'hint %d of 3\n\n%s\n\n' $i "$(block hint $i)"; done
    return
  fi
  [ "$hints" -ge 3 ] || { note hint; hints=$((hints + 1)); }
  printf 'hint %d of 3\n\n%s\n' "$hints" "$(block hint "$hints")"
}

show_solution() {  # [give-up]
  known
  [ "$finished" = 1 ] || [ "${1:-}" = give-up ] ||
    fail "exercise $number is not done; $(command_of solution) give-up=1 shows it all the same"
  [ "$finished$gave_up" != 00 ] || note shown
  case $kind in predict) echo "$right"; return ;; test) solution; return ;; esac
  given > "$tmp/given"; solution > "$tmp/solution"
  of=$file; [ "$kind" != capstone ] || of=$kernel
  diff -u --label "a/$of" --label "b/$of" "$tmp/given" "$tmp/solution"
  [ -z "$bug" ] || printf '\nThe bug is %s: writeups/bugs/%s.md\n' "$bug" "$bug"
  i=0; while [ $i -lt "$(grep -c '^answer:' "$exercise")" ]; do
    i=$((i + 1)); printf '\n%d. %s\n\n%s\n' $i "$(block question $i)" "$(block answer $i)"
  done
}

try() {
  [ -n "$handed" ] || fail "exercise $number is a prediction: $(command_of predict)"
  lies_there
  hidden=; ! asked_first || hidden=1
  began=$(date +%s.%N)
  tell=1 explain=1; check "$file" "$number" "$file"
  took=$(printf '%s %s\n' "$began" "$(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
  note try
  [ ! -s "$tmp/printed" ] || { echo "  your kernel prints:"; few_lines "build/logs/learn-$number-$number.log" 20 < "$tmp/printed" | wrapped; }
  if [ -z "$red" ]; then
    note done
    echo "exercise $number ($name) passes, $took s. $(command_of solution) shows the reference's."
    [ -z "$core" ] || list '' | sed -n 's/.*\(Next: \)/\1/p'
    block gpu 1 > "$tmp/gpu"; [ ! -s "$tmp/gpu" ] || { echo "On a GPU:"; wrapped < "$tmp/gpu"; }
    return 0
  fi
  show_red "$red" "${whole:-$says}"
  [ ! -s "$tmp/races-says" ] || show_red "no races" "$(grep . "$tmp/races-whole" | few_lines "build/logs/learn-$number-$word-races.log" 6 | grep . || cat "$tmp/races-says")"
  as=; ! is_given "$file" || as=", and the file is as it was handed out"
  echo "$took s; $(command_of hint) helps$as."
  return 1
}
predict() {
  [ "$predict" != none ] || fail "exercise $number asks for no prediction"
  if [ -z "$say" ]; then
    if [ "$predict" = formula ]; then
      built_for_prediction
      runs "$at" predict formulas 2>&1 < /dev/null | menu=$(get menu) awk 'index(" " ENVIRON["menu"] " ", " " $1 " ") { print "  " $0 }'
    fi
    fail "nothing is predicted: $(asked)"
  fi
  judge "$say"
  known
  late=0; [ "$finished$gave_up" = 00 ] || late=1
  note said "${holds:-0}" $late "$say"
  if [ -n "$holds" ]; then
    [ "$kind" != predict ] || note done
    cat "$tmp/measured"; echo "right."
    return
  fi
  [ "$gave_up" = 0 ] || cat "$tmp/measured"
  # A map shows all of the answer: the first wrong rule is told how much of it is right, and asks for thought.
  if [ "$said$finished$gave_up" = 000 ] && [ -s "$tmp/near" ]; then
    grep 'your rule marks' "$tmp/near"; echo "After a second rule that is not right you see a map."
  else cat "$tmp/near"; fi
  if [ "$asked_parts" -gt 1 ]; then how="$right_parts of $asked_parts right$which"; else how="not right"; fi
  [ "$kind" = predict ] && echo "$how; make hint helps." || echo "$how; try again, or look with make try."
}  # a wrong prediction is an answer, and no error of make's

look() {  # the lab's tools on what is laid out
  ! drill || fail "exercise $number has no tool of its own: $(command_of try) runs it with the race check on, and says what it counts"
  [ "$handed" = kernel.cu ] || fail "exercise $number has no kernel of its own for make $goal; $(command_of exercise) says what it has"
  [ -z "$backward" ] || [ $goal = racecheck ] || fail "make $goal is for stages of the forward pass; $(command_of racecheck) takes this one"
  lies_there
  if [ $goal = racecheck ] && asked_first; then fail "the card asks which lines this names; $(command_of predict) $predict_first"; fi
  place "$file" "$number" "$file"
  make_it build/logs/learn-$number.log "$(built "$number")" || { cat build/logs/learn-$number.log; exit 1; }
  $runner "$(built "$number")" $goal "$@"
}

# --- what was handed in, with inputs and shapes not seen before ---
predicts_again() { [ -n "$1" ] && (judge "$1"; [ -n "$holds" ]) 2> /dev/null; }
said_first() { sed -n "s/^$number said [01] [01] //p" $state | head -1; }
said_right() { sed -n "s/^$number said 1 [01] //p" $state | tail -1; }
grade_one() {  # a line: number|name|kind|prediction|tries|hints|points|passed|says
  known
  attempts=-; points=0 passed=0 says="$file is missing, or as it was handed out" predicted= red="not handed in"
  if [ "$predict" != none ]; then
    attempts=none
    [ "$said" -eq 0 ] || attempts="none of $said right"
    [ "$right_at" -eq 0 ] || attempts="attempt $right_at of $said$([ "$late" = 0 ] || echo ', late')"
    [ "$said" -eq 0 ] || [ "$first_late" = 1 ] || ! predicts_again "$(said_first)" || predicted=1
  fi
  if [ -z "$handed" ]; then
    says="nothing was predicted"
    [ "$said" -eq 0 ] || red=prediction says="it does not hold"
    { [ -z "$predicted" ] && ! { [ "$said" -gt 0 ] && predicts_again "$(said_right)"; }; } || passed=1
  elif [ -f "$file" ] && ! is_given "$file"; then
    echo "grading $number ..." >&2
    check "$file" "$number-graded" "$file"
    [ -n "$red" ] || passed=1
  fi
  if [ "$predict" = none ]; then points=$((passed * 10)); else points=$((passed * 8 + ${predicted:-0} * 2)); fi
  gpu=$(block gpu 1 | tr '\n' ' ' | sed 's/ $//')
  if [ $passed = 0 ]; then how="$red: $says"; else how="passed${gpu:+" here; on a GPU: $gpu"}"; fi
  look=; [ "$gave_up" = 0 ] || [ "$red" = "not handed in" ] || look="  [LOOK: the solution was shown before it passed]"
  printf '%s|' "$number" "$name" "$kind" "$attempts" "$tries" "$hints" $points $passed
  printf '%s' "$how$look" | tr '\n|' ' /'; echo
}
grade() {
  seed=${seed:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} grading=1
  case $seed in *[!0-9]*|???????????????????*) fail "seed=$seed: must be a whole number of at most 18 digits" ;; esac
  mkdir -p work; touch $state
  set -f; set -- $(printf '%s' "$assigned" | tr ',' ' '); set +f
  if [ -z "$assigned" ]; then  # what is laid out, or anything was done of: it counts whether it was handed in or not
    set -- $({ ls work; cut -d' ' -f1 $state; } | grep -E '^[0-9]+$' | sort -nu)
    [ $# -gt 0 ] || { echo "nothing is begun: there is no exercise in work/"; exit 1; }
  fi
  [ $# -gt 0 ] || fail "assigned=$assigned names no exercise"
  began=$(date +%s); : > "$tmp/grades"; : > "$tmp/answers"
  for one in "$@"; do
    find_exercise "$one"
    grep -q "^$number|" "$tmp/grades" && continue
    grade_one >> "$tmp/grades"
    answers_sheet > "$tmp/sheet"
    [ ! -f "$dir/ANSWERS.md" ] || cmp -s "$tmp/sheet" "$dir/ANSWERS.md" || { echo; cat "$dir/ANSWERS.md"; } >> "$tmp/answers"
  done
  [ -z "$json" ] || tr -c ' -~\n' '?' < "$tmp/grades" | awk -F'|' '
    function quoted(text) { gsub(/[\\"]/, "\\\\&", text); return "\"" text "\"" }
    BEGIN { print "{\"tests\": [" }
    { sub(/  \[LOOK.*/, "", $9); if ($4 != "-") $9 = $9 "; prediction: " $4
      printf "%s  {\"number\": %s, \"name\": %s, \"score\": %d, \"max_score\": 10, \"output\": %s}", \
        (NR > 1 ? ",\n" : ""), quoted($1), quoted($2), $7, quoted($9) }
    END { print "\n]}" }' > "$json" || exit 2
  awk -F'|' -v seed="$seed" -v took=$(($(date +%s) - began)) '
    BEGIN { form = "%-4s %-36s %-11s %-20s %-5s %-5s %6s  %s\n"; printf form, "n", "name", "kind", "prediction", "tries", "hints", "points", "" }
    { points += $7; red += !$8; printf form, $1, $2, $3, $4, $5, $6, $7, ($8 ? "" : "RED, ") $9 }
    END { print points " of " 10 * NR " points\nseed " seed ", " took " s"; exit red > 0 }' "$tmp/grades"; status=$?
  cat "$tmp/answers"
  return $status
}

case $goal in
  exercise) exercise ;;
  core-table) core_table "$@" ;;
  grade) grade ;;
  *)
    find_exercise "$number_given"
    case $goal in hint) hint ;; solution) show_solution "$@" ;; try) try ;; predict) predict ;; *) look "$@" ;; esac ;;
esac
