#!/usr/bin/env node
// The vectors of docs/vectors recomputed by code that follows the pages.
//
//   node vectors.mjs FOLDER     one line for each file; exit status 1 if anything differs, with the first few differences
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { fromBits, sqrt } from "./arithmetic.mjs";
import { checkData } from "./vectors/data.mjs";
import { checkDerivations } from "./vectors/derivations.mjs";
import { checkDraws } from "./vectors/draws.mjs";
import { checkJobs } from "./vectors/jobs.mjs";
import { checkOps } from "./vectors/ops.mjs";
import { checkRounded } from "./vectors/rounded.mjs";
import * as functions from "./functions.mjs";
import { infer } from "./types.mjs";
import { attributes, bitsOf, typeOf } from "./vectors/read.mjs";

const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function checkFunctions(vectors, differs) {
  const all = { ...functions, sqrt };
  let count = 0;
  for (const [name, lines] of Object.entries(vectors))
    for (const line of lines) {
      const values = line.split(" "),
        wanted = values.pop(),
        found = bitsOf("f32", all[name](...values.map((text) => fromBits(parseInt(text, 16)))));
      ++count;
      if (found !== wanted) differs(`${name} ${line}`, found);
    }
  return count;
}

function checkTypes(vectors, differs) {
  for (const entry of vectors) {
    const found = infer(entry.op, attributes(entry.attributes), entry.in.map(typeOf)) ?? null;
    if (!equal(found, entry.out && entry.out.map(typeOf))) differs(JSON.stringify(entry), JSON.stringify(found));
  }
  return vectors.length;
}

const checks = {
  "functions.json": checkFunctions,
  "types.json": checkTypes,
  "ops.json": checkOps,
  "draws.json": checkDraws,
  "data.json": checkData,
  "jobs.json": checkJobs,
  "derivations.json": checkDerivations,
  "rounded.json": (vectors, differs) => checkRounded(vectors, differs, read("ops.json")),
};
const folder = process.argv[2],
  read = (file) => JSON.parse(fs.readFileSync(path.join(folder, file)));
for (const [file, check] of Object.entries(checks)) {
  const differences = [],
    count = check(read(file), (what, found) => differences.push(`${what.slice(0, 400)}: found ${found}`));
  console.log(`${file}: ${count} vectors, ${differences.length} differ`);
  for (const difference of differences.slice(0, 5)) console.log(`  ${difference}`);
  if (differences.length > 0) process.exitCode = 1;
}
