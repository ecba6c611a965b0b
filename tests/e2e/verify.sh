# assay verify: every kind of file as it was made, altered, under another signer, and what it says that it does not show.
. "$(dirname "$0")/lib.sh"
run=$work/run
train "$run" examples/mlp.toml --steps 20 >/dev/null || fail "$(cat "$work/stderr")"
"$assay" keygen --out "$work/other.key" --name other >/dev/null || fail keygen
ASSAY_KEY=$work/other.key train "$work/theirs" examples/mlp.toml --steps 20 >/dev/null || fail "$(cat "$work/stderr")"
signer=$ASSAY_KEY.pub
receipt=$run/receipt.json
snapshot=$run/snapshots/step-0000000020.safetensors
"$assay" log "$run" --prove 20 --json >"$work/proof.json" || fail "log --prove"

# says STATUS KIND VALID ARGS...: exit status, kind and validity of a verification; its JSON stays in $json.
says() {
  local status=$1 kind=$2 valid=$3
  shift 3
  json=$("$assay" verify "$@" --json 2>"$work/err")
  [ $? -eq "$status" ] || fail "verify $* did not exit with $status: $json $(cat "$work/err")"
  [ "$(echo "$json" | field kind)" = "$kind" ] && [ "$(echo "$json" | field valid)" = "$valid" ] || fail "verify $*: expected $kind, $valid: $json"
  echo "$json" | grep -q '"shows":\[' || fail "verify $*: says nothing of what it shows: $json"
  "$assay" verify "$@" >"$work/out" 2>&1
  [ $? -eq "$status" ] || fail "verify $* exits with another status as text: $(cat "$work/out")"
}
# flipped FILE AT: a copy with one bit of one byte changed.
flipped() {
  local byte
  cp "$1" "$work/flipped"
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$work/flipped" bs=1 seek="$2" conv=notrunc status=none
}

# A key may have several names: what counts is the key.
for with in "" "--signer $signer" "--signer $(renamed "$signer" some/other.name)"; do
  says 0 receipt true "$receipt" $with
  says 0 checkpoint true "$run/log/checkpoint" $with
  says 0 proof true "$work/proof.json" $with
  [ -z "$with" ] || says 0 snapshot true "$snapshot" $with
  says 0 model true "$run/model.safetensors" --receipt "$receipt" $with
  says 0 proof true "$work/proof.json" --receipt "$receipt" $with
  says 0 snapshot true "$snapshot" --receipt "$receipt" $with
  echo "$json" | grep -q 'does not show that the training was done' || fail "a snapshot claims more than it shows: $json"
done
# What is taken on trust must be said where nothing is insisted on.
says 0 receipt true "$receipt"
echo "$json" | grep -q '"assumed":\["the signer is whoever the receipt names' || fail "verify of a receipt does not say what it takes on trust: $json"
grep -q '^assumed     the signer is whoever' "$work/out" || fail "nor does it as text: $(cat "$work/out")"
says 0 receipt true "$receipt" --signer "$signer"
echo "$json" | grep -q '"assumed":\[\]' || fail "verify of a receipt assumes what it was told: $json"
says 3 snapshot null "$snapshot"
echo "$json" | grep -q '"reason":"no signature was checked' || fail "verify of a snapshot does not say that nobody's signature was checked: $json"

# Another signer than was named: no, whatever kind of file it is, and no damage.
cp "$run/log/checkpoint" "$snapshot" "$work"
for file in "$receipt" "$run/log/checkpoint" "$work/checkpoint" "$work/proof.json" "$snapshot" "$work/${snapshot##*/}"; do
  kind=$("$assay" verify "$file" --json | field kind)
  says 1 "$kind" false "$file" --signer "$work/other.key.pub"
  [ "$(echo "$json" | field damaged)" = false ] || fail "verify $file under another key: $json"
  echo "$json" | grep -Eq '"reason":"is (not )?signed by ' || fail "verify $file under another key: $json"
  [ "$kind" = receipt ] || says 1 "$kind" false "$file" --receipt "$work/theirs/receipt.json"
