// The law of disputes, as docs/formats/dispute.md has it: a function of two claims and of what was said. Used by judge.mjs.
import {
  bytesOf,
  decoded,
  draw,
  Failure,
  f32,
  fma,
  fold,
  hex,
  leafHash,
  leavesOf,
  need,
  nodeHash,
  nodesOfStep,
  ops,
  philox,
  range,
  Reader,
  sha256,
  split,
  string,
  u32,
  u64,
} from "./formats.mjs";

// A question without the dispute's id (dispute.md, "Questions and answers").
export function openQuestion(bytes) {
  const r = new Reader(bytes, "question");
  need(
    r.string() === "assay/question/2" && r.take(32).every((byte) => byte === 0),
    "question: not one of format 2 without its id",
  );
  const kind = r.u8(),
    tree = () => [r.u8(), r.u64(), r.u32(), r.u32()].join(),
    span = () => ({ begin: r.u64(), end: r.u64() });
  const read = {
    1: () => ({ tree: tree() }),
    2: () => ({ tree: tree(), ...span() }),
    3: () => ({ tree: tree(), spans: r.list(span) }),
    4: () => ({ step: r.u64(), ...span() }),
    5: () => ({ value: [r.u64(), r.u32(), r.u32(), r.u64(), ...r.list(() => r.u32())].join() }),
  }[kind];
  need(read, `question: kind ${kind}`);
  const question = { kind, ...read() };
  r.end();
  const { spans = [{ begin: 0, end: 1 }] } = question,
    leaves = spans.reduce((sum, { begin, end }) => sum + end - begin, 0);
  need(
    leaves > 0 && leaves <= 64 && spans.every(({ begin, end }, i) => begin < end && (i === 0 || begin > spans[i - 1].end)),
    "question: spans",
  );
  return question;
}

// What the law ends with: a finding, a question that is still to be asked, or something that this judge cannot compute.
export class Found {
  constructor(finding, unproven = []) {
    Object.assign(this, { finding, unproven });
  }
}
export class Missing {
  constructor(kind, tree) {
    Object.assign(this, { kind, tree });
  }
}
export class Unchecked {
  constructor(why) {
    this.why = why;
  }
}
export const causes = [
  "receipt",
  "entry",
  "start",
  "batch",
  "history",
  "structure",
  "input",
  "output",
  "result",
  "unproven",
  "weights",
];

function decodeEntry(bytes) {
  const r = new Reader(bytes, "entry"),
    tag = r.string();
  need(tag === "assay/entry/1" || tag === "assay/entry-rounded/1", "entry: tag");
  const entry = {
    step: r.u64(),
    state: r.take(32),
    batch: r.take(32),
    loss: r.u32(),
    roundings: tag === "assay/entry/1" ? undefined : r.take(32),
    previous: r.take(32),
    hash: leafHash(bytes),
  };
  r.end();
  return entry;
}
const tensorEntry = (tag, { name, dtype, shape }, root) =>
  Buffer.concat([string(tag), string(name), Buffer.of(dtype, shape.length), ...shape.map(u64), root]);

// The law (dispute.md) about two claims, each with the answers [{question, body}] made for it; always throws one of the above.
export class Law {
  constructor(job, program, claims, answers) {
    Object.assign(this, { job, program, claims, answers, step: nodesOfStep(program) });
  }

  strike(cause, guilty, where) {
    throw new Found({ strikes: (guilty[0] ? 1 : 0) + (guilty[1] ? 2 : 0), cause: causes.indexOf(cause), ...where });
  }
  judge(cause, right, where) {
    if (right.includes(false))
      this.strike(
        cause,
        right.map((is) => !is),
        where,
      );
  }
  // What both sides said; what is still to be asked comes before what is unproven.
  both(each) {
    const results = [0, 1].map((side) => {
      try {
        return { value: each(side) };
      } catch (outcome) {
        if (outcome instanceof Error) throw outcome;
        return { outcome };
      }
    });
    const bad = results.flatMap(({ outcome }) => outcome ?? []),
      [first, second] = bad;
    if (bad.length === 0) return results.map(({ value }) => value);
    if (second && bad.every((outcome) => outcome instanceof Found))
      throw new Found(
        { ...first.finding, strikes: 3 },
        bad.flatMap(({ unproven }) => unproven),
      );
    throw bad.find((outcome) => outcome instanceof Missing) ?? first;
  }
  find(side, kind, tree, wanted) {
    const answer = this.answers[side].find(
      ({ question }) => question.kind === kind && question.tree === tree && wanted(question),
    );
    if (!answer) throw new Missing(kind, tree);
    return answer;
  }
  unproven(side, statement, step) {
    const [tree, at] = (statement.question.tree ?? "").split(",").map(Number),
      about = step ?? ([1, 2, 3, 11, 12].includes(tree) ? undefined : at);
    throw new Found({ strikes: 1 << side, cause: causes.indexOf("unproven"), ...(about !== undefined && { step: about }) }, [
      statement,
    ]);
  }

