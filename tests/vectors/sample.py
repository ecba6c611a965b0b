#!/usr/bin/env python3
"""Which segments a sampled audit draws, from docs/formats/receipt.md alone. Gave the vector in src/assay/run/segments_test.cc."""

import hashlib
import struct


def draw(receipt_hash, nonce, n, k):
    tag = b"assay/sample/1"
    seed = hashlib.sha256(struct.pack("<I", len(tag)) + tag + receipt_hash + struct.pack("<Q", len(nonce)) + nonce).digest()
    counter = 0

    def below(bound):
        nonlocal counter
        limit = (2**64 - 1) // bound * bound
        while True:
            number = int.from_bytes(hashlib.sha256(seed + struct.pack("<Q", counter)).digest()[:8], "little")
            counter += 1
            if number < limit:
                return number % bound

    items = list(range(n))
    for i in range(k):
        j = i + below(n - i)
        items[i], items[j] = items[j], items[i]
    return sorted(items[:k])


print(draw(hashlib.sha256(b"receipt").digest(), bytes([1, 2, 3]), 20, 5))
