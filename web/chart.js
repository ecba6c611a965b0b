// Chart: lines on a canvas that grow while one looks. Drawn at most once a frame, and only when something has changed; what it costs depends on its width, not on
// how many points there are (series.js). Lines differ by dash as well as by colour. A table says the same in words.
import {h, say, table} from '/web/dom.js';
import {Series, ticks} from '/web/series.js';

const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4]];
const LEFT = 54, RIGHT = 10, TOP = 8, BOTTOM = 24;

const dirty = new Set();
let asked = false;
function ask(chart) {
  dirty.add(chart);
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const now = [...dirty];
    dirty.clear();
    for (const one of now) one.draw();
  });
}

let colours = null;
export function forgetColours() {
  colours = null;
}
function palette() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    const read = name => style.getPropertyValue(name).trim();
    colours = {lines: [1, 2, 3, 4].map(i => read(`--line-${i}`)), grid: read('--rule'), text: read('--dim'), ink: read('--ink')};
  }
  return colours;
}

export class Chart {
  // options: title, x (what the axis counts), format(y), formatX(x), axis(y, step) for ticks, end (where the axis ends at least), exact (it ends where the points do),
  // zero (begins at 0)
  constructor(options) {
    this.options = options;
    this.series = new Map();
    this.styles = options.styles ?? new Map();  // by name: which line, the same in charts that share it
    this.cursor = null;
    this.canvas = h('canvas', {role: 'img', 'aria-label': `${options.title}: nothing yet`});
    this.value = h('output', {class: 'now', 'aria-live': 'off'}, '–');
    this.reading = h('span', {class: 'reading dim'});
    this.legend = h('div', {class: 'legend'});
    this.numbers = h('details', {class: 'numbers'}, h('summary', {}, 'As a table'));
    this.numbers.addEventListener('toggle', () => this.tell());
    this.element = h('section', {class: 'chart', 'aria-label': options.title},
      h('div', {class: 'chart-head'}, h('h3', {}, options.title), this.value), this.canvas,
      h('div', {class: 'chart-foot'}, this.legend, this.reading), this.numbers);
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.canvas);
    this.canvas.addEventListener('pointermove', event => {
      this.cursor = event.offsetX;
      ask(this);
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.cursor = null;
      ask(this);
    });
  }

  add(name, x, y) {
    let series = this.series.get(name);
    if (!series) {
      series = new Series(name);
      this.series.set(name, series);
      if (!this.styles.has(name)) this.styles.set(name, this.styles.size % DASHES.length);
      this.writeLegend();
    }
    if (series.add(x, y)) ask(this);
  }
  clear() {
    this.series.clear();
    this.writeLegend();
    ask(this);
  }
  touch() {
    ask(this);
  }
  close() {
    this.watch.disconnect();
    clearTimeout(this.saying);
    dirty.delete(this);
  }

  writeLegend() {
    const all = this.inOrder();
    this.legend.replaceChildren(...(all.length < 2 ? [] : all.map(({name}) => h('span', {class: `key line-${this.styles.get(name)}`}, name))));
  }

  // The same runs in the same order everywhere.
  inOrder() {
    return [...this.series.values()].sort((a, b) => this.styles.get(a.name) - this.styles.get(b.name));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (width === this.canvas.width && height === this.canvas.height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.draw();
  }

  // The axis is a little longer than what is there, and grows by steps, so that most points change one column only.
  range() {
    let from = Infinity, to = -Infinity, low = Infinity, high = -Infinity;
    for (const series of this.series.values()) {
      if (!series.count) continue;
      from = Math.min(from, series.begin);
      to = Math.max(to, series.end);
      low = Math.min(low, series.low);
      high = Math.max(high, series.high);
    }
    if (from === Infinity) return null;
    if (this.options.zero) low = Math.min(0, low);
    from = Math.min(from, 0);
    const end = this.options.end ?? 1;
    if (this.options.exact) to = Math.max(to, this.options.end ?? 0) || 1;
    else if (to <= end) to = end;
    else to = end * 1.25 ** Math.ceil(Math.log(to / end) / Math.log(1.25));
    const pad = (high - low || Math.abs(high) || 1) * 0.06;
    return {from, to, low: this.options.zero && low === 0 ? 0 : low - pad, high: high + pad};
  }

  draw() {
    const {canvas} = this;
    if (!canvas.isConnected || canvas.width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const c = canvas.getContext('2d');
    const width = canvas.width / ratio, height = canvas.height / ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const range = this.range();
    if (!range) return;
    const box = {x: LEFT, y: TOP, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM};
    const atX = x => box.x + (x - range.from) / (range.to - range.from) * box.w;
    const atY = y => box.y + box.h - (y - range.low) / (range.high - range.low) * box.h;
    this.drawAxes(c, box, range, atX, atY);
    const {lines} = palette();
    for (const series of this.inOrder()) {
      const style = this.styles.get(series.name);
      c.strokeStyle = lines[style];
      c.setLineDash(DASHES[style]);
      this.drawLine(c, series, box, range, atY, ratio);
    }
    c.setLineDash([]);
    this.drawCursor(c, box, range, atX, atY);
    this.sayNow();
  }

  drawAxes(c, box, range, atX, atY) {
    const {grid, text} = palette();
    c.font = '11px system-ui, sans-serif';
    c.lineWidth = 1;
    c.strokeStyle = grid;
    c.fillStyle = text;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    const levels = ticks(range.low, range.high, box.h / 42);
    const step = levels.length > 1 ? levels[1] - levels[0] : Math.abs(levels[0]);
    for (const tick of levels) {
      const y = Math.round(atY(tick)) + 0.5;
      c.beginPath();
      c.moveTo(box.x, y);
      c.lineTo(box.x + box.w, y);
      c.stroke();
      c.fillText(this.options.axis(tick, step), box.x - 8, y);
    }
    c.textBaseline = 'top';
    for (const tick of ticks(range.from, range.to, box.w / 80)) {
      c.textAlign = tick === range.from ? 'left' : tick === range.to ? 'right' : 'center';
      c.fillText(this.options.formatX(tick), atX(tick), box.y + box.h + 8);
    }
  }

  // Few points are joined as they are; of many, each column shows its lowest and highest.
  drawLine(c, series, box, range, atY, ratio) {
    if (!series.count) return;
    c.lineWidth = 1.5;
    c.lineJoin = 'round';
    c.beginPath();
    const columns = Math.max(1, Math.round(box.w * ratio));
    if (series.count <= columns) {
      for (let i = 0; i < series.count; i += 1) {
        const x = box.x + (series.xs[i] - range.from) / (range.to - range.from) * box.w, y = atY(series.ys[i]);
        if (i === 0) c.moveTo(x, y);
        else c.lineTo(x, y);
      }
      if (series.count === 1) c.lineTo(box.x + (series.xs[0] - range.from) / (range.to - range.from) * box.w + 2, atY(series.ys[0]));
    } else {
      const shown = series.shown(columns, range.from, range.to);
      let begun = false;
      for (let i = 0; i < columns; i += 1) {
        if (shown.low[i] > shown.high[i]) continue;
        const x = box.x + i / ratio;
        if (begun) c.lineTo(x, atY(shown.first[i]));
        else c.moveTo(x, atY(shown.first[i]));
        begun = true;
        if (shown.low[i] !== shown.high[i]) {
          c.lineTo(x, atY(shown.low[i]));
          c.lineTo(x, atY(shown.high[i]));
          c.lineTo(x, atY(shown.final[i]));
        }
      }
    }
    c.stroke();
  }

  drawCursor(c, box, range, atX, atY) {
    if (this.cursor === null) {
      say(this.reading, '');
      return;
    }
    const {ink, grid} = palette();
    const x = range.from + (this.cursor - box.x) / box.w * (range.to - range.from);
    const found = [];
    for (const series of this.inOrder()) {
      const point = series.at(x);
      if (!point) continue;
      found.push(`${this.series.size > 1 ? `${series.name} ` : ''}${this.options.format(point.y)}`);
      c.strokeStyle = grid;
      c.beginPath();
      c.moveTo(atX(point.x), box.y);
      c.lineTo(atX(point.x), box.y + box.h);
      c.stroke();
      c.fillStyle = ink;
      c.beginPath();
      c.arc(atX(point.x), atY(point.y), 3, 0, 7);
      c.fill();
      this.readAt = point.x;
    }
    say(this.reading, found.length ? `${this.options.x} ${this.options.formatX(this.readAt)}: ${found.join(', ')}` : '');
  }

  // What the picture shows, in words: for readers of screens it is renewed every few seconds at most.
  sayNow() {
    const all = this.inOrder().filter(series => series.count);
    say(this.value, all.map(series => this.options.format(series.last)).join(' · ') || '–');
    this.saying ??= setTimeout(() => {
      this.saying = undefined;
      this.describe();
    }, this.described ? 3000 : 0);
  }
  describe() {
    this.described = true;
    const all = this.inOrder().filter(series => series.count);
    this.canvas.setAttribute('aria-label', `${this.options.title}. ${all.map(series => `${series.name}: ${series.count} points, from ` +
      `${this.options.format(series.ys[0])} to ${this.options.format(series.last)}, lowest ${this.options.format(series.low)}, ` +
      `highest ${this.options.format(series.high)}`).join('. ') || 'Nothing yet'}.`);
    this.tell();
  }

  // Sixteen points of each line.
  tell() {
    if (!this.numbers.open) return;
    const all = this.inOrder().filter(series => series.count);
    const range = this.range();
    if (!range) return;
    const to = Math.max(...all.map(series => series.end));
    const rows = [];
    for (let i = 0; i <= 15; i += 1) {
      const x = range.from + (to - range.from) * i / 15;
      const points = all.map(series => series.at(x));
      const key = this.options.formatX(points[0]?.x ?? x);
      if (rows.at(-1)?.[0] !== key) rows.push([key, ...points.map(point => (point ? this.options.format(point.y) : ''))]);
    }
    const told = table(this.options.title, [this.options.x, ...all.map(series => ({name: series.name, class: 'number'}))], rows);
    this.numbers.replaceChildren(this.numbers.firstChild, told);
  }
}
