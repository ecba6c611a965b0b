#!/usr/bin/env node
// node agree.mjs ASSAY FOLDER: every evidence file of a folder judged by both judges. They come to the same: verdict, who falls and how, where,
// exit status. What the second one leaves unchecked is counted and printed; exit status 1 if they differ anywhere, or if nothing was judged.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { Failure } from "./judge/formats.mjs";
import { judge } from "./judge/judge.mjs";
import { verdictOf } from "./judge/verdict.mjs";

const [assay, folder] = process.argv.slice(2),
  places = ["cause", "step", "node", "index", "leaf", "element"],
  labels = (list) => list.map(({ label }) => label).join();

// What both have to say alike.
const summary = ({ verdict, job_id, convicts, convicted, accused, standing, misled, absent, ...rest }) => {
  const who = [convicted, accused, standing, misled, absent].map(labels);
  return [verdict, job_id, convicts, ...who, ...places.map((name) => rest[name])].join(" | ");
};

function ours(file) {
  try {
    const judged = judge(fs.readFileSync(file));
    return { status: judged.status, verdict: verdictOf(file, judged) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { status: 2, why: error.message };
  }
}

const unchecked = new Map();
let [count, different] = [0, 0];
for (const name of fs.readdirSync(folder).sort()) {
  const file = path.join(folder, name),
    theirs = spawnSync(assay, ["judge", file, "--json"], { encoding: "utf8" }),
    mine = ours(file);
  ++count;
  const why = mine.verdict?.unchecked[0] ?? mine.verdict?.open;
  if (why) unchecked.set(why, (unchecked.get(why) ?? 0) + 1);
  const said = theirs.status === 2 ? "" : summary(JSON.parse(theirs.stdout.trim().split("\n").at(-1)));
  if (theirs.status === mine.status && (mine.status === 2 || said === summary(mine.verdict))) continue;
  const found = mine.verdict ? summary(mine.verdict) : mine.why;
  if (++different <= 10) console.log(`${name}: assay ${theirs.status} ${said}${theirs.stderr}; here ${mine.status} ${found}`);
}
for (const [why, times] of unchecked) console.log(`unchecked: ${times}: ${why}`);
console.log(`independent: ${count} evidence files, ${different} judged differently`);
process.exitCode = different > 0 || count === 0 ? 1 : 0;
