// The elements that one element of an output depends on, as docs/formats/ops.md declares them, in its order.
import { placeOf, windowsOver } from "../images.mjs";
import { Attention, evaluator } from "../ops/index.mjs";
import { product } from "../types.mjs";
import { run } from "./trees.mjs";

const whole = (op, input) => run(input, 0, product(op.in[input].shape));
const all = (op) => op.in.map((_, input) => whole(op, input));
const view = (op) => ({ C: op.in[0].shape.at(-1), R: product(op.in[0].shape.slice(0, -1)) });
const row = (input, r, C) => run(input, r * C, C);
const column = (input, c, C, R) => run(input, c, 1, C, R);
// Rows and columns of pixels of an image, all channels.
const patch = (input, n, [h0, h1], [w0, w1], [, height, width, channels]) =>
  h1 <= h0 || w1 <= w0
    ? []
    : [run(input, ((n * height + h0) * width + w0) * channels, (w1 - w0) * channels, width * channels, h1 - h0)];
const clamp = ([begin, end], limit) => [begin, end].map((x) => Math.min(Math.max(x, 0), limit));

// One element of each input that is as large as the output, all of the others.
const aligned = (small) => (op, _, e) => op.in.map((__, input) => (small.includes(input) ? whole(op, input) : run(input, e)));

// Without depth the runs are empty.
export function matmul(op, _, e) {
  const [ta, tb] = op.values,
    [a, b] = op.in.map(({ shape }) => shape),
    [m, n] = op.out[0].shape.slice(-2),
    depth = a.at(ta ? -2 : -1),
    batch = Math.floor(e / (m * n)),
    first = (shape, other) => (shape.length >= other.length ? batch * product(shape.slice(-2)) : 0),
    [i, j] = [Math.floor(e / n) % m, e % n];
  return [
    ta ? run(0, first(a, b) + i, 1, m, depth) : run(0, first(a, b) + i * depth, depth),
    tb ? run(1, first(b, a) + j * depth, depth) : run(1, first(b, a) + j, 1, n, depth),
  ];
}
function conv2d(op, _, e) {
  const [stride, pad] = op.values,
    [x, w] = op.in.map(({ shape }) => shape),
    at = placeOf(e, op.out[0].shape),
    taps = (window, kernel, limit) => clamp([window * stride - pad, window * stride - pad + kernel], limit),
    kernel = product(w.slice(1));
  return [...patch(0, at.n, taps(at.h, w[1], x[1]), taps(at.w, w[2], x[2]), x), run(1, at.c * kernel, kernel)];
}
function conv2dGradX(op, _, e) {
  const [stride, pad] = op.values,
    [dy, w] = op.in.map(({ shape }) => shape),
    at = placeOf(e, op.out[0].shape),
    over = (pixel, kernel, limit) =>
      clamp([Math.floor((pixel + pad - kernel + stride) / stride), Math.floor((pixel + pad) / stride) + 1], limit);
  return [...patch(0, at.n, over(at.h, w[1], dy[1]), over(at.w, w[2], dy[2]), dy), whole(op, 1)];
}
function conv2dGradW(op, _, e) {
  const groups = op.values[2],
    [x, dy] = op.in.map(({ shape }) => shape),
    { n: o } = placeOf(e, op.out[0].shape),
    each = x[3] / groups,
    group = Math.floor(o / (dy[3] / groups));
  return [run(0, group * each, each, x[3], product(x.slice(0, 3))), run(1, o, 1, dy[3], product(dy.slice(0, 3)))];
}

const columns = (op) => product(op.in[0].shape.slice(op.values[0]));
const rowsOf = (op, _, r) => [row(0, r, columns(op))];
function rowMaxGrad(op, _, e) {
  const n = columns(op),
    r = Math.floor(e / n);
  return [run(0, r * n, e + 1 - r * n), run(1, r), run(2, r)];
}
const softmax = (op, _, e) => {
  const { C } = view(op);
  return op.in.map((__, input) => row(input, Math.floor(e / C), C));
};

// Inputs of norms by letter: x the row, X the column, e the element, r one value of the row, R of all rows, c one of the column, C of all columns.
// `per` says what an element of the output belongs to.
const norm =
  (...outputs) =>
  (op, output, e) => {
    const { C, R } = view(op),
      [letters, per] = outputs[Math.min(output, outputs.length - 1)],
      r = per === "row" ? e : Math.floor(e / C),
      c = per === "column" ? e : e % C,
      of = {
        x: (input) => row(input, r, C),
        X: (input) => column(input, c, C, R),
        e: (input) => run(input, e),
        r: (input) => run(input, r),
        R: (input) => run(input, 0, R),
        c: (input) => run(input, c),
        C: (input) => run(input, 0, C),
      };
    return letters.split(" ").map(([input, letter]) => of[letter](Number(input)));
  };

function pool(op, _, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    x = op.in[0].shape,
    at = placeOf(e, op.out[0].shape),
    taps = (window, kernel, limit) => clamp([window * stride - pad, window * stride - pad + kernel], limit);
  return patch(0, at.n, taps(at.h, kernelH, x[1]), taps(at.w, kernelW, x[2]), x);
}
function poolGrad(op, _, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    dy = op.in[0].shape,
    at = placeOf(e, op.out[0].shape),
    over = windowsOver(stride, pad);
  return op.in.flatMap((__, input) => patch(input, at.n, over(at.h, kernelH, dy[1]), over(at.w, kernelW, dy[2]), dy));
}
function globalPool(op, _, e) {
  const [, height, width, channels] = op.in[0].shape,
    pixels = height * width;
  return [run(0, Math.floor(e / channels) * pixels * channels + (e % channels), 1, channels, pixels)];
}

