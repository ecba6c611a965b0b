// Constants, arithmetic, elementary functions, activations, dropout and optimizers: docs/formats/ops.md, docs/NUMERICS.md section 5. An op is
// {values: its attributes, in, out: types, at(input, i): an input's element, once(key, make): what is the same for many elements}.
import { add, div, f, fma, max, mul, sqrt, sub } from "../arithmetic.mjs";
import { cos, erf, exp, log, pow, rsqrt, sin, tanh } from "../functions.mjs";
import { draw, keep } from "../random.mjs";

const unary = (function_) => (op, _, i) => function_(op.at(0, i), ...op.values);
const binary = (function_) => (op, _, i) => function_(op.at(0, i), op.at(1, i));

const inner = (x, square) => tanh(mul(f(0.7978845608), fma(f(0.044715), mul(square, x), x)));
function geluTanhGrad(x, dy) {
  const square = mul(x, x),
    t = inner(x, square),
    s = fma(-t, t, 1),
    d = mul(f(0.7978845608), fma(f(0.134145), square, 1));
  return mul(dy, fma(mul(0.5, x), mul(s, d), mul(0.5, add(1, t))));
}
function geluErfGrad(x, dy) {
  const e = erf(mul(x, f(0.7071067812))),
    q = mul(f(0.3989422804), exp(mul(mul(-0.5, x), x)));
  return mul(dy, fma(x, q, mul(0.5, add(1, e))));
}
const sigmoid = (x) => div(1, add(1, exp(-x)));
function siluGrad(x, dy) {
  const s = sigmoid(x);
  return mul(dy, mul(s, fma(x, sub(1, s), 1)));
}

function dropout(op, _, i) {
  const [p, stream] = op.values,
    [low, high, step, microbatch] = [0, 1, 2, 3].map((k) => op.at(1, k)),
    factor = keep(p, draw([low, high], i, stream, step, microbatch));
  return factor === 0 ? 0 : mul(op.at(0, i), factor);
}

function broadcast(op, _, i) {
  const from = op.in[0].shape,
    to = op.out[0].shape;
  let rest = i,
    index = 0,
    step = 1;
  for (let axis = 1; axis <= from.length; ++axis) {
    const extent = from.at(-axis);
    if (extent !== 1) index += (rest % to.at(-axis)) * step;
    rest = Math.floor(rest / to.at(-axis));
    step *= extent;
  }
  return op.at(0, index);
}

function sgd(op, output, i) {
  const [momentum, dampening, decay, nesterov] = op.values,
    [p, grad, before, lr, factor] = [op.at(0, i), op.at(1, i), op.at(2, i), op.at(3, 0), op.at(4, 0)];
  let g = mul(grad, factor);
  if (decay !== 0) g = fma(decay, p, g);
  const m = momentum === 0 ? before : fma(momentum, before, mul(sub(1, dampening), g)),
    u = momentum === 0 ? g : nesterov ? fma(momentum, m, g) : m;
  return output === 1 ? m : fma(-lr, u, p);
}
const adam = (decoupled) => (op, output, i) => {
  const [beta1, beta2, eps, decay] = op.values,
    [lr, factor, step] = [op.at(4, 0), op.at(5, 0), f(op.at(6, 0))];
  let p = op.at(0, i),
    g = mul(op.at(1, i), factor);
  if (decay !== 0 && !decoupled) g = fma(decay, p, g);
  if (decay !== 0 && decoupled) p = mul(p, sub(1, mul(lr, decay)));
  const m = fma(beta1, op.at(2, i), mul(sub(1, beta1), g)),
    v = fma(beta2, op.at(3, i), mul(mul(sub(1, beta2), g), g));
  if (output > 0) return output === 1 ? m : v;
  const c1 = sub(1, pow(beta1, step)),
    c2 = sub(1, pow(beta2, step)),
    s = add(div(sqrt(v), sqrt(c2)), eps);
  return fma(-div(lr, c1), div(m, s), p);
};

export default {
  fill: (op) => op.values[1],
  add: binary(add),
  sub: binary(sub),
  mul: binary(mul),
  div: binary(div),
  maximum: binary(max),
  neg: unary((x) => -x),
  scale: unary(mul),
  add_scalar: unary(add),
  broadcast_to: broadcast,
  reshape: unary((x) => x),
  exp: unary(exp),
  log: unary(log),
  sqrt: unary(sqrt),
  rsqrt: unary(rsqrt),
  tanh: unary(tanh),
  erf: unary(erf),
  sin: unary(sin),
  cos: unary(cos),
  pow: unary(pow),
  relu: unary((x) => (x > 0 || x !== x ? x : 0)),
  relu_grad: binary((y, dy) => (y > 0 ? dy : 0)),
  gelu_tanh: unary((x) => mul(mul(0.5, x), add(1, inner(x, mul(x, x))))),
  gelu_tanh_grad: binary(geluTanhGrad),
  gelu_erf: unary((x) => mul(mul(0.5, x), add(1, erf(mul(x, f(0.7071067812)))))),
  gelu_erf_grad: binary(geluErfGrad),
  sigmoid: unary(sigmoid),
  silu: unary((x) => mul(x, sigmoid(x))),
  silu_grad: binary(siluGrad),
  dropout,
  sgd,
  adam: adam(false),
  adamw: adam(true),
};
