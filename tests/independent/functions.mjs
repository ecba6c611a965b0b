// The elementary functions as docs/NUMERICS.md, section 3, has them: lines in the order of its listings, coefficients by their bits.
import { add, bits, div, f, fma, fromBits, mul, sqrt, sub } from "./arithmetic.mjs";

// A hex float such as -0x1.62e43p-1.
const hexFloat = (text) => {
  const [, sign, whole, fraction, exponent] = /^(-?)0x([01])(?:\.([0-9a-f]+))?p([+-]?\d+)$/.exec(text);
  const digits = fraction ?? "";
  return (sign ? -1 : 1) * parseInt(whole + digits, 16) * 2 ** (Number(exponent) - 4 * digits.length);
};
const coefficients = (text) => text.trim().split(/\s+/).map(hexFloat);
const SIGN = 0x80000000 | 0;

// fma(… fma(fma(c0, x, c1), x, c2) …)
const horner = (list, x) => list.slice(1).reduce((sum, c) => fma(sum, x, c), list[0]);

const SHIFT = hexFloat("0x1.8p+23"),
  [LOG2E, LN2_HIGH, LN2_LOW] = coefficients("0x1.715476p+0 0x1.62e43p-1 -0x1.05c61p-29"),
  EXP = coefficients("0x1.6a4d48p-10 0x1.123988p-7 0x1.5558bp-5 0x1.555492p-3 0x1.fffffcp-2");
// x = n ln 2 + r
function reduceExp(x) {
  const shifted = fma(x, LOG2E, SHIFT),
    whole = sub(shifted, SHIFT),
    n = (bits(shifted) - 0x4b400000) | 0;
  return { n, r: fma(-whole, LN2_LOW, fma(-whole, LN2_HIGH, x)) };
}
const power = (n) => fromBits((n + 127) << 23);

export function exp(x) {
  let t = x > 89 ? 89 : x;
  t = t < -105 ? -105 : t;
  const { n, r } = reduceExp(t),
    y = fma(fma(horner(EXP, r), r, 1), r, 1),
    half = n >> 1;
  return mul(mul(y, power(half)), power(n - half));
}

const LOG = coefficients(
    "-0x1.077adcp-3 0x1.1e9f6ap-3 -0x1.f35406p-4 0x1.1eca1ap-3 -0x1.559b3ep-3 0x1.99d116p-3 -0x1.ffffp-3 0x1.555504p-2 -0x1p-1",
  ),
  [LOG_HIGH, LOG_LOW] = coefficients("0x1.62e4p-1 0x1.7f7d1cp-20");
function logNormal(x, e) {
  const k = ((bits(x) - 0x3f2aaaab) | 0) >> 23,
    kf = k + e,
    t = sub(fromBits((bits(x) - (k << 23)) | 0), 1),
    high = mul(kf, LOG_HIGH),
    sum = add(high, t),
    rest = sub(t, sub(sum, high)),
    small = fma(kf, LOG_LOW, mul(horner(LOG, t), mul(t, t)));
  return add(sum, add(rest, small));
}
export function log(x) {
  if (x !== x || x < 0) return NaN;
  if (x === 0) return -Infinity;
  if (x === Infinity) return x;
  return x >= 2 ** -126 ? logNormal(x, 0) : logNormal(mul(x, 2 ** 24), -24);
}

const TANH = coefficients("-0x1.7e042ap-8 0x1.53d83cp-6 -0x1.b879c8p-5 0x1.1108d6p-3 -0x1.55553ap-2"),
  TANH_EDGE = hexFloat("0x1.333334p-1");
export function tanh(x) {
  const a = Math.abs(x),
    z = mul(a, a),
    small = fma(mul(horner(TANH, z), z), a, a),
    { n, r } = reduceExp(mul(-2, a > 10 ? 10 : a)),
    p = fma(horner(EXP, r), mul(r, r), r),
    scale = power(n),
    sum = add(1, p),
    u = mul(sum, scale),
    uRest = mul(sub(p, sub(sum, 1)), scale),
    top = sub(1, u),
    topRest = sub(sub(sub(1, top), u), uRest),
    bottom = add(1, u),
    bottomRest = add(sub(u, sub(bottom, 1)), uRest),
    inverse = div(1, bottom),
    quotient = mul(top, inverse),
    rest = add(fma(-quotient, bottom, top), fma(-quotient, bottomRest, topRest)),
    large = fma(rest, inverse, quotient);
  return fromBits(bits(a < TANH_EDGE ? small : large) | (bits(x) & SIGN));
}

const ERF = coefficients("0x1.486826p-14 -0x1.a39e22p-11 0x1.53fa98p-8 -0x1.b7f7dep-6 0x1.ce2cecp-4 -0x1.81273ep-2 0x1.06eba8p-3"),
  ERF_TAIL = coefficients(
    "-0x1.1fb63p-13 0x1.f0c9fcp-12 0x1.51deap-11 -0x1.23963ep-7 0x1.50ae18p-5 0x1.afb6b4p-1 0x1.51c984p+1 0x1.d97fcp+0",
  ),
  ERF_EDGE = hexFloat("0x1.f9999ap+1");
export function erf(x) {
  const a = Math.abs(x),
    z = mul(a, a),
    small = fma(horner(ERF, z), a, a),
    t = sub(a > ERF_EDGE ? ERF_EDGE : a, 1),
    { n, r } = reduceExp(-horner(ERF_TAIL, t)),
    e = fma(fma(horner(EXP, r), r, 1), r, 1),
    large = fma(-e, power(n), 1);
  return fromBits(bits(a < 1 ? small : large) | (bits(x) & SIGN));
}

