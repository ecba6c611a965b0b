// derivations.json: what an element is declared to depend on, and one way down the tree of how it comes about.
import crypto from "node:crypto";
import { needsOf } from "../derivation/needs.mjs";
import { derive } from "../derivation/ops.mjs";
import { evaluate, leavesOf, seen } from "../derivation/trees.mjs";
import { infer } from "../types.mjs";
import { attributes, drawn, typeOf } from "./read.mjs";

const WIDTHS = { f32: 4, i32: 4, u32: 4, i64: 8 };
// One way to write runs: neighbours joined.
const plain = ({ input, begin, length, stride, repeat }) =>
  repeat === 1 || stride === length ? [input, begin, length * repeat, 1, 1] : [input, begin, length, stride, repeat];
const wordsText = (words) =>
  words.length > 4
    ? crypto.createHash("sha256").update(Buffer.from(Uint32Array.from(words).buffer)).digest("hex")
    : words.map((word) => word.toString(16).padStart(8, "0")).join(" ");

export function checkDerivations(vectors, differs) {
  let count = 0;
  for (const entry of vectors) {
    const { op: name, output, element, needs, derivation, inputs: many } = entry,
      place = `${name} output ${output} element ${element}`,
      check = (what, found, wanted) => (++count, found === wanted || differs(`${place}: ${what}: ${wanted}`, found)),
      inputs = many
        ? [...Array(many).keys()].map((k) => ({ ...entry.in[0], stream: (entry.in[0].stream + Math.imul(k, 0x9e3779b9)) >>> 0 }))
        : entry.in,
      types = inputs.map(({ type }) => typeOf(type)),
      values = attributes(entry.attributes),
      op = { values, in: types, out: infer(name, values, types) },
      widths = types.map(({ dtype }) => WIDTHS[dtype]),
      known = new Map(),
      at = (input, i) => {
        const key = input * 2 ** 40 + i;
        if (!known.has(key)) known.set(key, drawn(inputs[input], i));
        return known.get(key);
      };
    if (needs)
      check(
        "needs",
        JSON.stringify(needsOf(name, op, output, element).map(plain)),
        JSON.stringify(needs.map(([input, begin, length, stride, repeat]) => plain({ input, begin, length, stride, repeat }))),
      );
    const root = derive(name, op, output, element);
    check("has a tree", root !== undefined, derivation !== null);
    if (!derivation || !root) continue;
    let value = seen(root, widths);
    derivation.path.forEach((next, depth) => {
      const [parts, wanted] = derivation.parts[depth];
      check(`parts at ${depth}`, value.parts, parts);
      const words = [];
      for (let i = 0; i < value.parts; ++i) words.push(evaluate(value.part(i, words), at));
      check(`words at ${depth}`, wordsText(words), wanted);
      value = seen(value.part(next, words.slice(0, next)), widths);
    });
    check("parts at the end", value.parts, 0);
    const leaves = [...leavesOf(value.needs, widths)]
      .filter(([, numbers]) => numbers.size > 0)
      .sort(([a], [b]) => a - b)
      .map(([input, numbers]) => [input, [...numbers].sort((a, b) => a - b)]);
    check("leaves", JSON.stringify(leaves), JSON.stringify(derivation.leaves));
    check("word", wordsText([value.compute([], at)]), derivation.word);
  }
  return count;
}
