// A job's encoding: docs/formats/job.md, whose table says which fields there are, in which order and of which type, and docs/JOBS.md for what a job
// file leaves out.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";

// The rows of the tables of a page that begin with a name in backquotes, as lists of cells.
const rowsOf = (page) =>
  page
    .split("\n")
    .filter((line) => /^\| `/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
const bare = (cell) => cell.replaceAll("`", "");

// A job file, as far as job files in vectors go: sections, and values that are JSON or an inline table.
export function parseToml(text) {
  const values = {};
  let section = "";
  for (const line of text.split("\n")) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [],
      [, key, value] = /^(\w+) = (.*)$/.exec(line) ?? [];
    if (name) section = `${name}.`;
    if (!key) continue;
    const table = /^\{ (.*) \}$/.exec(value);
    values[section + key] = table
      ? Object.fromEntries(table[1].split(", ").map((entry) => entry.split(" = ")).map(([op, number]) => [op, Number(number)]))
      : /^\d+$/.test(value)
        ? BigInt(value)
        : JSON.parse(value);
  }
  return values;
}

export class JobPages {
  constructor(docs) {
    const read = (name) => fs.readFileSync(path.join(docs, name), "utf8");
    this.fields = rowsOf(read("formats/job.md")).map(([key, type, when, range]) => ({
      key: bare(key),
      type: Number(type[0]),
      when: bare(when),
      rare: range?.includes("left out where"),
      usual: /left out where it is (\S+)/.exec(range ?? "")?.[1],
    }));
    this.defaults = rowsOf(read("JOBS.md"))
      .filter((cells) => cells.length === 6)
      .map(([key, kinds, , value]) => ({ key: bare(key), kinds: kinds === "all" ? undefined : kinds.split(", "), value }));
  }
  // A value that the file does not give.
  missing(values, key) {
    const kind = { "": "precision", batch: "model.kind" }[key.includes(".") ? key.split(".")[0] : ""] ?? `${key.split(".")[0]}.kind`;
    const { value } = this.defaults.find(
      (row) => row.key === key && (!row.kinds || row.kinds.includes(values[kind]) || row.kinds.includes(values.round_rule)),
    );
    return value === "none" ? undefined : value === "steps" ? values.steps : value === "empty" ? {} : /^-?\d+$/.test(value) ? BigInt(value) : JSON.parse(value);
  }
  encode(text, dataRoot, weights) {
    const values = parseToml(text),
      parts = [Buffer.from("assayjob"), u32(1), string("feistel-1"), dataRoot, Buffer.of(weights ? 1 : 0), weights ?? Buffer.alloc(0)];
    for (const { key, type, when, rare, usual } of this.fields) {
      const [, about, kinds] = /^(\S+) = (.*)$/.exec(when) ?? [];
      if (about && !kinds.split(", ").includes(values[about])) continue;
      const [, other] = /^there is no (\S+)$/.exec(when) ?? [];
      if (other && values[other] !== undefined) continue;
      values[key] ??= this.missing(values, key);
      if (usual !== undefined && Number(values[key]) === Number(JSON.parse(usual))) continue;
      if (rare && usual === undefined && Object.keys(values[key] ?? {}).length === 0 && typeof values[key] !== "bigint") continue;
      parts.push(string(key), Buffer.of(type), encoders[type](values[key]));
    }
    return Buffer.concat(parts);
  }
}
const fixed = (size, method) => (value) => {
  const bytes = Buffer.alloc(size);
  bytes[method](value);
  return bytes;
};
const u32 = fixed(4, "writeUInt32LE"),
  i64 = fixed(8, "writeBigInt64LE"),
  f32 = (value) => fixed(4, "writeFloatLE")(Number(value)),
  string = (text) => Buffer.concat([u32(Buffer.byteLength(text)), Buffer.from(text)]);
const encoders = {
  1: (value) => i64(BigInt(value)),
  2: f32,
  3: (value) => Buffer.of(value ? 1 : 0),
  4: string,
  5: (list) => Buffer.concat([i64(BigInt(list.length)), ...list.map((value) => i64(BigInt(value)))]),
  6: (table) => {
    const ops = Object.keys(table).sort();
    return Buffer.concat([i64(BigInt(ops.length)), ...ops.flatMap((op) => [string(op), f32(table[op])])]);
  },
};

export const jobId = (job, program) =>
  crypto
    .createHash("sha256")
    .update(Buffer.concat([i64(BigInt(job.length)), job, i64(BigInt(program.length)), program]))
    .digest("hex");
