#!/bin/sh
# Whether every patch of the stages applies: part of make test. With fix, those whose lines have moved are written anew.
#   patches.sh [fix]
set -u
passed=0; failed=0; work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for patch in stages/*/bugs/*.patch stages/*/exercises/*.patch; do
  source=$(sed -n 's,^--- a/,,p' "$patch" | head -1)
  case $patch in "${source%/kernel.cu}"/*) ;; *) failed=$((failed + 1)); echo "$patch is a diff of $source, which is not this stage's"; continue ;; esac
  if ! sh checks/scripts/patched.sh "$patch" > "$work/lines"; then failed=$((failed + 1)); continue; fi
  grep -v '^#line ' "$work/lines" > "$work/new.cu"
  if diff -u --label "a/$source" --label "b/$source" "$source" "$work/new.cu" > "$work/diff"; then failed=$((failed + 1)); echo "$patch changes nothing"; continue; fi
  passed=$((passed + 1))
  sed -n '/^--- a\//,$p' "$patch" | cmp -s - "$work/diff" && continue
  if [ "${1:-}" = fix ]; then
    { sed '/^--- a\//,$d' "$patch"; cat "$work/diff"; } > "$work/patch"; cp "$work/patch" "$patch"; echo "$patch: its line numbers are renewed"
  else
    echo "$patch: applies, but its lines have moved; sh checks/scripts/patches.sh fix renews them"
  fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
