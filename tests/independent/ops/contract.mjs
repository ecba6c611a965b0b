// matmul and convolutions: docs/NUMERICS.md, section 5.
import { placeOf } from "../images.mjs";
import { contract } from "../reductions.mjs";
import { product } from "../types.mjs";

function matmul(op, e) {
  const [ta, tb] = op.values,
    [a, b] = op.in.map(({ shape }) => shape),
    [m, n] = op.out[0].shape.slice(-2),
    depth = a.at(ta ? -2 : -1),
    batch = Math.floor(e / (m * n)),
    row = Math.floor(e / n) % m,
    column = e % n,
    first = (shape, other) => (shape.length >= other.length ? batch * product(shape.slice(-2)) : 0); // a shared matrix is the same for all
  return [...Array(depth).keys()].map((k) => [
    op.at(0, first(a, b) + (ta ? k * m + row : row * depth + k)),
    op.at(1, first(b, a) + (tb ? column * depth + k : k * n + column)),
  ]);
}

// Element [n, h, w, c] of images, +0 outside.
const tap = (op, input, [count, height, width, channels], n, h, w, c) =>
  h < 0 || h >= height || w < 0 || w >= width ? 0 : op.at(input, ((n * height + h) * width + w) * channels + c);
function conv2d(op, e) {
  const [stride, pad, groups] = op.values,
    [x, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / (outputs / groups)),
    pairs = [];
  for (let kh = 0; kh < kernelH; ++kh)
    for (let kw = 0; kw < kernelW; ++kw)
      for (let c = 0; c < channels; ++c)
        pairs.push([
          tap(op, 0, x, at.n, at.h * stride + kh - pad, at.w * stride + kw - pad, group * channels + c),
          op.at(1, ((at.c * kernelH + kh) * kernelW + kw) * channels + c),
        ]);
  return pairs;
}
function conv2dGradX(op, e) {
  const [stride, pad, groups] = op.values,
    [dy, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / channels),
    each = outputs / groups,
    pairs = [];
  for (let kh = 0; kh < kernelH; ++kh)
    for (let kw = 0; kw < kernelW; ++kw) {
      const [h, v] = [at.h + pad - kh, at.w + pad - kw];
      if (h % stride !== 0 || v % stride !== 0) continue;
      for (let o = group * each; o < (group + 1) * each; ++o)
        pairs.push([
          tap(op, 0, dy, at.n, h / stride, v / stride, o),
          op.at(1, ((o * kernelH + kh) * kernelW + kw) * channels + (at.c % channels)),
        ]);
    }
  return pairs;
}
function conv2dGradW(op, e) {
  const [stride, pad, groups] = op.values,
    [x, dy] = op.in.map(({ shape }) => shape),
    [outputs, , , channels] = op.out[0].shape,
    { n: o, h: kh, w: kw, c } = placeOf(e, op.out[0].shape),
    channel = Math.floor(o / (outputs / groups)) * channels + c,
    pairs = [];
  for (let n = 0; n < dy[0]; ++n)
    for (let h = 0; h < dy[1]; ++h)
      for (let w = 0; w < dy[2]; ++w)
        pairs.push([
          op.at(1, ((n * dy[1] + h) * dy[2] + w) * outputs + o),
          tap(op, 0, x, n, h * stride + kh - pad, w * stride + kw - pad, channel),
        ]);
  return pairs;
}

// What an element multiplies with each other, in the order of its contraction.
export const pairsOf = { matmul, conv2d, conv2d_grad_x: conv2dGradX, conv2d_grad_w: conv2dGradW };

const element = (pairs) => (op, _, e) => {
  const list = pairs(op, e);
  return contract(
    list.length,
    (k) => list[k][0],
    (k) => list[k][1],
  );
};
export default Object.fromEntries(Object.entries(pairsOf).map(([name, pairs]) => [name, element(pairs)]));
