// Values with a bound on how far a correct FP64 evaluation can be from them: docs/formats/rounded.md, "Bounds". A quantity is {v, e, narrow}: a
// double-double, the bound (binary64) and whether it is an exact binary32 value.
import * as D from "./double_double.mjs";

export const UNIT = 2 ** -53,
  FUNCTION = 2 ** -51;

const made = (v, e, narrow = false) => ({ v, e, narrow });
export const single = (x) => made(D.dd(x), 0, true); // an exact binary32
export const exact = (x) => made(D.dd(x), 0);
export const bounded = made;
export const size = (a) => Math.abs(a.v.hi);
export const count = (n) => single(Math.fround(n));
export const ONE = single(1),
  ZERO = single(0);

export const neg = (a) => made(D.neg(a.v), a.e, a.narrow);
export function add(a, b) {
  const v = D.add(a.v, b.v);
  return made(v, a.e + b.e + UNIT * Math.abs(v.hi));
}
export function sub(a, b) {
  const v = D.sub(a.v, b.v);
  return made(v, a.e + b.e + UNIT * Math.abs(v.hi));
}
export function mul(a, b) {
  const v = D.mul(a.v, b.v),
    e = size(a) * b.e + (size(b) + 3 * b.e) * a.e;
  return made(v, a.narrow && b.narrow ? e : e + UNIT * Math.abs(v.hi));
}
function divisionError(a, b, result) {
  const m = size(b);
  if (m > Number.MAX_VALUE && size(a) <= Number.MAX_VALUE) return 0;
  const least = m - 2 * b.e;
  if (!(least > 0)) return Infinity;
  const quotient = result + (a.e + result * b.e) / (m - b.e);
  return (a.e + quotient * b.e) / least + UNIT * result;
}
export function div(a, b) {
  const v = D.div(a.v, b.v),
    result = Math.abs(v.hi),
    inverse = 1 / size(b);
  if (b.e * inverse <= 2 ** -21) {
    const e = (a.e + result * b.e) * (inverse * (1 + 2 ** -18)) + UNIT * result;
    if (e < Infinity) return made(v, e);
  }
  return made(v, divisionError(a, b, result));
}

// Whether correct evaluations can order two quantities differently.
function open(a, b) {
  const slack = a.e + b.e;
  return slack !== 0 && !(Math.abs(D.sub(a.v, b.v).hi) > 2.000001 * slack);
}
// left > right ? then : otherwise
export function choose(left, right, then, otherwise) {
  const taken = D.greater(left.v, right.v) ? then : otherwise;
  if (!open(left, right)) return taken;
  return made(taken.v, Math.abs(D.sub(then.v, otherwise.v).hi) + 2 * (then.e + otherwise.e));
}

const withError = (v, spread) => made(v, spread + FUNCTION * Math.abs(v.hi));
export function exp(a) {
  const v = D.exp(a.v),
    value = v.hi;
  if (value === 0 && size(a) > Number.MAX_VALUE) return made(v, 0);
  const largest = 2 * a.e <= 1 ? value * (1 + 2 * a.e + 4 * a.e * a.e) : D.exp(D.dd(a.v.hi + 2 * a.e)).hi;
  return withError(v, a.e === 0 || largest === 0 ? 0 : largest * a.e);
}
export function log(a) {
  const least = a.v.hi - 2 * a.e,
    spread = least > 0 ? a.e / least : Infinity;
  return withError(D.log(a.v), a.e === 0 ? 0 : spread);
}
export function sqrt(a) {
  const v = D.sqrt(a.v),
    root = v.hi,
    least = a.v.hi - 2 * a.e,
    spread = 4 * a.e < a.v.hi ? (a.e * root) / (2 * least) : Math.sqrt(a.e);
  return made(v, (a.e === 0 ? 0 : spread) + UNIT * Math.abs(root));
}
export function rsqrt(a) {
  const v = D.rsqrt(a.v),
    argument = a.v.hi;
  if (argument > Number.MAX_VALUE) return made(v, 0);
  const least = argument - 2 * a.e,
    spread = least > 0 ? (0.5 * a.e * v.hi * (argument / least)) / least : Infinity;
  return withError(v, a.e === 0 ? 0 : spread);
}
export function tanh(a) {
  const v = D.tanh(a.v),
    t = v.hi,
    slope = 1 - t * t + 2 * a.e + 2 ** -48;
  return withError(v, a.e * (slope < 1 ? slope : 1));
}
export function erf(a) {
  const m = size(a) - 2 * a.e,
    square = m > 0 ? m * m : 0,
    slope = 1.1283791671 / (1 + square * (1 + square * (0.5 + square * (1 / 6))));
  return withError(D.erf(a.v), a.e * slope);
}
export const sin = (a) => withError(D.sin(a.v), a.e);
export const cos = (a) => withError(D.cos(a.v), a.e);
export function pow(x, y) {
  const v = D.pow(x.v, y.v);
  if (x.e === 0 && y.e === 0) return withError(v, 0);
  const base = size(x),
    exponent = size(y),
    least = base - 2 * x.e;
  if (!(least > 0)) {
    const smooth = y.e === 0 && y.v.hi >= 1;
    return withError(v, smooth ? x.e * exponent * D.pow(D.dd(base + 2 * x.e), D.dd(exponent - 1)).hi : Infinity);
  }
  const ofLog = x.e / least,
    distance = (exponent + 2 * y.e) * ofLog + (y.e === 0 ? 0 : (Math.abs(D.log(D.dd(base)).hi) + ofLog) * y.e),
    growth = distance <= 0.5 ? 1 + 2 * distance + 4 * distance * distance : D.exp(D.dd(2 * distance)).hi;
  return withError(v, Math.abs(v.hi) * growth * distance);
}

