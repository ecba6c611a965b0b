// A sample of a batch, proven against the job's data root and made again: data.md, NUMERICS.md section 4.
import { arraySample, generatedSample, image, inputsOf } from "../data.mjs";
import { sampleAt } from "../random.mjs";
import { decoded, f32, fold, hex, leafHash, leavesOf, need, range, Reader, string, u32, u64 } from "./formats.mjs";
import { Unchecked } from "./outcomes.mjs";

const arrayEntry = (name, dtype, shape, root) =>
  Buffer.concat([string("assay/array/1"), string(name), Buffer.of(dtype, shape.length), ...shape.map(u64), root]);

// Whether a statement has what an answer about these arrays has and nothing else, and is about the job's data. Comes before anything is made of what it describes.
function check(law, statement, step, descriptor, arrays) {
  const good = decoded(() => {
    const r = new Reader(statement.body, "samples");
    r.blob();
    const roots = arrays.map(() => {
      const root = r.take(32);
      r.list(() => [r.blob(), r.list(() => r.take(32))]);
      return root;
    });
    r.end();
    const leaves = [descriptor, ...arrays.map(({ name, dtype, shape }, i) => arrayEntry(name, dtype, shape, roots[i]))].map(leafHash),
      whole = fold(0, leaves.length, (b, e) => (e - b === 1 ? leaves[b] : undefined));
    need(hex(whole) === law.job.data, "samples: another data root");
    return true;
  });
  if (!good) law.unproven(0, statement, step);
}
// The range [begin, end) of each array of a part, from a statement that proves the blocks that they lie in.
function proven(law, statement, step, arrays) {
  const runs = decoded(() => {
    const r = new Reader(statement.body, "samples");
    r.blob();
    return arrays.map((array) => ({ ...array, ...provenRun(r, array) }));
  });
  if (!runs) law.unproven(0, statement, step);
  return runs.map(({ blocks, begin, end }) => {
    const first = 4096 * Math.floor(begin / 4096);
    return blocks.subarray(begin - first, end - first);
  });
}
// The blocks of a range of one array, and its root, to which they lead.
function provenRun(r, { bytes, begin, end }) {
  const [first, last] = [Math.floor(begin / 4096), leavesOf(end)],
    root = r.take(32);
  need(r.u32() === 1, "samples: runs");
  const blocks = r.blob(),
    hashes = r.list(() => r.take(32));
  need(blocks.length === Math.min(4096 * last, bytes) - 4096 * first, "samples: length");
  const leaf = (i) => blocks.subarray(4096 * (i - first), 4096 * (i - first + 1)),
    known = (b, e) => {
      if (b < last && e > first) return e - b === 1 ? leafHash(leaf(b)) : undefined;
      need(hashes.length > 0, "samples: proof");
      return hashes.shift();
    };
  need(fold(0, leavesOf(bytes), known).equals(root) && hashes.length === 0, "samples: root");
  return { blocks, root };
}

const floats = (values) => Buffer.concat(values.map(f32));

function cifar(law, context, field, { count, size, label, classes }) {
  const array = { name: "records", dtype: 6, shape: [count, size], bytes: size * count };
  context.check(array);
  const i = context.sample(count),
    [record] = context.proven({ ...array, begin: size * i, end: size * (i + 1) });
  if (record[label] >= classes) context.unproven();
  if (field.name === "labels") return u32(record[label]);
  return floats(image(record, context.place(law)));
}

const kinds = {
  tokens(law, r, context, field) {
    const { "data.stride": stride, "batch.sequence": sequence } = law.job.fields,
      count = r.u64(),
      apart = stride === 0 ? sequence : stride,
      array = { name: "tokens", dtype: 7, shape: [count], bytes: 2 * count };
    if (count < 1) context.unproven();
    context.check(array);
    if (!["tokens", "targets"].includes(field.name) || sequence >= count) throw new Unchecked("the data have no such field");
    const first = apart * context.sample(Math.floor((count - sequence - 1) / apart) + 1),
      [bytes] = context.proven({ ...array, begin: 2 * first, end: 2 * (first + sequence + 1) }),
      shift = field.name === "targets" ? 1 : 0;
    return Buffer.concat(range(sequence).map((i) => u32(bytes.readUInt16LE(2 * (i + shift)))));
  },
  cifar10: (law, r, context, field) => cifar(law, context, field, { count: r.u64(), size: 3073, label: 0, classes: 10 }),
  cifar100(law, r, context, field) {
    const count = r.u64(),
      classes = r.u64();
    if (classes !== 20 && classes !== 100) context.unproven();
    return cifar(law, context, field, { count, size: 3074, label: classes === 100 ? 1 : 0, classes });
  },
  arrays(law, r, context, field) {
    const count = r.u64(),
      [dtype, rank] = r.take(2),
      sample = range(rank).map(() => r.u64()),
      elements = sample.reduce((a, b) => a * b, 1),
      size = (dtype === 6 ? 1 : 4) * elements,
      layout = law.job.fields["data.layout"] ?? "flat";
    if ((dtype !== 1 && dtype !== 6) || rank < 1 || rank > 7 || count < 1) context.unproven();
    if (elements < 1 || elements > 2 ** 24 || elements * count > 2 ** 48) context.unproven();
    const arrays = [
      { name: "inputs", dtype, shape: [count, ...sample], bytes: size * count },
      { name: "labels", dtype: 2, shape: [count], bytes: 4 * count },
    ];
    context.check(...arrays);
    const inputs = inputsOf(sample, layout);
    if (field.name !== "labels" && (field.name !== inputs?.name || inputs.shape.join() !== field.shape.slice(1).join()))
      throw new Unchecked("the data have no such field");
    const i = context.sample(count),
      [bytes, label] = context.proven(
        { ...arrays[0], begin: size * i, end: size * (i + 1) },
        { ...arrays[1], begin: 4 * i, end: 4 * (i + 1) },
      );
    const values = inputs && arraySample(bytes, { dtype, sample }, layout, context.place(law));
    if (!values || label.readUInt32LE(0) >= 2 ** 20) context.unproven();
    return field.name === "labels" ? label : floats(values);
  },
  generated(law, r, context, field) {
    context.check();
    const [begin, end, classes, side, channels, features] = range(6).map(() => r.u64()),
      data = { begin, classes, image: side, channels, features, noise: r.f32(), seed: r.take(8).readBigUInt64LE() },
      { values, label } = generatedSample(data, context.sample(end - begin));
    return field.name === "labels" ? u32(label) : floats(values);
  },
};

// The bytes of a field of the sample at a row of a step's batch.
export function sampleField(law, statement, step, row, field) {
  const unproven = () => law.unproven(0, statement, step),
    descriptor = decoded(() => new Reader(statement.body, "samples").blob()) ?? unproven(),
    r = new Reader(descriptor, "data"),
    kind = decoded(() => (r.string() === "assay/data/1" ? r.string() : "")) ?? "",
    seed = BigInt(law.job.seed);
  if (!(kind in kinds)) unproven();
  const context = {
    descriptor,
    seed,
    step: step - 1,
    row,
    unproven,
    sample: (samples) => sampleAt(seed, samples, step - 1, field.shape[0], row),
    // What an image is augmented by, if it is.
    place: (law) => law.job.fields["data.augment"] === 1 && { seed, step: step - 1, position: row },
    check: (...arrays) => check(law, statement, step, descriptor, arrays),
    proven: (...arrays) => proven(law, statement, step, arrays),
  };
  return decoded(() => kinds[kind](law, r, context, field)) ?? unproven();
}
