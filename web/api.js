// The coordinator's API: calls with the visitor's token, streams of events that come back by themselves, and whether the server can be reached.
// The token is kept for this tab alone (sessionStorage) and goes nowhere but into the Authorization header.

const KEY = 'assay.token';
const HIDDEN_MS = 10_000;  // after which a tab that is not seen lets go of its stream
let token = '';
try {
  token = sessionStorage.getItem(KEY) ?? '';
} catch {
  // Storage is switched off: the token lasts until the page is left.
}
let me = null;  // {id, account, role}
const watchers = new Set();
let reachable = true;
let probing = false;

export class ApiError extends Error {
  constructor(status, code, words) {
    super(words);
    this.status = status;
    this.code = code;
  }
}
export class Unreachable extends Error {
  constructor() {
    super('the coordinator cannot be reached');
  }
}

export const whoami = () => me;
export const signedIn = () => me !== null;
export const hasToken = () => token !== '';

// Told 'offline', 'online' and 'signed out'.
export function onChange(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
const tell = what => { for (const watcher of [...watchers]) watcher(what); };

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
// Waits longer each time, with some chance in it, so that a thousand pages do not come back at once.
const backoff = tries => Math.min(10_000, 400 * 1.7 ** tries) * (0.7 + 0.6 * Math.random());

async function probe() {
  if (probing) return;
  probing = true;
  reachable = false;
  tell('offline');
  for (let tries = 0; ; tries += 1) {
    await pause(backoff(tries));
    try {
      const answer = await fetch('/healthz', {cache: 'no-store'});
      if (answer.ok) break;
    } catch {
      // Not yet.
    }
  }
  probing = false;
  reachable = true;
  tell('online');
}

export const isReachable = () => reachable;

async function request(path, options = {}, tries = 0) {
  const headers = new Headers(options.headers);
  if (token) headers.set('Authorization', `Bearer ${token}`);
  let answer;
  try {
    answer = await fetch(path, {...options, headers, cache: 'no-store', credentials: 'omit', redirect: 'error'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    probe();
    throw new Unreachable();
  }
  if (answer.ok) return answer;
  // Busy, for a moment: reading is tried again, a few times.
  const wait = Number(answer.headers.get('Retry-After'));
  if (answer.status === 503 && wait > 0 && wait <= 5 && (options.method ?? 'GET') === 'GET' && tries < 5) {
    await pause(wait * 1000 * (0.5 + Math.random()));
    return request(path, options, tries + 1);
  }
  let said = {};
  try {
    said = await answer.json();
  } catch {
    // Not of this API: a proxy's page, perhaps.
  }
  const error = new ApiError(answer.status, said.code ?? '', said.error ?? `the server answered ${answer.status}`);
  if (answer.status === 401 && me) signOut();
  throw error;
}

export const get = async (path, options) => (await request(path, options)).json();
export const getBlob = async (path, options) => (await request(path, options)).blob();
export const getBytes = async (path, options) => new Uint8Array(await (await request(path, options)).arrayBuffer());
export const post = async (path, body) => (await request(path, {method: 'POST', body: JSON.stringify(body),
  headers: {'Content-Type': 'application/json'}})).json();

export async function signIn(text) {
  const before = token;
  token = text.trim();
  try {
    me = await get('/v1/token');
  } catch (error) {
    if (error instanceof ApiError) token = before;
    throw error;
  }
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // It lasts until the page is left.
  }
  return me;
}
export const resume = () => signIn(token);

export function signOut() {
  token = '';
  me = null;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There was none.
  }
  tell('signed out');
}

// The events of an order: on.entry(number, entry), on.telemetry(sample), on.state('live' | 'lost' | 'ended').
// EventSource cannot send a token, so the stream is read here. Comes back after the last entry that was seen. A browser has six connections to a server for all its
// tabs, and a stream keeps one: a tab that nobody looks at gives it back.
export function follow(order, on) {
  const stop = new AbortController();
  let last = -1;
  let ended = false;
  let reading = null;
  let asleep = 0;
  let wake = null;

  function looked() {
    clearTimeout(asleep);
    if (document.hidden) asleep = setTimeout(() => reading?.abort(), HIDDEN_MS);
    else wake?.();
  }
  document.addEventListener('visibilitychange', looked);
  stop.signal.addEventListener('abort', () => {
    document.removeEventListener('visibilitychange', looked);
    clearTimeout(asleep);
    reading?.abort();
    wake?.();
  });

  function take(event) {
    let kind = 'message', data = '', id = '';
    for (const line of event.split('\n')) {
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (name === 'event') kind = value;
      else if (name === 'data') data += (data ? '\n' : '') + value;
      else if (name === 'id') id = value;
    }
    if (!data) return;
    if (kind === 'entry') {
      const entry = JSON.parse(data);
      if (id !== '' && Number(id) <= last) return;
      last = Number(id === '' ? entry.n : id);
      on.entry(last, entry);
      if (entry.kind === 'decided') ended = true;
    } else if (kind === 'telemetry') {
      on.telemetry(JSON.parse(data));
    }
  }

  async function read() {
    const headers = last >= 0 ? {'Last-Event-ID': String(last)} : {};
    reading = new AbortController();
    const answer = await request(`/v1/orders/${order}/events`, {headers, signal: reading.signal});
    on.state('live');
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      rest += value.replaceAll('\r', '');
      const events = rest.split('\n\n');
      rest = events.pop();
      for (const event of events) take(event);
    }
  }

  (async () => {
    for (let tries = 0; !stop.signal.aborted && !ended; tries += 1) {
      const before = last;
      if (document.hidden && tries > 0) await new Promise(resolve => { wake = resolve; });
      if (stop.signal.aborted) return;
      try {
        await read();
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
          on.state('ended', error);
          return;
        }
        if (error.name === 'AbortError') continue;
        if (!(error instanceof ApiError) && !(error instanceof Unreachable)) probe();
      }
      if (ended || stop.signal.aborted) break;
      on.state('lost');
      if (last > before) tries = 0;
      await pause(backoff(tries));
    }
    if (ended) on.state('ended');
  })();
  return () => stop.abort();
}

// Calls `work` again and again, `ms` after it has ended, until it is told to stop; not while nobody looks or nobody answers.
export function every(ms, work) {
  let stopped = false;
  (async () => {
    for (;;) {
      await pause(ms);
      if (stopped) return;
      if (document.hidden || !reachable) continue;
      try {
        await work();
      } catch (error) {
        if (!(error instanceof Unreachable)) console.warn(error.message);
      }
    }
  })();
  return () => { stopped = true; };
}
