#!/usr/bin/env node
// Verifies a finished run directory with nothing but Node's standard library. Written from
// docs/formats/{run,log,receipt,state,telemetry}.md and docs/JOBS.md ("Identity") alone: it shares no code with Assay, so where both agree,
// the pages say enough and mean what they say.
//
//   node verify.mjs RUN KEY.pub [PROOF.json]     PROOF.json: what `assay log RUN --prove STEP --json` printed
//
// Checked: id, job.bin, program.bin and job.toml; the signed checkpoint; every entry and tile, the chain, the root, inclusion
// proofs of up to 50 entries; the receipt; every snapshot's tensors against the log; model.safetensors against both; the chain of telemetry.bin. Not checked:
// whether the training was done as the job says, which takes a replay (`assay audit`). Exit status 0, or 1 with one line that
// says what is wrong.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import {isSigned} from './ed25519.mjs';

class Failure extends Error {}
const need = (condition, message) => {
  if (!condition) throw new Failure(message);
};

// Hashes and trees are those of state.md.
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash('sha256')).digest();
const leafHash = (data) => sha256(Buffer.of(0), data);
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);
const hex = (bytes) => bytes.toString('hex');

function root(hashes) {
  if (hashes.length === 0) return sha256();
  if (hashes.length === 1) return hashes[0];
  let k = 1;
  while (2 * k < hashes.length) k *= 2;
  return nodeHash(root(hashes.slice(0, k)), root(hashes.slice(k)));
}

// The root that a path leads to (RFC 9162, section 2.1.3.2), or nothing where the path does not fit index and size.
function rootFromPath(leaf, index, size, hashes) {
  if (index >= size) return undefined;
  let [node, last, at] = [index, size - 1, leaf];
  for (const hash of hashes) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      at = nodeHash(hash, at);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      at = nodeHash(at, hash);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? at : undefined;
}

const readFile = (file) => {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    throw new Failure(`${file}: cannot read: ${error.code}`);
  }
};

// One text for each string of bytes: what the standard decoder takes beyond that is refused.
function base64(text, what) {
  const bytes = Buffer.from(text, 'base64');
  need(bytes.toString('base64') === text, `${what}: not canonical base64`);
  return bytes;
}

class Reader {
  constructor(bytes, what) {
    Object.assign(this, {bytes, what, at: 0});
  }
  take(count) {
    need(this.at + count <= this.bytes.length, `${this.what}: ends too early`);
    return this.bytes.subarray(this.at, (this.at += count));
  }
  u8() { return this.take(1)[0]; }
  u32() { return this.take(4).readUInt32LE(); }
  u64() { return this.take(8).readBigUInt64LE(); }
  string() { return this.take(this.u32()).toString('latin1'); }
  end() { need(this.at === this.bytes.length, `${this.what}: bytes after its end`); }
}

const u64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const string = (text) => {
  const bytes = Buffer.from(text, 'utf8'), length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};

// A public key as log.md has it.
class Key {
  constructor(text, what) {
    const match = /^([A-Za-z0-9._\/-]{1,64})\+([0-9a-f]{8})\+([A-Za-z0-9+\/=]+)$/.exec(text);
    need(match, `${what}: expected NAME+HASH+DATA`);
    const data = base64(match[3], what);
    need(data.length === 33 && data[0] === 1, `${what}: expected an Ed25519 key`);
    Object.assign(this, {text, name: match[1], id: `${match[1]}+${match[2]}`, hash: Buffer.from(match[2], 'hex')});
    need(sha256(`${this.name}\n`, data).subarray(0, 4).equals(this.hash), `${what}: hash and key do not fit`);
    this.key = data.subarray(1);
  }
  verifies(message, signature) {
    return isSigned(this.key, message, signature);
  }
}

