#!/bin/sh
# Installs the Debian packages of the named sets (build, tests, browser, clang, cross, wasm, bench) unless they are there already.
# One clear line and exit status 2 when that is impossible.
set -eu

packages=
sets="$*"
for set in "$@"; do
  case $set in
    build) packages="$packages g++ cmake ninja-build libhwy-dev libexpected-dev libcli11-dev libfmt-dev libtomlplusplus-dev
             nlohmann-json3-dev libboost1.81-dev libssl-dev libgtest-dev libmpfr-dev libsodium-dev libsqlite3-dev libpq-dev zlib1g-dev libopenblas0-pthread nodejs
             python3" ;;
    tests) packages="$packages postgresql-15 age" ;;  # a server that tests start for themselves; the tool that sealed files are exchanged with
    # The tests of the page drive chromium themselves; npm fetches axe-core, and may have come with another Node.
    browser) packages="$packages chromium"; command -v npm >/dev/null || packages="$packages npm" ;;
    clang) packages="$packages clang-19 clang-format-19 libclang-rt-19-dev" ;;
    cross) packages="$packages g++-aarch64-linux-gnu g++-riscv64-linux-gnu qemu-user" ;;
    # The judge for browsers, and a browser that opens its pages.
    wasm) packages="$packages clang-19 lld-19 wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 chromium" ;;
    bench) packages="$packages libopenblas-dev libdnnl-dev python3-torch python3-numpy" ;;
    *) echo "bootstrap: unknown package set '$set' (expected build, tests, browser, clang, cross, wasm or bench)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "bootstrap: this is not a Debian system; install what these Debian 12 packages hold:" $packages >&2
  exit 2
fi

missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done

# What the tests of the page take from npm; the lock file has its hash. Without it they leave out what it checks, and say so.
fetch_axe() {
  case " $sets " in *" browser "*) ;; *) return 0 ;; esac
  folder=$(dirname "$0")/../tests/web
  [ -f "$folder/package-lock.json" ] && [ ! -f "$folder/node_modules/axe-core/axe.min.js" ] || return 0
  (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null >/dev/null 2>&1) ||
    echo "bootstrap: npm could not fetch axe-core; the tests of the page will not check accessibility" >&2
}
if [ -z "$missing" ]; then
  fetch_axe
  exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
  else
    echo "bootstrap: not root and no sudo; have these packages installed:$missing" >&2
    exit 2
  fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install_all() { $as_root apt-get -qq install -y --no-install-recommends $missing </dev/null >"$log" 2>&1; }
echo "bootstrap: installing$missing"
# The package lists of a fresh machine may be absent or out of date: refresh them only if the first try fails.
if ! install_all; then
  $as_root apt-get -qq update </dev/null >"$log" 2>&1 || true
  if ! install_all; then
    echo "bootstrap: apt-get could not install$missing: $(grep -m1 '^E:' "$log" || tail -n1 "$log")" >&2
    exit 2
  fi
fi
fetch_axe
