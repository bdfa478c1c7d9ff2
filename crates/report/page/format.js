/** Numbers as people read them: three digits, and a unit chosen per value. */

/** @param {number} value @param {number} step @param {string[]} units @returns {string} */
function scaled(value, step, units) {
  let size = Math.abs(value);
  let nth = 0;
  while (nth + 1 < units.length && size + 0.5 >= step) {
    size /= step;
    nth += 1;
  }
  return `${value < 0 ? '-' : ''}${digits(size)}${units[nth]}`;
}

/**
 * Three digits, no more than are there.
 * @param {number} size @returns {string}
 */
function digits(size) {
  if (Number.isInteger(size) && size < 1000) return String(size);
  if (size >= 99.95) return size.toFixed(0);
  if (size >= 9.995) return size.toFixed(1);
  return size.toFixed(2);
}

/** @param {number} ns @returns {string} */
export function time(ns) {
  return scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
}

/** @param {number} size @returns {string} */
export function bytes(size) {
  return scaled(size, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

/** @param {number} bytesPerSecond @returns {string} */
export function rate(bytesPerSecond) {
  return `${bytes(bytesPerSecond)}/s`;
}

/** @param {number} part of one @returns {string} */
export function percent(part) {
  const of = part * 100;
  return `${of >= 9.95 || of === 0 ? of.toFixed(0) : of.toFixed(1)} %`;
}

/** @param {number} number @returns {string} */
export function count(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ' ');
}

/**
 * A moment of the run, as exactly as the window asks for.
 * @param {number} ns @param {number} window @returns {string}
 */
export function moment(ns, window) {
  const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(window / 1e9)) + 2));
  return `${(ns / 1e9).toFixed(places)} s`;
}

/** @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} children */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const SPACE = 'http' + '://www.w3.org/2000/svg';

/** @param {string} tag @param {Record<string, string | number>} attributes */
export function svg(tag, attributes) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}
