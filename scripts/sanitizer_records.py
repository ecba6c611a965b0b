#!/usr/bin/env python3
"""What compute-sanitizer found, as records for scripts/gpu_report.py: one JSON object a line for each distinct finding.

Usage: sanitizer_records.py TOOL <LOG. Names of kernels are cut down to what tells them apart.
"""

import collections
import json
import re
import sys

STARTS = re.compile(r"(Error|Warning|Info): |Invalid |Uninitialized |Barrier error|Program hit|Misaligned|Leaked")
CONTINUES = re.compile(r"    (and|at) ")


def short(text):
    """Without namespaces, casts of template arguments, the parameters of kernels and the extents of loaders."""
    text = re.sub(r"assay::cuda::|gemm::|attention::|<unnamed>::|\((?:int|bool|unsigned int)\)|\bvoid ", "", text)
    text = re.sub(r"\((?:[^()]|\([^()]*\))*\)(?=\+0x)", "", text)
    return re.sub(r"\b(Load\w+)<[^<>]*>", r"\1", text)


def findings(lines):
    """Each finding on one line: its first line and where it was."""
    current = None
    for line in lines:
        text = line.rstrip("\n").removeprefix("=========")
        if STARTS.match(text.strip()) and line.startswith("========="):
            if current:
                yield current
            current = text.strip()
        elif current and CONTINUES.match(text.removeprefix(" ")):
            current += " " + text.strip()
        elif current:
            yield current
            current = None
    if current:
        yield current


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = collections.Counter(short(re.sub(r" \[\d+ hazards\]", "", text)) for text in findings(sys.stdin))
    for text, count in counts.most_common():
        print(json.dumps({"section": "finding", "name": text, "tool": sys.argv[1], "count": count}))


if __name__ == "__main__":
    main()
