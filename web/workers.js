// Workers: what they measured of their machines, how they stand, when they were last heard of; and the record of one of them.
import {every, get, whoami} from '/web/api.js';
import {copyButton, h, replace, say, table} from '/web/dom.js';
import {ago, badge, bytes, keyHash, keyName, number, plural, short, verdictBadge, when, worker} from '/web/words.js';
import {title} from '/web/app.js';

const LATE_MS = 150_000;  // signs of life are up to a minute old

function standing(one) {
  if (one.evidence.length) return badge('bad', '✕', 'convicted');
  if (Date.now() - one.seen > LATE_MS) return badge('warn', '◌', 'not heard of');
  return badge('good', '✓', one.role === 'auditor' ? 'here, for audits' : 'here');
}

function machine(hardware) {
  if (!hardware?.name) return h('span', {class: 'dim'}, 'not said');
  return [hardware.name, h('div', {class: 'dim'}, `${hardware.device}${hardware.kernels ? `, ${hardware.kernels}` : ''}, ${plural(hardware.threads ?? 0, 'thread')} of ${plural(hardware.cores ?? 0, 'core')}`)];
}

export async function showWorkers(root) {
  const {role} = whoami();
  const count = h('p', {class: 'dim', role: 'status'});
  const list = h('div', {});
  replace(root, h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, 'Workers'), count),
    role === 'client' || role === 'admin' ? null : h('p', {class: 'note'}, `A token of role ${role} sees the workers of its own account.`), list);
  const draw = async () => {
    const {workers} = await get('/v1/workers?all=1');
    const here = workers.filter(one => !one.evidence.length && Date.now() - one.seen <= LATE_MS).length;
    say(count, `${plural(workers.length, 'key')}, ${here} here`);
    replace(list, workers.length ? table('Workers', ['Worker', 'Standing', 'Machine', {name: 'Measured', class: 'number'}, {name: 'Offers', class: 'number'}, {name: 'Record', class: 'number'}, 'Last seen'],
      workers.sort((a, b) => b.seen - a.seen).map(one => [worker(one.key), standing(one), machine(one.hardware),
        one.hardware?.matmul_gflops ? [`${number(one.hardware.matmul_gflops)} Gflop/s`, h('div', {class: 'dim'}, `hash ${number(one.hardware.hash_gbps)} GB/s`)] : '–',
        one.hardware?.memory ? [bytes(one.hardware.memory), h('div', {class: 'dim'}, `disk ${bytes(one.hardware.disk ?? 0)}`)] : '–',
        plural(one.record, 'clean job'), ago(one.seen)])) : h('p', {class: 'dim'}, 'No worker is registered.'));
  };
  await draw();
  return every(5000, draw);
}

export async function showWorker(root, point) {
  const one = await get(`/v1/workers/${point}`);
  const {role} = whoami();
  title(keyName(one.key));
  const facts = [['Key', [h('code', {class: 'wrap'}, one.key), ' ', copyButton(one.key, 'the key')]], ['Role', one.role], ['Record', `${plural(one.record, 'job')} that ${one.record === 1 ? 'was' : 'were'} checked and held`],
    ['Machine', machine(one.hardware)], ['Measured', one.hardware.matmul_gflops ? `matrix product ${number(one.hardware.matmul_gflops)} Gflop/s, hash ${number(one.hardware.hash_gbps)} GB/s` : '–'],
    ['Offers', one.hardware.memory ? `${bytes(one.hardware.memory)} of memory, ${bytes(one.hardware.disk ?? 0)} of disk` : '–'], ['Version', one.hardware.version ?? '–'],
    ['Registered', when(one.made)], ['Last seen', ago(one.seen)]];
  const sees = role === 'client' ? 'in orders of your account' : role === 'admin' ? 'in all orders' : 'of your worker; whose orders they were in is not shown to you';
  const orderOf = id => (role === 'client' || role === 'admin' ? h('a', {href: `#/orders/${id}`}, h('code', {}, short(id))) : h('code', {}, short(id)));
  replace(root, h('p', {class: 'crumb'}, h('a', {href: '#/workers'}, 'Workers'), ' / ', keyHash(one.key)),
    h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, keyName(one.key)), standing(one)),
    h('dl', {class: 'facts'}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('section', {}, h('h2', {}, 'Convictions'), one.evidence.length ? [
      h('p', {}, 'Evidence shows that this key signed something false. It gets no more work here; that cannot be taken back.'),
      one.convictions.length ? table('Convictions', ['Order', 'What for', 'Evidence'], one.convictions.map(c => [orderOf(c.order), c.words || '–',
        c.evidence.map(hash => role === 'client' || role === 'admin' ? h('a', {href: `#/orders/${c.order}/dispute/${hash}`}, 'see the dispute') : h('code', {}, short(hash)))]))
        : h('p', {class: 'dim'}, 'In an order of another account, whose evidence this token may not see. Its SHA-256: ', h('code', {class: 'wrap'}, one.evidence.join(' '))),
    ] : h('p', {class: 'dim'}, 'None.')),
    h('section', {}, h('h2', {}, 'Leases'), h('p', {class: 'dim'}, `The newest ${sees}.`), one.orders.length ? table('Leases', ['Order', {name: 'Lease', class: 'number'}, 'Lease is', 'Verdict of the order', 'Submitted'],
      one.orders.map(line => [orderOf(line.order), String(line.lease), line.open ? badge('open', '▷', 'open') : 'over', verdictBadge(line.verdict), when(line.made)]))
      : h('p', {class: 'dim'}, 'None that this token may see.')));
}
