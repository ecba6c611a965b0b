// judge-node.mjs EVIDENCE... [--wasm FILE] [--job ID] [--signer KEY]... [--name NAME] [--cost]: judges evidence as `assay judge --explain --json` does, in
// WebAssembly, prints the same JSON, and ends with the same exit status (of several files: the greatest).
import { readFileSync } from 'node:fs';
import { loadJudge } from '../../web/judge.js';

const files = [], options = {}, signers = [];
let wasm = new URL('../../build/web/judge.wasm', import.meta.url), cost = false;
for (let i = 2; i < process.argv.length; ++i) {
  const word = process.argv[i], value = () => process.argv[++i];
  if (word === '--wasm') wasm = value();
  else if (word === '--job') options.job = value();
  else if (word === '--name') options.name = value();
  else if (word === '--signer') signers.push(value());
  else if (word === '--cost') cost = true;
  else files.push(word);
}
if (files.length === 0) {
  console.error('usage: judge-node.mjs EVIDENCE... [--wasm FILE] [--job ID] [--signer KEY]... [--name NAME] [--cost]');
  process.exit(2);
}
if (signers.length > 0) options.signers = signers;
const judge = await loadJudge(readFileSync(wasm));
let worst = 0;
for (const file of files) {
  const began = process.hrtime.bigint();
  try {
    const { status, json, verdict, memory } = await judge(readFileSync(file), { name: file, ...options });
    if (status === 2) console.error(`assay: ${verdict.error}`);
    else console.log(json);
    if (cost) console.error(`cost: ${Number(process.hrtime.bigint() - began) / 1e6} ms, ${memory / 2 ** 20} MiB of the module's memory, ${process.memoryUsage().rss >> 20} MiB of Node's`);
    worst = Math.max(worst, status);
  } catch (error) {
    console.error(`assay: ${file}: ${error.message}`);
    worst = Math.max(worst, 2);
  }
}
process.exit(worst);
