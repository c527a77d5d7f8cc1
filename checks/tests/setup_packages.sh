#!/bin/sh
# common/setup.sh against made-up distributions: which packages it asks apt-get for, and what it says where one is missing.
# The apt-get and apt-cache here behave as the real ones: an unknown name with a + or a . is a regular expression.
set -u
good=0; bad=0
real=$(pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/tools"
for tool in sh cut grep dirname sed cat touch mkdir chmod make env; do ln -s "$(command -v $tool)" "$work/tools/$tool"; done
tool() { cat > "$work/tools/$1"; chmod +x "$work/tools/$1"; }
tool id <<'END'
#!/bin/sh
echo "${LAB_UID:-0}"
END
# As the real one, it passes no variables on.
tool sudo <<'END'
#!/bin/sh
unset DEBIAN_FRONTEND
echo sudo >> "$LAB_FAKE/by-sudo"
exec "$@"
END
# $LAB_FAKE/known: "PACKAGE" or "PACKAGE VERSION", a line each. $LAB_FAKE/asked: what was installed.
tool apt-cache <<'END'
#!/bin/sh
case $1 in
  pkgnames) sed 's/ .*//' "$LAB_FAKE/known" | grep "^$(echo "$2" | sed 's/[+.]/[&]/g')" ;;
  *) sed 's/ .*//' "$LAB_FAKE/known" | grep -E -- "$2" ;;
esac
exit 0
END
tool apt-get <<'END'
#!/bin/sh
[ "$1 $2" = "-o DPkg::Lock::Timeout=300" ] || { echo "apt-get would not wait for another" >&2; exit 1; }
shift 2
[ "$1" != update ] || exit 0
[ "${DEBIAN_FRONTEND:-}" = noninteractive ] || { echo "apt-get asks a question" >&2; exit 1; }
for word; do
  case $word in install | -*) continue ;; esac
  found=$(grep -E "^$(echo "$word" | sed 's/[+.]/[&]/g')( |\$)" "$LAB_FAKE/known")
  [ -n "$found" ] || found=$(grep -E -- "$word" "$LAB_FAKE/known")
  [ -n "$found" ] || { echo "E: Unable to locate package $word" >&2; exit 100; }
  echo "$found" | while read -r name version; do
    echo "$name" >> "$LAB_FAKE/asked"
    case $name in
      g++*) printf '#!/bin/sh\necho %s\n' "$version" > "$LAB_FAKE/bin/$name"; chmod +x "$LAB_FAKE/bin/$name" ;;
      binutils) printf '#!/bin/sh\n' > "$LAB_FAKE/bin/addr2line"; chmod +x "$LAB_FAKE/bin/addr2line" ;;
      patch) printf '#!/bin/sh\n' > "$LAB_FAKE/bin/patch"; chmod +x "$LAB_FAKE/bin/patch" ;;
      doctest-dev) mkdir -p "$LAB_INCLUDE/doctest"; touch "$LAB_INCLUDE/doctest/doctest.h" ;;
      libboost-context-dev) mkdir -p "$LAB_INCLUDE/boost/context/detail"; touch "$LAB_INCLUDE/boost/context/detail/fcontext.hpp" ;;
    esac
  done
done
END
LIBRARIES="binutils
patch
doctest-dev
libboost-context-dev
clang-14
clang-14-doc
python3-clang-14
libg++-12-dev"

# distribution NAME STATUS ASKED PIECE LINE...: from nothing installed, with these packages beside LIBRARIES.
distribution() {
  name=$1; status=$2; asked=$3; piece=$4; shift 4
  LAB_FAKE=$work/fake; LAB_INCLUDE=$work/fake/include; export LAB_FAKE LAB_INCLUDE
  rm -rf "$LAB_FAKE"; mkdir -p "$LAB_FAKE/bin" "$LAB_INCLUDE"; : > "$LAB_FAKE/asked"
  { echo "$LIBRARIES"; for line; do echo "$line"; done; } > "$LAB_FAKE/known"
  PATH=$LAB_FAKE/bin:$work/tools "$work/tools/sh" "$real/common/setup.sh" > "$work/out" 2>&1; got=$?
  have=$(echo $(cat "$LAB_FAKE/asked"))
  if [ $got -eq "$status" ] && [ "$have" = "$asked" ] && grep -qF -- "$piece" "$work/out"; then good=$((good + 1)); else
    bad=$((bad + 1)); echo "$name: exit $got ($status wanted), installed '$have' ('$asked' wanted), '$piece' wanted in:"; sed 's/^/    /' "$work/out"
  fi
}
all="binutils patch doctest-dev libboost-context-dev g++"
distribution "Debian 12" 0 "$all" "setup: installing" "g++ 12.2.0" "g++-11 11.3.0" "g++-12 12.2.0"
distribution "Debian 13" 0 "$all" "setup: installing" "g++ 14.2.0" "g++-13 13.3.0" "g++-14 14.2.0"
distribution "Ubuntu 24.04" 0 "$all" "setup: installing" "g++ 13.2.0" "g++-12 12.3.0" "g++-13 13.2.0" "g++-14 14.0.1"
distribution "Ubuntu 22.04" 0 "$all g++-12" "g++ is older than 12; installing g++-12" "g++ 11.2.0" "g++-11 11.2.0" "g++-12 12.1.0"
distribution "Debian 11" 2 "$all" "no g++ of version 12 or newer can be installed here" "g++ 10.2.1" "g++-9 9.3.0" "g++-10 10.2.1"
LAB_UID=1000; export LAB_UID
distribution "Debian 13 for a user with sudo" 0 "$all" "setup: installing" "g++ 14.2.0"
if [ -s "$LAB_FAKE/by-sudo" ]; then good=$((good + 1)); else bad=$((bad + 1)); echo "a user without rights installs without sudo"; fi
LAB_UID=0
LIBRARIES=$(echo "$LIBRARIES" | grep -v boost)
distribution "no libboost-context-dev" 2 "" "this distribution has no package libboost-context-dev; nothing was installed" "g++ 14.2.0"

echo "$good passed, $bad failed"
[ $bad -eq 0 ] && [ $good -gt 0 ]
