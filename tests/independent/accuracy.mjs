#!/usr/bin/env node
// How far contractions of the precisions are from the exact sums: relative Frobenius errors of matrix products with K = 3072 and of attention, for operands of
// several kinds. docs/NUMERICS.md, sections 2, 5 and 7. `chain` is fp32 in one chain over K, as kernels of vendors sum; fp32 is ours, in blocks of 256.
//
//   node accuracy.mjs
import { add, bits, f, fromBits } from "./arithmetic.mjs";
import * as digits from "./digits.mjs";
import { evaluator } from "./ops/index.mjs";
import { philox } from "./random.mjs";
import { chain, contract } from "./reductions.mjs";

const DEPTH = 3072,
  ROWS = 32;

// To nearest even, with so many bits after the first.
const rounded = (count) => {
  const low = 23 - count;
  return (x) => fromBits((bits(x) + (1 << (low - 1)) - 1 + ((bits(x) >> low) & 1)) & (-1 << low));
};
const [tf32, bf16] = [rounded(10), rounded(7)];

// Element i of a stream of normal numbers, in double.
function normal(stream, i) {
  const [a, b] = philox([0x61636375, 0x72616379], [i, stream, 0, 0]).map((word) => (word + 0.5) * 2 ** -32);
  return Math.sqrt(-2 * Math.log(a)) * Math.cos(2 * Math.PI * b);
}
const logNormal = (stream, i) => Math.sign(normal(stream + 100, i)) * Math.exp(normal(stream, i));
// Elements by their stream, their place and that of the feature. What a layer gets is of even streams, what it has learnt of odd ones.
const kinds = {
  normal,
  outliers: (stream, i, feature) => normal(stream, i) * (stream % 2 === 0 && feature % 97 === 0 ? 300 : 1),
  "log-normal": (stream, i) => (stream % 2 === 0 ? logNormal : normal)(stream, i),
  "both log-normal": logNormal,
};
const drawn = (kind, stream, count, features) => Float32Array.from({ length: count }, (_, i) => kinds[kind](stream, i, i % features));

function relative(found, exact) {
  const [error, size] = exact.reduce(([e, s], x, i) => [e + (found[i] - x) ** 2, s + x * x], [0, 0]);
  return Math.sqrt(error / size);
}

// Products of rows of a with rows of b.
const each = (rule) => Float64Array.from({ length: ROWS * ROWS }, (_, e) => rule(Math.floor(e / ROWS), e % ROWS));
const summed = (round, sum = contract) => (a, b) => {
  const [x, y] = [a.map(round), b.map(round)];
  return each((i, j) =>
    sum(
      DEPTH,
      (k) => x[i * DEPTH + k],
      (k) => y[j * DEPTH + k],
    ),
  );
};
const cut = (n) => (a, b) => {
  const blocks = [a, b].map((x) =>
    Array.from({ length: ROWS }, (_, row) =>
      Array.from({ length: DEPTH / 256 }, (__, k) => digits.block([...x.subarray(row * DEPTH + 256 * k, row * DEPTH + 256 * (k + 1))], n)),
    ),
  );
  return each((i, j) => blocks[0][i].reduce((total, block, k) => add(total, digits.product(block, blocks[1][j][k], n)), 0));
};
const precisions = { chain: summed((x) => x, chain), fp32: summed((x) => x), tf32: summed(tf32), bf16: summed(bf16), int8x3: cut(3), int8x2: cut(2) };

function productErrors(kind) {
  const [a, b] = [0, 1].map((stream) => drawn(kind, stream, ROWS * DEPTH, DEPTH)),
    exact = each((i, j) => {
      let sum = 0;
      for (let k = 0; k < DEPTH; ++k) sum += a[i * DEPTH + k] * b[j * DEPTH + k];
      return sum;
    });
  return Object.fromEntries(Object.entries(precisions).map(([name, product]) => [name, relative(product(a, b), exact)]));
}

