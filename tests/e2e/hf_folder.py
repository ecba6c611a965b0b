#!/usr/bin/env python3
"""Writes folders in the layout in which Hugging Face publishes models, from the published formats alone: nothing here is Assay's.

hf_folder.py gpt2|llama|qwen2 FOLDER [--shards N] [--dtype F32|F16|BF16] [--tokenizer FILE] [--vocab N] [--base]
hf_folder.py weights FOLDER     prints name, type, shape and SHA-256 of every tensor, of one file or several, in name order
hf_folder.py loss FOLDER --tokens FILE --sequence N     the mean loss over the second half of a file of 16-bit tokens, as the architectures are published

--base leaves out the prefix of the model around the blocks, or puts one on gpt2's, as files of other classes have it.
"""
import argparse
import hashlib
import json
import math
import pathlib
import random
import shutil
import struct

SIZES = {"F32": 4, "F16": 2, "BF16": 2, "U8": 1}
WIDTH, HEADS, LAYERS, CONTEXT, HIDDEN = 32, 4, 2, 64, 80


def encode(values, dtype):
    if dtype == "F32":
        return struct.pack(f"<{len(values)}f", *values)
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    return b"".join(struct.pack("<f", v)[2:] for v in values)  # the upper half, which truncates


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {n: (t["dtype"], t["shape"], data[8 + length + t["data_offsets"][0] : 8 + length + t["data_offsets"][1]]) for n, t in header.items()}


def load(folder):
    folder = pathlib.Path(folder)
    index = folder / "model.safetensors.index.json"
    names = sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.exists() else ["model.safetensors"]
    all_tensors = {}
    for name in names:
        all_tensors |= read_safetensors(folder / name)
    return all_tensors


def weights(folder):
    for name, (dtype, shape, data) in sorted(load(folder).items()):
        print(name, dtype, shape, hashlib.sha256(data).hexdigest())


def decode(dtype, data):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]
    return list(struct.unpack(f"<{len(data) // SIZES[dtype]}{ {'F32': 'f', 'F16': 'e'}[dtype] }", data))