  // Leaves [begin, end) of a tree from a side's answers, proven against its root. What both agree on, side 0 has to show.
  leaves(side, tree, size, root, begin, end, read = (data) => data) {
    const within = (span) => span.begin <= begin && end <= span.end;
    const statement = this.find(side, 3, tree, ({ spans }) => spans.some(within));
    const proven = decoded(() => {
      const r = new Reader(statement.body, "leaves");
      const opened = statement.question.spans.map((span) => {
        const data = range(span.end - span.begin).map(() => r.blob());
        const hash = fold(0, size, (b, e) =>
          e <= span.begin || b >= span.end ? r.take(32) : e - b === 1 ? leafHash(data[b - span.begin]) : undefined,
        );
        need(
          hash.equals(root) && data.every((leaf) => leaf.length <= this.longest(tree, span)),
          "leaves: other root, or longer than a leaf can be",
        );
        return { span, data };
      });
      r.end();
      const { span, data } = opened.find((one) => within(one.span));
      return data.slice(begin - span.begin, end - span.begin).map(read);
    });
    return proven ?? this.unproven(side, statement);
  }
  longest(tree, { begin, end }) {
    // at least 4 KiB; a true record of a node may be longer
    const record = (node) => {
      const { op, inputs, attributes } = this.step.nodes[node];
      return 40 + 32 * inputs.length + 40 * ops[op].outputs + attributes.length;
    };
    return Math.max(4096, ...(tree.startsWith("4,") ? range(end - begin).map((i) => record(begin + i)) : []));
  }
  leaf(side, tree, size, root, index, read) {
    return this.leaves(side, tree, size, root, index, index + 1, read)[0];
  }

  // The first leaf in which two trees differ.
  descend(tree, size, roots) {
    let at = { begin: 0, end: size, hashes: roots };
    while (at.end - at.begin > 1) {
      const children = (begin, end, levels) =>
        levels === 0 || end - begin === 1
          ? [{ begin, end }]
          : [...children(begin, split(begin, end), levels - 1), ...children(split(begin, end), end, levels - 1)];
      const nodes = children(at.begin, at.end, 6);
      const told = this.both((side) => {
        const statement = this.find(side, 2, tree, ({ begin, end }) => begin === at.begin && end === at.end),
          { body } = statement;
        const hashes = nodes.map((_, i) => body.subarray(32 * i, 32 * i + 32));
        const known = (begin, end) => hashes[nodes.findIndex((node) => node.begin === begin && node.end === end)];
        if (body.length !== 32 * nodes.length || !fold(at.begin, at.end, known).equals(at.hashes[side]))
          this.unproven(side, statement);
        return hashes;
      });
      const first = nodes.findIndex((_, i) => !told[0][i].equals(told[1][i]));
      at = { ...nodes[first], hashes: told.map((hashes) => hashes[first]) };
    }
    return at.begin;
  }
  commitments(tree) {
    return this.both((side) => {
      const statement = this.find(side, 1, tree, () => true);
      return statement.body.length === 32 ? statement.body : this.unproven(side, statement);
    });
  }

  entryRight(entry, index) {
    const none = sha256(),
      rounds = this.job.precision !== "fp32";
    return (
      entry.step === this.job.stepOf(index) &&
      rounds === !!entry.roundings &&
      (index > 0 ||
        (entry.batch.equals(none) &&
          entry.loss === 0 &&
          (entry.roundings ?? none).equals(none) &&
          hex(entry.previous) === this.job.trajectory))
    );
  }

