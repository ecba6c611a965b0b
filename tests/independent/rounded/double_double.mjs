// Double-double arithmetic: docs/formats/rounded.md, "Double-double". A number is {hi, lo}; every operation on hi and lo is one of binary64.

const f64 = new Float64Array(1),
  word = new BigUint64Array(f64.buffer);
export const bits64 = (x) => (x !== x ? 0x7ff8000000000000n : ((f64[0] = x), word[0]));
export const double = (bits) => ((word[0] = bits), f64[0]);

const finite = Number.isFinite;
export const dd = (hi, lo = 0) => ({ hi, lo });
const of = (a) => (typeof a === "number" ? dd(a) : a);

// The error of a product is fma(a, b, −p) with p = a·b rounded. A number as m · 2^e:
function parts(x) {
  const bits = bits64(x),
    field = Number((bits >> 52n) & 0x7ffn),
    mantissa = (bits & 0xfffffffffffffn) | (field === 0 ? 0n : 1n << 52n);
  return { m: bits >> 63n ? -mantissa : mantissa, e: Math.max(field, 1) - 1075 };
}
// m · 2^e to the nearest binary64, ties to even.
function nearest(m, e) {
  if (m === 0n) return 0;
  const negative = m < 0n;
  let magnitude = negative ? -m : m;
  const drop = Math.max(magnitude.toString(2).length - 53, -1074 - e, 0);
  if (drop > 0) {
    const unit = 1n << BigInt(drop),
      rest = magnitude % unit;
    magnitude /= unit;
    if (2n * rest > unit || (2n * rest === unit && magnitude & 1n)) ++magnitude;
  }
  let x = Number(magnitude);
  for (let k = e + drop; k !== 0;) {
    const step = Math.max(-1000, Math.min(1000, k));
    x *= 2 ** step;
    k -= step;
  }
  return negative ? -x : x;
}
function exactError(a, b, p) {
  const x = parts(a),
    y = parts(b),
    z = parts(p),
    e = Math.min(x.e + y.e, z.e);
  return nearest(x.m * y.m * (1n << BigInt(x.e + y.e - e)) - z.m * (1n << BigInt(z.e - e)), e);
}
function productError(a, b, p) {
  if (a === 0 || b === 0) return 0;
  const size = Math.abs(p);
  if (!(size > 2 ** -960 && size < 2 ** 1000 && Math.abs(a) < 2 ** 990 && Math.abs(b) < 2 ** 990)) return exactError(a, b, p);
  // Dekker's product: exact in this range.
  const s = 134217729,
    ca = s * a,
    ah = ca - (ca - a),
    al = a - ah,
    cb = s * b,
    bh = cb - (cb - b),
    bl = b - bh;
  return ah * bh - p + ah * bl + al * bh + al * bl;
}

