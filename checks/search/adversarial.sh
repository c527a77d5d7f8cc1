#!/bin/sh
# adversarial.sh BACKEND, of make evolve check=1: the validator must refuse every cheat of adversarial.cu, by a guard that stands there, and
# pass the kernel that they are made from.
set -u
source=checks/search/adversarial.cu home=build/$1/v1_scalar log=build/evolve-adversarial.log good=0 bad=0
names="honest $(sed -n 's/.*CHOSEN == "\([a-z_0-9]*\)".*/\1/p' $source)"
for name in $names; do
  mkdir -p "$home/evolve-$name"; new=$home/evolve-$name/new
  { echo "#define CHEAT \"$name\""; echo "#line 1 \"$source\""; cat $source; } > "$new"
  cmp -s "$new" "$home/evolve-$name/source.cu" || mv "$new" "$home/evolve-$name/source.cu"
done
echo "building $(echo "$names" | wc -w) candidates"
$MAKE -s -k -j"$(nproc)" backend="$1" stage=v1_scalar only="$(echo $names)" evolve-labs > $log 2>&1 || { cat $log; echo "0 passed, 1 failed"; exit 1; }
for name in $names; do
  wanted=$(sed -n "s/.*CHOSEN == \"$name\".*refused: //p" $source)
  said=$(timeout --foreground --kill-after=5 60 "$RUNNER" "$home/evolve-$name/kernel.so" validate shape=1,2,96,64 2>&1); status=$?
  refused=$(echo "$said" | sed -n 's/^refused //p') ok=1 end=
  if [ "$name" = honest ]; then [ $status = 0 ] || ok=; else case ", $wanted, " in *", ${refused%%: *}, "*) [ "$refused" ] || ok= ;; *) ok= ;; esac; fi
  if [ $ok ]; then good=$((good + 1)); else bad=$((bad + 1)) end="; WANTED: ${wanted:-passes}"; fi
  printf '%-18s %s%s\n' "$name" "$(if [ "$refused" ]; then echo "refused, $refused"; elif [ $status = 0 ]; then echo passes; else echo "ends with status $status"; fi)" "$end"
done
echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 1 ]
