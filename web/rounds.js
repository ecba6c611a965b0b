// The narrowing interval: a row for each round, a bar for what was left of it, and between rows the part that the next one looks into. What it narrows changes on
// the way (steps, nodes, blocks); a new kind begins at full width again.
import {h, s, table} from '/web/dom.js';
import {number} from '/web/words.js';

const KINDS = {steps: 'steps', nodes: 'nodes of the step', tensors: 'tensors of the state', blocks: 'blocks of the tensor', samples: 'samples of the batch', value: 'parts of the value'};

// Rounds that narrow the same thing to the same interval are told as one.
export function joined(told) {
  const rows = [];
  for (const round of told.rounds) {
    const before = rows.at(-1);
    const same = before && before.about === round.about && before.begin === round.begin && before.end === round.end && before.of === round.of;
    if (same) {
      before.rounds += 1;
      before.asked.push(...round.asked);
    } else {
      rows.push({...round, asked: [...round.asked], rounds: 1});
    }
  }
  // A look back at something larger, to open what is agreed, is no narrowing.
  const kept = [];
  for (const row of rows) {
    const last = kept.findLast(one => one.about === row.about);
    if (last && (row.end - row.begin > last.end - last.begin || last.end - last.begin <= 1)) continue;
    if (kept.length && (rank(row.about) < rank(kept.at(-1).about) || (row.of === 1 && row.about !== 'steps'))) continue;
    kept.push(row);
  }
  return kept;
}
const rank = about => ['steps', 'tensors', 'nodes', 'samples', 'blocks', 'value'].indexOf(about);

function intervalWords(row) {
  if (row.about === 'value') return 'parts of one value';
  if (row.about === 'samples') return 'samples of the batch';
  if (row.about === 'steps') return row.end - row.begin <= 1 ? `step ${number(row.end)}` : `${number(row.begin)} to ${number(row.end)}`;
  const what = {nodes: 'node', tensors: 'tensor', blocks: 'block'}[row.about];
  return row.end - row.begin <= 1 ? `${what} ${number(row.begin)}` : `${number(row.begin)} to ${number(row.end - 1)}`;
}

function picture(rows, told, width) {
  const narrow = width < 560;
  const left = narrow ? 8 : 168, right = narrow ? 8 : 150, bar = 16, gap = 26, label = narrow ? 18 : 0;
  const pitch = bar + gap + label, height = rows.length * pitch - gap + 10;
  const inner = Math.max(60, width - left - right);
  const drawing = s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `The interval narrows in ${rows.length} stages: ${rows.map(row => `${KINDS[row.about]}: ${intervalWords(row)}`).join('; ')}.`});
  let before = null;
  rows.forEach((row, i) => {
    const y = 4 + label + i * pitch;
    const of = row.of || 1;
    const at = x => left + Math.min(1, x / of) * inner;
    let x0 = at(row.begin), x1 = at(row.end);
    if (row.about === 'value' || row.about === 'samples') [x0, x1] = [left, left + inner];
    if (x1 - x0 < 4) {
      const middle = Math.min(left + inner - 2, Math.max(left + 2, (x0 + x1) / 2));
      [x0, x1] = [middle - 2, middle + 2];
    }
    const fresh = !before || before.about !== row.about;
    // From the last bar to this one, or to the whole width where something new begins.
    if (before) {
      const [a, b] = fresh ? [left, left + inner] : [x0, x1];
      drawing.append(s('path', {class: fresh ? 'zoom' : 'funnel', d: `M${before.x0} ${before.y + bar} L${before.x1} ${before.y + bar} L${b} ${y} L${a} ${y} Z`}));
    }
    drawing.append(s('rect', {class: 'track', x: left, y, width: inner, height: bar, rx: 3}), s('rect', {class: 'left', x: x0, y, width: x1 - x0, height: bar, rx: 2}));
    const size = row.about === 'value' || row.about === 'samples' ? '' : ` (${number(row.of)})`;
    if (narrow) {
      drawing.append(s('text', {x: left, y: y - 5, class: 'label'}, `${fresh ? KINDS[row.about] + size : ''}`),
        s('text', {x: left + inner, y: y - 5, class: 'label strong', 'text-anchor': 'end'}, intervalWords(row)));
    } else {
      drawing.append(s('text', {x: left - 12, y: y + 12, class: 'label', 'text-anchor': 'end'}, fresh ? KINDS[row.about] + size : ''),
        s('text', {x: left + inner + 12, y: y + 12, class: 'label strong'}, intervalWords(row)));
    }
    before = {about: row.about, x0, x1, y};
  });
  return drawing;
}

export function drawRounds(told) {
  const rows = joined(told);
  const box = h('div', {class: 'rounds'});
  const figure = h('figure', {}, box, h('figcaption', {class: 'hidden'}, 'The interval of each round'),
    h('details', {}, h('summary', {}, `All ${told.rounds.length}${told.shortened ? ' and more' : ''} rounds as a table`),
      table('Rounds of the dispute', [{name: 'Round', class: 'number'}, 'What was left', 'What was asked'],
        told.rounds.map((round, i) => [String(i + 1), `${round.phase}: ${round.interval}`, round.asked.map(text => h('div', {}, text))]))));
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== drawn) {
      drawn = width;
      box.replaceChildren(picture(rows, told, width));
    }
  }).observe(box);
  return figure;
}