done
says 1 model false "$run/model.safetensors" --receipt "$receipt" --signer "$work/other.key.pub"
# The same key signed for another run: its receipt says something else.
train "$work/shorter" examples/mlp.toml --steps 10 >/dev/null || fail "$(cat "$work/stderr")"
says 1 proof false "$work/proof.json" --receipt "$work/shorter/receipt.json"
says 1 checkpoint false "$run/log/checkpoint" --receipt "$work/shorter/receipt.json"
says 3 snapshot null "$snapshot" --receipt "$work/shorter/receipt.json"
echo "$json" | grep -q 'is of step 20, and the receipt is for a run of 10 steps' || fail "a snapshot beyond the receipt: $json"
# A receipt binds the first and the last state. Of one in the middle it tells nothing; a proof of its entry does.
{ cat examples/mlp.toml; printf '\n[snapshot]\nevery = 10\n'; } >"$work/middle.toml"
train "$work/middle" "$work/middle.toml" --steps 20 >/dev/null || fail "$(cat "$work/stderr")"
middle=$work/middle/snapshots/step-0000000010.safetensors
says 0 snapshot true "$middle" --signer "$signer"
says 3 snapshot null "$middle" --receipt "$work/middle/receipt.json" --signer "$signer"
echo "$json" | grep -q 'assay log RUN --prove 10 --json' || fail "a snapshot in the middle: $json"
! echo "$json" | grep -q 'signed for that' || fail "a snapshot that the receipt does not bind is signed for: $json"
root=$(echo "$json" | sed -n 's/.*if it says \([0-9a-f]*\)".*/\1/p')
"$assay" log "$work/middle" --prove 10 --json >"$work/middle.json" || fail "log --prove"
says 0 proof true "$work/middle.json" --receipt "$work/middle/receipt.json"
[ -n "$root" ] && echo "$json" | grep -q "state after step 10 is $root" || fail "the proof does not show the state $root: $json"
sed 's/^seed = .*/seed = 77/' "$work/middle.toml" >"$work/else.toml"
train "$work/else" "$work/else.toml" --steps 20 >/dev/null || fail "$(cat "$work/stderr")"
says 1 snapshot false "$work/else/snapshots/step-0000000010.safetensors" --receipt "$work/middle/receipt.json"
# Both ran the same job honestly, so the weights are what the other signed for, too; the metadata is the same.
says 0 model true "$run/model.safetensors" --receipt "$work/theirs/receipt.json"

# Nothing to check by: neither valid nor not.
says 3 checkpoint null "$work/checkpoint"
says 3 model null "$run/model.safetensors"

# One bit, anywhere: a bad copy, which speaks against nobody.
for at in 20 200 400 700; do
  flipped "$receipt" $at
  says 4 receipt false "$work/flipped"
done
for at in 10 60 150; do
  flipped "$run/log/checkpoint" $at
  says 4 checkpoint false "$work/flipped" --signer "$signer"
done
flipped "$run/log/checkpoint" 60
grep -q 'the copy is damaged or was not made by that key\|is not signed by\|expected' "$work/out" || fail "verify of an altered checkpoint: $(cat "$work/out")"
for at in 40 300; do
  flipped "$work/proof.json" $at
  says 4 proof false "$work/flipped"
done
size=$(stat -c %s "$run/model.safetensors")
flipped "$run/model.safetensors" $((size - 3))
says 1 model false "$work/flipped" --receipt "$receipt"
size=$(stat -c %s "$snapshot")
flipped "$snapshot" $((size - 3))
says 4 snapshot false "$work/flipped"

# What is printed for people is no proof, and is told from a spoilt one.
"$assay" log "$run" --prove 20 >"$work/proof.txt" || fail "log --prove"
refuses 'proof.txt: is a proof as assay log --prove prints it for people; .*--json' "$assay" verify "$work/proof.txt"
sed 's/"root":"../"root":"XX/' "$work/proof.json" >"$work/spoilt.json"
says 4 proof false "$work/spoilt.json"
echo "$json" | grep -q '"reason":"[^"]*spoilt.json: root: ' || fail "verify of a proof whose root is none: $json"

# Keys of a proof that are not its own, or stand there twice.
sed 's/}$/,"step":3}/' "$work/proof.json" >"$work/twice.json"
says 4 proof false "$work/twice.json"
echo "$json" | grep -q 'stands there twice' || fail "verify of a proof with two steps: $json"
sed 's/}$/,"comment":"trust me"}/' "$work/proof.json" >"$work/more.json"
says 4 proof false "$work/more.json"
echo "$json" | grep -q 'a proof has no' || fail "verify of a proof with a comment: $json"

# Weights are weights whatever the file says about itself: one that somebody wrote again is told from the delivered one, and is as good.
python3 - "$run/model.safetensors" "$work/again.safetensors" <<'PYTHON' || skip "python3"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + length])
header["__metadata__"] = {"format": "pt"}
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length :])
PYTHON
says 0 model true "$work/again.safetensors" --receipt "$receipt"
echo "$json" | grep -q 'the file as a whole is not the one that the receipt names' || fail "a rewritten file passes for the delivered one: $json"
refuses 'is not a receipt, checkpoint, proof, model, snapshot, evidence or packed data' "$assay" verify "$work/again.safetensors"

# Evidence is judged.
says 0 evidence true tests/golden/dispute.evidence
echo "$json" | grep -q '"convicts ' || fail "evidence convicts nobody by name: $json"
says 1 evidence false tests/golden/dispute.evidence --signer "$signer"
"$assay" dispute "$run" "$work/theirs" --evidence "$work/agreed.evidence" --quiet >"$work/out" 2>&1 || fail "dispute: $(cat "$work/out")"
says 0 evidence true "$work/agreed.evidence"
echo "$json" | grep -q '"reason":"convicts nobody: ' || fail "evidence of agreement: $json"
flipped tests/golden/dispute.evidence $(($(stat -c %s tests/golden/dispute.evidence) / 2))
for command in verify judge; do refuses 'flipped: ' "$assay" $command "$work/flipped"; done

refuses 'is not a receipt' "$assay" verify examples/mlp.toml
refuses 'is a directory' "$assay" verify "$run"
refuses 'nothing here' "$assay" verify "$work/nothing here"
refuses 'expected a public key' "$assay" verify "$receipt" --signer nobody
refuses 'other.key.pub' "$assay" verify "$run/model.safetensors" --receipt "$work/other.key.pub"
exit 0