export function sumDepth(n) {
  let depth = 0,
    rest = n;
  for (; rest > 128; rest = Math.ceil(rest / 128)) depth += 128;
  return depth + rest;
}
export const contractionDepth = (k) => {
  const block = k < 16384 ? 128 : 256;
  return Math.min(k, block) + Math.ceil(k / block);
};
const quantum = ({ v, narrow }) => {
  if (!narrow) return 0;
  return v.hi === 0 ? Infinity : D.double(D.bits64(v.hi) & 0x7ff0000000000000n) * 2 ** -23;
};
export function sumError(depth, e, magnitude, least) {
  if (e === 0 && magnitude <= 2 ** 52 * least) return 0;
  return e + depth * UNIT * (magnitude + e);
}
// What sums carry along.
const nothing = () => ({ v: D.dd(0), e: 0, magnitude: 0, least: Infinity });
const part = (t) => ({ v: t.v, e: t.e, magnitude: size(t), least: quantum(t) });
const joined = (a, b) => ({
  v: D.add(a.v, b.v),
  e: a.e + b.e,
  magnitude: a.magnitude + b.magnitude,
  least: b.least < a.least ? b.least : a.least,
});

// Terms [begin, begin + n) in eight lanes; `zero` and `plus` say what is added.
function lanes(begin, n, term, zero, plus) {
  const all = [...Array(8)].map(zero);
  for (let i = 0; i < n; ++i) all[i % 8] = plus(all[i % 8], term(begin + i));
  for (let half = 4; half > 0; half >>= 1) for (let l = 0; l < half; ++l) all[l] = plus(all[l], all[l + half]);
  return all[0];
}
// Blocks of 128 terms, blocks of 128 sums of blocks, and so on.
function blocks(n, term, zero, plus) {
  if (n <= 128) return lanes(0, n, term, zero, plus);
  const sums = [...Array(10)].map(zero),
    counts = Array(10).fill(0);
  for (let begin = 0; begin < n; begin += 128) {
    let sum = lanes(begin, Math.min(128, n - begin), term, zero, plus),
      level = 0;
    while (counts[level] === 128) {
      [sum, sums[level]] = [sums[level], sum];
      counts[level++] = 1;
    }
    sums[level] = plus(sums[level], sum);
    ++counts[level];
  }
  for (let level = 0; level < 9; ++level) sums[level + 1] = plus(sums[level + 1], sums[level]);
  return sums[9];
}
const total = (sum, depth) => made(sum.v, sumError(depth, sum.e, sum.magnitude, sum.least));
// A sum along a row.
export function sum(n, term) {
  return total(
    blocks(n, (i) => part(term(i)), nothing, joined),
    sumDepth(n),
  );
}
// A sum down a column: one after the other inside blocks.
export function columnSum(n, term, depth = n === 1 ? 0 : sumDepth(n)) {
  let stride = 1;
  while (stride * 128 < n) stride *= 128;
  const over = (begin, end, step) => {
    let all = nothing();
    for (let r = begin; r < end; r += step)
      all = joined(all, step === 1 ? part(term(r)) : over(r, Math.min(r + step, end), step / 128));
    return all;
  };
  return total(over(0, n, stride), depth);
}
function norm(k, a) {
  return Math.sqrt(
    blocks(
      k,
      (i) => a(i) * a(i),
      () => 0,
      (x, y) => x + y,
    ),
  );
}
// Products of binary32 values, one after the other.
export function contract(k, a, b) {
  let v = D.dd(0);
  for (let i = 0; i < k; ++i) v = D.add(v, a(i) * b(i));
  return made(v, contractionDepth(k) * UNIT * norm(k, a) * norm(k, b) * (1 + 2 ** -20));
}