// The checkpoint that a signed note says.
function openNote(note, key, what) {
  const text = note.toString('utf8');
  const match = /^(([!-~]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+\/=]{44})\n)\n((?:\u2014 [!-~]+ [A-Za-z0-9+\/=]+\n)+)$/.exec(text);
  need(match, `${what}: not a checkpoint of three lines, an empty line and signatures`);
  const own = match[5].trimEnd().split('\n').map((line) => line.split(' ')).filter(([, name]) => name === key.name)
                  .map(([, , data]) => base64(data, what)).filter((data) => data.subarray(0, 4).equals(key.hash));
  need(own.length === 1, `${what}: expected one signature of ${key.id}, found ${own.length}`);
  need(key.verifies(match[1], own[0].subarray(4)), `${what}: bad signature of ${key.id}`);
  return {origin: match[2], size: Number(match[3]), root: base64(match[4], what)};
}

// The file id: what is trained and who signs (run.md).
function openId(run) {
  const what = path.join(run, 'id');
  const text = readFile(what).toString('latin1');
  const names = ['job', 'trajectory', 'data', 'signer', 'job.toml', 'job.bin', 'program.bin', 'check'];
  const lines = text.split('\n');
  need(lines.length === names.length + 2 && lines[0] === 'assay/run/1' && lines.at(-1) === '', `${what}: not a run's id`);
  const id = {};
  names.forEach((name, i) => {
    need(lines[i + 1].startsWith(`${name} `), `${what}: expected a line '${name} ...'`);
    id[name] = lines[i + 1].slice(name.length + 1);
  });
  need(hex(sha256(text.slice(0, text.indexOf('check ')))) === id.check, `${what}: its check line does not fit`);
  for (const name of ['job.toml', 'job.bin', 'program.bin']) {
    need(hex(sha256(readFile(path.join(run, name)))) === id[name], `${path.join(run, name)}: is not the file that id names`);
  }
  return id;
}

// What job.bin says, and where each value stands (JOBS.md, "Identity").
function openJob(bytes, what) {
  const fields = {}, places = {};
  const reader = new Reader(bytes, what);
  need(reader.take(8).toString() === 'assayjob' && reader.u32() === 1 && reader.string() === 'feistel-1', `${what}: not a job`);
  const data = hex(reader.take(32));
  if (reader.u8() === 1) reader.take(32);
  while (reader.at < bytes.length) {
    const name = reader.string(), type = reader.u8();
    need(!(name in fields) && type >= 1 && type <= 5, `${what}: field ${name}`);
    places[name] = reader.at;
    fields[name] = [() => reader.u64(), () => reader.u32(), () => reader.u8(), () => reader.string(),
                    () => reader.take(8 * Number(reader.u64()))][type - 1]();
  }
  return {data, fields, places};
}

function checkJob(run, id) {
  const what = path.join(run, 'job.bin');
  const job = readFile(what), program = readFile(path.join(run, 'program.bin'));
  const idOf = (encoding) => hex(sha256(u64(encoding.length), encoding, u64(program.length), program));
  need(idOf(job) === id.job, `${what}: with program.bin it is not the job that id names`);
  const {data, fields, places} = openJob(job, what);
  need(data === id.data, `${what}: has another data root than id`);
  const without = Buffer.from(job);
  u64(0).copy(without, places.steps);
  need(idOf(without) === id.trajectory, `${what}: without its number of steps it is not the trajectory that id names`);
  return {steps: Number(fields.steps), commitEvery: Number(fields['commit.every'])};
}

function decodeEntry(bytes, what) {
  const reader = new Reader(bytes, what);
  need(reader.string() === 'assay/entry/1', `${what}: not an entry`);
  const entry = {step: Number(reader.u64()), stateRoot: reader.take(32), batchRoot: reader.take(32),
                 lossBits: reader.u32().toString(16).padStart(8, '0'), previous: reader.take(32), hash: leafHash(bytes)};
  reader.end();
  return entry;
}

