#!/usr/bin/env python3
"""The state root of docs/formats/state.md, written from that page alone; prints the vector used in tree_test.cc."""

import hashlib
import struct


def sha256(data):
    return hashlib.sha256(data).digest()


def root(leaves):
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0])
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return sha256(b"\1" + root(leaves[:k]) + root(leaves[k:]))


def tensor_root(data):
    return root([data[i : i + 4096] for i in range(0, len(data), 4096)])


def state_root(tensors, tag=b"assay/state/1"):
    """tensors: (name, dtype code, shape, bytes) in any order."""
    leaves = []
    for name, dtype, shape, data in sorted(tensors, key=lambda t: t[0].encode()):
        name = name.encode()
        leaf = struct.pack("<I", len(tag)) + tag + struct.pack("<I", len(name)) + name
        leaf += struct.pack("<BB", dtype, len(shape)) + b"".join(struct.pack("<q", n) for n in shape)
        leaves.append(leaf + tensor_root(data))
    return root(leaves)


if __name__ == "__main__":
    values = bytes(range(24))
    tensors = [("bias", 1, [0], b""), ("step", 4, [], values[:8]), ("weight", 1, [2, 3], values)]
    print("state  ", state_root(tensors).hex())
    print("weights", state_root(tensors, b"assay/weights/1").hex())
