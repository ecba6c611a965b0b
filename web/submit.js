// How to submit a job. An order is signed by the client's own key over the job's id, which is a hash of the compiled program; the page has neither, and should have
// neither: it writes the command that does it.
import {whoami} from '/web/api.js';
import {h, replace} from '/web/dom.js';
import {command} from '/web/delivery.js';

const quote = text => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export async function showSubmit(root) {
  const {role} = whoami();
  const fields = {};
  const input = (name, label, props, help) => {
    fields[name] = h('input', {id: `s-${name}`, name, oninput: () => draw(), ...props});
    return h('div', {class: 'field'}, h('label', {for: `s-${name}`}, label), fields[name], help ? h('p', {class: 'dim'}, help) : null);
  };
  const out = h('div', {'aria-live': 'polite'});
  const policy = h('p', {class: 'dim'});

  function draw() {
    const job = fields.job.value.trim() || 'job.toml';
    const words = ['assay', 'submit', quote(job)];
    if (fields.data.value.trim()) words.push('--data', quote(fields.data.value.trim()));
    const replicas = Math.max(1, Math.min(16, Number(fields.replicas.value) || 2));
    const audit = Math.max(0, Math.min(100, Number(fields.audit.value) || 0));
    const probe = fields.probe.value === '' ? 100 : Math.max(0, Math.min(100, Number(fields.probe.value)));
    if (audit > 0) words.push('--audit', `${audit}%`);
    if (audit === 0 || replicas > 1) words.push('--replicas', String(Math.max(replicas, audit > 0 ? 1 : 2)));
    if (probe < 100) words.push('--probe', `${probe}%`);
    if (fields.sealed.checked) words.push('--sealed-to', 'all');
    words.push('--wait');
    policy.textContent = audit === 0 && replicas < 2 ? 'One run without an audit would be checked by nobody, and is refused: two runs, then.' : '';
    replace(out, command(`export ASSAY_SERVER=${location.origin}`, 'the server’s address'), command('export ASSAY_TOKEN=…   # the one you signed in with', 'the line for the token'),
      command(words.join(' '), 'the command'));
  }

  replace(root, h('h1', {tabindex: '-1'}, 'Submit a job'),
    h('p', {class: 'lead'}, 'Choose what is to be checked; the command that submits it stands below.'),
    role === 'client' || role === 'admin' ? null : h('p', {class: 'note'}, `A token of role ${role} may not submit orders; it takes one of role client.`),
    h('form', {class: 'form', onsubmit: event => event.preventDefault()},
      input('job', 'Job file', {type: 'text', placeholder: 'job.toml', spellcheck: 'false', autocomplete: 'off'}),
      input('data', 'Data, if not the job’s own', {type: 'text', placeholder: 'your.txt', spellcheck: 'false', autocomplete: 'off'}),
      input('replicas', 'Runs that have to agree', {type: 'number', min: 1, max: 16, value: 2}, 'Workers with different keys train; their results must be the same bit for bit.'),
      input('audit', 'Audit, percent', {type: 'number', min: 0, max: 100, value: 0}, 'Another worker replays so much of a run, drawn after its receipt.'),
      input('probe', 'Probe, percent', {type: 'number', min: 0, max: 100, value: 100}, 'How often a worker with a long clean record is checked at all.'),
      h('div', {class: 'field check'}, fields.sealed = h('input', {type: 'checkbox', id: 's-sealed', onchange: () => draw()}), h('label', {for: 's-sealed'}, 'Sealed: job and data are encrypted to the workers'))),
    policy, h('h2', {}, 'The command'), out,
    h('h2', {}, 'Why not from here?'),
    h('p', {}, 'An order counts because your key signs it, over the id of the job: a hash of the job, its data and the program that is compiled from them. The command has your key and makes ' +
      'all of that on your machine; a page that somebody else serves should have neither. It also remembers what you ordered, so that it can tell when a coordinator shows you something else.'));
  draw();
}
