// A sample of a batch, proven against the job's data root and made again: data.md, NUMERICS.md section 4.
import { generatedSample, image } from "../data.mjs";
import { sampleAt } from "../random.mjs";
import { decoded, f32, fold, hex, leafHash, leavesOf, need, nodeHash, range, Reader, string, u32, u64 } from "./formats.mjs";
import { Unchecked } from "./outcomes.mjs";

const arrayEntry = (name, dtype, shape, root) =>
  Buffer.concat([string("assay/array/1"), string(name), Buffer.of(dtype, shape.length), ...shape.map(u64), root]);

// Bytes [begin, end) of the one array of a part, from a statement that proves the blocks they lie in.
function proven(law, statement, step, descriptor, { name, dtype, shape, bytes }, begin, end) {
  const [first, last] = [Math.floor(begin / 4096), leavesOf(end)];
  const run = decoded(() => {
    const r = new Reader(statement.body, "samples");
    r.blob();
    const root = r.take(32);
    need(r.u32() === 1, "samples: runs");
    const blocks = r.blob(),
      hashes = r.list(() => r.take(32));
    r.end();
    need(blocks.length === Math.min(4096 * last, bytes) - 4096 * first, "samples: length");
    const leaf = (i) => blocks.subarray(4096 * (i - first), 4096 * (i - first + 1)),
      known = (b, e) => {
        if (b < last && e > first) return e - b === 1 ? leafHash(leaf(b)) : undefined;
        need(hashes.length > 0, "samples: proof");
        return hashes.shift();
      };
    need(fold(0, leavesOf(bytes), known).equals(root) && hashes.length === 0, "samples: root");
    const entry = arrayEntry(name, dtype, shape, root);
    need(hex(nodeHash(leafHash(descriptor), leafHash(entry))) === law.job.data, "samples: another data root");
    return blocks;
  });
  if (!run) law.unproven(0, statement, step);
  return run.subarray(begin - 4096 * first, end - 4096 * first);
}

const floats = (values) => Buffer.concat(values.map(f32));

const kinds = {
  tokens(law, r, context, field) {
    const { "data.stride": stride, "batch.sequence": sequence } = law.job.fields,
      count = r.u64(),
      apart = stride === 0 ? sequence : stride;
    if (!["tokens", "targets"].includes(field.name) || sequence >= count) throw new Unchecked("the data have no such field");
    const first = apart * context.sample(Math.floor((count - sequence - 1) / apart) + 1),
      array = { name: "tokens", dtype: 7, shape: [count], bytes: 2 * count },
      bytes = context.proven(array, 2 * first, 2 * (first + sequence + 1)),
      shift = field.name === "targets" ? 1 : 0;
    return Buffer.concat(range(sequence).map((i) => u32(bytes.readUInt16LE(2 * (i + shift)))));
  },
  cifar10(law, r, context, field) {
    const count = r.u64(),
      i = context.sample(count),
      array = { name: "records", dtype: 6, shape: [count, 3073], bytes: 3073 * count },
      record = context.proven(array, 3073 * i, 3073 * (i + 1));
    if (record[0] > 9) context.unproven();
    if (field.name === "labels") return u32(record[0]);
    const { seed, step, row } = context;
    return floats(image(record, law.job.fields["data.augment"] === 1 && { seed, step, position: row }));
  },
  generated(law, r, context, field) {
    if (hex(leafHash(context.descriptor)) !== law.job.data) context.unproven();
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
    proven: (array, begin, end) => proven(law, statement, step, descriptor, array, begin, end),
  };
  return decoded(() => kinds[kind](law, r, context, field)) ?? unproven();
}
