#!/bin/sh
# A new stage is a directory and a page; a new bug is a patch, a fingerprint and a page. Proved in a scratch copy of the tree
# below build/: v1 under another name, with a bug of its own, is taken up by every command, and no other file is touched.
# The binaries of this tree are copied along, so that only the new stage is compiled. Prints `N passed, M failed`.
set -u
MAKE=${MAKE:-make}
B=${backend:-cpu}
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL
home=$PWD; tree=$home/build/scratch
new=v9_scratch
good=0; bad=0
check() {  # check WHAT COMMAND...
  what=$1; shift
  if "$@" > "$home/build/logs/scratch.log" 2>&1; then good=$((good + 1)); else bad=$((bad + 1)); echo "$what: exit $?: $*"; tail -15 "$home/build/logs/scratch.log" | sed 's/^/    /'; fi
}
says() {  # says PIECE COMMAND...: succeeds, and prints a line with PIECE
  piece=$1; shift
  if "$@" > "$home/build/logs/scratch.log" 2>&1 && grep -qF -- "$piece" "$home/build/logs/scratch.log"; then good=$((good + 1))
  else bad=$((bad + 1)); echo "no '$piece' in: $*"; tail -5 "$home/build/logs/scratch.log" | cut -c1-200 | sed 's/^/    /'; fi
}

mkdir -p build/logs
rm -rf "$tree"; mkdir -p "$tree/build"
trap 'rm -rf "$tree"' EXIT
trap 'exit 130' INT TERM
cp -a Makefile README.md common reference checks stages writeups "$tree"
libs=build/$B/liblab.a
[ "$B" != cpu ] || libs="$libs build/$B/libtest.a"
$MAKE -s backend="$B" $libs || exit 1
cp -a build/desk build/desk-work build/desk-objects "$tree/build"
mkdir -p "$tree/build/$B"
cp -a "build/$B/obj" "build/$B/flags" $libs "$tree/build/$B"
[ ! -d "build/$B/parsed" ] || cp -al "build/$B/parsed" "$tree/build/$B"  # large, and never written to
cd "$tree" || exit 2
sums() { find . -path ./build -prune -o -type f ! -path "./stages/$new/*" ! -path "./writeups/stages/$new.md" \
  ! -path "./writeups/bugs/scratch_scale.md" -exec cksum {} + | sort -k3; }
sums > build/sums-before

# The stage: v1's files, and in them its name.
cp -a stages/v1_scalar stages/$new
cp writeups/stages/v1_scalar.md writeups/stages/$new.md
sed -i "s/v1_scalar/$new/g" stages/$new/Makefile stages/$new/bugs/*.patch
sed -i "s/^idea=.*/idea=\"a stage that only a test knows\"/" stages/$new/stage.conf
says "a stage that only a test knows" $MAKE list
says "stages/$new/kernel.cu" $MAKE stage=v9 show-bug
says "0 failed" $MAKE patches
# Its acceptance is v1's, which `make test` runs whole: here it must be what stage=v9 test runs, and good on the cheapest cases.
tester=lab; [ "$B" != cpu ] || tester=tester
says "stage_test.sh '0' '0' build/$B/$new/fixed/$tester" $MAKE -n backend="$B" stage=v9 test
check "builds" $MAKE backend="$B" "build/$B/$new/fixed/lab"
says "24 passed, 0 failed" "build/$B/$new/fixed/lab" test cheapest=24
says "1 passed, 0 failed" $MAKE backend="$B" stage=$new reproduce-bug
says "0 findings in" $MAKE -C stages/$new backend="$B" racecheck

# The bug: written in the working copy of the kernel, saved as a patch; with its fingerprint and its page.
says "build/edit/$new-scratch_scale/kernel.cu" $MAKE stage=v9 edit-bug bug=scratch_scale new=1
edit=build/edit/$new-scratch_scale
sed -i 's/visible ? s \* scale :/visible ? s * scale * scale :/' $edit/kernel.cu
printf 'plants: the scale twice\npredicted: softmax(scale^2 Q K^T) V\nalso: v8\n' > $edit/head
says "stages/$new/bugs/scratch_scale.patch is written" $MAKE stage=v9 save-bug bug=scratch_scale
sed 's/double_scale\./scratch_scale./' stages/v2c3_scalar_smem/bugs/double_scale.cpp > stages/$new/bugs/scratch_scale.cpp
cp writeups/bugs/double_scale.md writeups/bugs/scratch_scale.md
says "bug=scratch_scale  (also stage=v8)" $MAKE list
says "2 passed, 0 failed" $MAKE backend="$B" stage=v9 reproduce-bug
says "1 passed, 0 failed" $MAKE backend="$B" stage=v8 reproduce-bug
says "2 passed, 0 failed" $MAKE backend="$B" stage=v9 check-harness
says "broken-version 'v8' $new:scratch_scale" $MAKE stage=v8 -n test
# A goal over all stages and bugs includes these: with their sources touched it would build them again. Dry, for the others are
# not built here.
sleep 1; touch stages/$new/kernel.cu stages/$new/bugs/*.patch
for goal in resources writeups climb-table blindness tools-table check-harness figure-data; do
  for piece in $new/fixed/lab $new/bug-scratch_scale/lab; do
    [ "$goal" != tools-table ] || piece=$(echo $piece | sed 's/fixed/checked/')
    [ "$goal $piece" != "check-harness $new/fixed/lab" ] && [ "$goal $piece" != "figure-data $new/bug-scratch_scale/lab" ] || continue
    says "$piece" $MAKE -n backend="$B" $goal
  done
done
sums > build/sums-after
check "files outside the new stage, its page and its bug's" cmp build/sums-before build/sums-after

echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 0 ]
