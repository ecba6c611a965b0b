// A dispute as a picture: how the interval narrowed, the operator that it ended at, and the two blocks of numbers. All of it is told from the evidence; whoever
// wants to decide it without this server does so with the same file.
import {get, getBytes} from '/web/api.js';
import {copyButton, h, replace, saveBlob} from '/web/dom.js';
import {badge, keyLabel, short, worker} from '/web/words.js';
import {drawRounds} from '/web/rounds.js';
import {drawGraph} from '/web/graph.js';
import {drawBlock} from '/web/block.js';
import {NoJudge, judge} from '/web/server_judge.js';
import {command} from '/web/delivery.js';
import {title, problem} from '/web/app.js';

const STANDINGS = {convicted: ['bad', '✕', 'convicted'], accused: ['warn', '!', 'accused'], misled: ['warn', '≈', 'misled'], silent: ['warn', '…', 'gave no answer'],
  stands: ['good', '✓', 'stands']};

const WHERE = {receipt: 'the receipt', entry: 'an entry of the log', start: 'the starting state', batch: 'a batch', history: 'the steps between two entries',
  structure: 'a node that the program does not have', input: 'what a node was run on', output: 'what a node gave', result: 'what came of a step',
  unproven: 'an answer that proves nothing', weights: 'the delivered weights'};

function partiesOf(told) {
  return h('ul', {class: 'parties'}, told.parties.map((party, i) => {
    const [tone, sign, word] = STANDINGS[party.standing] ?? STANDINGS.stands;
    const side = told.sides ? told.sides.indexOf(i) : -1;
    return h('li', {}, side >= 0 ? h('span', {class: `side side-${side}`}, 'AB'[side]) : null, worker(party.key), ' ', badge(tone, sign, word),
      party.why && party.why !== told.finding?.reason ? h('p', {class: 'dim'}, party.why) : null);
  }));
}

const sentence = text => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function headline(told) {
  const guilty = told.parties.filter(party => party.standing === 'convicted').map(party => keyLabel(party.key));
  if (told.finding && guilty.length) return `${guilty.join(' and ')} lied${told.finding.step === null ? '' : ` at step ${told.finding.step}`}`;
  if (guilty.length) return `${guilty.join(' and ')} convicted`;
  return told.open ? 'Left open' : 'Nobody is convicted';
}

function factsOf(told) {
  const {finding} = told;
  if (!finding) return null;
  const rows = [['About', WHERE[finding.cause] ?? finding.cause], ['Step', finding.step === null ? null : `${finding.step} of ${told.steps}`],
    ['Node', finding.node === null ? null : `${finding.node} of ${told.nodes}: ${finding.node_name}`], ['Block of 4 KiB', finding.leaf], ['Element', finding.element]];
  return h('dl', {class: 'facts'}, rows.filter(([, value]) => value !== null && value !== undefined && value !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]));
}

// The pictures of one retelling.
function drawTold(root, told) {
  const names = told.sides ? told.sides.map(i => keyLabel(told.parties[i].key)) : ['A', 'B'];
  replace(root, h('section', {class: 'card'}, h('h2', {}, 'What was found'), h('p', {class: 'lead'}, sentence(told.finding?.reason ?? told.open ?? 'nothing was examined')),
    factsOf(told), partiesOf(told)));
  if (told.rounds.length) {
    root.append(h('section', {}, h('h2', {}, 'How it was found'), h('p', {class: 'dim'}, 'Each round asks both sides about the interval that is left, and keeps the first part in which ' +
      'they differ: from all steps to one, from all nodes of that step to one, and to one block of its numbers.'), drawRounds(told)));
  }
  if (told.graph) root.append(h('section', {}, h('h2', {}, 'The operator'), drawGraph(told)));
  if (told.block || told.finding?.truth) root.append(h('section', {}, h('h2', {}, 'The two versions'), drawBlock(told, names)));
}

