// What people read: states and verdicts as a symbol and words, times, sizes, keys. Pure functions, but for names of jobs, which are asked for once.
import {get, getBlob} from '/web/api.js';
import {h} from '/web/dom.js';

export const VERDICTS = {
  '': {sign: '◌', word: 'open', tone: 'open', words: 'not decided yet'},
  verified: {sign: '✓', word: 'verified', tone: 'good', words: 'every check that was asked for held'},
  refereed: {sign: '⚖\uFE0E', word: 'refereed', tone: 'good', words: 'runs differed; a dispute found out who lied'},
  undecided: {sign: '?', word: 'undecided', tone: 'warn', words: 'nothing here tells who is right'},
  withheld: {sign: '∅', word: 'withheld', tone: 'bad', words: 'runs came, none of them stood'},
  failed: {sign: '✕', word: 'failed', tone: 'bad', words: 'no run came, or the order was cancelled'},
};

export function verdictBadge(verdict) {
  const {sign, word, tone, words} = VERDICTS[verdict] ?? VERDICTS.undecided;
  return h('span', {class: `badge ${tone}`, title: words}, h('span', {class: 'sign', 'aria-hidden': 'true'}, sign), word);
}
export function badge(tone, sign, word) {
  return h('span', {class: `badge ${tone}`}, h('span', {class: 'sign', 'aria-hidden': 'true'}, sign), word);
}

const TIME = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const DAY = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});
const FULL = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
const AGO = new Intl.RelativeTimeFormat(undefined, {numeric: 'auto', style: 'short'});

export const clock = ms => TIME.format(ms);
export function when(ms) {
  return h('time', {datetime: new Date(ms).toISOString(), title: FULL.format(ms)}, DAY.format(ms));
}
export function ago(ms) {
  const s = (ms - Date.now()) / 1000;
  if (s > -5) return 'now';
  for (const [unit, seconds] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (s <= -seconds) return AGO.format(Math.round(s / seconds), unit);
  }
  return AGO.format(Math.round(s), 'second');
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  let value = n, unit = 'B';
  for (const next of ['kB', 'MB', 'GB', 'TB']) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
export function number(x) {
  if (!Number.isFinite(x)) return '–';
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(2);
  if (Number.isInteger(x)) return x.toLocaleString('en');
  return size < 10 ? String(Number(x.toFixed(3))) : size < 100 ? x.toFixed(1) : Math.round(x).toLocaleString('en');
}
export function seconds(s) {
  if (s < 60) return `${s < 1 ? Number(s.toFixed(2)) : s < 10 ? Number(s.toFixed(1)) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}
export const short = id => id.slice(0, 8);
export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

// A public key is NAME+HASH+DATA, where DATA is base64 of a byte 1 and the 32 bytes that count.
export const keyName = key => key.split('+')[0];
export const keyHash = key => /\+([0-9a-f]{8})\+/.exec(key)?.[1] ?? '';
// Many call their keys the same: the hash tells them apart.
export const keyLabel = key => `${keyName(key)} ${keyHash(key)}`;
export function keyPoint(key) {
  const data = key.slice(key.indexOf('+', key.indexOf('+') + 1) + 1);
  try {
    return Array.from(atob(data), c => c.charCodeAt(0).toString(16).padStart(2, '0')).slice(1).join('');
  } catch {
    return '';
  }
}
export function worker(key) {
  return h('a', {href: `#/workers/${keyPoint(key)}`, title: key}, keyName(key), ' ', h('code', {class: 'dim'}, keyHash(key)));
}

export function payloadOf(envelope) {
  const raw = atob(JSON.parse(envelope).payload);
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(raw, c => c.charCodeAt(0))));
}

// Orders name their job by a hash; what people call it stands in job.toml, which is asked for once for each job.
const texts = new Map();
export function jobText(view) {
  const file = view.files.find(one => one.name === 'job.toml');
  if (view.sealed || !file || file.bytes > 262_144) return Promise.resolve('');
  if (!texts.has(file.sha256)) {
    texts.set(file.sha256, getBlob(`/v1/blobs/${file.sha256}`).then(blob => blob.text()).catch(() => {
      texts.delete(file.sha256);
      return '';
    }));
  }
  return texts.get(file.sha256);
}
export async function jobName(view) {
  if (view.sealed) return 'sealed job';
  return /^name\s*=\s*"([^"\n]*)"/m.exec(await jobText(view))?.[1] || `job ${short(view.job)}`;
}
export const lookAt = order => get(`/v1/orders/${order}`);

export function policyWords(policy) {
  const parts = [];
  if (policy.replicas > 1) parts.push(`${policy.replicas} workers with different keys train it, and their results have to be the same bit for bit`);
  else parts.push('one worker trains it');
  if (policy.audit > 0) parts.push(`another worker replays ${policy.audit}% of the segments, drawn after the receipt`);
  if (policy.probe < 100) parts.push(`a worker with a long clean record is checked with probability ${policy.probe}%`);
  const words = parts.join('; ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}; at most ${plural(policy.attempts, 'attempt')}.`;
}

// What an order is doing, from its leases.
export function doing(view) {
  if (view.verdict) return VERDICTS[view.verdict]?.words ?? '';
  const open = view.leases.filter(lease => lease.state === 'open');
  const held = view.leases.filter(lease => lease.state === 'held' && lease.role === 'train').length;
  const training = open.filter(lease => lease.role === 'train').length;
  if (training > 0) {
    const steps = view.progress.filter(one => one.steps > 0).map(one => `${one.step}/${one.steps}`);
    return `${plural(training, 'worker')} training${steps.length ? `, step ${steps.join(', ')}` : ''}`;
  }
  if (open.length > 0) return 'being audited';
  if (held >= view.policy.replicas) return 'runs are there; they are being compared';
  return held > 0 ? `waits for another worker (${held} of ${view.policy.replicas} runs)` : 'waits for a worker';
}
