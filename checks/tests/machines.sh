#!/bin/sh
# The steps of .devcontainer/ and the cells of writeups/colab.ipynb, in fresh clones of this tree's HEAD, for a user without rights, in
# a root of its own: /usr, what programs need of /etc, and nothing of this tree but the clone's source. Where a root cannot be
# made it is a clean environment. Objects that this tree has built are put into each clone: what others build of it is tested elsewhere.
set -u
MAKE=${MAKE:-make}
export MAKEFLAGS= MFLAGS=
unset MAKELEVEL
$MAKE -s backend=cpu build/cpu/liblab.a build/cpu/libtest.a build/desk-work || exit 1
root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
mkdir -p "$root/home/template/hooks" "$root/home/built/cpu"
git clone -q --bare --depth 1 "file://$PWD" "$root/home/lab.git" || exit 1
cp checks/tests/notebook.py writeups/colab.ipynb .devcontainer/devcontainer.json "$root/home"
cp -a build/desk build/desk-work build/desk-objects "$root/home/built"
cp -a build/cpu/obj build/cpu/parsed build/cpu/flags build/cpu/libtest.a build/cpu/liblab.a "$root/home/built/cpu"
# git runs this in a new clone. What was built is younger than its sources.
cat > "$root/home/template/hooks/post-checkout" <<'END'
#!/bin/sh
git ls-files -z | xargs -0 touch -h -d 2020-01-01
cp -a "$HOME/built" build
END
cat > "$root/home/steps.sh" <<'END'
good=0
cd && git clone -q lab.git opened && cd opened || exit 1
step=$(python3 -c 'import json; print(json.load(open("../devcontainer.json"))["postCreateCommand"])')
if sh -c "$step" > ../step.log 2>&1 && grep -q "Laid out in work/01" ../step.log; then good=1; else echo "not so: $step"; tail -5 ../step.log; fi
echo "$good passed, $((1 - good)) failed"
cd && rm -rf opened && LAB_URL=$HOME/lab.git python3 notebook.py colab.ipynb .
END
chmod +x "$root/home/template/hooks/post-checkout"
clean="env -i GIT_TEMPLATE_DIR=/home/template LANG=C.UTF-8 PATH=$PATH JOBS=${JOBS:-2}"
if [ "$(id -u)" -eq 0 ] && unshare --mount --pid --net --fork true 2> /dev/null; then
  mkdir "$root/usr" "$root/etc" "$root/etc/alternatives" "$root/dev" "$root/proc" "$root/tmp"
  chmod 755 "$root"; chmod 1777 "$root/tmp"; chown -R 1000:1000 "$root/home"
  echo "learner:x:1000:1000::/home:/bin/sh" > "$root/etc/passwd"; cp /etc/ld.so.cache "$root/etc"
  for link in bin sbin lib lib32 lib64 libx32; do [ ! -L /$link ] || cp -a /$link "$root"; done
  unshare --mount --pid --net --fork sh -c 'for dir in usr dev etc/alternatives; do mount --rbind "/$dir" "$0/$dir" || exit 1; done
    mount -t proc none "$0/proc" && cd "$0" && exec "$@"' "$root" chroot --userspec=1000:1000 "$root" $clean HOME=/home sh /home/steps.sh
else
  echo "no root of its own can be made here: a clean environment instead" >&2
  $clean GIT_TEMPLATE_DIR="$root/home/template" HOME="$root/home" sh "$root/home/steps.sh"
fi > "$root/out" 2>&1
grep -v ' passed, .* failed$' "$root/out"
# The step's line and the notebook's, as one.
awk '/ passed, .* failed$/ { lines++; good += $1; bad += $3 } END { bad += 2 - lines; print good + 0 " passed, " bad " failed"; exit bad > 0 }' "$root/out"
