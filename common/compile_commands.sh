#!/bin/sh
# make compile_commands.json: how the CPU backend compiles each source, for clangd; GPU-only sources where CUDA is there.
#   compile_commands.sh FLAG...     CXX in the environment; the JSON goes to standard output
set -u
json() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
here=$(json "$PWD"); separator='['
entry() {  # entry FILE ARGUMENT...
  file=$1; shift
  printf '%s\n{"directory": "%s", "file": "%s", "arguments": [' "$separator" "$here" "$(json "$file")"
  for argument in "$@"; do printf '"%s", ' "$(json "$argument")"; done
  printf '"-c", "%s"]}' "$(json "$file")"; separator=,
}
for file in $(find checks common reference stages -name '*.cpp' ! -path '*/gpu/*' | sort); do entry "$file" "$CXX" "$@" -DLAB_STAGE=\"\" -DLAB_BUG=\"\"; done
for file in stages/*/kernel.cu; do entry "$file" "$CXX" -x c++ "$@"; done
if cuda=$(command -v nvcc); then
  cuda=$(dirname "$(dirname "$(readlink -f "$cuda")")")
  for file in $(find checks common -path '*/gpu/*.cpp' | sort); do entry "$file" "$CXX" -std=c++20 -I. -DLAB_GPU -isystem "$cuda/include"; done
  for file in $(find checks common -name '*.cu' | sort); do
    entry "$file" clang++ -x cuda --cuda-host-only -nocudalib "--cuda-path=$cuda" -std=c++20 -I.
  done
fi
printf '\n]\n'
