// jobs.json: encodings of jobs and programs, and their ids.
import crypto from "node:crypto";
import { fileURLToPath } from "node:url";
import { JobPages, jobId } from "../jobs.mjs";
import { openJob, openProgram, ops, seedOf } from "../judge/formats.mjs";
import { infer } from "../types.mjs";

const DTYPES = [undefined, "f32", "i32", "u32", "i64", "f64", "u8", "u16"];
const docs = fileURLToPath(new URL("../../../docs", import.meta.url));

// The types of all values of a graph; a node that its op does not take has none.
function typesOf(graph) {
  const types = graph.inputs.map(({ type: { dtype, shape } }) => ({ dtype: DTYPES[dtype], shape }));
  for (const { op, values, inputs } of graph.nodes)
    types.push(
      ...(infer(
        ops[op].name,
        values,
        inputs.map((value) => types[value]),
      ) ?? [undefined]),
    );
  return types;
}

export function checkJobs(vectors, differs) {
  const pages = new JobPages(docs);
  let count = 0;
  const check = (what, found, wanted) => (++count, found === wanted || differs(what, found));
  for (const entry of vectors) {
    const title = entry.job.slice(0, 40),
      weights = entry.weights && Buffer.from(entry.weights, "hex"),
      encoding = pages.encode(entry.job, Buffer.from(entry.data_root, "hex"), weights);
    check(`encoding of ${title}`, encoding.toString("hex"), entry.encoding);
    const { data, fields } = openJob(encoding);
    check(`seed of ${title}`, BigInt(seedOf(data, fields)).toString(16).padStart(16, "0"), entry.seed);
    if (!entry.program) continue;
    const bytes = Buffer.from(entry.program, "hex");
    check(`id of ${title}`, jobId(encoding, bytes), entry.id);
    check(`program of ${title}`, crypto.createHash("sha256").update(bytes).digest("hex"), entry.program_sha256);
    const program = openProgram(bytes);
    for (const graph of [program.micro, program.update]) {
      const types = typesOf(graph);
      check(`types of ${title}`, types.includes(undefined), false);
      for (const { name, value } of graph.outputs) {
        const state = program.state.find((tensor) => name === `state/${tensor.name}` || name === `grad/${tensor.name}`);
        if (state) check(`${name} of ${title}`, types[value].shape.join(), state.shape.join());
      }
    }
  }
  return count;
}
