// ops.json: every op's outputs from its inputs.
import crypto from "node:crypto";
import { evaluator, names } from "../ops/index.mjs";
import { infer } from "../types.mjs";
import { attributes, bitsOf, bytesOf, elementsOf, typeOf } from "./read.mjs";

export function checkOps(vectors, differs) {
  for (const entry of vectors) {
    const values = attributes(entry.attributes),
      inputs = entry.in.map(elementsOf),
      inTypes = entry.in.map(({ type }) => typeOf(type)),
      outTypes = infer(entry.op, values, inTypes),
      element = evaluator(entry.op, values, inTypes, outTypes, (input, i) => inputs[input][i]);
    entry.out.forEach(({ type, bits, sha256 }, output) => {
      const { dtype, shape } = outTypes[output],
        count = shape.reduce((all, extent) => all * extent, 1),
        found = [...Array(count).keys()].map((i) => element(output, i)),
        same =
          bits !== undefined
            ? bits === found.map((value) => bitsOf(dtype, value)).join(" ")
            : sha256 === crypto.createHash("sha256").update(bytesOf(dtype, found)).digest("hex");
      if (type !== `${dtype}[${shape.join(", ")}]`) differs(`${entry.op}/${entry.case} output ${output}`, JSON.stringify(outTypes[output]));
      if (!same) differs(`${entry.op}/${entry.case} output ${output}`, found.slice(0, 8).map((value) => bitsOf(dtype, value)));
    });
  }
  const seen = new Set(vectors.map(({ op }) => op));
  for (const name of names) if (!seen.has(name)) differs(name, "no vector");
  return vectors.length;
}
