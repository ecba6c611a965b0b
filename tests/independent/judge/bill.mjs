// What a dispute about a rounded job can take: docs/formats/dispute.md, "The bill of a rounded job".
import { product } from "../types.mjs";
import { bytesOf, leavesOf, ops, range } from "./formats.mjs";
import { instanceOf } from "./element.mjs";

const FRAME = 128,
  ENTRY = 168,
  MOST = 4_000_000;
const ceil = (a, b) => Math.ceil(a / b),
  depth = (leaves) => (leaves < 2 ? 0 : (leaves - 1).toString(2).length),
  leaves = (size, bytes, count = 1) => count * (8 + bytes) + (count === 1 ? 1 : 2) * depth(size) * 32 + FRAME,
  descent = (size) => 2 * ceil(depth(size), 6) * (64 * 32 + FRAME);

// The most words that an element depends on; 0 for ops whose words are not told.
function words({ name, values, in: inputs, out }) {
  const shape = inputs[0]?.shape ?? [],
    C = shape.at(-1),
    R = product(shape.slice(0, -1)),
    split = { C: product(shape.slice(values[0])), R: product(shape.slice(0, values[0])) },
    image = shape[1] * shape[2];
  const rules = {
    matmul: () => 2 * shape.at(values[0] ? -2 : -1),
    conv2d: () => 2 * product(inputs[1].shape.slice(1)),
    conv2d_grad_x: () => (2 * product(inputs[1].shape.slice(0, 3))) / values[2],
    conv2d_grad_w: () => 2 * product(inputs[1].shape.slice(0, 3)),
    row_sum: () => split.C,
    row_max: () => split.C,
    row_max_grad: () => split.C + 2,
    col_sum: () => split.R,
    clip_scale: () => inputs.length,
    softmax: () => C,
    softmax_grad: () => 2 * C,
    cross_entropy: () => C + 1,
    layernorm: () => C + 2,
    layernorm_grad_x: () => 3 * C + 2,
    layernorm_grad_params: () => 4 * R,
    rmsnorm: () => C + 1,
    rmsnorm_grad_x: () => 3 * C + 1,
    rmsnorm_grad_gamma: () => 3 * R,
    batchnorm_train: () => R + 2,
    batchnorm_grad: () => 2 * R + 3,
    max_pool2d: () => image,
    avg_pool2d: () => image,
    avg_pool2d_grad: () => image,
    global_avg_pool: () => image,
    max_pool2d_grad: () => 2 * image,
    rope: () => shape[3],
    embedding: () => R + 1,
    embedding_grad: () => 2 * product(inputs[1].shape.slice(0, -1)),
  };
  if (name in rules) return rules[name]();
  if (name !== "attention" && name !== "attention_grad") return 0;
  const [, tq, hq, d] = shape,
    [, tk, hkv] = inputs[1].shape,
    draws = values[2] > 0 ? 4 : 0,
    query = 3 * d + 1;
  if (out.length === 2) return d + 2 * tk * d + draws;
  return Math.max(query + 2 * tk * d, (hq / hkv) * tq * query + 2 * d) + draws;
}

// Of a sample of an array.
export function inputElements({ "model.inputs": inputs, "model.image": height = 0, "model.image_width": width = height, "model.channels": channels = 0 }) {
  return inputs ?? height * width * channels;
}

// The most bytes of data that one sample comes with.
export function sourceBytes({ fields }) {
  if ("data.layout" in fields) return 4 * (inputElements(fields) + 1) + 4 * 4095;
  return Math.max(2 * ((fields["batch.sequence"] ?? 0) + 1), 3073) + 2 * 4095;
}

// In bytes.
export function dearest(law) {
  const { job, program } = law,
    { steps, every, entries } = job,
    { microbatches: G, micro, update } = program,
    covered = Math.min(steps, every),
    nodes = G * (micro.nodes.length + micro.outputs.length) + update.nodes.length,
    // Of a step, one microbatch and the update.
    kinds = [...range(micro.nodes.length), ...range(update.nodes.length).map((n) => law.step.nodes.length - update.nodes.length + n)],
    record = (node) => {
      const { op, attributes, inputs } = law.step.nodes[node];
      return 40 + attributes.length + 32 * inputs.length + 40 * ops[op].outputs;
    };
  let elements = 0;
  kinds.forEach((node, k) => {
    for (const { dtype, shape } of law.types(node)) if (dtype === 1) elements += (k < micro.nodes.length ? G : 1) * product(shape);
  });
  const toEntry = 2 * 4096 + 4 * leaves(entries, ENTRY) + descent(entries) + 4 * leaves(entries, ENTRY, 2) + 2 * (depth(entries) + 1) * leaves(entries, ENTRY),
    toStep = 2 * (32 + FRAME) + descent(covered) + 6 * leaves(covered, ENTRY),
    toNode = toEntry + toStep + 2 * (32 + FRAME) + descent(nodes),
    segments = ceil(elements, 4096),
    table = 16 * segments,
    blocks = ceil(36 + table + segments * 176128, 4096),
    log = leaves(covered, ENTRY) + (depth(ceil(table, 4096)) + 8) * leaves(blocks, 4096) + leaves(blocks, 4096, ceil(176128, 4096) + 1),
    batch = 2 ** 31 * (2 ** 24 / 4096 + 1),
    other = toNode + 3 * leaves(nodes, Math.max(...kinds.map(record))) + 3 * descent(batch) + 8 * leaves(batch, 4096) + sourceBytes(job) + 8192;
  const most = kinds.map((node) => {
    const op = instanceOf(law, node),
      toElement = Math.max(
        ...law.types(node).map((type) => {
          const count = leavesOf(bytesOf(type));
          return descent(count) + 2 * leaves(count, 4096);
        }),
      ),
      opened = Math.max(0, ...op.types.map((type) => 32 * leaves(leavesOf(bytesOf(type)), 4096))),
      count = words(op),
      chunks = ceil(count, 4096),
      told = 4 * count + chunks * FRAME + 2 * (32 * chunks + FRAME);
    return toNode + 2 * leaves(nodes, record(node)) + toElement + Math.max(told, opened) + 2 * log;
  });
  return Math.max(other, ...most);
}

// How many entries of two logs that differ in their roundings alone are compared one by one.
export function entriesCompared(law) {
  return Math.min(8192, 64 * Math.floor((MOST - dearest(law)) / (2 * leaves(law.job.entries, ENTRY, 64))));
}
