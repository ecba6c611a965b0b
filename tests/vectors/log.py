#!/usr/bin/env python3
"""The formats of docs/formats/log.md and receipt.md, written from those pages, RFC 8032 and the C2SP pages alone.

Prints the vectors used in key_test.cc, note_test.cc, tiles_test.cc and dsse_test.cc. Ed25519 is RFC 8032's own description in integers.
"""

import base64
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    k = D * x1 * x2 * y1 * y2 % P
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P


def multiply(scalar, point):
    out = (0, 1)
    while scalar:
        if scalar & 1:
            out = add(out, point)
        point = add(point, point)
        scalar >>= 1
    return out


def base_point():
    y = 4 * pow(5, -1, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (P - x if x & 1 else x), y


def encode(point):
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def number(data):
    return int.from_bytes(data, "little")


def expand(seed):
    hashed = hashlib.sha512(seed).digest()
    return (number(hashed[:32]) & ((1 << 254) - 8)) | 1 << 254, hashed[32:]


def public_key(seed):
    return encode(multiply(expand(seed)[0], base_point()))


def sign(seed, message):
    scalar, prefix = expand(seed)
    nonce = number(hashlib.sha512(prefix + message).digest()) % L
    r = encode(multiply(nonce, base_point()))
    challenge = number(hashlib.sha512(r + public_key(seed) + message).digest()) % L
    return r + ((nonce + challenge * scalar) % L).to_bytes(32, "little")


def b64(data):
    return base64.b64encode(data).decode()


def key_hash(name, public):
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]


def keys(name, seed):
    public = public_key(seed)
    tail = f"{name}+{key_hash(name, public).hex()}+"
    return "PRIVATE+KEY+" + tail + b64(b"\x01" + seed), tail + b64(b"\x01" + public)


def checkpoint(origin, size, root, name, seed):
    text = f"{origin}\n{size}\n{b64(root)}\n"
    return text + f"\n\u2014 {name} " + b64(key_hash(name, public_key(seed)) + sign(seed, text.encode())) + "\n"


def envelope(kind, payload, name, seed):
    message = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    keyid = f"{name}+{key_hash(name, public_key(seed)).hex()}"
    return (f'{{"payload":"{b64(payload)}","payloadType":"{kind}",'
            f'"signatures":[{{"keyid":"{keyid}","sig":"{b64(sign(seed, message))}"}}]}}\n')


def tree_root(hashes):
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while 2 * k < len(hashes):
        k *= 2
    return hashlib.sha256(b"\1" + tree_root(hashes[:k]) + tree_root(hashes[k:])).digest()


def tile_index(n):
    groups = [f"{n % 1000:03}"]
    while n >= 1000:
        n //= 1000
        groups.insert(0, f"x{n % 1000:03}")
    return "/".join(groups)


def tiles(entries):
    """Path and content of every file of the log of these entries."""
    files, leaves = {}, [hashlib.sha256(b"\0" + e).digest() for e in entries]
    level = 0
    while 256**level <= len(entries):
        span = 256**level
        hashes = [tree_root(leaves[i * span : (i + 1) * span]) for i in range(len(entries) // span)]
        for n in range(0, len(hashes), 256):
            part = hashes[n : n + 256]
            files[f"tile/{level}/{tile_index(n // 256)}" + (f".p/{len(part)}" if len(part) < 256 else "")] = b"".join(part)
        level += 1
    for n in range(0, len(entries), 256):
        part = entries[n : n + 256]
        files[f"tile/entries/{tile_index(n // 256)}" + (f".p/{len(part)}" if len(part) < 256 else "")] = b"".join(
            len(e).to_bytes(2, "big") + e for e in part)
    return files


def files_digest(files):
    """One digest over all files, in the order of their paths."""
    out = hashlib.sha256()
    for path in sorted(files):
        out.update(path.encode() + b"\n" + hashlib.sha256(files[path]).hexdigest().encode() + b"\n")
    return out.hexdigest()


if __name__ == "__main__":
    seed, name = bytes(range(32)), "example.org/Trainer_1.a-b"
    print(*keys(name, seed), sep="\n")
    print(checkpoint("example.org/log", 20852163, hashlib.sha256(b"root").digest(), name, seed), end="")
    print(envelope("application/vnd.in-toto+json", b'{"_type":"https://in-toto.io/Statement/v1"}', name, seed), end="")
    for size in (1, 255, 256, 257, 512, 70000):
        files = tiles([i.to_bytes(4, "little") * (i % 7) for i in range(size)])
        print(size, len(files), files_digest(files))
