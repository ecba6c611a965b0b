// One element of a node's output, decided from agreed inputs: dispute.md, "The law", 5; ops.md; derivation.md.
import { needsOf } from "../derivation/needs.mjs";
import { derive } from "../derivation/ops.mjs";
import { leavesOf, seen } from "../derivation/trees.mjs";
import { evaluator } from "../ops/index.mjs";
import { infer } from "../types.mjs";
import { leavesOf as countLeaves, bytesOf, need, ops, u32 } from "./formats.mjs";
import { Unchecked } from "./outcomes.mjs";
import { NAMES } from "./program.mjs";

const WIDTHS = [0, 4, 4, 4, 8, 8, 1, 2];

const inputTypes = (law, node) =>
  law.step.nodes[node].inputs.map((source) => source.type ?? typesOf(law, source.node)[source.output]);

// The types of a node's outputs, by the op's shape rule.
export function typesOf(law, node) {
  const cache = (law.known ??= new Map());
  if (!cache.has(node)) {
    const { op, values } = law.step.nodes[node],
      made = infer(
        ops[op].name,
        values,
        inputTypes(law, node).map(({ dtype, shape }) => ({ dtype: NAMES[dtype], shape })),
      );
    need(made, `program: node ${node} does not fit its inputs`);
    cache.set(
      node,
      made.map(({ dtype, shape }) => ({ dtype: NAMES.indexOf(dtype), shape })),
    );
  }
  return cache.get(node);
}

// Reads an element of an input that lies in an opened block.
function read(dtype, block, at) {
  if (dtype === 1) return block.readFloatLE(at);
  if (dtype === 4) return Number(block.readBigInt64LE(at));
  if (dtype === 2) return block.readInt32LE(at);
  if (dtype === 3) return block.readUInt32LE(at);
  throw new Unchecked("an element of another type");
}
function bytesFor(dtype, value) {
  const bytes = Buffer.alloc(WIDTHS[dtype]);
  if (dtype === 1) return value !== value ? u32(0x7fc00000) : (bytes.writeFloatLE(value), bytes);
  if (dtype === 4) bytes.writeBigInt64LE(BigInt(value));
  else bytes.writeInt32LE(value | 0);
  return bytes;
}

// The blocks that runs lie in, opened by the first side: a function that reads elements of them.
export function openInputs(law, step, node, roots, types, runs) {
  const blocks = types.map(() => new Map()),
    leaves = leavesOf(
      runs,
      types.map(({ dtype }) => WIDTHS[dtype]),
    );
  for (const [input, numbers] of [...leaves].sort(([a], [b]) => a - b)) {
    const wanted = [...numbers].sort((a, b) => a - b),
      bytes = bytesOf(types[input]);
    for (let first = 0; first < wanted.length; first += 64) {
      const part = wanted.slice(first, first + 64);
      law.open(`9,${step},${node},${input}`, countLeaves(bytes), roots[input], part).forEach((block, k) => {
        if (block.length !== Math.min(4096, bytes - 4096 * part[k])) law.strike("structure", [true, true], { step, node });
        blocks[input].set(part[k], block);
      });
    }
  }
  return (input, i) => {
    const at = i * WIDTHS[types[input].dtype];
    return read(types[input].dtype, blocks[input].get(Math.floor(at / 4096)), at % 4096);
  };
}

// The words that a side told of a value's parts.
export function partsTold(law, question, count) {
  return law.both((side) => {
    const statement = law.find(side, 5, undefined, ({ value }) => value === question.join());
    if (statement.body.length !== 4 * count) law.unproven(side, statement, question[0]);
    return Array.from({ length: count }, (_, i) => statement.body.readUInt32LE(4 * i));
  });
}

// A node's op with the types of its inputs and outputs.
export function instanceOf(law, node) {
  const { op: wire, values } = law.step.nodes[node],
    types = inputTypes(law, node),
    named = (list) => list.map(({ dtype, shape }) => ({ dtype: NAMES[dtype], shape }));
  return {
    name: ops[wire].name,
    values,
    types,
    widths: types.map(({ dtype }) => WIDTHS[dtype]),
    in: named(types),
    out: named(typesOf(law, node)),
  };
}

// {said, right}: what both say of the element, or of the value of its derivation that it comes down to, and what it is.
export function decide(law, step, node, roots, output, element, said) {
  const op = instanceOf(law, node),
    { name, values, types, widths } = op,
    { dtype } = typesOf(law, node)[output],
    needs = needsOf(name, op, output, element);
  if (leavesOf(needs, widths, 32)) {
    const at = openInputs(law, step, node, roots, types, needs);
    return { said, right: bytesFor(dtype, evaluator(name, values, op.in, op.out, at)(output, element)) };
  }
  const root = WIDTHS[dtype] === 4 ? derive(name, op, output, element) : undefined;
  if (!root) throw new Unchecked(`${name} has no derivation`);
  const path = [];
  let value = seen(root, widths),
    words = said.map((bytes) => bytes.readUInt32LE()),
    parts = [];
  while (value.parts > 0) {
    const told = partsTold(law, [step, node, output, element, ...path], value.parts),
      first = told[0].findIndex((word, i) => word !== told[1][i]);
    if (first < 0) {
      [parts] = told;
      break;
    }
    path.push(first);
    words = told.map((list) => list[first]);
    value = seen(value.part(first, told[0].slice(0, first)), widths);
  }
  const at = openInputs(law, step, node, roots, types, value.needs);
  return { said: words.map(u32), right: u32(value.compute(parts, at)) };
}
