# Whole trainings reach the checked-in state roots with one set of kernels on 1, 2 and 7 threads.
. "$(dirname "$0")/lib.sh"
simd=$2
"$assay" version | grep -Eq "^kernels: (.*, )?$simd(,|\$)" || skip "no $simd kernels here"
for threads in 1 2 7; do
  scripts/check-roots.sh --simd "$simd" --threads "$threads" "$assay" || fail "$simd on $threads threads"
done
