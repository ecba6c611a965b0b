// Poolings and their gradients, NHWC: docs/NUMERICS.md, section 5.
import { add, div, f } from "../arithmetic.mjs";
import { indexOf, placeOf } from "../images.mjs";
import { colsum } from "../reductions.mjs";


// The pixels of a window that lie inside the image, rows first.
function* taps(op, { h, w }) {
  const [kernelH, kernelW, stride, pad] = op.values,
    [, height, width] = op.in[0].shape;
  for (let y = h * stride - pad; y < h * stride - pad + kernelH; ++y)
    for (let x = w * stride - pad; x < w * stride - pad + kernelW; ++x) if (y >= 0 && y < height && x >= 0 && x < width) yield [y, x];
}
// The windows that contain a pixel, rows first.
function* windows(op, { h, w }) {
  const [kernelH, kernelW, stride, pad] = op.values,
    [, rows, columns] = op.in[0].shape,
    covers = (window, kernel, pixel) => window * stride - pad <= pixel && pixel < window * stride - pad + kernel;
  for (let y = 0; y < rows; ++y)
    for (let x = 0; x < columns; ++x) if (covers(y, kernelH, h) && covers(x, kernelW, w)) yield [y, x];
}

function maxPool(op, output, e) {
  const at = placeOf(e, op.out[0].shape),
    shape = op.in[0].shape;
  let best, argmax;
  for (const [h, w] of taps(op, at)) {
    const v = op.at(0, indexOf(at.n, h, w, at.c, shape));
    if (argmax !== undefined && !(v > best || (v !== v && best === best))) continue;
    [best, argmax] = [v, h * shape[2] + w];
  }
  return output === 0 ? best : argmax;
}
function taken(op, e) {
  const at = placeOf(e, op.out[0].shape),
    place = at.h * op.out[0].shape[2] + at.w;
  return [...windows(op, at)]
    .map(([h, w]) => indexOf(at.n, h, w, at.c, op.in[0].shape))
    .filter((k) => op.at(1, k) === place)
    .map((k) => op.at(0, k));
}
const covered = (places) => (op, e) => {
  const at = placeOf(e, op.out[0].shape);
  return [...places(op, at)].map(([h, w]) => op.at(0, indexOf(at.n, h, w, at.c, op.in[0].shape)));
};
function pixels(op, e) {
  const [, height, width, channels] = op.in[0].shape,
    count = height * width,
    first = Math.floor(e / channels) * count * channels + (e % channels);
  return [...Array(count).keys()].map((p) => op.at(0, first + p * channels));
}
// What an element adds up, in its order.
export const termsOf = { max_pool2d_grad: taken, avg_pool2d: covered(taps), avg_pool2d_grad: covered(windows), global_avg_pool: pixels };

const sum = (terms) => terms.reduce((total, x) => add(total, x), 0);
const average = (name) => (op, _, e) => div(sum(termsOf[name](op, e)), f(op.values[0] * op.values[1]));
function globalAverage(op, _, e) {
  const terms = pixels(op, e);
  return div(
    colsum(terms.length, (p) => terms[p]),
    f(terms.length),
  );
}
function globalAverageGrad(op, _, e) {
  const [, height, width, channels] = op.out[0].shape,
    { n, c } = placeOf(e, op.out[0].shape);
  return div(op.at(0, n * channels + c), f(height * width));
}

export default {
  max_pool2d: maxPool,
  max_pool2d_grad: (op, _, e) => sum(taken(op, e)),
  avg_pool2d: average("avg_pool2d"),
  avg_pool2d_grad: average("avg_pool2d_grad"),
  global_avg_pool: globalAverage,
  global_avg_pool_grad: globalAverageGrad,
};