  examine() {
    const { job, claims } = this,
      last = job.entries - 1,
      roots = claims.map(({ log }) => Buffer.from(log, "hex")),
      rounded = job.precision !== "fp32";
    const open = (index) => {
      const entries = this.both((side) => this.leaf(side, "1,0,0,0", job.entries, roots[side], index, decodeEntry));
      this.judge(
        "entry",
        entries.map((entry) => this.entryRight(entry, index)),
        { step: job.stepOf(index) },
      );
      return entries;
    };
    const [firsts, lasts] = [open(0), open(last)];
    this.judge(
      "receipt",
      this.both(
        (side) =>
          hex(firsts[side].state) === claims[side].initial &&
          hex(lasts[side].state) === claims[side].final &&
          lasts[side].loss === claims[side].loss,
      ),
      {},
    );
    if (roots[0].equals(roots[1])) this.weights(lasts[0].state);
    const differ = (at) => {
      const [x, y] = open(at);
      return !(x.state.equals(y.state) && x.batch.equals(y.batch) && x.loss === y.loss);
    };
    let index = this.descend("1,0,0,0", job.entries, roots);
    if (rounded && !differ(index)) {
      // they differ in their roundings alone
      if (!differ(last)) throw new Unchecked("runs that differ in their roundings alone");
      for (let low = index, high = last; (index = high), high - low > 1;) {
        const middle = Math.floor((low + high) / 2);
        if (differ(middle)) high = middle;
        else low = middle;
      }
    }
    const said = open(index);
    if (index === 0) this.start(said.map(({ state }) => state));
    const befores = this.both((side) => this.leaf(side, "1,0,0,0", job.entries, roots[side], index - 1, decodeEntry));
    this.judge(
      "entry",
      said.map(({ previous }, side) => previous.equals(befores[side].hash)),
      { step: job.stepOf(index) },
    );
    const first = job.stepOf(index - 1) + 1,
      count = job.stepOf(index) - first + 1,
      batches = said.map(({ batch }) => batch);
    if (!batches[0].equals(batches[1])) this.batch(index, first, count, batches);
    let step = first,
      after = said,
      { state } = befores[0];
    if (count > 1) {
      const tree = `3,${index},0,0`,
        told = this.commitments(tree);
      const read = (bytes, at) =>
        decoded(() => {
          const r = new Reader(bytes, "step record");
          need(r.string() === "assay/step/1" && r.u64() === at, "step record");
          const record = { state: r.take(32), loss: r.u32() };
          r.end();
          return record;
        });
      const records = (at) => {
        const opened = this.both((side) => this.leaf(side, tree, count, told[side], at)).map((bytes) => read(bytes, first + at));
        this.judge(
          "history",
          opened.map((record) => !!record),
          { step: first + at },
        );
        return opened;
      };
      const same = (a, b) => a.state.equals(b.state) && a.loss === b.loss;
      this.judge(
        "history",
        records(count - 1).map((record, side) => same(record, said[side])),
        { step: first + count - 1 },
      );
      const at = this.descend(tree, count, told);
      step = first + at;
      after = records(at);
      if (at > 0)
        state = read(this.leaf(0, tree, count, told[0], at - 1), step - 1)?.state ?? this.strike("history", [true, true], {});
    }
    const batch = this.leaf(0, `2,${index},0,0`, count, batches[0], step - first);
    if (batch.length !== 32) this.strike("batch", [true, true], { step });
    this.nodes({ step, state, after, batch });
  }

  // The root of a tensor that both agree on.
  agreed(tree, tag, types, root, index, cause, step) {
    const bytes = this.leaf(0, tree, types.length, root, index),
      tensor = bytes.subarray(-32);
    if (!bytes.equals(tensorEntry(tag, types[index], tensor))) this.strike(cause, [true, true], { step });
    return tensor;
  }
  agreedState(step, state, index) {
    return this.agreed(`5,${step - 1},0,0`, "assay/state/1", this.program.state, state, index, "structure", step);
  }

  weights(state) {
    const { job, program, claims } = this,
      own = program.state.filter(({ name }) => !/^(sgd|adam)\./.test(name));
    const { tensors, type } = this.tensor(
      "12,0,0,0",
      "assay/weights/1",
      own,
      claims.map(({ weights }) => Buffer.from(weights, "hex")),
      "weights",
      { step: 0 },
    );
    const index = program.state.indexOf(type),
      right = this.agreedState(job.steps + 1, state, index);
    this.judge(
      "weights",
      tensors.map((root) => root.equals(right)),
      { step: job.steps, index },
    );
  }

