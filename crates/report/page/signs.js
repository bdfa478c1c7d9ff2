/** What the scheduler did at a moment: a sign each, drawn and not written, so that no font can lack it. */

import { element, svg } from './format.js';
import { theme } from './palette.js';

/**
 * A sign: what it means, and its lines around the middle, 12 pixels wide and high.
 * @typedef {{name: string, lines: string, isFilled: boolean}} Sign
 */

/**
 * In the order of `MarkKind`.
 * @type {Sign[]}
 */
export const SIGNS = [
  { name: 'preempted', lines: 'M-4-4 4 4M4-4-4 4', isFilled: false },
  { name: 'queues merged or split', lines: 'M0-5.5 5.5 0 0 5.5-5.5 0Z', isFilled: true },
  { name: 'another\'s request injected', lines: 'M0-5 5 4.5-5 4.5Z', isFilled: true },
  { name: 'time was up', lines: 'M-4-5H4L-4 5H4Z', isFilled: true },
  { name: 'weight raised', lines: 'M0 5.5V-5M-4.5-.5 0-5 4.5-.5', isFilled: false },
  { name: 'tokens changed', lines: 'M0-6V2M-4-2H4M-4 5.5H4', isFilled: false },
];

/** @type {Map<number, Path2D>} */
const paths = new Map();

/**
 * Draws one with its middle there, and a rim of paper around it, so that it is seen on every colour.
 * @param {CanvasRenderingContext2D} context @param {number} kind @param {number} x @param {number} y
 */
export function drawSign(context, kind, x, y) {
  const sign = SIGNS[kind];
  if (!sign) return;
  const path = paths.get(kind) ?? new Path2D(sign.lines);
  paths.set(kind, path);
  const { ink, paper } = theme();
  context.save();
  context.translate(Math.round(x), Math.round(y));
  context.lineJoin = 'round';
  context.lineCap = 'round';
  context.strokeStyle = paper;
  context.lineWidth = sign.isFilled ? 3 : 5;
  context.stroke(path);
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 2;
  if (sign.isFilled) context.fill(path);
  else context.stroke(path);
  context.restore();
}

/**
 * The same for a legend.
 * @param {Sign} sign
 */
function small(sign) {
  const drawn = svg('svg', { viewBox: '-7 -7 14 14', width: 14, height: 14, class: 'sign', 'aria-hidden': 'true' });
  const style = sign.isFilled ? 'fill:currentColor' : 'fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round';
  drawn.append(svg('path', { d: sign.lines, style }));
  return drawn;
}

/**
 * A sign and words behind it.
 * @param {number} kind @param {string} [text] what it means, if nothing else
 * @returns {(Node | string)[]}
 */
export function signed(kind, text) {
  const sign = SIGNS[kind];
  return sign ? [small(sign), text ?? sign.name] : [];
}

/**
 * What the signs mean, of those that are there.
 * @param {import('./data.js').Run[]} runs @returns {HTMLElement | null}
 */
export function signLegend(runs) {
  const seen = new Set();
  for (const run of runs) for (const kind of run.decisions.marks.kind) seen.add(kind);
  if (seen.size === 0) return null;
  const list = element('ul', { class: 'legend signs' });
  SIGNS.forEach((_, kind) => {
    if (seen.has(kind)) list.append(element('li', {}, ...signed(kind)));
  });
  return list;
}
