#!/bin/sh
# Installs what the lab needs on Debian or Ubuntu, if anything is missing, then runs the command that follows.
#   sh common/setup.sh make stage=v2b test
#   sh common/setup.sh --arm64 make test-arm64     also the cross compiler and qemu-user
#   sh common/setup.sh --format make format-check  also clang-format-14
# It may install, with apt-get and from the distribution alone: make, g++ (12 or newer), binutils (addr2line),
# doctest-dev, libboost-context-dev, nlohmann-json3-dev. Where all of it is there, nothing is touched and no rights are needed.
set -u
GCCS="g++-14 g++-13 g++-12"  # the order of preference, where g++ itself is older than 12
arm64=; format=
while :; do
  case ${1:-} in --arm64) arm64=1 ;; --format) format=1 ;; *) break ;; esac
  shift
done

fail() { echo "setup: $*" >&2; exit 2; }
new_enough() { command -v "$1" > /dev/null 2>&1 && [ "$("$1" -dumpversion | cut -d. -f1)" -ge 12 ] 2> /dev/null; }
has_compiler() { for c in g++ $GCCS; do new_enough $c && return 0; done; return 1; }
# LAB_INCLUDE: where the test of this script puts headers.
has_header() { for dir in ${LAB_INCLUDE:-/usr/include /usr/local/include}; do [ -f "$dir/$1" ] && return 0; done; return 1; }
# apt-get and `apt-cache show` read an unknown name that holds a + or a . as a regular expression and match other packages;
# pkgnames lists names by their beginning.
exists() { apt-cache pkgnames "$1" 2> /dev/null | grep -qxF -- "$1"; }
install() { $sudo apt-get install -y -qq --no-install-recommends "$@" > /dev/null; }

look() {
  missing=
  command -v make > /dev/null 2>&1 || missing="$missing make"
  command -v addr2line > /dev/null 2>&1 || missing="$missing binutils"
  has_header doctest/doctest.h || missing="$missing doctest-dev"
  has_header nlohmann/json.hpp || missing="$missing nlohmann-json3-dev"
  has_header boost/context/detail/fcontext.hpp || missing="$missing libboost-context-dev"
  has_compiler || missing="$missing g++"
  [ -z "$format" ] || command -v clang-format-14 > /dev/null 2>&1 || missing="$missing clang-format-14"
  [ -n "$arm64" ] || return 0
  command -v aarch64-linux-gnu-g++ > /dev/null 2>&1 || missing="$missing g++-aarch64-linux-gnu"
  command -v qemu-aarch64 > /dev/null 2>&1 || command -v qemu-aarch64-static > /dev/null 2>&1 || missing="$missing qemu-user"
}

look
if [ -n "$missing" ]; then
  command -v apt-get > /dev/null 2>&1 || fail "needs$missing, and this machine has no apt-get; install them by hand"
  sudo=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null 2>&1 || fail "needs$missing; run it as root, or install them by hand"
    sudo="sudo env DEBIAN_FRONTEND=noninteractive"  # which sudo does not pass on
  fi
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq || fail "apt-get update failed"
  unknown=; for package in $missing; do exists $package || unknown="$unknown $package"; done
  [ -z "$unknown" ] || fail "this distribution has no package$unknown; nothing was installed"
  echo "setup: installing$missing"
  install $missing || fail "apt-get could not install$missing"
  if ! has_compiler; then  # Ubuntu 22.04's g++ is 11; newer versions are packages of their own
    for c in $GCCS; do
      exists $c || continue
      echo "setup: g++ is older than 12; installing $c"
      install $c && break
    done
  fi
  has_compiler || fail "no g++ of version 12 or newer can be installed here: tried g++ $GCCS"
  look
  [ -z "$missing" ] || fail "apt-get ran, but these are still missing:$missing"
fi

cd "$(dirname "$0")/.." || exit 2
[ $# -eq 0 ] || exec "$@"