  // The first tensor of two states, batches or weights that differs, and its roots.
  tensor(tree, tag, types, roots, cause, where) {
    const index = this.descend(tree, types.length, roots);
    const told = this.both((side) => this.leaf(side, tree, types.length, roots[side], index)),
      tensors = told.map((bytes) => bytes.subarray(-32));
    this.judge(
      cause,
      told.map((bytes, i) => bytes.equals(tensorEntry(tag, types[index], tensors[i]))),
      where,
    );
    return { index, tensors, type: types[index], size: leavesOf(bytesOf(types[index])) };
  }

  start(roots) {
    const { index, tensors, type, size } = this.tensor("5,0,0,0", "assay/state/1", this.program.state, roots, "start", {
      step: 0,
    });
    const tree = `6,0,0,${index}`,
      leaf = this.descend(tree, size, tensors),
      told = this.both((side) => this.leaf(side, tree, size, tensors[side], leaf));
    if (this.job.given || type.kind === 1) throw new Unchecked("starting values from a file, or normal ones");
    const first = 1024 * leaf,
      drawn = (i) =>
        Math.fround(Math.fround(2 * (draw(this.job.seed, i, 0x10000000 + index, 0, 0) >>> 8) * 2 ** -24 - 1) * type.value);
    const right = Buffer.concat(
      range(Math.min(1024, bytesOf(type) / 4 - first)).map((i) => f32(type.kind === 0 ? type.value : drawn(first + i))),
    );
    this.judge(
      "start",
      told.map((bytes) => bytes.equals(right)),
      { step: 0, index, leaf },
    );
  }

