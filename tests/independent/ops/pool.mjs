// Poolings and their gradients, NHWC: docs/NUMERICS.md, section 5.
import { add, div, f } from "../arithmetic.mjs";
import { colsum } from "../reductions.mjs";

const placeOf = (e, [, height, width, channels]) => ({
  c: e % channels,
  w: Math.floor(e / channels) % width,
  h: Math.floor(e / (channels * width)) % height,
  n: Math.floor(e / (channels * width * height)),
});
const indexOf = (n, h, w, c, [, height, width, channels]) => ((n * height + h) * width + w) * channels + c;

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
function maxPoolGrad(op, _, e) {
  const at = placeOf(e, op.out[0].shape);
  let sum = 0;
  for (const [h, w] of windows(op, at)) {
    const k = indexOf(at.n, h, w, at.c, op.in[0].shape);
    if (op.at(1, k) === at.h * op.out[0].shape[2] + at.w) sum = add(sum, op.at(0, k));
  }
  return sum;
}
const average = (places) => (op, _, e) => {
  const at = placeOf(e, op.out[0].shape),
    [kernelH, kernelW] = op.values;
  let sum = 0;
  for (const [h, w] of places(op, at)) sum = add(sum, op.at(0, indexOf(at.n, h, w, at.c, op.in[0].shape)));
  return div(sum, f(kernelH * kernelW));
};
function globalAverage(op, _, e) {
  const [, height, width, channels] = op.in[0].shape,
    pixels = height * width,
    first = Math.floor(e / channels) * pixels * channels + (e % channels);
  return div(
    colsum(pixels, (p) => op.at(0, first + p * channels)),
    f(pixels),
  );
}
function globalAverageGrad(op, _, e) {
  const [, height, width, channels] = op.out[0].shape,
    { n, c } = placeOf(e, op.out[0].shape);
  return div(op.at(0, n * channels + c), f(height * width));
}

export default {
  max_pool2d: maxPool,
  max_pool2d_grad: maxPoolGrad,
  avg_pool2d: average(taps),
  avg_pool2d_grad: average(windows),
  global_avg_pool: globalAverage,
  global_avg_pool_grad: globalAverageGrad,
};
