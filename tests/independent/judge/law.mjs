// The law of disputes, as docs/formats/dispute.md has it: a function of two claims and of what was said. Used by judge.mjs.
import {
  bytesOf,
  decoded,
  Failure,
  f32,
  fold,
  hex,
  leafHash,
  leavesOf,
  need,
  nodesOfStep,
  ops,
  range,
  Reader,
  sha256,
  split,
  string,
  u32,
  u64,
} from "./formats.mjs";
import { learningRate, start } from "../random.mjs";
import { entriesCompared } from "./bill.mjs";
import { decide, typesOf } from "./element.mjs";
import { Found, Missing, Open, Unchecked } from "./outcomes.mjs";
import { decideRounded } from "./rounded.mjs";
import { sampleField } from "./samples.mjs";
import { longestLeaf } from "./sizes.mjs";

// A question without the dispute's id (dispute.md, "Questions and answers").
export function openQuestion(bytes) {
  need(bytes.length <= 2048, "question: too long");
  const r = new Reader(bytes, "question");
  need(
    r.string() === "assay/question/2" && r.take(32).every((byte) => byte === 0),
    "question: not one of format 2 without its id",
  );
  const kind = r.u8(),
    tree = () => {
      const number = r.u8();
      need(number >= 1 && number <= 13, "question: no such tree");
      return [number, r.wide(), r.u32(), r.u32()].join();
    },
    span = () => {
      const asked = { begin: r.wide(), end: r.wide() };
      need(asked.begin < asked.end, "question: no leaves");
      return asked;
    };
  const path = () => {
    const parts = r.list(() => r.u32());
    need(parts.length <= 16, "question: too long a path");
    return parts;
  };
  const read = {
    1: () => ({ tree: tree() }),
    2: () => ({ tree: tree(), ...span() }),
    3: () => ({ tree: tree(), spans: r.list(span) }),
    4: () => ({ step: r.wide(), ...span() }),
    5: () => ({ value: [r.wide(), r.u32(), r.u32(), r.wide(), ...path()].join() }),
  }[kind];
  need(read, `question: kind ${kind}`);
  const question = { kind, ...read() };
  r.end();
  const { spans = [{ begin: 0, end: 1 }] } = question,
    leaves = spans.reduce((sum, { begin, end }) => sum + BigInt(end) - BigInt(begin), 0n);
  need(
    leaves > 0 && leaves <= 64 && spans.every(({ begin }, i) => i === 0 || begin > spans[i - 1].end),
    "question: spans",
  );
  return question;
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
  need(entry.step < 2 ** 32, "entry: step");
  return entry;
}
const tensorEntry = (tag, { name, dtype, shape }, root) =>
  Buffer.concat([string(tag), string(name), Buffer.of(dtype, shape.length), ...shape.map(u64), root]);

// The law (dispute.md) about two claims, each with the answers [{question, body}] made for it; always throws one of the above.
export class Law {
  constructor(job, program, claims, answers) {
    Object.assign(this, { job, program, claims, answers, step: nodesOfStep(program) });
  }

