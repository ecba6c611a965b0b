// A browser's judge: assay judge as WebAssembly (docs/BROWSER_JUDGE.md). Works in browsers and in Node; imports nothing and asks nothing of the network.
//
//   const judge = await loadJudge(bytes);              // of judge.wasm; or a Response, or a promise of one
//   const {status, verdict} = await judge(evidence, {name, job, signers});
//
// `status` is the exit status of `assay judge`: 0 the evidence convicts whom it names, 1 it convicts nobody, 2 it is not valid evidence, 3 undecided. `verdict`
// is the object that `assay judge --explain --json` prints; with status 2 it is {error}. Each call has a fresh instance: nothing is left of the one before.

const ABI = 1;

export async function loadJudge(source) {
  source = await source;
  const bytes = typeof Response !== 'undefined' && source instanceof Response ? await source.arrayBuffer() : source;
  const module = await WebAssembly.compile(bytes);
  return async function judge(evidence, options = {}) {
    const { exports } = await WebAssembly.instantiate(module, {});
    exports._initialize();
    if (exports.assay_abi() !== ABI) throw new Error(`judge.wasm speaks version ${exports.assay_abi()}, expected ${ABI}`);
    try {
      const [evidenceAt, optionsBytes] = [put(exports, evidence), new TextEncoder().encode(JSON.stringify(options))];
      const reply = exports.assay_judge(evidenceAt, evidence.length, put(exports, optionsBytes), optionsBytes.length) >>> 0;
      const head = new DataView(exports.memory.buffer, reply, 8);
      const status = head.getUint32(0, true), text = new Uint8Array(exports.memory.buffer, reply + 8, head.getUint32(4, true));
      const json = new TextDecoder().decode(text);
      return { status, json, verdict: JSON.parse(json), memory: exports.memory.buffer.byteLength };
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      // A trap: the judge gave up. That says nothing about the evidence.
      throw new Error(`the judge gave up: ${lastWords(exports) || error.message}; assay judge decides it`);
    }
  };
}

function put(exports, bytes) {
  const at = exports.assay_alloc(bytes.length) >>> 0;
  if (at === 0) throw new Error(`the judge has no room for ${bytes.length} bytes`);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  return at;
}

function lastWords(exports) {
  const memory = new Uint8Array(exports.memory.buffer), begin = exports.assay_last_words() >>> 0;
  return new TextDecoder().decode(memory.subarray(begin, memory.indexOf(0, begin)));
}
