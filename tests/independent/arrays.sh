# Own data: an mlp on vectors and a resnet on images that are not square, from every sort of file. The runs are audited; liars about them lose their
# disputes; and the judge that was written from docs/ alone comes to the same verdicts.
. "$(dirname "$0")/../dispute/lib.sh"
node=$3 python=$4
"$python" tests/support/make_arrays.py "$work" || fail "make_arrays.py"
keys honest liar

cat >"$work/mlp.toml" <<END
steps = 6
[model]
kind = "mlp"
hidden = [8]
[data]
kind = "arrays"
path = "vectors.npz"
[batch]
microbatch = 6
[optimizer]
kind = "sgd"
[schedule]
lr = 0.1
[commit]
every = 2
[snapshot]
every = 4
END
cat >"$work/cnn.toml" <<END
steps = 4
[model]
kind = "resnet"
width = 2
cifar_stem = false
[data]
kind = "arrays"
path = "images.npz"
layout = "nchw"
augment = true
[batch]
microbatch = 4
microbatches = 2
[optimizer]
kind = "sgd"
[schedule]
lr = 0.05
[commit]
every = 2
[snapshot]
every = 2
END

# disputed NAME CHEAT CAUSE: an honest run of $work/NAME.toml stands, a false one does not, and both judges say so, for this cause.
disputed() {
  local false_run=$work/$1-$2 liar honest
  what="$1 with $2"
  ASSAY_KEY=$work/liar.key "$cheat" "$2" "$work/$1.toml" --out "$false_run" --at 4 >"$work/out" 2>"$work/err" || fail "cheat $2: $(cat "$work/err")"
  ASSAY_KEY=$work/liar.key serve liar "$cheat" "$2" "$work/$1.toml" --out "$false_run" --at 4 --provide 127.0.0.1:0
  liar=$url
  ASSAY_KEY=$work/honest.key serve honest "$assay" provide "$work/$1" --open-to-all 1000 --listen 127.0.0.1:0
  honest=$url
  rm -f "$work/evidence"
  disputes "$what" 0 1 --job "$work/$1.toml" --provider "$liar" --provider "$honest" --evidence "$work/evidence"
  stop
  judges "$what" 0 "$work/evidence"
  expect verdict 1
  expect cause "$3"
  "$node" tests/independent/judge.mjs "$work/evidence" >"$work/out" 2>"$work/err" || fail "the other judge of $what: $(cat "$work/out" "$work/err")"
  expect verdict 1
  has '"convicted":\[\{"label":"0"'
  has '"unchecked":\[\]'
}

for name in mlp cnn; do
  "$assay" train "$work/$name.toml" --out "$work/$name" --key "$work/honest.key" --quiet >"$work/out" 2>"$work/err" || fail "train $name: $(cat "$work/err")"
  "$assay" audit "$work/$name" --quiet >"$work/out" 2>"$work/err" || fail "audit of $name: $(cat "$work/out" "$work/err")"
  grep -q VERIFIED "$work/out" || fail "audit of $name: $(cat "$work/out")"
  disputed "$name" flipped-bit output
  disputed "$name" admitted-order batch  # a sample decides, proven against the data root
done
grep -q '8x12x2' <("$assay" show "$work/cnn") || fail "show: $("$assay" show "$work/cnn")"

# The job is the arrays, not the file that they came in; other arrays make another job.
id() { "$assay" show "$1" --json | tail -n1 | field job_id; }
mlp_id=$(id "$work/mlp.toml")
[ -n "$mlp_id" ] || fail "no job id: $("$assay" show "$work/mlp.toml" --json)"
for source in vectors vectors.safetensors; do
  sed "s/vectors.npz/$source/" "$work/mlp.toml" >"$work/same.toml"
  [ "$(id "$work/same.toml")" = "$mlp_id" ] || fail "$source makes another job"
done

# The labels of CIFAR-100, by a folder and by its training file.
for label in fine coarse; do
  sed -e '/^layout/d' -e 's/"arrays"/"cifar100"/' -e "s/^path.*/path = \"cifar100\"\nlabel = \"$label\"/" "$work/cnn.toml" >"$work/$label.toml"
  "$assay" show "$work/$label.toml" >"$work/out" 2>"$work/err" || fail "show $label: $(cat "$work/err")"
done
grep -q '20 classes' "$work/out" || fail "coarse labels: $(cat "$work/out")"
cp "$work/fine.toml" "$work/hundred.toml"
"$assay" train "$work/hundred.toml" --out "$work/hundred" --key "$work/honest.key" --quiet >"$work/out" 2>"$work/err" || fail "train on CIFAR-100: $(cat "$work/err")"
disputed hundred admitted-order batch

# What does not fit is said in one line.
refuses_job() {
  local pattern=$1
  shift
  sed "$@" "$work/cnn.toml" >"$work/bad.toml"
  refuses "$pattern" "$assay" train "$work/bad.toml" --out "$work/bad"
}
refuses_job 'data.path: expected a .npz' -e '/^path/d'
refuses_job 'a resnet reads images, expected nhwc or nchw' -e '/^layout/d' -e '/^augment/d'
refuses_job 'data.augment: expected images' -e '/^layout/d'
refuses_job "has no array 'z'; it has 'x', 'y'" -e 's/^layout/inputs = "z"\nlayout/'
refuses_job 'model.image_width: 9 does not fit the data, which has 12' -e 's/^width/image_width = 9\nwidth/'
refuses_job 'model.classes: expected at least 4' -e 's/^width/classes = 3\nwidth/'
head -c 1000 "$work/images.npz" >"$work/cut.npz"
refuses_job 'cut.npz: zip: has no directory' -e 's/images.npz/cut.npz/'
echo "arrays: own data in every sort of file is trained on, audited, disputed and judged alike"
