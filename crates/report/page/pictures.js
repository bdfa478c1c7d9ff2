/** Every picture of the page: what it is called, what it means, and what it shows. */

import { element } from './format.js';
import { greatest, remembered } from './data.js';
import { colour } from './palette.js';
import { decades, linear } from './axes.js';
import { broken, regions } from './regions.js';
import { Scatter, colouring, latencyScale } from './scatter.js';
import { Lines, depth, depthLines, greatestRate, showRate, throughputLines } from './lines.js';
import { Timeline } from './timeline.js';
import { signLegend } from './signs.js';
import { Curves, atNines, groups } from './curves.js';
import { diskTime, legend, stacked, waits, waitsLegend } from './bars.js';
import { matrix, matrixAlternative } from './matrix.js';
import { publishedTable } from './published.js';
import { depthAlternative, latencyAlternative, lbaAlternative, throughputAlternative, timelineAlternative } from './alternatives.js';
import { alternative, figure, names, section, shortTime } from './parts.js';

/** @typedef {import('./data.js').Run} Run */
/** @typedef {import('./main.js').Page} Page */

const CUT = 'Unused parts of the disk are cut out of the vertical axis; + shows the size of a part.';

/** What a bar of the decision timeline means, in the order of `StretchKind`. */
const BARS = ['A bar is a turn: the disk works for this process only, except for injected requests.',
  'A bar is a batch: requests of one direction, one after the other.',
  'Hatched: the disk was left idle on purpose, for a process\'s next request.',
  'A full bar is a wait for a token.', 'A pale bar is how many tokens a kind of request has.'];

/** @param {Page} page @param {Run[]} runs @returns {Node[]} */
export function pictures(page, runs) {
  if (runs.every((run) => run.all_ios === 0)) {
    return [section('nothing', 'Nothing to draw', 'No I/O ended in this run, so there is nothing to show.')];
  }
  const made = [waitsSection, lbaSection, latencySection, curvesSection, throughputSection, depthSection, timelineSection,
    matrixSection].map((make) => make(page, runs));
  // What was recorded of a server says nothing of the disk's inside.
  if (runs.some((run) => run.disk_time.length > 0)) made.push(diskSection(runs));
  return made;
}

