// Reads a run's telemetry.bin (docs/formats/telemetry.md): what it measured of itself while it trained. Hashes and signatures are not checked here; `assay fsck` and
// `assay check` do that. A record that is none ends the reading: what stands before it is shown.

const MAGIC = 'assay/telemetry/1\n';

class Reader {
  constructor(view, at, end) {
    this.view = view;
    this.at = at;
    this.end = end;
  }
  skip(n) {
    if (this.at + n > this.end) throw new RangeError('the record ends early');
    this.at += n;
    return this.at - n;
  }
  u8() { return this.view.getUint8(this.skip(1)); }
  u32() { return this.view.getUint32(this.skip(4), true); }
  i64() { return Number(this.view.getBigInt64(this.skip(8), true)); }
  f64() { return this.view.getFloat64(this.skip(8), true); }
  f32() { return this.view.getFloat32(this.skip(4), true); }
  text() {
    const length = this.u32();
    const at = this.skip(length);
    return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.view.byteOffset + at, length));
  }
}

function readRecord(reader) {
  const record = {kind: reader.u8(), index: reader.i64(), since: reader.i64(), at: reader.i64()};
  if (record.kind === 1) {
    reader.skip(64);
    reader.text();
    Object.assign(record, {before: reader.i64(), steps: reader.i64(), epoch: reader.i64(), batch: reader.i64(), flops: reader.f64(),
      state: reader.i64(), every: reader.u32(), device: reader.text(), processor: reader.text(), kernels: reader.text(), gpu: reader.text(),
      threads: reader.u32(), cores: reader.u32()});
  } else if (record.kind === 2) {
    reader.skip(16);
    Object.assign(record, {step: reader.i64(), loss: reader.f32()});
  } else if (record.kind === 3) {
    Object.assign(record, {step: reader.i64(), cpu: reader.i64(), memory: reader.i64()});
    if (reader.u8() === 1) record.gpu = {util: reader.i64(), memory: reader.i64()};
  }
  return record;
}

// Speeds, each over a hundredth of the time that the session took: single steps are too short for the clock.
function tellRates(steps, batch, on) {
  on.speed((steps.at(-1).step - steps[0].step) * batch / Math.max(1e-6, (steps.at(-1).since - steps[0].since) / 1e6));
  const window = Math.max(1, (steps.at(-1).since - steps[0].since) / 100);
  let from = steps[0];
  for (const step of steps) {
    if (step.since - from.since < window || step.step <= from.step) continue;
    on.rate(step.step, (step.step - from.step) * batch / ((step.since - from.since) / 1e6));
    from = step;
  }
}

// on.session(record), on.step(step, loss), on.rate(step, samples a second), on.speed(samples a second, over the session), on.sample(seconds, cores, bytes, gpu or undefined)
export function readTelemetry(bytes, on) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw new Error('this is no telemetry of version 1');
  let at = MAGIC.length, base = 0, begin = 0, session = null, sampled = null, records = 0, steps = [];
  const endSession = () => {
    if (steps.length > 1) tellRates(steps, session.batch, on);
    steps = [];
  };
  while (at + 4 <= bytes.length) {
    const length = view.getUint32(at, true);
    if (length > 4096 || at + 4 + length + 32 > bytes.length) break;
    const record = readRecord(new Reader(view, at + 4, at + 4 + length));
    at += 4 + length + 32;
    records += 1;
    const wall = record.at / 1e6;
    if (!begin) begin = wall;
    if (record.kind === 1) {
      endSession();
      session = record;
      base = Math.max(0, wall - begin) - record.since / 1e6;
      sampled = null;
      on.session(record);
    } else if (record.kind === 2) {
      on.step(record.step, record.loss);
      steps.push({step: record.step, since: record.since});
    } else if (record.kind === 3) {
      if (sampled && record.since > sampled.since)
        on.sample(base + record.since / 1e6, (record.cpu - sampled.cpu) / (record.since - sampled.since), record.memory, record.gpu);
      sampled = record;
    }
  }
  endSession();
  return records;
}
