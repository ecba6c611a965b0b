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

// Values that share a scale: {digits, scale}.
export function block(values, n) {
  let most = 0;
  for (const x of values) most = Math.max(most, unsignedBits(Math.abs(x)));
  if (most >= 0x7f800000) return { digits: values.map(() => none(n)), scale: NaN };
  const e = Math.max(23, (most >>> 23) + ((most & 0x7fffff) > 0x7efefe ? 1 : 0)),
    factor = 2 ** (125 + 8 * n - e); // x · factor is exact in double
  return { digits: values.map((x) => digitsOf(nearest(x * factor), n)), scale: 2 ** (e - 129 - 4 * n) };
}

// The joined sum of products of lists of digits.
export function joined(a, b, n) {
  const orders = none(n);
  for (let k = 0; k < a.length; ++k)
    for (let o = 0; o < n; ++o) for (let i = n - 1 - o; i < n; ++i) orders[o] += a[k][i] * b[k][2 * (n - 1) - o - i];
  const high = f(256 * orders[0] + orders[1]);
  return n === 2 ? high : fma(high, 256, orders[2]);
}

// What two blocks are as a number.
export const product = (a, b, n) => mul(joined(a.digits, b.digits, n), mul(a.scale, b.scale));
