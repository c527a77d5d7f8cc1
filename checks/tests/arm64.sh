#!/bin/sh
# make test-arm64: the CPU backend for arm64 Linux, cross-built by Debian's aarch64 g++ and run under qemu-user: the unit tests of
# what executes kernels and of the checker that watches them, the cheapest cases of one stage's acceptance, and one fingerprint.
# Prints `N passed, M failed` last.
#   arm64.sh prepare              looks for the tools, and fetches Boost.Context for arm64 into build/arm64/sysroot
#   [check=quick] arm64.sh run UNIT FIXED CHECKED BUGGY LEFT...     the binaries: FIXED's acceptance, the bug of BUGGY's directory; UNIT is
#                                            without the test files LEFT
# `sh common/setup.sh --arm64` installs the tools. Boost's package is unpacked from a package list of its own, so that neither
# dpkg's architectures nor anything outside build/ changes, and no rights are needed. What cannot be had: one line, exit status 2.
set -u
here=$PWD/build/arm64
cases=24  # every ragged length up to 64, D = 64 and 128, causal or not; all 70 would take a quarter of an hour

die() { echo "test-arm64: $*" >&2; exit 2; }

prepare() {
  case $(uname -m) in aarch64|arm64) die "this machine is arm64: make test is the test" ;; esac
  for tool in aarch64-linux-gnu-g++ aarch64-linux-gnu-addr2line; do
    command -v $tool > /dev/null 2>&1 || die "needs $tool; sh common/setup.sh --arm64 installs it"
  done
  emulator > /dev/null || die "needs qemu-aarch64 (qemu-user); sh common/setup.sh --arm64 installs it"
  # The headers are the host's, so the library must be of the same version.
  version=$(sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"/\1/p' /usr/include/boost/version.hpp 2> /dev/null | tr _ .)
  [ -n "$version" ] || die "needs Boost.Context; sh common/setup.sh installs it"
  library=$here/sysroot/usr/lib/aarch64-linux-gnu/libboost_context.a
  [ -f "$library" ] && [ "$(cat "$here/apt/version" 2> /dev/null)" = "$version" ] && return
  command -v apt-get > /dev/null 2>&1 || die "needs apt-get for libboost-context$version-dev:arm64, and this machine has none"
  rm -rf "$here/apt" "$here/sysroot"; mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial"; : > "$here/apt/status"
  cat > "$here/apt/apt.conf" << EOF
APT { Architecture "arm64"; Architectures { "arm64"; }; Sandbox::User "root"; };
Dir::State::status "$here/apt/status";
Dir::State::lists "$here/apt/lists";
Dir::Cache "$here/apt";
Acquire::Retries "2";
Acquire::http::Timeout "30";
EOF
  (export APT_CONFIG="$here/apt/apt.conf"; cd "$here/apt" && apt-get update && apt-get download "libboost-context$version-dev" &&
    dpkg-deb -x libboost-context*.deb "$here/sysroot") > "$here/apt/log" 2>&1
  [ -f "$library" ] || die "libboost-context$version-dev for arm64 cannot be fetched with apt-get: $(tail -1 "$here/apt/log")"
  printf '%s\n' "$version" > "$here/apt/version"
}

# qemu-user stands still now and then where an emulated process with threads starts another program (addr2line): no processor
# time, for ever. Such a run is ended and made once more; one that is red is red.
patient() {
  timeout 420 "$@"; status=$?
  [ $status = 124 ] || return $status
  echo "it stood still and was ended; once more"
  timeout 420 "$@"
}

emulator() { command -v qemu-aarch64 || command -v qemu-aarch64-static; }

# Its addr2line must read arm64: the kernels' source lines in reports come from it.
run() {
  qemu=$(emulator) || die "needs qemu-aarch64 (qemu-user)"
  mkdir -p "$here/bin"; ln -sf "$(command -v aarch64-linux-gnu-addr2line)" "$here/bin/addr2line"
  PATH=$here/bin:$PATH; export PATH
  unit=$1; fixed=$2; checked=$3; buggy=$4; shift 4; bug=$(basename "$(dirname "$buggy")"); bug=${bug#bug-}
  # Only kernels and what runs them differ by machine. The files that were left out of $unit run no kernel.
  total=$(cat checks/tests/test_*.cpp | grep -c 'TEST_CASE'); left=$(cat "$@" | grep -c 'TEST_CASE')
  [ "$left" -gt 0 ] && [ "$left" -lt "$total" ] || die "of $total test cases, $left are said to be the host's"
  echo "arm64 unit tests: $((total - left)) of $total test cases of the sources, a template counted once; left to make test: $(for f in "$@"; do basename "$f" .cpp; done | tr '\n' ' ')"
  range=
  if [ "${check:-}" = quick ]; then
    cases_here=$($qemu $unit --count | sed -n 's/.*: //p'); middle=$((cases_here / 2)); half=$(sh checks/tests/in_turn.sh 1 first second)
    if [ $half = first ]; then range=-l=$middle; else range=-f=$((middle + 1)); fi
    echo "check=quick: of these the $half half (doctest's $range of $cases_here); the other half has its turn tomorrow"
  fi
  build/desk-work pieces << EOF
arm64 unit tests: sh checks/tests/arm64.sh patient $qemu $unit $range
arm64 acceptance, $cases cheapest cases: $qemu $fixed test cheapest=$cases
arm64 $bug is shown: $qemu $buggy fingerprint $bug
arm64 $bug is gone: $qemu $checked fingerprint $bug
EOF
}

case ${1:-} in
  prepare) prepare ;;
  run) shift; run "$@" ;;
  patient) shift; patient "$@" ;;
  *) die "usage: arm64.sh prepare | run UNIT FIXED CHECKED BUGGY LEFT..." ;;
esac