function tilePath(level, index, width) {
  const groups = [String(index % 1000).padStart(3, '0')];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`);
  }
  return `tile/${level}/${groups.join('/')}${width < 256 ? `.p/${width}` : ''}`;
}

// The tiles of one level: for each its path and how many things it holds.
function* tiles(level, count) {
  for (let first = 0; first < count; first += 256) {
    const width = Math.min(256, count - first);
    yield {file: tilePath(level, first / 256, width), width};
  }
}

// All hashes that the tiles hold: levels[l][i] is the hash over the entries [i * 256^l, (i + 1) * 256^l).
function readTiles(log, size) {
  const levels = [];
  for (let count = size; count > 0; count = Math.floor(count / 256)) {
    const hashes = [];
    for (const {file, width} of tiles(levels.length, count)) {
      const bytes = readFile(path.join(log, file));
      need(bytes.length === 32 * width, `${file}: has ${bytes.length} bytes, expected ${32 * width}`);
      for (let i = 0; i < width; ++i) hashes.push(bytes.subarray(32 * i, 32 * i + 32));
    }
    if (levels.length > 0) {
      const below = levels.at(-1);
      hashes.forEach((hash, i) => need(root(below.slice(256 * i, 256 * i + 256)).equals(hash),
                                       `tile of level ${levels.length}: hash ${i} is not that of the tile below`));
    }
    levels.push(hashes);
  }
  return levels;
}

function readEntries(log, size, trajectory) {
  const entries = [];
  for (const {file, width} of tiles('entries', size)) {
    const bytes = readFile(path.join(log, file));
    let at = 0;
    for (let i = 0; i < width; ++i) {
      need(at + 2 <= bytes.length && at + 2 + bytes.readUInt16BE(at) <= bytes.length, `${file}: ends too early`);
      const entry = decodeEntry(bytes.subarray(at + 2, at += 2 + bytes.readUInt16BE(at)), `${file}: entry ${entries.length}`);
      const previous = entries.length === 0 ? trajectory : hex(entries.at(-1).hash);
      need(hex(entry.previous) === previous, `${file}: entry ${entries.length} does not follow from the one before it`);
      entries.push(entry);
    }
    need(at === bytes.length, `${file}: bytes after the last entry`);
  }
  return entries;
}

// The hash over [begin, end), a range that a tree of `size` has a node for, from as few hashes of the tiles as possible.
function nodeFromTiles(levels, begin, end) {
  let level = 0, unit = 1;
  while (level + 1 < levels.length && (end - begin) % (256 * unit) === 0) [level, unit] = [level + 1, 256 * unit];
  return root(levels[level].slice(begin / unit, Math.ceil(end / unit)));
}

// The inclusion proof of an entry, from the leaf up.
function prove(levels, index, size) {
  const descend = (begin, end) => {
    if (end - begin === 1) return [];
    let k = 1;
    while (2 * k < end - begin) k *= 2;
    const middle = begin + k;
    return index < middle ? [...descend(begin, middle), nodeFromTiles(levels, middle, end)]
                          : [...descend(middle, end), nodeFromTiles(levels, begin, middle)];
  };
  return descend(0, size);
}

const checkInclusion = (what, leaf, index, size, proof, expected) =>
    need(rootFromPath(leaf, index, size, proof)?.equals(expected),
         `${what}: the inclusion proof of entry ${index} does not lead to the root`);

function checkLog(run, key, id, job) {
  const log = path.join(run, 'log');
  const checkpoint = openNote(readFile(path.join(log, 'checkpoint')), key, path.join(log, 'checkpoint'));
  const origin = `${key.name}/${id.job}`;
  need(checkpoint.origin === origin, `${log}/checkpoint: is about ${checkpoint.origin}, expected ${origin}`);
  const entries = readEntries(log, checkpoint.size, id.trajectory);
  need(root(entries.map((entry) => entry.hash)).equals(checkpoint.root), `${log}: the entries' root is not the checkpoint's`);
  const levels = readTiles(log, checkpoint.size);
  entries.forEach((entry, i) => {
    need(levels[0][i].equals(entry.hash), `${log}: tile of level 0: hash ${i} is not that of the entry`);
    const step = Math.min(i * job.commitEvery, job.steps);
    need(entry.step === step, `${log}: entry ${i} is of step ${entry.step}, expected ${step}`);
  });
  for (let i = 0; i < checkpoint.size; i += Math.ceil(checkpoint.size / 50)) {
    checkInclusion(log, entries[i].hash, i, checkpoint.size, prove(levels, i, checkpoint.size), checkpoint.root);
  }
  need(entries.at(-1)?.step === job.steps && entries.at(-2)?.step !== job.steps, `${log}: does not end at step ${job.steps}`);
  need(hex(entries[0].batchRoot) === hex(sha256()) && entries[0].lossBits === '00000000', `${log}: entry 0 claims a batch`);
  return {checkpoint, entries};
}

// What `assay log RUN --prove STEP --json` printed: checked with the key alone, then against the log.
function checkProof(file, key, {checkpoint, entries}) {
  const proof = JSON.parse(readFile(file));
  const signed = openNote(Buffer.from(proof.checkpoint), key, file);
  need(signed.size === proof.size && hex(signed.root) === proof.root, `${file}: its checkpoint says another size or root`);
  const leaf = leafHash(Buffer.from(proof.entry, 'hex'));
  checkInclusion(file, leaf, proof.index, signed.size, proof.proof.map((hash) => Buffer.from(hash, 'hex')), signed.root);
  need(signed.origin === checkpoint.origin && entries[proof.index]?.hash.equals(leaf), `${file}: is of another log`);
}

// receipt.md
function checkReceipt(run, key, id, job, {checkpoint, entries}) {
  const what = path.join(run, 'receipt.json');
  const type = 'application/vnd.in-toto+json';
  const file = readFile(what).toString('latin1');
  const form = /^\{"payload":"([^"]*)","payloadType":"([^"]*)","signatures":\[\{"keyid":"([^"]*)","sig":"([^"]*)"\}\]\}\n$/;
  const match = form.exec(file);
  need(match && match[2] === type, `${what}: not a DSSE envelope of type ${type}`);
  need(match[3] === key.id, `${what}: signed by ${match[3]}, expected ${key.id}`);
  const payload = base64(match[1], what);
  const message = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
  need(key.verifies(message, base64(match[4], what)), `${what}: bad signature of ${key.id}`);
  const snapshotEvery = JSON.parse(payload).predicate?.snapshot_every;
  need(Number.isInteger(snapshotEvery) && snapshotEvery >= 0 && snapshotEvery < 2 ** 32, `${what}: snapshot_every: expected a number`);
  // Everything else that a receipt says is known by now, so that there is one text that it can be.
  const last = entries.at(-1), model = openSafetensors(path.join(run, 'model.safetensors'));
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{name: 'model.safetensors', digest: {sha256: hex(sha256(model.bytes))}}],
    predicateType: 'urn:assay:receipt:2',
    predicate: {
      job: id.job, trajectory: id.trajectory, program: id['program.bin'], data: id.data,
      steps: job.steps, commit_every: job.commitEvery, snapshot_every: snapshotEvery,
      log: {origin: checkpoint.origin, size: checkpoint.size, root: hex(checkpoint.root)},
      initial_state_root: hex(entries[0].stateRoot), final_state_root: hex(last.stateRoot), loss_bits: last.lossBits,
      weights: hex(tensorsRoot('assay/weights/1', model.tensors)), follows: null, signer: key.text,
    },
  };
  compare(JSON.parse(payload), statement, what);
  need(JSON.stringify(statement) === payload.toString('latin1'), `${what}: the statement is not in its one form`);
}

// Names the first place where a statement is not the expected one.
function compare(found, expected, where) {
  if (typeof expected !== 'object' || expected === null) {
    need(found === expected, `${where}: is ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    return;
  }
  for (const key of Object.keys(expected)) compare(found?.[key], expected[key], `${where}: ${key}`);
}

