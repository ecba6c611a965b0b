// Hashes, encodings, the job, the program and its numbers: from docs/formats/{state,program}.md, docs/JOBS.md and docs/NUMERICS.md. Used by
// judge.mjs and law.mjs.
import crypto from "node:crypto";
import { BEFORE_DIGITS } from "../types.mjs";

export class Failure extends Error {}
export const need = (condition, message) => {
  if (!condition) throw new Failure(message);
};
export const range = (n) => [...Array(n).keys()];

// Hashes and trees are those of state.md.
export const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash("sha256")).digest();
export const leafHash = (data) => sha256(Buffer.of(0), data);
export const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);
export const hex = (bytes) => bytes.toString("hex");
export const split = (begin, end) => {
  let k = 1;
  while (2 * k < end - begin) k *= 2;
  return begin + k;
};
export const leavesOf = (bytes) => Math.ceil(bytes / 4096);

// The hash of the node [begin, end) of a tree from what `known` says of nodes, or of parts of them.
export function fold(begin, end, known) {
  const hash = known(begin, end);
  if (hash) return hash;
  const middle = split(begin, end);
  return nodeHash(fold(begin, middle, known), fold(middle, end, known));
}

export class Reader {
  constructor(bytes, what) {
    Object.assign(this, { bytes, what, at: 0 });
  }
  take(count) {
    need(this.at + count <= this.bytes.length, `${this.what}: ends too early`);
    return this.bytes.subarray(this.at, (this.at += count));
  }
  u8() {
    return this.take(1)[0];
  }
  u16() {
    return this.take(2).readUInt16LE();
  }
  u32() {
    return this.take(4).readUInt32LE();
  }
  f32() {
    return this.take(4).readFloatLE();
  }
  u64() {
    const value = this.take(8).readBigUInt64LE();
    need(value < 2n ** 53n, `${this.what}: number too large`);
    return Number(value);
  }
  // Of any size: a BigInt where a number would not be exact.
  wide() {
    const value = this.take(8).readBigUInt64LE();
    return value < 2n ** 53n ? Number(value) : value;
  }
  string() {
    return this.take(this.u32()).toString("latin1");
  }
  blob() {
    return this.take(this.u64());
  }
  list(item) {
    const count = this.u32();
    need(count <= this.bytes.length, `${this.what}: list too long`);
    return range(count).map(item);
  }
  flag() {
    const value = this.u8();
    need(value <= 1, `${this.what}: expected 0 or 1`);
    return value;
  }
  end() {
    need(this.at === this.bytes.length, `${this.what}: bytes after its end`);
  }
}
const number = (size, write) => (value) => {
  const bytes = Buffer.alloc(size);
  bytes[write](value);
  return bytes;
};
export const u32 = number(4, "writeUInt32LE"),
  f32 = number(4, "writeFloatLE");
export const u64 = (value) => number(8, "writeBigUInt64LE")(BigInt(value));
export const string = (text) => Buffer.concat([u32(text.length), Buffer.from(text, "latin1")]);
export const blob = (bytes) => Buffer.concat([u64(bytes.length), bytes]);
export const list = (items, item) => Buffer.concat([u32(items.length), ...items.map(item)]);
export const ascending = (items, what) =>
  items.forEach((item, i) => need(i === 0 || Buffer.compare(items[i - 1], item) < 0, `${what}: not ascending`));

// Job and program (JOBS.md, "Identity"; program.md).
export function openJob(bytes) {
  const reader = new Reader(bytes, "job"),
    fields = {};
  need(reader.take(8).toString() === "assayjob" && reader.u32() === 1 && reader.string() === "feistel-1", "job: not a job");
  const data = hex(reader.take(32)),
    given = reader.flag() === 1;
  if (given) reader.take(32);
  let stepsAt;
  while (reader.at < bytes.length) {
    const name = reader.string(),
      type = reader.u8();
    if (name === "steps") stepsAt = reader.at;
    const items = (item) => {
      const count = reader.u64();
      need(count <= bytes.length, "job: list too long");
      return range(count).map(item);
    };
    const table = () => items(() => [reader.string(), reader.f32()]);
    const integers = () => items(() => reader.u64());
    const integer = () => {
      const value = reader.take(8).readBigInt64LE();
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    };
    const read = [integer, () => reader.f32(), () => reader.flag(), () => reader.string(), integers, table][type - 1];
    need(read && !(name in fields), `job: field ${name}`);
    fields[name] = read();
  }
  return { data, given, fields, stepsAt };
}

// The seed of a job: its own, or 63 bits of a hash of the data root and a commitment.
export function seedOf(data, { seed, seed_from: commitment }) {
  if (seed !== undefined) return seed;
  need(/^[0-9a-f]{64}$/.test(commitment ?? ""), "job: neither seed nor seed_from");
  const digest = sha256(Buffer.from("assay/seed/1"), Buffer.from(data, "hex"), Buffer.from(commitment, "hex"));
  return digest.readBigUInt64LE() & ~(1n << 63n);
}

