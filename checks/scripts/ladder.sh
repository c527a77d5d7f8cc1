#!/bin/sh
# ladder.sh list | bugs NAME [BUG] | resolve: asks ladder.awk, with the bugs of bugs=DIR (LAB_BUGS) too. A wrong word is one line on
# standard error and exit status 2; of resolve, which make calls, a line ERROR.
export LC_ALL=C what="$1"
[ "$what" = resolve ] || export name="${2:-}" bug="${3:-}"
# Versions in order, v2 before v2b, as sort -V has a ~; what is no version comes last: stages/mine may grow out of any stage.
confs=$(printf '%s\n' stages/*/stage.conf | tr _ '~' | sort -V | tr '~' _)
set -- $(echo "$confs" | grep '^stages/v[0-9]') $(echo "$confs" | grep -v '^stages/v[0-9]') stages/*/bugs/*.patch
[ -z "${LAB_BUGS:-}" ] || for file in "$LAB_BUGS"/*/*.patch; do [ -e "$file" ] && set -- "$@" "$file"; done
[ "$what" != resolve ] || exec awk -f checks/scripts/ladder.awk "$@"
answer=$(awk -f checks/scripts/ladder.awk "$@"; echo "$?")
status=${answer##*
}; answer=${answer%?}
[ "$status" = 0 ] || { printf '%s' "$answer" | sed -n 's/^ERROR //p' >&2; exit 2; }
printf '%s' "$answer"
