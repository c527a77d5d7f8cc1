#!/bin/sh
# compile_kernel.sh FRONTEND SOURCE OBJECT COMPILER...: a kernel for the CPU is preprocessed, rewritten by the front end, and compiled.
# COMPILER holds its flags, with what it writes of dependencies, and perhaps the -include of what stands instead of plain_cuda.h.
set -u
frontend=$1 source=$2 object=$3; shift 3
# Of two makes that build one kernel at a time each has files of its own.
expanded=${object%.o}.$$.ii rewritten=${object%.o}.$$.rewritten.ii
trap 'rm -f "$expanded" "$rewritten"' EXIT
skip= header=common/cpu/plain_cuda.h
for word; do
  shift
  case $skip$word in
    next*) skip= header=$word ;;
    -include) skip=next ;;
    *) set -- "$@" "$word" ;;
  esac
done
"$@" -E -x c++ -include "$header" "$source" -MT "$object" -o "$expanded" || exit
"$frontend" "$expanded" "$PWD" > "$rewritten" || exit
for word; do  # dependencies are written
  shift
  case $skip$word in next*) skip= ;; -MF) skip=next ;; -MMD | -MP) ;; *) set -- "$@" "$word" ;; esac
done
"$@" -fpreprocessed -w -x c++ -c "$rewritten" -o "$object"
