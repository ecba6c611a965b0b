# The operations of a step that operations.mjs counts by the page of ops are those that the program tells, for models of every kind.
. "$(dirname "$0")/../e2e/lib.sh"
node=$2
[ -x "$node" ] || fail "node is not installed; scripts/bootstrap.sh build installs it"
script=$(dirname "$0")/operations.mjs
page=docs/formats/ops.md

counts() {
  local name=$1 job=$2 told counted
  train "$work/$name" "$job" --steps 1 >"$work/json" || fail "$name: $(cat "$work/stderr")"
  told=$("$assay" show "$work/$name" --json | tail -n1 | field flops_per_step)
  counted=$("$node" "$script" "$page" "$work/$name/program.bin") || fail "$name: cannot be counted"
  [ -n "$told" ] && [ "$counted" = "$told" ] || fail "$name: the page counts $counted operations a step, assay show says $told"
}

for name in mlp gpt2-tiny llama-tiny resnet18-tiny; do counts $name examples/$name.toml; done
# Ops that those have not.
sed 's/activation = "relu"/activation = "tanh"/; s/kind = "sgd"/kind = "adam"/; /momentum/d' examples/mlp.toml >"$work/tanh.toml"
sed 's/cifar_stem = true/cifar_stem = false/; s/depth = 18/depth = 50/' examples/resnet18-tiny.toml >"$work/stem.toml"
sed 's/microbatch = 4/microbatch = 3/; s/microbatches = 2/microbatches = 3/' examples/gpt2-tiny.toml >"$work/three.toml"
for name in tanh stem three; do counts $name "$work/$name.toml"; done

# A page that says something else is not believed.
sed 's/^| `sum_squares` | 2·in |$/| `sum_squares` | 3·in |/' $page >"$work/ops.md"
other=$("$node" "$script" "$work/ops.md" "$work/mlp/program.bin")
[ "$other" -gt "$("$node" "$script" $page "$work/mlp/program.bin")" ] || fail "the counts are not read off the page"
sed '/^| `sum_squares` | /d' $page >"$work/ops.md"
"$node" "$script" "$work/ops.md" "$work/mlp/program.bin" >"$work/out" 2>&1 && fail "a page without an op is good enough"
grep -q 'does not say what sum_squares counts as' "$work/out" || fail "a page without an op: $(cat "$work/out")"
