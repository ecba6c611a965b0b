// One element of a rounded job: docs/formats/dispute.md, "Rounded jobs"; docs/formats/rounded.md and close_calls.md.
import { needsOf } from "../derivation/needs.mjs";
import { leavesOf } from "../derivation/trees.mjs";
import * as B from "../rounded/bounded.mjs";
import * as D from "../rounded/double_double.mjs";
import { isExact, rounded } from "../rounded/formulas.mjs";
import { bitsOf, canRoundTo, fromBits, Grid, judgeByDecision, judgeBySymbol } from "../rounded/grid.mjs";
import { findDecision, findSymbol } from "../rounded/log.mjs";
import { wordsOf } from "../rounded/words.mjs";
import { product } from "../types.mjs";
import { instanceOf, openInputs, partsTold, typesOf } from "./element.mjs";
import { decoded, Failure, leavesOf as countLeaves, ops, range, Reader, sha256 } from "./formats.mjs";
import { Found, Missing, Open } from "./outcomes.mjs";

const CHUNK = 4096;

// Sums of squares over more than 32 blocks, part by part.
function squares(law, step, node, roots, op) {
  const elements = product(op.in[0].shape),
    sizeOf = (n) => {
      let size = 4096;
      while (size * 512 < n) size *= 512;
      return size;
    },
    value = (words) => D.dd(...[0, 2].map((k) => D.double(BigInt(words[k]) | (BigInt(words[k + 1]) << 32n)))),
    join = (words) => range(words.length / 4).reduce((sum, i) => D.add(sum, value(words.slice(4 * i, 4 * i + 4))), D.dd(0)),
    wordsOfValue = ({ hi, lo }) =>
      [hi, hi === hi ? lo : 0].flatMap((x) => [Number(D.bits64(x) & 0xffffffffn), Number(D.bits64(x) >> 32n)]);
  let [begin, end] = [0, elements],
    path = [],
    said,
    right;
  while (end - begin > 4096) {
    const size = sizeOf(end - begin),
      count = Math.ceil((end - begin) / size),
      told = partsTold(law, [step, node, 0, 0, ...path], 4 * count),
      first = told[0].findIndex((word, i) => word !== told[1][i]);
    if (first < 0) {
      if (path.length === 0) {
        const v = join(told[0]);
        return { v, e: B.sumError(B.sumDepth(elements), 0, v.hi, 0) };
      }
      right = wordsOfValue(join(told[0]));
      break;
    }
    const part = Math.floor(first / 4);
    said = told.map((words) => words.slice(4 * part, 4 * part + 4));
    path.push(part);
    [begin, end] = [begin + part * size, Math.min(begin + (part + 1) * size, end)];
  }
  if (!right) {
    const at = openInputs(law, step, node, roots, op.types, [{ input: 0, begin, length: end - begin, stride: 1, repeat: 1 }]);
    let sum = D.dd(0);
    for (let i = begin; i < end; ++i) sum = D.add(sum, at(0, i) * at(0, i));
    right = wordsOfValue(sum);
  }
  law.judge(
    "output",
    said.map((words) => words.join() === right.join()),
    { step, node, index: 0 },
  );
}

// The words of a list on which both agree by their digests, told by the first side.
function toldWords(law, step, node, roots, op, output, element, words) {
  const question = [step, node, output, element],
    chunks = Math.ceil(words.length / CHUNK),
    inChunk = (c) => Math.min(CHUNK, words.length - c * CHUNK),
    digests = chunks === 0 ? [[], []] : partsTold(law, question, 8 * chunks);
  // A side's words of a chunk, which must have the digest that it told before.
  const tell = (side, c) => {
    const statement = law.find(side, 5, undefined, ({ value }) => value === [...question, c].join()),
      { body } = statement,
      digest = Buffer.alloc(32);
    range(8).forEach((k) => digest.writeUInt32LE(digests[side][8 * c + k], 4 * k));
    if (body.length !== 4 * inChunk(c) || !sha256(body).equals(digest)) law.unproven(side, statement, step);
    return body;
  };
  const differs = digests[0].findIndex((word, k) => word !== digests[1][k]);
  if (differs >= 0) {
    const c = Math.floor(differs / 8),
      told = law.both((side) => tell(side, c)),
      k = range(inChunk(c)).find((i) => told[0].readUInt32LE(4 * i) !== told[1].readUInt32LE(4 * i)),
      { input, i } = words[c * CHUNK + k],
      leaf = Math.floor(i / 1024),
      where = { step, node, index: input, leaf },
      [block] = law.open(`9,${step},${node},${input}`, countLeaves(4 * product(op.in[input].shape)), roots[input], [leaf]),
      at = 4 * (i % 1024);
    if (at + 4 > block.length) law.strike("input", [true, true], where);
    law.judge(
      "input",
      told.map((body) => body.readUInt32LE(4 * k) === block.readUInt32LE(at)),
      where,
    );
  }
  const known = op.in.map(() => new Map());
  for (let c = 0; c < chunks; ++c) {
    const body = tell(0, c);
    for (let k = 0; k < inChunk(c); ++k) {
      const { input, i } = words[c * CHUNK + k],
        bits = body.readUInt32LE(4 * k),
        { dtype } = op.in[input];
      known[input].set(i, dtype === "f32" ? fromBits(bits) : dtype === "i32" ? bits | 0 : bits);
    }
  }
  return (input, i) => known[input].get(i);
}

