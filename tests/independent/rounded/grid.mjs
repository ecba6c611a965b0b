// The grid, decisions about it, and what a log makes of a value: docs/formats/close_calls.md.
import { bits64, double } from "./double_double.mjs";

const single = new Float32Array(1),
  pattern = new Uint32Array(single.buffer);
export const bitsOf = (x) => (x !== x ? 0x7fc00000 : ((single[0] = x), pattern[0]));
export const fromBits = (bits) => ((pattern[0] = bits), single[0]);
const same = (a, b) => bitsOf(a) === bitsOf(b),
  finite = Number.isFinite,
  clamp = (x, low, high) => (x < low ? low : x > high ? high : x);

export class Grid {
  constructor(bits) {
    this.dropped = BigInt(61 - bits); // mantissa bits of binary64 that a grid value does not have
    this.step = 2 ** (32 - bits); // of patterns of binary32
    this.least = 2 ** -126 * 2 ** -(bits - 9); // the spacing below 2^-126
  }
  // The nearest grid value, ties to even.
  round(y) {
    if (y !== y) return NaN;
    if (Math.abs(y) < 2 ** -126) {
      const quotient = y / this.least,
        floor = Math.floor(quotient),
        rest = quotient - floor,
        even = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
      return Math.fround((even === 0 && (y < 0 || Object.is(y, -0)) ? -0 : even) * this.least);
    }
    const bits = bits64(y),
      half = 1n << (this.dropped - 1n),
      rounded = bits + half - 1n + ((bits >> this.dropped) & 1n);
    return Math.fround(double((rounded >> this.dropped) << this.dropped));
  }
  // The distance of neighbours between 1 and 2.
  get spacing() {
    return this.least * 2 ** 126;
  }
  away = (r) => fromBits((bitsOf(r) & 0x7fffffff) + this.step);
  toward(r) {
    const magnitude = fromBits((bitsOf(r) & 0x7fffffff) - this.step);
    return r < 0 ? -magnitude : magnitude;
  }
  above = (r) => (r >= 0 ? this.away(r) : this.toward(r));
  below = (r) => (r > 0 ? this.toward(r) : -this.away(-r));
  // Places are counted from +0 = 0 upwards; −0 is −1.
  place(v) {
    const bits = bitsOf(v),
      magnitude = Math.floor((bits & 0x7fffffff) / this.step);
    return bits >>> 31 ? -1 - magnitude : magnitude;
  }
  at(place) {
    const magnitude = (place < 0 ? -1 - place : place) * this.step;
    if (magnitude > 0x7f800000) return NaN;
    return fromBits((magnitude | (place < 0 ? 0x80000000 : 0)) >>> 0);
  }
}

// Values in their order, −0 before +0.
const rank = (v) => (bitsOf(v) >>> 31 ? -1 - (bitsOf(v) & 0x7fffffff) : bitsOf(v));
const between = (low, value, high) =>
  value === value && low === low && high === high && rank(low) <= rank(value) && rank(value) <= rank(high);

// E·(1 + 2^-10); infinite where E is not a number.
export function reach(e) {
  const d = 2 * e * (1 + 2 ** -10);
  return (d !== d ? Infinity : d) / 2;
}
const valueOf = (x) => x.hi + 0; // −0 counts as +0

// Whether some evaluation within a reach of x rounds to the value.
export function canRoundTo(grid, x, e, value) {
  const y = valueOf(x);
  if (!finite(y)) return same(grid.round(y), value);
  if (!same(grid.round(value), value)) return false;
  const d = reach(e) + Math.abs(x.lo);
  return between(grid.round(y - d), value, grid.round(y + d));
}

// What who follows a decision with an evaluation y of its own takes.
function follow(grid, decision, y) {
  const here = grid.round(y);
  if (decision.wide && decision.modulus > 0) {
    const modulus = 2 ** decision.modulus,
      place = grid.place(here);
    let off = (((decision.residue - place) % modulus) + modulus) % modulus;
    if (off > modulus / 2) off -= modulus;
    return grid.at(place + off);
  }
  if (decision.wide) return decision.value;
  if (!finite(y) || !finite(here)) return here;
  const distance = y - here,
    [above, below] = [grid.above(here), grid.below(here)],
    up =
      here === 0
        ? !(y < 0 || Object.is(y, -0))
        : above / 2 - here / 2 - distance <= here / 2 - below / 2 + distance;
  const [low, high] = up ? [here, above] : [below, here];
  return decision.up ? high : low;
}
function canFollowTo(grid, decision, x, e, value) {
  const y = valueOf(x),
    d = reach(e) + Math.abs(x.lo);
  if (!finite(y) || value !== value) return false;
  const near = decision.wide ? value : value / 2 + (decision.up ? grid.below(value) : grid.above(value)) / 2,
    at = clamp(near, y - d, y + d);
  return same(follow(grid, decision, finite(at) ? at : y), value);
}
function mustDecide(grid, x, bound, value) {
  const y = valueOf(x),
    e = bound !== bound ? Infinity : bound;
  if (!finite(y) || !(e > 0)) return false;
  const d = Math.max(0, e - Math.abs(x.lo));
  return !same(grid.round(y), value) || !same(grid.round(y - d), grid.round(y + d));
}

// {lied, falseLog} of a value by the decision of its holder's log, or by none.
export function judgeByDecision(grid, decision, x, e, value) {
  const can = canRoundTo(grid, x, e, value);
  if (!decision) return { lied: !can, falseLog: can && mustDecide(grid, x, e, value) };
  const lied = !canFollowTo(grid, decision, x, e, value);
  return { lied, falseLog: !lied && !can };
}

// By the published rule, with symbols 0 (went down), 1 (not close), 2 (went up).

const powerBelow = (y) => double(bits64(y) & 0x7ff0000000000000n);
function symbolOf(grid, y, tau) {
  const r = grid.round(y);
  if (!(Math.abs(y - r) > powerBelow(y) * tau)) return 1;
  return y < r ? 2 : 0;
}
function followSymbol(grid, y, symbol) {
  const r = grid.round(y);
  if (!finite(r)) return r;
  if (y < r && symbol === 0) return grid.below(r);
  return y > r && symbol === 2 ? grid.above(r) : r;
}
export function judgeBySymbol(grid, symbol, tau, x, e, value) {
  const y = valueOf(x),
    d = reach(e),
    can = canRoundTo(grid, x, e, value);
  if (symbol === 1) {
    if (!can) return { lied: true, falseLog: false };
    const nearest = clamp(value, y - d, y + d),
      silent = !finite(y) || (same(grid.round(nearest), value) && symbolOf(grid, nearest, tau) === 1);
    return { lied: false, falseLog: !silent };
  }
  const boundary = value / 2 + (symbol === 2 ? grid.below(value) : grid.above(value)) / 2,
    at = clamp(boundary, y - d, y + d);
  if (!finite(y) || value !== value || !same(followSymbol(grid, finite(at) ? at : y, symbol), value))
    return { lied: true, falseLog: false };
  const open = !same(grid.round(y - d), grid.round(y + d)),
    has = open || [y, y - d, y + d].some((z) => symbolOf(grid, z, tau) === symbol);
  return { lied: false, falseLog: !(can && has) };
}
