// rounded.json: what a referee evaluates for the cases of ops.json, and what it makes of values by what logs say.
import crypto from "node:crypto";
import { bits64, double } from "../rounded/double_double.mjs";
import { rounded } from "../rounded/formulas.mjs";
import { bitsOf, canRoundTo, fromBits, Grid, judgeByDecision, judgeBySymbol } from "../rounded/grid.mjs";
import { findDecision, findSymbol } from "../rounded/log.mjs";
import { decoded } from "../judge/formats.mjs";
import { infer } from "../types.mjs";
import { attributes, elementsOf, typeOf } from "./read.mjs";
import { BEFORE_DIGITS } from "../types.mjs";

const digits = (x) => bits64(x).toString(16).padStart(16, "0");

function checkOp(entry, wanted, differs) {
  const values = attributes(entry.attributes),
    inputs = entry.in.map(elementsOf),
    inTypes = entry.in.map(({ type }) => typeOf(type)),
    outTypes = infer(entry.op, values, inTypes),
    element = rounded(entry.op, values, inTypes, outTypes, (input, i) => inputs[input][i]);
  wanted.out.forEach((output, k) => {
    if (output === null) return;
    const count = outTypes[k].shape.reduce((all, extent) => all * extent, 1),
      found = [...Array(count).keys()].map((i) => {
        const { y, v, e } = element(k, i);
        return v ? [v.hi, v.lo, e] : [y];
      }),
      bytes = Buffer.alloc(8 * found.flat().length);
    found.flat().forEach((x, i) => bytes.writeBigUInt64LE(bits64(x), 8 * i));
    const first = (found[0] ?? []).map(digits).join(" ");
    if (first !== output.first || crypto.createHash("sha256").update(bytes).digest("hex").slice(0, 32) !== output.digest)
      differs(`${entry.op}/${entry.case} output ${k} rounded: ${output.first}`, first);
  });
}

const letter = ({ lied, falseLog }) => (lied ? "l" : falseLog ? "f" : ".");
function checkJudged({ bits, x: parts, e: bound, values: written, judged }, differs) {
  const grid = new Grid(bits),
    [hi, lo] = parts.split(" ").map((text) => double(BigInt(`0x${text}`))),
    [x, e, tau] = [{ hi, lo }, double(BigInt(`0x${bound}`)), 0.25 * grid.spacing],
    values = written.split(" ").map((text) => fromBits(parseInt(text, 16))),
    [a, b] = values,
    place = (v, modulus) => ((grid.place(v) % 2 ** modulus) + 2 ** modulus) % 2 ** modulus,
    said = [
      undefined,
      { up: false },
      { up: true },
      { wide: true, modulus: 0, value: b },
      { wide: true, modulus: 4, residue: place(b, 4) },
      { wide: true, modulus: 1, residue: place(a, 1) },
    ],
    found = values.map((value) =>
      [
        canRoundTo(grid, x, 3 * e, value) ? "+" : "-",
        ...said.map((decision) => letter(judgeByDecision(grid, decision, x, e, value))),
        ...[0, 1, 2].map((symbol) => letter(judgeBySymbol(grid, symbol, tau, x, e, value))),
      ].join(""),
    );
  if (found.join(" ") !== judged) differs(`judged ${bits} ${parts} ${bound} ${written}: ${judged}`, found.join(" "));
}

function checkLog({ elements, log: hex, said }, differs) {
  for (const [byte, position, wanted] of said) {
    const log = Buffer.from(hex, "hex");
    if (byte !== null) log[byte] ^= 0x10;
    const found = decoded(() => ({ decision: findDecision(log.length, (begin, end) => log.subarray(begin, end), elements, position) })),
      { wide, up, modulus, residue, value } = found?.decision ?? {},
      text = !found
        ? "no log"
        : !found.decision
          ? "none"
          : !wide
            ? up
              ? "up"
              : "down"
            : modulus === 0
              ? bitsOf(value).toString(16).padStart(8, "0")
              : `${modulus} ${residue}`;
    if (text !== wanted) differs(`log with byte ${byte} altered, position ${position}: ${wanted}`, text);
  }
}

function checkSymbols({ elements, log: hex, said }, differs) {
  for (const [byte, position, wanted] of said) {
    const log = Buffer.from(hex, "hex");
    if (byte !== null) log[byte] ^= 0x10;
    const found = decoded(() => ({ symbol: findSymbol(log.length, (begin, end) => log.subarray(begin, end), elements, position) })),
      text = found ? String(found.symbol) : "no log";
    if (text !== wanted) differs(`symbols with byte ${byte} altered, position ${position}: ${wanted}`, text);
  }
}

// `all` are the entries of ops.json, in the same order; those with digits are of no rounded job.
export function checkRounded(vectors, differs, all) {
  const ops = all.filter(({ op, attributes }) => attributes.length <= (BEFORE_DIGITS[op] ?? Infinity));
  vectors.ops.forEach((wanted, i) => {
    if (ops[i]?.op !== wanted.op || ops[i]?.case !== wanted.case) differs(`${wanted.op}/${wanted.case}`, "another case in ops.json");
    else checkOp(ops[i], wanted, differs);
  });
  vectors.judged.forEach((entry) => checkJudged(entry, differs));
  vectors.logs.forEach((entry) => checkLog(entry, differs));
  vectors.symbols.forEach((entry) => checkSymbols(entry, differs));
  return vectors.ops.length + vectors.judged.length + vectors.logs.length + vectors.symbols.length;
}
