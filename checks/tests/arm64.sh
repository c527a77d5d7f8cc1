#!/bin/sh
# make test-arm64: the CPU backend for arm64 Linux, cross-built by Debian's aarch64 g++ and run under qemu-user: the unit tests
# (the checker's among them), the cheapest cases of one stage's acceptance, and one fingerprint. Prints `N passed, M failed` last.
#   arm64.sh prepare              looks for the tools, and fetches Boost.Context for arm64 into build/arm64/sysroot
#   arm64.sh run UNIT FIXED CHECKED BUGGY     the binaries; FIXED's acceptance, and the bug of BUGGY's directory
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

emulator() { command -v qemu-aarch64 || command -v qemu-aarch64-static; }

# Its addr2line must read arm64: the kernels' source lines in reports come from it.
run() {
  qemu=$(emulator) || die "needs qemu-aarch64 (qemu-user)"
  mkdir -p "$here/bin" build/logs; ln -sf "$(command -v aarch64-linux-gnu-addr2line)" "$here/bin/addr2line"
  PATH=$here/bin:$PATH; export PATH
  unit=$1; fixed=$2; checked=$3; buggy=$4; bug=$(basename "$(dirname "$buggy")"); bug=${bug#bug-}
  passed=0; failed=0
  piece "unit tests" timeout 300 "$qemu" "$unit"
  piece "acceptance, $cases cheapest cases" timeout 300 "$qemu" "$fixed" test cheapest=$cases
  piece "fingerprint of $bug" fingerprint
  echo "$passed passed, $failed failed"
  [ $failed -eq 0 ] && [ $passed -gt 0 ]
}

fingerprint() {  # shown where it is planted, and gone where it is not
  timeout 120 "$qemu" "$buggy" fingerprint "$bug" && timeout 120 "$qemu" "$checked" fingerprint "$bug" && echo "1 passed, 0 failed"
}

# piece NAME COMMAND...: adds up the counts of its last line `N passed, M failed`; without one, it failed.
piece() {
  name=$1; shift
  log=build/logs/arm64-$(printf '%s' "$name" | tr ' ,' '--').log; before=$(date +%s)
  "$@" > "$log" 2>&1; status=$?
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
  p=${counts%% *}; f=$(printf '%s' "$counts" | sed 's/.*passed, \([0-9]*\) failed/\1/')
  : "${p:=0}" "${f:=0}"
  [ $status -eq 0 ] && [ -n "$counts" ] || [ "$f" -gt 0 ] || f=1
  passed=$((passed + p)); failed=$((failed + f))
  printf 'arm64: %-34s %4d passed %3d failed %5d s\n' "$name" "$p" "$f" $(($(date +%s) - before))
  [ "$f" -eq 0 ] || { echo "    $log ends:"; tail -15 "$log" | sed 's/^/    /'; }
}

case ${1:-} in
  prepare) prepare ;;
  run) shift; run "$@" ;;
  *) die "usage: arm64.sh prepare | run UNIT FIXED CHECKED BUGGY" ;;
esac
