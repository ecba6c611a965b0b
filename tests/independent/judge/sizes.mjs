// How large things may be: docs/formats/dispute.md, "Sizes". What is larger makes evidence none.
import { BEFORE_DIGITS } from "../types.mjs";
import { dearest, inputElements, sourceBytes } from "./bill.mjs";
import { instanceOf } from "./element.mjs";
import { bytesOf, leavesOf, need, ops, range } from "./formats.mjs";

const BLOCK = 4096,
  recordBytes = ({ op, inputs, attributes }) => 40 + 32 * inputs.length + 40 * ops[op].outputs + attributes.length,
  entryBytes = (tag, { name, shape }) => 4 + tag.length + 4 + name.length + 2 + 8 * shape.length + 32,
  empty = ({ shape }) => shape.includes(0);

// The encodings, before anything is made of them.
export function checkEncodings(job, program) {
  need(job.length <= 2 ** 16 && program.length <= 2 ** 22, "the job or its program is too long");
}

function checkGraph({ inputs, nodes, outputs }, precision) {
  const values = inputs.length + nodes.reduce((sum, { op }) => sum + ops[op].outputs, 0);
  need(nodes.length <= 2 ** 16 && values <= 2 ** 17, "program: too many nodes");
  for (const list of [inputs, outputs, ...nodes.map((node) => node.inputs)]) need(list.length <= 2 ** 14, "program: too many names");
  for (const { name } of [...inputs, ...outputs]) need(name.length <= 256, "program: a name is too long");
  need(!inputs.some(({ type }) => empty(type)), "program: an input without elements");
  for (const node of nodes) {
    need(recordBytes(node) <= 2 ** 18, "program: a record is too long");
    const digits = BEFORE_DIGITS[ops[node.op].name];
    need(digits === undefined || node.values[digits] === { int8x3: 3, int8x2: 2 }[precision], "program: digits that are not the precision's");
    need(ops[node.op].name !== "dropout" || node.values[1] <= 0x0fffffff, "program: a reserved random stream");
  }
}

// What a program may be, before its step is laid out.
export function checkProgram({ fields }, { state, microbatches, micro, update }) {
  need(state.length > 0 && state.length <= 2 ** 14 && !state.some(empty), "program: its state");
  need(state.every(({ name }) => name.length <= 256), "program: a name is too long");
  [micro, update].forEach((graph) => checkGraph(graph, fields.precision));
  need(micro.outputs.every(({ value }) => value >= micro.inputs.length), "program: a microbatch gives what no node made");
  const samples = fields["batch.microbatch"],
    batch = micro.inputs.filter(({ name }) => name.startsWith("batch/"));
  need(microbatches === fields["batch.microbatches"] && microbatches >= 1 && microbatches <= 2 ** 20, "program: its microbatches");
  need(samples * microbatches <= 2 ** 31 && (fields["batch.sequence"] ?? 0) <= 2 ** 18, "job: too large a batch");
  need(batch.length > 0 && batch.every(({ type }) => type.shape[0] === samples), "program: its batch");
  need(batch.reduce((sum, { type }) => sum + bytesOf(type) / samples, 0) <= 2 ** 24, "program: too large a sample");
  need(!("data.layout" in fields) || inputElements(fields) <= 229_376, "job: too large a sample of an array");
  const each = micro.nodes.length + (microbatches > 1 ? micro.outputs.length : 0);
  need(microbatches * each + update.nodes.length <= 2 ** 27, "program: a step of too many nodes");
}

// And when it is.
export function checkStep(law) {
  const { micro, update } = law.program,
    last = law.step.nodes.length - update.nodes.length;
  for (const node of [...range(micro.nodes.length), ...range(update.nodes.length).map((n) => last + n)])
    need(!law.types(node).some(empty), "program: an output without elements");
  need(law.job.precision !== "fp64-rounded" || dearest(law) <= 4_000_000, "program: a dispute about an element takes too many bytes");
}