const [TWO_OVER_PI, HALF_PI_1, HALF_PI_2, HALF_PI_3] = coefficients("0x1.45f306p-1 0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50"),
  SIN = coefficients("0x1.7a9198p-19 -0x1.a05408p-13 0x1.11117p-7 -0x1.555556p-3"),
  COS = coefficients("0x1.9995d6p-16 -0x1.6c0afep-10 0x1.555548p-5");
function reduce(a) {
  const shifted = fma(a, TWO_OVER_PI, SHIFT),
    n = sub(shifted, SHIFT),
    first = fma(-n, HALF_PI_1, a),
    product = mul(n, HALF_PI_2),
    productRest = fma(-n, HALF_PI_2, product),
    high = sub(first, product),
    rest = sub(sub(first, high), product);
  return { high, low: fma(-n, HALF_PI_3, add(rest, productRest)), q: bits(shifted) };
}
const EXPANSION = [0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab].map(BigInt);
function large(a) {
  const pattern = bits(a),
    s = BigInt((pattern & 0x7fffff) | 0x800000),
    p = (pattern >> 23) - 120;
  const window = (k) => {
    const i = (p >> 5) + k,
      pair = (EXPANSION[i] << 32n) | EXPANSION[i + 1];
    return BigInt.asUintN(64, pair << BigInt(p & 31)) >> 32n;
  };
  const product = BigInt.asUintN(64, ((s * window(0)) << 32n) + s * window(1) + ((s * window(2)) >> 32n)),
    n = BigInt.asUintN(64, product + (1n << 61n)) >> 62n,
    r = Number(BigInt.asIntN(64, product - (n << 62n))) * hexFloat("0x1.921fb54442d18p-62"),
    high = f(r);
  return { high, low: f(r - high), q: Number(n) };
}
function quadrant(high, low, q) {
  const z = mul(high, high),
    sine = add(high, fma(mul(horner(SIN, z), z), high, low)),
    half = mul(0.5, z),
    top = sub(1, half),
    rest = sub(sub(1, top), half),
    cosine = add(top, fma(mul(horner(COS, z), z), z, fma(-high, low, rest)));
  return fromBits(bits((q & 1) === 0 ? sine : cosine) ^ ((q & 2) << 30));
}
const reduced = (a) => (a < 131072 ? reduce(a) : large(a));
export function sin(x) {
  const a = Math.abs(x);
  if (!(a < Infinity)) return NaN;
  const { high, low, q } = reduced(a);
  return fromBits(bits(quadrant(high, low, q)) ^ (bits(x) & SIGN));
}
export function cos(x) {
  const a = Math.abs(x);
  if (!(a < Infinity)) return NaN;
  const { high, low, q } = reduced(a);
  return quadrant(high, low, q + 1);
}

export function rsqrt(x) {
  if (!(x >= 2 ** -100 && x < Infinity)) return f(1 / Math.sqrt(x));
  const root = sqrt(x),
    y = div(1, root),
    correction = fma(-mul(fma(-root, root, x), mul(0.5, y)), y, fma(-root, y, 1));
  return fma(correction, y, y);
}

// pow, in double.
const doubles = new Float64Array(1),
  longs = new BigInt64Array(doubles.buffer);
const longBits = (x) => ((doubles[0] = x), longs[0]);
const fromLongBits = (n) => ((longs[0] = n), doubles[0]);
function log2(a) {
  const pattern = longBits(a),
    k = (pattern - 0x3fe6a09e667f3bcdn) >> 52n,
    m = fromLongBits(pattern - (k << 52n)),
    s = (m - 1) / (m + 1),
    z = s * s;
  let series = 0;
  for (let i = 10; i >= 0; --i) series = series * z + 1 / (2 * i + 1);
  return Number(k) + s * series * hexFloat("0x1.71547652b82fep+1");
}
const RECIPROCALS = coefficients(`0x1p+0 0x1p+0 0x1p-1 0x1.5555555555555p-3 0x1.5555555555555p-5 0x1.1111111111111p-7 0x1.6c16c16c16c17p-10
  0x1.a01a01a01a01ap-13 0x1.a01a01a01a01ap-16 0x1.71de3a556c734p-19 0x1.27e4fb7789f5dp-22 0x1.ae64567f544e4p-26 0x1.1eed8eff8d898p-29
  0x1.6124613a86d0ap-33`);
function exp2(t) {
  const n = Math.trunc(t < 0 ? t - 0.5 : t + 0.5),
    r = (t - n) * hexFloat("0x1.62e42fefa39efp-1");
  let series = 0;
  for (let k = 13; k >= 0; --k) series = series * r + RECIPROCALS[k];
  return series * 2 ** n;
}
function magnitude(a, y) {
  if (a === 1) return 1;
  if (a === 0) return y > 0 ? 0 : Infinity;
  if (a === Infinity) return y > 0 ? Infinity : 0;
  const t = y * log2(a);
  return t >= 130 ? Infinity : t <= -160 ? 0 : f(exp2(t));
}
export function pow(x, y) {
  if (y === 0 || x === 1) return 1;
  if (x !== x || y !== y) return NaN;
  const a = Math.abs(x),
    negative = bits(x) < 0,
    whole = Math.abs(y) >= 2 ** 23 || Number.isInteger(y),
    odd = Math.abs(y) < 2 ** 24 && whole && y % 2 !== 0;
  if (negative && a !== 0 && a !== Infinity && !whole) return NaN;
  return negative && odd ? -magnitude(a, y) : magnitude(a, y);
}
