#!/usr/bin/env bash
# Workers of the platform as real processes: honest ones, ones that are killed, ones that cheat, in front of a coordinator that may be killed too.
#
#   workers.sh ASSAY CHEAT
. "$(dirname "$0")/../e2e/lib.sh"
cheat=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
pids=()
end_all() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$scratch"
}
trap end_all EXIT

# serve PORT: a coordinator at $ASSAY_SERVER.
serve() {
  "$assay" serve --store "$work/store" --listen "127.0.0.1:$1" --lease 5 --json --log - >"$work/serve.out" 2>"$work/serve.err" &
  serve_pid=$!
  pids+=("$serve_pid")
  for _ in $(seq 200); do
    grep -q listening "$work/serve.out" && break
    sleep 0.05
  done
  grep -q listening "$work/serve.out" || fail "serve: $(cat "$work/serve.out" "$work/serve.err")"
}
serve 0
export ASSAY_SERVER=$(field listening <"$work/serve.out")
case $ASSAY_SERVER in http*) ;; *) ASSAY_SERVER=http://$ASSAY_SERVER ;; esac
admin=$(field admin_token <"$work/serve.out")
token() { "$assay" admin token --role "$1" --token "$admin" --json | field token; }
client=$(token client)
provider=$(token provider)
[ -n "$client" ] && [ -n "$provider" ] || fail "no tokens"

# worker NAME PROGRAM...: starts it in the background; its pid is in $worker.
worker() {
  local name=$1
  shift
  ASSAY_TOKEN=$provider "$@" --work "$work/$name" --threads 1 >>"$work/$name.out" 2>>"$work/$name.err" &
  worker=$!
  pids+=("$worker")
}
# order ARGS...: submits and waits; the JSON line is in $work/order.
order() {
  ASSAY_TOKEN=$client timeout 240 "$assay" submit "$@" --wait --json --quiet >"$work/order" 2>"$work/order.err"
  status=$?
  tail -n1 "$work/order" >"$work/line"
}
expect() {
  [ "$(field verdict <"$work/line")" = "$1" ] && [ "$status" -eq "$2" ] ||
    fail "$3: expected $1 with status $2, got $status: $(cat "$work/line" "$work/order.err" "$work"/*.err | tail -n 40)"
}
# ends PID NAME: the worker ends by itself with status 0.
ends() {
  for _ in $(seq 400); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.05
  done
  kill -0 "$1" 2>/dev/null && fail "$2 does not end: $(tail -n 5 "$work/$2.err")"
  wait "$1" || fail "$2 ended with status $?: $(tail -n 5 "$work/$2.err")"
}
mlp=$root/examples/mlp.toml

# Two honest workers.
worker honest1 "$assay" worker --once; one=$worker
worker honest2 "$assay" worker --once; two=$worker
order "$mlp" --replicas 2
expect verified 0 "two honest workers"
ends "$one" honest1
ends "$two" honest2
[ -z "$(ls "$work/honest1/orders")" ] || fail "a decided order is kept"

# One of them lies: a referee finds out which, through the worker's own connection.
for lie in wrong-learning-rate flipped-bit; do
  worker "liar-$lie" "$cheat" "$lie" --worker; liar=$worker
  worker "judge-$lie" "$assay" worker --once; one=$worker
  order "$mlp" --replicas 2
  expect refereed 0 "honest against $lie"
  grep -q '"convicted":\[[^]]' "$work/line" || fail "$lie is not convicted: $(cat "$work/line")"
  ends "$one" "judge-$lie"
  kill "$liar"
done

# An audit refutes it, and the auditor's own run proves it.
worker lazy "$cheat" skipped-step --worker; liar=$worker
sleep 1
ASSAY_TOKEN=$client "$assay" submit "$mlp" --replicas 1 --audit 100% --json >"$work/id" 2>"$work/err" || fail "submit: $(cat "$work/err")"
id=$(tail -n1 "$work/id" | field id)
for _ in $(seq 200); do
  grep -q 'is delivered' "$work/lazy.err" && break
  sleep 0.1
done
worker auditor "$assay" worker --once; one=$worker
ASSAY_TOKEN=$client timeout 240 "$assay" watch "$id" --json --quiet >"$work/order" 2>"$work/order.err"
status=$?
tail -n1 "$work/order" >"$work/line"
expect refereed 0 "an audit of skipped-step"
grep -q 'refuted' "$work/auditor.err" || fail "the auditor did not refute: $(cat "$work/auditor.err")"
ends "$one" auditor
kill "$liar"

# A worker that says nothing about its lie loses, and a worker that dies costs nobody anything.
worker silent "$cheat" silent --worker; liar=$worker
worker upright "$assay" worker; one=$worker
worker gone "$cheat" vanishing --worker
worker third "$assay" worker; two=$worker
kill "$liar"

# Long enough to be killed on its way.
sed 's/^steps = .*/steps = 4000/; s/^samples = .*/samples = 4096/' "$mlp" >"$work/long.toml"
printf '\n[snapshot]\nevery = 500\n' >>"$work/long.toml"
kill "$one" "$two" 2>/dev/null
worker killed "$assay" worker; one=$worker
worker steady "$assay" worker; two=$worker
(
  sleep 2
  kill -9 "$one"
  sleep 0.5
) &
killer=$!
ASSAY_TOKEN=$client timeout 240 "$assay" submit "$work/long.toml" --replicas 2 --json >"$work/id" 2>"$work/err" || fail "submit: $(cat "$work/err")"
id=$(tail -n1 "$work/id" | field id)
wait "$killer"
worker killed "$assay" worker; one=$worker
sleep 1
# The coordinator too, without a word.
port=${ASSAY_SERVER##*:}
kill -9 "$serve_pid"
sleep 0.5
serve "$port"
ASSAY_TOKEN=$client timeout 240 "$assay" watch "$id" --json --quiet >"$work/order" 2>"$work/order.err"
status=$?
tail -n1 "$work/order" >"$work/line"
expect verified 0 "a killed worker and a killed coordinator"
kill "$one" "$two"
ends "$one" killed
ends "$two" steady

echo "workers: all well"
