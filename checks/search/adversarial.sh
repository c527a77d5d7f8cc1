#!/bin/sh
# adversarial.sh BACKEND, of make evolve check=1: the validator must refuse every adversarial candidate, by a guard that its patch
# predicts, and pass the kernel that they are made from.
set -u
stage=v1_scalar home=build/$1/v1_scalar patches=checks/search/adversarial names=honest good=0 bad=0
log=build/evolve-adversarial.log
put() { mkdir -p "$home/evolve-$1"; cat > "$home/evolve-$1/new"; cmp -s "$home/evolve-$1/new" "$home/evolve-$1/source.cu" || mv "$home/evolve-$1/new" "$home/evolve-$1/source.cu"; }
{ echo "#line 1 \"stages/$stage/kernel.cu\""; cat stages/$stage/kernel.cu; } | put honest
for patch in $patches/*.patch; do
  name=$(basename "$patch" .patch); names="$names $name"
  sh checks/scripts/patched.sh "$patch" | put "$name"
done
echo "building $(echo "$names" | wc -w) candidates"
$MAKE -s -k -j"$(nproc)" backend="$1" stage=$stage only="$names" evolve-labs > $log 2>&1 || { cat $log; echo "0 passed, 1 failed"; exit 1; }
for name in $names; do
  wanted=$(sed -n 's/^predicted: //p' $patches/"$name".patch 2> /dev/null | sed 's/ or /, /g')
  said=$(timeout --foreground --kill-after=5 60 "$RUNNER" "$home/evolve-$name/kernel.so" validate shape=1,2,96,64 2>&1); status=$?
  refused=$(echo "$said" | sed -n 's/^refused //p')
  ok=1 end=
  if [ "$name" = honest ]; then [ $status = 0 ] || ok=; else case ", $wanted, " in *", ${refused%%: *}, "*) [ "$refused" ] || ok= ;; *) ok= ;; esac; fi
  if [ $ok ]; then good=$((good + 1)); else bad=$((bad + 1)) end="; WANTED: ${wanted:-passes}"; fi
  printf '%-18s %s%s\n' "$name" "$(if [ "$refused" ]; then echo "refused, $refused"; elif [ $status = 0 ]; then echo passes; else echo "ends with status $status"; fi)" "$end"
done
echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 1 ]
