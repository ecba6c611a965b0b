// judge(bytes): what the evidence shows, decided here in the browser, without trusting whoever serves this page's data. The judge is the same code as `assay judge`,
// compiled to WebAssembly; it is used if the server has it. Answers with the object of `assay judge --explain --json`.
//
// This is the one place that knows how the module is called. It imports nothing, and exports its memory, assay_abi() = 1, assay_alloc(bytes),
// assay_judge(evidence, bytes, options, bytes), which gives the address of two 32-bit words, the exit status and the length of the JSON that follows them, and
// assay_last_words(), a text that ends with a zero byte: why it gave up, where it did.

const PLACE = '/judge.wasm';
const ABI = 1;

export class NoJudge extends Error {
  constructor() {
    super('this server has no judge for browsers; assay judge decides the same on your machine');
  }
}

let module = null;
async function load() {
  const answer = await fetch(PLACE, {cache: 'no-cache', credentials: 'omit'});
  if (!answer.ok) throw new NoJudge();
  return WebAssembly.compile(await answer.arrayBuffer());
}

function put(exports, bytes) {
  const at = exports.assay_alloc(bytes.length);
  if (at === 0) throw new Error('the evidence does not fit into the memory of a browser’s judge');
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  return at;
}

function lastWords(exports) {
  const memory = new Uint8Array(exports.memory.buffer);
  const at = exports.assay_last_words();
  return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
}

// Of an instance that is thrown away afterwards: nothing of one case is left for the next.
export function judgeBy(exports, evidence) {
  exports._initialize?.();
  if (exports.assay_abi() !== ABI) throw new Error('the judge that this server has is of another version than its page');
  const options = new TextEncoder().encode(JSON.stringify({name: 'evidence', explain: true}));
  const at = put(exports, evidence), told = put(exports, options);
  let reply;
  try {
    reply = exports.assay_judge(at, evidence.length, told, options.length) >>> 0;
  } catch (error) {
    throw new Error(`the judge gave up: ${lastWords(exports) || error.message}`);
  }
  const length = new DataView(exports.memory.buffer).getUint32(reply + 4, true);
  return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, reply + 8, length)));
}

export async function judge(evidence) {
  module ??= load().catch(error => {
    module = null;
    throw error;
  });
  const {exports} = await WebAssembly.instantiate(await module, {});
  return judgeBy(exports, evidence);
}
