#!/bin/sh
# progress.sh N STEPS BEGUN WHAT: step N of a build begins. On a terminal a line that the next one replaces; elsewhere, once it takes
# more than five seconds, a line for each tenth of it.
spent=$(($(date +%s) - $3)) left=
[ "$1" -lt 3 ] || [ "$2" -lt "$1" ] || left=", about $((spent * ($2 - $1 + 1) / ($1 - 1))) s left"
if [ -t 2 ]; then printf '\r\033[K[%s/%s] building %s%s' "$1" "$2" "$4" "$left" >&2; [ "$1" != "$2" ] || printf '\r\033[K' >&2
elif [ $spent -ge 5 ] && [ $(($1 * 10 / ($2 + 1))) != $((($1 - 1) * 10 / ($2 + 1))) ]; then echo "[$1/$2] building $4$left" >&2
fi
