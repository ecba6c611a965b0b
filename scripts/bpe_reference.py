#!/usr/bin/env python3
"""A plain byte-level byte pair encoder, the oracle for src/assay/data/bpe.cc and tokenizer_json.cc. Needs the `regex` module.

bpe_reference.py vectors           writes tests/vectors/bpe: a small trained vocabulary and encodings of ordinary and odd texts
bpe_reference.py tokenizers        writes tests/vectors/tokenizer_json: the same as tokenizer.json files, for each published pattern
bpe_reference.py convert IN OUT    writes OUT, a tokenizer.json, from GPT-2's encoder.json and vocab.bpe in the folder IN
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
MODERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3, QWEN2 = MODERN.format(r"\p{N}{1,3}"), MODERN.format(r"\p{N}")
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


def encode(text, encoder, ranks, cut=WORDS.findall, whole=False):
    out, known = [], {}
    for word in cut(text):
        if word not in known:
            symbols = spell(word)
            if whole and "".join(symbols) in encoder:
                symbols = ["".join(symbols)]
            while len(symbols) > 1:
                pair = min(zip(symbols, symbols[1:]), key=lambda p: ranks.get(p, 1 << 60))
                if pair not in ranks:
                    break
                symbols = merge(symbols, pair)
            known[word] = [encoder[s] for s in symbols]
        out += known[word]
    return out


def train(text, merges, cut=WORDS.findall):
    words = collections.Counter(cut(text))
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


def byte_level(prefix=False, cuts=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": cuts}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def digits(text):
    return [word for piece in regex.findall(r"\p{N}|\P{N}+", text) for word in WORDS.findall(piece)]


# By name: how text is cut, the pre-tokenizer that says so, whether a space goes in front, whether whole words come first.
STYLES = {
    "gpt2": (WORDS.findall, byte_level(), False, False),
    "gpt2_space": (WORDS.findall, byte_level(prefix=True), True, False),
    "llama3": (regex.compile(LLAMA3).findall, sequence(split(LLAMA3), byte_level(cuts=False)), False, True),
    "qwen2": (regex.compile(QWEN2).findall, sequence(split(QWEN2), byte_level(cuts=False)), False, False),
    "digits": (digits, sequence({"type": "Digits", "individual_digits": True}, byte_level()), False, False),
}
SPECIAL = ["<|endoftext|>", "<|end|>", "<|end|>\n", "naïve token"]


def added(number, content):
    rest = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": content, **rest}


def tokenizer(encoder, merges, pre, whole=False, extra=(), pairs=False):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    model |= {"fuse_unk": False, "byte_fallback": False, "ignore_merges": whole, "vocab": encoder}
    model["merges"] = [list(pair) if pairs else " ".join(pair) for pair in merges]
    head = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [added(n, c) for c, n in extra]}
    after = {"post_processor": byte_level(), "decoder": byte_level(), "model": model}
    return json.dumps(head | {"normalizer": None, "pre_tokenizer": pre} | after, ensure_ascii=False)


def more_texts():
    yield from odd_texts()
    yield from ["1234567 12 ½٣٤", "I'LL we'Ve 'ſ 'S", "a\r\n\r\n  b \t\n  ", "x = f(a)\n\n\tif (b) {\n", "!hello  ?you\u00a0there", "\n\n\n", "   \n", "£€ «so»..\r\nyes"]
    yield from [a + " <|endoftext|> b<|end|>\n<|end|> <|end| naïve tokens" + a for a in ("", "don't 12 ")]


def special_pieces(text, ids):
    pattern = "|".join(map(regex.escape, sorted(ids, key=len, reverse=True)))
    return regex.split(f"({pattern})", text)


def tokenizers():
    corpus = (ROOT / "src/assay/data/corpus.txt").read_text()
    folder = ROOT / "tests/vectors/tokenizer_json"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (cut, pre, space, whole) in STYLES.items():
        merges = train(corpus, 120, cut)
        tokens = [ALPHABET[b] for b in range(256)] + [a + b for a, b in merges]
        if whole:
            tokens.append("".join(spell(" whatsoever")))  # no merges make it
        encoder, ranks = {t: i for i, t in enumerate(tokens)}, {p: i for i, p in enumerate(merges)}
        extra = {c: len(tokens) + i for i, c in enumerate(SPECIAL)}
        if name == "gpt2":
            encoder[SPECIAL[0]] = extra[SPECIAL[0]]  # as GPT-2's is in its vocabulary, too
        (folder / f"{name}.json").write_text(tokenizer(encoder, merges, pre, whole, extra.items(), whole) + "\n", encoding="utf-8")

        def ids(text):
            return encode(" " + text if space and text and text[0] != " " else text, encoder, ranks, cut, whole)

        lines = []
        for text in [*more_texts(), "they whatsoever", corpus[2000:2300]]:
            with_special = [i for piece in special_pieces(text, extra) for i in ([extra[piece]] if piece in extra else ids(piece))]
            for kind, numbers in (("text", ids(text)), ("special", with_special)):
                lines.append(" ".join([kind, text.encode("utf-8").hex() or "-", *map(str, numbers)]) + "\n")
        (folder / f"{name}.txt").write_text("".join(lines))


def read_gpt2(folder):
    encoder = json.loads(pathlib.Path(folder, "encoder.json").read_text(encoding="utf-8"))
    lines = pathlib.Path(folder, "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    return encoder, [tuple(line.split(" ")) for line in filter(None, lines)]


def convert(folder, out):
    encoder, merges = read_gpt2(folder)
    end = {c: n for c, n in encoder.items() if c == SPECIAL[0]}
    pathlib.Path(out).write_text(tokenizer(encoder, merges, byte_level(), extra=end.items()), encoding="utf-8")


def count(folder, file):
    encoder, merges = read_gpt2(folder)
    ranks = {pair: i for i, pair in enumerate(merges)}
    ids = encode(pathlib.Path(file).read_text(encoding="utf-8"), encoder, ranks)
    digest = hashlib.sha256(b"".join(i.to_bytes(2, "little") for i in ids)).hexdigest()
    print(len(ids), digest)


if sys.argv[1:] == ["vectors"]:
    vectors()
elif sys.argv[1:] == ["tokenizers"]:
    tokenizers()
elif sys.argv[1:2] == ["convert"]:
    convert(*sys.argv[2:])
elif sys.argv[1:2] == ["count"]:
    count(*sys.argv[2:])
else:
    sys.exit(__doc__)
