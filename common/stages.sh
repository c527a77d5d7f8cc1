#!/bin/sh
# What stages and bugs there are, from stages/*/stage.conf, so that a new stage is a new directory and nothing else.
#   stages.sh dirs              every stage directory, in the order of the climb
#   stages.sh list              the table of `make list`
#   stages.sh resolve NAME      "DIR" for a stage, "DIR:BUG DIR:BUG ..." for a broken version of the notes
#   stages.sh bugs NAME [BUG]   "DIR:BUG ..." of a stage or a broken version, or the one that BUG names
#   stages.sh conf DIR KEY      what a stage's stage.conf says of KEY, or nothing. Beside idea, bugs, also and learned:
#                               harmless   planted changes that turned out to be right
#                               lucky      bugs that a GPU may hide: by the order in which it runs, or the layout it happens to have
#                               target     what it is built for: a name in common/target.hpp
#                               needs      of a GPU, beyond that: words of common/gpu_fit.hpp
#                               registers  the stage's own budget, per thread at its target
#                               smem       the largest number of bytes per block that it asks for
# An unknown name is one line on standard error and exit status 2.
set -u
cd "$(dirname "$0")/.." || exit 2

dirs() { ls -d stages/*/ | sed 's|stages/||; s|/||' | sort -V; }

conf() { (eval "$2="; . "stages/$1/stage.conf"; eval "printf '%s\n' \"\$$2\""); }

short() { printf '%s\n' "${1%%_*}"; }

# Every NAME of `also`, once.
historical() { for d in $(dirs); do for a in $(conf "$d" also); do printf '%s\n' "${a%%:*}"; done; done | sort -uV; }

names() {
  for d in $(dirs); do short "$d"; printf '%s\n' "$d"; done
  historical
}

die() { printf '%s\n' "$1" >&2; exit 2; }

# The names nearest to $1 among the lines of standard input, by edit distance.
nearest() {
  awk -v word="$1" '
    function least(a, b, c) { return a < b ? (a < c ? a : c) : (b < c ? b : c) }
    { n = length(word); m = length($0)
      for (j = 0; j <= m; j++) row[j] = j
      for (i = 1; i <= n; i++) { diagonal = row[0]; row[0] = i
        for (j = 1; j <= m; j++) { old = row[j]
          row[j] = least(row[j] + 1, row[j-1] + 1, diagonal + (substr(word, i, 1) != substr($0, j, 1))); diagonal = old } }
      print row[m], $0 }' | sort -n | head -3 | cut -d" " -f2 | tr "\n" " "
}

resolve() {
  for d in $(dirs); do
    if [ "$1" = "$d" ] || [ "$1" = "$(short "$d")" ]; then printf '%s\n' "$d"; return; fi
  done
  found=
  for d in $(dirs); do
    for a in $(conf "$d" also); do [ "${a%%:*}" = "$1" ] && found="$found $d:${a#*:}"; done
  done
  [ -n "$found" ] && { printf '%s\n' "${found# }"; return; }
  die "no stage '$1'; the nearest are: $(names | nearest "$1")- see 'make list'"
}

bugs() {  # bugs NAME [BUG]
  found=$(resolve "$1") || exit 2
  case $found in
    *:*) ;;
    *) d=$found; found=; for b in $(conf "$d" bugs); do found="$found $d:$b"; done ;;
  esac
  [ -z "${2:-}" ] && { printf '%s\n' $found | tr '\n' ' '; return; }
  for pair in $found; do [ "${pair#*:}" = "$2" ] && { printf '%s\n' "$pair"; return; }; done
  die "stage '$1' has no bug '$2'; the nearest are: $(printf '%s\n' $found | sed 's/.*://' | nearest "$2")- see 'make list'"
}

list() {
  printf '%-8s %-20s %s\n' stage directory "its one idea"
  for d in $(dirs); do
    printf '%-8s %-20s %s\n' "$(short "$d")" "$d" "$(conf "$d" idea)"
    for b in $(conf "$d" bugs); do
      also=; for a in $(conf "$d" also); do [ "${a#*:}" = "$b" ] && also="$also stage=${a%%:*}"; done
      printf "%-8s   bug=%s%s\n" "" "$b" "${also:+  (also$also)}"
    done
  done
  printf '\nBroken versions of the source notes, kept as bugs of the stage that mended them:\n'
  for h in $(historical); do printf '%-8s %s\n' "$h" "$(resolve "$h" | sed 's/:/ bug=/g; s/ \([^ ]*\) bug=/, \1 bug=/g')"; done
}

case ${1:-} in
  dirs) dirs ;;
  list) list ;;
  resolve) resolve "$2" ;;
  bugs) bugs "$2" "${3:-}" ;;
  conf) conf "$2" "$3" ;;
  *) die "usage: stages.sh dirs | list | resolve NAME | bugs NAME [BUG] | conf DIR KEY" ;;
esac
