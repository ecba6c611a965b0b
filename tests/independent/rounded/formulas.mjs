// One element of an op of a rounded job: docs/formats/rounded.md, "Formulas". `exact` ops are evaluated in binary64, `boundedOps` in double-double with
// their bound. An op is {values, in, out, at(input, i), once(key, make)}, as in ../ops.
import { max } from "../arithmetic.mjs";
import { evaluator } from "../ops/index.mjs";
import { draw, threshold } from "../random.mjs";
import { product } from "../types.mjs";
import * as B from "./bounded.mjs";
import attention from "./attention.mjs";
import norm from "./norm.mjs";
import { contractions, poolings } from "./windows.mjs";

const { add, sub, mul, div, single, ONE, ZERO } = B,
  f = Math.fround;

const unary = (function_) => (op, _, i) => function_(op.at(0, i), ...op.values);
const binary = (function_) => (op, _, i) => function_(op.at(0, i), op.at(1, i));
const rowOf = (op) => product(op.in[0].shape.slice(op.values[0]));

function dropout(op, _, i) {
  const [p, stream] = op.values,
    [low, high, step, microbatch] = [0, 1, 2, 3].map((k) => op.at(1, k));
  return draw([low, high], i, stream, step, microbatch) >= threshold(p) ? op.at(0, i) * (1 / (1 - p)) : 0;
}
function rowMax(op, _, r) {
  const n = rowOf(op);
  let m = op.at(0, r * n);
  for (let i = 1; i < n; ++i) m = max(m, op.at(0, r * n + i));
  return m;
}
const moved = Object.fromEntries(
  [
    "fill", "neg", "maximum", "broadcast_to", "relu", "relu_grad", "reshape", "transpose", "slice", "pad", "concat", "row_max_grad", "max_pool2d",
    "embedding",
  ].map((name) => [name, (op, output, i) => evaluator(name, op.values, op.in, op.out, op.at)(output, i)]),
);
export const exact = {
  ...moved,
  row_max: rowMax,
  add: binary((a, b) => a + b),
  sub: binary((a, b) => a - b),
  mul: binary((a, b) => a * b),
  div: binary((a, b) => a / b),
  scale: unary((x, factor) => x * factor),
  add_scalar: unary((x, term) => x + term),
  sqrt: unary(Math.sqrt),
  dropout,
  global_avg_pool_grad: (op, _, e) => {
    const [, height, width, channels] = op.out[0].shape;
    return op.at(0, Math.floor(e / (height * width * channels)) * channels + (e % channels)) / f(height * width);
  },
};

const unaryB = (function_) => (op, _, i) => function_(single(op.at(0, i)), ...op.values.map(single));
const binaryB = (function_) => (op, _, i) => function_(single(op.at(0, i)), single(op.at(1, i)));

// σ(z) and σ(−z), z of the sign of x.
function logistic(z, x) {
  const negative = x.v.hi < 0,
    e = B.exp(negative ? z : B.neg(z)),
    sum = add(ONE, e);
  return { of: div(negative ? e : ONE, sum), ofNegative: div(negative ? ONE : e, sum) };
}
const twiceInner = (x) =>
  mul(single(2), mul(single(f(0.7978845608)), add(x, mul(single(f(0.044715)), mul(mul(x, x), x)))));
function geluTanhGrad(x, dy) {
  const { of, ofNegative } = logistic(twiceInner(x), x),
    d = mul(single(f(0.7978845608)), add(ONE, mul(single(f(0.134145)), mul(x, x))));
  return mul(dy, add(of, mul(mul(single(2), x), mul(mul(of, ofNegative), d))));
}
const erfOf = (x) => B.erf(mul(x, single(f(0.7071067812))));
function geluErfGrad(x, dy) {
  const e = erfOf(x),
    q = mul(single(f(0.3989422804)), B.exp(mul(mul(single(-0.5), x), x)));
  return mul(dy, add(mul(x, q), mul(single(0.5), add(ONE, e))));
}
function siluGrad(x, dy) {
  const { of, ofNegative } = logistic(x, x);
  return mul(dy, mul(of, add(ONE, mul(x, ofNegative))));
}

function sgd(op, output, i) {
  const [momentum, dampening, decay, nesterov] = op.values,
    [p, grad, before] = [0, 1, 2].map((k) => single(op.at(k, i))),
    [lr, factor] = [3, 4].map((k) => single(op.at(k, 0)));
  let g = mul(grad, factor),
    m = before;
  if (decay !== 0) g = add(mul(single(decay), p), g);
  let u = g;
  if (momentum !== 0) {
    m = add(mul(single(momentum), m), mul(sub(ONE, single(dampening)), g));
    u = nesterov ? add(mul(single(momentum), m), g) : m;
  }
  return output === 0 ? sub(p, mul(lr, u)) : m;
}
const adam = (decoupled) => (op, output, i) => {
  const [beta1, beta2, eps, decay] = op.values.map(single),
    [p, grad, m0, v0] = [0, 1, 2, 3].map((k) => single(op.at(k, i))),
    [lr, factor] = [4, 5].map((k) => single(op.at(k, 0))),
    step = B.count(op.at(6, 0)),
    decays = op.values[3] !== 0;
  let g = mul(grad, factor);
  if (decays && !decoupled) g = add(mul(decay, p), g);
  const v = add(mul(beta2, v0), mul(mul(sub(ONE, beta2), g), g));
  if (output === 2) return v;
  const m = add(mul(beta1, m0), mul(sub(ONE, beta1), g));
  if (output === 1) return m;
  const root = B.sqrt(sub(ONE, B.pow(beta2, step))),
    rate = div(lr, sub(ONE, B.pow(beta1, step))),
    denominator = add(div(B.sqrt(v), root), eps),
    move = mul(rate, div(m, denominator));
  return sub(decays && decoupled ? mul(p, sub(ONE, mul(lr, decay))) : p, move);
};