// The code of an element type in a state root, and its size.
const dtypes = {F32: [1, 4], I32: [2, 4], U32: [3, 4], I64: [4, 8], F64: [5, 8], U8: [6, 1], U16: [7, 2]};

function openSafetensors(file) {
  const bytes = readFile(file);
  const length = bytes.length < 8 ? Infinity : Number(bytes.readBigUInt64LE());
  need(8 + length <= bytes.length, `${file}: not a safetensors file`);
  const {__metadata__: metadata, ...header} = JSON.parse(bytes.subarray(8, 8 + length));
  const data = bytes.subarray(8 + length);
  const tensors = Object.entries(header).map(([name, {dtype, shape, data_offsets: [begin, end]}]) => {
    const elements = shape.reduce((product, extent) => product * extent, 1);
    need(dtype in dtypes && end - begin === elements * dtypes[dtype][1] && end <= data.length, `${file}: tensor ${name}`);
    return {name, dtype, shape, begin, end, data: data.subarray(begin, end)};
  });
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const {name, begin, end} of tensors) [, at] = [need(begin === at, `${file}: tensor ${name} overlaps or leaves a gap`), end];
  need(at === data.length, `${file}: bytes after the last tensor`);
  tensors.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return {bytes, metadata: metadata ?? {}, tensors};
}

