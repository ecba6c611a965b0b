#!/usr/bin/env node
// node edited.mjs EVIDENCE...: with any byte of the job or its program changed, evidence is none, and the judge says so instead of dying of what it reads. Every byte is
// changed in three ways, of long encodings every few bytes.
import fs from "node:fs";
import process from "node:process";
import { Failure } from "./judge/formats.mjs";
import { judge } from "./judge/judge.mjs";

const MOST = 1000; // places in each file

// Where the encodings of job and program lie: a string (u32 length), then two blobs (u64 length).
function placesOf(bytes) {
  const job = 4 + bytes.readUInt32LE(0),
    program = job + 8 + Number(bytes.readBigUInt64LE(job)),
    end = program + 8 + Number(bytes.readBigUInt64LE(program)),
    stride = Math.ceil((end - job) / MOST);
  return Array.from({ length: Math.ceil((end - job) / stride) }, (_, i) => job + i * stride);
}

let [count, wrong] = [0, 0];
for (const file of process.argv.slice(2)) {
  const bytes = fs.readFileSync(file);
  for (const at of placesOf(bytes)) {
    for (const bit of [0x01, 0x08, 0x80]) {
      const edited = Buffer.from(bytes);
      edited[at] ^= bit;
      ++count;
      let found = "it is judged";
      try {
        judge(edited);
      } catch (error) {
        if (error instanceof Failure) continue;
        found = error.stack;
      }
      if (++wrong <= 3) console.log(`${file}, byte ${at} ^ ${bit}: ${found}`);
    }
  }
}
console.log(`independent: ${count} edits of jobs and programs, ${wrong} not refused`);
process.exitCode = wrong > 0 || count === 0 ? 1 : 0;
