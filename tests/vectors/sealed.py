#!/usr/bin/env python3
"""Sealed files as docs/formats/sealed.md has them, written from that page, RFC 5869, 7748 and 8439 and BIP 173 alone.

Prints the vectors used in seal_test.cc, keys_test.cc and life/bound_test.cc. Randomness is the byte 0x01 again and again for the first request, 0x02 for the second and so on.
"""

import base64
import hashlib
import hmac
import struct

P = 2**255 - 19


def x25519(scalar, point):
    k = int.from_bytes(scalar, "little") & ~7 & (2**254 - 1) | 2**254
    u = int.from_bytes(point, "little") % 2**255
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        one = k >> bit & 1
        if one:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a, c * b
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        e = a * a - b * b
        x2, z2 = a * a * b * b % P, e * (a * a + 121665 * e) % P
        if one:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")


def chacha_block(key, counter, nonce):
    start = list(struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + nonce))
    s = list(start)

    def rotate(x, n):
        return (x << n | x >> 32 - n) & 0xffffffff

    def quarter(a, b, c, d):
        for first, second, third, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[first] = s[first] + s[second] & 0xffffffff
            s[third] = rotate(s[third] ^ s[first], n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((x + y) & 0xffffffff for x, y in zip(s, start)))


def encrypt(key, nonce, plain):
    stream = b"".join(chacha_block(key, 1 + i, nonce) for i in range((len(plain) + 63) // 64))
    sealed = bytes(a ^ b for a, b in zip(plain, stream))
    one_time = chacha_block(key, 0, nonce)
    r = int.from_bytes(one_time[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    text = sealed + bytes(-len(sealed) % 16) + struct.pack("<QQ", 0, len(sealed))
    for i in range(0, len(text), 16):
        total = (total + int.from_bytes(text[i:i + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return sealed + ((total + int.from_bytes(one_time[16:32], "little")) % 2**128).to_bytes(16, "little")


def hkdf(material, salt, info):
    extracted = hmac.digest(salt, material, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def raw64(data):
    return base64.b64encode(data).rstrip(b"=")


def bech32(prefix, data):
    digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    groups = [int(bits[i:i + 5], 2) for i in range(0, len(bits), 5)]

    def polymod(values):
        rest = 1
        for value in values:
            top = rest >> 25
            rest = (rest & 0x1ffffff) << 5 ^ value
            for i, g in enumerate((0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3)):
                rest ^= g if top >> i & 1 else 0
        return rest

    spread = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    sum_ = polymod(spread + groups + [0] * 6) ^ 1
    return prefix + "1" + "".join(digits[g] for g in groups + [sum_ >> 5 * (5 - i) & 31 for i in range(6)])


class Randomness:
    def __init__(self):
        self.calls = 0

    def take(self, size):
        self.calls += 1
        return bytes([self.calls]) * size


def seal(plain, recipients):
    random = Randomness()
    file_key = random.take(16)
    header = b"age-encryption.org/v1\n"
    for recipient in recipients:
        ephemeral = random.take(32)
        share = x25519(ephemeral, BASE)
        wrap = hkdf(x25519(ephemeral, recipient), share + recipient, b"age-encryption.org/v1/X25519")
        header += b"-> X25519 " + raw64(share) + b"\n" + raw64(encrypt(wrap, bytes(12), file_key)) + b"\n"
    header += b"---"
    header += b" " + raw64(hmac.digest(hkdf(file_key, b"", b"header"), header, "sha256")) + b"\n"
    nonce = random.take(16)
    key = hkdf(file_key, nonce, b"payload")
    chunks = [plain[i:i + 65536] for i in range(0, len(plain), 65536)] or [b""]
    return header + nonce + b"".join(
        encrypt(key, i.to_bytes(11, "big") + bytes([i == len(chunks) - 1]), chunk) for i, chunk in enumerate(chunks))


def bound(file_key, order, client, reply, name, sealed):
    statement = "".join(f"{line}\n" for line in ("assay/sealed/bound/1", order, client, reply, name, hashlib.sha256(sealed).hexdigest()))
    return hmac.digest(hkdf(file_key, b"", b"assay/sealed/bound/1"), statement.encode(), "sha256")


def main():
    recipients = []
    for byte in (0x42, 0x43):
        secret = bytes([byte]) * 32
        recipients.append(x25519(secret, BASE))
        print(bech32("age-secret-key-", secret).upper(), bech32("age", recipients[-1]))
    print("hello, one recipient:", seal(b"hello", recipients[:1]).hex())
    print("hello, bound:", bound(Randomness().take(16), bytes(range(16)).hex(), "client", bech32("age", recipients[1]), "job.toml",
                                 seal(b"hello", recipients[:1])).hex())
    print("nothing, two recipients:", seal(b"", recipients).hex())
    pattern = bytes(i * i // 251 % 256 for i in range(65537))
    for size in (65536, 65537):
        print(f"{size} bytes, two recipients, SHA-256:", hashlib.sha256(seal(pattern[:size], recipients)).hexdigest())


if __name__ == "__main__":
    main()
