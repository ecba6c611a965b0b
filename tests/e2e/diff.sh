# `assay diff` names what differs between two jobs or runs, and says when it cannot tell; snapshots of the start and what audits make of them.
. "$(dirname "$0")/lib.sh"
sed -e 's/^steps = .*/steps = 12/' -e 's/^every = .*/every = 2/' examples/mlp.toml >"$work/job.toml"
# differs STATUS A B: the JSON is in $json.
differs() {
  json=$("$assay" diff "$2" "$3" --json 2>"$work/stderr")
  local status=$?
  [ $status -eq "$1" ] || fail "diff $2 $3: exit status $status, expected $1: $json $(cat "$work/stderr")"
}
says() { echo "$json" | grep -Eq "$1" || fail "expected /$1/: $json"; }

train "$work/one" "$work/job.toml" >/dev/null || fail "$(cat "$work/stderr")"
cp -r "$work/one" "$work/two"
differs 0 "$work/one" "$work/two"
says '"same_job":true.*"settings":\[\],"agree_until":12,"differ_at":null'
differs 0 "$work/job.toml" "$work/one"
says '"same_job":true'

# A setting that makes another job, and one that does not.
sed 's/^lr = .*/lr = 0.123/' "$work/job.toml" >"$work/rate.toml"
differs 1 "$work/job.toml" "$work/rate.toml"
says '"same_job":false.*\{"name":"[a-z]*\.lr","a":[0-9.]*,"b":0.123,"identifies":true\}\]'
{ cat "$work/job.toml"; printf '[snapshot]\nevery = 4\nstart = true\n'; } >"$work/start.toml"
differs 0 "$work/job.toml" "$work/start.toml"
says '"same_job":true'
says '\{"name":"snapshot.start","a":false,"b":true,"identifies":false\}'

# One file of data, by whatever path each names it.
seq 1 400 >"$work/text.txt"
sed -e 's/^kind = "chars"/&\npath = "text.txt"/' examples/gpt2-tiny.toml >"$work/own.toml"
mkdir "$work/deeper"
for run in "$work/own" "$work/deeper/own"; do
  train "$run" "$work/own.toml" >/dev/null || fail "$(cat "$work/stderr")"
done
differs 0 "$work/own" "$work/deeper/own"
says '"same_job":true.*"settings":\[\]'
differs 0 "$work/own.toml" "$work/deeper/own"
says '"same_job":true.*"settings":\[\]'

# Runs: of different jobs, and of one job that ends earlier.
train "$work/rate" "$work/rate.toml" >/dev/null || fail "$(cat "$work/stderr")"
differs 1 "$work/one" "$work/rate"
says '"agree_until":null,"differ_at":null'
"$assay" diff "$work/one" "$work/rate" >"$work/out"
grep -q '^runs  *not compared: they are of different jobs' "$work/out" || fail "$(cat "$work/out")"
train "$work/short" "$work/job.toml" --steps 6 >/dev/null || fail "$(cat "$work/stderr")"
differs 1 "$work/one" "$work/short"
says '"agree_until":6,"differ_at":null'
says '\{"name":"steps","a":12,"b":6,"identifies":true\}'

# Data that is not here leaves it open.
{ printf 'steps = 4\n[model]\nkind = "gpt2"\n[data]\nkind = "chars"\npath = "nowhere.txt"\n'; } >"$work/text.toml"
differs 3 "$work/text.toml" "$work/text.toml"
says '"same_job":null'
"$assay" diff "$work/one" >"$work/out" 2>&1 && fail "one argument is enough"
"$assay" diff "$work/one" "$work" >"$work/out" 2>&1
[ $? -eq 2 ] || fail "diff with no job: $(cat "$work/out")"

# The state before the first step is kept where the job says so; it is part of a whole run, and an audit starts from it as from any other.
train "$work/start" "$work/start.toml" >/dev/null || fail "$(cat "$work/stderr")"
[ -s "$work/start/snapshots/step-0000000000.safetensors" ] || fail "no snapshot of the start: $(ls "$work/start/snapshots")"
cmp "$work/one/model.safetensors" "$work/start/model.safetensors" || fail "a snapshot changed the training"
"$assay" fsck "$work/start" >"$work/out" && grep -q ': whole: ' "$work/out" || fail "$(cat "$work/out")"
"$assay" audit "$work/start" --quiet >"$work/out" 2>&1 || fail "audit: $(cat "$work/out")"
