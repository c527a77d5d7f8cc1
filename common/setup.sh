#!/bin/sh
# Installs what the lab needs on Debian or Ubuntu, if anything is missing, then runs the command that follows.
#   sh common/setup.sh make stage=v2b test
# It may install, with apt-get and from the distribution alone: make, g++ (12 or newer), binutils (addr2line), patch,
# doctest-dev, libboost-context-dev. Where all of it is there, nothing is touched and no rights are needed.
set -u
fail() { echo "setup: $*" >&2; exit 2; }
has_compiler() {
  for c in g++ g++-14 g++-13 g++-12; do [ "$($c -dumpversion 2> /dev/null | cut -d. -f1)" -ge 12 ] 2> /dev/null && return; done
  return 1
}
has_header() { [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]; }
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
  sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
  # Another apt-get may be at work, as on a machine that has just started: it is waited for.
  apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" > /dev/null; }
  echo "setup: installing$missing"
  apt update -qq && apt install -y -qq --no-install-recommends $missing || fail "apt-get could not install$missing"
  has_compiler || apt install -y -qq --no-install-recommends g++-12  # Ubuntu 22.04's g++ is 11
  look
  [ -z "$missing" ] || fail "apt-get ran, but these are still missing:$missing (g++ must be 12 or newer)"
fi

cd "$(dirname "$0")/.." || exit 2
[ $# -eq 0 ] || exec "$@"
