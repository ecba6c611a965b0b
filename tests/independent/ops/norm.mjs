// layernorm, rmsnorm, batchnorm and their gradients: docs/NUMERICS.md, section 5. C is the last extent, R the number of rows.
import { add, div, f, fma, mul, sub } from "../arithmetic.mjs";
import { rsqrt } from "../functions.mjs";
import { coldot, colsum, rowdot, rowsum, rowsumsq } from "../reductions.mjs";
import { product } from "../types.mjs";

const view = (op) => ({ C: op.in[0].shape.at(-1), R: product(op.in[0].shape.slice(0, -1)) });
const row = (op, input, r, C) => (i) => op.at(input, r * C + i);
const column = (op, input, c, C) => (r) => op.at(input, r * C + c);

function layerStats(op, r) {
  const { C } = view(op);
  return op.once(`row ${r}`, () => {
    const x = row(op, 0, r, C),
      mean = div(rowsum(C, x), f(C)),
      variance = div(
        rowsumsq(C, (i) => sub(x(i), mean)),
        f(C),
      );
    return { mean, rstd: rsqrt(add(variance, op.values[0])) };
  });
}
function layernorm(op, output, e) {
  const { C } = view(op);
  if (output > 0) return layerStats(op, e)[output === 1 ? "mean" : "rstd"];
  const { mean, rstd } = layerStats(op, Math.floor(e / C));
  return fma(mul(sub(op.at(0, e), mean), rstd), op.at(1, e % C), op.at(2, e % C));
}
function layernormGradX(op, _, e) {
  const { C } = view(op),
    r = Math.floor(e / C),
    [mean, rstd] = [op.at(2, r), op.at(3, r)],
    g = (i) => mul(op.at(4, r * C + i), op.at(1, i)),
    h = (i) => mul(sub(op.at(0, r * C + i), mean), rstd),
    [a, b] = op.once(`row ${r}`, () => [rowsum(C, g), rowdot(C, g, h)].map((sum) => div(sum, f(C))));
  return mul(rstd, sub(fma(-h(e % C), b, g(e % C)), a));
}
function layernormGradParams(op, output, c) {
  const { C, R } = view(op),
    dy = column(op, 3, c, C);
  if (output === 1) return colsum(R, dy);
  return coldot(R, dy, (r) => mul(sub(op.at(0, r * C + c), op.at(1, r)), op.at(2, r)));
}

const rmsRstd = (op, r) => {
  const { C } = view(op);
  return op.once(`row ${r}`, () => rsqrt(add(div(rowsumsq(C, row(op, 0, r, C)), f(C)), op.values[0])));
};
function rmsnorm(op, output, e) {
  const { C } = view(op);
  return output === 1 ? rmsRstd(op, e) : mul(mul(op.at(0, e), rmsRstd(op, Math.floor(e / C))), op.at(1, e % C));
}
function rmsnormGradX(op, _, e) {
  const { C } = view(op),
    r = Math.floor(e / C),
    rstd = op.at(2, r),
    g = (i) => mul(op.at(3, r * C + i), op.at(1, i)),
    h = (i) => mul(op.at(0, r * C + i), rstd),
    b = op.once(`row ${r}`, () => div(rowdot(C, g, h), f(C)));
  return mul(rstd, fma(-h(e % C), b, g(e % C)));
}
function rmsnormGradGamma(op, _, c) {
  const { C, R } = view(op);
  return coldot(R, column(op, 2, c, C), (r) => mul(op.at(0, r * C + c), op.at(1, r)));
}

function batchStats(op, c) {
  const { C, R } = view(op);
  return op.once(`column ${c}`, () => {
    const x = column(op, 0, c, C),
      mean = div(colsum(R, x), f(R)),
      d = (r) => sub(x(r), mean),
      variance = div(coldot(R, d, d), f(R));
    return [undefined, mean, variance, rsqrt(add(variance, op.values[0]))];
  });
}
function batchnormTrain(op, output, e) {
  const { C } = view(op),
    c = e % C;
  if (output > 0) return batchStats(op, e)[output];
  const [, mean, , rstd] = batchStats(op, c);
  return fma(sub(op.at(0, e), mean), mul(op.at(1, c), rstd), op.at(2, c));
}
function batchnormInfer(op, _, e) {
  const c = e % view(op).C,
    rstd = rsqrt(add(op.at(4, c), op.values[0]));
  return fma(sub(op.at(0, e), op.at(3, c)), mul(op.at(1, c), rstd), op.at(2, c));
}
function batchnormGrad(op, output, e) {
  const { C, R } = view(op),
    c = output === 0 ? e % C : e,
    h = (r) => mul(sub(op.at(0, r * C + c), op.at(2, c)), op.at(3, c)),
    dy = column(op, 4, c, C),
    dgamma = () => op.once(`dgamma ${c}`, () => coldot(R, dy, h)),
    dbeta = () => op.once(`dbeta ${c}`, () => colsum(R, dy));
  if (output > 0) return output === 1 ? dgamma() : dbeta();
  const inner = sub(fma(-h(Math.floor(e / C)), div(dgamma(), f(R)), op.at(4, e)), div(dbeta(), f(R)));
  return mul(mul(op.at(1, c), op.at(3, c)), inner);
}

export default {
  layernorm,
  layernorm_grad_x: layernormGradX,
  layernorm_grad_params: layernormGradParams,
  rmsnorm,
  rmsnorm_grad_x: rmsnormGradX,
  rmsnorm_grad_gamma: rmsnormGradGamma,
  batchnorm_train: batchnormTrain,
  batchnorm_infer: batchnormInfer,
  batchnorm_grad: batchnormGrad,
};
