#!/usr/bin/env python3
"""FP64 products on a GPU, cut along K: what it costs, and whether cuBLAS and the CPU's BLAS then differ (docs/ROUNDING.md, section 3). Needs PyTorch with CUDA."""
import time

import torch

SHAPES = [(512, 768, 768), (512, 3072, 768), (512, 768, 3072), (768, 3072, 512), (512, 50257, 768), (512, 768, 50257), (2048, 2048, 2048), (64, 576, 65536)]
BLOCKS = (128, 256, 512, 1024)
UNIT = 2.0**-53


def product(a, b, block):
    out = torch.mm(a[:, :block], b[:block])
    for k in range(block, a.shape[1], block):
        out.addmm_(a[:, k : k + block], b[k : k + block])
    return out


def milliseconds(a, b, block, repeat=10):
    for _ in range(3):
        product(a, b, block)
    torch.cuda.synchronize()
    began = time.time()
    for _ in range(repeat):
        product(a, b, block)
    torch.cuda.synchronize()
    return (time.time() - began) / repeat * 1e3


def operand(rows, columns, kind, generator):
    x = torch.randn(rows, columns, generator=generator)
    if kind == "spread":
        x = x * torch.exp(3 * torch.randn(rows, columns, generator=generator))
    return (x.abs() if kind == "positive" else x).float().double()


def compare(elements, side=4096):
    """The largest difference over D, and how many elements differ at all."""
    done, worst, differ, seed = 0, 0.0, 0, 0
    while done < elements:
        for k, kind in ((768, "normal"), (3072, "normal"), (512, "spread"), (768, "positive"), (64, "normal")):
            generator = torch.Generator().manual_seed(seed)
            seed += 1
            a, b = operand(side, k, kind, generator), operand(k, side, kind, generator)
            cpu = product(a, b, 128).cuda()
            a, b = a.cuda(), b.cuda()
            difference = (product(a, b, 128) - cpu).abs()
            depth = min(k, 128) + (k + 127) // 128
            bound = 2 * depth * UNIT * a.norm(dim=1, keepdim=True) * b.norm(dim=0, keepdim=True)
            worst = max(worst, (difference / bound).max().item())
            differ += int((difference > 0).sum().item())
            done += side * side
    return done, worst, differ


print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
print("| m, n, k | one call, ms | " + " | ".join(f"blocks of {b}" for b in BLOCKS) + " |")
for m, n, k in SHAPES:
    a, b = torch.randn(m, k, device="cuda", dtype=torch.float64), torch.randn(k, n, device="cuda", dtype=torch.float64)
    cells = [f"{milliseconds(a, b, block):.3f}" if block < k else "" for block in BLOCKS]
    print(f"| {m}, {n}, {k} | {milliseconds(a, b, k):.3f} | " + " | ".join(cells) + " |", flush=True)
print("{} elements of products in blocks of 128, GPU against CPU: largest difference / D {:.5f}, {} differ".format(*compare(1.3e9)))
