// Shape rules: docs/formats/ops.md. A type is {dtype: "f32", shape: [2, 3]}; infer gives the types of an op's outputs, or undefined where the op does
// not take its inputs or attributes.
const LIMIT = 2 ** 34;
export const product = (extents) => extents.reduce((all, extent) => all * extent, 1);

class Refused extends Error {}
const need = (condition) => {
  if (!condition) throw new Refused();
};
const f32 = (shape) => ({ dtype: "f32", shape });
const i32 = (shape) => ({ dtype: "i32", shape });
const equal = (a, b) => a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((d, i) => d === b.shape[i]);
const between = (value, low, high) => need(value >= low && value <= high);
const flag = (value) => need(value === 0 || value === 1);
const finite = (value) => need(Number.isFinite(value));
// Extents of 0 count as 1.
const reasonable = (shape) => need(product(shape.map((d) => Math.max(d, 1))) <= LIMIT);
const small = (type) => (need(product(type.shape) <= LIMIT), type);
const floats = (types, count) => need(types.length === count && types.every(({ dtype }) => dtype === "f32"));
const expect = (type, wanted) => need(equal(type, wanted));
const rank = (type, count) => need(type.dtype === "f32" && type.shape.length === count);
const RNG = { dtype: "u32", shape: [4] };

const alike = (count) => (_, types) => {
  floats(types, count);
  reasonable(types[0].shape);
  types.forEach((type) => expect(type, types[0]));
  return [types[0]];
};
const shapeAttribute = (shape) => {
  need(shape.length <= 8 && shape.every((d) => d >= 0 && d <= LIMIT));
  reasonable(shape);
  return f32(shape);
};
function broadcast([shape], types) {
  alike(1)([], types);
  const out = shapeAttribute(shape),
    from = types[0].shape;
  need(from.length <= shape.length && from.every((_, k) => from.at(-1 - k) === 1 || from.at(-1 - k) === shape.at(-1 - k)));
  return [out];
}
function reshape([shape], types) {
  alike(1)([], types);
  const out = shapeAttribute(shape);
  need(product(shape) === product(types[0].shape));
  return [out];
}
function dropout([p, stream], types) {
  need(types.length === 2 && p >= 0 && p < 1);
  expect(types[1], RNG);
  between(stream, 0, 2 ** 32 - 1);
  return alike(1)([], types.slice(0, 1));
}

const along = (types, axis) => between(axis, 0, types[0].shape.length - 1);
const withExtent = ({ dtype, shape }, axis, extent) => ({ dtype, shape: shape.with(axis, extent) });
function transpose([perm], types) {
  need(types.length === 1 && perm.length === types[0].shape.length);
  need([...perm].sort((a, b) => a - b).every((axis, k) => axis === k));
  return [small({ dtype: types[0].dtype, shape: perm.map((axis) => types[0].shape[axis]) })];
}
function slice([axis, begin, end], types) {
  need(types.length === 1);
  along(types, axis);
  need(0 <= begin && begin <= end && end <= types[0].shape[axis]);
  return [small(withExtent(types[0], axis, end - begin))];
}
function pad([axis, before, after], types) {
  need(types.length === 1);
  along(types, axis);
  [before, after, types[0].shape[axis]].forEach((extent) => between(extent, 0, LIMIT));
  return [small(withExtent(types[0], axis, types[0].shape[axis] + before + after))];
}
function concat([axis], types) {
  need(types.length >= 1);
  along(types, axis);
  let extent = 0;
  for (const type of types) {
    need(type.shape.length === types[0].shape.length);
    expect(type, withExtent(types[0], axis, type.shape[axis]));
    extent += type.shape[axis];
    need(extent <= LIMIT);
  }
  return [small(withExtent(types[0], axis, extent))];
}

const split = (at, types, count = 1) => {
  floats(types, count);
  between(at, 0, types[0].shape.length);
  reasonable(types[0].shape);
};
const rows = ([at], types) => (split(at, types), [f32(types[0].shape.slice(0, at))]);
const rowMax = ([at], types) => {
  split(at, types);
  need(product(types[0].shape.slice(at)) >= 1);
  return rows([at], types);
};
function rowMaxGrad(values, types) {
  floats(types, 3);
  const [y] = rowMax(values, types.slice(0, 1));
  types.slice(1).forEach((type) => expect(type, y));
  return [types[0]];
}
function clipScale([most], types) {
  need(types.length >= 1 && most === most);
  types.forEach((type) => expect(type, f32([])));
  return [f32([]), f32([])];
}