function tensorRoot(data) {
  const leaves = [];
  for (let at = 0; at < data.length; at += 4096) leaves.push(leafHash(data.subarray(at, at + 4096)));
  return root(leaves);
}

const tensorsRoot = (tag, tensors) => root(tensors.map(({name, dtype, shape, data}) => leafHash(Buffer.concat([
  string(tag), string(name), Buffer.of(dtypes[dtype][0], shape.length), ...shape.map(u64), tensorRoot(data)]))));

function checkMetadata(file, metadata, expected) {
  const {'assay.check': check, ...rest} = metadata;
  const text = Object.keys(rest).sort().map((key) => `${key}=${rest[key]}\n`).join('');
  need(hex(sha256(text)) === check, `${file}: assay.check does not fit the metadata`);
  for (const [key, value] of Object.entries(expected)) {
    need(rest[`assay.${key}`] === value, `${file}: assay.${key} is ${rest[`assay.${key}`]}, expected ${value}`);
  }
}

// The signer answers for a snapshot itself, too: the log says nothing about the steps between its entries.
function checkSignature(file, key, {step, trajectory_id: trajectory, state_root: state}, metadata) {
  const message = Buffer.concat([Buffer.from('assay/snapshot-signature/1\n'), Buffer.from(trajectory, 'hex'), u64(step),
                                 Buffer.from(state, 'hex'), Buffer.from(metadata['assay.loss_bits'], 'hex').reverse()]);
  const signature = Buffer.from(metadata['assay.signature'] ?? '', 'hex');
  need(key.verifies(message, signature), `${file}: bad signature of ${key.id}`);
}

// Every snapshot; returns the last one's tensors.
function checkSnapshots(run, key, id, job, {entries}) {
  const folder = path.join(run, 'snapshots');
  const names = fs.readdirSync(folder).filter((name) => /^step-[0-9]{10}\.safetensors$/.test(name)).sort();
  let last;
  for (const name of names) {
    const file = path.join(folder, name), step = Number(name.slice(5, 15));
    const {metadata, tensors} = openSafetensors(file);
    const expected = {format: 'assay/snapshot/1', step: String(step), trajectory_id: id.trajectory,
                      state_root: hex(tensorsRoot('assay/state/1', tensors))};
    const entry = entries.find((candidate) => candidate.step === step);
    checkMetadata(file, metadata, expected);
    checkSignature(file, key, expected, metadata);
    if (entry) need(hex(entry.stateRoot) === expected.state_root, `${file}: its state root is not the log's of step ${step}`);
    if (entry && step > 0) checkMetadata(file, metadata, {loss_bits: entry.lossBits});
    if (step === job.steps) last = tensors;
  }
  need(last, `${folder}: has no snapshot of step ${job.steps}`);
  return {last, count: names.length};
}

