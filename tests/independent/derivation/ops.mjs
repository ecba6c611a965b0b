// The trees of the ops: docs/formats/derivation.md, "Ops". `op` is {values, in, out}, as in ../ops.
import { add, div, f, fma, max, mul, sqrt, sub } from "../arithmetic.mjs";
import { exp, log, rsqrt } from "../functions.mjs";
import { indexOf, placeOf } from "../images.mjs";
import { blocksOf } from "../ops/contract.mjs";
import { Attention, evaluator, Gradient } from "../ops/index.mjs";
import { blocksOf64 } from "../ops/sequence.mjs";
import { BEFORE_DIGITS, product } from "../types.mjs";
import { digitsum, weighted } from "./digits.mjs";
import { colsum, combineLanes, contract, floatOf, fold, formula, leaf, rowsum, run, state, steps, then, wordOf } from "./trees.mjs";

const word = wordOf;
const RUN = 16384;

// Terms that read elements first, first + stride, … of inputs, combined by `step(sum, …values)`.
const places = (list, step) => ({
  needs: (begin, end) =>
    list.map(([input, first, stride = 1]) =>
      stride === 1 ? run(input, first + begin, end - begin) : run(input, first + begin * stride, 1, stride, end - begin),
    ),
  step: (sum, i, at) => step(sum, ...list.map(([input, first, stride = 1]) => at(input, first + i * stride))),
});
const plain = (input, first, stride) => places([[input, first, stride]], add);
const squares = (input, first, shift = 0, stride = 1) =>
  places([[input, first, stride]], (sum, x) => fma(sub(x, shift), sub(x, shift), sum));
const dot = (a, b) => places([a, b], (sum, x, y) => fma(x, y, sum));
// The maximum of elements first, first + stride, …, starting with the first.
const maximum = (first, stride = 1) => ({
  needs: (begin, end) => places([[0, first, stride]]).needs(begin, end),
  run: (start, begin, end, at) => {
    let m = begin === 0 ? at(0, first) : floatOf(start);
    for (let i = begin; i < end; ++i) m = max(m, at(0, first + i * stride));
    return word(m);
  },
});
const over = (count) => (sum) => word(div(floatOf(sum), f(count)));

const view = (op) => ({ C: op.in[0].shape.at(-1), R: product(op.in[0].shape.slice(0, -1)) });
const columns = (op) => product(op.in[0].shape.slice(op.values[0]));
const inside = (n, h, w, c, shape) => (h < 0 || h >= shape[1] || w < 0 || w >= shape[2] ? undefined : indexOf(n, h, w, c, shape));

