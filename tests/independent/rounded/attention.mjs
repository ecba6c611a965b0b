// attention and its gradients of rounded jobs: docs/formats/rounded.md, "Formulas".
import { Attention as Geometry } from "../ops/index.mjs";
import { draw, threshold } from "../random.mjs";
import * as B from "./bounded.mjs";
import * as D from "./double_double.mjs";

const { add, sub, mul, div, single, exact, ONE, ZERO } = B;

class Attention extends Geometry {
  constructor(op, rng) {
    super(op, rng);
    this.factor = div(ONE, sub(ONE, single(this.dropout)));
  }
  dot(a, first, b, second) {
    return B.contract(
      this.d,
      (c) => this.op.at(a, first + c),
      (c) => this.op.at(b, second + c),
    );
  }
  score(b, h, i, j) {
    return this.op.once(`score ${b} ${h} ${i} ${j}`, () =>
      mul(this.dot(0, this.queryRow(b, h, i), 1, this.keyRow(b, h, j)), single(this.scale)),
    );
  }
  keeps(b, h, i, j) {
    if (!(this.dropout > 0)) return true;
    const element = ((b * this.hq + h) * this.tq + i) * this.tk + j,
      [low, high, step, microbatch] = [0, 1, 2, 3].map((k) => this.op.at(this.rng, k));
    return draw([low, high], element, this.stream, step, microbatch) >= threshold(this.dropout);
  }
  dropped(x, b, h, i, j) {
    if (!(this.dropout > 0)) return x;
    return mul(x, this.keeps(b, h, i, j) ? this.factor : ZERO);
  }
  // The weights of the keys that a query sees, not yet divided by their sum.
  weights(b, h, i) {
    return this.op.once(`weights ${b} ${h} ${i}`, () => {
      const scores = [...Array(this.visible(i)).keys()].map((j) => this.score(b, h, i, j));
      let m = -Infinity;
      for (const { v } of scores) m = v.hi > m || v.hi !== v.hi ? v.hi : m;
      const largest = exact(m),
        p = scores.map((s) => B.exp(sub(s, largest)));
      return { p, largest, sum: B.sum(p.length, (j) => p[j]) };
    });
  }

  // Of the gradients.
  delta(b, h, i) {
    const q = this.queryRow(b, h, i);
    return this.op.once(`delta ${q}`, () =>
      B.sum(this.d, (c) => mul(single(this.op.at(5, q + c)), single(this.op.at(3, q + c)))),
    );
  }
  probability(b, h, i, j) {
    return this.op.once(`p ${b} ${h} ${i} ${j}`, () =>
      B.exp(sub(this.score(b, h, i, j), single(this.op.at(4, (b * this.hq + h) * this.tq + i)))),
    );
  }
  // keep·v − o of a key that is kept.
  keptDifference(v, o) {
    const p = this.dropout,
      rest = D.sub(1, p),
      x = D.div(D.sub(v, D.mul(D.dd(o), rest)), rest),
      isExact = 1 - (1 - p) === p;
    return B.bounded(x, 2 * B.UNIT * (Math.abs(x.hi) + (isExact ? 0 : Math.abs(v) / (1 - p))));
  }
  oneKey(b, h, i) {
    const q = this.queryRow(b, h, i),
      k = this.keyRow(b, h, 0),
      kept = this.keeps(b, h, i, 0);
    return B.sum(this.d, (c) => {
      const [x, y, v] = [this.op.at(5, q + c), this.op.at(3, q + c), this.op.at(2, k + c)];
      return mul(single(x), kept ? this.keptDifference(v, y) : sub(mul(single(v), ZERO), single(y)));
    });
  }
  ofScore(b, h, i, j) {
    return this.op.once(`ds ${b} ${h} ${i} ${j}`, () => {
      const p = this.probability(b, h, i, j),
        scale = single(this.scale);
      if (this.visible(i) === 1) return mul(mul(p, this.oneKey(b, h, i)), scale);
      const dp = this.dropped(this.dot(5, this.queryRow(b, h, i), 2, this.keyRow(b, h, j)), b, h, i, j);
      return mul(mul(p, sub(dp, this.delta(b, h, i))), scale);
    });
  }
}
// Σ weight · row element, down the rows.
const weighted = (list, depth) => B.columnSum(list.length, (k) => mul(list[k][0], single(list[k][1])), list.length === 1 ? 0 : depth);
const keysDepth = (n) => (n < 16384 ? B.sumDepth(n) : B.contractionDepth(n));
function queriesDepth({ tq, hq, hkv }, n) {
  const group = hq / hkv,
    queries = group * tq,
    count = Math.ceil(tq / (queries < 16384 ? 128 : 256)),
    most = Math.max(B.contractionDepth(queries), Math.ceil(tq / count) + group * count);
  return Math.max(B.sumDepth(n), Math.min(n, most));
}

function attention(op, output, e) {
  const a = new Attention(op, 3);
  if (output === 1) {
    const { largest, sum } = a.weights(Math.floor(e / (a.tq * a.hq)), Math.floor(e / a.tq) % a.hq, e % a.tq);
    return add(largest, B.log(sum));
  }
  const c = e % a.d,
    h = Math.floor(e / a.d) % a.hq,
    i = Math.floor(e / (a.d * a.hq)) % a.tq,
    b = Math.floor(e / (a.d * a.hq * a.tq)),
    { p, sum } = a.weights(b, h, i);
  const list = p.map((x, j) => [a.dropped(x, b, h, i, j), op.at(2, a.keyRow(b, h, j) + c)]);
  return div(weighted(list, keysDepth(list.length)), sum);
}
function attentionGrad(op, output, e) {
  const a = new Attention(op, 6),
    c = e % a.d,
    { b, t, head } = a.gradientPlace(output, e),
    group = a.hq / a.hkv,
    list = [];
  if (output === 0)
    for (let j = 0; j < a.visible(t); ++j) list.push([a.ofScore(b, head, t, j), op.at(1, a.keyRow(b, head, j) + c)]);
  else
    for (let h = head * group; h < (head + 1) * group; ++h)
      for (let i = 0; i < a.tq; ++i) {
        if (t >= a.visible(i)) continue;
        const q = a.queryRow(b, h, i);
        list.push(
          output === 1
            ? [a.ofScore(b, h, i, t), op.at(0, q + c)]
            : [a.dropped(a.probability(b, h, i, t), b, h, i, t), op.at(5, q + c)],
        );
      }
  return weighted(list, output === 0 ? keysDepth(list.length) : queriesDepth(a, list.length));
}

export default { attention, attention_grad: attentionGrad };
