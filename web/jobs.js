// The list of orders: newest first, filtered and in pages, however many there are. New ones and changes come by themselves; what an open order is doing is asked
// for those on the page alone.
import {every, get, whoami, onChange} from '/web/api.js';
import {h, replace, say} from '/web/dom.js';
import {VERDICTS, doing, jobName, lookAt, plural, short, verdictBadge, when} from '/web/words.js';

const ROWS = 25;

class Orders {
  constructor() {
    this.path = whoami().role === 'admin' ? '/v1/admin/orders' : '/v1/orders';
    this.all = new Map();  // by seq
    this.sorted = null;
  }
  // Everything from the oldest open order on may have changed.
  async load() {
    let after = Infinity;
    for (const line of this.all.values()) {
      if (!line.verdict) after = Math.min(after, line.seq - 1);
    }
    if (after === Infinity) after = Math.max(0, ...this.all.keys());
    let changed = false;
    for (;;) {
      const {orders} = await get(`${this.path}?limit=1000&after=${after}`);
      for (const line of orders) {
        const known = this.all.get(line.seq);
        changed ||= !known || known.verdict !== line.verdict;
        this.all.set(line.seq, line);
        this.sorted = null;
        after = line.seq;
      }
      if (orders.length < 1000) return changed;
    }
  }
  newestFirst() {
    return this.sorted ??= [...this.all.values()].sort((a, b) => b.seq - a.seq);
  }
}

export async function showJobs(root) {
  const heading = h('h1', {tabindex: '-1'}, 'Jobs');
  const {role} = whoami();
  if (role !== 'client' && role !== 'admin') {
    replace(root, heading, h('p', {class: 'note'}, `A token of role ${role} does work for others and may not see their orders. It sees its own `,
      h('a', {href: '#/workers'}, 'workers and what they did'), '. Orders are seen with a token of role client, of the account that submitted them.'));
    return null;
  }
  const orders = new Orders();
  const shown = {page: 0, state: 'all', text: ''};
  const count = h('p', {class: 'dim', role: 'status'});
  const search = h('input', {type: 'search', id: 'search', placeholder: 'id, job or account', autocomplete: 'off', spellcheck: 'false', oninput: () => {
    shown.text = search.value.trim().toLowerCase();
    shown.page = 0;
    draw();
  }});
  const state = h('select', {id: 'state', onchange: () => {
    shown.state = state.value;
    shown.page = 0;
    draw();
  }}, h('option', {value: 'all'}, 'all'), Object.entries(VERDICTS).map(([value, {sign, word}]) => h('option', {value: value || 'open'}, `${sign} ${word}`)));
  const body = h('tbody', {});
  const pages = h('nav', {class: 'pages', 'aria-label': 'Pages of the list'});
  const list = h('table', {class: 'jobs'}, h('caption', {class: 'hidden'}, 'Orders, newest first'),
    h('thead', {}, h('tr', {}, ['Job', 'Verdict', 'State', role === 'admin' ? 'Account' : null, 'Submitted'].filter(Boolean)
      .map(name => h('th', {scope: 'col'}, name)))), body);
  replace(root, h('div', {class: 'head'}, heading, count),
    h('form', {class: 'filter', role: 'search', onsubmit: event => event.preventDefault()},
      h('label', {for: 'search'}, 'Find'), search, h('label', {for: 'state'}, 'Verdict'), state),
    h('div', {class: 'scroll'}, list), pages);

  const details = new Map();  // by id: what was said of an order last
  let rows = [];

  function matches(line) {
    if (shown.state !== 'all' && (line.verdict || 'open') !== shown.state) return false;
    if (!shown.text) return true;
    const name = details.get(line.id)?.name ?? '';
    return [line.id, line.job, line.account ?? '', name].some(text => text.toLowerCase().includes(shown.text));
  }

  function rowOf(line) {
    const name = h('a', {href: `#/orders/${line.id}`}, details.get(line.id)?.name ?? `job ${short(line.job)}`);
    const now = h('td', {class: 'doing dim'}, line.verdict ? VERDICTS[line.verdict]?.words ?? '' : details.get(line.id)?.doing ?? '');
    const row = h('tr', {}, h('th', {scope: 'row'}, name, ' ', h('code', {class: 'dim id'}, short(line.id))), h('td', {}, verdictBadge(line.verdict)), now,
      role === 'admin' ? h('td', {}, line.account) : null, h('td', {class: 'dim'}, when(line.made)));
    return {line, row, name, now};
  }

  function drawPages(pageCount) {
    const turnTo = page => () => {
      shown.page = page;
      draw();
      heading.scrollIntoView({block: 'start'});
    };
    replace(pages, pageCount < 2 ? [] : [
      h('button', {type: 'button', disabled: shown.page === 0, onclick: turnTo(shown.page - 1)}, '← Newer'),
      h('span', {}, `page ${shown.page + 1} of ${pageCount}`),
      h('button', {type: 'button', disabled: shown.page + 1 >= pageCount, onclick: turnTo(shown.page + 1)}, 'Older →')]);
  }

  function draw() {
    const found = orders.newestFirst().filter(matches);
    const pageCount = Math.max(1, Math.ceil(found.length / ROWS));
    shown.page = Math.min(shown.page, pageCount - 1);
    rows = found.slice(shown.page * ROWS, (shown.page + 1) * ROWS).map(rowOf);
    // Rows that are the same stay, and with them what has the focus.
    replace(body, rows.length ? rows.map(one => one.row) : h('tr', {}, h('td', {colspan: '5', class: 'dim'},
      orders.all.size ? 'No order is like that.' : 'No orders yet. ', orders.all.size ? null : h('a', {href: '#/submit'}, 'How to submit one'))));
    drawPages(pageCount);
    const open = [...orders.all.values()].filter(line => !line.verdict).length;
    say(count, `${plural(orders.all.size, 'order')}, ${open} open${found.length < orders.all.size ? `; ${found.length} found` : ''}`);
    look();
  }

  // Names and doings of what is on the page, a few at a time.
  let looking = 0;
  async function look() {
    const mine = looking += 1;
    const wanted = rows.filter(({line}) => !details.has(line.id) || (!line.verdict && Date.now() - details.get(line.id).at > 2500));
    const next = async () => {
      for (let one = wanted.shift(); one && mine === looking; one = wanted.shift()) {
        const view = await lookAt(one.line.id);
        details.set(view.id, {at: Date.now(), doing: doing(view), name: details.get(view.id)?.name});
        if (!one.line.verdict) say(one.now, doing(view));
        const name = await jobName(view);
        details.get(view.id).name = name;
        say(one.name, name);
      }
    };
    await Promise.all([next(), next(), next()]).catch(() => {});
  }

  await orders.load();
  draw();
  const stop = every(2500, async () => {
    if (await orders.load()) draw();
    else look();
  });
  const forget = onChange(what => {
    if (what === 'online') orders.load().then(draw, () => {});
  });
  return () => {
    stop();
    forget();
    looking += 1;
  };
}
