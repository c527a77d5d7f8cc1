# An exercise's card, of its .exercise file. after, stage, short (of the stage; "" of a drill), backward and own_solution are given.
function get(key, otherwise) { return key in value ? value[key] : otherwise }
function typed(goal) { return "    make " goal " n=" get("n") }
function line(goal, more, says) { printf "%s%*s%s\n", typed(goal) more, 19 - length(goal more), "", says }
function list(text, mark,   items, i, out) {
  split(text, items, "\n"); for (i = 1; i in items; i++) if (items[i] != "") out = out "- " mark items[i] mark "\n"
  return out
}
function elements() { return seen == "nan" ? "elements are NaN" : seen == "unwritten" ? "elements are never written" : "elements are wrong" }
function names(text) { gsub(/=[0-9]+/, "=COUNT", text); return text }
/^#/ { next }
match($0, /^[a-z]+:/) {
  key = substr($0, 1, RLENGTH - 1); text = substr($0, RLENGTH + 1); gsub(/^[ \t]+|[ \t]+$/, "", text)
  if (key == "question") questions++
  value[key] = key == "limit" && key in value ? value[key] "\n" text : text
  blanks = ""; next
}
key == "question" || key ~ /^(symptom|task|asks)$/ {
  if ($0 ~ /^[ \t]*$/) { blanks = blanks "\n"; next }
  at = key == "question" ? key questions : key
  indent = key == "question" && at in value ? "   " : ""
  value[at] = value[at] (at in value && value[at] != "" ? "\n" blanks : "") indent substr($0, 3); blanks = ""
}
END {
  kind = get("kind"); seen = get("seen", "wrong"); predict = get("predict", "none"); shape = get("shape", "1,8,512,64"); gsub(/ /, "", shape)
  works = kind == "predict" ? "" : kind == "test" ? "cases.txt" : "kernel.cu"
  printf "# %02d %s\n\n%s minutes", get("n"), get("name"), get("minutes")
  if (short) printf "; stage [%s](../../writeups/stages/%s.md)", stage, stage
  printf "%s\n\n%s\n", after == "" ? "" : "; after " after, get(kind == "fix" ? "symptom" : "task")
  if (kind == "fix" || (kind == "hole" && !own_solution)) print "\nThe page of " short " and stages/" stage "/kernel.cu show the right lines: keep both closed."
  if (questions) {
    print "\n## Questions\n"
    for (i = 1; i <= questions; i++) print i ". " value["question" i]
    print "\nANSWERS.md in this folder is for what you write. No check reads it; `make grade` collects it for a person."
  }
  if ("limit" in value)
    printf "\n## Bounds\n\nWhat %s is counted ([the words](../../writeups/counters.md#by-one-word)):\n\n%s", \
      !short ? "all blocks of a launch do" : backward ? "the first block of each kernel does" : "one block does", list(value["limit"], "")
  print "\n## Commands\n"
  at = " at shape=" shape; say = typed("predict") " say="; inputs = " (" get("inputs", "unit") " inputs)"
  if (predict == "mask")
    print "First say which " (seen == "rows" ? "rows have a wrong element" : elements()) at inputs ", as a rule over b h row col S D causal" \
      (backward ? ", and dq dk dv, one of which is 1" : "") ":\n\n" say (backward ? "'dk && row % 16 < 4'" : "'row % 16 < 4 && col >= 32'") "\n"
  menu = get("menu"); gsub(/ +/, "\n", menu)
  if (predict == "formula")
    print "First say what comes out. One of these:\n\n" list(menu, "`") "\n" say "NAME\n\n(`make predict n=" get("n") "` says what they mean.)\n"
  if (seen == "told") print "First say a number:\n\n" get("asks") "\n\n" say "1000\n"
  else if (predict == "count")
    print "First say how many different outputs six orders of blocks give" at inputs ":\n\n" say "1000\n"
  if (predict == "lines")
    print "First say which two lines of kernel.cu the race check will name together," at ":\n\n" say "'100 200'\n"
  if (predict == "counts") print "Say how often the first block of " shape " does each of these:\n\n" say "'" names(get("right")) "'\n"
  print works ? (predict == "none" ? "Work on " : "Then work on ") works " in this folder:\n" : "And:\n"
  if (works) line("try", "", "the checks, from cheap to dear, up to the first that is red")
  line("hint", "", "one of three, more telling each time; counted")
  if (works) line("exercise", " again=1", "as it was handed out; a copy of your work is kept")
  line("solution", "", "when it is done, or with give-up=1")
}
