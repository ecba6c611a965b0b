#!/usr/bin/env python3
"""toy_op.py ROOT WORK NODE: adds the plain op `square` to a copy of the tree as docs/ARCHITECTURE.md, "Adding an op", says, step by step; builds what the
op reaches and runs its tests; then takes one piece away and sees that the build fails.

A second run in the same WORK compiles only what has changed. JOBS says how many compilers run at a time.
"""

import os
import pathlib
import re
import subprocess
import sys

STEPS = {
    1: [("docs/NUMERICS.md", r"^- `relu`:.*$", "- `square`: `x * x`."),
        ("docs/formats/ops.md", r"^\| `relu` `gelu_tanh`.*$", "| `square` | x | as x | one product |")],
    2: [("src/assay/ops/op_table.inc", r"^ASSAY_OP\(silu_grad,.*$", "ASSAY_OP(square, 60, 1, Elementwise, Exact)")],
    3: [("src/assay/ops/plain_ops.inc", r"^ASSAY_BINARY_OP\(silu_grad,.*$", "ASSAY_UNARY_OP(square, P::Mul(x, x), T(x) * T(x))")],
    4: [("src/assay/ops/activation.cc", r"^OpDef Define_silu_grad.*$", """OpDef Define_square() {
  return Activation([](GradientBuilder& g) {
    OpBuilder b(g.builder());
    g.SetInputGradient(0, b.Scale(b.Mul(g.input(0), g.OutputGradientOrZero(0)), 2.0f));
  });
}""")],
    5: [("tests/oracle/elementwise.cc", r"^double Phi.*\n\n}  // namespace$", """
Arrays Oracle_square(const Call& c) {
  return Map(c, [](double x) { return x * x; });
}""")],
    7: [("tests/independent/judge/formats.mjs", r"^    silu_grad: \[40\],$", "    square: [60],"),
        ("tests/independent/types.mjs", r"^  \.\.\.each\(\"neg scale.*$", "  square: alike(1),"),
        ("tests/independent/ops/elementwise.mjs", r"^  silu_grad: .*$", "  square: unary((x) => mul(x, x)),"),
        ("tests/independent/rounded/formulas.mjs", r"^  add: binary.*$", "  square: unary((a) => a * a),")],
}


def fail(text):
    sys.exit(f"toy_op: {text}")


def copy(root, tree):
    """The files of the tree, with the steps done to them. Files that are the same already keep their times."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listed.returncode != 0:
        fail("needs a git checkout")
    wanted = {name: (root / name).read_bytes() for name in listed.stdout.splitlines() if (root / name).is_file() and not name.startswith("docs/results/")}
    for number, edits in STEPS.items():
        for name, after, line in edits:
            text = wanted[name].decode()
            found = re.search(after, text, re.MULTILINE)
            if not found:
                fail(f"step {number}: {name} has no line {after}")
            wanted[name] = (text[:found.end()] + "\n" + line + text[found.end():]).encode()
    generated = {"tests/golden/ops.txt", "docs/formats/ops.md"}  # by step 6
    for name, data in wanted.items():
        path = tree / name
        if name in generated or name.startswith("docs/vectors/") or not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def run(what, command, cwd, **environment):
    result = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        fail(f"{what}:\n{result.stdout[-4000:]}")
    return result.stdout


def main():
    root, work, node = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    tree, build = work / "tree", work / "build"
    copy(root, tree)
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    configure = ["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DASSAY_BATCHES=ON",
                 "-DASSAY_CUDA_BUILD=OFF", "--log-level=WARNING"]
    run("configure", configure, work)

    def make(*targets):
        return ["cmake", "--build", build, "--parallel", jobs, "--target", *targets]

    run("build", make("conformance_test", "gradients_test", "semantics_rounded_test", "write_docs"), work)
    conformance = build / "tests" / "conformance" / "conformance_test"
    tests = "--gtest_filter=square.*"
    # Step 6.
    run("golden digests", [conformance, tests], tree, ASSAY_GOLDEN="write")
    if "square@1/" not in (tree / "tests/golden/ops.txt").read_text():
        fail("no golden digests")
    run("make docs", [build / "tests/docs/write_docs", "write", tree], tree)
    if "`square`" not in (tree / "docs/formats/ops.md").read_text().split("wire id")[-1]:
        fail("the generated table does not have it")

    run("conformance", [conformance, tests], tree)
    run("gradients", [build / "tests/gradients/gradients_test", "--gtest_filter=*square*"], tree)
    run("rounded", [build / "tests/semantics_rounded_test", "--gtest_filter=*square*"], tree)
    run("JavaScript", [node, tree / "tests/independent/vectors.mjs", tree / "docs/vectors"], tree)

    # A piece that is missing is an error of the build.
    table = tree / "src/assay/ops/plain_ops.inc"
    table.write_text(table.read_text().replace("ASSAY_UNARY_OP(square,", "// ASSAY_UNARY_OP(square,"))
    broken = subprocess.run([str(word) for word in make("conformance_test")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if broken.returncode == 0 or "square" not in broken.stdout:
        fail("an op without kernels was built")
    print("toy_op: the page adds an op")


if __name__ == "__main__":
    main()
