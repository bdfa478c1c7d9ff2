/** What all pictures of the page are put together from: a section, a figure with its words, a legend. */

import { element } from './format.js';
import { legend } from './bars.js';

/** @typedef {import('./data.js').Run} Run */

/** @param {string} id @param {string} title @param {string} what */
export function section(id, title, what) {
  return element('section', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title),
    element('p', { class: 'what' }, what));
}

/** @param {string} title @param {Node[]} nodes */
export function figure(title, nodes) {
  return element('figure', {}, element('figcaption', {}, title), ...nodes);
}

/** @param {string} text */
export function alternative(text) {
  return element('p', { class: 'alternative' }, text);
}

/** @param {{name: string, colour: string}[]} told @param {Run[]} [only] */
export function names(told, only) {
  const wanted = told.filter(({ name }) => !only || only.some((run) => run.name === name));
  return legend(wanted.map((one) => ({ ...one, value: 0 })));
}

/** @param {number} ns */
export function shortTime(ns) {
  const units = ['ns', 'µs', 'ms', 's'];
  let [size, nth] = [ns, 0];
  while (nth < 3 && size >= 999.5) [size, nth] = [size / 1000, nth + 1];
  return `${size >= 99.5 ? size.toFixed(0) : Number(size.toPrecision(2))}${units[nth]}`;
}
