# Shared by the scripts that hold disputes between real processes: a short job, providers that are started and stopped, and what a dispute said. On top of
# e2e/lib.sh; $cheat is the program of the dishonest, $what names what is being tried.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
cheat=$2
what=$(basename "$0")
sed -e 's/^steps = .*/steps = 12/' -e 's/^every = .*/every = 2/' examples/mlp.toml >"$work/job.toml"
printf '[snapshot]\nevery = 4\n' >>"$work/job.toml"

# keys NAME...: a key for each, in $work/NAME.key.
keys() {
  local who
  for who in "$@"; do "$assay" keygen --out "$work/$who.key" --name "$who" >"$work/out" || fail "keygen"; done
}

servers=
stop() { [ -z "$servers" ] || kill $servers 2>/dev/null; wait 2>/dev/null; servers=; }
trap 'stop; rm -rf "$scratch"' EXIT
# start NAME PATTERN COMMAND...: starts a process, leaves its number in $pid, and what follows PATTERN on one of its lines in $said.
start() {
  local name=$1 pattern=$2 try
  shift 2
  : >"$work/$name.said"
  "$@" >"$work/$name.said" 2>"$work/$name.err" </dev/null &
  pid=$!
  servers="$servers $pid"
  for try in $(seq 400); do
    said=$(sed -n "s/^$pattern//p" "$work/$name.said")
    [ -n "$said" ] && return
    sleep 0.05
  done
  fail "$name does not say '$pattern': $(cat "$work/$name.err")"
}
# serve NAME COMMAND...: starts a provider and leaves its address in $url.
serve() {
  local name=$1
  shift
  start "$name" 'listening on ' "$@"
  url=$said
}

# Of the JSON that the last command left in $work/out.
last() { tail -n1 "$work/out"; }
expect() { [ "$(last | field "$1")" = "$2" ] || fail "$what: expected $1 $2: $(last) $(cat "$work/err")"; }
has() { last | grep -Eq "$1" || fail "$what: expected /$1/: $(last) $(cat "$work/err")"; }
has_not() { last | grep -Eq "$1" && fail "$what: did not expect /$1/: $(last)"; }

# disputes WHAT STATUS VERDICT ARGS...: exit status and verdict of a dispute.
disputes() {
  what=$1
  local status=$2 verdict=$3 got
  shift 3
  "$assay" dispute "$@" --patience "${patience:-20}" --json --quiet >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ $got -eq "$status" ] || fail "$what: exit status $got, expected $status: $(cat "$work/out" "$work/err")"
  [ "$(last | field verdict)" = "$verdict" ] || fail "$what: expected verdict $verdict: $(last)"
}
# judges WHAT STATUS ARGS...
judges() {
  what=$1
  local status=$2 got
  shift 2
  "$assay" judge "$@" --json >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ $got -eq "$status" ] || fail "$what: exit status $got, expected $status: $(cat "$work/out" "$work/err")"
}
# The words of the last verdict; "reason" is in it once.
reason_of() { last | sed -n 's/.*"reason":"\([^"]*\)",.*/\1/p'; }
trained() { "$assay" train "$1" --out "$2" --key "$3" --quiet >"$work/out" 2>&1 || fail "train $1: $(cat "$work/out")"; }
