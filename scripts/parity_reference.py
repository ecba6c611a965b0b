#!/usr/bin/python3
"""Writes tests/parity/{gpt2,resnet50}.json: PyTorch's loss and gradients of one batch and its loss over 50 steps.

The weights are our own initial ones, exported by build/release/tests/parity/parity_export; the data are integer formulas. Both are defined in
tests/parity/parity_case.h, whose constants this file repeats. The reference is PyTorch in binary64; PyTorch's own binary32 losses
are recorded beside it to show how far two correct binary32 implementations lie apart.

Usage: scripts/parity_reference.py [--export PATH] [gpt2] [resnet50]      (Debian 12: python3-torch, python3-numpy)
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch

import torch_models
from torch_models import Gpt2, ResNet, decay_groups

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = 50
SAMPLES = 4


def mix(x):
    x = np.asarray(x, dtype=np.uint32)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def draw(salt, step, index):
    return mix(np.asarray(index, dtype=np.uint32) + mix(np.array([step], dtype=np.uint32) + mix(np.array([salt], dtype=np.uint32))))


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = torch.from_numpy(np.frombuffer(raw[begin:end], dtype="<f4").reshape(entry["shape"]).copy())
    return tensors


class Gpt2Case:
    name = "gpt2"
    salts = range(1)
    lr, gradient_batch, training_batch, batches, time = 3e-4, 2, 2, 50, 32

    def model(self):
        return Gpt2(dropout=0.0)

    def optimizer(self, model):
        return torch.optim.AdamW(decay_groups(model, 0.1), lr=self.lr, betas=(0.9, 0.95), eps=1e-8)

    def clip(self, model):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    def data(self, salt, step, batch, dtype):
        symbols = draw(salt, step, np.arange(batch * (self.time + 1))).reshape(batch, -1) % 64
        tokens = torch.from_numpy((symbols * 785 + 11).astype(np.int64))
        return tokens[:, :-1], tokens[:, 1:].contiguous()


class ResNet50Case:
    name = "resnet50"
    salts = range(0, 400, 2)
    lr, gradient_batch, training_batch, batches, image = 1.5e-4, 4, 16, 4, 16

    def model(self):
        return ResNet(50)

    def optimizer(self, model):
        return torch.optim.SGD(decay_groups(model, 5e-4), lr=self.lr, momentum=0.9)

    def clip(self, model):
        pass

    def data(self, salt, step, batch, dtype):
        labels = (draw(salt + 1, step, np.arange(batch)) % 10).astype(np.int64)
        size = self.image * self.image * 3
        pixels = (draw(salt, step, np.arange(batch * size)) >> np.uint32(16)).astype(np.float64) / 32768 - 1
        pixels = pixels.reshape(batch, size) + ((labels - 4.5) / 8)[:, None]
        images = torch.from_numpy(pixels.reshape(batch, self.image, self.image, 3)).permute(0, 3, 1, 2)
        return images.contiguous().to(dtype), torch.from_numpy(labels)


def load(case, weights, dtype):
    model = case.model()
    own = model.state_dict()
    for name, value in weights.items():
        # Convolution weights are OHWI here and OIHW there.
        value = value.permute(0, 3, 1, 2) if value.dim() == 4 else value
        assert own[name].shape == value.shape, name
        own[name].copy_(value)
    missing = set(own) - set(weights)
    assert all(name.endswith("num_batches_tracked") for name in missing), missing
    return model.to(dtype)


def gradients(case, weights, salt, dtype, layout=torch.contiguous_format):
    model = load(case, weights, dtype).to(memory_format=layout)
    model(*case.data(salt, 0, case.gradient_batch, dtype)).backward()
    flat = {}
    for name, p in model.named_parameters():
        grad = p.grad.permute(0, 2, 3, 1) if p.grad.dim() == 4 else p.grad
        flat[name] = grad.reshape(-1).double()
    return flat


def disagreement(a, b):
    return max(((a[name] - b[name]).abs().max() / a[name].abs().max()).item() for name in a)


def margin(case, weights, salts):
    """For each salt the smallest distance of a ReLU's input from zero on the first batch, largest first."""
    model = load(case, weights, torch.float32)
    smallest = []
    relu, torch_models.F.relu = torch_models.F.relu, lambda x: smallest.append(x.abs().min().item()) or relu(x)
    found = []
    for salt in salts:
        smallest.clear()
        with torch.no_grad():
            model(*case.data(salt, 0, case.gradient_batch, torch.float32))
        found.append((min(smallest, default=1.0), salt))
    torch_models.F.relu = relu
    return [salt for _, salt in sorted(found, reverse=True)]


def choose_batch(case, weights):
    """A first batch on which binary32 and binary64 take the same side at every ReLU, so that gradients are comparable at all."""
    for salt in margin(case, weights, case.salts)[:20]:
        exact = gradients(case, weights, salt, torch.float64)
        distance = max(disagreement(exact, gradients(case, weights, salt, torch.float32, layout))
                       for layout in (torch.contiguous_format, torch.channels_last))
        print(f"{case.name} salt {salt}: binary32 gradients within {distance:.1e}", file=sys.stderr)
        if distance < 2e-5:
            return salt, exact
    raise SystemExit(f"{case.name}: no well-conditioned batch found")


def train(case, weights, salt, dtype):
    model = load(case, weights, dtype)
    optimizer = case.optimizer(model)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(*case.data(salt, step % case.batches, case.training_batch, dtype))
        loss.backward()
        case.clip(model)
        optimizer.step()
        losses.append(loss.item())
        print(f"{case.name} {dtype} step {step}: {losses[-1]:.6f}", file=sys.stderr)
    return losses


def significant(value):
    return float(f"{value:.9g}")


def reference(case, export):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "weights.safetensors"
        subprocess.run([export, case.name, path], check=True)
        weights = read_safetensors(path)
    salt, exact = choose_batch(case, weights)
    entries = {}
    for position, (name, grad) in enumerate(sorted(exact.items())):
        indices = [int(i) % grad.numel() for i in mix(np.arange(SAMPLES) + 1000 * position)]
        entries[name] = {
            "norm": significant(grad.norm().item()),
            "max": significant(grad.abs().max().item()),
            "samples": [[i, significant(grad[i].item())] for i in indices],
        }
    return {
        "made_by": "scripts/parity_reference.py",
        "torch": torch.__version__,
        "salt": salt,
        "loss": [significant(v) for v in train(case, weights, salt, torch.float64)],
        "loss_binary32": [significant(v) for v in train(case, weights, salt, torch.float32)],
        "gradients": entries,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--export", default=ROOT / "build/release/tests/parity/parity_export")
    parser.add_argument("cases", nargs="*", default=["gpt2", "resnet50"])
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    for case in (Gpt2Case(), ResNet50Case()):
        if case.name not in options.cases:
            continue
        result = reference(case, options.export)
        # One gradient a line, so that a change can be read.
        lines = [f'  "{key}": {json.dumps(value)}' for key, value in result.items() if key != "gradients"]
        rows = ",\n".join(f'    "{name}": {json.dumps(entry)}' for name, entry in result["gradients"].items())
        lines.append('  "gradients": {\n' + rows + "\n  }")
        (ROOT / "tests/parity" / f"{case.name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
