// Random draws, orders of samples, learning rates: docs/NUMERICS.md, sections 4 and 6. Seeds are BigInts.
import { add, div, f, fma, mul, sqrt, sub } from "./arithmetic.mjs";
import { cos, log, pow, sin } from "./functions.mjs";

// High and low word of a product of two words.
function wide(a, b) {
  const [a1, a0, b1, b0] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff],
    low = a0 * b0,
    middle = a1 * b0 + Math.floor(low / 65536),
    other = a0 * b1 + (middle % 65536);
  return [(a1 * b1 + Math.floor(middle / 65536) + Math.floor(other / 65536)) >>> 0, Math.imul(a, b) >>> 0];
}
export function philox([k0, k1], counter) {
  let [c0, c1, c2, c3] = counter;
  for (let round = 0; round < 10; ++round) {
    const [h0, l0] = wide(0xd2511f53, c0),
      [h1, l1] = wide(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [(h1 ^ c1 ^ k0) >>> 0, l1, (h0 ^ c3 ^ k1) >>> 0, l0];
    [k0, k1] = [(k0 + 0x9e3779b9) >>> 0, (k1 + 0xbb67ae85) >>> 0];
  }
  return [c0, c1, c2, c3];
}
export const keyOf = (seed) => [Number(seed & 0xffffffffn), Number(seed >> 32n)];

// Element i of a tensor.
export const draw = (key, i, stream, step, microbatch) =>
  philox(key, [Math.floor(i / 4) >>> 0, stream, step, microbatch])[i % 4];
export const uniform = (word) => (word >>> 8) * 2 ** -24;
export function normal(key, i, stream, step, microbatch) {
  const first = i - (i % 2),
    [a, b] = [first, first + 1].map((e) => uniform(draw(key, e, stream, step, microbatch))),
    radius = sqrt(mul(-2, log(sub(1, a)))),
    angle = mul(f(6.283185307), b);
  return mul(radius, i % 2 === 0 ? cos(angle) : sin(angle));
}
// What dropout multiplies an element by.
export const threshold = (p) => Math.floor(p * 2 ** 32);
export const keptFactor = (p) => div(1, sub(1, p));
export const keep = (p, word) => (word >= threshold(p) ? keptFactor(p) : 0);

// Element i of the starting value of state tensor `tensor`.
export function start(seed, tensor, kind, value, i) {
  const place = [i, 0x10000000 + tensor, 0, 0];
  if (kind === 0) return value;
  if (kind === 1) return mul(normal(keyOf(seed), ...place), value);
  return mul(sub(mul(2, uniform(draw(keyOf(seed), ...place))), 1), value);
}

// The sample at a position of a step's batch of `count`.
export function sampleAt(seed, samples, step, count, position) {
  const key = keyOf(seed),
    n = BigInt(samples),
    at = BigInt(step) * BigInt(count) + BigInt(position),
    epoch = Number((at / n) & 0xffffffffn),
    bits = n === 1n ? 0 : (n - 1n).toString(2).length,
    width = BigInt(Math.max(1, Math.ceil(bits / 2))),
    mask = (1n << width) - 1n;
  let x = at % n;
  do {
    let [left, right] = [x >> width, x & mask];
    for (let r = 0; r < 6; ++r) {
      const word = philox(key, [Number(right & 0xffffffffn), 0x20000000, epoch, r])[0];
      [left, right] = [right, left ^ (BigInt(word) & mask)];
    }
    x = (left << width) | right;
  } while (x >= n);
  return Number(x);
}
// The samples of a step.
export const order = (seed, samples, step, count) =>
  [...Array(count).keys()].map((position) => sampleAt(seed, samples, step, count, position));

export function learningRate({ kind, lr, warmup, min_lr: least, length, every, gamma }, step) {
  if (step < warmup) return mul(lr, f((step + 1) / warmup));
  if (kind === "constant") return lr;
  if (kind === "step") return mul(lr, pow(gamma, f(Math.floor(step / every))));
  if (step >= length) return least;
  const angle = mul(f(3.14159265), f((step - warmup) / (length - warmup)));
  return fma(mul(0.5, add(1, cos(angle))), sub(lr, least), least);
}