/** @param {Page} page @param {Run[]} runs */
function waitsSection(page, runs) {
  const many = runs.length > 1 ? ' The longer bar is the slower scheduler, and the part that grew is the reason.' : '';
  const box = section('waits', 'Where the time of an I/O went', 'A bar is the mean I/O of a job under a scheduler, from '
    + `its submission until its process learned of its completion; its parts show what it waited for.${many}`);
  box.append(legend(waitsLegend()));
  for (const { job, bars, gist } of waits(runs)) {
    box.append(element('h3', {}, job), stacked(bars, (ns) => (ns > 0 ? shortTime(ns) : '')),
      ...gist.map((line) => alternative(line)));
  }
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function lbaSection(page, runs) {
  const box = section('lba', 'Where on the disk, over time', 'A mark is a command: where it lies on the disk, from when '
    + 'the disk got it until it was done. A slanted line is sequential reading or writing; a cloud is random '
    + 'access, and each jump costs the head a seek.');
  const whole = Math.max(1, ...runs.map((run) => run.disk_sectors));
  const scale = broken(runs.some((run) => run.density) ? [] : regions(runs), whole);
  if (scale.ticks.length > 2 && !runs.some((run) => run.density)) box.append(element('p', { class: 'note' }, CUT));
  box.append(pointLegend(page, runs), sideBySide(runs, (run) => {
    const scatter = new Scatter(page.host, `commands of ${run.name} by place and time`, run, 'lba', scale);
    page.scatters.push(scatter);
    return [scatter.canvas, alternative(lbaAlternative(run))];
  }));
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function latencySection(page, runs) {
  const box = section('latency', 'How long each I/O took', 'A point is an I/O: when it began and how long its process '
    + 'waited. Each grid line stands for ten times the time of the one below; the darker, the more I/Os.');
  const scale = latencyScale(runs);
  box.append(pointLegend(page, runs), sideBySide(runs, (run) => {
    const scatter = new Scatter(page.host, `latencies of ${run.name} over time`, run, 'latency', scale);
    page.scatters.push(scatter);
    return [scatter.canvas, alternative(latencyAlternative(run))];
  }));
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function curvesSection(page, runs) {
  const box = section('curves', 'How slow the slowest are', 'At p99 all but one I/O in a hundred were at least as fast as '
    + 'the line shows, at p99.9 all but one in a thousand. A line ends where there are too few I/Os for the next. Lower is better.');
  if (groups(page.runs).length === 0) {
    box.append(alternative('No kind of I/O occurred twenty times: there is nothing to draw.'));
    return box;
  }
  box.append(names(page.runs.map((run, nth) => ({ name: run.name, colour: colour(nth) })), runs));
  const sides = element('div', { class: 'sides' });
  for (const { title, curves } of groups(page.runs)) {
    const shown = curves.filter((one) => page.shown.has(one.scheduler));
    if (shown.length === 0) continue;
    const made = new Curves(page.host, `latency of ${title} by percentile`, shown);
    const told = shown.map(({ name, curve }) => `${name}: ${[1, 2, 3, 4]
      .map((nines) => [`p${['90', '99', '99.9', '99.99'][nines - 1]}`, atNines(curve, nines)])
      .filter(([, ns]) => ns !== null).map(([at, ns]) => `${at} ${shortTime(Number(ns))}`).join(', ')}`);
    sides.append(figure(title, [made.canvas, alternative(`${told.join('; ')}.`)]));
  }
  if (sides.children.length === 4) sides.classList.add('four');
  box.append(sides);
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function throughputSection(page, runs) {
  const box = section('throughput', 'What each job got', 'Bytes a second that each job transferred, over a hundredth of '
    + 'the run at a time. Each grid line is ten times the one below.');
  const scale = decades(greatestRate(runs));
  box.append(pointLegend(page, runs, true), sideBySide(runs, (run) => {
    const lines = new Lines(page.host, `throughput by job under ${run.name}`, run.series.width_ns,
      throughputLines(run, page.number), scale, showRate);
    return [lines.canvas, alternative(throughputAlternative(run))];
  }));
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function depthSection(page, runs) {
  const box = section('depth', 'How much was waiting, and where', 'The scheduler can reorder only the requests it still has; '
    + 'those in the disk are ordered by the disk. Lines are means, dotted lines maxima.');
  const most = Math.max(1, ...runs.flatMap((run) => [greatest(run.series.queued.most), greatest(run.series.in_disk.most)]));
  box.append(names([{ name: 'with the scheduler', colour: colour(1) }, { name: 'in the disk', colour: colour(0) }]));
  box.append(sideBySide(runs, (run) => {
    const lines = new Lines(page.host, `requests waiting under ${run.name}`, run.series.width_ns, depthLines(run),
      linear(0, most * 1000, depth), depth);
    return [lines.canvas, alternative(depthAlternative(run))];
  }));
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function timelineSection(page, runs) {
  const kinds = new Set(runs.flatMap((run) => [...new Set(run.decisions.stretches.kind)]));
  const meant = BARS.filter((_, kind) => kinds.has(kind)).join(' ');
  const box = section('timeline', 'What the scheduler decided',
    `${meant} Zoom in to see each, and point at one for its reason.`);
  const told = signLegend(runs);
  if (told) box.append(told);
  box.append(sideBySide(runs, (run) => {
    const words = alternative(timelineAlternative(run));
    if (run.lanes.length === 0) return [words];
    return [new Timeline(page.host, `decisions of ${run.name}`, run, page.number).canvas, words];
  }));
  return box;
}

/** @param {Page} page @param {Run[]} runs */
function matrixSection(page, runs) {
  const box = section('blame', 'Who waited for whom', 'Rows waited for columns; a cell shows how long a mean I/O '
    + 'of the row waited for the column, and the main reason. The darker, the longer.');
  box.append(sideBySide(runs, (run) => [matrix(run, runs), alternative(matrixAlternative(run))]));
  return box;
}

/** @param {Run[]} runs */
function diskSection(runs) {
  const box = section('disk', 'What the disk did with its time', 'Only transfer moves data. Seek and rotation are the price '
    + 'of going from one place to another, idling on purpose is the price of waiting for a process\'s next request.');
  const bars = diskTime(runs);
  box.append(legend(bars[0]?.parts ?? []), stacked(bars, (part) => `${(part * 100).toFixed(0)} %`, 1));
  return box;
}

/** @param {Page} page */
export function publishedSection(page) {
  const isMeasured = page.report.published.some((one) => one.against === 'measured');
  const box = isMeasured
    ? section('published', 'Measured, and predicted', 'A row is a figure measured on the disk (◇), and the one that was '
      + 'predicted (●). The grey bar is what counts as right.')
    : section('published', 'Published, and ours', 'A row is a published figure (◇) and '
      + 'ours (●; the line is its spread over the seeds). The grey bar is the bound within which ours must lie. Where '
      + 'no figure was published, ours of one unit are drawn to one scale.');
  for (const one of page.report.published) {
    box.append(element('h3', {}, one.name), element('p', { class: 'note' }, one.source), publishedTable(one));
    for (const why of one.why) box.append(element('p', {}, why));
  }
  return box;
}

/** @param {Run[]} runs @param {(run: Run) => Node[]} make */
function sideBySide(runs, make) {
  const sides = element('div', { class: runs.length === 4 ? 'sides four' : 'sides' });
  for (const run of runs) sides.append(figure(run.name, make(run)));
  return sides;
}

/**
 * The jobs of which a run has anything to show.
 * @param {Run} run @returns {Set<string>}
 */
function present(run) {
  return remembered(run, 'present', () => {
    const processes = new Set();
    if (run.density) return new Set(run.jobs);
    for (const column of [run.ios.process, run.sent.process]) {
      for (let nth = 0; nth < column.length; nth += 1) processes.add(column[nth]);
    }
    return new Set([...processes].map((process) => run.jobs[run.jobs_of[process]]));
  });
}

/** @param {Page} page @param {Run[]} runs @param {boolean} [byJob] */
function pointLegend(page, runs, byJob) {
  const [run] = runs;
  const named = page.jobs.filter((name) => runs.some((one) => present(one).has(name)))
    .map((name) => ({ name, colour: colour(page.number(name)) }));
  if (byJob || page.by === 'process') return names(named);
  const { legend: told } = colouring(run, page.by, run.ios.process, run.ios.way, run.ios.latency, page.number);
  return names(told);
}
