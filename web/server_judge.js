// judge(bytes): what the evidence shows, decided here in the browser by the server's judge.wasm, without trusting whoever serves this page's data. Answers with the
// object of `assay judge --explain --json`; of what is no evidence, with {error}.
import {loadJudge} from '/web/judge.js';

const PLACE = '/judge.wasm';

export class NoJudge extends Error {
  constructor() {
    super('this server has no judge for browsers; assay judge decides the same on your machine');
  }
}

let loaded = null;
async function load() {
  const answer = await fetch(PLACE, {cache: 'no-cache', credentials: 'omit'});
  if (!answer.ok) throw new NoJudge();
  return loadJudge(answer);
}

export async function judge(evidence, name) {
  loaded ??= load().catch(error => {
    loaded = null;
    throw error;
  });
  return (await (await loaded)(evidence, {name})).verdict;
}
