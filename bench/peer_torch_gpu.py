#!/usr/bin/env python3
"""PyTorch's training steps on a GPU: what the CUDA backend is measured against.

Usage: peer_torch_gpu.py [--quick] [--only PATTERN]. Prints a JSON object per line for each configuration, for scripts/gpu_report.py:
{"section": "peer", "name", "precision", "variant", "step_ms" (median), "low_ms", "high_ms" (quartiles), "steps", "allocated_bytes",
"reserved_bytes" (peaks)}, or the same with "error" for one that failed, which does not end the rest. --quick runs eager FP32 alone; eager FP64 runs
where --only names it.

The models are those of scripts/torch_models.py, except that attention is F.scaled_dot_product_attention, PyTorch's fastest.
GPT-2-124M: dropout 0.1, fused AdamW with weight decay, gradients clipped at norm 1. ResNet-50: the CIFAR stem, fused SGD with
Nesterov momentum and weight decay. Inputs are random and stay on the device; no step waits for the host; CUDA events time them.
"""

import argparse
import contextlib
import functools
import gc
import json
import pathlib
import re
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import torch  # noqa: E402
import torch_models  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def fused_attention(self, x):
    batch, length, width = x.shape
    q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
               for part in self.c_attn(x).split(width, dim=2))
    joined = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
    return F.dropout(self.c_proj(joined.transpose(1, 2).reshape(batch, length, width)), self.dropout, self.training)


def gpt2(batch, length, capturable):
    model = torch_models.Gpt2(dropout=0.1).cuda()
    groups = torch_models.decay_groups(model, 0.1)
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=True, capturable=capturable)
    tokens = torch.randint(0, 50257, (batch, length + 1), device="cuda")
    return model, optimizer, (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()), 1.0


def resnet50(batch, layout):
    model = torch_models.ResNet(50).cuda().to(memory_format=layout)
    groups = torch_models.decay_groups(model, 5e-4)
    optimizer = torch.optim.SGD(groups, lr=1e-3, momentum=0.9, nesterov=True, fused=True)
    images = torch.randn(batch, 3, 32, 32, device="cuda").to(memory_format=layout)
    return model, optimizer, (images, torch.randint(0, 10, (batch,), device="cuda")), None


def make_step(setup, precision, compiled):
    model, optimizer, inputs, clip_norm = setup
    if precision == "fp64":
        model.double()
        inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    forward = torch.compile(model) if compiled else model
    parameters = list(model.parameters())

    def cast():
        return torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with cast():
            loss = forward(*inputs)
        loss.backward()
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip_norm)
        optimizer.step()
        return loss.detach()

    return step


def captured(step):
    """The whole step as one CUDA graph, which leaves the host nothing to do but to launch it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()  # the graph's memory is taken once, here
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


def measure(step, steps, seconds, graph):
    """Step times in milliseconds: 5 steps to warm up, then up to `steps` within about `seconds`, and no fewer than 5."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    if not graph:
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    steps = max(5, min(steps, int(seconds / (time.perf_counter() - start))))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        loss = step()
        mark.record()
    torch.cuda.synchronize()
    if not torch.isfinite(loss).item():
        raise RuntimeError(f"loss {loss.item()}")
    return [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]


def run(name, precision, variant, make, compiled=False, graph=False, benchmark=False):
    """Measures one configuration and prints its line."""
    record = {"section": "peer", "name": name, "precision": precision, "variant": variant}
    began = time.perf_counter()
    try:
        torch.manual_seed(1)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = benchmark
        step = make_step(make(), precision, compiled)
        times = measure(captured(step) if graph else step, 20, 4.0, graph)
        low, middle, high = statistics.quantiles(times, n=4)
        record.update(step_ms=round(middle, 4), low_ms=round(low, 4), high_ms=round(high, 4), steps=len(times),
                      allocated_bytes=torch.cuda.max_memory_allocated(), reserved_bytes=torch.cuda.max_memory_reserved())
    except Exception as error:  # one configuration that fails does not lose the others
        record["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    record["took_s"] = round(time.perf_counter() - began, 1)
    print(json.dumps(record), flush=True)
    step = None
    gc.collect()
    if compiled:
        torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def configurations(quick, double):
    """The arguments of run(): eager FP32 first, and last the compiled ones, because compiling takes most of the time."""
    lengths = (1024, 64)
    layouts = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}

    def language(length, precision, variant, **how):
        make = functools.partial(gpt2, 8, length, capturable="graph" in how)
        return dict(name=f"gpt2-124m b8 t{length}", precision=precision, variant=variant, make=make, **how)

    def vision(layout, precision, variant, **how):
        make = functools.partial(resnet50, 64, layouts[layout])
        return dict(name="resnet50 b64", precision=precision, variant=f"{variant} {layout}", make=make, **how)

    yield from (language(length, "fp32", "eager") for length in lengths)
    for layout in layouts:
        yield vision(layout, "fp32", "eager cudnn.benchmark", benchmark=True)
        yield vision(layout, "fp32", "eager")
    if double:
        yield from (language(length, "fp64", "eager") for length in lengths)
        yield vision("contiguous", "fp64", "eager")
    if quick:
        return
    yield from (language(length, "fp32", "eager CUDA graph", graph=True) for length in lengths)
    yield vision("contiguous", "fp32", "eager CUDA graph cudnn.benchmark", benchmark=True, graph=True)
    for precision in ("tf32", "bf16"):
        yield from (language(length, precision, "eager") for length in lengths)
        yield vision("channels_last", precision, "eager cudnn.benchmark", benchmark=True)
    yield from (language(length, "fp32", "torch.compile", compiled=True) for length in lengths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="configurations in whose name, precision and variant this regular expression is found")
    options = parser.parse_args()
    torch_models.Attention.forward = fused_attention
    machine = {"section": "machine", "name": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    print(json.dumps(machine), flush=True)
    for arguments in configurations(options.quick, "fp64" in options.only):
        if re.search(options.only, " ".join(arguments[key] for key in ("name", "precision", "variant"))):
            run(**arguments)


if __name__ == "__main__":
    main()