// The evidence judged by the visitor's own browser, where the server has the judge for it.
function judgeHere(evidence, file) {
  const words = h('p', {role: 'status', class: 'dim'});
  const button = h('button', {type: 'button', onclick: async () => {
    button.disabled = true;
    try {
      const said = await judge(await evidence(), file);
      replace(words, said.convicts ? badge('good', '✓', 'judged here') : badge('warn', '?', 'judged here'), ` ${said.worth ?? said.error ?? ''} ${said.reason ?? ''}`);
    } catch (error) {
      replace(words, error instanceof NoJudge ? `Not here: ${error.message}.` : error.message);
    }
    button.disabled = false;
  }}, 'Judge it in this browser');
  return h('div', {}, button, words);
}

export async function showDispute(root, order, hash) {
  const told = await get(`/v1/orders/${order}/evidence/${hash}`);
  title('Dispute');
  const file = `${short(hash)}.evidence`;
  const download = h('button', {type: 'button', class: 'main', onclick: async () => {
    try {
      saveBlob(new Blob([await getBytes(`/v1/blobs/${hash}`)]), file);
    } catch (error) {
      download.after(problem(error));
    }
  }}, 'Download the evidence');
  const pictures = h('div', {class: 'told'});
  const key = told.parties.find(party => party.standing === 'convicted')?.key;
  replace(root, h('p', {class: 'crumb'}, h('a', {href: '#/'}, 'Jobs'), ' / ', h('a', {href: `#/orders/${order}`}, short(order)), ' / dispute'),
    h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, headline(told)), told.convicts ? badge('bad', '✕', 'convicted') : badge('warn', '?', 'no conviction')),
    pictures,
    h('section', {}, h('h2', {}, 'Check it yourself'), h('p', {}, 'This page shows what the coordinator makes of the evidence. The file alone, without the coordinator, the data or a GPU, gives everybody the same verdict.'),
      h('div', {class: 'actions'}, download, judgeHere(() => getBytes(`/v1/blobs/${hash}`), file)),
      command(`assay judge ${file} --explain --job ${told.job}${key ? ` --signer '${key}'` : ''}`, 'the command'),
      h('p', {class: 'dim'}, 'SHA-256 of the evidence: ', h('code', {class: 'wrap'}, hash), ' ', copyButton(hash, 'the hash'))));
  drawTold(pictures, told);
}

// A file from the visitor's machine, judged in the browser alone: nothing is sent anywhere.
export async function showJudge(root) {
  const result = h('div', {class: 'told', role: 'status'});
  const field = h('input', {type: 'file', id: 'evidence', onchange: async () => {
    const [file] = field.files;
    if (!file) return;
    replace(result, h('p', {class: 'dim'}, 'Judging …'));
    try {
      const said = await judge(new Uint8Array(await file.arrayBuffer()), file.name);
      const verdict = h('section', {class: 'card'}, h('h2', {}, said.convicts ? 'The evidence convicts' : 'The evidence convicts nobody'), h('p', {}, said.worth ?? said.error ?? ''),
        said.explanation ? h('pre', {}, said.explanation) : null);
      replace(result, verdict);
      if (said.retelling) {
        const pictures = h('div', {class: 'told'});
        result.append(pictures);
        drawTold(pictures, said.retelling);
      }
    } catch (error) {
      replace(result, h('p', {class: 'note'}, error instanceof NoJudge ? ['This server has no judge for browsers. On your machine: ', h('code', {}, `assay judge ${file.name} --explain`)]
        : error.message));
    }
  }});
  replace(root, h('h1', {tabindex: '-1'}, 'Judge evidence'), h('p', {class: 'lead'}, 'Evidence is a file from which anybody finds out again who is guilty of what. It is judged in this browser; ' +
    'the file is not sent anywhere.'), h('label', {for: 'evidence'}, 'File of evidence'), field, result);
}
