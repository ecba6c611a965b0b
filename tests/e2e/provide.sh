# assay provide: a finished run's documents over HTTP, answers under the run's key alone, a clean end on SIGINT and SIGTERM.
. "$(dirname "$0")/lib.sh"
run=$work/run
train "$run" examples/mlp.toml --steps 6 >/dev/null || fail "$(cat "$work/stderr")"

# start [ARGS...]: sets pid, host and port.
start() {
  : >"$work/provider"  # or what the last one said is taken for this one's
  set -m
  "$assay" provide "$run" --listen "${listen:-127.0.0.1:0}" "$@" >"$work/provider" 2>"$work/stderr" </dev/null &
  pid=$!
  set +m
  for wait in $(seq 1 500); do
    grep -q . "$work/provider" && break
    kill -0 $pid 2>/dev/null || fail "provide ended: $(cat "$work/stderr")"
    sleep 0.02
  done
  [ "$(wc -l <"$work/provider")" -eq 1 ] || fail "provide said: $(cat "$work/provider")"
  host=127.0.0.1 port=$(sed -n 's|^listening on http://127\.0\.0\.1:\([0-9]*\)$|\1|p' "$work/provider")
  [ -n "$port" ] || fail "provide said: $(cat "$work/provider")"
}
# request METHOD PATH BODYFILE: prints the status; the body is in $work/body.
request() {
  exec 3<>"/dev/tcp/$host/$port" || fail "cannot connect"
  printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %s\r\n\r\n' "$1" "$2" "$(wc -c <"$3")" >&3
  cat "$3" >&3
  cat <&3 >"$work/response"
  exec 3>&-
  sed '1,/^\r$/d' "$work/response" >"$work/body"
  sed -n '1s|^HTTP/1.1 \([0-9]*\).*|\1|p' "$work/response"
}
: >"$work/empty"

start
for pair in receipt:receipt.json job:job.bin program:program.bin; do
  [ "$(request GET /v1/${pair%:*} "$work/empty")" = 200 ] || fail "${pair%:*}: $(head -n1 "$work/response")"
  cmp "$work/body" "$run/${pair#*:}" || fail "/v1/${pair%:*} is not ${pair#*:}"
done
[ "$(request GET /v1/receipts "$work/empty")" = 404 ] || fail "an unknown path: $(head -n1 "$work/response")"
[ "$(request GET /v1/../id "$work/empty")" = 404 ] || fail "a path upwards: $(head -n1 "$work/response")"
[ "$(request GET /v1/answer "$work/empty")" = 405 ] || fail "GET /v1/answer: $(head -n1 "$work/response")"
[ "$(request POST /v1/answer "$run/job.toml")" = 400 ] || fail "not a question: $(head -n1 "$work/response")"
head -c 3000000 /dev/zero >"$work/large"
[ "$(request POST /v1/answer "$work/large")" = 413 ] || fail "far too long a question: $(head -n1 "$work/response")"

# "assay/question/2", dispute 0, kind 3 (leaves), the log, leaves 0 .. 1, and a signature: of a dispute that nobody has opened here.
zeros() { printf '\0%.0s' $(seq 1 "$1"); }
{
  printf '\020\0\0\0assay/question/2'
  zeros 32
  printf '\003\001'
  zeros 16
  printf '\001\0\0\0'
  zeros 8
  printf '\001\0\0\0\0\0\0\0'
  zeros 64
} >"$work/question"
[ "$(request POST /v1/answer "$work/question")" = 409 ] || fail "a question: $(cat "$work/response")"
[ "$(request POST /v1/dispute "$work/question")" = 400 ] || fail "not an opening: $(cat "$work/response")"
kill -TERM $pid
wait $pid || fail "SIGTERM: exit status $?; $(cat "$work/stderr")"
listen=0 start --memory 1  # a port alone is one of this machine
kill -INT $pid
wait $pid || fail "SIGINT: exit status $?; $(cat "$work/stderr")"
! grep -v '^open to any referee\|^a bout costs' "$work/stderr" || fail "it said: $(cat "$work/stderr")"

for few in 0 2; do
  start --open-to-all $few
  kill -INT $pid && wait $pid
  grep -q "^refuses every dispute: the smallest takes 3 bouts, $few are left" "$work/stderr" || fail "nobody can ask, and it said: $(cat "$work/stderr")"
done
start --open-to-all 3
kill -INT $pid && wait $pid
grep -q '^open to any referee, for 3 bouts in all' "$work/stderr" || fail "it said: $(cat "$work/stderr")"

# For programs.
"$assay" provide "$run" --json >"$work/provider" 2>"$work/stderr" </dev/null &
pid=$!
for wait in $(seq 1 500); do
  grep -q . "$work/provider" && break
  sleep 0.02
done
kill -TERM $pid && wait $pid
grep -Eqx "\{\"listening\":\"http://127\.0\.0\.1:[0-9]+\",\"job_id\":\"$("$assay" show "$run" --json | field job_id)\"\}" "$work/provider" ||
  fail "provide --json said: $(cat "$work/provider")"

"$assay" keygen --out "$work/other" --name e2e >/dev/null
refuses 'is signed by e2e\+.*, not by e2e\+.*--key' "$assay" provide "$run" --key "$work/other"
refuses 'expected both or neither' "$assay" provide "$run" --tls-cert "$work/other"
refuses 'nowhere' "$assay" provide "$run" --listen nowhere
rm "$run/receipt.json"
refuses 'has no receipt' "$assay" provide "$run"