export function attention(op, output, e) {
  const a = new Attention(op, 3);
  let b, h, i;
  if (output === 0) [h, i, b] = [Math.floor(e / a.d) % a.hq, Math.floor(e / (a.d * a.hq)) % a.tq, Math.floor(e / (a.d * a.hq * a.tq))];
  else [h, i, b] = [Math.floor(e / a.tq) % a.hq, e % a.tq, Math.floor(e / (a.tq * a.hq))];
  const keys = (input) => run(input, a.keyRow(b, h, 0), a.d, a.hkv * a.d, a.visible(i));
  return [
    run(0, a.queryRow(b, h, i), a.d),
    keys(1),
    ...(output === 0 ? [keys(2), ...(a.dropout > 0 ? [run(3, 0, 4)] : [])] : []),
  ];
}
function attentionGrad(op, output, e) {
  const a = new Attention(op, 6),
    { b, t, head } = a.gradientPlace(output, e),
    rng = a.dropout > 0 ? [run(6, 0, 4)] : [];
  if (output === 0) {
    const keys = (input) => run(input, a.keyRow(b, head, 0), a.d, a.hkv * a.d, a.visible(t));
    return [
      ...[0, 3, 5].map((input) => run(input, a.queryRow(b, head, t), a.d)),
      run(4, (b * a.hq + head) * a.tq + t),
      keys(1),
      keys(2),
      ...rng,
    ];
  }
  const group = a.hq / a.hkv,
    first = a.causal ? Math.max(0, t - (a.tk - a.tq)) : 0,
    h = head * group;
  return [
    ...[0, 3, 5].map((input) => run(input, a.queryRow(b, h, first), group * a.d, a.hq * a.d, a.tq - first)),
    run(4, (b * a.hq + h) * a.tq + first, a.tq - first, a.tq, group),
    ...[1, 2].map((input) => run(input, a.keyRow(b, h, t), a.d)),
    ...rng,
  ];
}

// The one element that an element of a layout op or broadcast_to is, if any: found by asking which one is read.
const single = (name) => (op, output, e) => {
  const read = [];
  evaluator(name, op.values, op.in, op.out, (input, i) => (read.push(run(input, i)), 0))(output, e);
  return read;
};

const rules = {
  fill: () => [],
  dropout: aligned([1]),
  sgd: aligned([3, 4]),
  adam: aligned([4, 5, 6]),
  adamw: aligned([4, 5, 6]),
  row_sum: rowsOf,
  row_max: rowsOf,
  col_sum: (op, _, c) => [column(0, c, columns(op), product(op.in[0].shape.slice(0, op.values[0])))],
  row_max_grad: rowMaxGrad,
  sum_squares: all,
  clip_scale: all,
  matmul,
  conv2d,
  conv2d_grad_x: conv2dGradX,
  conv2d_grad_w: conv2dGradW,
  softmax,
  softmax_grad: softmax,
  cross_entropy: (op, output, r) => [row(0, r, op.in[0].shape[1]), ...(output === 0 ? [run(1, r)] : [])],
  cross_entropy_grad: (op, _, e) => {
    const r = Math.floor(e / op.in[0].shape[1]);
    return [run(0, e), run(1, r), run(2, r), run(3, r)];
  },
  layernorm: norm(["0x 1c 2c"], ["0x", "row"]),
  layernorm_grad_x: norm(["0x 1C 2r 3r 4x"]),
  layernorm_grad_params: norm(["0X 1R 2R 3X", "column"], ["3X", "column"]),
  rmsnorm: norm(["0x 1c"], ["0x", "row"]),
  rmsnorm_grad_x: norm(["0x 1C 2r 3x"]),
  rmsnorm_grad_gamma: norm(["0X 1R 2X", "column"]),
  batchnorm_train: norm(["0X 1c 2c"], ["0X", "column"]),
  batchnorm_infer: norm(["0e 1c 2c 3c 4c"]),
  batchnorm_grad: norm(["4X 0X 2c 3c 1c"], ["4X 0X 2c 3c", "column"], ["4X", "column"]),
  max_pool2d: pool,
  avg_pool2d: pool,
  max_pool2d_grad: poolGrad,
  avg_pool2d_grad: poolGrad,
  global_avg_pool: globalPool,
  global_avg_pool_grad: (op, _, e) => {
    const { n, c } = placeOf(e, op.out[0].shape);
    return [run(0, n * op.in[0].shape[1] + c)];
  },
  embedding: (op, _, e) => {
    const [rows, width] = op.in[0].shape;
    return [column(0, e % width, width, rows), run(1, Math.floor(e / width))];
  },
  embedding_grad: (op, _, e) => {
    const width = op.out[0].shape[1],
      positions = product(op.in[0].shape);
    return [run(0, 0, positions), column(1, e % width, width, positions)];
  },
  rope: (op, _, e) => [row(0, Math.floor(e / op.in[0].shape[3]), op.in[0].shape[3])],
  attention,
  attention_grad: attentionGrad,
};
for (const name of ["broadcast_to", "transpose", "slice", "pad", "concat"]) rules[name] = single(name);

// Where a run is empty it is left out.
export const needsOf = (name, op, output, e) =>
  (rules[name] ?? aligned([]))(op, output, e).filter(({ length, repeat }) => length > 0 && repeat > 0);
