# A disk that is full, a directory that cannot be written and a file size limit: one line, exit status 2, nothing half-written; and the
# run goes on to the same bytes once there is room.
. "$(dirname "$0")/lib.sh"
job=examples/gpt2-tiny.toml
root=$(train "$work/whole" $job | field state_root)

# What is left is a run that is sound and not finished.
check_left() {
  no_leftovers "$1"
  "$assay" fsck "$1" --json >"$work/fsck" || fail "left behind: $(cat "$work/fsck")"
  [ "$(field verdict <"$work/fsck")" = unfinished ] || fail "left behind: $(cat "$work/fsck")"
}
goes_on() {
  local json
  json=$(train "$1" $job) || fail "going on: $(cat "$work/stderr")"
  [ "$(echo "$json" | field state_root)" = "$root" ] || fail "going on gave $json, expected root $root"
  cmp "$work/whole/receipt.json" "$1/receipt.json" || fail "going on gave another receipt"
  "$assay" fsck "$1" | grep -q ': whole: ' || fail "after going on: $("$assay" fsck "$1")"
}

# The state of this job is some 500 KiB: a limit of 64 KiB lets the small files through and stops the first snapshot.
limited() { (ulimit -f 64 && exec "$assay" train $job --out "$work/limited" --quiet); }
refuses "snapshots/step-[0-9]+\.safetensors: cannot write: File too large; once that is fixed, continue with .assay resume $work/limited" limited
check_left "$work/limited"
goes_on "$work/limited"

refuses '/proc/assay-run: cannot create' "$assay" train $job --out /proc/assay-run --quiet
touch "$work/file"
refuses "$work/file: is not a directory" "$assay" train $job --out "$work/file" --quiet
refuses "$work/file: is not a directory" "$assay" train $job --out "$work/file/run" --quiet

if [ "$(id -u)" -ne 0 ]; then
  mkdir -m 555 "$work/readonly"
  refuses 'cannot create.*: Permission denied' "$assay" train $job --out "$work/readonly/run" --quiet
  refuses 'cannot create: Permission denied' "$assay" train $job --out "$work/readonly" --quiet
fi

# A real file system without room, where we may mount one.
mkdir "$work/disk"
if mount -t tmpfs -o size=256k assay-e2e "$work/disk" 2>/dev/null; then
  trap 'umount "$work/disk" 2>/dev/null; rm -rf "$scratch"' EXIT
  refuses 'cannot write: No space left on device' "$assay" train $job --out "$work/disk/run" --quiet
  check_left "$work/disk/run"
  mount -o remount,size=16m "$work/disk"
  goes_on "$work/disk/run"
  mount -o remount,ro "$work/disk"
  refuses 'Read-only file system' "$assay" train $job --out "$work/disk/other" --quiet
  refuses 'Read-only file system' "$assay" train $job --out "$work/disk/run" --quiet
fi
