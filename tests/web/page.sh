# page.sh ASSAY CHROMIUM: `assay judge --html` writes one file, and a browser that opens it from the disk comes to the verdict. Ends with 77 where there is no browser.
set -u
assay=$1 chromium=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "page: $1"; exit 1; }
"$assay" judge tests/golden/dispute.evidence --html "$work/page.html" >"$work/out" 2>"$work/err" || fail "judge --html: $(cat "$work/out" "$work/err")"
grep -q "^page  *$work/page.html$" "$work/out" || fail "the page is not named: $(cat "$work/out")"
[ "$(grep -c 'https\?://' "$work/page.html")" = 0 ] || fail "the page names something of the network"
reason=$("$assay" judge tests/golden/dispute.evidence | sed -n 's/^reason  *//p')
who=$("$assay" judge tests/golden/dispute.evidence --json | sed 's/.*"convicted":\[{"label":"[^"]*","name":"\([^"]*\)".*/\1/')
# What is no evidence gets no page.
printf 'nothing' >"$work/none"
"$assay" judge "$work/none" --html "$work/none.html" >"$work/out" 2>&1
[ $? -eq 2 ] && [ ! -e "$work/none.html" ] || fail "a page of no evidence"
if [ ! -x "$chromium" ]; then echo "page: no chromium here"; exit 77; fi

# opened FILE: what the browser makes of it.
opened() {
  timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" --virtual-time-budget=60000 --dump-dom "file://$1" \
    2>"$work/err" || fail "chromium: $(tail -3 "$work/err")"
}
opened "$work/page.html" >"$work/dom"
grep -q 'data-status="0"' "$work/dom" || fail "not judged in the browser: $(grep -o '<h1.*</h1>' "$work/dom") $(tail -5 "$work/err")"
grep -q "data-state=\"convicts\">Convicted: $who<" "$work/dom" || fail "another verdict: $(grep -o '<h1.*</h1>' "$work/dom")"
grep -qF "$(printf '%s' "$reason" | cut -c1-60)" "$work/dom" || fail "another reason, expected: $reason"
hash=$(sha256sum <tests/golden/dispute.evidence | cut -d' ' -f1)
grep -q "$hash" "$work/dom" || fail "the hash of the evidence is not shown"

# The same page with one letter of its script altered is not run: its policy names the script by hash.
sed 's/Judging…/Waiting…/; s/Convicted: /Convicted, /' "$work/page.html" >"$work/altered.html"
opened "$work/altered.html" >"$work/dom"
grep -q 'Waiting…' "$work/dom" || fail "a script that is not the page's was run"
echo "page: a browser came to the verdict by itself"
