# Keys: what keygen writes and prints, that it never overwrites, and that a kill or a full disk leaves no part of a key.
. "$(dirname "$0")/lib.sh"
umask 000

# Both files are there with their modes, and what is printed is what is in them.
"$assay" keygen --out "$work/key" >"$work/out" || fail "keygen"
[ "$(stat -c %a "$work/key")" = 600 ] || fail "mode $(stat -c %a "$work/key")"
[ "$(ls -A "$work" | tr '\n' ' ')" = "key key.pub out " ] || fail "files: $(ls -A "$work")"
grep -Eqx 'PRIVATE\+KEY\+assay\+[0-9a-f]{8}\+A[Q-Za-f][A-Za-z0-9+/]{42}' "$work/key" || fail "$(wc -c <"$work/key") bytes of private key"
grep -Eqx 'assay\+[0-9a-f]{8}\+A[Q-Za-f][A-Za-z0-9+/]{42}' "$work/key.pub" || fail "public key: $(cat "$work/key.pub")"
[ "$(wc -l <"$work/key")$(wc -l <"$work/key.pub")" = 11 ] || fail "one line each"
tail -n1 "$work/out" | cmp - "$work/key.pub" || fail "printed: $(cat "$work/out")"
grep -q 'PRIVATE+KEY' "$work/out" && fail "the private key was printed"
[ "$(cut -d+ -f4 "$work/key")" = "$(cut -d+ -f2 "$work/key.pub")" ] || fail "the hashes of the two differ"

# The hash is that of the page docs/formats/log.md.
hash=$({ printf 'assay\n'; cut -d+ -f3- "$work/key.pub" | base64 -d; } | sha256sum | cut -c1-8)
[ "$(cut -d+ -f2 "$work/key.pub")" = "$hash" ] || fail "hash $(cut -d+ -f2 "$work/key.pub"), expected $hash"

json=$("$assay" keygen --out "$work/named" --name example.org/provider --json) || fail "keygen --json"
[ "$(echo "$json" | field public_key)" = "$(cat "$work/named.pub")" ] || fail "$json"
[ "$(echo "$json" | field keyid)" = "$(cut -d+ -f1-2 "$work/named.pub")" ] || fail "$json"
[ "$(echo "$json" | field name)" = example.org/provider ] || fail "$json"
cmp -s "$work/key" "$work/named" && fail "two keys are equal"

# Nothing is overwritten: not the pair, not half of it, not a link.
before=$(cat "$work/key")
refuses 'work/key: exists already' "$assay" keygen --out "$work/key"
mv "$work/key.pub" "$work/pub"
refuses 'key: exists already' "$assay" keygen --out "$work/key"
[ "$(cat "$work/key")" = "$before" ] || fail "the key was overwritten"
[ ! -e "$work/key.pub" ] || fail "a public key of no private key was left"
mkdir "$work/other"
touch "$work/other/key.pub"
refuses 'key.pub: exists already' "$assay" keygen --out "$work/other/key"
[ ! -e "$work/other/key" ] || fail "a private key without its public one was left"

# Bad usage.
refuses '--out is required' "$assay" keygen
refuses '--name: expected 1 to 64 characters' "$assay" keygen --out "$work/bad" --name 'two words'
refuses '--name: expected 1 to 64 characters' "$assay" keygen --out "$work/bad" --name ''
refuses '--name: expected 1 to 64 characters' "$assay" keygen --out "$work/bad" --name 'a+b'
refuses "$work/missing/key: .*No such file" "$assay" keygen --out "$work/missing/key"
[ ! -e "$work/bad" ] || fail "a refused keygen left $work/bad"

# A full disk: no key, nothing half-written. The line goes through a pipe, since no file can be written.
limited() {
  (ulimit -f 0 && exec "$assay" keygen --out "$work/full" 2>&1 >/dev/null) | cat >&2
  return "${PIPESTATUS[0]}"
}
refuses 'full: cannot write: File too large' limited
[ ! -e "$work/full" ] && [ ! -e "$work/full.pub" ] || fail "a full disk left a key"
no_leftovers "$work"

# Killed at any moment: every file that is called a key is whole, and nothing that was written can be read by others.
mkdir "$work/killed"
for i in $(seq 1 60); do
  "$assay" keygen --out "$work/killed/$i" >/dev/null 2>&1 &
  pid=$!
  sleep "0.00$((RANDOM % 9))$((RANDOM % 9))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
done
for key in "$work"/killed/*[0-9]; do
  [ -e "$key" ] || continue
  grep -Eqx 'PRIVATE\+KEY\+assay\+[0-9a-f]{8}\+A[Q-Za-f][A-Za-z0-9+/]{42}' "$key" || fail "$key is not whole"
  [ ! -e "$key.pub" ] || grep -Eqx 'assay\+[0-9a-f]{8}\+A[Q-Za-f][A-Za-z0-9+/]{42}' "$key.pub" || fail "$key.pub is not whole"
done
for file in "$work"/killed/* "$work"/killed/.*.assay-tmp; do
  [ -e "$file" ] || continue
  case $file in *.pub | *.pub.*) continue ;; esac
  [ "$(stat -c %a "$file")" = 600 ] || fail "$file has mode $(stat -c %a "$file")"
done
for public in "$work"/killed/*.pub; do
  [ ! -e "$public" ] || [ -e "${public%.pub}" ] || fail "$public has no private key"
done
