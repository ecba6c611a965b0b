// The four pictures of a training: loss and throughput by step, utilisation and memory by time.
import {Chart, forgetColours} from '/web/chart.js';
import {h} from '/web/dom.js';
import {readTelemetry} from '/web/telemetry.js';
import {bytes, number, seconds} from '/web/words.js';

const COMPACT = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 2});

// As many digits as tell ticks that are `step` apart from each other.
function tick(value, step) {
  if (Math.abs(value) >= 1e4) return COMPACT.format(value);
  if (value !== 0 && step < 1e-4) return value.toExponential(1);
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  return value.toFixed(digits);
}

export class Charts {
  constructor() {
    const styles = new Map();
    const steps = {x: 'step', formatX: number, format: number, axis: tick, styles};
    const time = {x: 'after', formatX: seconds, axis: tick, styles};
    this.loss = new Chart({...steps, title: 'Loss'});
    this.rate = new Chart({...steps, title: 'Throughput', zero: true, format: y => `${number(y)} ${this.unit}/s`});
    this.use = new Chart({...time, title: 'Utilisation', zero: true, format: y => `${number(y)} cores`});
    this.memory = new Chart({...time, title: 'Memory', zero: true, format: bytes, axis: bytes});
    this.unit = 'samples';
    this.perSample = 1;  // tokens of a sample, where that is what is counted
    this.rates = new Map();  // by series: the last few
    this.all = [this.loss, this.rate, this.use, this.memory];
    this.begin = new Map();  // by series: when its first sample was taken
    this.recorded = new Set();
    this.element = h('div', {class: 'charts'}, this.all.map(chart => chart.element));
    this.recolour = () => {
      forgetColours();
      for (const chart of this.all) chart.touch();
    };
    addEventListener('assay-theme', this.recolour);
  }
  close() {
    removeEventListener('assay-theme', this.recolour);
    for (const chart of this.all) chart.close();
  }

  gpu() {
    this.use.options.format = y => `${number(y)} %`;
  }
  setSteps(steps) {
    this.loss.options.end = this.rate.options.end = Math.max(steps, this.loss.options.end ?? 0);
  }

  // What a worker told. Answers with its speed, over the last few steps.
  sample(name, sample, live) {
    if (this.recorded.has(name)) return sample.rate;
    if (sample.steps) this.setSteps(sample.steps);
    if (sample.phase !== 'train') return sample.rate;
    if (sample.unit) this.unit = sample.unit;
    if (Number.isFinite(sample.loss)) this.loss.add(name, sample.step, sample.loss);
    const rate = sample.rate > 0 ? this.smooth(name, sample.rate) : sample.rate;
    if (rate > 0) this.rate.add(name, sample.step, rate);
    if (!live) return rate;
    if (!this.begin.has(name)) this.begin.set(name, sample.at);
    const after = (sample.at - this.begin.get(name)) / 1000;
    if (sample.gpu) {
      this.gpu();
      this.use.add(name, after, sample.gpu.util);
      this.memory.add(name, after, sample.gpu.memory);
    } else {
      if (Number.isFinite(sample.cpu)) this.use.add(name, after, sample.cpu);
      if (sample.memory > 0) this.memory.add(name, after, sample.memory);
    }
    return rate;
  }

  // A worker tells the speed of single steps. Their harmonic mean is the speed over all of them.
  smooth(name, rate) {
    const last = this.rates.get(name) ?? [];
    last.push(rate);
    if (last.length > 24) last.shift();
    this.rates.set(name, last);
    return last.length / last.reduce((sum, one) => sum + 1 / one, 0);
  }

  // A language model's speed is told in tokens: its samples have so many.
  countTokens(tokens) {
    this.unit = 'tokens';
    this.perSample = tokens;
  }

  // The whole record of a run takes the place of what was seen of it live.
  record(name, file) {
    this.recorded.add(name);
    for (const chart of this.all) {
      chart.series.delete(name);
      chart.writeLegend();
    }
    const last = {step: 0, steps: 0, loss: NaN};
    readTelemetry(file, {
      session: session => {
        this.setSteps(session.steps);
        last.steps = session.steps;
      },
      step: (step, loss) => {
        this.loss.add(name, step, loss);
        Object.assign(last, {step, loss});
      },
      rate: (step, rate) => this.rate.add(name, step, rate * this.perSample),
      speed: rate => Object.assign(last, {rate: rate * this.perSample, unit: this.unit}),
      sample: (after, cores, memory, gpu) => {
        if (gpu) this.gpu();
        this.use.add(name, after, gpu ? gpu.util : cores);
        this.memory.add(name, after, gpu ? gpu.memory : memory);
      },
    });
    for (const chart of this.all) {
      chart.options.exact = true;
      chart.touch();
    }
    return last;
  }
}
