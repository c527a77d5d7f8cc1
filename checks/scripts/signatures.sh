#!/bin/sh
# signatures.sh FILE...: the signatures of a stage's bugs as one text, each file in a namespace of its own, and its look() registered:
# what they include comes first.
cat /dev/null "$@" | grep '^#include' | sort -u
for file; do
  name=$(basename "$file" .cpp)
  printf 'namespace bug_%s {\n#include "%s"\nconst lab::RegisteredSignature registered("%s", look);\n}\n' "$name" "$file" "$name"
done
