# The stages, in the order of their files, and their bugs, from stages/*/stage.conf and the heads of stages/*/bugs/*.patch: a new stage or bug is new files, and no
# list anywhere. ladder.sh calls it, with `what`, `name` (a stage or a version of the notes) and `bug` in the environment.
#   what=list      the table of make list          what=resolve    words for the Makefile, NAME=VALUE with | for a blank
#   what=bugs      STAGE:BUG of each that is meant  what=nearest    ERROR, of a goal that there is not
# The last line of what cannot be is "ERROR WHY".
function fail(why) { print "ERROR " why; failed = 1; exit 2 }
function joined(list, n, between,   i, text) { for (i = 1; i <= n; i++) text = text (i > 1 ? between : "") list[i]; return text }
function short_of(dir) { sub(/_.*/, "", dir); return dir }
# Of these names three that begin most like a word.
function nearest(word, names, n,   same, i, told, count, text) {
  for (same = length(word); same >= 0; same--)
    for (i = 1; i <= n && count < 3; i++)
      if (!(names[i] in told) && substr(names[i], 1, same) == substr(word, 1, same)) { told[names[i]]; text = text (count++ ? " " : "") names[i] }
  return text
}
function is_in(word, words,   all, n, i) { n = split(words, all, " "); for (i = 1; i <= n; i++) if (all[i] == word) return 1; return 0 }

FNR == 1 {
  parts = split(FILENAME, path, "/"); diff = 0
  if (is_conf = path[parts] == "stage.conf") { dir = path[parts - 1]; conf[dir, "dir"] = dir; dirs[++all] = dir; order[dir] = all }
  else {
    dir = FILENAME ~ /^stages\// ? path[2] : path[parts - 1]; bug = substr(path[parts], 1, length(path[parts]) - 6)
    if (bug !~ /^[a-z0-9_]+$/) fail(dir " has a bug '" bug "': a bug's name is made of a-z, 0-9 and _")
    if ((dir, bug) in patch) fail("bugs=: " dir " has a bug " bug " already")
    patch[dir, bug] = FILENAME; bugs[dir] = bugs[dir] " " bug
  }
}
is_conf && match($0, /^[a-z_]+="/) { key = substr($0, 1, RLENGTH - 2); value = substr($0, RLENGTH + 1); sub(/".*/, "", value); conf[dir, key] = value }
/^--- a\// { diff = 1 }
!is_conf && !diff && /^also: / { also[dir, bug] = substr($0, 7); n = split(also[dir, bug], words, " "); for (i = 1; i <= n; i++) if (!(words[i] in version)) { version[words[i]]; versions[++many] = words[i] } }