// Causal attention of one head, and its gradient. Inputs of tf32 and bf16 are rounded, what comes of them in between is not.
const [T, D] = [200, 64];
const SCALE = 0.125;
// In double, of the gradient as of the same o and lse as the others.
function attention([q, k, v]) {
  const o = new Float64Array(T * D),
    lse = new Float64Array(T);
  for (let i = 0; i < T; ++i) {
    const scores = Array.from({ length: i + 1 }, (_, j) => SCALE * dot(q, i, k, j)),
      most = Math.max(...scores),
      p = scores.map((s) => Math.exp(s - most)),
      sum = p.reduce((all, x) => all + x, 0);
    lse[i] = most + Math.log(sum);
    p.forEach((x, j) => axpy(o, i, x / sum, v, j));
  }
  return [o, lse];
}
function gradient([q, k, v, o, lse, dy]) {
  const [dq, dk, dv] = [0, 1, 2].map(() => new Float64Array(T * D));
  for (let i = 0; i < T; ++i)
    for (let j = 0; j <= i; ++j) {
      const p = Math.exp(SCALE * dot(q, i, k, j) - lse[i]),
        ds = p * (dot(dy, i, v, j) - dot(dy, i, o, i)) * SCALE;
      axpy(dq, i, ds, k, j);
      axpy(dk, j, ds, q, i);
      axpy(dv, j, p, dy, i);
    }
  return [dq, dk, dv];
}
function dot(x, i, y, j) {
  let sum = 0;
  for (let d = 0; d < D; ++d) sum += x[i * D + d] * y[j * D + d];
  return sum;
}
function axpy(to, i, factor, from, j) {
  for (let d = 0; d < D; ++d) to[i * D + d] += factor * from[j * D + d];
}
const IMAGE = { dtype: "f32", shape: [1, T, 1, D] },
  ROW = { dtype: "f32", shape: [1, 1, T] },
  RNG = { dtype: "u32", shape: [4] };
// Outputs of an op of the judge that are images.
function evaluated(name, types, inputs, outputs, n) {
  const element = evaluator(name, n ? [1, SCALE, 0, 0, n] : [1, SCALE, 0, 0], types, [IMAGE, IMAGE, IMAGE], (input, i) => inputs[input][i]);
  return Array.from({ length: outputs }, (_, output) => Float64Array.from({ length: T * D }, (__, e) => element(output, e)));
}
const attentions = { fp32: [(x) => x], tf32: [tf32], bf16: [bf16], int8x3: [(x) => x, 3], int8x2: [(x) => x, 2] };

function attentionErrors(kind) {
  const inputs = [0, 1, 2].map((stream) => drawn(kind, stream, T * D, D)),
    [exact, lse] = attention(inputs),
    given = [...inputs, ...[exact, lse].map((x) => Float32Array.from(x)), drawn(kind, 5, T * D, D)],
    wanted = [exact, ...gradient(given)],
    types = [IMAGE, IMAGE, IMAGE, IMAGE, ROW, IMAGE, RNG];
  const errors = Object.values(attentions).map(([round, n]) => {
    const read = given.map((x, input) => (input === 4 ? x : x.map(round))),
      found = [...evaluated("attention", [IMAGE, IMAGE, IMAGE, RNG], read, 1, n), ...evaluated("attention_grad", types, read, 3, n)];
    return found.map((values, output) => relative(values, wanted[output]));
  });
  return ["o", "dq", "dk", "dv"].map((name, output) => [name, Object.fromEntries(Object.keys(attentions).map((precision, k) => [precision, errors[k][output]]))]);
}

const columns = Object.keys(precisions);
const line = (title, values) => console.log(title.padEnd(28) + values.map((x) => x.padStart(10)).join(""));
function show(title, errors) {
  const ratio = (a, b) => (errors[a] && errors[b] ? (errors[a] / errors[b]).toFixed(2) : "");
  line(title, [...columns.map((name) => errors[name]?.toExponential(2) ?? ""), ratio("int8x3", "chain"), ratio("int8x3", "fp32"), ratio("int8x2", "tf32")]);
}
line("", [...columns, "x3/chain", "x3/fp32", "x2/tf32"]);
for (const kind of Object.keys(kinds)) show(`products, ${kind}`, productErrors(kind));
for (const kind of Object.keys(kinds)) for (const [name, errors] of attentionErrors(kind)) show(`${name}, ${kind}`, errors);
