// Derivations: docs/formats/derivation.md, "Rules" and "Trees that ops are made of". A value is {parts: how many, part(i, before): value number i,
// given the words of those before it, needs: runs of input elements, compute(words of its parts, at): its word}. Words are 32 bits.
import { add, fma, fromBits, unsignedBits } from "../arithmetic.mjs";

export const wordOf = (x) => (x !== x ? 0x7fc00000 : unsignedBits(x));
export const floatOf = (word) => fromBits(word | 0);
const ceil = (a, b) => Math.ceil(a / b);

// Elements of an input: `repeat` runs of `length`, the first at `begin`.
export const run = (input, begin, length = 1, stride = 1, repeat = 1) => ({ input, begin, length, stride, repeat });

export function chunk(n, unit, fan = 256) {
  let size = unit;
  while (n > fan * size) size *= fan;
  return size;
}

export const leaf = (needs, compute) => ({ parts: 0, needs, compute });
// Unlike parts, each a function of the words of those before it.
export const formula = (makers, needs, compute, fixed = true) => ({
  parts: makers.length,
  part: (i, before) => makers[i](before),
  needs,
  compute,
  fixed,
});
// A, then f.
export const then = (value, needs, rule) => ({
  ...value,
  needs: [...value.needs, ...needs],
  compute: (parts, at) => rule(value.compute(parts, at), at),
});

// terms: {needs(begin, end), run(start word, begin, end, at)}
export function fold(terms, start, begin, end, unit) {
  const n = end - begin;
  if (n <= unit) return leaf(terms.needs(begin, end), (_, at) => terms.run(start, begin, end, at));
  const size = chunk(n, unit);
  return {
    parts: ceil(n, size),
    part: (i, before) => fold(terms, i === 0 ? start : before[i - 1], begin + i * size, Math.min(begin + (i + 1) * size, end), unit),
    needs: [],
    compute: (parts) => parts.at(-1),
  };
}
// Terms of a fold of floats by their steps.
export const steps = ({ needs, step }) => ({
  needs,
  run: (start, begin, end, at) => {
    let sum = floatOf(start);
    for (let i = begin; i < end; ++i) sum = step(sum, i, at);
    return wordOf(sum);
  },
});

const after = (n, piece, rounds) => (rounds === 0 ? n : after(ceil(n, piece), piece, rounds - 1));
function roundsToOne(n, piece) {
  let rounds = 1;
  while (after(n, piece, rounds) > 1) ++rounds;
  return rounds;
}
function combine(lanes) {
  const sums = Float32Array.from({ length: 32 }, (_, l) => lanes[l] ?? 0);
  for (let half = 16; half > 0; half >>= 1) for (let l = 0; l < half; ++l) sums[l] = add(sums[l], sums[l + half]);
  return sums[0];
}
export const combineLanes = combine;
function rowPiece(begin, end, step) {
  const lanes = new Float32Array(32);
  for (let i = begin; i < end; ++i) lanes[(i - begin) % 32] = step(lanes[(i - begin) % 32], i);
  return combine(lanes);
}
// terms: {needs(begin, end), step(sum, i, at)}
export function rowsum(terms, n, rounds = roundsToOne(n, 1024), index = 0) {
  const begin = index * 1024,
    end = Math.min(begin + 1024, after(n, 1024, rounds - 1));
  if (rounds === 1)
    return leaf(end > begin ? terms.needs(begin, end) : [], (_, at) => wordOf(rowPiece(begin, end, (sum, i) => terms.step(sum, i, at))));
  const sum = (i) => rowsum(terms, n, rounds - 1, i);
  if (end - begin <= 256)
    return {
      parts: end - begin,
      part: (i) => sum(begin + i),
      needs: [],
      compute: (parts) => wordOf(rowPiece(0, parts.length, (total, i) => add(total, floatOf(parts[i])))),
    };
  const lane = (l) => ({
    parts: ceil(end - begin - l, 32),
    part: (i) => sum(begin + l + 32 * i),
    needs: [],
    compute: (parts) => wordOf(parts.reduce((total, part) => add(total, floatOf(part)), 0)),
  });
  return { parts: 32, part: lane, needs: [], compute: (parts) => wordOf(combine(parts.map(floatOf))) };
}

