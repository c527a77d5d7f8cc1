#!/bin/sh
# Installs what the lab needs on Debian or Ubuntu, if anything is missing, then runs the command that follows.
#   sh common/setup.sh make stage=v2b test
# It may install, with apt-get and from the distribution alone: make, g++ (12 or newer), binutils (addr2line), patch,
# doctest-dev, libboost-context-dev. Where all of it is there, nothing is touched and no rights are needed.
set -u
GCCS="g++-14 g++-13 g++-12"  # the order of preference, where g++ itself is older than 12

fail() { echo "setup: $*" >&2; exit 2; }
new_enough() { command -v "$1" > /dev/null 2>&1 && [ "$("$1" -dumpversion | cut -d. -f1)" -ge 12 ] 2> /dev/null; }
has_compiler() { for c in g++ $GCCS; do new_enough $c && return 0; done; return 1; }
# LAB_INCLUDE: where the test of this script puts headers.
has_header() { for dir in ${LAB_INCLUDE:-/usr/include /usr/local/include}; do [ -f "$dir/$1" ] && return 0; done; return 1; }
# apt-get and `apt-cache show` read an unknown name that holds a + or a . as a regular expression and match other packages;
# pkgnames lists names by their beginning.
exists() { apt-cache pkgnames "$1" 2> /dev/null | grep -qxF -- "$1"; }
# Another apt-get may be at work, as on a machine that has just started: it is waited for.
LOCK="-o DPkg::Lock::Timeout=300"
install() { $sudo apt-get $LOCK install -y -qq --no-install-recommends "$@" > /dev/null; }

look() {
  missing=
  command -v make > /dev/null 2>&1 || missing="$missing make"
  command -v addr2line > /dev/null 2>&1 || missing="$missing binutils"
  command -v patch > /dev/null 2>&1 || missing="$missing patch"
  has_header doctest/doctest.h || missing="$missing doctest-dev"
  has_header boost/context/detail/fcontext.hpp || missing="$missing libboost-context-dev"
  has_compiler || missing="$missing g++"
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
  $sudo apt-get $LOCK update -qq || fail "apt-get update failed"
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