function matmul([ta, tb], types) {
  floats(types, 2);
  [ta, tb].forEach(flag);
  const [a, b] = types.map(({ shape }) => shape);
  need(a.length >= 2 && b.length >= 2);
  const leading = a.length === b.length && a.slice(0, -2).every((d, i) => d === b[i]);
  need(leading || a.length === 2 || b.length === 2);
  need(a.at(ta ? -2 : -1) === b.at(tb ? -1 : -2));
  const outer = (a.length >= b.length ? a : b).slice(0, -2);
  return [small(f32([...outer, a.at(ta ? -1 : -2), b.at(tb ? -2 : -1)]))];
}
const SIDE = 2 ** 24;
const images = (types) => {
  need(types.length === 2);
  types.forEach((type) => (rank(type, 4), need(type.shape.every((d) => d >= 1))));
};
// The output of a convolution.
function convolved([stride, pad, groups], x, w) {
  between(stride, 1, SIDE);
  between(pad, 0, SIDE);
  for (const axis of [1, 2]) {
    between(x[axis], 1, SIDE);
    between(w[axis], 1, SIDE);
    need(w[axis] <= x[axis] + 2 * pad);
  }
  need(groups >= 1 && x[3] % groups === 0 && w[0] % groups === 0 && w[3] === x[3] / groups);
  const side = (axis) => Math.floor((x[axis] + 2 * pad - w[axis]) / stride) + 1;
  return f32([x[0], side(1), side(2), w[0]]);
}
function conv2d(values, types) {
  images(types);
  return [small(convolved(values, types[0].shape, types[1].shape))];
}
function conv2dGradX([stride, pad, groups, height, width], types) {
  images(types);
  const [dy, w] = types;
  between(height, 1, SIDE);
  between(width, 1, SIDE);
  between(groups, 1, w.shape[0]);
  const x = [dy.shape[0], height, width, w.shape[3] * groups];
  expect(dy, convolved([stride, pad, groups], x, w.shape));
  return [small(f32(x))];
}
function conv2dGradW([stride, pad, groups, kernelH, kernelW], types) {
  images(types);
  const [x, dy] = types;
  between(kernelH, 1, SIDE);
  between(kernelW, 1, SIDE);
  between(groups, 1, x.shape[3]);
  const w = [dy.shape[3], kernelH, kernelW, Math.floor(x.shape[3] / groups)];
  expect(dy, convolved([stride, pad, groups], x.shape, w));
  return [small(f32(w))];
}

const lastAxis = ({ shape }) => {
  need(shape.length >= 1 && shape.at(-1) >= 1);
  reasonable(shape);
};
function softmax(_, types) {
  floats(types, types.length);
  lastAxis(types[0]);
  types.forEach((type) => expect(type, types[0]));
  return [types[0]];
}
function losses(types) {
  const [logits, targets] = types;
  rank(logits, 2);
  lastAxis(logits);
  need(logits.shape[1] <= 2 ** 31 - 1 && targets.dtype === "i32" && product(targets.shape) === logits.shape[0]);
  reasonable(targets.shape);
  return f32([logits.shape[0]]);
}
function crossEntropyGrad(_, types) {
  need(types.length === 4);
  const row = losses(types);
  types.slice(2).forEach((type) => expect(type, row));
  return [types[0]];
}

const epsilon = (eps) => between(eps, 0, Math.fround(1e30));
// Inputs after x by their letters: x as x, r one value a row, c one a column.
const norm = (letters, outputs, { some = false, eps = true } = {}) => ([value], types) => {
  floats(types, letters.length);
  lastAxis(types[0]);
  const { shape } = types[0],
    made = { x: f32(shape), r: f32(shape.slice(0, -1)), c: f32([shape.at(-1)]) };
  [...letters].forEach((letter, k) => expect(types[k], made[letter]));
  if (some) need(product(shape.slice(0, -1)) >= 1);
  if (eps) epsilon(value);
  return [...outputs].map((letter) => made[letter]);
};

