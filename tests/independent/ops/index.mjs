// One element of an op's output. `at(input, i)` gives an input's element as a Number; it is asked for what the element depends on and nothing else.
import contract from "./contract.mjs";
import elementwise from "./elementwise.mjs";
import layout from "./layout.mjs";
import norm from "./norm.mjs";
import pool from "./pool.mjs";
import reduce from "./reduce.mjs";
import sequence, { Attention, Gradient } from "./sequence.mjs";

const elements = { ...elementwise, ...layout, ...reduce, ...contract, ...norm, ...pool, ...sequence };

// A function from output and index to the element's value.
export function evaluator(name, values, inTypes, outTypes, at) {
  const known = new Map(),
    once = (key, make) => known.get(key) ?? (known.set(key, make()), known.get(key)),
    op = { values, in: inTypes, out: outTypes, at, once };
  return (output, i) => elements[name](op, output, i);
}
export const names = Object.keys(elements);
export { Attention, Gradient };
