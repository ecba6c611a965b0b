// The words that an element of a rounded job depends on, in the order of the table of docs/formats/dispute.md, "Rounded jobs", as runs of input
// elements. Nothing for ops whose elements depend on a few words.
import { placeOf, windowsOver } from "../images.mjs";
import { Attention } from "../ops/index.mjs";
import { attention, matmul } from "../derivation/needs.mjs";
import { run } from "../derivation/trees.mjs";
import { product } from "../types.mjs";

const view = (op) => ({ C: op.in[0].shape.at(-1), R: product(op.in[0].shape.slice(0, -1)) });
const split = (op) => ({ C: product(op.in[0].shape.slice(op.values[0])), R: product(op.in[0].shape.slice(0, op.values[0])) });
const row = (input, r, C) => run(input, r * C, C);
const column = (input, c, { C, R }) => run(input, c, 1, C, R);
const range = (n) => [...Array(n).keys()];
const inside = (i, extent) => i >= 0 && i < extent;

const taps = ([, kh, kw]) => range(kh * kw).map((tap) => ({ tap, kh: Math.floor(tap / kw), kw: tap % kw }));
function conv2d(op, _, e) {
  const [stride, pad, groups] = op.values,
    [x, w] = op.in.map(({ shape }) => shape),
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / (w[0] / groups)),
    kernel = product(w.slice(1));
  return [
    ...taps(w)
      .map(({ kh, kw }) => [at.h * stride + kh - pad, at.w * stride + kw - pad])
      .filter(([h, v]) => inside(h, x[1]) && inside(v, x[2]))
      .map(([h, v]) => run(0, ((at.n * x[1] + h) * x[2] + v) * x[3] + group * w[3], w[3])),
    run(1, at.c * kernel, kernel),
  ];
}
function conv2dGradX(op, _, e) {
  const [stride, pad, groups] = op.values,
    [dy, w] = op.in.map(({ shape }) => shape),
    at = placeOf(e, op.out[0].shape),
    outputs = w[0] / groups,
    first = Math.floor(at.c / w[3]) * outputs,
    kernel = product(w.slice(1)),
    hit = taps(w).filter(({ kh, kw }) => (at.h + pad - kh) % stride === 0 && (at.w + pad - kw) % stride === 0);
  return [
    ...hit
      .map(({ kh, kw }) => [(at.h + pad - kh) / stride, (at.w + pad - kw) / stride])
      .filter(([h, v]) => inside(h, dy[1]) && inside(v, dy[2]))
      .map(([h, v]) => run(0, ((at.n * dy[1] + h) * dy[2] + v) * dy[3] + first, outputs)),
    ...hit.map(({ tap }) => run(1, first * kernel + tap * w[3] + (at.c % w[3]), 1, kernel, outputs)),
  ];
}
function conv2dGradW(op, _, e) {
  const [stride, pad, groups] = op.values,
    [x, dy] = op.in.map(({ shape }) => shape),
    { n: o, h: kh, w: kw, c } = placeOf(e, op.out[0].shape),
    channel = Math.floor(o / (dy[3] / groups)) * op.out[0].shape[3] + c,
    pixels = [];
  for (let n = 0; n < dy[0]; ++n)
    for (let i = 0; i < dy[1]; ++i)
      for (let j = 0; j < dy[2]; ++j) {
        const [h, w] = [i * stride + kh - pad, j * stride + kw - pad];
        if (inside(h, x[1]) && inside(w, x[2])) pixels.push(run(0, ((n * x[1] + h) * x[2] + w) * x[3] + channel));
      }
  return [...pixels, run(1, o, 1, dy[3], product(dy.slice(0, 3)))];
}

function rowMaxGrad(op, _, e) {
  const { C } = split(op),
    r = Math.floor(e / C);
  return [run(0, r * C, (e % C) + 1), run(1, r), run(2, r)];
}
const softmax = (op, _, e) => {
  const { C } = view(op);
  return op.in.map((__, input) => row(input, Math.floor(e / C), C));
};
function rowNorm(op, output, e) {
  const { C } = view(op);
  if (output > 0) return [row(0, e, C)];
  return [row(0, Math.floor(e / C), C), ...range(op.in.length - 1).map((k) => run(k + 1, e % C))];
}
function rowNormGradX(op, _, e) {
  const { C } = view(op),
    r = Math.floor(e / C),
    last = op.in.length - 1;
  return [row(0, r, C), run(1, 0, C), ...range(last - 2).map((k) => run(k + 2, r)), row(last, r, C)];
}
function rowNormGradParams(op, output, c) {
  const shape = view(op),
    last = op.in.length - 1;
  return [
    ...(output === 0 ? [column(0, c, shape), ...range(last - 1).map((k) => run(k + 1, 0, shape.R))] : []),
    column(last, c, shape),
  ];
}
function batchnormTrain(op, output, e) {
  const shape = view(op);
  if (output > 0) return [column(0, e, shape)];
  return [column(0, e % shape.C, shape), run(1, e % shape.C), run(2, e % shape.C)];
}
function batchnormGrad(op, output, e) {
  const shape = view(op),
    c = output === 0 ? e % shape.C : e;
  return [
    ...(output !== 2 ? [column(0, c, shape)] : []),
    ...(output === 0 ? [run(1, c)] : []),
    ...(output !== 2 ? [run(2, c), run(3, c)] : []),
    column(4, c, shape),
  ];
}

