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
  if (kind === "arrays") {
    const { count, dtype, sample } = data;
    return Buffer.concat([...head, i64(count), Buffer.of(dtype, sample.length), ...sample.map(i64)]);
  }
  if (kind === "cifar100") return Buffer.concat([...head, i64(data.count), i64(data.classes)]);
  if (kind !== "generated") return Buffer.concat([...head, i64(data.count)]);
  const { begin, end, classes, image: side, channels, features, noise, seed } = data;
  return Buffer.concat([...head, ...[begin, end, classes, side, channels, features].map(i64), f32(noise), i64(seed)]);
}
// The root over the descriptor and the leaves of the arrays.
export const dataRoot = (first, arrayLeaves) => treeRoot([first, ...arrayLeaves]);

// The root over leaves (state.md, "Trees").
function treeRoot(leaves) {
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0]);
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return sha256(Buffer.of(1), treeRoot(leaves.slice(0, k)), treeRoot(leaves.slice(k)));
}
function arrayLeaf(name, dtype, shape, bytes) {
  const blocks = [];
  for (let at = 0; at < bytes.length; at += 4096) blocks.push(bytes.subarray(at, at + 4096));
  return Buffer.concat([string("assay/array/1"), string(name), Buffer.of(dtype, shape.length), ...shape.map(i64), treeRoot(blocks)]);
}
// The data root of a part of tokens.
export function tokensRoot(tokens) {
  const bytes = Buffer.from(Uint16Array.from(tokens).buffer);
  return dataRoot(descriptor("tokens", { count: tokens.length }), [arrayLeaf("tokens", 7, [tokens.length], bytes)]);
}
// The data root of a part of arrays.
export function arraysRoot(data, inputs, labels) {
  const { count, dtype, sample } = data;
  return dataRoot(descriptor("arrays", data), [arrayLeaf("inputs", dtype, [count, ...sample], inputs), arrayLeaf("labels", 2, [count], labels)]);
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

// The pixels [height, width, channels] of an image whose stored ones are pixel(y, x, c); `place` {seed, step, position} where it is augmented.
function placed(height, width, channels, pixel, place) {
  let [dy, dx, mirrored] = [0, 0, false];
  if (place) {
    const block = philox(keyOf(place.seed), [place.position % 2 ** 32, 0x30000000, place.step, 0]),
      offset = (word) => Number((BigInt(word) * 9n) >> 32n) - 4;
    [dy, dx, mirrored] = [offset(block[0]), offset(block[1]), block[2] >>> 31 === 1];
  }
  const values = [];
  for (let h = 0; h < height; ++h)
    for (let w = 0; w < width; ++w)
      for (let c = 0; c < channels; ++c) {
        const [y, x] = [h + dy, (mirrored ? width - 1 - w : w) + dx];
        values.push(y >= 0 && y < height && x >= 0 && x < width ? pixel(y, x, c) : 0);
      }
  return values;
}

// The image of a CIFAR record, [32, 32, 3].
export function image(record, place) {
  const hundred = record.length === 3074,
    mean = (hundred ? [0.5071, 0.4867, 0.4408] : [0.4914, 0.4822, 0.4465]).map(f),
    deviation = (hundred ? [0.2675, 0.2565, 0.2761] : [0.247, 0.2435, 0.2616]).map(f),
    first = hundred ? 2 : 1;
  return placed(32, 32, 3, (y, x, c) => div(sub(div(record[first + c * 1024 + y * 32 + x], 255), mean[c]), deviation[c]), place);
}

// Height, width and channels of a sample of an array by its layout; none where it is no image.
function geometry(sample, layout) {
  if (sample.length === 2) return [...sample, 1];
  if (sample.length === 3) return layout === "nhwc" ? sample : [sample[1], sample[2], sample[0]];
}
// Names and extents of the inputs of a sample of an array; none where it is no image.
export function inputsOf(sample, layout) {
  if (layout === "flat") return { name: "features", shape: [sample.reduce((a, b) => a * b)] };
  const shape = geometry(sample, layout);
  return shape && { name: "images", shape };
}
// The inputs of a sample of an array, from its bytes; none where a number is not finite.
export function arraySample(bytes, { dtype, sample }, layout, place) {
  const at = dtype === 6 ? (i) => div(bytes[i], 255) : (i) => bytes.readFloatLE(4 * i),
    count = sample.reduce((a, b) => a * b),
    all = Array.from({ length: count }, (_, i) => at(i));
  if (!all.every(Number.isFinite)) return undefined;
  if (layout === "flat") return all;
  const [height, width, channels] = geometry(sample, layout),
    place_ = (y, x, c) => (layout === "nhwc" ? (y * width + x) * channels + c : (c * height + y) * width + x);
  return placed(height, width, channels, (y, x, c) => all[place_(y, x, c)], place);
}
