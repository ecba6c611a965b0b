// draws.json: random draws, starting values, orders of samples, learning rates.
import { fromBits } from "../arithmetic.mjs";
import { draw, keptFactor, keyOf, learningRate, normal, order, philox, start, threshold, uniform } from "../random.mjs";
import { bitsOf } from "./read.mjs";

const words = (text) => text.split(" ").map((word) => parseInt(word, 16));
const hex = (list) => list.map((word) => word.toString(16).padStart(8, "0")).join(" ");
const floats = (list) => list.map((value) => bitsOf("f32", value)).join(" ");
const float = (digits) => fromBits(parseInt(digits, 16));
const ten = [...Array(10).keys()];

export function checkDraws({ philox: blocks, variates, dropout, starts, orders, rates }, differs) {
  let count = 0;
  const check = (what, found, wanted) => (++count, found === wanted || differs(what, found));
  for (const { key, counter, block } of blocks) check(`block of ${counter}`, hex(philox(words(key), words(counter))), block);
  for (const { seed, stream, step, microbatch, ...wanted } of variates) {
    const key = keyOf(BigInt(`0x${seed}`)),
      drawn = ten.map((i) => draw(key, i, stream, step, microbatch));
    check(`draws of ${seed}`, hex(drawn), wanted.draws);
    check(`uniform of ${seed}`, floats(drawn.map(uniform)), wanted.uniform);
    check(`normal of ${seed}`, floats(ten.map((i) => normal(key, i, stream, step, microbatch))), wanted.normal);
  }
  for (const { p, threshold: least, factor } of dropout) {
    check(`threshold of ${p}`, threshold(float(p)), least);
    check(`factor of ${p}`, bitsOf("f32", keptFactor(float(p))), factor);
  }
  for (const { seed, tensor, kind, value, elements } of starts)
    check(`start ${seed} ${kind}`, floats(ten.map((i) => start(BigInt(`0x${seed}`), tensor, kind, float(value), i))), elements);
  for (const { seed, samples, step, count: wanted, indices } of orders)
    check(`order of ${samples}`, order(BigInt(`0x${seed}`), samples, step, wanted).join(), indices.join());
  for (const { rates: list, ...schedule } of rates) {
    const known = Object.fromEntries(
      Object.entries(schedule).map(([name, value]) => [name, typeof value === "string" && name !== "kind" ? float(value) : value]),
    );
    for (const line of list) {
      const [step, rate] = line.split(" ");
      check(`rate ${schedule.kind} at ${step}`, bitsOf("f32", learningRate(known, Number(step))), rate);
    }
  }
  return count;
}