const WORD = 2 ** 31 - 1;
const image = (height, width) => {
  between(height, 1, WORD);
  between(width, 1, WORD);
  need(height * width <= WORD);
};
function pooled([kernelH, kernelW, stride, pad], [n, height, width, channels]) {
  reasonable([n, height, width, channels]);
  image(height, width);
  [kernelH, kernelW, stride].forEach((value) => between(value, 1, WORD));
  between(pad, 0, Math.min(kernelH, kernelW) - 1);
  need(kernelH <= height + 2 * pad && kernelW <= width + 2 * pad);
  const side = (extent, kernel) => Math.floor((extent + 2 * pad - kernel) / stride) + 1,
    out = [n, side(height, kernelH), side(width, kernelW), channels];
  reasonable(out);
  return out;
}
const pool = (outputs) => (values, types) => {
  need(types.length === 1);
  rank(types[0], 4);
  const shape = pooled(values, types[0].shape);
  return outputs.map((dtype) => ({ dtype, shape }));
};
const poolGrad = (argmax) => (values, types) => {
  need(types.length === (argmax ? 2 : 1));
  rank(types[0], 4);
  const [height, width] = values.slice(4),
    [n, , , channels] = types[0].shape,
    x = [n, height, width, channels];
  image(height, width);
  expect(types[0], f32(pooled(values, x)));
  if (argmax) expect(types[1], i32(types[0].shape));
  return [f32(x)];
};
function globalPool(_, types) {
  need(types.length === 1);
  rank(types[0], 4);
  const [n, height, width, channels] = types[0].shape;
  reasonable(types[0].shape);
  image(height, width);
  return [f32([n, channels])];
}
function globalPoolGrad([height, width], types) {
  need(types.length === 1);
  rank(types[0], 2);
  image(height, width);
  const x = [types[0].shape[0], height, width, types[0].shape[1]];
  reasonable(x);
  return [f32(x)];
}

function embedding(_, types) {
  need(types.length === 2);
  const [table, ids] = types;
  rank(table, 2);
  reasonable(table.shape);
  between(table.shape[0], 1, WORD);
  need(table.shape[1] >= 1 && ids.dtype === "i32" && ids.shape.length <= 7);
  const out = [...ids.shape, table.shape[1]];
  reasonable(out);
  return [f32(out)];
}
function embeddingGrad([count], types) {
  need(types.length === 2);
  const [ids, dy] = types;
  between(count, 1, WORD);
  need(ids.dtype === "i32" && ids.shape.length <= 7);
  lastAxis(dy);
  expect(dy, f32([...ids.shape, dy.shape.at(-1)]));
  const out = [count, dy.shape.at(-1)];
  reasonable(out);
  return [f32(out)];
}
function rope([base, offset, inverse], types) {
  need(types.length === 1);
  rank(types[0], 4);
  const [, time, , width] = types[0].shape;
  need(width >= 2 && width % 2 === 0 && width <= SIDE && Number.isFinite(base) && base > 0);
  between(time, 0, SIDE);
  between(offset, 0, SIDE - time);
  flag(inverse);
  return [small(types[0])];
}
function attentionTypes([causal, scale, p, stream], types, rng) {
  const [q, k, v] = types;
  rank(q, 4);
  rank(k, 4);
  expect(v, k);
  expect(types[rng], RNG);
  need([...q.shape, ...k.shape].every((d) => d >= 1));
  const [batch, tq, hq, d] = q.shape,
    [otherBatch, tk, hkv, otherD] = k.shape;
  need(batch === otherBatch && d === otherD && hq % hkv === 0 && batch * tq * hq * tk <= LIMIT && d <= 256);
  flag(causal);
  need(!causal || tq <= tk);
  finite(scale);
  need(p >= 0 && p < 1);
  between(stream, 0, 0x0fffffff);
  return f32([batch, hq, tq]);
}
function attention(values, types) {
  need(types.length === 4);
  const lse = attentionTypes(values, types, 3);
  return [small(types[0]), lse].map(small);
}
function attentionGrad(values, types) {
  need(types.length === 7);
  const lse = attentionTypes(values, types, 6);
  expect(types[3], types[0]);
  expect(types[4], lse);
  expect(types[5], types[0]);
  return [types[0], types[1], types[2]].map(small);
}

