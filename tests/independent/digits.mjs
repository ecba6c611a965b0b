// Contractions of digits: docs/NUMERICS.md, section 7. The digits of a value are a list of n integers, the lowest first; those of a block are a list of such
// lists.
import { f, fma, mul, unsignedBits } from "./arithmetic.mjs";

// 0.5 and above is rounded by the addition: to even where it is in the middle, as everywhere.
const ROUNDING = 1.5 * 2 ** 52;
const nearest = (x) => x + ROUNDING - ROUNDING;

function digitsOf(q, n) {
  const digits = [];
  for (let i = 0; i < n; ++i) {
    const digit = ((q + 128) & 255) - 128;
    digits.push(digit);
    q = (q - digit) / 256;
  }
  return digits;
}
export const none = (n) => Array(n).fill(0);

const exponent = (u) => Math.max(23, (u >>> 23) + ((u & 0x7fffff) > 0x7efefe ? 1 : 0));
const finite = (u) => u < 0x7f800000;
export const magnitude = (x) => unsignedBits(Math.abs(x));
// The scale of a block whose greatest magnitude is u, and the digits of one of its values; x · 2^… is exact in double.
export const scaleOf = (u, n) => (finite(u) ? 2 ** (exponent(u) - 129 - 4 * n) : NaN);
export const digitsUnder = (u, x, n) => (finite(u) ? digitsOf(nearest(x * 2 ** (125 + 8 * n - exponent(u))), n) : none(n));

// Values that share a scale: {digits, scale}.
export function block(values, n) {
  const u = values.reduce((most, x) => Math.max(most, magnitude(x)), 0);
  return { digits: values.map((x) => digitsUnder(u, x, n)), scale: scaleOf(u, n) };
}

// The sum of one order over lists of digits.
export function order(o, a, b, n) {
  let sum = 0;
  for (let k = 0; k < a.length; ++k) for (let i = n - 1 - o; i < n; ++i) sum += a[k][i] * b[k][2 * (n - 1) - o - i];
  return sum;
}
// The joined sum of `high` = 256·P₀ + P₁ and, of three digits, P₂.
export const join = (high, low, n) => (n === 2 ? f(high) : fma(f(high), 256, low));
export const joined = (a, b, n) => join(256 * order(0, a, b, n) + order(1, a, b, n), n === 3 ? order(2, a, b, n) : 0, n);

// What two blocks are as a number.
export const product = (a, b, n) => mul(joined(a.digits, b.digits, n), mul(a.scale, b.scale));
