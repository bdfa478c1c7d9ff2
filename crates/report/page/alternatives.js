/** What each picture shows, in a sentence computed from its data: for who cannot see it, and for who reads it printed. */

import { bytes, count, percent, rate, time } from './format.js';
import { SECTOR, greatest, remembered } from './data.js';
import { atNines } from './curves.js';
import { depth } from './lines.js';
import { SIGNS } from './signs.js';
import { STRETCHES } from './timeline.js';

/**
 * Sums by job.
 * @param {import('./data.js').Run} run @param {(nth: number) => number} size @returns {[string, number][]}
 */
function byJob(run, size) {
  const sums = new Map();
  for (let nth = 0; nth < run.sent.process.length; nth += 1) {
    const name = run.jobs[run.jobs_of[run.sent.process[nth]]] ?? 'others';
    sums.set(name, (sums.get(name) ?? 0) + size(nth));
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** @param {import('./data.js').Run} run */
export function lbaAlternative(run) {
  return remembered(run, 'lba', () => lbaSentence(run));
}

/** @param {import('./data.js').Run} run */
function lbaSentence(run) {
  const { sent } = run;
  /** How far the head had to go between two commands, as a part of the disk. */
  let way = 0;
  let jumps = 0;
  for (let nth = 1; nth < sent.sector.length; nth += 1) {
    const gap = Math.abs(sent.sector[nth] - sent.sector[nth - 1] - sent.sectors[nth - 1]);
    way += gap;
    if (gap > 2048) jumps += 1;
  }
  const between = Math.max(1, sent.sector.length - 1);
  const jobs = byJob(run, (nth) => sent.sectors[nth]).slice(0, 4);
  const all = jobs.reduce((sum, [, sectors]) => sum + sectors, 0) || 1;
  const kept = run.density ? `, of which ${count(sent.sector.length)} are in this file` : '';
  const part = `${count(run.all_sent)} commands${kept}; `;
  return `${part}${percent(jumps / between)} of them more than 1 MiB away from the one before, `
    + `on average ${bytes((way / between) * SECTOR)} away. `
    + `Bytes moved: ${jobs.map(([name, sectors]) => `${name} ${percent(sectors / all)}`).join(', ')}.`;
}

/** @param {import('./data.js').Run} run */
export function latencyAlternative(run) {
  const told = run.curves.filter((curve) => curve.ios >= 20).map((curve) => {
    const [middle, late] = [atNines(curve, 0.3), atNines(curve, 2)];
    const tail = late === null ? '' : `, p99 ${time(late)}`;
    return `${run.jobs[curve.job]} ${['reads', 'writes', 'trims', 'syncs'][curve.way]}: median ${time(middle ?? 0)}${tail}`;
  });
  return `${count(run.all_ios)} I/Os. ${told.join('; ') || 'Too few for percentiles'}.`;
}

/** @param {import('./data.js').Run} run */
export function throughputAlternative(run) {
  const told = run.jobs.map((name, nth) => {
    let sum = 0;
    for (const value of run.series.bytes[nth]) sum += value;
    return { name, rate: (sum * 1e9) / run.elapsed_ns };
  });
  return `Over the whole run: ${told.filter((one) => one.rate > 0).map((one) => `${one.name} ${rate(one.rate)}`).join(', ') || 'nothing'}.`;
}

/** @param {import('./data.js').Run} run */
export function depthAlternative(run) {
  const mean = (/** @type {import('./data.js').Column} */ values) => {
    let sum = 0;
    for (const value of values) sum += value;
    return depth(sum / Math.max(1, values.length));
  };
  const most = (/** @type {import('./data.js').Column} */ values) => greatest(values);
  const { queued, in_disk: inDisk } = run.series;
  return `On average ${mean(queued.mean)} requests with the scheduler (at most ${most(queued.most)}), `
    + `${mean(inDisk.mean)} in the disk (at most ${most(inDisk.most)}).`;
}

/**
 * How many tokens each kind of request could have, where that changed.
 * @param {import('./data.js').Run} run @returns {string[]}
 */
function tokensSaid(run) {
  const { lane, kind, why } = run.decisions.stretches;
  return run.lanes.flatMap((name, own) => {
    const words = [];
    for (let nth = 0; nth < kind.length; nth += 1) if (kind[nth] === 4 && lane[nth] === own) words.push(run.words[why[nth]] ?? '');
    if (words.length < 2) return [];
    return [`${name}: ${words[0]} at first, ${words[words.length - 1]} at last`];
  });
}

/**
 * What happened at moments, and how often; of too many in the file, how many there were.
 * @param {import('./data.js').Run} run @returns {string[]}
 */
function marksSaid(run) {
  const { marks, all_marks: all } = run.decisions;
  if (marks.kind.length < all) return [`${count(all)} signs`];
  const numbers = SIGNS.map(() => 0);
  for (let nth = 0; nth < marks.kind.length; nth += 1) numbers[marks.kind[nth]] += 1;
  return SIGNS.map(({ name }, kind) => `${count(numbers[kind])} × ${name}`).filter((_, kind) => numbers[kind] > 0);
}

/** @param {import('./data.js').Run} run */
export function timelineAlternative(run) {
  const { stretches } = run.decisions;
  if (run.lanes.length === 0) {
    const none = "had no turns and no batches, never idled on purpose and never ran out of tokens: there is nothing to draw.";
    return `${run.name} ${none}`;
  }
  const told = STRETCHES.map((name, kind) => {
    let [number, sum] = [0, 0];
    for (let nth = 0; nth < stretches.kind.length; nth += 1) {
      if (stretches.kind[nth] !== kind) continue;
      number += 1;
      sum += stretches.length[nth];
    }
    return { name, number, sum };
  });
  const said = told.filter((one) => one.number > 0 && one.name !== 'tokens')
    .map((one) => `${count(one.number)} × ${one.name}, ${time(one.sum / one.number)} each, `
      + `${percent(one.sum / run.elapsed_ns)} of the run`);
  said.push(...tokensSaid(run), ...marksSaid(run));
  return said.length > 0 ? `${said.join('; ')}.` : '';
}
