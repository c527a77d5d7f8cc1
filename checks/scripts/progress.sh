#!/bin/sh
# progress.sh N STEPS WHAT: step N of a build begins. On a terminal a line that the next one replaces; elsewhere a line after ten seconds,
# and after each ten more.
state=build/progress-$PPID now=$(date +%s)
[ "$1" = 1 ] || read -r begun told < $state 2> /dev/null || begun=
[ -n "$begun" ] || { begun=$now told=$now; rm -f build/progress-*; mkdir -p build; }
left=; [ "$1" -lt 3 ] || [ "$2" -lt "$1" ] || left=", about $(((now - begun) * ($2 - $1 + 1) / ($1 - 1))) s left"
if [ -t 2 ]; then printf '\r\033[K[%s/%s] building %s%s' "$1" "$2" "$3" "$left" >&2; [ "$1" != "$2" ] || printf '\r\033[K' >&2
elif [ $((now - told)) -ge 10 ]; then told=$now; echo "[$1/$2] building $3$left" >&2
fi
echo "$begun $told" > $state