class Model:
    """One sequence at a time, in double precision, with the formulas of the published architectures."""

    def __init__(self, folder):
        self.config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.tensors = {}
        for name, (dtype, shape, data) in load(folder).items():
            name = name.removeprefix("transformer.").removeprefix("model.")
            if dtype == "U8":
                continue
            values = decode(dtype, data)
            self.tensors[name] = values if len(shape) == 1 else [values[i : i + shape[1]] for i in range(0, len(values), shape[1])]

    def linear(self, x, name):  # rows [in] by weights [out, in]
        bias = self.tensors.get(name + ".bias")
        rows = self.tensors[name + ".weight"]
        return [[sum(map(float.__mul__, row, w)) + (bias[j] if bias else 0.0) for j, w in enumerate(rows)] for row in x]

    def conv1d(self, x, name):  # weights [in, out]
        columns = list(zip(*self.tensors[name + ".weight"]))
        bias = self.tensors[name + ".bias"]
        return [[sum(map(float.__mul__, row, w)) + b for w, b in zip(columns, bias)] for row in x]

    def layer_norm(self, x, name):
        out = []
        for row in x:
            mean = sum(row) / len(row)
            scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / len(row) + self.config["layer_norm_epsilon"])
            out.append([(v - mean) * scale * g + b for v, g, b in zip(row, self.tensors[name + ".weight"], self.tensors[name + ".bias"])])
        return out

    def rms_norm(self, x, name):
        scales = [1 / math.sqrt(sum(v * v for v in row) / len(row) + self.config["rms_norm_eps"]) for row in x]
        return [[v * s * g for v, g in zip(row, self.tensors[name + ".weight"])] for row, s in zip(x, scales)]

    @staticmethod
    def attention(q, k, v, heads, kv_heads):
        width = len(q[0]) // heads
        out = []
        for t in range(len(q)):
            row = []
            for h in range(heads):
                at, kv = slice(h * width, (h + 1) * width), slice(h * kv_heads // heads * width, (h * kv_heads // heads + 1) * width)
                scores = [math.exp(sum(map(float.__mul__, q[t][at], k[s][kv])) / math.sqrt(width)) for s in range(t + 1)]
                row += [sum(p * v[s][kv][i] for s, p in enumerate(scores)) / sum(scores) for i in range(width)]
            out.append(row)
        return out

    def rotate(self, x, heads):
        width = len(x[0]) // heads
        half, out = width // 2, []
        for t, row in enumerate(x):
            turned = []
            for h in range(heads):
                head = row[h * width : (h + 1) * width]
                angles = [t / self.config["rope_theta"] ** (2 * i / width) for i in range(half)]
                turned += [head[i] * math.cos(a) - head[i + half] * math.sin(a) for i, a in enumerate(angles)]
                turned += [head[i + half] * math.cos(a) + head[i] * math.sin(a) for i, a in enumerate(angles)]
            out.append(turned)
        return out

    def gpt2(self, tokens):
        add = lambda a, b: [[u + v for u, v in zip(r, s)] for r, s in zip(a, b)]
        x = add([self.tensors["wte.weight"][t] for t in tokens], self.tensors["wpe.weight"])
        heads, width = self.config["n_head"], self.config["n_embd"]
        for i in range(self.config["n_layer"]):
            qkv = self.conv1d(self.layer_norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
            q, k, v = ([row[j * width : (j + 1) * width] for row in qkv] for j in range(3))
            x = add(x, self.conv1d(self.attention(q, k, v, heads, heads), f"h.{i}.attn.c_proj"))
            hidden = self.conv1d(self.layer_norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
            gelu = [[0.5 * u * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))) for u in row] for row in hidden]
            x = add(x, self.conv1d(gelu, f"h.{i}.mlp.c_proj"))
        return self.layer_norm(x, "ln_f"), self.tensors["wte.weight"]

    def llama(self, tokens):
        add = lambda a, b: [[u + v for u, v in zip(r, s)] for r, s in zip(a, b)]
        x = [self.tensors["embed_tokens.weight"][t] for t in tokens]
        heads, kv_heads = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        for i in range(self.config["num_hidden_layers"]):
            h = f"layers.{i}."
            normed = self.rms_norm(x, h + "input_layernorm")
            q, k, v = (self.linear(normed, f"{h}self_attn.{n}_proj") for n in "qkv")
            mixed = self.attention(self.rotate(q, heads), self.rotate(k, kv_heads), v, heads, kv_heads)
            x = add(x, self.linear(mixed, h + "self_attn.o_proj"))
            normed = self.rms_norm(x, h + "post_attention_layernorm")
            gate, up = self.linear(normed, h + "mlp.gate_proj"), self.linear(normed, h + "mlp.up_proj")
            inner = [[g / (1 + math.exp(-g)) * u for g, u in zip(a, b)] for a, b in zip(gate, up)]
            x = add(x, self.linear(inner, h + "mlp.down_proj"))
        return self.rms_norm(x, "norm"), self.tensors["embed_tokens.weight" if self.config["tie_word_embeddings"] else "lm_head.weight"]

    def losses(self, tokens, targets):
        x, outputs = self.gpt2(tokens) if self.config["model_type"] == "gpt2" else self.llama(tokens)
        for row, target in zip(x, targets):
            logits = [sum(map(float.__mul__, row, w)) for w in outputs]
            yield math.log(sum(map(math.exp, logits))) - logits[target]


