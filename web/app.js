// The frame of the page: who is signed in, which page is shown, the theme, and whether the server answers. Pages are functions
// show(root, parameters) that may return a function to be called when they are left.
import {ApiError, Unreachable, hasToken, onChange, resume, signIn, signOut, signedIn, whoami, get, isReachable} from '/web/api.js';
import {h, replace, say} from '/web/dom.js';
import {forgetColours} from '/web/chart.js';
import {showJobs} from '/web/jobs.js';

const main = document.getElementById('main');
const nav = document.getElementById('nav');
const link = document.getElementById('link');

// Pages that need more are brought when they are asked for.
const PAGES = [
  [/^$/, async () => showJobs, 'Jobs'],
  [/^orders\/([0-9a-f]{32})$/, async () => (await import('/web/job.js')).showJob, 'Job'],
  [/^orders\/([0-9a-f]{32})\/dispute\/([0-9a-f]{64})$/, async () => (await import('/web/dispute.js')).showDispute, 'Dispute'],
  [/^workers$/, async () => (await import('/web/workers.js')).showWorkers, 'Workers'],
  [/^workers\/([0-9a-f]{64})$/, async () => (await import('/web/workers.js')).showWorker, 'Worker'],
  [/^submit$/, async () => (await import('/web/submit.js')).showSubmit, 'Submit'],
  [/^judge$/, async () => (await import('/web/dispute.js')).showJudge, 'Judge'],
];
const LINKS = [['', 'Jobs'], ['workers', 'Workers'], ['submit', 'Submit'], ['judge', 'Judge']];

let leave = null;
let turn = 0;

export function title(text) {
  document.title = text ? `${text} · Assay` : 'Assay';
}

export function problem(error) {
  const words = error instanceof Unreachable ? 'The coordinator cannot be reached. This page comes back by itself.' : error.message;
  return h('p', {class: 'note bad', role: 'alert'}, h('span', {class: 'sign', 'aria-hidden': 'true'}, '✕'), words);
}

const place = () => location.hash.replace(/^#\/?/, '').split('?')[0];

function drawNav() {
  const here = place();
  replace(nav, signedIn() ? LINKS.map(([path, name]) => h('a', {href: `#/${path}`,
    'aria-current': here === path || (path && here.startsWith(path)) || (!path && here.startsWith('orders')) ? 'page' : null}, name)) : []);
  document.getElementById('leave').hidden = !signedIn();
}

async function go() {
  const mine = turn += 1;
  leave?.();
  leave = null;
  drawNav();
  if (!signedIn()) {
    showSignIn();
    return;
  }
  const path = place();
  const found = PAGES.map(([pattern, load, name]) => ({match: pattern.exec(path), load, name})).find(page => page.match);
  if (!found) {
    replace(main, h('h1', {tabindex: '-1'}, 'There is no such page'), h('p', {}, h('a', {href: '#/'}, 'To the jobs')));
    return;
  }
  title(found.name);
  const root = h('div', {class: 'page'});
  try {
    const show = await found.load();
    if (mine !== turn) return;
    replace(main, root);
    const close = await show(root, ...found.match.slice(1));
    if (mine !== turn) close?.();
    else leave = close ?? null;
  } catch (error) {
    if (mine === turn) replace(main, h('h1', {tabindex: '-1'}, found.name), problem(error));
  }
  if (mine !== turn) return;
  // Whoever follows a link with the keyboard goes on at the top of what has come.
  if (moved) main.querySelector('h1')?.focus({preventScroll: true});
  window.scrollTo(0, 0);
}
let moved = false;

function showSignIn(words) {
  title('Sign in');
  const field = h('input', {id: 'token', name: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true,
    placeholder: 'assay_…', 'aria-describedby': 'token-help'});
  const trouble = h('div', {role: 'alert'}, words ? h('p', {class: 'note bad'}, words) : null);
  const button = h('button', {type: 'submit', class: 'main'}, 'Sign in');
  const form = h('form', {class: 'sign-in', onsubmit: async event => {
    event.preventDefault();
    button.disabled = true;
    try {
      await signIn(field.value);
      welcome();
      go();
    } catch (error) {
      const text = error instanceof ApiError && error.status === 401 ? 'This token is not known here, has ended, or was revoked.' : error.message;
      replace(trouble, h('p', {class: 'note bad'}, text));
      field.focus();
    } finally {
      button.disabled = false;
    }
  }}, h('h1', {tabindex: '-1'}, 'Sign in'),
  h('p', {}, 'With a token that the operator of this coordinator gave you.'),
  h('label', {for: 'token'}, 'Token'), field,
  h('p', {class: 'dim', id: 'token-help'}, 'It stays in this tab and is gone when you close it. Operators make one with ',
    h('code', {}, 'assay admin token --role client'), '.'), trouble, button);
  replace(main, form);
  if (moved || !('ontouchstart' in window)) field.focus({preventScroll: true});
}

async function welcome() {
  try {
    const about = await get('/v1/coordinator');
    say(document.getElementById('about'), `Coordinator ${about.key.split('+').slice(0, 2).join('+')}, version ${about.version}. ` +
      `Signed in as ${whoami().account} (${whoami().role}). What counts are signatures and evidence, which the assay commands check; this page shows what the coordinator says.`);
  } catch {
    // The footer is no reason to complain.
  }
}

function drawLink() {
  say(link, isReachable() ? '' : '◌ offline, trying again');
  link.classList.toggle('bad', !isReachable());
}

const themeButton = document.getElementById('theme');
function drawTheme() {
  const {theme} = document.documentElement.dataset;
  themeButton.textContent = theme === 'dark' ? '☾ dark' : theme === 'light' ? '☀ light' : '◐ auto';
  themeButton.setAttribute('aria-label', `Theme: ${theme ?? 'as the system has it'}. Change it`);
  forgetColours();
  dispatchEvent(new Event('assay-theme'));
}
themeButton.addEventListener('click', () => {
  const root = document.documentElement;
  const next = {undefined: 'light', light: 'dark', dark: undefined}[root.dataset.theme];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  try {
    if (next) localStorage.setItem('assay.theme', next);
    else localStorage.removeItem('assay.theme');
  } catch {
    // It lasts until the page is left.
  }
  drawTheme();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawTheme);

document.getElementById('leave').addEventListener('click', signOut);
document.querySelector('.skip').addEventListener('click', event => {
  event.preventDefault();
  main.focus();
});
onChange(what => {
  drawLink();
  if (what === 'signed out') {
    leave?.();
    leave = null;
    turn += 1;
    drawNav();
    showSignIn();
  } else if (what === 'online' && !signedIn() && hasToken()) {
    start();
  } else if (what === 'online' && main.querySelector(':scope > .note.bad')) {
    go();
  }
});
addEventListener('hashchange', () => {
  moved = true;
  go();
});

async function start() {
  drawTheme();
  drawLink();
  if (hasToken()) {
    try {
      await resume();
      welcome();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) signOut();
      else {
        replace(main, problem(error));
        return;
      }
    }
  }
  go();
}
start();
