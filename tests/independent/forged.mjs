#!/usr/bin/env node
// node forged.mjs EVIDENCE KEY FOLDER: evidence that somebody makes up who holds the key of party 1, in files NAME.evidence: receipts and signatures that readers of
// JSON or of curves could take for good or not, and charges that rest on them. Two judges have to come to the same about each.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { blob, list, Reader, sha256, string, u32, u64 } from "./judge/formats.mjs";

const [file, keyFile, folder] = process.argv.slice(2);
const type = "application/vnd.in-toto+json";

// The parts of the evidence up to its parties (evidence.md).
const r = new Reader(fs.readFileSync(file), "evidence");
const tag = r.string(),
  job = r.blob(),
  program = r.blob(),
  referee = r.take(32),
  nonce = r.take(32);
r.flag();
const receipts = r.list(() => ({ receipt: r.string(), number: r.u32(), unsigned: r.flag() })).map(({ receipt }) => receipt);

// The key of party 1 (log.md, "Keys").
const [, , name, , ...data] = fs.readFileSync(keyFile, "latin1").trim().split("+"),
  seed = Buffer.from(data.join("+"), "base64").subarray(1);
const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
const secret = crypto.createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
const textOf = (label, bytes) => {
  const key = Buffer.concat([Buffer.of(1), bytes]),
    id = `${label}+${sha256(`${label}\n`, key).subarray(0, 4).toString("hex")}`;
  return { id, text: `${id}+${key.toString("base64")}` };
};
const own = {
  ...textOf(name, crypto.createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-32)),
  sign: (message) => crypto.sign(null, message, secret),
};
// The neutral point: a key of order 1, under which this signature is good for every message, by the equation alone.
const neutral = Buffer.from(`01${"00".repeat(31)}`, "hex");
const nobody = { ...textOf("nobody", neutral), sign: () => Buffer.concat([neutral, Buffer.alloc(32)]) };
// A signature of the key whose R is the neutral point: S = k·a (RFC 8032).
const withoutR = {
  ...own,
  sign: (message) => {
    const number = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`),
      hash = (...parts) => parts.reduce((h, part) => h.update(part), crypto.createHash("sha512")).digest();
    const order = 2n ** 252n + 27742317777372353535851937790883648493n,
      point = Buffer.from(own.text.split("+").slice(2).join("+"), "base64").subarray(1),
      a = (number(hash(seed).subarray(0, 32)) & (2n ** 254n - 8n)) | (2n ** 254n);
    const s = (number(hash(neutral, point, message)) * a) % order;
    return Buffer.concat([neutral, Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse()]);
  },
};

const statementOf = (receipt) => Buffer.from(/"payload":"([^"]*)"/.exec(receipt)[1], "base64").toString("latin1");
function receiptOf(statement, key, sign = key.sign) {
  const payload = Buffer.from(statement, "latin1"),
    message = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
  return `{"payload":"${payload.toString("base64")}","payloadType":"${type}","signatures":[{"keyid":"${key.id}","sig":"${sign(message).toString("base64")}"}]}\n`;
}

// Two answers to one question, the first of the law, both signed by party 1: valid evidence if its receipt is a receipt, and its signatures are signatures.
const signed = statementOf(receipts[1]),
  last = Number(/"size":(\d+)/.exec(signed)[1]) - 1;
const question = Buffer.concat([
  string("assay/question/2"),
  Buffer.alloc(32),
  Buffer.of(3, 1),
  Buffer.alloc(16),
  list([0, last], (entry) => Buffer.concat([u64(entry), u64(entry + 1)])),
]);
function idOf(parties) {
  const hashes = [...parties].map((receipt) => sha256(Buffer.from(receipt, "latin1"))).sort(Buffer.compare);
  return sha256(string("assay/dispute/2"), sha256(u64(job.length), job, u64(program.length), program), referee, u32(hashes.length), ...hashes, nonce);
}
const finding = (strikes, cause) => Buffer.concat([Buffer.of(strikes, cause), Buffer.alloc(45)]);
function write(what, receipt, key, charge = Buffer.concat([Buffer.of(3), u32(1), u32(0), u32(1)])) {
  const parties = [receipts[0], receipt],
    asked = Buffer.from(question);
  idOf(parties).copy(asked, 4 + 16);
  const said = ["a", "b"].map((text) => {
    const body = Buffer.from(text),
      signature = key.sign(Buffer.concat([Buffer.from("assay/answer/2\n"), sha256(asked), sha256(body)]));
    return Buffer.concat([blob(question), blob(body), u32(1), u32(1), signature]);
  });
  const bytes = Buffer.concat([
    string(tag),
    blob(job),
    blob(program),
    referee,
    nonce,
    Buffer.of(0),
    list(parties, (text) => Buffer.concat([string(text), u32(parties.indexOf(text)), Buffer.of(0)])),
    u32(0),
    list(said, (statement) => statement),
    u32(1),
    charge,
  ]);
  fs.writeFileSync(path.join(folder, `${what}.evidence`), bytes);
}

const edit = (what, from, to) => {
  if (!from.test(signed)) throw new Error(`${what}: the receipt has nothing like ${from}`);
  write(what, receiptOf(signed.replace(from, () => to), own), own);
};
write("as-it-is", receipts[1], own);
const latin1 = (text) => Buffer.from(text).toString("latin1");
const origins = {
  quote: '\\"',
  backslash: "\\\\",
  escape: "\\u001b[2J",
  line: "a\\nb",
  half: "\\ud800",
  accent: latin1("é"),
  control: latin1("\u009b2J"),
  backwards: latin1("\u202ea"),
  separator: latin1("\u2028"),
  delete: "\x7f",
  space: "a b",
  empty: "",
  longest: "a".repeat(129),
  long: "a".repeat(130),
};
for (const [what, origin] of Object.entries(origins)) edit(`origin-${what}`, /"origin":"[^"]*"/, `"origin":"${origin}"`);
for (const number of ["4294967295", "4294967296", "9007199254740993", "-0", "1e3", "1.0", "true", '"4"'])
  edit(`snapshots-${number.replaceAll('"', "'")}`, /"snapshot_every":\d+/, `"snapshot_every":${number}`);
const followed = (signer, log) => `"follows":{"signer":"${signer}","log":"${log}"}`;
const follows = {
  somebody: followed(own.text, "0".repeat(64)),
  nobody: followed(nobody.text, "0".repeat(64)),
  junk: followed("junk", "0".repeat(64)),
  misnamed: followed(own.text.replace(/^[^+]*/, "x"), "0".repeat(64)),
  false: '"follows":false',
  zero: '"follows":0',
  text: '"follows":""',
  empty: '"follows":{}',
};
for (const [what, text] of Object.entries(follows)) edit(`follows-${what}`, /"follows":null/, text);
write("key-of-order-1", receiptOf(signed.replaceAll(own.text, nobody.text), nobody), nobody);
write("signature-of-order-1", receipts[1], withoutR);
// The law finds nothing of two claims that are one, whatever was signed for them.
const trial = (claims, strikes) => Buffer.concat([Buffer.of(1), ...claims.map(u32), list([0], u32), list([1], u32), u32(0), finding(strikes, 9), list([1], u32)]);
for (const strikes of [1, 2, 3]) write(`against-itself-${strikes}`, receipts[1], own, trial([1, 1], strikes));
