#!/bin/sh
# patched.sh PATCH [SOURCE]: a kernel with a bug's patch applied by GNU patch, for a compiler: #line directives name the kernel's
# lines and the patch's. SOURCE is read instead of the file that the patch names.
set -u
patch=$1
source=$(sed -n 's,^--- a/,,p' "$patch" | head -1)
[ -n "$source" ] || { echo "$patch cannot be read, or names no file behind \`--- a/\`" >&2; exit 2; }
awk '/^--- a\// || bad { exit } /^$|^(diff --git|index) / { next } !/^(plants|predicted|also|harmless|slow|unseen|lucky): ./ || seen[$1]++ { bad = 1 }
  END { if (!bad && ("plants:" in seen) && ("predicted:" in seen)) exit
    print FILENAME ": its head is lines `key: value`, each key once: plants and predicted, and perhaps also, harmless, slow, unseen, lucky" > "/dev/stderr"
    exit 2 }' "$patch" || exit
errors=$(mktemp) || exit 2; trap 'rm -f "$errors"' EXIT; trap 'exit 130' INT TERM
one=$(printf '\001') two=$(printf '\002')
# GNU patch gets a marked patch: a line that it adds ends in its number, and one that it removes is added again with a mark. So its
# output has every line of the source in order, and tells where each line stands.
awk -v one="$one" -v two="$two" '
  function flush() { if (old + new) printf "@@ -%s,%d +%s,%d @@\n%s", at, old, at, new, text; old = new = 0; text = "" }
  /^@@ -[0-9]/ { flush(); split(substr($2, 2), from, ","); at = from[1]; inside = 1; next }
  !inside { print; next }
  /^-/ { removed = substr($0, 2); text = text $0 "\n+" removed two "\n"; old++; new++; next }
  /^\+/ { text = text $0 one NR "\n"; new++; next }
  /^\\/ { next }
  { text = text " " substr($0, 2) "\n"; old++; new++ }
  END { flush() }' "$patch" | patch -F0 -s --read-only=ignore -r - -o - "${2:-$source}" 2> "$errors" | awk -v one="$one" -v two="$two" -v patch="$patch" -v source="$source" '
  substr($0, length($0)) == two { n++; next }
  { mark = index($0, one) }
  mark { file = patch; number = substr($0, mark + 1); $0 = substr($0, 1, mark - 1) }
  !mark { file = source; number = ++n }
  file != last || number != before + 1 {
    if (continued) { print patch ":" number ": a change inside a line that \\ continues; let the patch replace all of it" > "/dev/stderr"; exit 2 }
    print "#line " number " \"" file "\""
  }
  { print; last = file; before = number; continued = /\\$/ }' || exit 2
[ ! -s "$errors" ] || { echo "$patch no longer applies to $source: $(grep -v '^$' "$errors" | tr '\n' ' ')" >&2; exit 2; }
