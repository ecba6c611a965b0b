
// The page around the judge: reads what the file carries, judges it, and says what came of it. Everything is put into the page as text.

const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function decoded(id) {
  const text = atob($(id).textContent.trim()), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function hashOf(bytes) {
  if (!globalThis.crypto?.subtle) return 'this browser computes no hashes here';
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function section(title, ...children) {
  $('report').append(element('h2', {}, title), ...children);
}

const STANDINGS = [['convicted', 'is convicted'], ['accused', 'is accused, by what it has not signed'], ['misled', 'was misled by a false rounding log'],
  ['absent', 'gave no answer'], ['standing', 'stands']];

function parties(verdict) {
  const rows = [];
  for (const [list, words] of STANDINGS) {
    for (const { label, name, key, why } of verdict[list]) {
      rows.push(element('tr', {}, element('td', {}, label), element('td', {}, element('strong', {}, name), element('br'), element('code', { class: 'key' }, key ?? '')),
        element('td', {}, element('span', { class: list }, words), why ? `: ${why}` : '')));
    }
  }
  if (rows.length === 0) return;
  section('Who took part', element('table', {}, element('thead', {}, element('tr', {}, ...['', 'name and key', ''].map((head) => element('th', {}, head)))),
    element('tbody', {}, ...rows)));
}

// The bits of a value that ends in "(0x…)" or is "0x…", from the highest; null where it has none.
function bitsOf(value) {
  const match = /0x([0-9a-f]+)\)?$/.exec(value);
  return match && [...match[1]].map((digit) => parseInt(digit, 16).toString(2).padStart(4, '0')).join('');
}

function marked(bits, truth) {
  const shown = element('span', { class: 'bits' });
  const isFloat = bits.length === 32;
  [...bits].forEach((bit, i) => {
    const one = truth !== null && truth[i] !== bit ? element('b', {}, bit) : document.createTextNode(bit);
    // Sign, exponent and fraction of a binary32.
    shown.append(isFloat && (i === 0 || i === 8) ? element('i', {}, one) : one);
  });
  return shown;
}

function numbers(verdict) {
  if (!verdict.said) return;
  const truth = bitsOf(verdict.truth);
  const row = (who, value) => {
    const bits = bitsOf(value);
    const comparable = bits !== null && truth !== null && bits.length === truth.length;
    return element('tr', {}, element('td', {}, who), element('td', {}, element('code', {}, value)), element('td', {}, comparable ? marked(bits, truth) : ''));
  };
  section('What they say, and what it is', element('table', {}, element('tbody', {},
    ...verdict.said.map(({ label, name, value }) => row(`${label} (${name}) says`, value)), row('computed here', verdict.truth))));
}

function where(verdict) {
  const places = [['step', verdict.step], ['node', verdict.node === null ? null : `${verdict.node} (${verdict.node_name ?? ''})`], ['input, output or tensor', verdict.index],
    ['block of 4 KiB', verdict.leaf], ['element', verdict.element]].filter(([, value]) => value !== null && value !== undefined);
  if (places.length === 0) return;
  section('Where', element('table', {}, element('tbody', {}, ...places.map(([name, value]) => element('tr', {}, element('th', {}, name), element('td', {}, String(value)))))));
}

function list(title, lines) {
  if (lines.length > 0) section(title, element('ul', {}, ...lines.map((line) => element('li', {}, line))));
}

function headline(verdict) {
  if (verdict.convicts) return ['convicts', `Convicted: ${verdict.convicted.map(({ name }) => name).join(', ')}`];
  if (verdict.verdict === 'undecided') return ['open', 'Undecided: nobody is convicted'];
  return ['open', 'Nobody is convicted'];
}

function show(state, text, reason) {
  $('verdict').dataset.state = state;
  $('verdict').textContent = text;
  $('reason').textContent = reason;
  document.title = text;
}

async function main() {
  const wasm = decoded('judge-wasm'), evidence = decoded('evidence'), options = JSON.parse(new TextDecoder().decode(decoded('options')));
  for (const [name, value] of [['evidence', `${options.name}, ${evidence.length} bytes`], ['SHA-256 of the evidence', await hashOf(evidence)],
    ['SHA-256 of the judge', await hashOf(wasm)]]) {
    $('contents').append(element('dt', {}, name), element('dd', {}, element('code', {}, value)));
  }
  const save = element('a', { href: URL.createObjectURL(new Blob([evidence])), download: options.name }, 'save the evidence');
  $('contents').append(element('dt', {}, save));
  const judge = await loadJudge(wasm);
  const { status, verdict } = await judge(evidence, options);
  document.documentElement.dataset.status = status;
  if (status === 2) return show('invalid', 'This is not valid evidence', verdict.error);
  show(...headline(verdict), verdict.reason);
  section('What it is worth', element('p', {}, verdict.worth), element('p', {}, 'job ', element('code', {}, verdict.job_id)));
  parties(verdict);
  numbers(verdict);
  where(verdict);
  section('In words', element('p', { class: 'words' }, verdict.explanation));
  if (verdict.decided_by) section('What would decide it', element('p', {}, verdict.decided_by));
  list('Charges that cannot be checked here, by which nobody falls', verdict.unchecked);
  list('What is assumed', verdict.assumed);
}

main().catch((error) => show('invalid', 'The evidence could not be judged here', error.message));
