// node bits.mjs WASM ROOT [OP...]: the reference gives in WebAssembly the bits that it gives everywhere: those of docs/vectors, and the digests of tests/golden/ops.txt for
// every case of every op. Exit status 1 where one differs.
import fs from 'node:fs';
import path from 'node:path';

const [wasm, root] = process.argv.slice(2);
const { exports } = (await WebAssembly.instantiate(fs.readFileSync(wasm), {})).instance;
exports._initialize();
function taken(at) {
  const head = new DataView(exports.memory.buffer, at >>> 0, 8), length = head.getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, (at >>> 0) + 8, length));
  exports.assay_free(at);
  return text;
}
let wrong = 0, cases = 0;
function differ(what) {
  if (++wrong <= 10) console.log(what);
}

const vector = (name) => fs.readFileSync(path.join(root, 'docs/vectors', name), 'utf8');
const firstDifference = (a, b) => [...a.split('\n').entries()].find(([i, line]) => line !== b.split('\n')[i]);
for (const [which, name] of ['functions.json', 'ops.json', 'derivations.json'].entries()) {
  const mine = taken(exports.bits_vectors(which)), theirs = vector(name);
  if (mine !== theirs) differ(`${name}: ${firstDifference(mine, theirs)}`);
}
const rounded = taken(exports.bits_vectors(3));
if (rounded.length < 1000 || !vector('rounded.json').startsWith(`{\n${rounded},\n`)) differ(`rounded.json: ${firstDifference('{\n' + rounded, vector('rounded.json'))}`);

const golden = new Set(fs.readFileSync(path.join(root, 'tests/golden/ops.txt'), 'utf8').trimEnd().split('\n'));
for (let op = 0; op < exports.bits_ops(); ++op) {
  for (const line of taken(exports.bits_golden(op)).trimEnd().split('\n')) {
    ++cases;
    if (!golden.delete(line)) differ(`golden: ${line} is not in tests/golden/ops.txt`);
  }
}
for (const line of golden) differ(`golden: ${line} was not computed`);
console.log(`web: docs/vectors and ${cases} cases of ${exports.bits_ops()} ops in WebAssembly, ${wrong} differ`);
process.exitCode = wrong > 0 ? 1 : 0;
