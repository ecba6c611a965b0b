#!/usr/bin/python3
"""PyTorch's training steps, one per line read: the peer of bench/steps.cc (same commands, same answers).

Usage: peer_torch.py MODEL BATCH THREADS DROPOUT, MODEL gpt2-124m (T = 128, AdamW) or resnet50 (CIFAR stem, SGD with momentum).
Answers "ready", then to each line "step" the seconds one step took, and to "memory" the peak resident set in bytes.
The caller sets OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to THREADS. Runs with Debian 12's /usr/bin/python3 and torch 1.13.1.
"""

import pathlib
import resource
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import torch  # noqa: E402
from torch_models import Gpt2, ResNet, decay_groups  # noqa: E402


def make_step(name, batch, dropout):
    torch.manual_seed(1)
    if name == "gpt2-124m":
        model = Gpt2(dropout=dropout)
        optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=1e-4, betas=(0.9, 0.95))
        tokens = torch.randint(0, 50257, (batch, 129))
        inputs = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    else:
        # channels_last is this release's faster layout.
        model = ResNet(50).to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(decay_groups(model, 5e-4), lr=1e-3, momentum=0.9)
        images = torch.randn(batch, 3, 32, 32).to(memory_format=torch.channels_last)
        inputs = images, torch.randint(0, 10, (batch,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(*inputs)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main():
    name, batch, threads, dropout = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(threads)
    step = make_step(name, batch, dropout)
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "memory":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
            continue
        start = time.perf_counter()
        step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
