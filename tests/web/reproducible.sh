# reproducible.sh [ROOT]: judge.wasm built once more, from a copy of the source elsewhere, has the same bytes. Minutes: it compiles everything again.
set -eu
root=${1:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/elsewhere"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) | tar -x -C "$work/elsewhere"
(cd "$work/elsewhere" && cmake --preset wasm --log-level=WARNING >/dev/null && cmake --build --preset wasm --target judge >"$work/log") || { cat "$work/log"; exit 1; }
cmp "$root/build/web/judge.wasm" "$work/elsewhere/build/web/judge.wasm"
sha256sum <"$work/elsewhere/build/web/judge.wasm"
