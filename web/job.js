// One order, live: what its runs measure, what they commit to, its life, its checks, and what can be done with it.
import {follow, get, getBytes, post, onChange, whoami} from '/web/api.js';
import {copyButton, h, replace, say, table} from '/web/dom.js';
import {Charts} from '/web/charts.js';
import {auditsOf, checkpointOf, lineOf} from '/web/life.js';
import {badge, bytes, clock, doing, jobName, jobText, keyLabel, lookAt, number, plural, policyWords, short, verdictBadge, when, worker} from '/web/words.js';
import {title} from '/web/app.js';
import {drawDelivery} from '/web/delivery.js';

const MOST_TELEMETRY = 64 << 20;  // bytes of a record that are read for a picture
const sentence = text => (text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.` : '');
const STATES = {open: ['open', '▷', 'working'], gone: ['warn', '◁', 'ended without a result'], held: ['good', '✓', 'run is there'],
  out: ['bad', '✕', 'fell out of a dispute']};

class JobPage {
  constructor(root, id) {
    this.root = root;
    this.id = id;
    this.state = {id, leases: new Map()};
    this.entries = [];
    this.samples = new Map();  // by lease: the last
    this.told = new Set();     // leases whose record has been read
    this.charts = new Charts();
  }

  async open() {
    this.view = await lookAt(this.id);
    this.name = await jobName(this.view);
    const sequence = /^sequence\s*=\s*(\d+)/m.exec(await jobText(this.view));
    if (sequence) this.charts.countTokens(Number(sequence[1]));
    title(this.name);
    this.layOut();
    for (const sample of this.view.progress) this.sampled(sample, false);
    this.draw();
    this.unfollow = follow(this.id, {
      entry: (n, entry) => this.entered(entry),
      telemetry: sample => this.sampled(sample, true),
      state: (state, error) => this.streamed(state, error),
    });
    this.forget = onChange(what => {
      if (what === 'online') this.refresh();
    });
  }
  close() {
    this.closed = true;
    this.unfollow?.();
    this.forget?.();
    this.charts.close();
    clearTimeout(this.soon);
  }

  layOut() {
    this.badge = h('span', {});
    this.doing = h('p', {class: 'lead', role: 'status'});
    this.live = h('span', {class: 'dim live'});
    this.actions = h('div', {class: 'actions'});
    this.runs = h('div', {});
    this.disputes = h('div', {});
    this.commitments = h('tbody', {});
    this.committed = h('p', {}, 'None yet; short runs hand in their receipt before the first one is due.');
    this.timeline = h('ol', {class: 'timeline'});
    this.audits = h('div', {});
    this.delivery = h('div', {});
    const {view} = this;
    replace(this.root,
      h('p', {class: 'crumb'}, h('a', {href: '#/'}, 'Jobs'), ' / ', short(this.id)),
      h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, this.name), this.badge, this.live),
      this.doing, this.actions, this.disputes,
      h('section', {'aria-label': 'Measured while training'}, h('h2', {}, 'Measured while training'),
        view.sealed ? h('p', {class: 'note'}, 'The order is sealed: its workers tell how far they are, and nothing else.') : null, this.charts.element),
      h('section', {}, h('h2', {}, 'Runs and audits'), this.runs, this.audits),
      h('div', {class: 'columns'},
        h('section', {}, h('h2', {}, 'Life of the order'), this.timeline),
        h('div', {},
          h('section', {}, h('h2', {}, 'Commitments'), h('p', {class: 'dim'}, 'Each worker signs, while it trains, where every step led. What has been committed to cannot be changed any more.'),
            this.committed, this.commitTable = h('div', {class: 'scroll', hidden: true}, h('table', {class: 'small'}, h('caption', {class: 'hidden'}, 'Commitments, newest first'),
              h('thead', {}, h('tr', {}, ['Time', 'Worker', 'Entries', 'Root'].map(name => h('th', {scope: 'col'}, name)))), this.commitments))),
          h('section', {}, h('h2', {}, 'Policy'), h('p', {}, policyWords(view.policy)),
            h('dl', {class: 'facts'}, h('dt', {}, 'Order'), h('dd', {}, h('code', {}, this.id), ' ', copyButton(this.id, 'the id of the order')),
              h('dt', {}, 'Job'), h('dd', {}, h('code', {}, view.job)),
              h('dt', {}, 'Submitted'), h('dd', {}, when(view.made)),
              h('dt', {}, 'Files'), h('dd', {}, view.sealed ? 'sealed; only the workers it is sealed to can read them' : view.files.map(file =>
                h('div', {}, file.name, h('span', {class: 'dim'}, ` ${bytes(file.bytes)}`)))))))),
      this.delivery);
  }

  // What happened, in the order of the log.
  entered(entry) {
    this.entries.push(entry);
    const {leases} = this.state;
    if (entry.kind === 'leased') leases.set(entry.lease, {worker: entry.worker, role: entry.role, of: entry.of, state: 'open'});
    const end = (n, state) => leases.has(n) && (leases.get(n).state = state);
    if (entry.kind === 'released') end(entry.lease, 'gone');
    if (entry.kind === 'received' || entry.kind === 'audited') end(entry.lease, 'held');
    if (entry.kind === 'received') leases.get(entry.lease).brought = true;
    if (entry.kind === 'judged') for (const n of [...entry.convicted, ...entry.silent]) end(n, 'out');
    if (entry.kind === 'decided') {
      this.decision = entry;
      if (!this.commitCount) say(this.committed, 'None: the runs were over before the first one was due.');
    }
    if (entry.kind === 'committed') this.commitment(entry);
    else this.timeline.prepend(lineOf(entry, this.state));
    if (entry.kind === 'judged') this.drawDisputes();
    if (entry.kind === 'received') this.record(entry.lease);
    this.later();
  }

  commitment(entry) {
    const {size, root} = checkpointOf(entry.note);
    const of = this.state.leases.get(entry.lease);
    this.commitments.prepend(h('tr', {}, h('th', {scope: 'row', class: 'dim'}, clock(entry.at * 1000)), h('td', {}, of ? keyLabel(of.worker) : entry.lease),
      h('td', {class: 'number'}, number(size)), h('td', {}, h('code', {class: 'dim'}, root.slice(0, 10)))));
    while (this.commitments.children.length > 8) this.commitments.lastChild.remove();
    this.commitCount = (this.commitCount ?? 0) + 1;
    say(this.committed, `${plural(this.commitCount, 'commitment')}; the newest:`);
    this.commitTable.hidden = false;
  }

  sampled(sample, live) {
    const {lease} = sample;
    if (lease === undefined) return;
    const rate = this.charts.sample(this.seriesOf(lease), sample, live);
    this.samples.set(lease, {...sample, rate});
    this.later();
  }
  seriesOf(lease) {
    const of = this.state.leases.get(lease) ?? this.view.leases.find(one => one.lease === lease);
    return of ? keyLabel(of.worker) : `lease ${lease}`;
  }

  streamed(state, error) {
    const words = {live: '● live', lost: '◌ connection lost, trying again', ended: ''}[state];
    say(this.live, error ? error.message : words);
    if (state === 'ended' || state === 'live') this.refresh();
  }

  // A run that is there has its whole record with it, from the first step on; what was seen live is a part of it.
  async record(lease) {
    if (this.told.has(lease) || this.view.sealed) return;
    this.told.add(lease);
    try {
      const run = await get(`/v1/orders/${this.id}/runs/${lease}`);
      const file = run.files.find(one => one.name === 'telemetry.bin');
      if (!file || file.bytes > MOST_TELEMETRY || this.closed) return;
      const last = this.charts.record(this.seriesOf(lease), await getBytes(`/v1/blobs/${file.sha256}`));
      this.samples.set(lease, {lease, ...last, phase: 'train'});
      this.later();
    } catch (error) {
      this.told.delete(lease);
      console.warn(error.message);
    }
  }

  // Many things happen at once when a page is opened; they are drawn together.
  later() {
    this.soon ??= setTimeout(() => {
      this.soon = undefined;
      this.draw();
    }, 100);
  }
  async refresh() {
    try {
      this.view = await lookAt(this.id);
      if (!this.closed) this.draw();
    } catch {
      // The next one, then.
    }
  }

  draw() {
    const view = {...this.view, verdict: this.decision?.verdict ?? this.view.verdict, progress: [...this.samples.values()]};
    if (this.state.leases.size) view.leases = [...this.state.leases].map(([lease, one]) => ({lease, ...one}));
    const open = view.leases.filter(one => one.state === 'open').map(one => one.lease);
    view.progress = view.progress.filter(sample => open.includes(sample.lease));
    replace(this.badge, verdictBadge(view.verdict));
    const words = doing(view);
    say(this.doing, `${words.charAt(0).toUpperCase()}${words.slice(1)}.`);
    this.drawActions(view);
    replace(this.runs, view.leases.length ? table('Runs and audits', ['Lease', 'Worker', 'What', 'State', {name: 'Step', class: 'number'}, {name: 'Loss', class: 'number'},
      {name: 'Speed', class: 'number'}], view.leases.map(one => this.runRow(one))) : h('p', {class: 'dim'}, 'No worker has it yet.'));
    const audits = auditsOf(this.entries, this.state);
    replace(this.audits, audits.length ? [h('h3', {}, 'Audits'), table('Audits', ['Lease', 'Auditor', 'Of', {name: 'Drawn', class: 'number'},
      {name: 'Steps replayed', class: 'number'}, 'Verdict'], audits)] : []);
    if (this.decision && !this.delivered) {
      this.delivered = true;
      drawDelivery(this.delivery, this.id, this.decision, this.state, this.view.sealed);
    }
  }

  runRow(one) {
    const sample = this.samples.get(one.lease);
    const told = sample?.step > 0;
    const [tone, sign, word] = STATES[one.state];
    const at = one.state === 'open' && sample && sample.phase !== 'train' && sample.phase !== 'audit' ? sample.phase : '';
    return [String(one.lease), worker(one.worker), one.role === 'audit' ? 'audit' : one.of ? 'challenge' : 'training',
      badge(tone, sign, one.role === 'audit' && one.state === 'held' ? 'report is there' : at ? `${word}: ${at}` : word),
      told ? `${number(sample.step)} / ${number(sample.steps)}` : '', told && Number.isFinite(sample.loss) ? number(sample.loss) : '',
      told && sample.rate && sample.phase === 'train' ? `${number(sample.rate)} ${sample.unit ?? ''}/s` : ''];
  }

  drawDisputes() {
    const judged = this.entries.filter(entry => entry.kind === 'judged');
    replace(this.disputes, judged.map(entry => h('section', {class: 'card dispute'}, h('h2', {}, h('span', {class: 'sign', 'aria-hidden': 'true'}, '⚖\uFE0E'), ' The runs differed'),
      h('p', {}, entry.convicted.length ? ['Evidence convicts ', entry.convicted.map((n, i) => [i ? ' and ' : '', worker(this.state.leases.get(n)?.worker ?? '')]), '. ', sentence(entry.words.replace(/^lease \d+: /, ''))]
        : `The dispute ended ${entry.outcome}. ${entry.words}`),
      entry.evidence.map((hash, i) => h('p', {}, h('a', {class: 'button main', href: `#/orders/${this.id}/dispute/${hash}`}, i ? `Evidence, file ${i + 1}` : 'See how it was found out'))))));
  }

  drawActions(view) {
    const open = !view.verdict;
    if (this.shownOpen === open) return;
    this.shownOpen = open;
    if (!open) {
      replace(this.actions);
      return;
    }
    const ask = h('button', {type: 'button', onclick: () => {
      replace(this.actions, h('span', {}, 'Cancel this order? What has been trained is lost.'), yes, no);
      yes.focus();
    }}, 'Cancel the order');
    const no = h('button', {type: 'button', onclick: () => {
      replace(this.actions, ask);
      ask.focus();
    }}, 'Keep it');
    const yes = h('button', {type: 'button', class: 'danger', onclick: async () => {
      yes.disabled = true;
      try {
        await post(`/v1/${whoami().role === 'admin' ? 'admin/' : ''}orders/${this.id}/cancel`, {});
        replace(this.actions, h('span', {class: 'dim', role: 'status'}, 'Cancelled. The workers are told.'));
      } catch (error) {
        replace(this.actions, ask, h('span', {class: 'bad', role: 'alert'}, error.message));
      }
    }}, 'Yes, cancel');
    replace(this.actions, ask);
  }
}

export async function showJob(root, id) {
  const page = new JobPage(root, id);
  await page.open();
  return () => page.close();
}
