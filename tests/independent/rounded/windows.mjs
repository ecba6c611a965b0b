// matmul, convolutions and poolings of rounded jobs: the terms are those of docs/NUMERICS.md, section 5, in their order; they are told by ../ops.
import * as B from "./bounded.mjs";
import { pairsOf } from "../ops/contract.mjs";
import { termsOf } from "../ops/pool.mjs";

const contraction = (name, [a, b]) => (op, _, e) => {
  const pairs = pairsOf[name](op, e);
  return B.contract(
    pairs.length,
    (k) => pairs[k][a],
    (k) => pairs[k][b],
  );
};
export const contractions = {
  matmul: contraction("matmul", [0, 1]),
  conv2d: contraction("conv2d", [0, 1]),
  conv2d_grad_x: contraction("conv2d_grad_x", [0, 1]),
  conv2d_grad_w: contraction("conv2d_grad_w", [1, 0]), // the pixels first
};

const total = (name) => (op, _, e) => {
  const terms = termsOf[name](op, e);
  return B.columnSum(terms.length, (k) => B.single(terms[k]));
};
const average = (name, window) => (op, _, e) => B.div(total(name)(op, _, e), B.count(window(op)));
const kernel = (op) => op.values[0] * op.values[1];
export const poolings = {
  max_pool2d_grad: total("max_pool2d_grad"),
  avg_pool2d: average("avg_pool2d", kernel),
  avg_pool2d_grad: average("avg_pool2d_grad", kernel),
  global_avg_pool: average("global_avg_pool", (op) => op.in[0].shape[1] * op.in[0].shape[2]),
};
