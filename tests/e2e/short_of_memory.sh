# short_of_memory.sh ASSAY CHEAT: on a machine that has almost no memory left, what needs none is said and done all the same. /proc/meminfo is another one here, in
# a mount namespace of its own, which takes root.
. "$(dirname "$0")/lib.sh"
cheat=$2
printf 'MemTotal: 1000 kB\nMemAvailable: 20 kB\nSwapFree: 0 kB\n' >"$scratch/meminfo"
short() { unshare -m sh -c 'mount --bind "$0" /proc/meminfo && exec "$@"' "$scratch/meminfo" "$@"; }
short true 2>/dev/null || skip "this user may not mount"

sed 's/^steps = .*/steps = 12/' examples/mlp.toml >"$work/job.toml"
train "$work/honest" "$work/job.toml" >/dev/null || fail "$(cat "$work/stderr")"
refuses 'memory: this job takes .* KiB, 20.0 KiB are free' short "$assay" train "$work/job.toml" --out "$work/new"
[ ! -e "$work/new" ] || fail "a run was begun that does not fit"

# ends STATUS PATTERN COMMAND...: short of memory.
ends() {
  local wanted=$1 pattern=$2 status
  shift 2
  short "$@" >"$work/out" 2>&1 </dev/null
  status=$?
  [ $status -eq "$wanted" ] || fail "$* exited with $status, expected $wanted; it said: $(cat "$work/out")"
  grep -Eq -- "$pattern" "$work/out" || fail "$* said: $(cat "$work/out"); expected /$pattern/"
}
# A finished run has nothing left that would need memory.
ends 0 'finished|nothing' "$assay" train "$work/job.toml" --out "$work/honest"
ends 0 'finished|nothing' "$assay" resume "$work/honest"
# Steps cannot be run again; what the signed parts say is known without them.
ends 3 'memory: this job takes' "$assay" audit "$work/honest"
for name in truncated-log:1 forged-receipt:4; do
  "$cheat" "${name%:*}" "$work/job.toml" --out "$work/${name%:*}" --at 6 --key "$ASSAY_KEY" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
  ends "${name#*:}" . "$assay" audit "$work/${name%:*}"
done
# Whoever provides a run is told, and answers what it can.
short timeout -s INT 3 "$assay" provide "$work/honest" --listen 127.0.0.1:0 >"$work/out" 2>&1 </dev/null
grep -q 'is provided all the same' "$work/out" && grep -q '^listening' "$work/out" || fail "provide said: $(cat "$work/out")"