def loss(folder, file, sequence):
    data = pathlib.Path(file).read_bytes()
    tokens = struct.unpack(f"<{len(data) // 2}H", data)
    tokens = tokens[len(tokens) - len(tokens) // 2 :]
    model, losses = Model(folder), []
    for at in range(0, len(tokens) - sequence, sequence):
        losses += model.losses(tokens[at : at + sequence], tokens[at + 1 : at + sequence + 1])
    print(sum(losses) / len(losses))


def gpt2_shapes(vocab):
    out = {"wte.weight": [vocab, WIDTH], "wpe.weight": [CONTEXT, WIDTH]}
    for i in range(LAYERS):
        for norm in ("ln_1", "ln_2"):
            out |= {f"h.{i}.{norm}.weight": [WIDTH], f"h.{i}.{norm}.bias": [WIDTH]}
        for name, inputs, outputs in (("attn.c_attn", 1, 3), ("attn.c_proj", 1, 1), ("mlp.c_fc", 1, 4), ("mlp.c_proj", 4, 1)):
            out |= {f"h.{i}.{name}.weight": [inputs * WIDTH, outputs * WIDTH], f"h.{i}.{name}.bias": [outputs * WIDTH]}
    return out | {"ln_f.weight": [WIDTH], "ln_f.bias": [WIDTH]}


def llama_shapes(vocab, bias, tied):
    keys = WIDTH // 2
    out = {"embed_tokens.weight": [vocab, WIDTH], "norm.weight": [WIDTH]}
    for i in range(LAYERS):
        layer = f"layers.{i}."
        for name, outputs in (("q", WIDTH), ("k", keys), ("v", keys)):
            out[f"{layer}self_attn.{name}_proj.weight"] = [outputs, WIDTH]
            if bias:
                out[f"{layer}self_attn.{name}_proj.bias"] = [outputs]
        out |= {layer + "self_attn.o_proj.weight": [WIDTH, WIDTH], layer + "mlp.down_proj.weight": [WIDTH, HIDDEN]}
        out |= {layer + f"mlp.{name}_proj.weight": [HIDDEN, WIDTH] for name in ("gate", "up")}
        out |= {layer + f"{name}_layernorm.weight": [WIDTH] for name in ("input", "post_attention")}
    return out if tied else out | {"lm_head.weight": [vocab, WIDTH]}


def configuration(kind, vocab, dtype):
    torch = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[dtype]
    if kind == "gpt2":
        return {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.0, "bos_token_id": 0, "embd_pdrop": 0.0,
                "eos_token_id": 0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": CONTEXT, "n_embd": WIDTH,
                "n_head": HEADS, "n_layer": LAYERS, "n_positions": CONTEXT, "resid_pdrop": 0.0, "torch_dtype": torch, "vocab_size": vocab}
    out = {"attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": WIDTH, "initializer_range": 0.02,
           "intermediate_size": HIDDEN, "max_position_embeddings": CONTEXT, "model_type": kind, "num_attention_heads": HEADS,
           "num_hidden_layers": LAYERS, "num_key_value_heads": HEADS // 2, "rms_norm_eps": 1e-06, "tie_word_embeddings": kind == "qwen2",
           "torch_dtype": torch, "use_cache": True, "vocab_size": vocab}
    if kind == "qwen2":
        return out | {"architectures": ["Qwen2ForCausalLM"], "rope_theta": 1000000.0, "sliding_window": 16, "use_sliding_window": False, "max_window_layers": 2}
    return out | {"architectures": ["LlamaForCausalLM"], "rope_theta": 10000.0, "rope_scaling": None, "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1}


def make(kind, folder, shards, dtype, tokenizer, vocab, base):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    shapes = gpt2_shapes(vocab) if kind == "gpt2" else llama_shapes(vocab, kind == "qwen2", kind == "qwen2")
    prefix = ("transformer." if base else "") if kind == "gpt2" else ("" if base else "model.")
    draw, tensors = random.Random(kind), {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        middle = 1.0 if "norm" in name or "ln_" in name and name.endswith("weight") else 0.0
        values = [middle + draw.gauss(0, 0.05) for _ in range(count)]
        tensors[name if name == "lm_head.weight" else prefix + name] = (dtype, shape, encode(values, dtype))
    if kind == "gpt2":  # what is stored besides
        for i in range(LAYERS):
            tensors[f"{prefix}h.{i}.attn.bias"] = ("U8", [1, 1, CONTEXT, CONTEXT], bytes(CONTEXT * CONTEXT))
    (folder / "config.json").write_text(json.dumps(configuration(kind, vocab, dtype), indent=2) + "\n")
    if tokenizer:
        shutil.copy(tokenizer, folder / "tokenizer.json")
    if shards == 1:
        return write_safetensors(folder / "model.safetensors", tensors)
    names, places = list(tensors), {}
    for k in range(shards):
        file = f"model-{k + 1:05}-of-{shards:05}.safetensors"
        write_safetensors(folder / file, {n: tensors[n] for n in names[k::shards]})
        places |= {n: file for n in names[k::shards]}
    index = {"metadata": {"total_size": sum(len(t[2]) for t in tensors.values())}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["gpt2", "llama", "qwen2", "weights", "loss"])
    parser.add_argument("folder")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--dtype", default="F32")
    parser.add_argument("--tokenizer")
    parser.add_argument("--vocab", type=int, default=400)
    parser.add_argument("--base", action="store_true")
    parser.add_argument("--tokens")
    parser.add_argument("--sequence", type=int)
    args = parser.parse_args()
    if args.kind == "weights":
        weights(args.folder)
    elif args.kind == "loss":
        loss(args.folder, args.tokens, args.sequence)
    else:
        make(args.kind, args.folder, args.shards, args.dtype, args.tokenizer, args.vocab, args.base)


main()
