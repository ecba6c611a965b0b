// What a program may be besides its encoding: docs/formats/program.md. Sizes that disputes ask for are in sizes.mjs.
import { infer } from "../types.mjs";
import { need, ops } from "./formats.mjs";

export const NAMES = [undefined, "f32", "i32", "u32", "i64", "f64", "u8", "u16"];

const scalar = { dtype: 1, shape: [] },
  rng = { dtype: 3, shape: [4] },
  number = { dtype: 4, shape: [] },
  same = (a, b) => a.dtype === b.dtype && a.shape.join() === b.shape.join();

function checkType({ dtype, shape }) {
  need(NAMES[dtype] && shape.length <= 8, "program: no such type");
  let elements = 1;
  for (const extent of shape) {
    if (extent > 0) elements *= extent;
    need(extent <= 2 ** 34 && elements <= 2 ** 34, "program: too many elements");
  }
}
function checkNames(items) {
  for (const { name } of items) need(/^[!-~]{1,256}$/.test(name), "program: a name");
  need(new Set(items.map(({ name }) => name)).size === items.length, "program: a name twice");
}

// The types of a graph's values: its inputs, then the outputs of each node.
function valuesOf({ inputs, nodes, outputs }) {
  checkNames(inputs);
  checkNames(outputs);
  const values = inputs.map(({ type }) => type),
    firsts = [];
  values.forEach(checkType);
  nodes.forEach(({ op, version, values: attributes, inputs: from }, n) => {
    need((version & 0x7fff) === 1, `program: node ${n} has another version`);
    need(attributes.every((value) => !Array.isArray(value) || value.length <= 64), `program: node ${n} has too long a list`);
    need(from.every((value) => value < values.length), `program: node ${n} takes what does not exist`);
    const made = infer(
      ops[op].name,
      attributes,
      from.map((value) => ({ dtype: NAMES[values[value].dtype], shape: values[value].shape })),
    );
    need(made, `program: node ${n} does not fit its inputs`);
    firsts.push(values.length);
    for (const { dtype, shape } of made) {
      const type = { dtype: NAMES.indexOf(dtype), shape };
      checkType(type);
      values.push(type);
    }
  });
  const needed = new Set(outputs.map(({ value }) => value));
  need([...needed].every((value) => value < values.length), "program: gives what does not exist");
  for (let n = nodes.length - 1; n >= 0; --n) {
    const own = ops[nodes[n].op].outputs;
    need(Array.from({ length: own }, (_, k) => firsts[n] + k).some((value) => needed.has(value)), `program: nobody needs node ${n}`);
    nodes[n].inputs.forEach((value) => needed.add(value));
  }
  return values;
}

export function verifyProgram({ state, micro, update }) {
  checkNames(state);
  state.forEach((tensor, i) => {
    checkType(tensor);
    need(i === 0 || state[i - 1].name < tensor.name, "program: its state does not ascend");
    need(tensor.kind <= 2 && Number.isFinite(tensor.value), "program: an initial value");
    need(tensor.dtype === 1 || (tensor.kind === 0 && tensor.value === 0), "program: an initial value that is not f32");
  });
  const tensors = new Map(state.map((tensor) => [tensor.name, tensor])),
    made = valuesOf(micro),
    written = valuesOf(update);
  // Each name is PREFIX/NAME of a kind that the graph may have, or one of the names that stand for themselves, and has the type that belongs to it.
  const check = (items, typeOf, kinds) => {
    for (const item of items) {
      const [, kind, name] = /^([a-z]+)(?:\/(.+))?$/.exec(item.name) ?? [],
        rule = Object.hasOwn(kinds, kind ?? "") && kinds[kind],
        wanted = rule && (typeof rule === "function") === (name !== undefined) && (name === undefined ? rule : rule(name));
      need(wanted, `program: nothing may be called ${item.name}`);
      need(wanted === true || same(wanted, typeOf(item)), `program: the type of ${item.name}`);
    }
  };
  const results = new Map(micro.outputs.map(({ name, value }) => [name, made[value]])),
    ofState = (name) => tensors.get(name);
  check(micro.inputs, ({ type }) => type, { state: ofState, batch: () => true, rng });
  need(micro.outputs[0]?.name === "loss", "program: no loss");
  need([...results.values()].every(({ dtype }) => dtype === 1), "program: a microbatch gives what is not f32");
  check(micro.outputs, ({ value }) => made[value], { loss: scalar, grad: ofState, stat: () => true });
  check(update.inputs, ({ type }) => type, { state: ofState, reduced: (name) => results.get(name), lr: scalar, step: number });
  check(update.outputs, ({ value }) => written[value], { state: ofState, metric: () => scalar });
}
