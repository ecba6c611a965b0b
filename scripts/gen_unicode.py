#!/usr/bin/env python3
"""Writes src/assay/data/unicode_tables.inc: the code points of categories L* and N*, as ranges, from Python's unicodedata."""
import pathlib
import sys
import unicodedata


def ranges(initial):
    out = []
    for cp in range(sys.maxunicode + 1):
        if unicodedata.category(chr(cp))[0] != initial:
            continue
        if out and out[-1][1] == cp - 1:
            out[-1][1] = cp
        else:
            out.append([cp, cp])
    return out


def table(name, initial):
    items = [f"{{0x{a:x}, 0x{b:x}}}" for a, b in ranges(initial)]
    lines = [f"inline constexpr CodePointRange {name}[] = {{"]
    for i in range(0, len(items), 8):
        lines.append("    " + ", ".join(items[i:i + 8]) + ",")
    return lines + ["};"]


def main():
    lines = [f"// Written by scripts/gen_unicode.py from Unicode {unicodedata.unidata_version}."]
    lines += table("kLetters", "L") + table("kNumbers", "N")
    root = pathlib.Path(__file__).resolve().parent.parent
    (root / "src/assay/data/unicode_tables.inc").write_text("\n".join(lines) + "\n")


main()
