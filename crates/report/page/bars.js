/** Bars that add up: where the time of a job's I/O went, and what the disk did with its time. */

import { element, percent, time } from './format.js';
import { colour, theme } from './palette.js';

/** @typedef {{name: string, value: number, colour: string, hatched?: boolean}} Part */
/** @typedef {{label: string, parts: Part[], total: string}} Bar */

/**
 * One bar per row, all to one scale.
 * @param {Bar[]} bars @param {(value: number) => string} show @param {number} [whole]
 */
export function stacked(bars, show, whole) {
  const sum = (/** @type {Bar} */ bar) => bar.parts.reduce((all, part) => all + part.value, 0);
  const longest = whole ?? Math.max(1, ...bars.map(sum));
  const box = element('div', { class: 'bars' });
  for (const bar of bars) {
    const told = bar.parts.map((part) => `${part.name} ${show(part.value)}`).join(', ');
    const strip = element('div', { class: 'bar', role: 'img', 'aria-label': `${bar.label}: ${bar.total}: ${told}` });
    for (const part of bar.parts) {
      if (part.value <= 0) continue;
      const share = part.value / longest;
      const paint = part.hatched
        ? `background:repeating-linear-gradient(135deg,${part.colour} 0 2px,transparent 2px 6px)`
        : `background:${part.colour}`;
      const piece = element('span', { style: `width:${(share * 100).toFixed(3)}%;${paint}`, title: `${part.name}: ${show(part.value)}` });
      if (share > 0.08 && !part.hatched) piece.append(show(part.value));
      strip.append(piece);
    }
    box.append(element('div', { class: 'row' }, element('span', { class: 'label' }, bar.label), strip,
      element('span', { class: 'total' }, bar.total)));
  }
  return box;
}

/** @param {Part[]} parts */
export function legend(parts) {
  const list = element('ul', { class: 'legend' });
  for (const part of parts) {
    const paint = part.hatched
      ? `background:repeating-linear-gradient(135deg,${part.colour} 0 2px,transparent 2px 5px)`
      : `background:${part.colour}`;
    list.append(element('li', {}, element('i', { class: 'swatch', style: paint }), part.name));
  }
  return list;
}

/** What an I/O's time can go to, in the order of its way; who is to blame has the job's colour elsewhere. */
/** @typedef {{name: string, is: (row: import('./data.js').Blame) => boolean, nth: number, hatched?: boolean}} Group */
/** @type {Group[]} */
const GROUPS = [
  { name: 'before the scheduler (memory, slots, throttling)', is: (row) => row.leg === 0, nth: 4 },
  { name: 'another\'s turn', is: (row) => row.leg === 1 && /turn/.test(row.rule), nth: 1 },
  { name: 'the disk kept idle on purpose', is: (row) => row.leg === 1 && /idle|left alone/.test(row.rule), nth: 3, hatched: true },
  { name: 'others went ahead in the scheduler', is: (row) => row.leg === 1, nth: 6 },
  { name: 'behind others in the drive', is: (row) => row.leg === 2, nth: 0 },
  { name: 'served by the drive', is: (row) => row.leg === 3, nth: 2 },
  { name: 'until its process learned of it', is: () => true, nth: 7 },
];

/**
 * The mean I/O of each job, a bar per scheduler.
 * @param {import('./data.js').Run[]} runs @returns {{job: string, bars: Bar[], gist: string[]}[]}
 */
export function waits(runs) {
  const jobs = [...new Set(runs.flatMap((run) => run.jobs))].filter((job) => runs.some((run) => run.totals[job]));
  return jobs.map((job) => {
    const bars = runs.filter((run) => run.totals[job]).map((run) => {
      const [ios, ns] = run.totals[job];
      const sums = GROUPS.map((group) => ({
        name: group.name, value: 0, colour: group.nth === 7 ? theme().nobody : colour(group.nth), hatched: group.hatched,
      }));
      for (const row of run.blame) {
        if (row.who !== job) continue;
        sums[GROUPS.findIndex((group) => group.is(row))].value += row.ns / Math.max(1, ios);
      }
      return { label: run.name, parts: sums, total: time(ns / Math.max(1, ios)) };
    });
    return { job, bars, gist: gist(job, runs) };
  });
}

/** A smaller part of the whole is no difference. */
const ALIKE = 0.02;

/**
 * What an I/O's time went to under a scheduler, group by group.
 * @param {string} job @param {import('./data.js').Run} run
 */