export function colsum(terms, n, rounds = roundsToOne(n, 64), index = 0) {
  const begin = index * 64;
  if (rounds === 1) return fold(steps(terms), 0, begin, Math.min(begin + 64, n), 8);
  return {
    parts: Math.min(64, after(n, 64, rounds - 1) - begin),
    part: (i) => colsum(terms, n, rounds - 1, begin + i),
    needs: [],
    compute: (parts) => wordOf(parts.reduce((total, part) => add(total, floatOf(part)), 0)),
  };
}

// factors(k): [element of input 0, element of input 1], undefined where it is +0 outside an image.
export function contract(factors, depth) {
  const terms = steps({
    needs: (begin, end) =>
      Array.from({ length: end - begin }, (_, k) => factors(begin + k).flatMap((e, input) => (e === undefined ? [] : [run(input, e)]))).flat(),
    step: (sum, k, at) => fma(...factors(k).map((e, input) => (e === undefined ? 0 : at(input, e))), sum),
  });
  const block = (i) => fold(terms, 0, 256 * i, Math.min(256 * (i + 1), depth), 16);
  if (depth <= 256) return block(0);
  const total = (begin, end, start) => {
    const size = chunk(end - begin, 1);
    return {
      parts: ceil(end - begin, size),
      part: (i, before) =>
        size === 1 ? block(begin + i) : total(begin + i * size, Math.min(begin + (i + 1) * size, end), i === 0 ? start : before[i - 1]),
      needs: [],
      compute: (parts) => {
        if (size > 1) return parts.at(-1);
        let sum = begin === 0 ? floatOf(parts[0]) : add(floatOf(start), floatOf(parts[0]));
        for (const part of parts.slice(1)) sum = add(sum, floatOf(part));
        return wordOf(sum);
      },
    };
  };
  return total(0, ceil(depth, 256), 0);
}

// Components carried through blocks: {uses: {name: its own and those it uses}, block(name, block, before, after): its tree}.
export function state(recurrence, names, begin, end, start, rule) {
  const size = chunk(end - begin, 1, 64),
    told = (i, words) => Object.fromEntries(names.map((name, c) => [name, words?.[i * names.length + c] ?? 0]));
  return {
    parts: ceil(end - begin, size) * names.length,
    part: (i, words) => {
      const number = Math.floor(i / names.length),
        name = names[i % names.length],
        first = begin + number * size,
        before = number === 0 ? start : told(number - 1, words);
      if (size === 1) return recurrence.block(name, first, before, told(number, words));
      return state(recurrence, recurrence.uses[name], first, Math.min(first + size, end), before, (last) => last[name]);
    },
    needs: [],
    compute: (parts) => rule(told(parts.length / names.length - 1, parts)),
  };
}

// The leaves of 4096 bytes in which runs lie, by input; undefined where there are more than `most`.
export function leavesOf(runs, widths, most = Infinity) {
  const leaves = new Map();
  let count = 0;
  for (const { input, begin, length, stride, repeat } of runs) {
    const known = leaves.get(input) ?? new Set();
    leaves.set(input, known);
    for (let r = 0; r < repeat && length > 0; ++r) {
      const first = (begin + r * stride) * widths[input],
        last = Math.floor((first + length * widths[input] - 1) / 4096);
      for (let i = Math.floor(first / 4096); i <= last; ++i) {
        if (known.has(i)) continue;
        known.add(i);
        if (++count > most) return undefined;
      }
    }
  }
  return leaves;
}

// All that a value and those below it need; undefined where that is in more than 32 leaves, or depends on values.
function atOnce(value, widths) {
  if (value.parts === 0) return value.needs;
  const all = [];
  const gather = (one) => {
    if (one.fixed === false) return false;
    all.push(...one.needs);
    if (leavesOf(one.needs, widths, 32) === undefined) return false;
    for (let i = 0; i < one.parts; ++i) if (!gather(one.part(i, []))) return false;
    return all.length < 4096 || leavesOf(all, widths, 32) !== undefined;
  };
  return gather(value) && leavesOf(all, widths, 32) !== undefined ? all : undefined;
}
// A value from its inputs alone.
export function evaluate(value, at) {
  const words = [];
  for (let i = 0; i < value.parts; ++i) words.push(evaluate(value.part(i, words), at));
  return value.compute(words, at);
}

// A value of the tree as parties see it: without parts where it is computed at once.
export function seen(value, widths) {
  const needs = atOnce(value, widths);
  if (needs === undefined) return value;
  return { parts: 0, needs, compute: (_, at) => evaluate(value, at) };
}
