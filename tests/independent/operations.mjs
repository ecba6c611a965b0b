// The operations of a step (docs/formats/ops.md, "Operations"): node operations.mjs OPS.md PROGRAM.bin prints how many a program has. The counts are read off
// the page's table as a reader would.
import fs from "node:fs";
import { openProgram, ops } from "./judge/formats.mjs";
import { NAMES } from "./judge/program.mjs";
import { infer, product } from "./types.mjs";

// The count of each op, as a function of letters.
function countsOf(page) {
  const section = page.split("\n## Operations\n")[1]?.split("\n## ")[0] ?? "",
    counts = {};
  for (const [, names, formula] of section.matchAll(/^\| (`.*`) \| (.+) \|$/gm)) {
    const text = formula.replace("the elements of dy", "dy").replace(/\bin\b/, "first").replaceAll("·", "*");
    if (!/^[\w*/()]+$/.test(text)) throw new Error(`ops.md: no formula: ${formula}`);
    for (const name of names.replaceAll("`", "").split(" ")) {
      if (name in counts) throw new Error(`ops.md: ${name} counts twice`);
      counts[name] = (letters) => new Function(...Object.keys(letters), `return ${text}`)(...Object.values(letters));
    }
  }
  const known = Object.values(ops).map(({ name }) => name);
  for (const name of known) if (!(name in counts)) throw new Error(`ops.md: does not say what ${name} counts as`);
  for (const name in counts) if (!known.includes(name)) throw new Error(`ops.md: counts ${name}, which is no op`);
  return counts;
}

// The letters of ops whose tables have some of their own: from attributes, shapes of the inputs and of the first output.
const window = ([kernel_h, kernel_w]) => ({ kernel_h, kernel_w });
const convolution = ([N, OH, OW, O], [, KH, KW, each], groups) => ({ N, OH, OW, O, KH, KW, C: each * groups, groups });
const heads = ([causal], [[B, Tq, Hq, D], [, Tk]]) => ({ B, Tq, Hq, D, V: causal ? Tk - (Tq - 1) / 2 : Tk });
const LETTERS = {
  matmul: ([transposed], [a], out) => ({
    outer: product(out.slice(0, -2)),
    M: out.at(-2),
    N: out.at(-1),
    K: a.at(transposed ? -2 : -1),
  }),
  conv2d: ([, , groups], [, w], out) => convolution(out, w, groups),
  conv2d_grad_x: ([, , groups], [dy, w]) => convolution(dy, w, groups),
  conv2d_grad_w: ([, , groups], [, dy], out) => convolution(dy, out, groups),
  max_pool2d: window,
  max_pool2d_grad: window,
  avg_pool2d: window,
  avg_pool2d_grad: window,
  embedding_grad: (_, [, dy]) => ({ dy: product(dy) }),
  attention: heads,
  attention_grad: heads,
};

function graphOperations(graph, counts) {
  const values = graph.inputs.map(({ type }) => ({ dtype: NAMES[type.dtype], shape: type.shape }));
  let all = 0;
  for (const { op, values: attributes, inputs } of graph.nodes) {
    const { name } = ops[op],
      types = inputs.map((value) => values[value]),
      outputs = infer(name, attributes, types),
      shapes = types.map(({ shape }) => shape),
      [{ shape }] = outputs;
    values.push(...outputs);
    const own = LETTERS[name]?.(attributes, shapes, shape) ?? {};
    all += counts[name]({ first: product(shapes[0] ?? []), out: product(shape), inputs: inputs.length, ...own });
  }
  return all;
}

const [, , page, file] = process.argv,
  counts = countsOf(fs.readFileSync(page, "utf8")),
  { micro, update, microbatches } = openProgram(fs.readFileSync(file));
console.log(graphOperations(micro, counts) * microbatches + graphOperations(update, counts));
