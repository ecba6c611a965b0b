#!/usr/bin/env node
// A second judge: node judge.mjs EVIDENCE prints the verdict as `assay judge --json` does (docs/OUTPUT.md), without its words, and exits as it
// does (docs/EXIT_STATUS.md). `unchecked` says what it could not compute, `charges` what each charge came to.
import fs from "node:fs";
import process from "node:process";
import { Failure } from "./judge/formats.mjs";
import { judge } from "./judge/judge.mjs";
import { verdictOf } from "./judge/verdict.mjs";

function main(file) {
  try {
    const judged = judge(fs.readFileSync(file));
    console.log(JSON.stringify(verdictOf(file, judged)));
    return judged.status;
  } catch (error) {
    // What nobody foresaw judges nothing either: it must not be taken for evidence that convicts nobody (1).
    const foreseen = error instanceof Failure || error?.code !== undefined;
    console.error(`${file}: ${foreseen ? error.message : `cannot be judged: ${error?.stack ?? error}`}`);
    return 2;
  }
}
process.exitCode = process.argv.length === 3 ? main(process.argv[2]) : (console.error("usage: judge.mjs EVIDENCE"), 2);