export function twoSum(a, b) {
  const s = a + b;
  if (!finite(s)) return dd(s);
  const t = s - a;
  return dd(s, a - (s - t) + (b - t));
}
export function twoProduct(a, b) {
  const p = a * b;
  return finite(p) ? dd(p, productError(a, b, p)) : dd(p);
}
function settle(hi, lo) {
  const s = hi + lo;
  if (!finite(s)) return dd(finite(hi) ? s : hi);
  return dd(s, lo - (s - hi));
}
export const neg = (a) => dd(-a.hi, -a.lo);
export function add(x, y) {
  const a = of(x),
    b = of(y),
    s = twoSum(a.hi, b.hi),
    t = twoSum(a.lo, b.lo),
    r = settle(s.hi, s.lo + t.hi);
  return settle(r.hi, r.lo + t.lo);
}
export const sub = (a, b) => add(a, neg(of(b)));
export function mul(x, y) {
  const a = of(x),
    b = of(y),
    p = twoProduct(a.hi, b.hi);
  return settle(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
export function div(x, y) {
  const a = of(x),
    b = of(y),
    first = a.hi / b.hi;
  if (!finite(first) || !finite(b.hi)) return dd(first);
  let rest = sub(a, mul(b, first));
  const second = rest.hi / b.hi;
  rest = sub(rest, mul(b, second));
  const q = settle(first, second),
    r = settle(q.hi, q.lo + rest.hi / b.hi);
  return finite(r.hi) ? r : dd(first);
}
export const abs = (a) => (a.hi < 0 ? neg(a) : dd(Math.abs(a.hi), a.lo));
export const equal = (a, b) => a.hi === b.hi && a.lo === b.lo;
export const greater = (a, b) => a.hi > b.hi || (a.hi === b.hi && a.lo > b.lo);

const LN2 = dd(double(0x3fe62e42fefa39efn), double(0x3c7abc9e3b39803fn)),
  LN2_REST = double(0x3907b57a079a1934n),
  HALF_PI = dd(double(0x3ff921fb54442d18n), double(0x3c91a62633145c07n)),
  TWO_OVER_ROOT_PI = dd(double(0x3ff20dd750429b6dn), double(0x3c71ae3a914fed80n));

function times(a, power) {
  const hi = a.hi * power;
  return finite(hi) ? dd(hi, a.lo * power) : dd(hi);
}
function scale(a, k) {
  const half = Math.trunc(k / 2);
  return times(times(a, 2 ** half), 2 ** (k - half));
}
function normalise(x) {
  let a = x,
    extra = 0;
  if (a.hi < 2 ** -960) {
    a = times(a, 2 ** 128);
    extra = -128;
  }
  const exponent = Number(bits64(a.hi) >> 52n) - 1023;
  return { m: scale(a, -exponent), k: exponent + extra };
}

const FACTORIALS = [
  [0x3fe0000000000000n, 0n],
  [0x3fc5555555555555n, 0x3c65555555555555n],
  [0x3fa5555555555555n, 0x3c45555555555555n],
  [0x3f81111111111111n, 0x3c01111111111111n],
  [0x3f56c16c16c16c17n, 0xbbef49f49f49f49fn],
  [0x3f2a01a01a01a01an, 0x3b6a01a01a01a01an],
  [0x3efa01a01a01a01an, 0x3b3a01a01a01a01an],
  [0x3ec71de3a556c734n, 0xbb6c154f8ddc6c00n],
].map(([hi, lo]) => dd(double(hi), double(lo)));

function expm1Reduced(r) {
  const t = times(r, 2 ** -9);
  let sum = FACTORIALS[7];
  for (let i = 6; i >= 0; --i) sum = add(mul(sum, t), FACTORIALS[i]);
  let s = add(t, mul(mul(t, t), sum));
  for (let i = 0; i < 9; ++i) s = add(times(s, 2), mul(s, s));
  return s;
}
export function exp(a) {
  if (a.hi !== a.hi) return dd(a.hi);
  if (a.hi > 710) return dd(Infinity);
  if (a.hi < -746) return dd(0);
  const k = Math.floor(a.hi / LN2.hi + 0.5),
    r = sub(sub(sub(a, twoProduct(k, LN2.hi)), twoProduct(k, LN2.lo)), k * LN2_REST);
  return scale(add(1, expm1Reduced(r)), k);
}
export function log(a) {
  if (a.hi !== a.hi || a.hi < 0) return dd(NaN);
  if (a.hi === 0) return dd(-Infinity);
  if (a.hi === Infinity) return dd(Infinity);
  let { m, k } = normalise(a);
  if (m.hi > double(0x3ff6a09e667f3bcdn)) {
    m = times(m, 0.5);
    ++k;
  }
  const s = div(sub(m, 1), add(m, 1)),
    square = mul(s, s);
  let sum = dd(0);
  for (let n = 45; n >= 1; n -= 2) sum = add(mul(sum, square), div(1, n));
  return add(mul(k, LN2), mul(times(s, 2), sum));
}
export function sqrt(a) {
  if (a.hi === 0 || a.hi !== a.hi || a.hi === Infinity) return dd(a.hi);
  if (a.hi < 0) return dd(NaN);
  const { k: exponent } = normalise(a),
    k = exponent - (((exponent % 2) + 2) % 2),
    m = scale(a, -k),
    root = Math.sqrt(m.hi),
    rest = sub(m, twoProduct(root, root));
  return scale(twoSum(root, rest.hi / (2 * root)), k / 2);
}
export const rsqrt = (a) => div(1, sqrt(a));
export function tanh(a) {
  const x = abs(a);
  if (x.hi !== x.hi) return dd(x.hi);
  let v;
  if (x.hi > 40) v = dd(1);
  else if (x.hi < 0.17) {
    const t = expm1Reduced(times(x, 2));
    v = div(t, add(t, 2));
  } else {
    const t = exp(times(x, 2));
    v = div(sub(t, 1), add(t, 1));
  }
  return a.hi < 0 ? neg(v) : v;
}
export function erf(a) {
  if (a.hi !== a.hi || a.hi === 0) return dd(a.hi);
  if (Math.abs(a.hi) > 8.6) return dd(a.hi < 0 ? -1 : 1);
  const square = mul(a, a),
    doubled = times(square, 2);
  let term = dd(1),
    sum = dd(1);
  for (let n = 1; n < 400 && term.hi > 2 ** -112 * sum.hi; ++n) {
    term = div(mul(term, doubled), 2 * n + 1);
    sum = add(sum, term);
  }
  return mul(mul(mul(TWO_OVER_ROOT_PI, a), exp(neg(square))), sum);
}

const TWO_OVER_PI = BigInt(
  "0x" +
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484" +
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b" +
    "3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361da9e39161",
); // 41 words of 32 bits after the point

// A finite number modulo quarter turns.
function reduceOne(x) {
  if (Math.abs(x) < 0.78) return { quadrant: 0, rest: dd(x) };
  const bits = bits64(x),
    exponent = Number((bits >> 52n) & 0x7ffn) - 1075,
    mantissa = (bits & 0xfffffffffffffn) | (1n << 52n),
    skipped = Math.max(exponent - 2, 0),
    window = (TWO_OVER_PI >> BigInt(41 * 32 - 256 - skipped)) & ((1n << 256n) - 1n),
    shift = exponent - skipped,
    product = shift >= 0 ? (mantissa * window) << BigInt(shift) : (mantissa * window) >> BigInt(-shift);
  let fraction = product & ((1n << 256n) - 1n),
    quadrant = Number((product >> 256n) & 3n);
  const up = fraction >> 255n === 1n;
  if (up) {
    quadrant = (quadrant + 1) & 3;
    fraction = (1n << 256n) - 1n - fraction;
  }
  let turns = dd(0);
  for (let i = 0; i < 8; ++i) turns = add(turns, Number((fraction >> BigInt(32 * i)) & 0xffffffffn) * 2 ** (32 * i - 256));
  let rest = mul(turns, HALF_PI);
  if (up !== x < 0) rest = neg(rest);
  if (x < 0) quadrant = (4 - quadrant) & 3;
  return { quadrant, rest };
}
function reduce(a) {
  const high = reduceOne(a.hi),
    low = reduceOne(a.lo);
  let quadrant = (high.quadrant + low.quadrant) & 3,
    rest = add(high.rest, low.rest);
  if (rest.hi > 0.79) {
    rest = sub(rest, HALF_PI);
    quadrant = (quadrant + 1) & 3;
  } else if (rest.hi < -0.79) {
    rest = add(rest, HALF_PI);
    quadrant = (quadrant + 3) & 3;
  }
  return { quadrant, rest };
}
function series(first, r, n) {
  const square = mul(r, r);
  let sum = dd(1);
  for (let i = n + 28; i >= n; i -= 2) sum = sub(1, mul(div(square, i * (i + 1)), sum));
  return mul(first, sum);
}
function circular({ quadrant, rest }) {
  const v = quadrant % 2 === 0 ? series(rest, rest, 2) : series(dd(1), rest, 1);
  return quadrant >= 2 ? neg(v) : v;
}
export function sin(a) {
  if (!finite(a.hi)) return dd(NaN);
  return a.hi === 0 ? dd(a.hi) : circular(reduce(a));
}
export function cos(a) {
  if (!finite(a.hi)) return dd(NaN);
  const angle = reduce(a);
  return circular({ ...angle, quadrant: (angle.quadrant + 1) & 3 });
}

const isInteger = (a) => Math.floor(a.hi) === a.hi && Math.floor(a.lo) === a.lo,
  isOdd = (a) => Math.abs(a) < 2 ** 53 && Math.floor(a / 2) * 2 !== a;
export function pow(x, y) {
  const one = dd(1);
  if (y.hi === 0 || equal(x, one)) return one;
  if (x.hi !== x.hi || y.hi !== y.hi) return dd(NaN);
  const base = abs(x),
    odd = isInteger(y) && isOdd(y.hi) !== isOdd(y.lo);
  if (!finite(y.hi)) return equal(base, one) ? one : dd(greater(base, one) === y.hi > 0 ? Infinity : 0);
  const negative = x.hi < 0 || Object.is(x.hi, -0);
  if (base.hi === 0 || base.hi === Infinity) {
    const limit = (base.hi === 0) === y.hi > 0 ? 0 : Infinity;
    return dd(negative && odd ? -limit : limit);
  }
  if (negative && !isInteger(y)) return dd(NaN);
  const v = exp(mul(y, log(base)));
  return negative && odd ? neg(v) : v;
}
