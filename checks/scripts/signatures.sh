#!/bin/sh
# signatures.sh FILE...: the signatures of a stage's bugs as one text, each file in a namespace of its own, and its look() exported as
# look_BUG: what they include comes first.
cat /dev/null "$@" | grep '^#include' | sort -u
for file; do
  name=$(basename "$file" .cpp)
  printf 'namespace bug_%s {\n#include "%s"\n}\n' "$name" "$file"
  printf 'extern "C" [[gnu::visibility("default")]] std::vector<lab::Part> look_%s() { return bug_%s::look(); }\n' "$name" "$name"
done