function matmul(op, _, e) {
  const [ta, tb] = op.values,
    [a, b] = op.in.map(({ shape }) => shape),
    [m, n] = op.out[0].shape.slice(-2),
    depth = a.at(ta ? -2 : -1),
    row = Math.floor(e / n) % m,
    column = e % n,
    batch = Math.floor(e / (m * n)),
    first = (shape, other) => (shape.length >= other.length ? batch * product(shape.slice(-2)) : 0);
  return contract(
    (k) => [first(a, b) + (ta ? k * m + row : row * depth + k), first(b, a) + (tb ? column * depth + k : k * n + column)],
    depth,
  );
}
function conv2d(op, _, e) {
  const [stride, pad, groups] = op.values,
    [x, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    group = Math.floor(at.c / (outputs / groups)),
    depth = kernelH * kernelW * channels;
  return contract((k) => {
    const kw = Math.floor(k / channels) % kernelW,
      kh = Math.floor(k / (channels * kernelW));
    return [inside(at.n, at.h * stride + kh - pad, at.w * stride + kw - pad, group * channels + (k % channels), x), at.c * depth + k];
  }, depth);
}
function conv2dGradX(op, _, e) {
  const [stride, pad, groups] = op.values,
    [dy, w] = op.in.map(({ shape }) => shape),
    [outputs, kernelH, kernelW, channels] = w,
    at = placeOf(e, op.out[0].shape),
    each = outputs / groups,
    group = Math.floor(at.c / channels),
    taps = (pixel, kernel) => [...Array(kernel).keys()].filter((k) => (pixel + pad - k) % stride === 0),
    [rows, cols] = [taps(at.h, kernelH), taps(at.w, kernelW)];
  return contract((k) => {
    const o = group * each + (k % each),
      kw = cols[Math.floor(k / each) % cols.length],
      kh = rows[Math.floor(k / (each * cols.length))];
    return [
      inside(at.n, (at.h + pad - kh) / stride, (at.w + pad - kw) / stride, o, dy),
      ((o * kernelH + kh) * kernelW + kw) * channels + (at.c % channels),
    ];
  }, rows.length * cols.length * each);
}
function conv2dGradW(op, _, e) {
  const [stride, pad, groups] = op.values,
    [x, dy] = op.in.map(({ shape }) => shape),
    [outputs, , , channels] = op.out[0].shape,
    { n: o, h: kh, w: kw, c } = placeOf(e, op.out[0].shape),
    channel = Math.floor(o / (outputs / groups)) * channels + c;
  return contract((k) => {
    const at = placeOf(k * outputs, dy);
    return [inside(at.n, at.h * stride + kh - pad, at.w * stride + kw - pad, channel, x), k * outputs + o];
  }, dy[0] * dy[1] * dy[2]);
}

function rowMax(op, _, r) {
  const n = columns(op);
  return formula(
    [...Array(Math.min(n, 32)).keys()].map((lane) => () => fold(maximum(r * n + lane, 32), 0, 0, Math.ceil((n - lane) / 32), 512)),
    [],
    (lanes) => word(lanes.map(floatOf).reduce(max)),
  );
}
function rowMaxGrad(op, _, e) {
  const n = columns(op),
    r = Math.floor(e / n),
    is = (x, y) => x === y || (x !== x && y !== y),
    terms = {
      needs: (begin, end) => [run(0, r * n + begin, end - begin), run(1, r)],
      run: (start, begin, end, at) => {
        for (let i = begin; i < end; ++i) if (is(at(0, r * n + i), at(1, r))) return 1;
        return start !== 0 ? 1 : 0;
      },
    };
  return then(fold(terms, 0, 0, e % n, RUN), [run(0, e), run(1, r), run(2, r)], (earlier, at) =>
    word(earlier === 0 && is(at(0, e), at(1, r)) ? at(2, r) : 0),
  );
}
function clipScale(op, output) {
  const [most] = op.values,
    terms = {
      needs: (begin, end) => [...Array(end - begin).keys()].map((k) => run(begin + k, 0)),
      run: (start, begin, end, at) => {
        let total = floatOf(start);
        for (let k = begin; k < end; ++k) total = k === 0 ? at(k, 0) : add(total, at(k, 0));
        return word(total);
      },
    };
  return then(fold(terms, 0, 0, op.in.length, 32), [], (sum) => {
    const norm = sqrt(floatOf(sum));
    return word(output === 0 ? norm : most > 0 && norm > most ? div(most, add(norm, f(1e-6))) : 1);
  });
}

const rowMaximum = (first, n) => () => fold(maximum(first), 0, 0, n, RUN);
const rowExps = (first, n, which) => (before) => {
  const m = floatOf(before[which] ?? 0);
  return rowsum(
    places([[0, first]], (sum, x) => add(sum, exp(sub(x, m)))),
    n,
  );
};
const logSumExp = (m, s) => add(floatOf(m), log(floatOf(s)));
function softmax(op, _, e) {
  const n = op.in[0].shape.at(-1),
    first = e - (e % n);
  return formula([rowMaximum(first, n), rowExps(first, n, 0)], [run(0, e)], ([m, s], at) =>
    word(div(exp(sub(at(0, e), floatOf(m))), floatOf(s))),
  );
}
function softmaxGrad(op, _, e) {
  const n = op.in[0].shape.at(-1),
    first = e - (e % n);
  return then(rowsum(dot([0, first], [1, first]), n), [run(0, e), run(1, e)], (d, at) => word(mul(at(0, e), sub(at(1, e), floatOf(d)))));
}
function crossEntropy(op, output, r) {
  const n = op.in[0].shape[1],
    first = r * n;
  if (output === 1) return formula([rowMaximum(first, n), rowExps(first, n, 0)], [], ([m, s]) => word(logSumExp(m, s)));
  const target = (before) => (before[0] ?? 0) | 0,
    valid = (t) => t >= 0 && t < n;
  return formula(
    [
      () => leaf([run(1, r)], (_, at) => at(1, r) >>> 0),
      (before) => {
        const t = target(before);
        return leaf(valid(t) ? [run(0, first + t)] : [], (_, at) => word(valid(t) ? at(0, first + t) : 0));
      },
      rowMaximum(first, n),
      rowExps(first, n, 2),
    ],
    [],
    (parts) => {
      const t = target(parts);
      return t === -1 ? 0 : valid(t) ? word(sub(logSumExp(parts[2], parts[3]), floatOf(parts[1]))) : 0x7fc00000;
    },
  );
}

const rowOf = (op, output, e) => {
  const { C } = view(op),
    row = output === 0 ? Math.floor(e / C) : e;
  return { C, row, first: row * C, column: e % C };
};
function layernorm(op, output, e) {
  const { C, first, column } = rowOf(op, output, e),
    [eps] = op.values,
    total = () => rowsum(plain(0, first), C),
    rstd = (sum) => rsqrt(add(div(floatOf(sum), f(C)), eps));
  if (output === 1) return then(total(), [], over(C));
  const deviations = (before) => rowsum(squares(0, first, div(floatOf(before[0] ?? 0), f(C))), C);
  if (output === 2) return formula([total, deviations], [], (parts) => word(rstd(parts[1])));
  return formula([total, deviations], [run(0, e), run(1, column), run(2, column)], (parts, at) =>
    word(fma(mul(sub(at(0, e), div(floatOf(parts[0]), f(C))), rstd(parts[1])), at(1, column), at(2, column))),
  );
}
function rmsnorm(op, output, e) {
  const { C, first, column } = rowOf(op, output, e),
    rstd = (sum) => rsqrt(add(div(floatOf(sum), f(C)), op.values[0])),
    total = rowsum(squares(0, first), C);
  if (output === 1) return then(total, [], (sum) => word(rstd(sum)));
  return then(total, [run(0, e), run(1, column)], (sum, at) => word(mul(mul(at(0, e), rstd(sum)), at(1, column))));
}
// g = dy·gamma and h of one row; mean is undefined where there is none.
const rowTerms = ({ C, row, first }, gamma, mean, rstd, dy) => {
  const g = (i, at) => mul(at(dy, first + i), at(gamma, i)),
    h = (i, at) => mul(mean === undefined ? at(0, first + i) : sub(at(0, first + i), at(mean, row)), at(rstd, row)),
    ofG = (begin, end) => [run(dy, first + begin, end - begin), run(gamma, begin, end - begin)],
    stats = [...(mean === undefined ? [] : [run(mean, row)]), run(rstd, row)];
  return {
    g,
    h,
    sum: { needs: ofG, step: (sum, i, at) => add(sum, g(i, at)) },
    dot: {
      needs: (begin, end) => [...ofG(begin, end), run(0, first + begin, end - begin), ...stats],
      step: (sum, i, at) => fma(g(i, at), h(i, at), sum),
    },
    C,
  };
};
function layernormGradX(op, _, e) {
  const place = rowOf(op, 0, e),
    { C, row, column } = place,
    { g, h, sum, dot: product_ } = rowTerms(place, 1, 2, 3, 4);
  return formula(
    [() => rowsum(sum, C), () => rowsum(product_, C)],
    [run(0, e), run(1, column), run(2, row), run(3, row), run(4, e)],
    (parts, at) => {
      const [a, b] = parts.map((part) => div(floatOf(part), f(C)));
      return word(mul(at(3, row), sub(fma(-h(column, at), b, g(column, at)), a)));
    },
  );
}
function rmsnormGradX(op, _, e) {
  const place = rowOf(op, 0, e),
    { C, row, column } = place,
    { g, h, dot: product_ } = rowTerms(place, 1, undefined, 2, 3);
  return then(rowsum(product_, C), [run(0, e), run(1, column), run(2, row), run(3, e)], (sum, at) =>
    word(mul(at(2, row), fma(-h(column, at), div(floatOf(sum), f(C)), g(column, at)))),
  );
}
// dy·h down a column; mean and rstd are told by row.
const columnDot = (c, C, mean, rstd, dy) => ({
  needs: (begin, end) => [
    run(dy, c + begin * C, 1, C, end - begin),
    run(0, c + begin * C, 1, C, end - begin),
    ...(mean === undefined ? [] : [run(mean, begin, end - begin)]),
    run(rstd, begin, end - begin),
  ],
  step: (sum, r, at) => {
    const x = at(0, r * C + c);
    return fma(at(dy, r * C + c), mul(mean === undefined ? x : sub(x, at(mean, r)), at(rstd, r)), sum);
  },
});
function layernormGradParams(op, output, c) {
  const { C, R } = view(op);
  return output === 1 ? colsum(plain(3, c, C), R) : colsum(columnDot(c, C, 1, 2, 3), R);
}
function rmsnormGradGamma(op, _, c) {
  const { C, R } = view(op);
  return colsum(columnDot(c, C, undefined, 1, 2), R);
}
function batchnormTrain(op, output, e) {
  const { C, R } = view(op),
    c = e % C,
    total = () => colsum(plain(0, c, C), R);
  if (output === 1) return then(total(), [], over(R));
  const deviations = (before) => colsum(squares(0, c, div(floatOf(before[0] ?? 0), f(R)), C), R);
  return formula([total, deviations], output === 0 ? [run(0, e), run(1, c), run(2, c)] : [], (parts, at) => {
    const [mean, variance] = parts.map((part) => div(floatOf(part), f(R))),
      rstd = rsqrt(add(variance, op.values[0]));
    if (output > 0) return word(output === 2 ? variance : rstd);
    return word(fma(sub(at(0, e), mean), mul(at(1, c), rstd), at(2, c)));
  });
}
function batchnormGrad(op, output, e) {
  const { C, R } = view(op),
    c = e % C,
    h = (i, at) => mul(sub(at(0, i), at(2, c)), at(3, c)),
    terms = {
      needs: (begin, end) => [
        run(0, c + begin * C, 1, C, end - begin),
        run(4, c + begin * C, 1, C, end - begin),
        run(2, c),
        run(3, c),
      ],
      step: (sum, r, at) => fma(at(4, r * C + c), h(r * C + c, at), sum),
    },
    dgamma = () => colsum(terms, R),
    dbeta = () => colsum(plain(4, c, C), R);
  if (output > 0) return output === 1 ? dgamma() : dbeta();
  return formula([dgamma, dbeta], [run(0, e), run(1, c), run(2, c), run(3, c), run(4, e)], (parts, at) => {
    const [a, b] = parts.map((part) => div(floatOf(part), f(R)));
    return word(mul(mul(at(1, c), at(3, c)), sub(fma(-h(e, at), a, at(4, e)), b)));
  });
}

// The pixels of a window inside its image, or the windows over a pixel: indices of input 0, rows first.
function taps(op, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    shape = op.in[0].shape,
    { n, h, w, c } = placeOf(e, op.out[0].shape),
    list = [];
  for (let y = Math.max(0, h * stride - pad); y < Math.min(h * stride - pad + kernelH, shape[1]); ++y)
    for (let x = Math.max(0, w * stride - pad); x < Math.min(w * stride - pad + kernelW, shape[2]); ++x)
      list.push({ index: indexOf(n, y, x, c, shape), pixel: y * shape[2] + x });
  return list;
}
function windows(op, e) {
  const [kernelH, kernelW, stride, pad] = op.values,
    shape = op.in[0].shape,
    { n, h, w, c } = placeOf(e, op.out[0].shape),
    covering = (pixel, kernel, count) =>
      [...Array(count).keys()].filter((window) => window * stride - pad <= pixel && pixel < window * stride - pad + kernel);
  return covering(h, kernelH, shape[1]).flatMap((y) => covering(w, kernelW, shape[2]).map((x) => ({ index: indexOf(n, y, x, c, shape) })));
}
const average = (places_) => (op, _, e) => {
  const list = places_(op, e),
    terms = steps({
      needs: (begin, end) => list.slice(begin, end).map(({ index }) => run(0, index)),
      step: (sum, i, at) => add(sum, at(0, list[i].index)),
    });
  return then(fold(terms, 0, 0, list.length, 16), [], over(op.values[0] * op.values[1]));
};
const greater = (v, best) => v > best || (v !== v && best === best);
function maxPool(op, output, e) {
  const list = taps(op, e),
    needs = (begin, end) => list.slice(begin, end).map(({ index }) => run(0, index)),
    // [maximum, pixel], the pixel being undefined where none of these taps is it
    best = (start, begin, end, at) => {
      let [value, pixel] = [start, undefined];
      for (let i = begin; i < end; ++i) {
        const v = at(0, list[i].index);
        if (i === 0 || greater(v, value)) [value, pixel] = [v, list[i].pixel];
      }
      return [value, pixel];
    },
    greatest = { needs, run: (start, begin, end, at) => word(best(floatOf(start), begin, end, at)[0]) };
  if (output === 0) return fold(greatest, 0, 0, list.length, 16);
  const recurrence = {
    uses: { maximum: ["maximum"], argmax: ["maximum", "argmax"] },
    block: (name, block, before) => {
      const [begin, end] = [16 * block, Math.min(16 * (block + 1), list.length)];
      if (name === "maximum") return fold(greatest, before.maximum, begin, end, 16);
      const chosen = { needs, run: (start, b, n, at) => best(floatOf(before.maximum), b, n, at)[1] ?? start };
      return fold(chosen, before.argmax, begin, end, 16);
    },
  };
  return state(recurrence, ["maximum", "argmax"], 0, Math.ceil(list.length / 16), { maximum: 0, argmax: 0 }, (last) => last.argmax);
}
function maxPoolGrad(op, _, e) {
  const list = windows(op, e),
    { h, w } = placeOf(e, op.out[0].shape),
    pixel = h * op.out[0].shape[2] + w,
    terms = steps({
      needs: (begin, end) => list.slice(begin, end).flatMap(({ index }) => [run(0, index), run(1, index)]),
      step: (sum, i, at) => (at(1, list[i].index) === pixel ? add(sum, at(0, list[i].index)) : sum),
    });
  return fold(terms, 0, 0, list.length, 16);
}
function globalAverage(op, _, e) {
  const [, height, width, channels] = op.in[0].shape,
    pixels = height * width;
  return then(colsum(plain(0, Math.floor(e / channels) * pixels * channels + (e % channels), channels), pixels), [], over(pixels));
}

function embedding(op, _, e) {
  const [rows, width] = op.in[0].shape,
    position = Math.floor(e / width);
  return formula(
    [
      () => leaf([run(1, position)], (_, at) => at(1, position) >>> 0),
      (before) => {
        const id = (before[0] ?? 0) | 0,
          valid = id >= 0 && id < rows,
          i = id * width + (e % width);
        return leaf(valid ? [run(0, i)] : [], (_, at) => (valid ? word(at(0, i)) : 0x7fc00000));
      },
    ],
    [],
    (parts) => parts[1],
    false,
  );
}
function embeddingGrad(op, _, e) {
  const width = op.out[0].shape[1],
    [row, column] = [Math.floor(e / width), e % width],
    terms = steps({
      needs: (begin, end) => [run(0, begin, end - begin), run(1, begin * width + column, 1, width, end - begin)],
      step: (sum, p, at) => (at(0, p) === row ? add(sum, at(1, p * width + column)) : sum),
    });
  return fold(terms, 0, 0, product(op.in[0].shape), 16);
}
function rope(op, output, e) {
  const width = op.in[0].shape[3],
    half = width / 2,
    other = e % width < half ? e + half : e - half;
  return leaf([run(0, e), run(0, other)], (_, at) => word(evaluator("rope", op.values, op.in, op.out, at)(output, e)));
}

// What attention's helpers want of an op, reading through `at`.
const reading = (op, at) => ({ ...op, at, once: (_, make) => make() });
function attention(op, output, e) {
  const a = new Attention(op, 3),
    d = output === 0 ? e % a.d : 0,
    query = output === 0 ? Math.floor(e / a.d) : undefined,
    h = output === 0 ? query % a.hq : Math.floor(e / a.tq) % a.hq,
    i = output === 0 ? Math.floor(query / a.hq) % a.tq : e % a.tq,
    b = output === 0 ? Math.floor(query / (a.hq * a.tq)) : Math.floor(e / (a.tq * a.hq)),
    visible = a.visible(i);
  const score = (j, at) => new Attention(reading(op, at), 3).score(b, h, i, j),
    p = (j, m, at) => exp(sub(score(j, at), m)),
    scores = (begin, end) => [
      run(0, a.queryRow(b, h, i), a.d),
      ...[...Array(end - begin).keys()].map((k) => run(1, a.keyRow(b, h, begin + k), a.d)),
    ];
  const block = (name, number, before, after) => {
    const [begin, end] = [64 * number, Math.min(64 * (number + 1), visible)];
    if (name === "m") return fold(steps({ needs: scores, step: (m, j, at) => max(m, score(j, at)) }), before.m, begin, end, 8);
    const m = floatOf(after.m),
      alpha = exp(sub(floatOf(before.m), m));
    if (name === "o" && a.digits) {
      const weights = Array.from({ length: end - begin }, (_, k) => begin + k).map((j) => ({
          needs: [...scores(j, j + 1), run(2, a.keyRow(b, h, j), a.d), ...(a.dropout > 0 ? [run(3, 0, 4)] : [])],
          value: (at) => {
            const reader = new Attention(reading(op, at), 3);
            return mul(reader.dropped(p(j, m, at), b, h, i, j), reader.rowDigits(2, a.keyRow(b, h, j)).scale);
          },
        })),
        rows = weights.map((_, k) => [2, a.keyRow(b, h, begin + k), a.d]);
      return weighted(word(mul(floatOf(before.o), alpha)), weights, rows, d, a.digits);
    }
    if (name === "o") {
      const terms = {
        needs: (first, last) => [
          ...scores(first, last),
          ...[...Array(last - first).keys()].map((k) => run(2, a.keyRow(b, h, first + k) + d)),
          ...(a.dropout > 0 ? [run(3, 0, 4)] : []),
        ],
        step: (sum, j, at) =>
          fma(new Attention(reading(op, at), 3).dropped(p(j, m, at), b, h, i, j), at(2, a.keyRow(b, h, j) + d), sum),
      };
      return fold(steps(terms), word(mul(floatOf(before.o), alpha)), begin, end, 8);
    }
    const lanes = [...Array(Math.min(32, end - begin)).keys()].map((lane) => () => {
      const key = (k) => begin + lane + 32 * k,
        terms = {
          needs: (first, last) => [...Array(last - first).keys()].flatMap((k) => scores(key(first + k), key(first + k) + 1)),
          step: (sum, k, at) => add(sum, p(key(k), m, at)),
        };
      return fold(steps(terms), 0, 0, Math.ceil((end - begin - lane) / 32), 8);
    });
    return formula(lanes, [], (parts) => word(fma(floatOf(before.l), alpha, combineLanes(parts.map(floatOf)))));
  };
  const recurrence = { uses: { m: ["m"], l: ["m", "l"], o: ["m", "o"] }, block },
    start = { m: word(-Infinity), l: 0, o: 0 },
    blocks = Math.ceil(visible / 64);
  if (output === 0) return state(recurrence, ["m", "l", "o"], 0, blocks, start, (last) => word(div(floatOf(last.o), floatOf(last.l))));
  return state(recurrence, ["m", "l"], 0, blocks, start, (last) => word(logSumExp(last.m, last.l)));
}
// The blocks of positions of a gradient by digits: each position is {needs and value of its weight, its row}.
function attentionGradDigits(a, { output, d, b, t, head, group, with_, probability, gradient }) {
  const position = (h, i, j) => {
    const input = [1, 0, 5][output],
      first = output === 0 ? a.keyRow(b, h, j) : a.queryRow(b, h, i),
      row = [input, first, a.d];
    return {
      row,
      needs: [...(output === 2 ? probability(h, i, j) : gradient(h, i, j)), run(...row)],
      value: (at) => {
        const g = with_(at),
          weight = output === 2 ? g.dropped(g.probability(b, h, i, j), b, h, i, j) : g.scoreGradient(b, h, i, j);
        return mul(weight, g.rowDigits(input, first).scale);
      },
    };
  };
  const blocks =
    output === 0
      ? blocksOf64(a.tk, (j) => j < a.visible(t)).map((keys) => keys.map((j) => position(head, t, j)))
      : Array.from({ length: group }, (_, k) => head * group + k).flatMap((h) =>
          blocksOf64(a.tq, (i) => t < a.visible(i)).map((queries) => queries.map((i) => position(h, i, t))),
        );
  const recurrence = {
    uses: { total: ["total"] },
    block: (_, number, before) =>
      weighted(
        before.total,
        blocks[number],
        blocks[number].map(({ row }) => row),
        d,
        a.digits,
      ),
  };
  return state(recurrence, ["total"], 0, blocks.length, { total: 0 }, (last) => last.total);
}
function attentionGrad(op, output, e) {
  const a = new Gradient(op, 6),
    d = e % a.d,
    { b, t, head } = a.gradientPlace(output, e),
    group = a.hq / a.hkv,
    with_ = (at) => new Gradient(reading(op, at), 6);
  const probability = (h, i, j) => [
      run(0, a.queryRow(b, h, i), a.d),
      run(1, a.keyRow(b, h, j), a.d),
      run(4, (b * a.hq + h) * a.tq + i),
      ...(a.dropout > 0 ? [run(6, 0, 4)] : []),
    ],
    gradient = (h, i, j) => [
      ...probability(h, i, j),
      run(3, a.queryRow(b, h, i), a.d),
      run(5, a.queryRow(b, h, i), a.d),
      run(2, a.keyRow(b, h, j), a.d),
    ],
    each = (begin, end, of) => [...Array(end - begin).keys()].flatMap((k) => of(begin + k));
  if (a.digits) return attentionGradDigits(a, { output, d, b, t, head, group, with_, probability, gradient });
  if (output === 0) {
    const terms = steps({
      needs: (begin, end) => each(begin, end, (j) => gradient(head, t, j)),
      step: (sum, j, at) => fma(with_(at).scoreGradient(b, head, t, j), at(1, a.keyRow(b, head, j) + d), sum),
    });
    return fold(terms, 0, 0, a.visible(t), 4);
  }
  const first = a.causal ? Math.max(0, t - (a.tk - a.tq)) : 0,
    queries = a.tq - first,
    pair = (s) => [head * group + Math.floor(s / queries), first + (s % queries)];
  const terms = steps({
    needs: (begin, end) =>
      each(begin, end, (s) => {
        const [h, i] = pair(s);
        return output === 1 ? gradient(h, i, t) : [...probability(h, i, t), run(5, a.queryRow(b, h, i) + d)];
      }),
    step: (sum, s, at) => {
      const [h, i] = pair(s),
        q = a.queryRow(b, h, i),
        g = with_(at);
      if (output === 1) return fma(g.scoreGradient(b, h, i, t), at(0, q + d), sum);
      return fma(g.dropped(g.probability(b, h, i, t), b, h, i, t), at(5, q + d), sum);
    },
  });
  return fold(terms, 0, 0, group * queries, 4);
}

const trees = {
  matmul,
  conv2d,
  conv2d_grad_x: conv2dGradX,
  conv2d_grad_w: conv2dGradW,
  row_sum: (op, _, r) => rowsum(plain(0, r * columns(op)), columns(op)),
  sum_squares: (op) => rowsum(squares(0, 0), product(op.in[0].shape)),
  col_sum: (op, _, c) => colsum(plain(0, c, columns(op)), product(op.in[0].shape.slice(0, op.values[0]))),
  row_max: rowMax,
  row_max_grad: rowMaxGrad,
  clip_scale: clipScale,
  softmax,
  softmax_grad: softmaxGrad,
  cross_entropy: crossEntropy,
  layernorm,
  layernorm_grad_x: layernormGradX,
  layernorm_grad_params: layernormGradParams,
  rmsnorm,
  rmsnorm_grad_x: rmsnormGradX,
  rmsnorm_grad_gamma: rmsnormGradGamma,
  batchnorm_train: batchnormTrain,
  batchnorm_grad: batchnormGrad,
  max_pool2d: maxPool,
  max_pool2d_grad: maxPoolGrad,
  avg_pool2d: average(taps),
  avg_pool2d_grad: average(windows),
  global_avg_pool: globalAverage,
  embedding,
  embedding_grad: embeddingGrad,
  rope,
  attention,
  attention_grad: attentionGrad,
};
// The root of an element's tree; undefined for an op that has none.
export function derive(name, op, output, e) {
  const n = op.values[BEFORE_DIGITS[name]];
  return n && name in blocksOf ? digitsum(blocksOf[name](op, e), n) : trees[name]?.(op, output, e);
}
