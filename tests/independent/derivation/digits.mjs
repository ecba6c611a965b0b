// Trees of contractions with digits: docs/formats/derivation.md, "digitsum" and "weighted".
import { add, fma, mul } from "../arithmetic.mjs";
import * as digits from "../digits.mjs";
import { chunk, floatOf, fold, formula, leaf, run, then, wordOf } from "./trees.mjs";

// Integers are words modulo 2³², in two's complement.
const integers = (needs, step) => ({
  needs,
  run: (start, begin, end, at) => {
    let sum = start;
    for (let i = begin; i < end; ++i) sum = (sum + step(i, at)) >>> 0;
    return sum;
  },
});
// What a list of digits of two values adds to 256·P₀ + P₁, and to P₂.
const parts = (n) => [
  (a, b) => 256 * digits.order(0, [a], [b], n) + digits.order(1, [a], [b], n),
  ...(n === 3 ? [(a, b) => digits.order(2, [a], [b], n)] : []),
];
const join = (words, n) => digits.join(words[0] | 0, (words[1] ?? 0) | 0, n);

const greatest = ([input, first, stride, count]) => {
  const terms = {
    needs: (begin, end) => [run(input, first + begin * stride, 1, stride, end - begin)],
    run: (start, begin, end, at) => {
      let most = start;
      for (let k = begin; k < end; ++k) most = Math.max(most, digits.magnitude(at(input, first + k * stride)));
      return most;
    },
  };
  return fold(terms, 0, 0, count, 16);
};
function blockSum({ a, b, pick = (k) => [k, k], count }, n) {
  const indices = (k) => [a, b].map(([, first, stride], side) => (pick(k)[side] === undefined ? undefined : first + pick(k)[side] * stride)),
    inputs = [a[0], b[0]],
    needs = (begin, end) =>
      Array.from({ length: end - begin }, (_, k) => indices(begin + k).flatMap((index, side) => (index === undefined ? [] : [run(inputs[side], index)]))).flat(),
    sum = (part) => (before) => {
      const step = (k, at) =>
        part(
          ...indices(k).map((index, side) => {
            const x = index === undefined ? 0 : at(inputs[side], index),
              u = before[side] ?? 0;
            return digits.magnitude(x) > u ? digits.none(n) : digits.digitsUnder(u, x, n);
          }),
        );
      return fold(integers(needs, step), 0, 0, count, 16);
    };
  return formula([() => greatest(a), () => greatest(b), ...parts(n).map(sum)], [], ([u, v, ...sums]) =>
    wordOf(mul(join(sums, n), mul(digits.scaleOf(u, n), digits.scaleOf(v, n)))),
  );
}
export function digitsum(blocks, n) {
  if (blocks.length === 0) return leaf([], () => 0);
  if (blocks.length === 1) return then(blockSum(blocks[0], n), [], (sum) => wordOf(add(0, floatOf(sum))));
  const total = (begin, end, start) => {
    const size = chunk(end - begin, 1);
    return {
      parts: Math.ceil((end - begin) / size),
      part: (i, before) =>
        size === 1
          ? blockSum(blocks[begin + i], n)
          : total(begin + i * size, Math.min(begin + (i + 1) * size, end), i === 0 ? start : before[i - 1]),
      needs: [],
      compute: (sums) => (size > 1 ? sums.at(-1) : wordOf(sums.reduce((sum, part) => add(sum, floatOf(part)), floatOf(start)))),
    };
  };
  return total(0, blocks.length, 0);
}

// weights: {needs, value(at)} each; rows: the runs [input, first, count] that they belong to.
export function weighted(before, weights, rows, d, n) {
  const count = weights.length,
    needs = (begin, end) => rows.slice(begin, end).map(([input, first, length]) => run(input, first, length)),
    sum = (part) => (words) => {
      const given = Array.from({ length: count }, (_, k) => floatOf(words[k] ?? 0)),
        u = given.reduce((most, w) => Math.max(most, digits.magnitude(w)), 0);
      const step = (k, at) => {
        const [input, first, length] = rows[k],
          row = digits.block(Array.from({ length }, (_, i) => at(input, first + i)), n);
        return part(digits.digitsUnder(u, given[k], n), row.digits[d]);
      };
      return fold(integers(needs, step), 0, 0, count, 16);
    };
  return formula([...weights.map((weight) => () => leaf(weight.needs, (_, at) => wordOf(weight.value(at)))), ...parts(n).map(sum)], [], (words) => {
    const u = words.slice(0, count).reduce((most, w) => Math.max(most, digits.magnitude(floatOf(w))), 0);
    return wordOf(fma(join(words.slice(count), n), digits.scaleOf(u, n), floatOf(before)));
  });
}