// {y} of an exact op, {v, e} of any other.
function truth(law, step, node, roots, output, element) {
  const op = instanceOf(law, node),
    { name } = op;
  if (name === "sum_squares" && product(op.in[0].shape) > 32 * 1024) return squares(law, step, node, roots, op);
  const needs = needsOf(name, op, output, element),
    words = leavesOf(needs, op.widths, 32) ? undefined : wordsOf(name, op, output, element),
    at = words
      ? toldWords(law, step, node, roots, op, output, element, words)
      : openInputs(law, step, node, roots, op.types, needs);
  return rounded(name, op.values, op.in, op.out, at)(output, element);
}

// How many elements with a bound a step rounds before output `output` of node `node`.
function boundedBefore(law, node, output) {
  let count = 0;
  const add = (n, outputs) => {
    if (!isExact(ops[law.step.nodes[n].op].name))
      for (const { dtype, shape } of typesOf(law, n).slice(0, outputs)) if (dtype === 1) count += product(shape);
  };
  for (let n = 0; n < node; ++n) add(n, Infinity);
  if (node < law.step.nodes.length) add(node, output);
  return count;
}

function byLog(law, side, { step, entry, first, count, roundings }, element) {
  const leaf = law.leaf(side, `11,${entry},0,0`, count, roundings[side], step - first),
    log = decoded(() => {
      const r = new Reader(leaf, "leaf"),
        committed = { bytes: r.u64(), root: r.take(32) };
      r.end();
      return committed;
    });
  if (!log) return { lied: false, falseLog: true };
  const read = (begin, end) => {
    const [from, to] = [Math.floor(begin / 4096), Math.ceil(end / 4096)],
      blocks = law.leaves(side, `13,${step},0,0`, countLeaves(log.bytes), log.root, from, to);
    blocks.forEach((block, i) => {
      if (block.length !== Math.min(4096, log.bytes - 4096 * (from + i))) throw new Failure("log: a block that is not of its size");
    });
    return Buffer.concat(blocks).subarray(begin - 4096 * from, end - 4096 * from);
  };
  const { grid, v, e, value, tau } = element,
    find = tau === undefined ? findDecision : findSymbol,
    found = decoded(() => ({ said: find(log.bytes, read, element.elements, element.position) }));
  if (!found) return { lied: false, falseLog: true };
  return tau === undefined ? judgeByDecision(grid, found.said, v, e, value) : judgeBySymbol(grid, found.said, tau, v, e, value);
}

// Decides it; always throws.
export function decideRounded(law, disputed, node, roots, output, leaf, element, said) {
  const { step } = disputed,
    where = { step, node, index: output, leaf, element },
    { y, v, e } = truth(law, step, node, roots, output, element),
    grid = new Grid(law.job.fields.round_bits),
    bits = said.map((bytes) => bytes.readUInt32LE());
  if (!v)
    law.strike(
      "output",
      bits.map((word) => word !== bitsOf(grid.round(y))),
      where,
    );
  const values = bits.map(fromBits),
    can = values.map((value, side) => bitsOf(value) === bits[side] && canRoundTo(grid, v, 3 * e, value));
  law.judge("output", can, where);

  const { name } = ops[law.step.nodes[node].op],
    { round_rule: rule, round_tau: table = [] } = law.job.fields,
    tau = rule === "paper" ? (new Map(table).get(name) ?? 0.25) * grid.spacing : undefined,
    position = boundedBefore(law, node, output) + element,
    elements = boundedBefore(law, law.step.nodes.length, 0),
    outcomes = [],
    judged = [0, 1].map((side) => {
      try {
        return byLog(law, side, disputed, { grid, v, e, value: values[side], tau, position, elements });
      } catch (outcome) {
        if (outcome instanceof Error) throw outcome;
        outcomes.push(outcome);
      }
    });
  // What does not prove itself comes before what is still to be asked, and the first side's before the second's.
  if (outcomes.length > 0) throw outcomes.find((outcome) => outcome instanceof Found) ?? outcomes.find((outcome) => outcome instanceof Missing);
  const guilty = judged.map(({ lied }) => lied),
    falseLogs = judged.map(({ falseLog }) => falseLog);
  if (![...guilty, ...falseLogs].includes(true)) throw new Open("a true close call is undecided");
  law.strike("output", guilty, where, falseLogs);
}
