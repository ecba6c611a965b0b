// embedding, rope, attention and their gradients: docs/NUMERICS.md, section 5, and with digits section 7.
import * as digits from "../digits.mjs";
import { add, div, f, fma, max, mul, sub } from "../arithmetic.mjs";
import { cos, exp, log, pow, sin } from "../functions.mjs";
import { draw, keep } from "../random.mjs";
import { chain, rowdot, rowsum } from "../reductions.mjs";
import { product } from "../types.mjs";

function embedding(op, _, e) {
  const [rows, width] = op.in[0].shape,
    id = op.at(1, Math.floor(e / width));
  return id < 0 || id >= rows ? NaN : op.at(0, id * width + (e % width));
}
function embeddingGrad(op, _, e) {
  const width = op.out[0].shape[1],
    positions = product(op.in[0].shape),
    row = Math.floor(e / width);
  let sum = 0;
  for (let p = 0; p < positions; ++p) if (op.at(0, p) === row) sum = add(sum, op.at(1, p * width + (e % width)));
  return sum;
}

function rope(op, _, e) {
  const [base, offset, inverse] = op.values,
    [, time, heads, width] = op.in[0].shape,
    half = width / 2,
    column = e % width,
    j = column % half,
    position = offset + (Math.floor(e / (width * heads)) % time),
    angle = mul(f(position), div(1, pow(base, div(f(2 * j), f(width))))),
    c = cos(angle),
    s = inverse ? -sin(angle) : sin(angle),
    [x, y] = [op.at(0, e - column + j), op.at(0, e - column + j + half)];
  return column < half ? fma(x, c, -mul(y, s)) : fma(y, c, mul(x, s));
}

// What attention and its gradients share; `rng` is the number of that input.
export class Attention {
  constructor(op, rng) {
    [this.causal, this.scale, this.dropout, this.stream, this.digits] = op.values;
    [, this.tq, this.hq, this.d] = op.in[0].shape;
    [, this.tk, this.hkv] = op.in[1].shape;
    Object.assign(this, { op, rng });
  }
  queryRow = (b, h, i) => ((b * this.tq + i) * this.hq + h) * this.d;
  keyRow = (b, h, j) => ((b * this.tk + j) * this.hkv + Math.floor(h / (this.hq / this.hkv))) * this.d;
  visible = (i) => (this.causal ? i + this.tk - this.tq + 1 : this.tk);
  row = (input, first) => (d) => this.op.at(input, first + d);
  // The sample, the time and the head of an element of the queries' gradient (output 0), or of the keys' or the values'.
  gradientPlace(output, e) {
    const [heads, time] = output === 0 ? [this.hq, this.tq] : [this.hkv, this.tk],
      head = Math.floor(e / this.d);
    return { b: Math.floor(head / (heads * time)), t: Math.floor(head / heads) % time, head: head % heads };
  }
  // The sum over D of products of two rows, of inputs x and y.
  dot(x, first, y, second) {
    if (!this.digits) return chain(this.d, this.row(x, first), this.row(y, second));
    return digits.product(this.rowDigits(x, first), this.rowDigits(y, second), this.digits);
  }
  score(b, h, i, j) {
    return this.op.once(`score ${b} ${h} ${i} ${j}`, () => mul(this.dot(0, this.queryRow(b, h, i), 1, this.keyRow(b, h, j)), this.scale));
  }
  // With digits: a row over D as a block.
  rowDigits(input, first) {
    return this.op.once(`row ${input} ${first}`, () => digits.block(Array.from({ length: this.d }, (_, d) => this.op.at(input, first + d)), this.digits));
  }
  // With digits: what at most 64 weights of rows of an input add to `total`, at d. `key` names these weights.
  weighted(total, d, key, weights, input, firsts) {
    const rows = firsts.map((first) => this.rowDigits(input, first)),
      w = this.op.once(`weights ${key}`, () => digits.block(weights().map((x, k) => mul(x, rows[k].scale)), this.digits));
    return fma(digits.joined(w.digits, rows.map((row) => row.digits[d]), this.digits), w.scale, total);
  }
  dropped(x, b, h, i, j) {
    if (!(this.dropout > 0)) return x;
    const element = ((b * this.hq + h) * this.tq + i) * this.tk + j,
      [low, high, step, microbatch] = [0, 1, 2, 3].map((k) => this.op.at(this.rng, k));
    return mul(x, keep(this.dropout, draw([low, high], element, this.stream, step, microbatch)));
  }
  // The blocks of keys of one query, with what is carried from one to the next.
  blocks(b, h, i) {
    return this.op.once(`query ${b} ${h} ${i}`, () => {
      const blocks = [];
      let m = -Infinity,
        l = 0;
      for (let first = 0; first < this.visible(i); first += 64) {
        const count = Math.min(64, this.visible(i) - first),
          scores = [...Array(count).keys()].map((k) => this.score(b, h, i, first + k)),
          n = scores.reduce(max, m),
          alpha = exp(sub(m, n)),
          p = scores.map((s) => exp(sub(s, n)));
        l = fma(
          l,
          alpha,
          rowsum(count, (k) => p[k]),
        );
        m = n;
        blocks.push({ first, p, alpha });
      }
      return { blocks, l, lse: add(m, log(l)) };
    });
  }
}
function attention(op, output, e) {
  const a = new Attention(op, 3);
  if (output === 1) return a.blocks(Math.floor(e / (a.tq * a.hq)), Math.floor(e / a.tq) % a.hq, e % a.tq).lse;
  const d = e % a.d,
    h = Math.floor(e / a.d) % a.hq,
    i = Math.floor(e / (a.d * a.hq)) % a.tq,
    b = Math.floor(e / (a.d * a.hq * a.tq)),
    { blocks, l } = a.blocks(b, h, i);
  let o = 0;
  for (const { first, p, alpha } of blocks) {
    o = mul(o, alpha);
    if (a.digits) {
      const weights = () => p.map((x, k) => a.dropped(x, b, h, i, first + k));
      o = a.weighted(o, d, `${b} ${h} ${i} ${first}`, weights, 2, p.map((_, k) => a.keyRow(b, h, first + k)));
    } else p.forEach((x, k) => (o = fma(a.dropped(x, b, h, i, first + k), op.at(2, a.keyRow(b, h, first + k) + d), o)));
  }
  return div(o, l);
}

