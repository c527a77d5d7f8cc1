#!/bin/sh
# Installs what the lab needs on Debian or Ubuntu, if anything is missing, then runs the command that follows.
#   sh common/setup.sh make stage=v2b test
#   sh common/setup.sh --arm64 make test-arm64     beside that: the cross compiler and qemu-user
#   sh common/setup.sh --format make format-check  beside that: clang-format-14
# What it may install, with apt-get and from the distribution alone: make, g++ (12 or newer), binutils (addr2line),
# doctest-dev, libboost-context-dev, nlohmann-json3-dev. Where all of it is there, nothing is touched and no rights are needed.
set -u
arm64=; format=
while :; do
  case ${1:-} in --arm64) arm64=1 ;; --format) format=1 ;; *) break ;; esac
  shift
done

new_enough() { command -v "$1" > /dev/null 2>&1 && [ "$("$1" -dumpversion | cut -d. -f1)" -ge 12 ] 2> /dev/null; }
has_compiler() { for c in g++ g++-14 g++-13 g++-12; do new_enough $c && return 0; done; return 1; }
has_header() { [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]; }

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
  command -v apt-get > /dev/null 2>&1 || { echo "setup: needs$missing, and this machine has no apt-get; install them by hand" >&2; exit 2; }
  sudo=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null 2>&1 || { echo "setup: needs$missing; run it as root, or install them by hand" >&2; exit 2; }
    sudo=sudo
  fi
  echo "setup: installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq || { echo "setup: apt-get update failed" >&2; exit 2; }
  $sudo apt-get install -y -qq --no-install-recommends $missing > /dev/null || { echo "setup: apt-get could not install$missing" >&2; exit 2; }
  if ! has_compiler; then  # Ubuntu 22.04's g++ is 11; a newer one has a name of its own
    for c in g++-14 g++-13 g++-12; do
      $sudo apt-get install -y -qq --no-install-recommends $c > /dev/null 2>&1 && break
    done
  fi
  has_compiler || { echo "setup: no g++ of version 12 or newer can be installed here" >&2; exit 2; }
  look
  [ -z "$missing" ] || { echo "setup: apt-get ran, but these are still missing:$missing" >&2; exit 2; }
fi

cd "$(dirname "$0")/.." || exit 2
[ $# -eq 0 ] || exec "$@"
