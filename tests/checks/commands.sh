# assay pev and assay own, as their users meet them: honest runs are accepted, a false one is not; draws, claims, lineage, seeds that follow from a commitment, two
# claimants. Arguments: assay, cheat.
. "$(dirname "$0")/../e2e/lib.sh"
cheat=$2
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
"$assay" keygen --out "$work/other.key" --name other >/dev/null || fail keygen

# says STATUS PATTERN COMMAND...: the command of assay ends with the status and prints a line that matches.
says() {
  local wanted=$1 pattern=$2 status
  shift 2
  "$assay" "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status -eq "$wanted" ] || fail "$* exited with $status, expected $wanted; it said: $(cat "$work/out" "$work/err")"
  grep -Eq -- "$pattern" "$work/out" || fail "$* said: $(cat "$work/out"); expected /$pattern/"
}

# Epochs: honest examples of four kinds, at no more than 4 % of the training's operations.
for job in mlp gpt2-tiny llama-tiny resnet18-tiny; do
  train "$work/$job" examples/$job.toml >/dev/null || fail "$(cat "$work/stderr")"
  says 0 ': accepted: ' pev "$work/$job" --nonce 0badcafe
  says 0 '"set":"strict","verdict":"accepted".*"epoch":null,"rule":"start","verdict":"accepted".*"epoch":0,"rule":"losses","verdict":"accepted"' pev "$work/$job" --json --nonce 0badcafe
  share=$(grep -o '"flops_share":[0-9.]*' "$work/out" | cut -d: -f2)
  awk "BEGIN { exit !($share <= 0.04) }" || fail "$job: 10 % cost $share of the training"
  says 0 '"set":"seed".*"rule":"epoch","verdict":"accepted"' pev "$work/$job" --rules seed --json
done
"$assay" pev "$work/mlp" --nonce 0badcafe --json | sed 's/"cost":{[^}]*}//' >"$work/one"
"$assay" pev "$work/mlp" --nonce 0badcafe --threads 1 --json | sed 's/"cost":{[^}]*}//' >"$work/two"
cmp "$work/one" "$work/two" || fail "the same nonce gives another report"
says 0 'of its time here' pev "$work/mlp" --measure
refuses '--percent: expected a share' "$assay" pev "$work/mlp" --percent 0
refuses 'no such run directory' "$assay" pev "$work/nothing"
"$cheat" stopped-early examples/gpt2-tiny.toml --out "$work/false" --at 3 --key "$ASSAY_KEY" >/dev/null || fail cheat
says 1 'losses +refused' pev "$work/false" --percent 100
# A run that goes on, and one whose snapshot is damaged.
cp -r "$work/gpt2-tiny" "$work/edited" && rm "$work/edited/receipt.json"
says 0 'accepted so far' pev "$work/edited"
printf x | dd of="$work/edited/snapshots/step-0000000020.safetensors" bs=1 seek=90000 conv=notrunc 2>/dev/null
says 4 'epoch +damaged' pev "$work/edited"

