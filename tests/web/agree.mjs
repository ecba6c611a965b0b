// node agree.mjs ASSAY WASM FOLDER: every evidence file of a folder, and copies of some with a byte altered, judged by `assay judge --explain --json` and by the
// judge of browsers. Both say the same to the byte and end alike. Exit status 1 if they differ anywhere, or if nothing was judged.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { loadJudge } from '../../web/judge.js';

const [assay, wasm, folder] = process.argv.slice(2);
const judge = await loadJudge(fs.readFileSync(wasm));
let count = 0, different = 0, refused = 0, slowest = 0, most = 0;

async function compare(file, what) {
  const bytes = fs.readFileSync(file), theirs = spawnSync(assay, ['judge', file, '--explain', '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 });
  let mine;
  const began = performance.now();
  try {
    mine = await judge(bytes, { name: file });
  } catch (error) {
    mine = { status: -1, json: error.message, memory: 0 };
  }
  slowest = Math.max(slowest, performance.now() - began);
  most = Math.max(most, mine.memory);
  ++count;
  if (mine.status === 2) ++refused;
  const said = mine.status === 2 ? mine.verdict.error : mine.json, heard = theirs.status === 2 ? theirs.stderr.replace(/^assay: /, '') : theirs.stdout;
  if (mine.status === theirs.status && said === heard.trimEnd()) return;
  if (++different <= 10) console.log(`${what}: assay ${theirs.status} ${heard.trimEnd().slice(0, 400)}\n  here ${mine.status} ${said.slice(0, 400)}`);
}

const names = fs.readdirSync(folder).sort();
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'altered-')), altered = path.join(scratch, 'altered.evidence');
for (const [i, name] of names.entries()) {
  const file = path.join(folder, name);
  await compare(file, name);
  if (i % Math.ceil(names.length / 40) !== 0) continue;
  const bytes = fs.readFileSync(file);
  for (const part of [0, 1, 5, 9, 13, 15.99]) {
    const copy = Buffer.from(bytes);
    copy[Math.floor((bytes.length * part) / 16)] ^= 0x41;
    fs.writeFileSync(altered, copy);
    await compare(altered, `${name}, altered at ${part}/16`);
  }
  fs.writeFileSync(altered, bytes.subarray(0, bytes.length - 1));
  await compare(altered, `${name}, cut short`);
}
fs.rmSync(scratch, { recursive: true });
console.log(`web: ${count} evidence files, ${refused} of them refused, ${different} judged differently; the slowest took ${Math.ceil(slowest)} ms, the largest ${most / 2 ** 20} MiB`);
process.exitCode = different > 0 || count === 0 || refused === 0 ? 1 : 0;
