/** Published values beside ours: a row each, the bound as a bar, both values as marks. */

import { element, svg } from './format.js';
import { colour, theme } from './palette.js';

/**
 * Three digits at most.
 * @param {number | null} value
 */
function short(value) {
  if (value === null) return '–';
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/**
 * With its unit.
 * @param {number | null} value @param {string} unit
 */
function told(value, unit) {
  return value === null ? '–' : `${short(value)} ${unit}`;
}

/** @param {import('./data.js').PublishedRow} row */
function values(row) {
  return [row.published, row.ours, ...(row.bound ?? []), ...(row.spread ?? [])]
    .filter((value) => value !== null && Number.isFinite(value)).map(Number);
}

/**
 * A row that nothing is held against is drawn to one scale with all rows of its unit: they are held against each other.
 * @param {import('./data.js').PublishedRow} row @param {import('./data.js').PublishedRow[]} rows
 */
function picture(row, rows) {
  const isAlone = row.published === null && row.bound === null;
  const all = isAlone ? rows.filter((one) => one.unit === row.unit).flatMap(values) : values(row);
  const most = Math.max(...all, 1e-9) * 1.1;
  const least = Math.min(0, ...all);
  const x = (/** @type {number} */ value) => 4 + (292 * (value - least)) / (most - least);
  const drawn = svg('svg', { viewBox: '0 0 300 22', class: 'dots', 'aria-hidden': 'true' });
  if (row.bound) {
    const [low, high] = row.bound.map((value) => x(Math.min(Math.max(value, least), most)));
    drawn.append(svg('rect', { x: low, y: 6, width: Math.max(1, high - low), height: 10, rx: 2, fill: theme().grid }));
  }
  if (row.spread) {
    drawn.append(svg('line', { x1: x(row.spread[0]), x2: x(row.spread[1]), y1: 11, y2: 11, stroke: colour(0), 'stroke-width': 2 }));
  }
  if (row.published !== null) {
    const at = x(row.published);
    drawn.append(svg('path', { d: `M${at} 4 l6 7 l-6 7 l-6 -7 z`, fill: 'none', stroke: colour(1), 'stroke-width': 2 }));
  }
  if (row.ours !== null) drawn.append(svg('circle', { cx: x(row.ours), cy: 11, r: 4.5, fill: colour(0) }));
  return drawn;
}

/**
 * What became of a row: it may lie in its bound and still miss what was published by more than the seeds differ.
 * @param {import('./data.js').PublishedRow} row @param {import('./data.js').Published['against']} against
 */
function judged(row, against) {
  if (row.inside === null) return 'no bound';
  if (row.inside) return 'inside';
  const { bound, ours } = row;
  const isWithin = ours !== null && (bound === null || (bound[0] <= ours && ours <= bound[1]));
  const said = isWithin ? 'the seeds do not reach it' : 'outside';
  if (against === 'measured') return said;
  return row.claimed ? said.toUpperCase() : `${said}; not claimed`;
}

/** @param {import('./data.js').Published} published */
export function publishedTable(published) {
  const body = element('tbody', {});
  for (const row of published.rows) {
    const said = judged(row, published.against);
    body.append(element('tr', row.inside === false ? { class: 'outside' } : {},
      element('th', { scope: 'row' }, row.label),
      element('td', { class: 'number' }, told(row.published, row.unit)),
      element('td', { class: 'number' }, told(row.ours, row.unit)),
      element('td', {}, picture(row, published.rows)),
      element('td', { class: row.bound ? 'number' : 'number none' }, row.bound ? `${short(row.bound[0])} to ${short(row.bound[1])}` : '–'),
      element('td', {}, said)));
  }
  const head = element('tr', {});
  const [theirs, ours] = published.against === 'measured' ? ['measured', 'predicted'] : ['published', 'ours'];
  ['', `${theirs} ◇`, `${ours} ●`, 'both, and the bound', 'bound', ''].forEach((name, nth) => {
    head.append(element('th', [1, 2, 4].includes(nth) ? { scope: 'col', class: 'number' } : { scope: 'col' }, name));
  });
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': published.name },
    element('table', { class: 'published' }, element('thead', {}, head), body));
}
