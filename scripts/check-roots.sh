#!/bin/bash
# Runs the short trainings of tests/golden/trainings.txt with a given binary and compares their final state roots.
#
# Usage: check-roots.sh [--quick] [--write] [--device NAME] [--simd NAME] [--threads N] [--emulator COMMAND] BINARY
# --quick takes only the lines marked quick; --write replaces the roots in the file by those of this binary.
# A line is: JOB STEPS ROOT [quick], where JOB may be FILE@PRECISION, the job in that precision; the lines are independent of processor, compiler, instruction set and threads.
set -u
cd "$(dirname "$0")/.."
golden=tests/golden/trainings.txt
quick= write= emulator= options=()
while [ $# -gt 1 ]; do
  case $1 in
    --quick) quick=1; shift ;;
    --write) write=1; shift ;;
    --simd | --threads | --device) options+=("$1" "$2"); shift 2 ;;
    --emulator) emulator=$2; shift 2 ;;
    *) echo "check-roots: unknown option $1" >&2; exit 2 ;;
  esac
done
binary=${1:?usage: check-roots.sh [options] BINARY}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The key that signs these runs goes with them.
unset ASSAY_KEY XDG_CONFIG_HOME
export HOME=$work

failed=0 count=0
while read -r job steps expected mark; do
  case $job in '' | '#'*) echo "$job${steps:+ $steps}${expected:+ $expected}${mark:+ $mark}" >>"$work/new"; continue ;; esac
  if [ -n "$quick" ] && [ "$mark" != quick ]; then continue; fi
  rm -rf "$work/run"
  began=$SECONDS
  file=$job
  case $job in *@*)
    file=$work/job.toml
    { echo "precision = \"${job#*@}\"" && cat "${job%@*}"; } >"$file" ;;
  esac
  root=$($emulator "$binary" train "$file" --out "$work/run" --steps "$steps" --json "${options[@]}" </dev/null 2>"$work/err" |
    tail -n1 | sed -n 's/.*"state_root": *"\([0-9a-f]\{64\}\)".*/\1/p')
  echo "$job $steps ${root:-?}${mark:+ $mark}" >>"$work/new"
  count=$((count + 1))
  if [ -n "$root" ] && { [ "$root" = "$expected" ] || [ -n "$write" ]; }; then
    echo "ok   $job, $steps steps: $root ($((SECONDS - began)) s)"
  else
    echo "FAIL $job, $steps steps: expected $expected, got ${root:-no root: $(tail -n1 "$work/err")}"
    failed=1
  fi
done <"$golden"
[ -z "$write" ] || [ $failed -ne 0 ] || cp "$work/new" "$golden"
if [ "$count" -eq 0 ]; then
  echo "check-roots: $golden has no training to run" >&2
  exit 1
fi
exit $failed