# Ownership: one file, verified elsewhere, without the run.
says 0 'a claim of job' own claim "$work/gpt2-tiny" --out "$work/g.claim" --nonce 0badcafe
says 0 'draw +accepted .*out of the run itself' own verify "$work/g.claim" --nonce 77 --run "$work/gpt2-tiny"
refuses 'is not the run that the claim is about' "$assay" own verify "$work/g.claim" --nonce 77 --run "$work/mlp"
mv "$work/gpt2-tiny" "$work/gone"
says 0 ': accepted$' own verify "$work/g.claim" --nonce 0badcafe
says 3 'own_nonce' own verify "$work/g.claim"
says 1 'draw +refused .*not by the one that was given' own verify "$work/g.claim" --nonce 0bad
says 0 '"rule":"distance","verdict":"accepted"' own verify "$work/g.claim" --rules seed --json
says 1 'is a run of job' own verify "$work/g.claim" --nonce 0badcafe --job "$(printf '%064d' 0)"
says 1 'is signed by' own verify "$work/g.claim" --nonce 0badcafe --signer "$work/other.key.pub"
mv "$work/gone" "$work/gpt2-tiny"
# The receipt for which the nonce was given: who knows the nonce first could sign another one.
hash=$(sha256sum "$work/gpt2-tiny/receipt.json" | cut -c1-64)
says 0 "this very receipt, $hash" own verify "$work/g.claim" --nonce 0badcafe
says 0 ': accepted$' own verify "$work/g.claim" --nonce 0badcafe --receipt "$hash"
! grep -q 'this very receipt' "$work/out" || fail "what is insisted on is not assumed"
says 0 "\"receipt\":\"$hash\"" own verify "$work/g.claim" --nonce 0badcafe --receipt "$work/gpt2-tiny/receipt.json" --json
says 1 'signed +refused .*not the one that was known before' own verify "$work/g.claim" --nonce 0badcafe --receipt "$work/mlp/receipt.json"
refuses 'exists already and is not overwritten' "$assay" own claim "$work/gpt2-tiny" --out "$work/g.claim"
# A directory with that receipt and another run's log, honest where the claimed one is not.
"$cheat" wrong-learning-rate examples/gpt2-tiny.toml --out "$work/fast" --at 18 --key "$ASSAY_KEY" >/dev/null || fail cheat
says 0 'a claim' own claim "$work/fast" --out "$work/fast.claim" --nonce 00 --draw 1
cp -r "$work/gpt2-tiny" "$work/mixed" && cp "$work/fast/receipt.json" "$work/mixed/"
says 4 'draw +damaged' own verify "$work/fast.claim" --nonce aa --run "$work/mixed"
[ -z "$(ls "$TMPDIR")" ] || fail "left behind what it unpacked: $(ls "$TMPDIR")"
# Edited, cut off, or not a claim.
cp "$work/g.claim" "$work/e.claim"
printf x | dd of="$work/e.claim" bs=1 seek=600000 conv=notrunc 2>/dev/null
says 4 'damaged' own verify "$work/e.claim" --nonce 0badcafe
head -c 1000 "$work/g.claim" >"$work/e.claim"
refuses 'e.claim' "$assay" own verify "$work/e.claim"
refuses 'is a claim of ownership; assay own verify checks it' "$assay" verify "$work/g.claim"
refuses 'is not a claim' "$assay" own verify examples/mlp.toml
refuses '--out' "$assay" own claim "$work/gpt2-tiny"
# A run that never trained: the published rule accepts it, ours does not.
cat >"$work/slow.toml" <<'EOF'
steps = 24
[model]
kind = "mlp"
hidden = [16]
[data]
kind = "features"
samples = 96
[batch]
microbatch = 8
[optimizer]
kind = "sgd"
momentum = 0.0
[schedule]
lr = 0.1
[commit]
every = 1
[snapshot]
every = 2
EOF
"$cheat" stopped-early "$work/slow.toml" --out "$work/frozen" --at 2 --key "$ASSAY_KEY" >/dev/null || fail cheat
says 0 'a claim' own claim "$work/frozen" --out "$work/frozen.claim"
says 0 'distance +accepted' own verify "$work/frozen.claim" --rules seed
says 1 'replay +refused .*it was skipped' own verify "$work/frozen.claim"

