#!/usr/bin/env python3
"""A plain GPT-2 byte pair encoder, the oracle for src/assay/data/bpe.cc. Needs the `regex` module.

bpe_reference.py vectors           writes tests/vectors/bpe: a small trained vocabulary and encodings of ordinary and odd texts
bpe_reference.py count FOLDER FILE prints how many tokens FILE has with the vocabulary in FOLDER, and a digest of them
"""
import collections
import hashlib
import json
import pathlib
import random
import sys
import unicodedata

import regex

WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def alphabet():
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {b: chr(b) for b in shown}
    rest = [b for b in range(256) if b not in table]
    table.update({b: chr(256 + i) for i, b in enumerate(rest)})
    return table


ALPHABET = alphabet()


def spell(text):
    return [ALPHABET[b] for b in text.encode("utf-8")]


def merge(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def encode(text, encoder, ranks):
    out, known = [], {}
    for word in WORDS.findall(text):
        if word not in known:
            symbols = spell(word)
            while len(symbols) > 1:
                pair = min(zip(symbols, symbols[1:]), key=lambda p: ranks.get(p, 1 << 60))
                if pair not in ranks:
                    break
                symbols = merge(symbols, pair)
            known[word] = [encoder[s] for s in symbols]
        out += known[word]
    return out


def train(text, merges):
    words = collections.Counter(WORDS.findall(text))
    split = {w: spell(w) for w in words}
    made, out = set(), []
    while len(out) < merges:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(split[word], split[word][1:]):
                pairs[pair] += count
        pair = max((p for p in pairs if p[0] + p[1] not in made), key=lambda p: (pairs[p], p))
        made.add(pair[0] + pair[1])
        out.append(pair)
        split = {w: merge(s, pair) for w, s in split.items()}
    return out


def odd_texts():
    rng = random.Random(2)
    letters = [c for c in map(chr, range(0x3000)) if unicodedata.category(c)[0] != "C"]
    yield from ["", " ", "  ", "\n\n a", "don't  we'll I'M 're", "x1 22³ ½", "\u00a0\u2003x", "tab\t\tend \t", "日本語 テスト", "🙂🙂 ok", "'", " 's"]
    for _ in range(60):
        yield "".join(rng.choice([" ", "'", rng.choice(letters), rng.choice("abcdest 019.,\n")]) for _ in range(rng.randrange(1, 30)))


def vectors():
    corpus = (ROOT / "src/assay/data/corpus.txt").read_text()
    merges = train(corpus, 300)
    tokens = [ALPHABET[b] for b in range(256)] + [a + b for a, b in merges]
    encoder, ranks = {t: i for i, t in enumerate(tokens)}, {p: i for i, p in enumerate(merges)}
    folder = ROOT / "tests/vectors/bpe"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "encoder.json").write_text(json.dumps(encoder))
    (folder / "vocab.bpe").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    lines = []
    for text in [*odd_texts(), corpus[2000:2600], corpus[-600:]]:
        ids = encode(text, encoder, ranks)
        lines.append(" ".join([text.encode("utf-8").hex() or "-", *map(str, ids)]) + "\n")
    (folder / "cases.txt").write_text("".join(lines))


def count(folder, file):
    encoder = json.loads(pathlib.Path(folder, "encoder.json").read_text(encoding="utf-8"))
    lines = pathlib.Path(folder, "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    ranks = {tuple(line.split(" ")): i for i, line in enumerate(filter(None, lines))}
    ids = encode(pathlib.Path(file).read_text(encoding="utf-8"), encoder, ranks)
    digest = hashlib.sha256(b"".join(i.to_bytes(2, "little") for i in ids)).hexdigest()
    print(len(ids), digest)


if sys.argv[1:] == ["vectors"]:
    vectors()
elif sys.argv[1:2] == ["count"]:
    count(*sys.argv[2:])
else:
    sys.exit(__doc__)
