#!/bin/sh
# make show-bug, edit-bug, save-bug: a bug is a patch; its head says in words what it plants. The words of the call are in the environment.
#   bug.sh show|edit|save [DIR]     stage= bug= new=1; DIR: of stage=, where that is no version of the notes
set -u
goal=$1; own=${2:-}; stage=${stage:-} bug=${bug:-} new=${new:-}
die() { echo "$*" >&2; exit 2; }
path_of() {  # STAGE BUG
  if [ -n "${LAB_BUGS:-}" ] && [ -f "$LAB_BUGS/$1/$2.patch" ]; then echo "$LAB_BUGS/$1/$2.patch"; else echo "stages/$1/bugs/$2.patch"; fi
}
head_of() { sed '/^--- a\//,$d;/^$/d;/^diff --git /d;/^index /d' "$1"; }
diff_of() { diff -u --label "a/$1" --label "b/$1" "$2" "$3"; }  # SOURCE OLD NEW

show() { echo "$2: read writeups/bugs/$2.md"; cat "$1"; }  # PATCH BUG

edit() {  # STAGE BUG
  patch=$(path_of "$1" "$2"); source=stages/$1/kernel.cu; dir=build/edit/$1-$2
  if [ "$new" = 1 ]; then
    [ ! -e "$patch" ] || die "$patch is there already; without new=1 it is edited"
    case $2 in ''|*[!a-z0-9_]*) die "bug=$2: a bug's name is made of a-z, 0-9 and _" ;; esac
  fi
  going=
  if [ -f $dir/kernel.cu ]; then
    cmp -s $dir/base.cu $source || die "$dir/kernel.cu holds unsaved work on an older $source; move it away, and begin anew"
    going=" (unsaved work goes on)"
  else
    mkdir -p $dir && cp $source $dir/base.cu && rm -f $dir/rejected || exit 2
    if [ "$new" = 1 ]; then
      cp $source $dir/kernel.cu; printf 'plants: \npredicted: \n' > $dir/head
    else
      head_of "$patch" > $dir/head
      patch -F0 -s -r $dir/rejected -o $dir/kernel.cu $source "$patch" > /dev/null || echo "$patch: what no longer applies is not in the copy: $dir/rejected"
    fi
  fi
  echo "$dir/kernel.cu$going: edit it, and $dir/head"
  echo "then: make stage=$stage save-bug bug=$2"
}

save() {  # STAGE BUG
  patch=$(path_of "$1" "$2"); source=stages/$1/kernel.cu; dir=build/edit/$1-$2
  [ -f "$dir/kernel.cu" ] || die "there is no $dir/kernel.cu; make stage=$stage edit-bug bug=$2 makes it"
  cmp -s $dir/base.cu $source || die "$source has changed since $dir/kernel.cu was begun; move the copy away, and begin anew"
  if diff_of $source $source $dir/kernel.cu > $dir/diff; then die "$dir/kernel.cu is $source as it is: there is nothing to save"; fi
  { head_of $dir/head; echo; cat $dir/diff; } > $dir/new.patch
  sh checks/scripts/patched.sh $dir/new.patch > /dev/null || exit 2
  mkdir -p "$(dirname "$patch")" && cp $dir/new.patch "$patch.new" && mv "$patch.new" "$patch" || { rm -f "$patch.new"; exit 2; }
  rm -r $dir
  echo "$patch is written"
  for also in "stages/$1/bugs/$2.cpp" "writeups/bugs/$2.md"; do [ -r "$also" ] || echo "still missing: $also"; done
  echo "then: make stage=$stage show-bug bug=$2; make stage=$stage reproduce-bug bug=$2"
}

[ "$goal" = show ] || [ -n "$bug" ] || die "which bug? $goal-bug needs bug=NAME; see 'make list'"
if [ "$goal" = save ] || [ "$new" = 1 ]; then
  if [ -n "$own" ]; then pairs=$own:$bug
  else pairs=$(sh checks/scripts/ladder.sh bugs "$stage" "$bug" 2> /dev/null) || die "a new bug needs a stage of its own, which '$stage' is not"
  fi
else
  pairs=$(sh checks/scripts/ladder.sh bugs "$stage" "$bug") || exit 2
fi
[ -n "$pairs" ] || die "stage '$stage' has no bugs"
between=
for pair in $pairs; do
  [ -z "$between" ] || echo
  case $goal in
    show) show "$(path_of "${pair%%:*}" "${pair#*:}")" "${pair#*:}" ;;
    *) $goal "${pair%%:*}" "${pair#*:}" ;;
  esac
  between=1
done
