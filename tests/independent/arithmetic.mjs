// binary32 arithmetic in JavaScript's doubles: docs/NUMERICS.md, section 1. Values are Numbers that are binary32 values; each operation rounds on its own.

const f32s = new Float32Array(1),
  f64s = new Float64Array(1),
  words = new Int32Array(f32s.buffer),
  unsigned = new Uint32Array(f32s.buffer),
  halves = new Int32Array(f64s.buffer);

// A sum, product, quotient or root of binary32 values that was rounded to double and then to binary32 is the correctly rounded one.
export const f = Math.fround;
export const add = (a, b) => f(a + b);
export const sub = (a, b) => f(a - b);
export const mul = (a, b) => f(a * b);
export const div = (a, b) => f(a / b);
export const sqrt = (a) => f(Math.sqrt(a));

// The product is exact in double. The sum is rounded to odd there, so that rounding once more is harmless.
export function fma(a, b, c) {
  const product = a * b,
    sum = product + c;
  if (!Number.isFinite(sum)) return f(sum);
  const part = sum - product,
    error = product - (sum - part) + (c - part);
  if (error === 0) return f(sum);
  f64s[0] = sum;
  if ((halves[0] & 1) === 0) {
    if (error > 0 === sum > 0) halves[0] |= 1;
    else if (halves[0]-- === 0) halves[1]--; // a borrow: what was 0 is all ones now
  }
  return f(f64s[0]);
}

export const bits = (x) => ((f32s[0] = x), words[0]); // signed, as the listings of section 3 use them
export const unsignedBits = (x) => ((f32s[0] = x), unsigned[0]);
export const fromBits = (n) => ((words[0] = n), f32s[0]);

// A NaN in either operand wins; of equal operands the left one stays.
export const max = (a, b) => (b > a || b !== b ? b : a);
// Whether two values have the same bits, all NaNs being one.
export const same = (a, b) => Object.is(a, b);
