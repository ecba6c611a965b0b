#!/bin/bash
# make_evidence.sh ASSAY CHEAT OUT: writes the evidence of a dispute over one flipped bit in one gradient. tests/golden/dispute.evidence was made by it; it has to be made
# anew when a format or an op's semantics version changes.
set -eu
assay=$1 cheat=$2 out=$3
work=$(mktemp -d)
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
servers=
sed -e 's/^steps = .*/steps = 12/' -e 's/^every = .*/every = 2/' examples/mlp.toml >"$work/job.toml"
printf '[snapshot]\nevery = 4\n' >>"$work/job.toml"
for who in honest liar; do "$assay" keygen --out "$work/$who.key" --name "$who" >/dev/null; done
ASSAY_KEY=$work/honest.key "$assay" train "$work/job.toml" --out "$work/honest" --quiet >/dev/null
ASSAY_KEY=$work/liar.key "$cheat" flipped-bit "$work/job.toml" --out "$work/liar" --at 7 >/dev/null
ASSAY_KEY=$work/honest.key "$assay" provide "$work/honest" >"$work/honest.address" &
servers=$!
ASSAY_KEY=$work/liar.key "$cheat" flipped-bit "$work/job.toml" --out "$work/liar" --at 7 --provide 127.0.0.1:0 >"$work/liar.address" &
servers="$servers $!"
until grep -q ^listening "$work/honest.address" && grep -q ^listening "$work/liar.address"; do sleep 0.1; done
rm -f "$out"
"$assay" dispute --provider "$(sed -n 's/^listening on //p' "$work/honest.address")" --provider "$(sed -n 's/^listening on //p' "$work/liar.address")" --evidence "$out" --quiet
