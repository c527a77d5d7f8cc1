# Files: what was handed out and what solves it, with pass=1, then a learner's source with pass=2, which is called `shown`. Prints the
# first line that is refused: its computation alone is to be judged.
BEGIN { split("asm __asm__ __asm constructor destructor weak alias __has_include _Pragma ifunc init_priority", words, " ")
        for (i in words) bad[words[i]] }
function refuse(what) { print shown ":" FNR ": " what; exit }
function single(line) { gsub(/[ \t]+/, " ", line); sub(/^ /, "", line); sub(/ $/, "", line); return line }
{ line = strip($0) }
pass == 1 { if (line ~ /^#include/) known[single(line)]; next }
line ~ /%:|\?\?/ { refuse("no digraphs or trigraphs here") }
line ~ /R"/ { refuse("no raw strings here") }
line ~ /^[ \t]*#/ {
  word = line; sub(/^[ \t]*#[ \t]*/, "", word); sub(/[ \t<"].*/, "", word)
  if (word ~ /^line|^[0-9]/) refuse("#line would hide where a report's lines are")
  if (word ~ /^include|^embed$|^import$/ && !(single(line) in known)) refuse("a handed-in kernel includes what was handed out with it, and no more")
  if (line ~ /\\$/ && word != "define") refuse("a directive of one line, please")
}
{ while (match(line, /[A-Za-z0-9_]+/)) {
    word = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
    if (word in bad) refuse("`" word "` has no place in a kernel that is to be judged")
  } }
