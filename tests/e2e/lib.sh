# Shared by the end-to-end scripts: $assay is the binary, $work a directory that goes away at the end. A failed check prints what was
# expected and ends the script with status 1; status 77 tells CTest that the test does not apply to this machine.
set -u
assay=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-e2e.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
work=$scratch/work

# No test touches the user's own key: all sign with one that is made here.
export HOME=$scratch/home ASSAY_KEY=$scratch/home/key
unset XDG_CONFIG_HOME
mkdir "$work" "$HOME"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 77
}

# field KEY < JSON: the value of a top-level key of one line of JSON, without quotes.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\)\"\{0,1\}[,}].*/\1/p"; }

# renamed KEY.pub NAME: the same public key under another name.
renamed() {
  local data hash
  data=$(cut -d+ -f3- "$1")
  hash=$({ printf '%s\n' "$2" && echo "$data" | base64 -d; } | sha256sum | cut -c1-8)
  echo "$2+$hash+$data"
}

# train OUT [ARGS...]: trains quietly; prints the JSON line.
train() {
  local out=$1
  shift
  "$assay" train "$@" --out "$out" --json --quiet </dev/null 2>"$work/stderr" | tail -n1
  return "${PIPESTATUS[0]}"
}

# refuses PATTERN COMMAND...: the command must exit with status 2, say one line on standard error that matches the extended regular
# expression and starts with "assay: ", and nothing on standard output.
refuses() {
  local pattern=$1 status
  shift
  "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status -eq 2 ] || fail "$* exited with $status, expected 2; it said: $(cat "$work/err")"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$* said more or less than one line: $(cat "$work/err")"
  grep -q '^assay: ' "$work/err" || fail "$* said: $(cat "$work/err"); expected a line that starts with 'assay: '"
  grep -Eq -- "$pattern" "$work/err" || fail "$* said: $(cat "$work/err"); expected /$pattern/"
  [ ! -s "$work/out" ] || fail "$* wrote to standard output: $(cat "$work/out")"
}

# no_leftovers DIR: no temporary file anywhere below it.
no_leftovers() {
  local left
  left=$(find "$1" -name '.*.assay-tmp' 2>/dev/null)
  [ -z "$left" ] || fail "left behind: $left"
}

"$assay" keygen --out "$ASSAY_KEY" --name e2e >/dev/null || fail "keygen"
