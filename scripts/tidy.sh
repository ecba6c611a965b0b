#!/bin/sh
# clang-tidy on the .cc files that differ from a revision (default: origin/main or main, else the last commit), or on the files named.
# Usage: tidy.sh [--since REVISION] [FILE...]
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy-19 >/dev/null || { echo "tidy: clang-tidy-19 is not installed (Debian package clang-tidy-19)" >&2; exit 2; }

since=
if [ "${1:-}" = --since ]; then
  since=$2
  shift 2
fi
if [ $# -eq 0 ]; then
  [ -n "$since" ] || since=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD~1)
  set -- $(git diff --name-only --diff-filter=d "$since" -- 'src/*.cc' 'tests/*.cc' 'bench/*.cc')
fi
[ $# -gt 0 ] || { echo "tidy: nothing changed"; exit 0; }
[ -f build/clang/compile_commands.json ] || cmake --preset clang --log-level=WARNING >/dev/null
exec clang-tidy-19 --quiet -p build/clang "$@"