// The leaves of a tree, by its name; nothing where the job has no such tree, or does not say.
function treeSize(law, tree) {
  const [kind, at, node, index] = tree.split(",").map(Number),
    { job, program } = law,
    plain = node === 0 && index === 0,
    within = (low, high) => at >= low && at <= high,
    tensor = (type) => type && leavesOf(bytesOf(type)),
    covered = () => (plain && within(1, job.entries - 1) ? job.stepOf(at) - job.stepOf(at - 1) : undefined),
    instance = () => (within(1, job.steps) && node < law.step.nodes.length ? instanceOf(law, node) : undefined);
  const sizes = {
    1: () => (plain && at === 0 ? job.entries : undefined),
    2: covered,
    3: covered,
    4: () => (plain && within(1, job.steps) ? law.step.nodes.length : undefined),
    5: () => (plain && within(0, job.steps) ? program.state.length : undefined),
    6: () => (node === 0 && within(0, job.steps) ? tensor(program.state[index]) : undefined),
    7: () => (plain && within(1, job.steps) ? law.fields.length : undefined),
    8: () => (node === 0 && within(1, job.steps) ? tensor(law.fields[index]) : undefined),
    9: () => tensor(instance()?.types[index]),
    10: () => tensor(instance() && law.types(node)[index]),
    11: () => (job.precision !== "fp64-rounded" ? undefined : covered()),
    12: () => (plain && at === 0 ? law.ownWeights.length : undefined),
  };
  return sizes[kind]?.();
}

// The longest leaf that an answer to a question about leaves may have: the longest true one among those asked for, and 4 KiB at least.
export function longestLeaf(law, { tree, spans }) {
  const [kind] = tree.split(",").map(Number),
    sizes = {
      4: (i) => law.step.nodes[i] && recordBytes(law.step.nodes[i]),
      5: (i) => law.program.state[i] && entryBytes("assay/state/1", law.program.state[i]),
      7: (i) => law.fields[i] && entryBytes("assay/batch/1", law.fields[i]),
      12: (i) => law.ownWeights[i] && entryBytes("assay/weights/1", law.ownWeights[i]),
    }[kind];
  if (!sizes) return BLOCK;
  return Math.max(BLOCK, ...spans.flatMap(({ begin, end }) => range(Number(end) - Number(begin)).map((i) => sizes(Number(begin) + i) ?? 0)));
}

// The hashes of a range proof: nodes of the tree that have no leaf in the range.
function proofHashes(begin, end, size) {
  let count = 0;
  for (let rest = begin; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  for (let at = end; at < size;) {
    ++count;
    let step = 1;
    while (at % (2 * step) === 0) step *= 2;
    if (size - at <= step) break;
    at += step;
  }
  return count;
}

function bodyBytes(law, question) {
  const { kind, tree, spans, begin, end } = question;
  if (kind === 1) return 32;
  if (kind === 2) return 2048;
  if (kind === 5) return 16384;
  if (kind === 4) {
    const arrays = "data.layout" in law.job.fields ? 2 : 1;
    return 136 + 36 * arrays + Math.min(Number(BigInt(end) - BigInt(begin)), 2 ** 20) * (arrays * (12 + 3968) + sourceBytes(law.job));
  }
  const counts = spans.map((span) => Number(BigInt(span.end) - BigInt(span.begin)));
  if (tree.startsWith("13,")) return counts.reduce((sum, count) => sum + count * (8 + BLOCK) + 3968, 0);
  const size = treeSize(law, tree);
  if (size === undefined || spans.some((span) => span.end > size)) return 0;
  const longest = longestLeaf(law, question);
  return spans.reduce((sum, span, i) => sum + counts[i] * (8 + longest) + 32 * proofHashes(span.begin, span.end, size), 0);
}

// Whether an answer to the question may be so long.
export function fits(law, question, body) {
  return 90 + body.length <= Math.min(2 ** 20, Math.min(2 ** 20 - 128, bodyBytes(law, question)) + 256);
}
