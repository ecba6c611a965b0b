#!/usr/bin/env python3
"""House rules that a compiler does not know: layering of includes, the ban on libm and on fast-math, file names, layout.

Usage: check_style.py RULE ROOT, with RULE one of RULES below. Prints one line per offence; exit status 1 if there is any.
"""

import pathlib
import re
import shutil
import subprocess
import sys

# The layers in their order: a folder uses itself and what stands before it (docs/ARCHITECTURE.md).
LAYERS = ["base", "tensor", "numerics", "merkle", "sign", "seal", "net", "store", "rounding", "graph", "ops", "semantics", "backend", "exec", "model", "data", "job",
          "monitor", "run", "train", "tracking", "audit", "dispute", "own", "verdict", "browser", "life", "platform", "coordinator", "service", "worker", "client", "cli"]

# Backends that are made of others. Meanings (semantics/) are made of nothing but themselves.
MADE_OF = {"cublas": ("openblas", "cuda")}

INCLUDE = re.compile(r'^\s*#\s*include\s+"assay/([^"]+)"', re.MULTILINE)

LIBM = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc pow cbrt hypot tgamma lgamma"
LIBM_CALL = re.compile(r"\bstd::(" + LIBM.replace(" ", "|") + r")f?\s*\(|(?<![\w:.>])(" + LIBM.replace(" ", "|") + r")f?\s*\(")

FAST_MATH = re.compile(r"-ffast-math|-Ofast|-funsafe-math|-fassociative-math|-freciprocal-math|-ffinite-math|-march=native|"
                       r"-ffp-contract=(fast|on)|-use_fast_math|FP_CONTRACT\s+ON")

SOURCE_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*(-inl)?\.(h|cc|cu|cuh|inc|py)")
SOURCE_SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".inc", ".py"}
BUILD_FILES = {"CMakeLists.txt", "CMakePresets.json", "Makefile"}
OTHER_BITS = "tests/rounding/other/CMakeLists.txt"  # is there to give other bits
MAX_LINES = 600


def sources(root):
    for top in ("src", "tests", "bench", "fuzz"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path


def code_only(text):
    """Blanks comments and string contents, keeping line numbers."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def layer_of(parts):
    """("backend", "cpu") for backend/cpu/x.cc, ("graph", None) for graph/x.h."""
    return parts[0], parts[1] if parts[0] in ("semantics", "backend") and len(parts) > 2 else None


def check_layers(root):
    base = root / "src" / "assay"
    for path in sources(root):
        if not path.is_relative_to(base):
            continue
        layer, device = layer_of(path.relative_to(base).parts)
        if layer not in LAYERS:
            yield path, 1, f"folder {layer}/ is not in the list of layers"
            continue
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            other, other_device = layer_of(pathlib.PurePosixPath(match.group(1)).parts)
            if other not in LAYERS or LAYERS.index(other) > LAYERS.index(layer):
                yield path, line_of(text, match.start()), f"{layer}/ may not include {other}/"
            elif layer == other and layer in ("semantics", "backend") and other_device not in (None, device, *MADE_OF.get(device, ())):
                yield path, line_of(text, match.start()), f"{layer}/{device} may not include {layer}/{other_device}"


def check_libm(root):
    for path in sources(root):
        parts = path.relative_to(root).parts
        if parts[:2] != ("src", "assay") or parts[2] == "cli" or path.stem.endswith(("_test", "_bench")):
            continue
        if parts[2:4] in (("semantics", "rounded"), ("backend", "openblas"), ("backend", "cublas")) or path.name == "bounded.h":  # rounded FP64 training takes any correct libm
            continue
        text = code_only(path.read_text())
        for match in LIBM_CALL.finditer(text):
            # In the layers that keep runs, log() is the log of a run.
            if parts[2] in ("run", "train", "tracking", "audit", "own") and match.group(0).strip() == "log(":
                continue
            yield path, line_of(text, match.start()), f"{match.group(0).strip()}...) differs between machines; use assay/numerics"


def check_flags(root):
    files = list(sources(root)) + [p for pattern in ("cmake/**/*", "scripts/*") for p in sorted(root.glob(pattern)) if p.is_file()]
    files += [root / name for name in BUILD_FILES if (root / name).exists()]
    files += [p for top in ("src", "tests", "bench") for p in sorted((root / top).rglob("CMakeLists.txt"))]
    for path in files:
        if path.resolve() == pathlib.Path(__file__).resolve() or path == root / OTHER_BITS:
            continue
        text = path.read_text(errors="replace")
        for match in FAST_MATH.finditer(text):
            yield path, line_of(text, match.start()), f"{match.group(0)} changes bits"


def check_names(root):
    for path in sources(root):
        if not SOURCE_NAME.fullmatch(path.name):
            yield path, 1, "file names are snake_case"
        text = path.read_text()
        lines = text.count("\n")
        if lines > MAX_LINES:
            yield path, lines, f"more than {MAX_LINES} lines: split it along an idea"
        if path.suffix == ".h" and "#pragma once" not in text and "HWY_TARGET_TOGGLE" not in text:
            yield path, 1, "a header has #pragma once"
        if path.resolve() != pathlib.Path(__file__).resolve():
            for match in re.finditer(r"\b(TODO|FIXME|XXX)\b", text):
                yield path, line_of(text, match.start()), f"{match.group(0)}: do it or open an issue"


def check_merged(root):
    tracked = subprocess.run(["git", "ls-files", "*.md", "*.txt", "*.cmake", "*.py", "*.sh", "*.toml", "*.mjs"], capture_output=True, text=True, cwd=root)
    for path in {*sources(root), *(root / name for name in tracked.stdout.splitlines())}:
        if path.exists():
            text = path.read_text(errors="replace")
            for match in re.finditer(r"^(<{7} |>{7} |={7}$)", text, re.MULTILINE):
                yield path, line_of(text, match.start()), "a merge left both sides here"


def check_format(root):
    tool = shutil.which("clang-format-19")
    if tool is None:
        yield root / ".clang-format", 1, "clang-format-19 is not installed: layout cannot be checked"
        return
    files = [str(path) for path in sources(root) if path.suffix in {".h", ".cc", ".cu"}]
    result = subprocess.run([tool, "--dry-run", "--Werror", *files], capture_output=True, text=True, cwd=root)
    for match in re.finditer(r"^(.+?):(\d+):\d+: error: code should be clang-formatted", result.stderr, re.MULTILINE):
        yield pathlib.Path(match.group(1)), int(match.group(2)), "run make format"


RULES = {"layers": check_layers, "libm": check_libm, "flags": check_flags, "names": check_names, "merged": check_merged, "format": check_format}


def main():
    rule, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    offences = list(RULES[rule](root))
    for path, line, message in offences:
        print(f"{path.relative_to(root)}:{line}: {message}")
    print(f"{rule}: {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
