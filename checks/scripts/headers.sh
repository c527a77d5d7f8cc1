#!/bin/sh
# headers.sh STAGE...: how many headers of common/ a reader of its kernel.cu has to open, transitively; those that declare the arguments
# (attention.hpp, attention_backward.hpp, shape.hpp) do not count.
for stage; do
  [ -f "stages/$stage/kernel.cu" ] || { echo "headers.sh: there is no stages/$stage/kernel.cu" >&2; exit 2; }
  awk -v stage="$stage" '
    function follow(file, line, part, lines, n, i) {
      n = 0
      while ((getline line < file) > 0) if (line ~ /^#include "common\//) { split(line, part, "\""); lines[++n] = part[2] }
      close(file)
      for (i = 1; i <= n; i++) if (!(lines[i] in seen)) { seen[lines[i]]; if (lines[i] !~ /\/(attention|attention_backward|shape)\.hpp$/) { count++; names = names " " substr(lines[i], 8) } follow(lines[i]) }
    }
    BEGIN { follow("stages/" stage "/kernel.cu"); print stage, count + 0 ":" names }'
done