const row = (op, input, r, n) => (i) => single(op.at(input, r * n + i));
function rowStats(op, r, n) {
  return op.once(`row ${r}`, () => {
    let most = op.at(0, r * n);
    for (let i = 1; i < n; ++i) most = max(most, op.at(0, r * n + i));
    const m = single(most),
      x = row(op, 0, r, n);
    return { m, s: B.sum(n, (i) => B.exp(sub(x(i), m))) };
  });
}
function softmax(op, _, e) {
  const n = op.in[0].shape.at(-1),
    { m, s } = rowStats(op, Math.floor(e / n), n);
  return div(B.exp(sub(single(op.at(0, e)), m)), s);
}
function softmaxGrad(op, _, e) {
  const n = op.in[0].shape.at(-1),
    r = Math.floor(e / n),
    [y, dy] = [row(op, 0, r, n), row(op, 1, r, n)],
    d = op.once(`row ${r}`, () => B.sum(n, (i) => mul(y(i), dy(i))));
  return mul(y(e % n), sub(dy(e % n), d));
}
function crossEntropy(op, output, r) {
  const n = op.in[0].shape.at(-1),
    lse = () => {
      const { m, s } = rowStats(op, r, n);
      return add(m, B.log(s));
    };
  if (output === 1) return lse();
  const target = op.at(1, r);
  if (target === -1) return ZERO;
  return target < 0 || target >= n ? single(NaN) : sub(lse(), single(op.at(0, r * n + target)));
}
function crossEntropyGrad(op, _, e) {
  const n = op.in[0].shape.at(-1),
    r = Math.floor(e / n),
    target = op.at(1, r);
  if (target === -1) return ZERO;
  if (target < 0 || target >= n) return single(NaN);
  const p = B.exp(sub(single(op.at(0, e)), single(op.at(2, r))));
  return mul(e % n === target ? sub(p, ONE) : p, single(op.at(3, r)));
}
function clipScale(op, output) {
  const most = op.values[0],
    norm = B.sqrt(B.sum(op.in.length, (k) => single(op.at(k, 0))));
  if (output === 0) return norm;
  if (!(most > 0) || norm.v.hi !== norm.v.hi) return ONE;
  return B.choose(norm, single(most), div(single(most), add(norm, single(f(1e-6)))), ONE);
}

function embeddingGrad(op, _, e) {
  const width = op.out[0].shape[1],
    id = Math.floor(e / width),
    places = [];
  for (let p = 0; p < product(op.in[0].shape); ++p) if (op.at(0, p) === id) places.push(p);
  return B.columnSum(places.length, (k) => single(op.at(1, places[k] * width + (e % width))));
}
function rope(op, _, e) {
  const [base, offset, inverse] = op.values,
    [, time, heads, width] = op.in[0].shape,
    half = width / 2,
    column = e % width,
    j = column % half,
    position = B.count(offset + (Math.floor(e / (width * heads)) % time)),
    angle = mul(position, div(ONE, B.pow(single(base), div(B.count(2 * j), B.count(width))))),
    c = B.cos(angle),
    s = inverse ? B.neg(B.sin(angle)) : B.sin(angle),
    [x, y] = [op.at(0, e - column + j), op.at(0, e - column + j + half)].map(single);
  return column < half ? sub(mul(x, c), mul(y, s)) : add(mul(y, c), mul(x, s));
}

export const boundedOps = {
  exp: unaryB(B.exp),
  log: unaryB(B.log),
  rsqrt: unaryB(B.rsqrt),
  tanh: unaryB(B.tanh),
  erf: unaryB(B.erf),
  sin: unaryB(B.sin),
  cos: unaryB(B.cos),
  pow: unaryB(B.pow),
  gelu_tanh: unaryB((x) => mul(x, logistic(twiceInner(x), x).of)),
  gelu_tanh_grad: binaryB(geluTanhGrad),
  gelu_erf: unaryB((x) => mul(mul(single(0.5), x), add(ONE, erfOf(x)))),
  gelu_erf_grad: binaryB(geluErfGrad),
  sigmoid: unaryB((x) => logistic(x, x).of),
  silu: unaryB((x) => mul(x, logistic(x, x).of)),
  silu_grad: binaryB(siluGrad),
  sgd,
  adam: adam(false),
  adamw: adam(true),
  row_sum: (op, _, r) => B.sum(rowOf(op), row(op, 0, r, rowOf(op))),
  col_sum: (op, _, c) => B.columnSum(product(op.in[0].shape.slice(0, op.values[0])), (r) => single(op.at(0, r * rowOf(op) + c))),
  sum_squares: (op) => B.sum(product(op.in[0].shape), (i) => mul(single(op.at(0, i)), single(op.at(0, i)))),
  clip_scale: clipScale,
  softmax,
  softmax_grad: softmaxGrad,
  cross_entropy: crossEntropy,
  cross_entropy_grad: crossEntropyGrad,
  embedding_grad: embeddingGrad,
  rope,
  ...norm,
  ...contractions,
  ...poolings,
  ...attention,
};

export const isExact = (name) => name in exact;
// {y} of an exact op, {v, e} of a bounded one.
export function evaluate(name, op, output, i) {
  if (isExact(name)) return { y: exact[name](op, output, i) };
  return boundedOps[name](op, output, i);
}
// The same for many elements of one op.
export function rounded(name, values, inTypes, outTypes, at) {
  const known = new Map(),
    once = (key, make) => known.get(key) ?? (known.set(key, make()), known.get(key)),
    op = { values, in: inTypes, out: outTypes, at, once };
  return (output, i) => evaluate(name, op, output, i);
}
