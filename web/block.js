// Two blocks of numbers side by side, with every bit that differs marked: a map of the whole block, and the numbers around the element that decided.
import {h, replace, s} from '/web/dom.js';
import {number, plural} from '/web/words.js';

const SIZES = {f32: 4, i32: 4, u32: 4, i64: 8, f64: 8, u8: 1, u16: 2};
const READ = {f32: (v, i) => v.getFloat32(i, true), f64: (v, i) => v.getFloat64(i, true), i32: (v, i) => v.getInt32(i, true), u32: (v, i) => v.getUint32(i, true),
  i64: (v, i) => v.getBigInt64(i, true), u8: (v, i) => v.getUint8(i), u16: (v, i) => v.getUint16(i, true)};
// Where sign, exponent and fraction of a floating-point number begin.
const GROUPS = {f32: [1, 9], f64: [1, 12]};
const AROUND = 4;

function viewOf(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  return new DataView(bytes.buffer);
}
const bitsOf = (view, at, size) => Array.from({length: size}, (_, i) => view.getUint8(at + size - 1 - i).toString(2).padStart(8, '0')).join('');

function textOf(dtype, value) {
  if (typeof value === 'bigint') return value.toString();
  if (dtype !== 'f32') return String(value);
  // As many digits as tell one binary32 from the next.
  for (let digits = 6; digits <= 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

// The bits of one number; those that are not `other`'s are marked, for the eye by shape as well as by colour.
function bitsElement(bits, other, dtype) {
  const breaks = GROUPS[dtype] ?? [];
  const groups = [];
  let from = 0;
  for (const end of [...breaks, bits.length]) {
    groups.push([from, end]);
    from = end;
  }
  return h('span', {class: 'bits', role: 'img', 'aria-label': `bits ${bits}`}, groups.map(([begin, end]) => h('span', {class: 'group', 'aria-hidden': 'true'},
    Array.from(bits.slice(begin, end), (bit, i) => (other !== null && other[begin + i] !== bit ? h('mark', {}, bit) : bit)))));
}

// A value that was computed again, "1.5 (0x3fc00000)".
function bitsOfText(text, size) {
  const found = /0x([0-9a-f]+)/.exec(text ?? '');
  return found ? Array.from(found[1].padStart(size * 2, '0'), digit => parseInt(digit, 16).toString(2).padStart(4, '0')).join('') : null;
}

function sideLabel(side, name) {
  return h('span', {class: 'who'}, h('span', {class: `side side-${side}`, 'aria-hidden': 'true'}, 'AB'[side]), ' ', name);
}

function valuesOnly(told, names) {
  const {said, truth} = told.finding;
  return h('dl', {class: 'facts values'}, [0, 1].map(i => [h('dt', {}, sideLabel(i, names[i])), h('dd', {}, h('code', {}, said[i] || '–'))]),
    h('dt', {}, 'Computed again'), h('dd', {}, h('code', {}, truth)));
}

class Block {
  constructor(told, names) {
    this.told = told;
    this.names = names;
    this.dtype = told.block.dtype;
    this.size = SIZES[this.dtype] ?? 1;
    this.views = told.block.bytes.map(viewOf);
    this.count = Math.floor(Math.min(...this.views.map(view => view.byteLength)) / this.size);
    this.differing = [];
    for (let i = 0; i < this.count; i += 1) {
      if (bitsOf(this.views[0], i * this.size, this.size) !== bitsOf(this.views[1], i * this.size, this.size)) this.differing.push(i);
    }
    const decided = told.finding?.element === null || told.finding?.element === undefined ? -1 : told.finding.element - told.block.first;
    this.decided = decided >= 0 && decided < this.count ? decided : -1;
    this.at = this.decided >= 0 ? this.decided : this.differing[0] ?? 0;
    this.rows = h('div', {class: 'numbers-list', role: 'status'});
    this.map = h('div', {class: 'map'});
  }

  element() {
    const {told} = this;
    const move = step => () => {
      const i = this.differing.findIndex(one => one >= this.at);
      const next = this.differing[(i + step + this.differing.length) % this.differing.length];
      if (next !== undefined) this.show(next);
    };
    this.show(this.at);
    return h('div', {class: 'block'},
      h('p', {}, `${plural(this.count, 'number')} of type ${this.dtype} in this block; `, h('b', {}, `${plural(this.differing.length, 'differs', 'differ')}`), '.'),
      h('div', {class: this.count < 8 ? '' : 'block-body'}, this.count < 8 ? null : h('div', {}, this.map, this.differing.length > 1 ? h('div', {class: 'pages'},
        h('button', {type: 'button', onclick: move(-1), 'aria-label': 'The one before that differs'}, '←'), h('span', {class: 'dim'}, 'next difference'),
        h('button', {type: 'button', onclick: move(1), 'aria-label': 'The next one that differs'}, '→')) : null), this.rows),
      told.finding?.truth && !this.shownTruth ? [h('h3', {}, 'What decided'), valuesOnly(told, this.names)] : null);
  }

  show(at) {
    this.at = at;
    const from = Math.max(0, Math.min(at - AROUND, this.count - 2 * AROUND - 1));
    const shown = [];
    for (let i = from; i < Math.min(this.count, from + 2 * AROUND + 1); i += 1) shown.push(this.row(i));
    replace(this.rows, shown);
    this.drawMap();
  }

  row(i) {
    const bits = this.views.map(view => bitsOf(view, i * this.size, this.size));
    const values = this.views.map(view => textOf(this.dtype, READ[this.dtype](view, i * this.size)));
    const differs = bits[0] !== bits[1];
    const label = h('div', {class: 'index'}, h('span', {class: 'dim'}, number(this.told.block.first + i)), differs ? h('span', {class: 'flag'}, i === this.decided ? '≠ decided' : '≠') : null);
    if (!differs) return h('div', {class: 'number-row'}, label, h('div', {class: 'pair same'}, h('span', {class: 'value'}, values[0]), h('span', {class: 'dim'}, 'the same in both')));
    // The value that was computed again is the element itself, unless it is a part of how the element comes about.
    const truth = i === this.decided || this.count === 1 ? bitsOfText(this.told.finding?.truth, this.size) : null;
    const isElement = truth !== null && [0, 1].some(side => bits[side] === truth);
    this.shownTruth ||= isElement;
    return h('div', {class: `number-row differs${i === this.at ? ' here' : ''}`}, label, h('div', {class: 'pair'}, [0, 1].map(side => h('div', {class: 'version'}, sideLabel(side, this.names[side]),
      h('span', {class: 'value'}, values[side]), bitsElement(bits[side], bits[1 - side], this.dtype))),
    isElement ? h('div', {class: 'version truth'}, h('span', {class: 'who'}, h('span', {class: 'side', 'aria-hidden': 'true'}, '='), ' computed again'),
      h('span', {class: 'value'}, this.told.finding.truth.split(' ')[0]), bitsElement(truth, null, this.dtype)) : null));
  }

  // The whole block: a cell for each number, in the order of memory.
  drawMap() {
    const across = Math.min(32, Math.max(1, Math.ceil(Math.sqrt(this.count)))), down = Math.ceil(this.count / across), cell = 8;
    const set = new Set(this.differing);
    const path = list => list.map(i => `M${i % across * cell} ${Math.floor(i / across) * cell}h${cell - 1}v${cell - 1}h-${cell - 1}z`).join('');
    const same = Array.from({length: this.count}, (_, i) => i).filter(i => !set.has(i));
    const x = this.at % across * cell, y = Math.floor(this.at / across) * cell;
    replace(this.map, s('svg', {viewBox: `-2 -2 ${across * cell + 3} ${down * cell + 3}`, role: 'img', class: 'cells',
      'aria-label': `Map of the block: ${this.differing.length} of ${this.count} numbers differ`},
      s('path', {class: 'same', d: path(same)}), s('path', {class: 'other', d: path(this.differing)}), s('rect', {class: 'here', x: x - 1, y: y - 1, width: cell + 1, height: cell + 1})));
  }
}

export function drawBlock(told, names) {
  if (!told.block || !READ[told.block.dtype]) return valuesOnly(told, names);
  return new Block(told, names).element();
}