// The receipt binds its bytes; what it holds must be what the last state holds.
function checkModel(run, id, job, {entries}, state) {
  const file = path.join(run, 'model.safetensors');
  const {metadata, tensors} = openSafetensors(file);
  checkMetadata(file, metadata, {format: 'assay/weights/1', step: String(job.steps), job_id: id.job, trajectory_id: id.trajectory,
                                 state_root: hex(entries.at(-1).stateRoot), loss_bits: entries.at(-1).lossBits});
  need(tensors.length > 0, `${file}: has no tensors`);
  for (const {name, dtype, data} of tensors) {
    const same = state.find((tensor) => tensor.name === name);
    need(same && same.dtype === dtype && same.data.equals(data), `${file}: tensor ${name} is not that of the last snapshot`);
  }
}

// Telemetry, where the run has it (telemetry.md): its chain, and the seals, the last of which is about the whole log.
function checkTelemetry(run, key, id, {entries, checkpoint}) {
  const file = path.join(run, 'telemetry.bin');
  if (!fs.existsSync(file)) return;
  const bytes = readFile(file), title = 'assay/telemetry/1\n';
  need(bytes.subarray(0, title.length).equals(Buffer.from(title)), `${file}: not telemetry`);
  let hash = sha256(title, Buffer.from(id.trajectory, 'hex'), `${key.text}\n`), count = 0n, seal;
  for (const records = new Reader(bytes.subarray(title.length), file); records.at < records.bytes.length; ++count) {
    const payload = records.take(records.u32()), fields = new Reader(payload, file);
    const kind = fields.u8();
    need(fields.u64() === count, `${file}: a record is not number ${count}`);
    seal = undefined;
    if (kind === 4) {
      fields.take(24);
      seal = {job: hex(fields.take(32)), size: fields.u64(), root: fields.take(32), final: fields.u8()};
      const signature = fields.take(64);
      fields.end();
      const message = Buffer.concat([Buffer.from('assay/telemetry-seal/1\n'), hash, payload.subarray(0, payload.length - 64)]);
      need(key.verifies(message, signature), `${file}: record ${count}: bad signature of ${key.id}`);
    }
    hash = sha256(hash, payload);
    need(records.take(32).equals(hash), `${file}: record ${count}: its hash does not fit`);
  }
  need(seal && seal.final === 1, `${file}: does not end with the seal of a finished run`);
  need(seal.job === id.job && seal.size === BigInt(entries.length) && seal.root.equals(checkpoint.root), `${file}: its last seal is not about the log`);
}

function main([run, keyFile, proofFile]) {
  need(run && keyFile, 'usage: verify.mjs RUN KEY.pub [PROOF.json]');
  const key = new Key(readFile(keyFile).toString('latin1').replace(/\n$/, ''), keyFile);
  const id = openId(run);
  need(id.signer === key.text, `${run}/id: names ${id.signer} as its signer, expected ${key.text}`);
  const job = checkJob(run, id);
  const log = checkLog(run, key, id, job);
  if (proofFile) checkProof(proofFile, key, log);
  checkReceipt(run, key, id, job, log);
  const {last, count} = checkSnapshots(run, key, id, job, log);
  checkModel(run, id, job, log, last);
  checkTelemetry(run, key, id, log);
  const counts = `${job.steps} steps, ${log.entries.length} entries, ${count} snapshots`;
  console.log(`${run}: verified: job ${id.job}, ${counts}, signed by ${key.id}`);
}

try {
  main(process.argv.slice(2));
} catch (error) {
  // JSON that does not parse, or a value of another kind where one was expected, is a bad file too, not a crash.
  console.error(`verify: ${error instanceof Failure ? error.message : `malformed: ${error.message}`}`);
  process.exit(1);
}