export class Gradient extends Attention {
  delta(b, h, i) {
    const q = this.queryRow(b, h, i);
    return this.op.once(`delta ${q}`, () => rowdot(this.d, this.row(5, q), this.row(3, q)));
  }
  probability(b, h, i, j) {
    return exp(sub(this.score(b, h, i, j), this.op.at(4, (b * this.hq + h) * this.tq + i)));
  }
  scoreGradient(b, h, i, j) {
    return this.op.once(`ds ${b} ${h} ${i} ${j}`, () => {
      const dp = this.dot(5, this.queryRow(b, h, i), 2, this.keyRow(b, h, j));
      return mul(
        mul(this.probability(b, h, i, j), sub(this.dropped(dp, b, h, i, j), this.delta(b, h, i))),
        this.scale,
      );
    });
  }
}
// The numbers of those of `count` positions that have `property`, in blocks of 64 positions, without empty ones.
export function blocksOf64(count, property) {
  const blocks = [];
  for (let first = 0; first < count; first += 64) {
    const positions = Array.from({ length: Math.min(64, count - first) }, (_, k) => first + k).filter(property);
    if (positions.length > 0) blocks.push(positions);
  }
  return blocks;
}
function attentionGradDigits(a, output, e) {
  const d = e % a.d,
    { b, t, head } = a.gradientPlace(output, e),
    group = a.hq / a.hkv;
  let total = 0;
  if (output === 0) {
    for (const keys of blocksOf64(a.tk, (j) => j < a.visible(t))) {
      const weights = () => keys.map((j) => a.scoreGradient(b, head, t, j));
      total = a.weighted(total, d, `dq ${b} ${head} ${t} ${keys[0]}`, weights, 1, keys.map((j) => a.keyRow(b, head, j)));
    }
    return total;
  }
  const [name, input, weight] =
    output === 1
      ? ["dk", 0, (h, i) => a.scoreGradient(b, h, i, t)]
      : ["dv", 5, (h, i) => a.dropped(a.probability(b, h, i, t), b, h, i, t)];
  for (let h = head * group; h < (head + 1) * group; ++h)
    for (const queries of blocksOf64(a.tq, (i) => t < a.visible(i))) {
      const weights = () => queries.map((i) => weight(h, i));
      total = a.weighted(total, d, `${name} ${b} ${h} ${t} ${queries[0]}`, weights, input, queries.map((i) => a.queryRow(b, h, i)));
    }
  return total;
}
function attentionGrad(op, output, e) {
  const a = new Gradient(op, 6);
  if (a.digits) return attentionGradDigits(a, output, e);
  const d = e % a.d,
    { b, t, head } = a.gradientPlace(output, e),
    group = a.hq / a.hkv;
  let sum = 0;
  if (output === 0) {
    for (let j = 0; j < a.visible(t); ++j)
      sum = fma(a.scoreGradient(b, head, t, j), op.at(1, a.keyRow(b, head, j) + d), sum);
    return sum;
  }
  for (let h = head * group; h < (head + 1) * group; ++h)
    for (let i = 0; i < a.tq; ++i) {
      if (t >= a.visible(i)) continue;
      const q = a.queryRow(b, h, i);
      sum =
        output === 1
          ? fma(a.scoreGradient(b, h, i, t), op.at(0, q + d), sum)
          : fma(a.dropped(a.probability(b, h, i, t), b, h, i, t), op.at(5, q + d), sum);
    }
  return sum;
}

export default { embedding, embedding_grad: embeddingGrad, rope, attention, attention_grad: attentionGrad };