// Pixels of one channel, row by row.
const pixels = (input, { n, c }, [h0, h1], [w0, w1], [, height, width, channels]) =>
  range(Math.max(0, h1 - h0)).map((i) => run(input, ((n * height + h0 + i) * width + w0) * channels + c, 1, channels, Math.max(0, w1 - w0)));
function pool(op, _, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    x = op.in[0].shape,
    at = placeOf(e, op.out[0].shape),
    over = (window, kernel, limit) => [Math.max(window * stride - pad, 0), Math.min(window * stride - pad + kernel, limit)];
  return pixels(0, at, over(at.h, kernelH, x[1]), over(at.w, kernelW, x[2]), x);
}
function poolGrad(op, _, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    dy = op.in[0].shape,
    at = placeOf(e, op.out[0].shape),
    over = windowsOver(stride, pad);
  return op.in.flatMap((__, input) => pixels(input, at, over(at.h, kernelH, dy[1]), over(at.w, kernelW, dy[2]), dy));
}

function attentionGrad(op, output, e) {
  const a = new Attention(op, 6),
    { b, t, head } = a.gradientPlace(output, e),
    group = a.hq / a.hkv,
    rng = a.dropout > 0 ? [run(6, 0, 4)] : [];
  if (output === 0) {
    const query = (input) => run(input, a.queryRow(b, head, t), a.d),
      keys = (input) => run(input, a.keyRow(b, head, 0), a.d, a.hkv * a.d, a.visible(t));
    return [query(0), keys(1), keys(2), query(3), run(4, (b * a.hq + head) * a.tq + t), query(5), ...rng];
  }
  const h = head * group,
    first = a.causal ? Math.max(0, t - (a.tk - a.tq)) : 0,
    queries = (input) => run(input, a.queryRow(b, h, first), group * a.d, a.hq * a.d, a.tq - first),
    key = (input) => run(input, a.keyRow(b, h, t), a.d);
  return [
    queries(0),
    key(1),
    ...(output === 1 ? [key(2), queries(3)] : []),
    ...range(group).map((k) => run(4, (b * a.hq + h + k) * a.tq + first, a.tq - first)),
    queries(5),
    ...rng,
  ];
}

const rules = {
  matmul,
  conv2d,
  conv2d_grad_x: conv2dGradX,
  conv2d_grad_w: conv2dGradW,
  row_sum: (op, _, r) => [row(0, r, split(op).C)],
  row_max: (op, _, r) => [row(0, r, split(op).C)],
  row_max_grad: rowMaxGrad,
  col_sum: (op, _, c) => [column(0, c, split(op))],
  clip_scale: (op) => op.in.map((type, input) => run(input, 0, product(type.shape))),
  softmax,
  softmax_grad: softmax,
  cross_entropy: (op, output, r) => [row(0, r, view(op).C), ...(output === 0 ? [run(1, r)] : [])],
  layernorm: rowNorm,
  rmsnorm: rowNorm,
  layernorm_grad_x: rowNormGradX,
  rmsnorm_grad_x: rowNormGradX,
  layernorm_grad_params: rowNormGradParams,
  rmsnorm_grad_gamma: rowNormGradParams,
  batchnorm_train: batchnormTrain,
  batchnorm_grad: batchnormGrad,
  max_pool2d: pool,
  avg_pool2d: pool,
  max_pool2d_grad: poolGrad,
  avg_pool2d_grad: poolGrad,
  global_avg_pool: (op, _, e) => {
    const [, height, width, channels] = op.in[0].shape;
    return [run(0, Math.floor(e / channels) * height * width * channels + (e % channels), 1, channels, height * width)];
  },
  rope: (op, _, e) => {
    const width = op.in[0].shape[3],
      first = e - (e % width) + ((e % width) % (width / 2));
    return [run(0, first), run(0, first + width / 2)];
  },
  embedding: (op, _, e) => [column(0, e % view(op).C, view(op)), run(1, Math.floor(e / view(op).C))],
  embedding_grad: (op, _, e) => {
    const width = op.in[1].shape.at(-1),
      rows = product(op.in[0].shape);
    return [run(0, 0, rows), run(1, e % width, 1, width, rows)];
  },
  attention,
  attention_grad: attentionGrad,
};

// [{input, i}] in order, or nothing.
export function wordsOf(name, op, output, e) {
  if (!(name in rules)) return undefined;
  return rules[name](op, output, e).flatMap(({ input, begin, length, stride, repeat }) =>
    range(repeat).flatMap((r) => range(length).map((k) => ({ input, i: begin + r * stride + k }))),
  );
}
