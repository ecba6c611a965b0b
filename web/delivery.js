// What an order gives: the model and the other files of the run that is delivered, to take away; and how to have all of it checked.
import {get, getBlob} from '/web/api.js';
import {copyButton, h, replace, saveBlob, table} from '/web/dom.js';
import {bytes, worker} from '/web/words.js';

const MOST_HASHED = 512 << 20;

// Browsers hash in secure contexts alone: over https, or on this machine.
async function hashOf(blob) {
  if (!globalThis.crypto?.subtle || blob.size > MOST_HASHED) return null;
  const hash = await crypto.subtle.digest('SHA-256', await blob.arrayBuffer());
  return Array.from(new Uint8Array(hash), byte => byte.toString(16).padStart(2, '0')).join('');
}

export function downloadButton(file, label, name = file.name) {
  const words = h('span', {class: 'dim', role: 'status'});
  const button = h('button', {type: 'button', onclick: async () => {
    button.disabled = true;
    words.textContent = ' …';
    try {
      const blob = await getBlob(`/v1/blobs/${file.sha256}`);
      const hash = await hashOf(blob);
      if (hash !== null && hash !== file.sha256) throw new Error('the bytes that came are others than those that were asked for');
      saveBlob(blob, name.split('/').at(-1));
      words.textContent = hash === null ? ' saved' : ' saved; its SHA-256 is right';
    } catch (error) {
      words.textContent = ` ${error.message}`;
    }
    button.disabled = false;
  }}, label);
  return h('span', {}, button, words);
}

export function command(text, what) {
  return h('div', {class: 'command'}, h('code', {}, text), copyButton(text, what));
}

export async function drawDelivery(root, order, decision, state, sealed) {
  if (!decision.lease) return;
  const section = h('section', {}, h('h2', {}, 'Delivered'),
    h('p', {}, 'The run of ', worker(state.leases.get(decision.lease)?.worker ?? ''), '. This command fetches it and checks everything that the page only shows: signatures, ' +
      'the life of the order, the evidence, the model’s root.'), command(`assay fetch ${order} --out model`, 'the command'));
  replace(root, section);
  const run = await get(`/v1/orders/${order}/runs/${decision.lease}`);
  const model = run.files.find(file => file.name === 'model.safetensors');
  section.append(model ? h('p', {}, downloadButton(model, `Download the model (${bytes(model.bytes)})`, `${order.slice(0, 8)}.safetensors`)) : '',
    sealed ? h('p', {class: 'note'}, 'The order is sealed: these files are encrypted to the client. assay fetch opens them.') : '',
    h('details', {}, h('summary', {}, `All ${run.files.length} files of the run`), table('Files of the run', ['Name', {name: 'Size', class: 'number'}, 'SHA-256', 'Take it'],
      run.files.map(file => [file.name, bytes(file.bytes), h('code', {class: 'dim'}, file.sha256.slice(0, 16)), downloadButton(file, 'Download')]))));
}
