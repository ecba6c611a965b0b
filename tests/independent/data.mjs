// Samples, descriptors and data roots: docs/formats/data.md, docs/NUMERICS.md section 4.
import crypto from "node:crypto";
import { div, f, fma, sub } from "./arithmetic.mjs";
import { draw, keyOf, philox } from "./random.mjs";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash("sha256")).digest();
const u32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const i64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return bytes;
};
const f32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
};
const string = (text) => Buffer.concat([u32(text.length), Buffer.from(text)]);

export const keptBack = (items, share) => Math.floor(items * share);
export const tokenSamples = (tokens, sequence, stride) => Math.floor((tokens - sequence - 1) / stride) + 1;

// The first leaf of a data root.
export function descriptor(kind, data) {
  const head = [string("assay/data/1"), string(kind)];
  if (kind !== "generated") return Buffer.concat([...head, i64(data.count)]);
  const { begin, end, classes, image: side, channels, features, noise, seed } = data;
  return Buffer.concat([...head, ...[begin, end, classes, side, channels, features].map(i64), f32(noise), i64(seed)]);
}
// The root over the descriptor and the leaves of the arrays, of which there is one at most.
export function dataRoot(first, arrayLeaves) {
  const hashes = [first, ...arrayLeaves].map((leaf) => sha256(Buffer.of(0), leaf));
  return hashes.length === 1 ? hashes[0] : sha256(Buffer.of(1), ...hashes);
}

// The root over leaves (state.md, "Trees").
function treeRoot(leaves) {
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0]);
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return sha256(Buffer.of(1), treeRoot(leaves.slice(0, k)), treeRoot(leaves.slice(k)));
}
// The data root of a part of tokens.
export function tokensRoot(tokens) {
  const bytes = Buffer.from(Uint16Array.from(tokens).buffer),
    blocks = [];
  for (let at = 0; at < bytes.length; at += 4096) blocks.push(bytes.subarray(at, at + 4096));
  const entry = [string("assay/array/1"), string("tokens"), Buffer.of(7, 1), i64(tokens.length), treeRoot(blocks)];
  return dataRoot(descriptor("tokens", { count: tokens.length }), [Buffer.concat(entry)]);
}
// The tokens of a text by characters: each byte's place among the distinct ones.
export function characters(text) {
  const places = new Map([...new Set(text)].sort((a, b) => a - b).map((byte, i) => [byte, i]));
  return { vocabulary: places.size, tokens: [...text].map((byte) => places.get(byte)) };
}

// Sample `index` of a generated part.
export function generatedSample({ begin, classes, image: side, channels, features, noise, seed }, index) {
  const key = keyOf(seed),
    i = begin + index,
    label = i % classes,
    place = [i % 2 ** 32, Math.floor(i / 2 ** 32)],
    u = (word) => ((word >>> 8) - 2 ** 23) * 2 ** -23,
    pattern = (j) => u(draw(key, j, 0x50000000, label, 0)),
    noisy = (j, value) => fma(noise, u(draw(key, j, 0x50000001, ...place)), value);
  if (side === 0) return { label, values: [...Array(features).keys()].map((j) => noisy(j, pattern(j))) };
  const shift = (j) =>
      Number((BigInt(draw(key, j, 0x50000002, ...place)) * BigInt(Math.floor(side / 4) + 1)) >> 32n),
    [dy, dx] = [shift(0), shift(1)],
    patch = (at) => Math.floor(((at % side) * 4) / side),
    values = [];
  for (let h = 0; h < side; ++h)
    for (let w = 0; w < side; ++w)
      for (let c = 0; c < channels; ++c)
        values.push(noisy((h * side + w) * channels + c, pattern((patch(h + dy) * 4 + patch(w + dx)) * channels + c)));
  return { label, values };
}

// The image of a CIFAR-10 record, [32, 32, 3]; `place` {seed, step, position} where it is augmented.
export function image(record, place) {
  const mean = [0.4914, 0.4822, 0.4465].map(f),
    deviation = [0.247, 0.2435, 0.2616].map(f);
  let [dy, dx, mirrored] = [0, 0, false];
  if (place) {
    const block = philox(keyOf(place.seed), [place.position % 2 ** 32, 0x30000000, place.step, 0]),
      offset = (word) => Number((BigInt(word) * 9n) >> 32n) - 4;
    [dy, dx, mirrored] = [offset(block[0]), offset(block[1]), block[2] >>> 31 === 1];
  }
  const values = [];
  for (let h = 0; h < 32; ++h)
    for (let w = 0; w < 32; ++w)
      for (let c = 0; c < 3; ++c) {
        const [y, x] = [h + dy, (mirrored ? 31 - w : w) + dx],
          inside = y >= 0 && y < 32 && x >= 0 && x < 32;
        values.push(inside ? div(sub(div(record[1 + c * 1024 + y * 32 + x], 255), mean[c]), deviation[c]) : 0);
      }
  return values;
}