# Two claimants, and a run that goes on from another's weights.
cp "$work/slow.toml" "$work/base.toml"
train "$work/parent" "$work/base.toml" >/dev/null || fail "$(cat "$work/stderr")"
{ grep -v '^every = 2' "$work/base.toml"; printf 'every = 2\nstart = true\n[init]\nweights = "%s/parent/model.safetensors"\n' "$work"; } >"$work/tuned.toml"
train "$work/tuned" "$work/tuned.toml" --key "$work/other.key" >/dev/null || fail "$(cat "$work/stderr")"
says 0 claim own claim "$work/parent" --out "$work/parent.claim"
says 0 claim own claim "$work/tuned" --out "$work/tuned.claim" --parent "$work/parent.claim"
says 0 claim own claim "$work/tuned" --out "$work/orphan.claim"
rm "$work/parent/model.safetensors"  # nobody needs it
says 0 'parent +accepted +1 ' own verify "$work/tuned.claim"
says 1 'parent +refused .*names no receipt' own verify "$work/orphan.claim"
says 0 '"first":"other".*"this_starts_in":24' own verify "$work/tuned.claim" --against "$work/parent.claim" --json
says 0 '"first":"this"' own verify "$work/parent.claim" --against "$work/tuned.claim" --json
says 0 'against +accepted .*names the other' own verify "$work/tuned.claim" --against "$work/parent.claim"
# Who does not name whom the weights are from is refused for it, by both sets of rules.
says 1 'against +refused .*does not name it as its parent' own verify "$work/orphan.claim" --rules seed --against "$work/parent.claim"
says 1 'against +refused .*does not name it as its parent' own verify "$work/orphan.claim" --against "$work/parent.claim"
refuses 'is not the run that the claim is about' "$assay" own verify "$work/tuned.claim" --run "$work/parent"
train "$work/copy" "$work/base.toml" --key "$work/other.key" >/dev/null || fail "$(cat "$work/stderr")"
says 0 claim own claim "$work/copy" --out "$work/copy.claim"
says 3 'order_unknown' own verify "$work/copy.claim" --against "$work/parent.claim"

# What another log says of this run's start is nothing to a run that starts from its seed: any job with this seed and this model begins like it, and this one stays there.
sed 's/^lr = 0.1/lr = 0.0/' "$work/base.toml" >"$work/still.toml"
train "$work/still" "$work/still.toml" --key "$work/other.key" >/dev/null || fail "$(cat "$work/stderr")"
says 0 claim own claim "$work/still" --out "$work/still.claim"
says 0 '"first":"unknown".*"this_starts_in":null' own verify "$work/parent.claim" --against "$work/still.claim" --json
# A witness's time. Two keys of one name have checkpoints of the same text, and what a witness signed for one fits the other: it shows nothing between the two.
cat >"$work/cosign.py" <<'EOF'
import base64, hashlib, pathlib, struct, sys
sys.path.insert(0, "tests/tracking")
import ed25519
key, seed = sys.argv[1], hashlib.sha256(b"witness").digest()
public = ed25519.public_key(seed)
name = hashlib.sha256(b"w\n\x04" + public).digest()[:4]
pathlib.Path(key).write_text(f"w+{name.hex()}+{base64.b64encode(bytes([4]) + public).decode()}\n")
for time, checkpoint in zip(sys.argv[2::2], map(pathlib.Path, sys.argv[3::2])):
    note = checkpoint.read_text()
    signed = ed25519.sign(seed, f"cosignature/v1\ntime {time}\n{note[:note.index(chr(10) * 2) + 1]}".encode())
    checkpoint.write_text(f"{note}\u2014 w {base64.b64encode(name + struct.pack('>Q', int(time)) + signed).decode()}\n")
EOF
"$assay" keygen --out "$work/namesake.key" --name e2e >/dev/null || fail keygen
train "$work/namesake" "$work/base.toml" --key "$work/namesake.key" >/dev/null || fail "$(cat "$work/stderr")"
cp -r "$work/parent" "$work/first"
python3 "$work/cosign.py" "$work/w.pub" 1700000000 "$work/first/log/checkpoint" 1800000000 "$work/copy/log/checkpoint" \
  1600000000 "$work/namesake/log/checkpoint" || fail "cosign"
