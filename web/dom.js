// Elements from calls: h('p', {class: 'note'}, 'text', child). Text is always text: nothing that comes from a server is ever read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// Sets text only where it differs, so that nothing is laid out or announced again for nothing.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A table with headers: columns are {name, class} or names.
export function table(caption, columns, rows) {
  const heads = columns.map(column => (typeof column === 'string' ? {name: column} : column));
  return h('div', {class: 'scroll'},
    h('table', {}, h('caption', {class: 'hidden'}, caption),
      h('thead', {}, h('tr', {}, heads.map(head => h('th', {scope: 'col', class: head.class}, head.name)))),
      h('tbody', {}, rows.map(cells => h('tr', {}, cells.map((cell, i) => h(i === 0 ? 'th' : 'td',
        {scope: i === 0 ? 'row' : null, class: heads[i].class}, cell)))))));
}

// A button that copies a text and says so.
export function copyButton(text, what) {
  const button = h('button', {type: 'button', class: 'quiet copy', 'aria-label': `Copy ${what}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'copied';
    } catch {
      button.textContent = 'select and copy by hand';
    }
    setTimeout(() => { button.textContent = 'copy'; }, 2000);
  }}, 'copy');
  return button;
}

export function saveBlob(blob, name) {
  const link = h('a', {href: URL.createObjectURL(blob), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
