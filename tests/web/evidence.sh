# evidence.sh LIES_TEST SIMULATE ROUNDING_TEST CRAFTED_TEST ASSAY NODE WASM: every evidence file that the tests of disputes write is judged alike by `assay judge`
# and by the judge of browsers, to the byte; altered ones are refused alike.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/kept"
export ASSAY_KEEP_EVIDENCE=$work/kept
"$1" --gtest_brief=1 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$2" real 30 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$3" --gtest_brief=1 --gtest_filter='Disputes.*:EndsAlike.*:Rotten.*:Checkers.*:*CrossExamination.*:PaperRule.Pushing*-*Honest*' >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$4" --gtest_brief=1 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
cp tests/golden/dispute.evidence "$work/kept/"
"$6" tests/web/agree.mjs "$5" "$7" "$work/kept"
