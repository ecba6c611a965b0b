// Reductions, softmax and losses: docs/NUMERICS.md, section 5.
import { add, div, f, max, mul, sqrt, sub } from "../arithmetic.mjs";
import { exp, log } from "../functions.mjs";
import { colsum, rowdot, rowsum, rowsumsq } from "../reductions.mjs";
import { product } from "../types.mjs";

const columns = (op) => product(op.in[0].shape.slice(op.values[0]));
const row = (op, input, r, n) => (i) => op.at(input, r * n + i);

function rowMax(op, _, r) {
  const n = columns(op),
    lanes = [];
  for (let i = 0; i < n; ++i) lanes[i % 32] = i < 32 ? op.at(0, r * n + i) : max(lanes[i % 32], op.at(0, r * n + i));
  return lanes.reduce(max);
}
function rowMaxGrad(op, _, e) {
  const n = columns(op),
    r = Math.floor(e / n),
    y = op.at(1, r),
    is = (x) => x === y || (x !== x && y !== y);
  for (let i = r * n; i < e; ++i) if (is(op.at(0, i))) return 0;
  return is(op.at(0, e)) ? op.at(2, r) : 0;
}
function clipScale(op, output) {
  const [most] = op.values;
  let total = op.at(0, 0);
  for (let k = 1; k < op.in.length; ++k) total = add(total, op.at(k, 0));
  const norm = sqrt(total);
  if (output === 0) return norm;
  return most > 0 && norm > most ? div(most, add(norm, f(1e-6))) : 1;
}

// Maximum of a row, and the sum of exp(x − m).
function stats(op, r, n) {
  return op.once(`row ${r}`, () => {
    let m = op.at(0, r * n);
    for (let i = 1; i < n; ++i) m = max(m, op.at(0, r * n + i));
    return { m, s: rowsum(n, (i) => exp(sub(op.at(0, r * n + i), m))) };
  });
}
function softmax(op, _, e) {
  const n = op.in[0].shape.at(-1),
    { m, s } = stats(op, Math.floor(e / n), n);
  return div(exp(sub(op.at(0, e), m)), s);
}
function softmaxGrad(op, _, e) {
  const n = op.in[0].shape.at(-1),
    r = Math.floor(e / n),
    d = op.once(`row ${r}`, () => rowdot(n, row(op, 0, r, n), row(op, 1, r, n)));
  return mul(op.at(0, e), sub(op.at(1, e), d));
}
function crossEntropy(op, output, r) {
  const n = op.in[0].shape[1],
    { m, s } = stats(op, r, n),
    lse = add(m, log(s));
  if (output === 1) return lse;
  const target = op.at(1, r);
  if (target === -1) return 0;
  return target < 0 || target >= n ? NaN : sub(lse, op.at(0, r * n + target));
}
function crossEntropyGrad(op, _, e) {
  const n = op.in[0].shape[1],
    r = Math.floor(e / n),
    target = op.at(1, r);
  if (target === -1) return 0;
  if (target < 0 || target >= n) return NaN;
  return mul(sub(exp(sub(op.at(0, e), op.at(2, r))), e % n === target ? 1 : 0), op.at(3, r));
}

export default {
  row_sum: (op, _, r) => rowsum(columns(op), row(op, 0, r, columns(op))),
  col_sum: (op, _, c) => {
    const n = columns(op);
    return colsum(product(op.in[0].shape.slice(0, op.values[0])), (r) => op.at(0, r * n + c));
  },
  row_max: rowMax,
  row_max_grad: rowMaxGrad,
  sum_squares: (op) => rowsumsq(product(op.in[0].shape), (i) => op.at(0, i)),
  clip_scale: clipScale,
  softmax,
  softmax_grad: softmaxGrad,
  cross_entropy: crossEntropy,
  cross_entropy_grad: crossEntropyGrad,
};
