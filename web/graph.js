// The operator that the dispute ended at: what goes in, what it is, what comes out. Boxes are text that wraps; the lines between them are drawn over it.
import {h, s} from '/web/dom.js';

const typeOf = value => `${value.dtype} ${value.shape.length ? value.shape.join(' × ') : 'scalar'}`;

function lines(svg, box, from, to) {
  const frame = box.getBoundingClientRect();
  svg.setAttribute('viewBox', `0 0 ${frame.width} ${frame.height}`);
  svg.replaceChildren(...from.flatMap(a => to.map(b => {
    const one = a.getBoundingClientRect(), other = b.getBoundingClientRect();
    const wide = other.left >= one.right - 1;
    const x0 = (wide ? one.right : one.left + one.width / 2) - frame.left, y0 = (wide ? one.top + one.height / 2 : one.bottom) - frame.top;
    const x1 = (wide ? other.left : other.left + other.width / 2) - frame.left, y1 = (wide ? other.top + other.height / 2 : other.top) - frame.top;
    const bend = wide ? `C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1} ${y1}` : `C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1}`;
    const bad = a.classList.contains('differs') || b.classList.contains('differs');
    return s('path', {class: bad ? 'edge differs' : 'edge', d: `M${x0} ${y0} ${bend}`});
  })));
}

export function drawGraph(told) {
  const {graph, finding} = told;
  const inputBad = i => finding.cause === 'input' && finding.index === i;
  const outputBad = i => finding.cause === 'output' && finding.index === i;
  const mark = bad => (bad ? h('span', {class: 'flag'}, '≠ they differ here') : null);
  const inputs = graph.inputs.map((value, i) => h('li', {class: `box${inputBad(i) ? ' differs' : ''}`}, h('b', {}, value.node === null ? value.what : `node ${value.node}`),
    value.node === null ? null : h('span', {}, value.node_name), h('span', {class: 'dim'}, typeOf(value)), mark(inputBad(i))));
  // Both agree on what the node gave; what one of them made of it is something else.
  const after = finding.cause === 'result' ? [h('li', {class: 'box differs'}, h('b', {}, 'what came of the step'), mark(true))] : [];
  const op = h('div', {class: finding.cause === 'structure' ? 'box op differs' : 'box op'}, h('span', {class: 'dim'}, `node ${graph.node} of ${told.nodes}`), h('b', {}, graph.op), h('span', {}, graph.name));
  const outputs = graph.outputs.map((value, i) => h('li', {class: `box${outputBad(i) ? ' differs' : ''}`}, h('b', {}, graph.outputs.length > 1 ? `output ${i}` : 'output'),
    h('span', {class: 'dim'}, typeOf(value)), mark(outputBad(i))));
  const over = s('svg', {class: 'edges', 'aria-hidden': 'true'});
  const box = h('div', {class: 'graph'}, h('ul', {class: 'side-in', 'aria-label': 'Inputs'}, inputs), op, h('ul', {class: 'side-out', 'aria-label': 'Outputs'}, outputs, after), over);
  new ResizeObserver(() => {
    lines(over, box, inputs, [op]);
    const more = [...over.children];
    lines(over, box, [op], [...outputs, ...after]);
    over.prepend(...more);
  }).observe(box);
  return box;
}
