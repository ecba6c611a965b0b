// transpose, slice, pad, concat: docs/formats/ops.md. Each output element is one input element, or zero.
import { product } from "../types.mjs";

function transpose(op, _, i) {
  const [perm] = op.values,
    from = op.in[0].shape,
    to = op.out[0].shape;
  let index = 0;
  for (let axis = 0; axis < to.length; ++axis) {
    const place = Math.floor(i / product(to.slice(axis + 1))) % to[axis];
    index += place * product(from.slice(perm[axis] + 1));
  }
  return op.at(0, index);
}

// The place of element i of the output: what lies before the axis, along it and behind it.
function placeOf(op, axis, i) {
  const to = op.out[0].shape,
    inner = product(to.slice(axis + 1));
  return { outer: Math.floor(i / (inner * to[axis])), along: Math.floor(i / inner) % to[axis], rest: i % inner, inner };
}
const read = (op, input, axis, { outer, rest, inner }, along) =>
  op.at(input, (outer * op.in[input].shape[axis] + along) * inner + rest);

function slice(op, _, i) {
  const [axis, begin] = op.values,
    place = placeOf(op, axis, i);
  return read(op, 0, axis, place, place.along + begin);
}
function pad(op, _, i) {
  const [axis, before] = op.values,
    place = placeOf(op, axis, i),
    along = place.along - before;
  return along >= 0 && along < op.in[0].shape[axis] ? read(op, 0, axis, place, along) : 0;
}
function concat(op, _, i) {
  const [axis] = op.values,
    place = placeOf(op, axis, i);
  let { along } = place,
    input = 0;
  while (along >= op.in[input].shape[axis]) along -= op.in[input++].shape[axis];
  return read(op, input, axis, place, along);
}

export default { transpose, slice, pad, concat };
