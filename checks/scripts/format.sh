#!/bin/sh
# clang-format over every C++ and CUDA source, in place; with `check`, which files it would change, and `N passed, M failed`. Versions of
# clang-format disagree, so it is version 14 or nothing.
#   format.sh [check]
set -u
tool=
for t in clang-format-14 clang-format; do
  "$t" --version 2> /dev/null | grep -q 'version 14\.' && { tool=$t; break; }
done
[ -n "$tool" ] || { echo "format.sh needs clang-format 14 (the package clang-format-14)" >&2; exit 2; }
files=$(find checks common reference stages -path checks/tests/plain -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h' \) -print | sort)
[ "${1:-}" = check ] || { $tool -i $files; exit; }
passed=0; failed=0
for file in $files; do
  if $tool "$file" | cmp -s - "$file"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$file: format.sh would change it"; fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
