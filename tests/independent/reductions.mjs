// Orders of reduction: docs/NUMERICS.md, section 2. Terms are told by functions of their index.
import { add, fma } from "./arithmetic.mjs";

export function chain(n, a, b, start = 0) {
  let sum = start;
  for (let k = 0; k < n; ++k) sum = fma(a(k), b(k), sum);
  return sum;
}

export function contract(n, a, b) {
  let total = 0;
  for (let begin = 0; begin < n; begin += 256) {
    const sum = chain(
      Math.min(256, n - begin),
      (k) => a(begin + k),
      (k) => b(begin + k),
    );
    total = begin === 0 ? sum : add(total, sum);
  }
  return total;
}

// Pieces of `size` terms by `piece(begin, end, step)`, then the pieces' sums by the same rule with plain additions.
function byPieces(n, size, piece, step) {
  let sums = [];
  for (let begin = 0; begin < n; begin += size) sums.push(piece(begin, Math.min(begin + size, n), step));
  while (sums.length > 1) {
    const terms = sums;
    sums = [];
    for (let begin = 0; begin < terms.length; begin += size)
      sums.push(piece(begin, Math.min(begin + size, terms.length), (sum, i) => add(sum, terms[i])));
  }
  return sums[0] ?? 0;
}
function rowPiece(begin, end, step) {
  const lanes = new Float32Array(32);
  for (let i = begin; i < end; ++i) lanes[(i - begin) % 32] = step(lanes[(i - begin) % 32], i);
  for (let half = 16; half > 0; half >>= 1) for (let l = 0; l < half; ++l) lanes[l] = add(lanes[l], lanes[l + half]);
  return lanes[0];
}
function columnBlock(begin, end, step) {
  let sum = 0;
  for (let i = begin; i < end; ++i) sum = step(sum, i);
  return sum;
}
export const rowsum = (n, x) => byPieces(n, 1024, rowPiece, (sum, i) => add(sum, x(i)));
export const rowdot = (n, x, y) => byPieces(n, 1024, rowPiece, (sum, i) => fma(x(i), y(i), sum));
export const rowsumsq = (n, x) => rowdot(n, x, x);
export const colsum = (n, x) => byPieces(n, 64, columnBlock, (sum, i) => add(sum, x(i)));
export const coldot = (n, x, y) => byPieces(n, 64, columnBlock, (sum, i) => fma(x(i), y(i), sum));
