#!/bin/sh
# compile_kernel.sh FRONTEND SOURCE OBJECT COMPILER...: a kernel for the CPU. Plain CUDA is preprocessed, rewritten by the front end, and
# compiled. COMPILER holds its flags, with what it writes of dependencies.
set -u
frontend=$1 source=$2 object=$3; shift 3
grep -q '<<<' "$source" || exec "$@" -x c++ -c "$source" -o "$object"
expanded=${object%.o}.ii rewritten=${object%.o}.rewritten.ii
trap 'rm -f "$expanded" "$rewritten"' EXIT
skip= before=
for word; do
  shift
  case $skip$word in
    next*) skip= ;;
    -include) skip=next before='-include checks/exercises/kernel_printf.hpp' ;;
    -fpch-preprocess) ;;
    *) set -- "$@" "$word" ;;
  esac
done
"$@" -E -x c++ $before -include common/cpu/plain_cuda.h "$source" -MT "$object" -o "$expanded" || exit
"$frontend" "$expanded" "$PWD" > "$rewritten" || exit
for word; do  # dependencies are written
  shift
  case $skip$word in next*) skip= ;; -MF) skip=next ;; -MMD | -MP) ;; *) set -- "$@" "$word" ;; esac
done
"$@" -fpreprocessed -w -x c++ -c "$rewritten" -o "$object"
