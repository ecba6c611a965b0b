#!/usr/bin/env python3
"""The roots of docs/formats/data.md, written from that page and state.md; prints the vectors used in root_test.cc and batch_root_test.cc."""

import struct

from state_root import root, tensor_root

DTYPES = {"f32": 1, "i32": 2, "u8": 6, "u16": 7}


def string(text):
    return struct.pack("<I", len(text)) + text.encode()


def entry(tag, name, dtype, shape, data):
    head = string(tag) + string(name) + bytes([DTYPES[dtype], len(shape)])
    return head + b"".join(struct.pack("<q", n) for n in shape) + tensor_root(data)


def data_root(kind, fields, arrays):
    """arrays: (name, dtype, shape, bytes)."""
    return root([string("assay/data/1") + string(kind) + fields] + [entry("assay/array/1", *a) for a in arrays])


def batch_root(fields):
    """fields: (name, dtype, shape, bytes) in any order."""
    return root([entry("assay/batch/1", *f) for f in sorted(fields, key=lambda f: f[0].encode())])


def pattern(size):
    return bytes((i * 131 + (i >> 8)) & 255 for i in range(size))


def record(i):
    return bytes([i % 10]) + bytes((i * 7 + j * 13 + (j >> 8)) & 255 for j in range(3072))


if __name__ == "__main__":
    for count in (1, 2048, 5000):
        print("tokens", count, data_root("tokens", struct.pack("<q", count), [("tokens", "u16", [count], pattern(2 * count))]).hex())
    for count in (1, 7):
        data = b"".join(record(i) for i in range(count))
        print("cifar10", count, data_root("cifar10", struct.pack("<q", count), [("records", "u8", [count, 3073], data)]).hex())
    generated = struct.pack("<6qfQ", 0, 90, 4, 0, 0, 16, 0.5, 77)
    print("generated features", data_root("generated", generated, []).hex())
    generated = struct.pack("<6qfQ", 90, 100, 4, 8, 3, 0, 0.25, 2**63 + 5)
    print("generated images", data_root("generated", generated, []).hex())

    rows = 6
    images = pattern(4 * rows * 20 * 20 * 3)
    labels = struct.pack("<6i", *range(6))
    print("batch", batch_root([("labels", "i32", [rows], labels), ("images", "f32", [rows, 20, 20, 3], images)]).hex())
