// The life of an order, entry by entry, in sentences. Pure functions.
import {h} from '/web/dom.js';
import {VERDICTS, bytes, clock, keyName, number, payloadOf, plural, worker} from '/web/words.js';

// A signed checkpoint is three lines and its signatures: origin, size, root in base64.
export function checkpointOf(note) {
  const [, size, root] = note.split('\n');
  return {size: Number(size), root};
}

export function receiptOf(text) {
  try {
    const {predicate, subject} = payloadOf(text);
    return {predicate, subject};
  } catch {
    return null;
  }
}
export function reportOf(text) {
  try {
    return payloadOf(text);
  } catch {
    return null;
  }
}

const leases = list => list.map(n => `lease ${n}`).join(' and ');

// {sign, tone, text: nodes, words: more nodes or null}
export function tellEntry(entry, state) {
  const of = n => state.leases.get(n);
  const by = n => (of(n) ? worker(of(n).worker) : `lease ${n}`);
  switch (entry.kind) {
    case 'submitted': return {sign: '+', text: ['Submitted, signed by ', h('b', {}, keyName(payloadOf(entry.order).client))]};
    case 'leased': {
      const what = entry.role === 'audit' ? ` audits the run of lease ${entry.of}`
        : entry.of ? ` trains to back its audit (lease ${entry.of})` : ' trains';
      return {sign: entry.role === 'audit' ? '⌕' : '▷', text: [worker(entry.worker), what, h('span', {class: 'dim'}, ` · lease ${entry.lease}`)]};
    }
    case 'committed': return {sign: '·', text: [by(entry.lease), ` committed to ${plural(checkpointOf(entry.note).size, 'entry', 'entries')} of its log`],
      quiet: true};
    case 'released': return {sign: '◁', tone: 'warn', text: [by(entry.lease), ` ended without a result: ${entry.why}`], words: entry.words};
    case 'received': return {sign: '▣', text: [by(entry.lease), ` handed in its run: a signed receipt, and a model of ${bytes(entry.model)}`]};
    case 'audited': {
      const report = reportOf(entry.report);
      const held = report?.verdict === 'verified';
      return {sign: held ? '✓' : '✕', tone: held ? 'good' : 'warn', text: [by(entry.lease),
        report ? ` replayed ${plural(report.steps, 'step')} (${report.percent}%): ${report.verdict}` : ' reported'], words: report?.words};
    }
    case 'judged': {
      const parts = [];
      if (entry.convicted.length) parts.push(`${leases(entry.convicted)} convicted by evidence`);
      if (entry.silent.length) parts.push(`${leases(entry.silent)} lost without being convicted`);
      if (!parts.length) parts.push('nobody fell');
      return {sign: '⚖\uFE0E', tone: entry.convicted.length ? 'bad' : 'warn', words: entry.words,
        text: [`Dispute among ${leases(entry.among)}: ${entry.outcome}; ${parts.join(', ')}`,
          entry.evidence.map((hash, i) => [' · ', h('a', {href: `#/orders/${state.id}/dispute/${hash}`}, i ? `file ${i + 1}` : 'see the dispute')])]};
    }
    case 'waived': return {sign: '≈', text: [by(entry.lease), ` was taken without a check: ${plural(entry.record, 'clean job')} before, and the draw said so`]};
    case 'cancelled': return {sign: '✕', tone: 'warn', text: [`Cancelled by the ${entry.by}`]};
    case 'decided': {
      const {sign, tone} = VERDICTS[entry.verdict] ?? VERDICTS.undecided;
      return {sign, tone, text: [h('b', {}, entry.verdict), entry.lease ? [': the run of ', by(entry.lease), ' is delivered'] : ''], words: entry.words};
    }
    default: return {sign: '·', text: [entry.kind]};
  }
}

export function lineOf(entry, state) {
  const {sign, tone, text, words} = tellEntry(entry, state);
  return h('li', {class: `event ${tone ?? ''}`}, h('span', {class: 'sign', 'aria-hidden': 'true'}, sign),
    h('div', {}, h('p', {}, text), words ? h('p', {class: 'dim'}, words) : null),
    h('time', {datetime: new Date(entry.at * 1000).toISOString(), class: 'dim'}, clock(entry.at * 1000)));
}

// Audits with their figures.
export function auditsOf(entries, state) {
  return entries.filter(entry => entry.kind === 'audited').map(entry => {
    const report = reportOf(entry.report);
    return [`lease ${entry.lease}`, worker(state.leases.get(entry.lease)?.worker ?? ''), `run of lease ${state.leases.get(entry.lease)?.of ?? '?'}`,
      `${report?.percent ?? '?'}%`, number(report?.steps ?? NaN), report?.verdict ?? ''];
  });
}
