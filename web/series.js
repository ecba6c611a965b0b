// Series: points that only come at the end, and what of them a picture of a given width shows: the lowest, highest, first and last value of each column of
// pixels. A point that is added changes one column; all are gone through again only when the width or the range changes. Pure; no DOM.

const MOST = 1 << 19;  // points that are kept; beyond that, neighbours are joined, and no extreme is lost

export class Series {
  constructor(name) {
    this.name = name;
    this.xs = new Float64Array(1024);
    this.ys = new Float64Array(1024);
    this.count = 0;
    this.low = Infinity;
    this.high = -Infinity;
    this.columns = null;
  }

  get last() {
    return this.count ? this.ys[this.count - 1] : NaN;
  }
  get begin() {
    return this.count ? this.xs[0] : 0;
  }
  get end() {
    return this.count ? this.xs[this.count - 1] : 0;
  }

  // x must not go back: a point from before the last one is of a stream that began again, and is left out.
  add(x, y) {
    if (!Number.isFinite(x) || !Number.isFinite(y) || (this.count && x < this.xs[this.count - 1])) return false;
    if (this.count === this.xs.length) this.grow();
    this.xs[this.count] = x;
    this.ys[this.count] = y;
    this.count += 1;
    if (y < this.low) this.low = y;
    if (y > this.high) this.high = y;
    if (this.columns) this.put(x, y);
    return true;
  }

  grow() {
    if (this.count >= MOST) {
      this.thin();
      return;
    }
    for (const name of ['xs', 'ys']) {
      const more = new Float64Array(this[name].length * 2);
      more.set(this[name]);
      this[name] = more;
    }
  }

  // Of each four points the lowest and the highest stay, in their order.
  thin() {
    let to = 0;
    for (let from = 0; from + 4 <= this.count; from += 4) {
      let low = from, high = from;
      for (let i = from + 1; i < from + 4; i += 1) {
        if (this.ys[i] < this.ys[low]) low = i;
        if (this.ys[i] > this.ys[high]) high = i;
      }
      for (const i of low <= high ? [low, high] : [high, low]) {
        this.xs[to] = this.xs[i];
        this.ys[to] = this.ys[i];
        to += 1;
      }
    }
    this.count = to;
    this.columns = null;
  }

  put(x, y) {
    const c = this.columns;
    const i = Math.min(c.width - 1, Math.max(0, Math.floor((x - c.from) * c.scale)));
    if (c.low[i] > c.high[i]) {
      c.low[i] = c.high[i] = c.first[i] = c.final[i] = y;
      return;
    }
    if (y < c.low[i]) c.low[i] = y;
    if (y > c.high[i]) c.high[i] = y;
    c.final[i] = y;
  }

  // The columns of a picture that shows [from, to] in `width` columns.
  shown(width, from, to) {
    const c = this.columns;
    if (c && c.width === width && c.from === from && c.to === to) return c;
    this.columns = {width, from, to, scale: width / (to - from || 1), low: new Float64Array(width).fill(Infinity),
      high: new Float64Array(width).fill(-Infinity), first: new Float64Array(width), final: new Float64Array(width)};
    for (let i = 0; i < this.count; i += 1) this.put(this.xs[i], this.ys[i]);
    return this.columns;
  }

  // The point nearest to x.
  at(x) {
    let low = 0, high = this.count - 1;
    if (high < 0) return null;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.xs[middle] < x) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && x - this.xs[low - 1] < this.xs[low] - x) low -= 1;
    return {x: this.xs[low], y: this.ys[low]};
  }
}

// About `count` round numbers within [low, high].
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(one => one >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  return found;
}