for run in first copy namesake; do says 0 claim own claim "$work/$run" --out "$work/$run.seen"; done
says 0 'this one was committed to first' own verify "$work/first.seen" --against "$work/copy.seen" --witness "$work/w.pub"
says 1 'the other was committed to first' own verify "$work/copy.seen" --against "$work/first.seen" --witness "$work/w.pub"
says 3 'order_unknown' own verify "$work/first.seen" --against "$work/namesake.seen" --witness "$work/w.pub"
says 3 'order_unknown' own verify "$work/namesake.seen" --against "$work/first.seen" --witness "$work/w.pub"
# A stretch that the run does not have: the last one of the claim ends after step 24, and is said to end later. Four bytes before the end count the parents, of which
# there are none; the last stretch's end lies 13 before it.
cp "$work/parent.claim" "$work/beyond.claim"
printf '\377' | dd of="$work/beyond.claim" bs=1 seek=$(($(stat -c %s "$work/parent.claim") - 13)) conv=notrunc 2>/dev/null
says 4 'shows steps .* of a run of 24' own verify "$work/beyond.claim"
# A stretch that is none between two snapshots: the last one begins a step later.
cp "$work/parent.claim" "$work/short.claim"
printf '\027' | dd of="$work/short.claim" bs=1 seek=$(($(stat -c %s "$work/parent.claim") - 21)) conv=notrunc 2>/dev/null
says 4 'are no stretch between two snapshots' own verify "$work/short.claim"
# A state that the claim shows at a stretch's end alone, and that is not the committed one.
python3 - "$work/parent.claim" "$work/end.claim" <<'EOF' || fail "end.claim"
import pathlib, struct, sys
claim = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
# The last snapshot that no stretch begins with is of the last step; its first weights.
at = claim.rindex(b"snapshots/step-0000000024") + 200
at = claim.index(b"}}", at) + 100
claim[at] ^= 1
pathlib.Path(sys.argv[2]).write_bytes(claim)
EOF
says 4 'damaged' own verify "$work/end.claim"
# Where gradients are not finite the published formula says nothing.
sed 's/^lr = 0.1/lr = 1e30/' "$work/base.toml" >"$work/wild.toml"
train "$work/wild" "$work/wild.toml" >/dev/null || fail "$(cat "$work/stderr")"
says 0 claim own claim "$work/wild" --out "$work/wild.claim"
says 3 'distance +not_finite' own verify "$work/wild.claim" --rules seed
# What is false before that stays false.
printf '%s\n' 'steps = 6' '[model]' 'kind = "mlp"' 'hidden = [16]' '[data]' 'kind = "features"' 'samples = 64' 'classes = 4' 'features = 8' '[optimizer]' \
  'kind = "sgd"' 'momentum = 0.0' '[schedule]' 'lr = 1e30' '[commit]' 'every = 1' '[snapshot]' 'every = 1' >"$work/steep.toml"
"$cheat" wrong-learning-rate "$work/steep.toml" --out "$work/steep" --at 1 --key "$ASSAY_KEY" >/dev/null || fail cheat
says 0 claim own claim "$work/steep" --out "$work/steep.claim"
says 1 'distance +refused .*steps 1 to 1 end' own verify "$work/steep.claim" --rules seed

# A seed that follows from a commitment of somebody else's.
cp "$work/parent/log/checkpoint" "$work/beacon"
{ printf 'seed_from = "%s"\n' "$(sha256sum "$work/beacon" | cut -c1-64)"; cat "$work/base.toml"; } >"$work/bound.toml"
train "$work/bound" "$work/bound.toml" >/dev/null || fail "$(cat "$work/stderr")"
says 0 ': verified|VERIFIED' audit "$work/bound"
says 0 ': whole' fsck "$work/bound"
says 0 claim own claim "$work/bound" --out "$work/bound.claim"
says 0 'seed +accepted .*follows from the bytes that were given' own verify "$work/bound.claim" --seed-from "$work/beacon"
says 1 'seed +refused' own verify "$work/bound.claim" --seed-from examples/mlp.toml
says 1 'seed +refused .*claimant' own verify "$work/parent.claim" --seed-from "$work/beacon"
says 0 'seed +own_choice' own verify "$work/parent.claim"
says 0 '"first":"other"' own verify "$work/bound.claim" --against "$work/parent.claim" --json
says 0 'which follows from' show "$work/bound"