function parameter(types, count) {
  alike(count)([], types.slice(0, count));
  types.slice(count, count + 2).forEach((type) => expect(type, f32([])));
}
function sgd([momentum, dampening, decay, nesterov], types) {
  need(types.length === 5);
  parameter(types, 3);
  [momentum, dampening, decay].forEach(finite);
  flag(nesterov);
  return [types[0], types[0]];
}
function adam([beta1, beta2, eps, decay], types) {
  need(types.length === 7);
  parameter(types, 4);
  expect(types[6], { dtype: "i64", shape: [] });
  need(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1);
  epsilon(eps);
  finite(decay);
  return [types[0], types[0], types[0]];
}

const each = (names, rule) => Object.fromEntries(names.split(" ").map((name) => [name, rule]));
const rules = {
  fill: ([shape], types) => (need(types.length === 0), [shapeAttribute(shape)]),
  ...each("neg scale add_scalar exp log sqrt rsqrt tanh erf sin cos pow relu gelu_tanh gelu_erf sigmoid silu", alike(1)),
  ...each("add sub mul div maximum relu_grad gelu_tanh_grad gelu_erf_grad silu_grad", alike(2)),
  broadcast_to: broadcast,
  reshape,
  dropout,
  transpose,
  slice,
  pad,
  concat,
  row_sum: rows,
  col_sum: ([at], types) => (split(at, types), [f32(types[0].shape.slice(at))]),
  row_max: rowMax,
  row_max_grad: rowMaxGrad,
  sum_squares: (_, types) => (floats(types, 1), reasonable(types[0].shape), [f32([])]),
  clip_scale: clipScale,
  matmul,
  conv2d,
  conv2d_grad_x: conv2dGradX,
  conv2d_grad_w: conv2dGradW,
  softmax: (values, types) => (need(types.length === 1), softmax(values, types)),
  softmax_grad: (values, types) => (need(types.length === 2), softmax(values, types)),
  cross_entropy: (_, types) => (need(types.length === 2), [losses(types), losses(types)]),
  cross_entropy_grad: crossEntropyGrad,
  layernorm: norm("xcc", "xrr"),
  layernorm_grad_x: norm("xcrrx", "x", { eps: false }),
  layernorm_grad_params: norm("xrrx", "cc", { eps: false }),
  rmsnorm: norm("xc", "xr"),
  rmsnorm_grad_x: norm("xcrx", "x", { eps: false }),
  rmsnorm_grad_gamma: norm("xrx", "c", { eps: false }),
  batchnorm_train: norm("xcc", "xccc", { some: true }),
  batchnorm_infer: norm("xcccc", "x"),
  batchnorm_grad: norm("xcccx", "xcc", { some: true, eps: false }),
  max_pool2d: pool(["f32", "i32"]),
  avg_pool2d: pool(["f32"]),
  max_pool2d_grad: poolGrad(true),
  avg_pool2d_grad: poolGrad(false),
  global_avg_pool: globalPool,
  global_avg_pool_grad: globalPoolGrad,
  embedding,
  embedding_grad: embeddingGrad,
  rope,
  attention,
  attention_grad: attentionGrad,
  sgd,
  adam,
  adamw: adam,
};

// The optional last attribute `digits`: how many attributes come before it.
export const BEFORE_DIGITS = { matmul: 2, conv2d: 3, conv2d_grad_x: 5, conv2d_grad_w: 5, attention: 4, attention_grad: 4 };
function checkDigits(name, values) {
  const before = BEFORE_DIGITS[name] ?? values.length;
  need(values.length <= before + (name in BEFORE_DIGITS ? 1 : 0));
  need(values.length <= before || values[before] === 2 || values[before] === 3);
}

export function infer(name, values, types) {
  try {
    checkDigits(name, values);
    return rules[name](values, types);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}
