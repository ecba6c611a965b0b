// What a rounding log says of one element, read in parts: docs/formats/rounding.md. `read(begin, end)` gives bytes of the log; a Failure: it is no such log.
import zlib from "node:zlib";
import { need, Reader } from "../judge/formats.mjs";
import { fromBits } from "./grid.mjs";

const SEGMENT = 4096,
  MOST = 176128;

class Model {
  p = 32768;
  n = 0;
  learn(bit) {
    this.p += bit ? -Math.floor(this.p / (this.n + 2)) : Math.floor((65536 - this.p) / (this.n + 2));
    this.n = Math.min(254, this.n + 1);
  }
}
const models = (count) => Array.from({ length: count }, () => new Model());

class Decoder {
  constructor(bytes) {
    Object.assign(this, { bytes, range: 2 ** 32 - 1, code: 0, next: 0, shifted: 0, possible: true });
    this.code = this.more(32);
    this.possible = this.code < this.range;
  }
  // The next bits; zeros follow the last byte.
  more(count) {
    let value = 0;
    for (let i = 0; i < count; ++i, ++this.next) {
      const byte = this.bytes[this.next >> 3] ?? 0;
      value = 2 * value + ((byte >> (7 - (this.next & 7))) & 1);
    }
    return value;
  }
  normalise() {
    let s = 0;
    while (this.range * 2 ** s < 2 ** 31) ++s;
    this.range *= 2 ** s;
    this.code = this.code * 2 ** s + this.more(s);
    this.shifted += s;
  }
  bit(model) {
    const bound = Math.floor((this.range * model.p) / 65536),
      bit = this.code >= bound ? 1 : 0;
    if (bit) {
      this.code -= bound;
      this.range -= bound;
    } else this.range = bound;
    model.learn(bit);
    this.normalise();
    return bit;
  }
  piece(count) {
    this.range = Math.floor(this.range / 2 ** count);
    let v = Math.floor(this.code / this.range);
    if (v >= 2 ** count) {
      this.possible = false;
      v = 0;
    }
    this.code -= v * this.range;
    // What no writer wrote is arbitrary, but stays a number of 32 bits.
    this.code %= 2 ** 32;
    this.normalise();
    this.code %= 2 ** 32;
    return v;
  }
  // As a BigInt.
  raw(count) {
    let value = 0n,
      left = count;
    for (; left > 16; left -= 16) value = (value << 16n) | BigInt(this.piece(16));
    return (value << BigInt(left)) | BigInt(this.piece(left));
  }
  symbol(tree, bits) {
    let node = 1;
    for (let i = 0; i < bits; ++i) node = 2 * node + this.bit(tree[node]);
    return node - 2 ** bits;
  }
  // Whether a writer would have finished with exactly these bytes.
  whole() {
    const bits = this.shifted + 1,
      length = Math.ceil(bits / 8);
    if (!this.possible || this.bytes.length !== length) return false;
    return (this.bytes[length - 1] & (2 ** (8 * length - bits) - 1)) === 0 && this.code < 2 ** 31;
  }
}

// Decisions about elements [begin, end), the first about `begin`.
function decodeSegment(bytes, count, begin, end) {
  const coder = new Decoder(bytes),
    length = models(64),
    top = Array.from({ length: 64 }, () => models(4)),
    wide = new Model(),
    modulus = models(16),
    exponent = models(256),
    low = models(8),
    decisions = new Map();
  const gap = () => {
    const n = coder.symbol(length, 6);
    if (n === 0) return 0n;
    let value = 1n,
      rest = n - 1;
    if (rest >= 2) {
      value = (value << 2n) | BigInt(coder.symbol(top[n], 2));
      rest -= 2;
    }
    return (value << BigInt(rest)) | coder.raw(rest);
  };
  const value = () => {
    let bits = (coder.raw(1) << 8n) | BigInt(coder.symbol(exponent, 8));
    bits = (bits << 15n) | coder.raw(15);
    for (let i = 7; i >= 0; --i) bits = (bits << 1n) | BigInt(coder.bit(low[i]));
    return fromBits(Number(bits));
  };
  let next = begin;
  for (let i = 0; i < count; ++i) {
    const skipped = i === 0 ? 0n : gap();
    need(skipped < BigInt(end - next), "log: a decision about no element of the segment");
    const position = next + Number(skipped);
    next = position + 1;
    if (!coder.bit(wide)) {
      decisions.set(position, { wide: false, up: coder.raw(1) === 1n });
      continue;
    }
    const m = coder.symbol(modulus, 4);
    need(m <= 12, "log: a modulus of more than 12 bits");
    decisions.set(position, m === 0 ? { wide: true, modulus: 0, value: value() } : { wide: true, modulus: m, residue: Number(coder.raw(m)) });
  }
  need(coder.whole(), "log: a segment that is not of its one form");
  return decisions;
}

