# evidence.sh LIES_TEST SIMULATE ROUNDING_TEST ASSAY NODE CRAFTED_TEST: every evidence file that the tests of disputes write, the hostile ones of simulated disputes, those
# of rounded jobs and crafted ones among them, is judged alike by `assay judge` and by the judge that follows docs/ (judge.mjs).
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/kept"
export ASSAY_KEEP_EVIDENCE=$work/kept
"$1" --gtest_brief=1 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$2" real 30 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$3" --gtest_brief=1 --gtest_filter='Disputes.*:EndsAlike.*:Rotten.*:Checkers.*:*CrossExamination.*:PaperRule.Pushing*-*Honest*' >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
"$6" --gtest_brief=1 >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
cp tests/golden/dispute.evidence "$work/kept/"
"$5" tests/independent/agree.mjs "$4" "$work/kept"