  strike(cause, guilty, where, falseLogs = []) {
    const strikes = [...guilty, falseLogs[0], falseLogs[1]].reduce((sum, struck, k) => sum + (struck ? 1 << k : 0), 0);
    throw new Found({ strikes, cause: causes.indexOf(cause), ...where });
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

  // Leaves [begin, end) of a tree from a side's answer to the question about the spans asked for, proven against its root. What both agree on,
  // side 0 has to show.
  leaves(side, tree, size, root, begin, end, read = (data) => data, asked = [{ begin, end }]) {
    const is = (a, b) => a.begin === b.begin && a.end === b.end,
      same = (spans) => spans.length === asked.length && spans.every((span, i) => is(span, asked[i]));
    const statement = this.find(side, 3, tree, ({ spans }) => same(spans));
    const longest = longestLeaf(this, { tree, spans: asked });
    const proven = decoded(() => {
      const r = new Reader(statement.body, "leaves");
      const opened = asked.map((span) => {
        const data = range(span.end - span.begin).map(() => r.blob());
        const hash = fold(0, size, (b, e) =>
          e <= span.begin || b >= span.end ? r.take(32) : e - b === 1 ? leafHash(data[b - span.begin]) : undefined,
        );
        need(
          hash.equals(root) && data.every((leaf) => leaf.length <= longest),
          "leaves: other root, or longer than a leaf can be",
        );
        return { span, data };
      });
      r.end();
      return opened.flatMap(({ span, data }) => data.filter((_, i) => begin <= span.begin + i && span.begin + i < end)).map(read);
    });
    return proven ?? this.unproven(side, statement);
  }
  // Agreed leaves by their numbers, ascending; neighbours are asked for in one span.
  open(tree, size, root, numbers) {
    const spans = [];
    for (const number of numbers)
      if (spans.at(-1)?.end === number) ++spans.at(-1).end;
      else spans.push({ begin: number, end: number + 1 });
    return this.leaves(0, tree, size, root, numbers[0], numbers.at(-1) + 1, undefined, spans);
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

  // The form of an entry; what it names before it is looked at where the logs differ.
  entryRight(entry, index) {
    const none = sha256(),
      rounds = this.job.precision === "fp64-rounded";
    return (
      entry.step === this.job.stepOf(index) &&
      rounds === !!entry.roundings &&
      (index > 0 ||
        (entry.batch.equals(none) &&
          entry.loss === 0 &&
          (entry.roundings ?? none).equals(none)))
    );
  }

  examine() {
    const { job, claims } = this,
      last = job.entries - 1,
      roots = claims.map(({ log }) => Buffer.from(log, "hex")),
      rounded = job.precision === "fp64-rounded";
    need(claims[0].promise !== claims[1].promise, "law: the claims are the same");
    const entries = (begin, end, asked) =>
      this.both((side) => this.leaves(side, "1,0,0,0", job.entries, roots[side], begin, end, decodeEntry, asked));
    const formed = (index, said) =>
      this.judge(
        "entry",
        said.map((entry) => this.entryRight(entry, index)),
        { step: job.stepOf(index) },
      );
    const asked = job.entries <= 2 ? [{ begin: 0, end: job.entries }] : [0, last].map((i) => ({ begin: i, end: i + 1 })),
      ends = entries(0, job.entries, asked),
      firsts = ends.map((opened) => opened[0]),
      lasts = ends.map((opened) => opened.at(-1));
    formed(0, firsts);
    formed(last, lasts);
    this.judge(
      "receipt",
      [0, 1].map(
        (side) =>
          hex(firsts[side].state) === claims[side].initial &&
          hex(lasts[side].state) === claims[side].final &&
          lasts[side].loss === claims[side].loss,
      ),
      {},
    );
    if (roots[0].equals(roots[1])) this.weights(lasts[0].state);
    const differ = ([x, y]) => !(x.state.equals(y.state) && x.batch.equals(y.batch) && x.loss === y.loss),
      alone = (at) => {
        const opened = entries(at, at + 1).map(([entry]) => entry);
        formed(at, opened);
        return differ(opened);
      };
    // An entry and the one before it.
    const open = (at) => {
      const opened = entries(Math.max(0, at - 1), at + 1),
        [befores, said] = [opened.map((list) => list[0]), opened.map((list) => list.at(-1))];
      if (at > 0) formed(at - 1, befores);
      const before = (side) => (at > 0 ? befores[side].hash : Buffer.from(job.trajectory, "hex"));
      this.judge(
        "entry",
        said.map((entry, side) => this.entryRight(entry, at) && entry.previous.equals(before(side))),
        { step: job.stepOf(at) },
      );
      return { befores, said };
    };
    let index = this.descend("1,0,0,0", job.entries, roots),
      { befores, said } = open(index);
    if (index === 0) this.start(said.map(({ state }) => state));
    if (rounded && !differ(said)) {
      // they differ in their roundings alone
      if (alone(last))
        for (let low = index, high = last; (index = high), high - low > 1;) {
          const middle = low + Math.floor((high - low) / 2);
          if (alone(middle)) high = middle;
          else low = middle;
        }
      else index = this.between(index, last, entries, formed, differ);
      ({ befores, said } = open(index));
    }
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
    this.nodes({ step, state, after, batch, entry: index, first, count, roundings: said.map(({ roundings }) => roundings) });
  }

  // The last entries agree, and those that follow `index` are compared one by one.
  between(index, last, entries, formed, differ) {
    const most = Math.min(last, index + entriesCompared(this));
    let missing;
    for (let begin = index + 1; begin < most; begin += 64) {
      let said;
      try {
        said = entries(begin, Math.min(begin + 64, most));
      } catch (outcome) {
        // All are asked for at once: what does not prove itself is found though others are still missing.
        if (!(outcome instanceof Missing)) throw outcome;
        missing ??= outcome;
      }
      for (let i = 0; !missing && i < said[0].length; ++i) {
        const pair = said.map((list) => list[i]);
        formed(begin + i, pair);
        if (differ(pair)) return begin + i;
      }
    }
    if (missing) throw missing;
    if (this.claims[0].weights !== this.claims[1].weights) this.weights(Buffer.from(this.claims[0].final, "hex"));
    throw new Open("runs that differ in what their rounding logs say alone are undecided");
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

  // The tensors of the state that are the model's.
  get ownWeights() {
    return this.program.state.filter(({ name }) => !/^(sgd|adam)\./.test(name));
  }
  weights(state) {
    const { job, program, claims } = this,
      own = this.ownWeights;
    if (own.length === 0)
      this.strike(
        "weights",
        claims.map(({ weights }) => weights !== hex(sha256())),
        {},
      );
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
    const fromFile = this.job.given && !/^(sgd|adam)\./.test(type.name);
    if (fromFile) throw new Unchecked("starting values from a file of weights");
    const tree = `6,0,0,${index}`,
      leaf = this.descend(tree, size, tensors),
      told = this.both((side) => this.leaf(side, tree, size, tensors[side], leaf)),
      first = 1024 * leaf;
    const right = Buffer.concat(
      range(Math.min(1024, bytesOf(type) / 4 - first)).map((i) =>
        f32(start(BigInt(this.job.seed), index, type.kind, type.value, first + i)),
      ),
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
    this.judge(
      "batch",
      told.map((root) => root.length === 32),
      { step },
    );
    const { index, tensors, type, size } = this.tensor(`7,${step},0,0`, "assay/batch/1", this.fields, told, "batch", { step });
    const tree = `8,${step},0,${index}`,
      leaf = this.descend(tree, size, tensors),
      blocks = this.both((side) => this.leaf(side, tree, size, tensors[side], leaf));
    this.judge(
      "batch",
      blocks.map((block) => block.length === Math.min(4096, bytesOf(type) - 4096 * leaf)),
      { step, index, leaf },
    );
    const rowBytes = bytesOf(type) / type.shape[0],
      place = range(4096).find((i) => blocks[0][i] !== blocks[1][i]),
      row = Math.floor((4096 * leaf + place) / rowBytes);
    const statement = this.find(0, 4, undefined, (q) => q.step === step && q.begin === row && q.end === row + 1);
    const right = sampleField(this, statement, step, row, type);
    const begin = Math.max(0, 4096 * leaf - row * rowBytes),
      at = Math.max(0, row * rowBytes - 4096 * leaf),
      part = right.subarray(begin, begin + 4096 - at);
    this.judge(
      "batch",
      blocks.map((block) => block.subarray(at, at + part.length).equals(part)),
      { step, index, leaf },
    );
  }
  types(node) {
    return typesOf(this, node);
  }
  // A node's record, or nothing where it is not the program's.
  record(bytes, node) {
    const { op, version, attributes, inputs } = this.step.nodes[node],
      types = this.types(node);
    return decoded(() => {
      const r = new Reader(bytes, "record");
      need(
        r.string() === "assay/node/1" && r.u32() === node && r.u16() === op && r.u16() === (version & 0x7fff) && r.blob().equals(attributes),
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
    const names = ["kind", "lr", "warmup", "min_lr", "length", "every", "gamma"];
    return learningRate(Object.fromEntries(names.map((name) => [name, this.job.fields[`schedule.${name}`]])), at);
  }

  nodes(disputed) {
    const { step, state, after, batch } = disputed,
      { nodes } = this.step,
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
    this.output(disputed, node, records);
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
    const right = Buffer.concat(opened).subarray(begin - 4096 * first, end - 4096 * first);
    settle(right.length === end - begin ? right : Buffer.alloc(0)); // a batch that is too short has nothing for it
  }

  output(disputed, node, records) {
    const { step } = disputed,
      index = records[0].outputs.findIndex(({ root }, i) => !root.equals(records[1].outputs[i].root)),
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
    const type = this.types(node)[index],
      width = type.dtype === 4 || type.dtype === 5 ? 8 : 4,
      place = Math.floor(range(4096).find((i) => told[0][i] !== told[1][i]) / width),
      element = (4096 * leaf) / width + place;
    const values = told.map((bytes) => bytes.subarray(width * place, width * (place + 1)));
    if (this.job.precision === "fp64-rounded" && type.dtype === 1)
      decideRounded(this, disputed, node, records[0].inputs, index, leaf, element, values);
    const { said, right } = decide(this, step, node, records[0].inputs, index, element, values);
    this.judge(
      "output",
      said.map((bytes) => bytes.equals(right)),
      { step, node, index, leaf, element },
    );
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
