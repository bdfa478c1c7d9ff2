/** The blame matrix: who waited, for whom, and how long; a table, darker where it was longer. */

import { element, time, percent } from './format.js';
import { rgb, theme } from './palette.js';

const NOBODY = 'nobody';

/** @typedef {Map<string, import('./data.js').Blame[]>} Cells rows by who waited and for whom */

/** @param {import('./data.js').Run} run @returns {Cells} */
function cellsOf(run) {
  const cells = new Map();
  for (const row of run.blame) {
    if (row.leg === 3) continue;
    const key = `${row.who}\n${row.whom || NOBODY}`;
    cells.set(key, [...(cells.get(key) ?? []), row]);
  }
  return cells;
}

/**
 * Who waited, and for whom, in one order for all runs, so that they can be held against each other.
 * @param {import('./data.js').Run[]} runs @returns {{who: string[], whom: string[]}}
 */
function order(runs) {
  const [waiters, blamed] = [new Map(), new Map()];
  for (const row of runs.flatMap((run) => run.blame)) {
    if (row.leg === 3) continue;
    waiters.set(row.who, (waiters.get(row.who) ?? 0) + row.ns);
    blamed.set(row.whom || NOBODY, (blamed.get(row.whom || NOBODY) ?? 0) + row.ns);
  }
  const most = (/** @type {Map<string, number>} */ sums) => [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name).slice(0, 12);
  return { who: most(waiters), whom: most(blamed) };
}

/** @param {import('./data.js').Blame[] | undefined} rows */
function total(rows) {
  return (rows ?? []).reduce((all, row) => all + row.ns, 0);
}

/**
 * A mean I/O's part.
 * @param {import('./data.js').Run} run @param {string} waiter @param {number} ns
 */
function each(run, waiter, ns) {
  return ns / Math.max(1, run.totals[waiter]?.[0] ?? 1);
}

/** @param {import('./data.js').Run} run @param {import('./data.js').Run[]} runs all that are shown: equal shades are equal times */
export function matrix(run, runs) {
  const { who, whom } = order(runs);
  const cells = cellsOf(run);
  const per = (/** @type {string} */ waiter, /** @type {number} */ ns) => each(run, waiter, ns);
  let most = 1;
  for (const one of runs) {
    for (const [key, rows] of cellsOf(one)) most = Math.max(most, each(one, key.split('\n')[0], total(rows)));
  }
  const [red, green, blue] = rgb(theme().series[1]);
  const head = element('tr', {}, element('th', { scope: 'col' }, 'waited ↓ for →'));
  for (const name of whom) head.append(element('th', { scope: 'col', class: 'number' }, name));
  const body = element('tbody', {});
  for (const waiter of who) {
    const row = element('tr', {}, element('th', { scope: 'row' }, waiter));
    const worst = Math.max(...whom.map((name) => per(waiter, total(cells.get(`${waiter}\n${name}`)))));
    for (const name of whom) {
      const rows = (cells.get(`${waiter}\n${name}`) ?? []).sort((a, b) => b.ns - a.ns);
      const mean = per(waiter, total(rows));
      const part = mean / most;
      const why = rows.slice(0, 4).map((one) => `${one.rule}: ${time(one.ns)} in ${one.ios} I/Os`).join('\n');
      const cell = element('td', {
        class: 'number', title: why, style: `background:rgba(${red},${green},${blue},${(0.75 * Math.sqrt(part)).toFixed(3)})`,
      });
      if (mean > 0) {
        cell.append(time(mean));
        if (rows[0] && (part > 0.2 || mean === worst)) cell.append(element('small', {}, rows[0].rule));
      }
      row.append(cell);
    }
    body.append(row);
  }
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `who waited for whom under ${run.name}` },
    element('table', { class: 'matrix' }, element('thead', {}, head), body));
}

/**
 * In a sentence.
 * @param {import('./data.js').Run} run
 */
export function matrixAlternative(run) {
  const rows = run.blame.filter((row) => row.leg !== 3 && row.whom && row.whom !== 'itself').sort((a, b) => b.ns - a.ns);
  const all = Object.values(run.totals).reduce((sum, [, ns]) => sum + ns, 0) || 1;
  if (rows.length === 0) return `Under ${run.name} no job waited for another.`;
  const [worst] = rows;
  return `Under ${run.name} the longest wait of all was ${worst.who}'s for ${worst.whom} (${worst.rule}): `
    + `${percent(worst.ns / all)} of the time that all I/Os took.`;
}