function find_stage(word,   i) {
  for (i = 1; i <= all; i++) if (word == dirs[i] || word == short_of(dirs[i])) return dirs[i]
  return ""
}
# STAGE:BUG of those that a stage has, or that a version of the notes had; count: how many.
function bugs_of(word,   one, i, j, n, list, found, names, m) {
  one = find_stage(word); count = 0
  for (i = 1; i <= all; i++) {
    n = split(bugs[dirs[i]], list, " ")
    for (j = 1; j <= n; j++) if (one != "" ? dirs[i] == one : is_in(word, also[dirs[i], list[j]])) { found = found (count++ ? " " : "") dirs[i] ":" list[j]; short_names[count] = list[j] }
  }
  if (one == "" && !count) {
    for (i = 1; i <= all; i++) {
      n = split(conf[dirs[i], "was"], list, " ")
      for (j = 1; j <= n; j++) if (word == list[j] || word == short_of(list[j])) fail(word " became " dirs[i] ": stage=" short_of(dirs[i]))
    }
    for (i = 1; i <= many; i++) names[++m] = versions[i]
    for (i = 1; i <= all; i++) names[++m] = short_of(dirs[i])
    fail("no stage '" word "'; the nearest are: " nearest(word, names, m) " - see 'make list'")
  }
  return found
}
function the_bug(word, bug,   pairs, list, n, i, homes, words, at, m) {
  pairs = bugs_of(word); n = split(pairs, list, " ")
  if (failed) return
  for (i = 1; i <= n; i++) if (substr(list[i], index(list[i], ":") + 1) == bug) return list[i]
  for (i = 1; i <= all; i++) if ((dirs[i], bug) in patch) {
    homes[++at] = short_of(dirs[i]); words[++m] = "stage=" short_of(dirs[i])
    n = split(also[dirs[i], bug], list, " "); for (j = 1; j <= n; j++) words[++m] = list[j]
  }
  if (at) fail(bug " is a bug of " joined(homes, at, " and ") " (" joined(words, m, " or ") ")")
  fail("stage '" word "' has no bug '" bug "'; the nearest are: " nearest(bug, short_names, count) " - see 'make list'")
}
# Of make list: a stage, what it grows out of unless that stands above it or it says nothing, its bugs, and the side paths that leave it.
function row(dir, side,   n, list, i, j, m, words, text) {
  text = side == "" && above != "" && conf[dir, "from"] !~ "^(|" above ")$" ? " (from " short_of(conf[dir, "from"]) ")" : ""
  printf "%s%-8s %-20s %s\n", side, short_of(dir), dir, conf[dir, "idea"] text
  if (side == "") above = dir
  n = split(bugs[dir], list, " ")
  for (i = 1; i <= n; i++) {
    m = split(also[dir, list[i]], words, " "); text = m ? "  (also" : ""
    for (j = 1; j <= m; j++) text = text " stage=" words[j]
    printf "%s%-8s   bug=%s%s\n", side, "", list[i], text (m ? ")" : "")
  }
  for (i = 1; i <= all; i++) if (conf[dirs[i], "road"] == "side" && conf[dirs[i], "from"] == dir) row(dirs[i], "  | ")
}
function list_all(   i, main, forward, n, parts, text) {
  for (i = 1; i <= all; i++) if (conf[dirs[i], "pass"] != "backward") { forward++; main += conf[dirs[i], "road"] != "side" }
  printf "Main road, %d stages; %d more on side roads, below the stage that each grows out of (|)\n\n", main, forward - main
  printf "%-8s %-20s %s\n", "stage", "directory", "its one idea"
  for (i = 1; i <= all; i++) if (conf[dirs[i], "pass"] != "backward" && conf[dirs[i], "road"] != "side") row(dirs[i], "")
  print "\nBackward, the second ladder: dQ, dK and dV"; above = ""
  for (i = 1; i <= all; i++) if (conf[dirs[i], "pass"] == "backward") row(dirs[i], "")
  print "\nBroken versions of the source notes, kept as bugs of the stage that mended them:"
  fflush()
  for (i = 1; i <= many; i++) {
    text = bugs_of(versions[i]); gsub(/:/, " bug=", text); gsub(/ /, "\001", text); gsub(/\001bug=/, " bug=", text); gsub("\001", ", ", text)
    printf "%-8s %s\n", versions[i], text | "sort -V -k1,1"
  }
}
function say(name, value) { gsub(/ /, "|", value); print name "=" value }
function check_paths(   i, from) {
  for (i = 1; i <= all; i++) {
    from = conf[dirs[i], "from"]
    if (from != "" && (!((from, "dir") in conf) || order[from] >= order[dirs[i]])) fail("stages/" dirs[i] "/stage.conf: from=" from ": must be the directory of an earlier stage")
    if (conf[dirs[i], "road"] !~ /^(main|side|)$/) fail("stages/" dirs[i] "/stage.conf: road=" conf[dirs[i], "road"] ": must be main or side")
    if (conf[dirs[i], "road"] != "side" && from != "" && conf[from, "road"] == "side") fail("stages/" dirs[i] "/stage.conf: road=main, and from=" from " is on a side road")
  }
}
END {
  if (failed) exit 2
  name = ENVIRON["name"]; bug = ENVIRON["bug"]; what = ENVIRON["what"]
  check_paths(); if (failed) exit 2
  if (what == "list") list_all()
  if (what == "bugs") { pairs = bug != "" ? the_bug(name, bug) : bugs_of(name); if (!failed) { n = split(pairs, list, " "); for (i = 1; i <= n; i++) print list[i] } }
  if (what == "nearest") { n = split(ENVIRON["names"], list, " "); print "ERROR nothing is called '" name "'; the nearest are: " nearest(name, list, n) " - see 'make help'" }
  if (what == "resolve") {
    for (i = 1; i <= all; i++) {
      back = conf[dirs[i], "pass"] == "backward"
      lists[back] = lists[back] " " dirs[i]
      if (ENVIRON["backend"] == "gpu") { say("target_" dirs[i], conf[dirs[i], "target"]); say("needs_" dirs[i], conf[dirs[i], "needs"]) }
      n = split(bugs[dirs[i]], list, " ")
      for (j = 1; j <= n; j++) pairs_in[back] = pairs_in[back] " " dirs[i] ":" list[j]
    }
    say("ALL_STAGES", substr(lists[0], 2)); say("BACKWARD_STAGES", substr(lists[1], 2))
    say("ALL_PAIRS", substr(pairs_in[0], 2)); say("BACKWARD_PAIRS", substr(pairs_in[1], 2))
    if (name != "") {
      one = find_stage(name); pairs = ENVIRON["any_bug"] ? "" : bug != "" ? the_bug(name, bug) : bugs_of(name)
      if (!failed) { say("STAGE", one); say("PAIRS", pairs) }
    }
  }
  if (failed) exit 2
}
