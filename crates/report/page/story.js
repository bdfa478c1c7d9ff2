/** What an I/O's time went to, piece by piece, and what a command was: what stands beside the pointer. */

import { bytes, element, time } from './format.js';
import { LEGS, SECTOR, WAYS } from './data.js';
import { colour, theme } from './palette.js';

/**
 * Where each I/O's pieces begin.
 * @type {WeakMap<import('./data.js').Ios, Float64Array>}
 */
const beginnings = new WeakMap();

/** @param {import('./data.js').Ios} ios @returns {Float64Array} */
function piecesBegin(ios) {
  let known = beginnings.get(ios);
  if (!known) {
    known = new Float64Array(ios.pieces.length + 1);
    for (let nth = 0; nth < ios.pieces.length; nth += 1) known[nth + 1] = known[nth] + ios.pieces[nth];
    beginnings.set(ios, known);
  }
  return known;
}

/**
 * The place of an I/O by its number; -1: it is not told.
 * @param {import('./data.js').Ios} ios @param {number} nth
 */
export function findIo(ios, nth) {
  let [low, high] = [0, ios.nth.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ios.nth[middle] < nth) low = middle + 1;
    else high = middle;
  }
  return ios.nth[low] === nth ? low : -1;
}

/** @param {import('./data.js').Run} run @param {number} process @param {number} way @param {number} sectors @param {number} sector */
function what(run, process, way, sectors, sector) {
  const who = run.processes[process] ?? 'somebody';
  if (WAYS[way] === 'sync') return `${who}'s fsync or flush`;
  return `${who}'s ${WAYS[way]} of ${bytes(sectors * SECTOR)} at sector ${sector}`;
}

/**
 * An I/O: what it was, how long it took, and its pieces.
 * @param {import('./data.js').Run} run @param {number} at @returns {Node[]}
 */
export function ioStory(run, at) {
  const { ios } = run;
  const whole = ios.latency[at];
  /** @type {Node[]} */
  const nodes = [
    element('strong', {}, `I/O ${ios.nth[at]}: ${time(whole)}`),
    element('p', {}, `${what(run, ios.process[at], ios.way[at], ios.sectors[at], ios.sector[at])}, `
      + `from ${(ios.begun[at] / 1e9).toFixed(6)} s on.`),
  ];
  const told = run.stories[String(ios.nth[at])];
  if (told) nodes.push(element('p', {}, `It ${told}.`));
  if (ios.pieces[at] === 0) {
    nodes.push(element('p', { class: 'note' }, whole === 0 ? 'It took no time.'
      : 'Where its time went is kept only for the slowest; blksched explain --request shows it for any.'));
    return nodes;
  }
  nodes.push(strip(run, at), pieceTable(run, at));
  return nodes;
}

/** @param {import('./data.js').Run} run @param {number} at */
function pieces(run, at) {
  const { ios } = run;
  const first = piecesBegin(ios)[at];
  const found = [];
  let from = 0;
  for (let nth = first; nth < first + ios.pieces[at]; nth += 1) {
    const [leg, rule, whom] = run.parts[ios.part[nth]] ?? [0, 'something', ''];
    found.push({ from, ns: ios.ns[nth], leg, rule, whom, commands: ios.commands[nth] });
    from += ios.ns[nth];
  }
  return found;
}

/**
 * The pieces to scale, one behind the other.
 * @param {import('./data.js').Run} run @param {number} at
 */
function strip(run, at) {
  const whole = Math.max(1, run.ios.latency[at]);
  const bar = element('div', { class: 'strip', 'aria-hidden': 'true' });
  for (const piece of pieces(run, at)) {
    const part = element('span', { style: `flex-grow:${piece.ns / whole};background:${legColour(piece.leg)}` });
    bar.append(part);
  }
  return bar;
}

/** @param {number} leg */
export function legColour(leg) {
  return [colour(4), colour(1), colour(0), colour(2), theme().nobody][leg] ?? theme().nobody;
}

/** @param {import('./data.js').Run} run @param {number} at */
function pieceTable(run, at) {
  const all = pieces(run, at);
  const shown = all.length > 12 ? [...all].sort((a, b) => b.ns - a.ns).slice(0, 12).sort((a, b) => a.from - b.from) : all;
  const body = element('tbody', {});
  for (const piece of shown) {
    const whom = piece.whom ? `${piece.rule}: ${piece.whom}` : piece.rule;
    const many = piece.commands > 1 ? ` (${piece.commands} commands)` : '';
    body.append(element('tr', {},
      element('td', { class: 'number' }, `+${time(piece.from)}`),
      element('td', { class: 'number' }, time(piece.ns)),
      element('td', {}, element('i', { class: 'swatch', style: `background:${legColour(piece.leg)}` }), whom + many)));
  }
  const table = element('table', {}, body);
  const rest = all.length - shown.length;
  if (rest > 0) table.append(element('caption', { class: 'note' }, `${rest} shorter pieces are left out`));
  return table;
}

/**
 * A command, and the I/O that it was for.
 * @param {import('./data.js').Run} run @param {number} at @returns {Node[]}
 */
export function commandStory(run, at) {
  const { sent } = run;
  /** @type {Node[]} */
  const nodes = [
    element('strong', {}, `Command ${at + 1}: ${time(sent.in_disk[at])} in the disk`),
    element('p', {}, `${what(run, sent.process[at], sent.way[at], sent.sectors[at], sent.sector[at])}, `
      + `sent at ${(sent.issued[at] / 1e9).toFixed(6)} s after ${time(sent.waited[at])} with the scheduler.`),
  ];
  const io = sent.io[at] > 0 ? findIo(run.ios, sent.io[at]) : -1;
  if (io >= 0) nodes.push(...ioStory(run, io));
  return nodes;
}

/**
 * The legs by name and colour.
 * @returns {{name: string, colour: string}[]}
 */
export function legs() {
  return LEGS.map((name, leg) => ({ name, colour: legColour(leg) }));
}
