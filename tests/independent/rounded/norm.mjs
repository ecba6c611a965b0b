// layernorm, rmsnorm, batchnorm and their gradients: docs/formats/rounded.md, "Formulas". C is the last extent, R the number of rows.
import { product } from "../types.mjs";
import * as B from "./bounded.mjs";

const { add, sub, mul, div, single, count } = B;
const view = (op) => ({ C: op.in[0].shape.at(-1), R: product(op.in[0].shape.slice(0, -1)) });
const at = (op, input) => (i) => single(op.at(input, i));

function layerStats(op, r) {
  const { C } = view(op),
    x = (i) => single(op.at(0, r * C + i));
  return op.once(`row ${r}`, () => {
    const mean = div(B.sum(C, x), count(C)),
      squares = B.sum(C, (i) => {
        const d = sub(x(i), mean);
        return mul(d, d);
      });
    return { mean, rstd: B.rsqrt(add(div(squares, count(C)), single(op.values[0]))) };
  });
}
function layernorm(op, output, e) {
  const { C } = view(op);
  if (output > 0) return layerStats(op, e)[output === 1 ? "mean" : "rstd"];
  const { mean, rstd } = layerStats(op, Math.floor(e / C));
  return add(mul(mul(sub(at(op, 0)(e), mean), rstd), at(op, 1)(e % C)), at(op, 2)(e % C));
}
function layernormGradX(op, _, e) {
  const { C } = view(op),
    r = Math.floor(e / C),
    [mean, rstd] = [at(op, 2)(r), at(op, 3)(r)],
    g = (i) => mul(at(op, 4)(r * C + i), at(op, 1)(i)),
    h = (i) => mul(sub(at(op, 0)(r * C + i), mean), rstd),
    [a, b] = op.once(`row ${r}`, () => [B.sum(C, g), B.sum(C, (i) => mul(g(i), h(i)))].map((s) => div(s, count(C)))),
    i = e % C;
  return mul(rstd, sub(sub(g(i), mul(h(i), b)), a));
}
function layernormGradParams(op, output, c) {
  const { C, R } = view(op),
    dy = (r) => at(op, 3)(r * C + c);
  if (output === 1) return B.columnSum(R, dy);
  return B.columnSum(R, (r) => mul(dy(r), mul(sub(at(op, 0)(r * C + c), at(op, 1)(r)), at(op, 2)(r))));
}

function rmsRstd(op, r) {
  const { C } = view(op),
    x = (i) => single(op.at(0, r * C + i));
  return op.once(`row ${r}`, () =>
    B.rsqrt(
      add(
        div(
          B.sum(C, (i) => mul(x(i), x(i))),
          count(C),
        ),
        single(op.values[0]),
      ),
    ),
  );
}
function rmsnorm(op, output, e) {
  const { C } = view(op);
  if (output === 1) return rmsRstd(op, e);
  return mul(mul(at(op, 0)(e), rmsRstd(op, Math.floor(e / C))), at(op, 1)(e % C));
}
function rmsnormGradX(op, _, e) {
  const { C } = view(op),
    r = Math.floor(e / C),
    rstd = at(op, 2)(r),
    g = (i) => mul(at(op, 3)(r * C + i), at(op, 1)(i)),
    h = (i) => mul(at(op, 0)(r * C + i), rstd),
    b = op.once(`row ${r}`, () =>
      div(
        B.sum(C, (i) => mul(g(i), h(i))),
        count(C),
      ),
    ),
    i = e % C;
  return mul(rstd, sub(g(i), mul(h(i), b)));
}
function rmsnormGradGamma(op, _, c) {
  const { C, R } = view(op);
  return B.columnSum(R, (r) => mul(at(op, 2)(r * C + c), mul(at(op, 0)(r * C + c), at(op, 1)(r))));
}

function batchStats(op, c) {
  const { C, R } = view(op),
    x = (r) => single(op.at(0, r * C + c));
  return op.once(`column ${c}`, () => {
    const mean = div(B.columnSum(R, x), count(R)),
      squares = B.columnSum(R, (r) => {
        const d = sub(x(r), mean);
        return mul(d, d);
      }),
      variance = div(squares, count(R));
    return [undefined, mean, variance, B.rsqrt(add(variance, single(op.values[0])))];
  });
}
function batchnormTrain(op, output, e) {
  const c = e % view(op).C;
  if (output > 0) return batchStats(op, e)[output];
  const [, mean, , rstd] = batchStats(op, c);
  return add(mul(sub(at(op, 0)(e), mean), mul(at(op, 1)(c), rstd)), at(op, 2)(c));
}
function batchnormInfer(op, _, e) {
  const c = e % view(op).C,
    factor = mul(at(op, 1)(c), B.rsqrt(add(at(op, 4)(c), single(op.values[0]))));
  return add(mul(sub(at(op, 0)(e), at(op, 3)(c)), factor), at(op, 2)(c));
}
function batchnormGrad(op, output, e) {
  const { C, R } = view(op),
    c = output === 0 ? e % C : e,
    h = (r) => mul(sub(at(op, 0)(r * C + c), at(op, 2)(c)), at(op, 3)(c)),
    dy = (r) => at(op, 4)(r * C + c),
    dgamma = () => op.once(`dgamma ${c}`, () => B.columnSum(R, (r) => mul(dy(r), h(r)))),
    dbeta = () => op.once(`dbeta ${c}`, () => B.columnSum(R, dy));
  if (output > 0) return output === 1 ? dgamma() : dbeta();
  const r = Math.floor(e / C),
    inner = sub(sub(dy(r), mul(h(r), div(dgamma(), count(R)))), div(dbeta(), count(R)));
  return mul(mul(at(op, 1)(c), at(op, 3)(c)), inner);
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