function groupsOf(job, run) {
  const ios = Math.max(1, run.totals[job][0]);
  const groups = GROUPS.map(({ name }) => ({ name, ns: 0, whom: new Map() }));
  for (const row of run.blame) {
    if (row.who !== job) continue;
    const group = groups[GROUPS.findIndex((one) => one.is(row))];
    group.ns += row.ns / ios;
    group.whom.set(row.whom, (group.whom.get(row.whom) ?? 0) + row.ns / ios);
  }
  return groups;
}

/**
 * Why a scheduler is slower or faster than the first: the part of an I/O's time that makes most of the difference.
 * @param {string} job @param {import('./data.js').Run} here @param {import('./data.js').Run} base
 */
function difference(job, here, base) {
  const mean = (/** @type {import('./data.js').Run} */ run) => run.totals[job][1] / Math.max(1, run.totals[job][0]);
  const by = mean(here) - mean(base);
  if (Math.abs(by) < ALIKE * mean(base)) return `Under ${here.name} an I/O of ${job} takes as long as it does under ${base.name}.`;
  const [ours, theirs] = [groupsOf(job, here), groupsOf(job, base)];
  const parts = ours.map((group, nth) => ({ nth, by: group.ns - theirs[nth].ns }));
  const most = parts.reduce((best, part) => (part.by * Math.sign(by) > best.by * Math.sign(by) ? part : best));
  const [from, to] = [theirs[most.nth], ours[most.nth]];
  const gap = (/** @type {string} */ whom) => Math.abs((to.whom.get(whom) ?? 0) - (from.whom.get(whom) ?? 0));
  const [whom] = [...new Set([...from.whom.keys(), ...to.whom.keys()])].sort((a, b) => gap(b) - gap(a));
  const mostly = whom && gap(whom) > Math.abs(most.by) / 2 ? `, mostly for ${whom}` : '';
  return `Under ${here.name} an I/O of ${job} takes ${time(Math.abs(by))} ${by > 0 ? 'longer' : 'less'} than under ${base.name}. `
    + `What changed most: “${to.name}” is ${time(to.ns)}, not ${time(from.ns)}${mostly}.`;
}

/**
 * Why the schedulers differ; of one alone, for whom a job's I/O waited longest.
 * @param {string} job @param {import('./data.js').Run[]} all @returns {string[]}
 */
function gist(job, all) {
  const runs = all.filter((run) => run.totals[job]);
  if (runs.length > 1) return runs.slice(1).map((run) => difference(job, run, runs[0]));
  const told = runs.map((run) => {
    const [ios] = run.totals[job];
    const others = run.blame.filter((row) => row.who === job && row.whom && row.whom !== 'itself' && row.leg < 3);
    const worst = others.sort((a, b) => b.ns - a.ns)[0];
    if (!worst) return `${run.name}: for no other job`;
    return `${run.name}: for ${worst.whom} (${worst.rule}), ${time(worst.ns / Math.max(1, ios))}`;
  });
  return [`Longest wait of a mean I/O of ${job} under ${told.join('; under ')}.`];
}

/** @returns {Part[]} */
export function waitsLegend() {
  return GROUPS.map((group) => ({
    name: group.name, value: 0, colour: group.nth === 7 ? theme().nobody : colour(group.nth), hatched: group.hatched,
  }));
}

/**
 * What the disk did, as parts of its time.
 * @param {import('./data.js').Run[]} runs @returns {Bar[]}
 */
export function diskTime(runs) {
  const known = ['transfer', 'seek', 'rotation', 'reading ahead', 'overhead', 'other work in the drive', 'idle on purpose',
    'nothing to do'];
  const names = known.filter((name) => runs.some((run) => run.disk_time.some(([own]) => own === name)));
  return runs.map((run) => {
    const whole = run.disk_time.reduce((all, [, ns]) => all + ns, 0) || 1;
    const parts = names.map((name, nth) => ({
      name, value: (run.disk_time.find(([known]) => known === name)?.[1] ?? 0) / whole,
      colour: /nothing|idle/.test(name) ? theme().nobody : colour(nth), hatched: /idle/.test(name),
    }));
    const useful = run.disk_time.find(([name]) => name === 'transfer')?.[1] ?? 0;
    return { label: run.name, parts, total: `${percent(useful / whole)} of it moved data` };
  });
}

/**
 * Time asked for and given by job.
 * @param {import('./data.js').Run[]} runs @param {(name: string) => number} number @returns {Bar[]}
 */
export function shares(runs, number) {
  return runs.map((run) => {
    const given = run.shares.reduce((all, [, , part]) => all + part, 0);
    const parts = run.shares.map(([name, , part]) => ({ name, value: part, colour: colour(number(name)) }));
    return { label: run.name, parts, total: `${percent(given)} given` };
  });
}
