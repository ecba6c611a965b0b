// matmul and convolutions: docs/NUMERICS.md, section 5, and with digits section 7.
import { add } from "../arithmetic.mjs";
import * as digits from "../digits.mjs";
import { indexOf, placeOf } from "../images.mjs";
import { contract } from "../reductions.mjs";
import { BEFORE_DIGITS, product } from "../types.mjs";

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

// With digits: the pairs of blocks whose products are added, in their order. A block is told by the run of elements that share its scale: [input, first
// element, stride, count]; `pick` tells which of them product k multiplies, where it is not the k-th of each.
// [begin, count] of the pieces of 256 of a list.
const piecesOf = (length) =>
  Array.from({ length: Math.ceil(length / 256) }, (_, piece) => [256 * piece, Math.min(256, length - 256 * piece)]);

function matmulBlocks(op, e) {
  const [ta, tb] = op.values,
    [a, b] = op.in.map(({ shape }) => shape),
    [m, columns] = op.out[0].shape.slice(-2),
    depth = a.at(ta ? -2 : -1),
    batch = Math.floor(e / (m * columns)),
    row = Math.floor(e / columns) % m,
    column = e % columns,
    first = (shape, other) => (shape.length >= other.length ? batch * product(shape.slice(-2)) : 0),
    of = (input, begin, place, extent, inner, k, count) =>
      inner ? [input, begin + place * depth + k, 1, count] : [input, begin + k * extent + place, extent, count];
  return piecesOf(depth).map(([k, count]) => ({
    a: of(0, first(a, b), row, m, !ta, k, count),
    b: of(1, first(b, a), column, columns, tb, k, count),
    count,
  }));
}
function conv2dBlocks(op, e) {
  const [stride, pad, groups] = op.values,
    [x, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / (outputs / groups)),
    blocks = [];
  for (let kh = 0; kh < kernelH; ++kh)
    for (let kw = 0; kw < kernelW; ++kw) {
      const [h, v] = [at.h * stride + kh - pad, at.w * stride + kw - pad];
      if (h < 0 || h >= x[1] || v < 0 || v >= x[2]) continue;
      for (const [c, count] of piecesOf(channels))
        blocks.push({
          a: [0, indexOf(at.n, h, v, group * channels + c, x), 1, count],
          b: [1, indexOf(at.c, kh, kw, c, w), 1, count],
          count,
        });
    }
  return blocks;
}
function conv2dGradXBlocks(op, e) {
  const [stride, pad, groups] = op.values,
    [dy, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / channels),
    each = outputs / groups,
    blocks = [];
  for (let kh = 0; kh < kernelH; ++kh)
    for (let kw = 0; kw < kernelW; ++kw) {
      const [h, v] = [(at.h + pad - kh) / stride, (at.w + pad - kw) / stride];
      if (![h, v].every(Number.isInteger) || h < 0 || h >= dy[1] || v < 0 || v >= dy[2]) continue;
      for (const [o, count] of piecesOf(each))
        blocks.push({
          a: [0, indexOf(at.n, h, v, group * each + o, dy), 1, count],
          b: [1, indexOf(group * each + o, kh, kw, at.c % channels, w), kernelH * kernelW * channels, count],
          count,
        });
    }
  return blocks;
}
function conv2dGradWBlocks(op, e) {
  const [stride, pad, groups] = op.values,
    [x, dy] = op.in.map(({ shape }) => shape),
    [outputs, , , channels] = op.out[0].shape,
    { n: o, h: kh, w: kw, c } = placeOf(e, op.out[0].shape),
    channel = Math.floor(o / (outputs / groups)) * channels + c,
    blocks = [],
    pixel = (k) => {
      const h = Math.floor(k / dy[2]) * stride + kh - pad,
        w = (k % dy[2]) * stride + kw - pad;
      return h < 0 || h >= x[1] || w < 0 || w >= x[2] ? undefined : h * x[2] + w;
    };
  for (let image = 0; image < dy[0]; ++image)
    for (const [begin, count] of piecesOf(dy[1] * dy[2]))
      blocks.push({
        a: [1, indexOf(image, 0, 0, o, dy), outputs, dy[1] * dy[2]],
        b: [0, indexOf(image, 0, 0, channel, x), x[3], x[1] * x[2]],
        pick: (k) => [begin + k, pixel(begin + k)],
        count,
      });
  return blocks;
}
export const blocksOf = { matmul: matmulBlocks, conv2d: conv2dBlocks, conv2d_grad_x: conv2dGradXBlocks, conv2d_grad_w: conv2dGradWBlocks };

function digitsum(op, e, blocks, n) {
  const zero = digits.none(n),
    cut = ([input, first, stride, count]) =>
      op.once(`digits ${input} ${first} ${stride} ${count}`, () =>
        digits.block(
          Array.from({ length: count }, (_, k) => op.at(input, first + k * stride)),
          n,
        ),
      );
  return blocks.reduce((total, { a, b, pick, count }) => {
    const [x, y] = [cut(a), cut(b)];
    if (!pick) return add(total, digits.product(x, y, n));
    const places = Array.from({ length: count }, (_, k) => pick(k)),
      piece = (of, side) => ({ digits: places.map((place) => of.digits[place[side]] ?? zero), scale: of.scale });
    return add(total, digits.product(piece(x, 0), piece(y, 1), n));
  }, 0);
}
const element = (name, pairs) => (op, _, e) => {
  const n = op.values[BEFORE_DIGITS[name]];
  if (n) return digitsum(op, e, blocksOf[name](op, e), n);
  const list = pairs(op, e);
  return contract(
    list.length,
    (k) => list[k][0],
    (k) => list[k][1],
  );
};
export default Object.fromEntries(Object.entries(pairsOf).map(([name, pairs]) => [name, element(name, pairs)]));
