#!/usr/bin/env python3
"""make_arrays.py FOLDER [spiral]: small arrays of data as NumPy and safetensors would save them, written without either.

vectors.npz      x f32[60, 6], y i64[60]: compressed
vectors          the same as a folder of .npy files
vectors.safetensors    the same
images.npz       x u8[48, 2, 8, 12], y u8[48]: images of two channels, wider than high, stored as they are
cifar100         train.bin and test.bin: records of two labels and 3 planes of 32 x 32 bytes

With `spiral`, examples/arrays instead: x.npy f32[150, 2], y.npy i64[150], points on three arms of a spiral, shuffled.

Inputs of class k lie round a value of their own, so that there is something to learn. Everything follows from one seed, which is printed."""

import io
import json
import math
import pathlib
import random
import struct
import sys
import zipfile

SEED = 20260


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(path, arrays, compression):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:  # as numpy.savez does
                member.write(array)


def safetensors(path, tensors):
    """tensors: name -> (type, shape, bytes)."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def spiral(folder, draw):
    points = []
    for i in range(150):
        radius = 0.1 + i // 3 / 50
        angle = 2 * math.pi * (i % 3 / 3 + radius / 2)
        points.append((radius * math.cos(angle) + draw.gauss(0, 0.02), radius * math.sin(angle) + draw.gauss(0, 0.02), i % 3))
    draw.shuffle(points)
    folder.mkdir(exist_ok=True)
    (folder / "x.npy").write_bytes(npy("<f4", (150, 2), b"".join(struct.pack("<2f", *point[:2]) for point in points)))
    (folder / "y.npy").write_bytes(npy("<i8", (150,), struct.pack("<150q", *(point[2] for point in points))))


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = random.Random(SEED)
    print(f"seed {SEED}")
    if sys.argv[2:] == ["spiral"]:
        spiral(folder, draw)
        return
    labels = [i % 3 for i in range(60)]
    x = b"".join(struct.pack("<6f", *(draw.gauss(k - 1, 0.5) for _ in range(6))) for k in labels)
    y = struct.pack("<60q", *labels)
    npz(folder / "vectors.npz", {"x": npy("<f4", (60, 6), x), "y": npy("<i8", (60,), y)}, zipfile.ZIP_DEFLATED)
    (folder / "vectors").mkdir()
    (folder / "vectors" / "x.npy").write_bytes(npy("<f4", (60, 6), x))
    (folder / "vectors" / "y.npy").write_bytes(npy("<i8", (60,), y))
    safetensors(folder / "vectors.safetensors", {"x": ("F32", [60, 6], x), "y": ("I64", [60], y)})

    images = bytes(min(255, 60 * (i % 4) + draw.randrange(60)) for i in range(48) for _ in range(2 * 8 * 12))
    npz(folder / "images.npz", {"x": npy("|u1", (48, 2, 8, 12), images), "y": npy("|u1", (48,), bytes(i % 4 for i in range(48)))},
        zipfile.ZIP_STORED)

    (folder / "cifar100").mkdir()
    for name, count in (("train.bin", 24), ("test.bin", 8)):
        records = io.BytesIO()
        for i in range(count):
            records.write(bytes([i % 20, 99 - i % 100]) + bytes(draw.randrange(256) for _ in range(3072)))
        (folder / "cifar100" / name).write_bytes(records.getvalue())


if __name__ == "__main__":
    main()