  // The fields of a whole batch, in name order.
  get fields() {
    return this.program.micro.inputs
      .filter(({ name }) => name.startsWith("batch/"))
      .map(({ name, type: { dtype, shape } }) => ({
        name: name.slice(6),
        dtype,
        shape: [shape[0] * this.program.microbatches, ...shape.slice(1)],
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  batch(entry, first, count, roots) {
    const steps = `2,${entry},0,0`,
      step = first + this.descend(steps, count, roots);
    const told = this.both((side) => this.leaf(side, steps, count, roots[side], step - first));
    const { index, tensors, type, size } = this.tensor(`7,${step},0,0`, "assay/batch/1", this.fields, told, "batch", { step });
    const tree = `8,${step},0,${index}`,
      leaf = this.descend(tree, size, tensors),
      blocks = this.both((side) => this.leaf(side, tree, size, tensors[side], leaf));
    const rowBytes = bytesOf(type) / type.shape[0],
      place = range(4096).find((i) => blocks[0][i] !== blocks[1][i]),
      row = Math.floor((4096 * leaf + place) / rowBytes);
    const statement = this.find(0, 4, undefined, (q) => q.step === step && q.begin <= row && row < q.end);
    const right = this.sample(statement, step, row, type); // bytes of that row
    const begin = Math.max(0, 4096 * leaf - row * rowBytes),
      at = Math.max(0, row * rowBytes - 4096 * leaf),
      part = right.subarray(begin, begin + 4096 - at);
    this.judge(
      "batch",
      blocks.map((block) => block.subarray(at, at + part.length).equals(part)),
      { step, index, leaf },
    );
  }
  // Which of n samples is at a row of a step's batch of `count`.
  drawn(n, step, row, count) {
    const at = (step - 1) * count + row,
      epoch = Math.floor(at / n),
      w = Math.max(1, Math.ceil((n > 1 ? Math.floor(Math.log2(n - 1)) + 1 : 0) / 2));
    let x = at % n;
    do {
      let [left, right] = [Math.floor(x / 2 ** w), x % 2 ** w];
      for (let round = 0; round < 6; ++round)
        [left, right] = [right, (left ^ (philox(this.job.seed, right, 0x20000000, epoch, round)[0] % 2 ** w)) >>> 0];
      x = left * 2 ** w + right;
    } while (x >= n);
    return x;
  }
  tokens(statement, descriptor, count, step, row, name, shape) {
    const { "data.stride": stride, "batch.sequence": sequence } = this.job.fields,
      apart = stride === 0 ? sequence : stride;
    const first = apart * this.drawn(Math.floor((count - sequence - 1) / apart) + 1, step, row, shape[0]),
      begin = Math.floor((2 * first) / 4096);
    const size = leavesOf(2 * count),
      end = leavesOf(2 * (first + sequence + 1)),
      r = new Reader(statement.body, "samples");
    const bytes =
      decoded(() => {
        r.blob();
        const root = r.take(32);
        need(r.u32() === 1, "samples: runs");
        const run = r.blob(),
          hashes = r.list(() => r.take(32));
        r.end();
        const leaf = (i) => run.subarray(4096 * (i - begin), 4096 * (i - begin + 1));
        need(
          fold(0, size, (b, e) => (e <= begin || b >= end ? hashes.shift() : e - b === 1 ? leafHash(leaf(b)) : undefined)).equals(
            root,
          ),
          "samples: root",
        );
        const array = tensorEntry("assay/array/1", { name: "tokens", dtype: 7, shape: [count] }, root);
        need(hex(nodeHash(leafHash(descriptor), leafHash(array))) === this.job.data, "samples: another data root");
        return run;
      }) ?? this.unproven(0, statement, step);
    return Buffer.concat(
      range(sequence).map((i) => u32(bytes.readUInt16LE(2 * (first + i + (name === "targets" ? 1 : 0)) - 4096 * begin))),
    );
  }
  // The field of the sample at a row of a step's batch: data.md, NUMERICS.md section 4.
  sample(statement, step, row, { name, shape }) {
    const descriptor = decoded(() => new Reader(statement.body, "samples").blob()) ?? this.unproven(0, statement, step),
      r = new Reader(descriptor, "data");
    const kind = r.string() === "assay/data/1" ? r.string() : "";
    if (kind === "tokens") return this.tokens(statement, descriptor, r.u64(), step, row, name, shape);
    if (kind !== "generated") throw new Unchecked(`samples of kind ${kind}`);
    if (hex(leafHash(descriptor)) !== this.job.data) this.unproven(0, statement, step);
    const [first, end, classes, image, , features] = range(6).map(() => r.u64()),
      noise = r.f32(),
      seed = r.u64(),
      n = end - first;
    if (image !== 0) throw new Unchecked("generated images");
    const i = first + this.drawn(n, step, row, shape[0]),
      u = (word) => (Math.floor(word / 2 ** 8) - 2 ** 23) * 2 ** -23;
    if (name === "labels") return u32(i % classes);
    return Buffer.concat(
      range(features).map((j) =>
        f32(
          fma(
            noise,
            u(draw(seed, j, 0x50000001, i % 2 ** 32, Math.floor(i / 2 ** 32))),
            u(draw(seed, j, 0x50000000, i % classes, 0)),
          ),
        ),
      ),
    );
  }

  // The types of a node's outputs, as far as this judge knows the op's rule.
  types(node) {
    const { op, values, inputs } = this.step.nodes[node],
      { name, outputs } = ops[op],
      made = (dtype, shape) => ({ dtype, shape });
    const input = (i) => inputs[i].type ?? this.types(inputs[i].node)?.[inputs[i].output];
    const cache = (this.known ??= new Map()),
      infer = () => {
        if (["fill", "reshape", "broadcast_to"].includes(name)) return [made(1, values[0])];
        if (name === "sum_squares" || name === "clip_scale") return range(outputs).map(() => made(1, []));
        const x = input(0);
        if (!x) return undefined;
        if (name === "row_sum" || name === "row_max") return [made(1, x.shape.slice(0, values[0]))];
        if (name === "col_sum") return [made(1, x.shape.slice(values[0]))];
        if (name === "cross_entropy") return [made(1, x.shape.slice(0, -1)), made(1, x.shape.slice(0, -1))];
        if (name === "matmul" && x.shape.length === 2 && input(1)?.shape.length === 2)
          return [made(1, [x.shape[values[0] ? 1 : 0], input(1).shape[values[1] ? 0 : 1]])];
        return op <= 9 || (op >= 16 && op <= 41) || op >= 160 || name === "cross_entropy_grad"
          ? range(outputs).map(() => x)
          : undefined;
      };
    if (!cache.has(node)) cache.set(node, infer());
    return cache.get(node);
  }
  // A node's record, or nothing where it is not the program's.
  record(bytes, node) {
    const { op, version, attributes, inputs } = this.step.nodes[node],
      types = this.types(node);
    return decoded(() => {
      const r = new Reader(bytes, "record");
      need(
        r.string() === "assay/node/1" && r.u32() === node && r.u16() === op && r.u16() === version && r.blob().equals(attributes),
        "record",
      );
      const opened = { inputs: r.list(() => r.take(32)), outputs: r.list(() => ({ bytes: r.u64(), root: r.take(32) })) };
      r.end();
      need(opened.inputs.length === inputs.length && opened.outputs.length === ops[op].outputs, "record");
      need(!types || opened.outputs.every((output, i) => output.bytes === bytesOf(types[i])), "record");
      return opened;
    });
  }
  learningRate(at) {
    const f = this.job.fields,
      lr = f["schedule.lr"];
    if (at < f["schedule.warmup"]) return Math.fround(lr * Math.fround((at + 1) / f["schedule.warmup"]));
    if (f["schedule.kind"] === "warmup_cosine" && at >= f["schedule.length"]) return f["schedule.min_lr"];
    if (f["schedule.kind"] !== "constant") throw new Unchecked("a schedule with cos or pow");
    return lr;
  }

  nodes({ step, state, after, batch }) {
    const { nodes } = this.step,
      tree = `4,${step},0,0`,
      traces = this.commitments(tree);
    const agreed = (node) => {
      const opened = this.record(this.leaf(0, tree, nodes.length, traces[0], node), node);
      if (!opened) this.strike("structure", [true, true], { step, node });
      return opened;
    };
    if (traces[0].equals(traces[1])) this.result(step, state, after, agreed);
    const node = this.descend(tree, nodes.length, traces),
      { inputs } = nodes[node];
    const records = this.both((side) => this.record(this.leaf(side, tree, nodes.length, traces[side], node), node));
    this.judge(
      "structure",
      records.map((opened) => !!opened),
      { step, node },
    );
    const index = inputs.findIndex((_, i) => !records[0].inputs[i].equals(records[1].inputs[i]));
    if (index >= 0)
      this.input(
        step,
        node,
        index,
        records.map((opened) => opened.inputs[index]),
        state,
        batch,
        agreed,
      );
    this.output(step, node, records);
  }

  input(step, node, index, roots, state, batch, agreed) {
    const source = this.step.nodes[node].inputs[index],
      where = { step, node, index };
    const compare = (right) =>
      this.judge(
        "input",
        roots.map((root) => root.equals(right)),
        where,
      );
    if (source.node !== undefined) compare(agreed(source.node).outputs[source.output].root);
    if (source.name.startsWith("state/")) {
      const place = this.program.state.findIndex(({ name }) => `state/${name}` === source.name);
      compare(this.agreedState(step, state, place));
    }
    const size = leavesOf(bytesOf(source.type)),
      tree = `9,${step},${node},${index}`,
      leaf = this.descend(tree, size, roots);
    const told = this.both((side) => this.leaf(side, tree, size, roots[side], leaf));
    const settle = (right) =>
      this.judge(
        "input",
        told.map((bytes) => bytes.equals(right)),
        { ...where, leaf },
      );
    if (source.name === "lr") settle(f32(this.learningRate(step - 1)));
    if (source.name === "step") settle(u64(step));
    if (source.name === "rng") settle(Buffer.concat([u64(this.job.seed), u32(step - 1), u32(source.micro)]));
    const place = this.fields.findIndex(({ name }) => `batch/${name}` === source.name),
      type = this.fields[place];
    const field = this.agreed(`7,${step},0,0`, "assay/batch/1", this.fields, batch, place, "batch", step),
      blocks = leavesOf(bytesOf(type));
    const begin = source.micro * bytesOf(source.type) + 4096 * leaf,
      end = Math.min(begin + 4096, (source.micro + 1) * bytesOf(source.type));
    const first = Math.floor(begin / 4096),
      opened = this.leaves(0, `8,${step},0,${place}`, blocks, field, first, leavesOf(end));
    settle(Buffer.concat(opened).subarray(begin - 4096 * first, end - 4096 * first));
  }

  output(step, node, records) {
    const index = records[0].outputs.findIndex(({ root }, i) => !root.equals(records[1].outputs[i].root)),
      outputs = records.map((opened) => opened.outputs[index]);
    const size = leavesOf(outputs[0].bytes),
      tree = `10,${step},${node},${index}`,
      leaf = this.descend(
        tree,
        size,
        outputs.map(({ root }) => root),
      );
    const told = this.both((side) => this.leaf(side, tree, size, outputs[side].root, leaf));
    this.judge(
      "output",
      told.map((bytes) => bytes.length === Math.min(4096, outputs[0].bytes - 4096 * leaf)),
      { step, node, index, leaf },
    );
    const word = range(1024).find((i) => told[0].readUInt32LE(4 * i) !== told[1].readUInt32LE(4 * i)),
      element = 1024 * leaf + word;
    if (this.job.precision !== "fp32") throw new Unchecked("an element of an fp64-rounded job");
    const right = f32(this.element(step, node, records[0].inputs, element, outputs[0].bytes));
    this.judge(
      "output",
      told.map((bytes) => bytes.subarray(4 * word, 4 * word + 4).equals(right)),
      { step, node, index, leaf, element },
    );
  }
  // An element of a node's output from its agreed inputs, of a few ops.
  element(step, node, roots, element, outputBytes) {
    const { op, values, inputs } = this.step.nodes[node],
      { name } = ops[op];
    const at = (input, i, bytes) =>
      this.leaf(0, `9,${step},${node},${input}`, leavesOf(bytes), roots[input], Math.floor(i / 1024)).readFloatLE(4 * (i % 1024));
    const simple = {
      add: (a, b) => a + b,
      sub: (a, b) => a - b,
      mul: (a, b) => a * b,
      scale: (a) => a * values[0],
      relu: (a) => (a > 0 ? a : a === a ? 0 : NaN),
    }[name];
    if (simple) return Math.fround(simple(...inputs.map((_, input) => at(input, element, outputBytes))));
    if (name !== "matmul" || !this.types(node)) throw new Unchecked(`an element of ${name}`);
    const [x, y] = inputs.map((source) => source.type ?? this.types(source.node)[source.output]),
      depth = x.shape[values[0] ? 0 : 1];
    const columns = this.types(node)[0].shape[1],
      [row, column] = [Math.floor(element / columns), element % columns];
    let total;
    for (let block = 0; block < depth; block += 256) {
      let sum = 0;
      for (let k = block; k < Math.min(block + 256, depth); ++k) {
        const [a, b] = [
          values[0] ? k * x.shape[1] + row : row * depth + k,
          values[1] ? column * depth + k : k * columns + column,
        ];
        sum = fma(at(0, a, bytesOf(x)), at(1, b, bytesOf(y)), sum);
      }
      total = total === undefined ? sum : Math.fround(total + sum);
    }
    return total ?? 0;
  }

  result(step, state, after, agreed) {
    const {
      program,
      step: { written, loss },
    } = this;
    if (!after[0].state.equals(after[1].state)) {
      const { index, tensors, type, size } = this.tensor(
        `5,${step},0,0`,
        "assay/state/1",
        program.state,
        after.map((opened) => opened.state),
        "result",
        { step },
      );
      const source = written[`state/${type.name}`],
        place = program.state.findIndex(({ name }) => `state/${name}` === source?.name);
      const right =
        source?.node !== undefined
          ? agreed(source.node).outputs[source.output].root
          : this.agreedState(step, state, place < 0 ? index : place);
      const is = tensors.map((root) => root.equals(right)),
        where = { step, ...(source?.node !== undefined && { node: source.node }), index };
      this.judge("result", is, is[0] === is[1] ? where : { ...where, leaf: this.descend(`6,${step},0,${index}`, size, tensors) });
    }
    const { root } = agreed(loss.node).outputs[loss.output],
      right = this.leaf(0, `10,${step},${loss.node},${loss.output}`, 1, root, 0);
    this.judge(
      "result",
      after.map((opened) => u32(opened.loss).equals(right)),
      { step, node: loss.node, leaf: 0 },
    );
    throw new Failure("law: both agree");
  }

  run() {
    try {
      this.examine();
    } catch (outcome) {
      if (outcome instanceof Error) throw outcome;
      return outcome;
    }
    throw new Failure("law: comes to no end");
  }
}
