#!/bin/sh
# Links of pages into this repository that lead to no file, or to no heading or anchor of a page: a line each, and exit status 1.
export LC_ALL=C
awk '
  function anchors(file, line, text, fence, name) {
    read[file] = 1
    while ((getline line < file) > 0) {
      if (line ~ /^```/) fence = !fence
      if (fence) continue
      if (line ~ /^#+ /) {
        text = tolower(line); sub(/^#+ /, "", text)
        while (match(text, /\[[^]]*\]\([^)]*\)/)) { name = substr(text, RSTART + 1); sub(/\].*/, "", name); text = substr(text, 1, RSTART - 1) name substr(text, RSTART + RLENGTH) }
        gsub(/<[^>]*>|\342[\200-\213][\200-\277]|\302\267|\303\227/, "", text)  # dashes, arrows, operators, the middle dot, the times sign
        gsub(/ /, "-", text); gsub(/[^a-z0-9_\200-\377-]/, "", text)
        known[file, text (times[file, text]++ ? "-" times[file, text] - 1 : "")] = 1
      }
      while (match(line, /(id|name)="[^"]+"/)) { text = substr(line, RSTART, RLENGTH); gsub(/^[^"]*"|"$/, "", text); known[file, text] = 1; line = substr(line, RSTART + RLENGTH) }
    }
    close(file)
  }
  FNR == 1 { fence = 0; folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = "" }
  /^```/ { fence = !fence }
  fence { next }
  {
    gsub(/`[^`]*`/, "")
    while (match($0, /\]\([^) ]+\)/)) {
      link = substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH)
      if (link ~ /:\/\/|^mailto:/) continue
      at = index(link, "#"); file = at == 1 ? FILENAME : folder (at ? substr(link, 1, at - 1) : link)
      while (sub(/[^\/.][^\/]*\/\.\.\//, "", file));
      if (!(file in there)) there[file] = !system("test -e \047" file "\047")
      if (!there[file]) { print FILENAME ": " link ": no such file"; bad = 1; continue }
      if (!at || file !~ /\.md$/) continue
      if (!(file in read)) anchors(file)
      if (!((file, substr(link, at + 1)) in known)) { print FILENAME ": " link ": no such heading or anchor"; bad = 1 }
    }
  }
  END { exit bad }' "$@"