const u64 = (bytes, at) => Number(bytes.readBigUInt64LE(at));

// The decision about a position of a step with so many elements, if there is one.
export function findDecision(size, read, elements, position) {
  need(size >= 36 && Math.floor((size - 36) / (16 + MOST)) <= Math.floor(elements / SEGMENT) + 1, "log: no log of so many elements");
  const r = new Reader(read(0, 36), "log");
  need(r.string() === "assay/rounding/3" && r.u64() === elements, "log: another tag or step");
  const decisions = r.u64(),
    segments = Math.ceil(decisions / SEGMENT);
  r.end();
  need(decisions <= elements && 16 * segments <= size - 36, "log: more decisions than it can hold");
  const coded = size - 36 - 16 * segments,
    countOf = (segment) => Math.min(SEGMENT, decisions - segment * SEGMENT),
    entry = (segment) => {
      const bytes = read(36 + 16 * segment, 52 + 16 * segment);
      return { end: u64(bytes, 0), first: u64(bytes, 8) };
    };
  const check = (segment, before, { end, first }) => {
    const least = before ? before.first + 1 : 0,
      begin = before?.end ?? 0;
    need(first >= least && first < elements, "log: where a segment starts");
    need(end > begin && end <= coded && (segment + 1 < segments || end === coded), "log: where a segment ends");
    need(end - begin <= MOST && countOf(segment) <= 8 * (end - begin), "log: how long a segment is");
  };
  if (segments === 0 || position < entry(0).first) return undefined;
  let [at, high] = [0, segments];
  while (high - at > 1) {
    const middle = at + Math.floor((high - at) / 2);
    if (entry(middle).first <= position) at = middle;
    else high = middle;
  }
  const before = at > 0 ? entry(at - 1) : undefined,
    here = entry(at);
  check(at, before, here);
  let end = elements;
  if (at + 1 < segments) {
    const after = entry(at + 1);
    check(at + 1, here, after);
    end = after.first;
  }
  const base = 36 + 16 * segments,
    bytes = read(base + (before?.end ?? 0), base + here.end);
  return decodeSegment(bytes, countOf(at), here.first, end).get(position);
}

// By the published rule: the symbol of a position.
export function findSymbol(size, read, elements, position) {
  const each = 327680,
    segments = Math.ceil(elements / each);
  need(size >= 35 && size <= 35 + segments * (8 + 66560), "log: no log of so many elements");
  const r = new Reader(read(0, 35), "log");
  need(r.string() === "assay/rounding-paper/2" && r.u64() === elements && position < elements, "log: another tag or step");
  const form = r.u8();
  r.end();
  need(form <= 1, "log: form");
  const base = 35 + 8 * segments,
    segment = Math.floor(position / each);
  need(8 * segments <= size - 35, "log: more symbols than it can hold");
  const endOf = (i) => u64(read(35 + 8 * i, 43 + 8 * i), 0),
    begin = segment > 0 ? endOf(segment - 1) : 0,
    end = endOf(segment),
    coded = size - base;
  need(begin < end && end <= coded && end - begin <= 66560 && (segment + 1 < segments || end === coded), "log: where a segment lies");
  const bytes = read(base + begin, base + end),
    count = Math.min(each, elements - segment * each),
    packed = form === 0 ? bytes : inflated(bytes, Math.ceil(count / 5));
  need(packed.length === Math.ceil(count / 5), "log: length of a segment");
  packed.forEach((byte, i) => need(byte < 3 ** Math.min(5, count - 5 * i), "log: a byte that is not five symbols"));
  const place = position % each;
  return Math.floor(packed[Math.floor(place / 5)] / 3 ** (place % 5)) % 3;
}
function inflated(bytes, length) {
  try {
    const { buffer, engine } = zlib.inflateSync(bytes, { info: true, maxOutputLength: length });
    need(engine.bytesWritten === bytes.length, "log: bytes after a segment");
    return buffer;
  } catch {
    need(false, "log: a segment that is not compressed");
  }
}