// Ops: wire id, attributes (i integer, f float, l list), outputs.
export const ops = Object.fromEntries(
  Object.entries({
    fill: [1, "lf"],
    add: [2],
    sub: [3],
    mul: [4],
    div: [5],
    neg: [6],
    scale: [7, "f"],
    add_scalar: [8, "f"],
    maximum: [9],
    broadcast_to: [10, "l"],
    exp: [16],
    log: [17],
    sqrt: [18],
    rsqrt: [19],
    tanh: [20],
    erf: [21],
    sin: [22],
    cos: [23],
    pow: [24, "f"],
    relu: [32],
    relu_grad: [33],
    gelu_tanh: [34],
    gelu_tanh_grad: [35],
    gelu_erf: [36],
    gelu_erf_grad: [37],
    sigmoid: [38],
    silu: [39],
    silu_grad: [40],
    dropout: [41, "fi"],
    reshape: [48, "l"],
    transpose: [49, "l"],
    slice: [50, "iii"],
    pad: [51, "iii"],
    concat: [52, "i"],
    row_sum: [64, "i"],
    col_sum: [65, "i"],
    row_max: [66, "i"],
    row_max_grad: [67, "i"],
    sum_squares: [68],
    clip_scale: [69, "f", 2],
    matmul: [80, "ii"],
    conv2d: [81, "iii"],
    conv2d_grad_x: [82, "iiiii"],
    conv2d_grad_w: [83, "iiiii"],
    softmax: [96],
    softmax_grad: [97],
    cross_entropy: [98, "", 2],
    cross_entropy_grad: [99],
    layernorm: [112, "f", 3],
    layernorm_grad_x: [113],
    layernorm_grad_params: [114, "", 2],
    rmsnorm: [115, "f", 2],
    rmsnorm_grad_x: [116],
    rmsnorm_grad_gamma: [117],
    batchnorm_train: [118, "f", 4],
    batchnorm_infer: [119, "f"],
    batchnorm_grad: [120, "", 3],
    max_pool2d: [128, "iiii", 2],
    max_pool2d_grad: [129, "iiiiii"],
    avg_pool2d: [130, "iiii"],
    avg_pool2d_grad: [131, "iiiiii"],
    global_avg_pool: [132],
    global_avg_pool_grad: [133, "ii"],
    embedding: [144],
    embedding_grad: [145, "i"],
    rope: [146, "fii"],
    attention: [147, "iffi", 2],
    attention_grad: [148, "iffi", 3],
    sgd: [160, "fffi", 2],
    adam: [161, "ffff", 3],
    adamw: [162, "ffff", 3],
  }).map(([name, [id, schema = "", outputs = 1]]) => [id, { name, schema, outputs }]),
);
const dtypeSizes = [0, 4, 4, 4, 8, 8, 1, 2];
export const bytesOf = ({ dtype, shape }) => shape.reduce((product, extent) => product * extent, dtypeSizes[dtype]);

export function openProgram(bytes) {
  const reader = new Reader(bytes, "program");
  need(reader.take(8).toString() === "assayprg" && reader.u32() === 1, "program: not a program");
  const type = () => ({ dtype: reader.u8(), shape: range(reader.u8()).map(() => reader.u64()) });
  const graph = () => {
    const inputs = reader.list(() => ({ name: reader.string(), type: type() }));
    const nodes = reader.list(() => {
      const op = reader.u16(),
        version = reader.u16(),
        begin = reader.at,
        values = [];
      need(ops[op], `program: op ${op}`);
      for (const kind of ops[op].schema)
        values.push(kind === "i" ? reader.u64() : kind === "f" ? reader.f32() : reader.list(() => reader.u64()));
      if (version & 0x8000) {
        // The optional last attribute, which few ops have; its values are looked at with the others.
        need(ops[op].name in BEFORE_DIGITS, `program: op ${op} has no optional attribute`);
        values.push(reader.u64());
      }
      return { op, version, attributes: bytes.subarray(begin, reader.at), values, inputs: reader.list(() => reader.u32()) };
    });
    return { inputs, nodes, outputs: reader.list(() => ({ name: reader.string(), value: reader.u32() })) };
  };
  const program = {
    state: reader.list(() => ({ name: reader.string(), ...type(), kind: reader.u8(), value: reader.f32() })),
    microbatches: reader.u64(),
    micro: graph(),
    update: graph(),
  };
  reader.end();
  return program;
}

// The nodes of a whole step (program.md, "Node numbers of a step"); each input is told by its source, {node, output} or {name, micro}.
export function nodesOfStep({ microbatches: count, micro, update }) {
  const nodes = [];
  const append = (graph, resolve) => {
    const values = graph.inputs.map(({ name, type }) => resolve(name, type));
    for (const { inputs, ...node } of graph.nodes) {
      range(ops[node.op].outputs).forEach((output) => values.push({ node: nodes.length, output }));
      nodes.push({ ...node, inputs: inputs.map((value) => values[value]) });
    }
    return Object.fromEntries(graph.outputs.map(({ name, value }) => [name, values[value]]));
  };
  const add = (op, attributes, inputs) => ({
    node: nodes.push({ op, version: 1, attributes, values: attributes.length > 0 ? [attributes.readFloatLE()] : [], inputs }) - 1,
    output: 0,
  });
  const names = micro.outputs.map(({ name }) => name);
  let level = range(count).map((m) => append(micro, (name, type) => ({ name, type, micro: m })));
  while (level.length > 1) {
    level = range(Math.ceil(level.length / 2)).map((i) =>
      2 * i + 1 === level.length
        ? level[2 * i]
        : Object.fromEntries(names.map((name) => [name, add(2, Buffer.alloc(0), [level[2 * i][name], level[2 * i + 1][name]])])),
    );
  }
  const reduced =
    count === 1 ? level[0] : Object.fromEntries(names.map((name) => [name, add(7, f32(1 / count), [level[0][name]])]));
  const written = append(update, (name, type) => (name.startsWith("reduced/") ? reduced[name.slice(8)] : { name, type }));
  return { nodes, loss: reduced.loss, written };
}

// What is read, or nothing where it is not of its form.
export const decoded = (decode) => {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
};
