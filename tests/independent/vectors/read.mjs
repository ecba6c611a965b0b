// How vectors are written down: docs/vectors/README.md.
import { fromBits, unsignedBits } from "../arithmetic.mjs";
import { philox } from "../random.mjs";

const WIDTHS = { f32: 4, i32: 4, u32: 4, i64: 8, f64: 8, u8: 1, u16: 2 };

// "f32[2, 3]"
export function typeOf(text) {
  const [, dtype, extents] = /^([a-z0-9]+)\[(.*)\]$/.exec(text);
  return { dtype, shape: extents === "" ? [] : extents.split(", ").map(Number) };
}
export const attributes = (list) => list.map((value) => (value?.bits ? fromBits(parseInt(value.bits, 16)) : value));

// An element from and to its hex digits.
export function element(dtype, digits) {
  if (dtype === "f32") return fromBits(parseInt(digits, 16));
  const number = BigInt(`0x${digits}`);
  return Number(dtype.startsWith("i") ? BigInt.asIntN(8 * WIDTHS[dtype], number) : number);
}
export function bitsOf(dtype, value) {
  if (dtype === "f32") return value !== value ? "7fc00000" : unsignedBits(value).toString(16).padStart(8, "0");
  const bits = 8 * WIDTHS[dtype];
  return BigInt.asUintN(bits, BigInt(value)).toString(16).padStart(bits / 4, "0");
}
// Elements as they lie in memory.
export function bytesOf(dtype, values) {
  const bytes = Buffer.alloc(values.length * WIDTHS[dtype]);
  values.forEach((value, i) => Buffer.from(bitsOf(dtype, value), "hex").reverse().copy(bytes, i * WIDTHS[dtype]));
  return bytes;
}

// Drawn inputs.
const KEY = [0x61737361, 0x79];
const plain = (stream, i) => philox(KEY, [Math.floor(i / 4), stream, 0, 0])[i % 4];
function normal(stream, i) {
  const sum = philox(KEY, [i, stream, 1, 0]).reduce((all, word) => all + (word & 0xffff) + (word >>> 16), 0);
  return Math.fround((sum - 262140) * 2 ** -16 * Math.fround(1.2247449));
}
const SPECIAL = [
  0, -0, Infinity, -Infinity, NaN, NaN, NaN, 2 ** -149, -(2 ** -149), 2 ** -126 - 2 ** -149, -(2 ** -126 - 2 ** -149), 2 ** -126, -(2 ** -126),
  (2 - 2 ** -23) * 2 ** 127, -(2 - 2 ** -23) * 2 ** 127, 1, -1, 88.7, -87.4, -103.9, 1e10, -1e10, 1e-20, 2 ** 24,
].map(Math.fround);
const draws = {
  normal,
  positive: (stream, i) => Math.fround(Math.fround(0.1) + Math.fround(Math.fround(1.9) * (plain(stream, i) >>> 8) * 2 ** -24)),
  special: (stream, i) => {
    const choice = plain((stream ^ 0x5bd1e995) >>> 0, i);
    return choice % 4 !== 0 ? normal(stream, i) : SPECIAL[Math.floor(choice / 4) % 24];
  },
  index: (stream, i, limit) => (limit === 0 ? 0 : plain(stream, i) % limit),
  target: (stream, i, limit) => {
    const word = plain(stream, i),
      odd = [-1, -2, limit, 2 ** 31 - 1, -(2 ** 31)];
    return word % 16 < 5 ? odd[word % 16] : limit === 0 ? 0 : Math.floor(word / 16) % limit;
  },
};
// Runs of 97 elements, each of one sort.
draws.runs = (stream, i) => {
  const run = Math.floor(i / 97),
    draw = plain((stream ^ 0x72756e73) >>> 0, run),
    chosen = i % 97 === (draw >>> 8) % 97,
    value = normal(stream, i);
  switch (draw % 12) {
    case 0: return chosen ? value : 0;
    case 1: return fromBits(plain(stream, i) & 0x807fffff);
    case 2: return chosen ? Math.fround(3e38) : value;
    case 3: return chosen ? Math.fround(-1e20) : value;
    case 4: return normal(stream, run);
    case 5: return Math.fround(value * Math.fround(1e30));
    case 6: return Math.fround(value * Math.fround(1e-30));
    case 7: return 0;
    case 8: return run % 4 !== 0 || !chosen ? value : [Infinity, -Infinity, NaN][Math.floor(run / 4) % 3];
    default: return value;
  }
};
draws.rng = (stream, i) => (i < 2 ? plain(stream, i) : plain(stream, i) % 100);
draws.step = (stream, i) => 1 + (plain(stream, i) % 1000);
// Element i of a drawn input.
export const drawn = ({ draw, stream, limit }, i) => draws[draw](stream, i, limit);

// The elements of an input or output that is written down or drawn.
export function elementsOf(entry) {
  const { dtype, shape } = typeOf(entry.type),
    count = shape.reduce((all, extent) => all * extent, 1);
  if (entry.bits !== undefined) return entry.bits === "" ? [] : entry.bits.split(" ").map((digits) => element(dtype, digits));
  return [...Array(count).keys()].map((i) => drawn(entry, i));
}
