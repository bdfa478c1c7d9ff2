/** Puts the page together: which pictures there are, what each means, and the controls that all of them share. */

import { bytes, element } from './format.js';
import { SECTOR, greatest, unpacked } from './data.js';
import { colour, force, forcedTheme } from './palette.js';
import { View } from './view.js';
import { decades, linear, logarithmic } from './axes.js';
import { broken, regions } from './regions.js';
import { legs } from './story.js';
import { frames } from './panel.js';
import { Scatter, colouring, latencyEnds } from './scatter.js';
import { Lines, depth, depthLines, greatestRate, showRate, throughputLines } from './lines.js';
import { MARKS, Timeline, signs } from './timeline.js';
import { Curves, atNines, groups } from './curves.js';
import { diskTime, legend, stacked, waits, waitsLegend } from './bars.js';
import { matrix, matrixAlternative } from './matrix.js';
import { publishedTable } from './published.js';
import { depthAlternative, latencyAlternative, lbaAlternative, throughputAlternative, timelineAlternative } from './alternatives.js';

/** @typedef {import('./data.js').Run} Run */

const CUT = 'What nobody uses of the disk is cut out of the vertical axis; + is how large a part is.';

/** What all pictures share. */
class Page {
  /** @param {import('./data.js').Report} report */
  constructor(report) {
    this.report = report;
    this.runs = report.runs;
    this.view = new View(Math.max(0, ...report.runs.map((run) => run.elapsed_ns)));
    this.shown = firstShown(report.runs, report.proposed);
    this.by = 'process';
    /** Whose story is shown. @type {object | null} */
    this.teller = null;
    /** @type {Scatter[]} */
    this.scatters = [];
    this.jobs = [...new Set(report.runs.flatMap((run) => run.jobs))];
    this.main = /** @type {HTMLElement} */ (document.getElementById('pictures'));
    this.story = /** @type {HTMLElement} */ (document.getElementById('story'));
    /** @type {import('./panel.js').Host} */
    this.host = { view: this.view, tell: (nodes, x, y, who) => this.tell(nodes, x, y, who) };
    /** A job's number, which is its colour: the same in every run. */
    this.number = (/** @type {string} */ name) => {
      const nth = this.jobs.indexOf(name);
      return name === 'write-back' || nth < 0 ? 7 : nth % 7;
    };
  }

  /**
   * The story beside the pointer.
   * @param {Node[] | null} nodes @param {number} x @param {number} y @param {object} who
   */
  tell(nodes, x, y, who) {
    const { story } = this;
    if (!nodes && this.teller !== who) return;
    this.teller = who;
    story.hidden = !nodes;
    if (!nodes) return;
    story.replaceChildren(...nodes);
    const { width, height } = story.getBoundingClientRect();
    const left = x + 16 + width > window.innerWidth ? x - width - 12 : x + 16;
    const top = Math.min(y + 16, window.innerHeight - height - 8);
    story.style.left = `${Math.max(8, left)}px`;
    story.style.top = `${Math.max(8, top)}px`;
  }

  /** Everything anew: after another choice of schedulers or colours. */
  build() {
    this.view.listeners = [];
    this.scatters = [];
    const runs = this.runs.filter((_, nth) => this.shown.has(nth));
    /** @type {Node[]} */
    const made = [this.controls()];
    if (runs.length > 0) made.push(...this.pictures(runs));
    if (this.report.published.length > 0) made.push(this.published());
    made.push(this.downloads());
    this.main.replaceChildren(...made);
  }

  /** @param {Run[]} runs @returns {Node[]} */
  pictures(runs) {
    const made = [this.waits(runs), this.lba(runs), this.latency(runs), this.curves(runs), this.throughput(runs),
      this.depth(runs), this.timeline(runs), this.matrix(runs), this.disk(runs)];
    this.paint();
    return made;
  }

  /** Colours of the points. */
  paint() {
    for (const scatter of this.scatters) {
      const { run, process, way, lengths } = scatter;
      scatter.paint(colouring(run, this.by, process, way, lengths, this.number));
    }
  }

  /** @param {Run[]} runs */
  waits(runs) {
    const box = section('waits', 'Where the time of an I/O went', 'A bar is the mean I/O of a job under a scheduler, from '
      + 'its submission to the moment at which its process heard of the end; its parts say what it waited for. '
      + 'The longer bar is the slower scheduler, and the part that grew is the reason.');
    box.append(legend(waitsLegend()));
    for (const { job, bars, gist } of waits(runs)) {
      box.append(element('h3', {}, job), stacked(bars, (ns) => (ns > 0 ? shortTime(ns) : '')), alternative(gist));
    }
    return box;
  }

  /** @param {Run[]} runs */
  lba(runs) {
    const box = section('lba', 'Where on the disk, over time', 'A mark is a command: where it lies on the disk, from when '
      + 'the disk got it until it was done. A slanted line is somebody who reads or writes in order; a cloud is random '
      + 'access, and each jump costs the head a seek.');
    const whole = Math.max(1, ...runs.map((run) => run.disk_sectors));
    const scale = broken(runs.some((run) => run.density) ? [] : regions(runs), whole);
    if (scale.ticks.length > 2 && !runs.some((run) => run.density)) box.append(element('p', { class: 'note' }, CUT));
    box.append(this.legend(runs), this.sides(runs, (run) => {
      const scatter = new Scatter(this.host, `commands of ${run.name} by place and time`, run, 'lba', scale);
      this.scatters.push(scatter);
      return [scatter.canvas, alternative(lbaAlternative(run))];
    }));
    return box;
  }

  /** @param {Run[]} runs */
  latency(runs) {
    const box = section('latency', 'How long each I/O took', 'A point is an I/O: when it began and how long its process '
      + 'waited. Each line of the grid is ten times as long as the one below; the darker, the more I/Os.');
    const scale = logarithmic(...latencyEnds(runs));
    box.append(this.legend(runs), this.sides(runs, (run) => {
      const scatter = new Scatter(this.host, `latencies of ${run.name} over time`, run, 'latency', scale);
      this.scatters.push(scatter);
      return [scatter.canvas, alternative(latencyAlternative(run))];
    }));
    return box;
  }

  /** @param {Run[]} runs */
  curves(runs) {
    const box = section('curves', 'How late the latest are', 'At p99 all but one I/O in a hundred were as fast as the line '
      + 'says, at p99.9 all but one in a thousand. A line ends where there are too few I/Os for the next. Lower is better.');
    box.append(names(this.runs.map((run, nth) => ({ name: run.name, colour: colour(nth) })), runs));
    const sides = element('div', { class: 'sides' });
    for (const { title, curves } of groups(this.runs)) {
      const shown = curves.filter((one) => this.shown.has(one.scheduler));
      if (shown.length === 0) continue;
      const made = new Curves(this.host, `latency of ${title} by percentile`, shown);
      const told = shown.map(({ name, curve }) => `${name}: ${[1, 2, 3, 4]
        .map((nines) => [`p${['90', '99', '99.9', '99.99'][nines - 1]}`, atNines(curve, nines)])
        .filter(([, ns]) => ns !== null).map(([at, ns]) => `${at} ${shortTime(Number(ns))}`).join(', ')}`);
      sides.append(figure(title, [made.canvas, alternative(`${told.join('; ')}.`)]));
    }
    box.append(sides);
    return box;
  }

  /** @param {Run[]} runs */
  throughput(runs) {
    const box = section('throughput', 'What each job got', 'Bytes a second that came back to each job, over a hundredth of '
      + 'the run at a time. Each line of the grid is ten times the one below.');
    const scale = decades(greatestRate(runs), showRate);
    box.append(this.legend(runs, true), this.sides(runs, (run) => {
      const lines = new Lines(this.host, `throughput by job under ${run.name}`, run.series.width_ns,
        throughputLines(run, this.number), scale, showRate);
      return [lines.canvas, alternative(throughputAlternative(run))];
    }));
    return box;
  }

  /** @param {Run[]} runs */
  depth(runs) {
    const box = section('depth', 'How much was waiting, and where', 'Only what is with the scheduler can be put in another '
      + 'order; what the disk has already, it orders itself. Lines are means, the shade behind them the most.');
    const most = Math.max(1, ...runs.flatMap((run) => [greatest(run.series.queued.most), greatest(run.series.in_disk.most)]));
    box.append(names([{ name: 'with the scheduler', colour: colour(1) }, { name: 'in the disk', colour: colour(0) }]));
    box.append(this.sides(runs, (run) => {
      const lines = new Lines(this.host, `requests waiting under ${run.name}`, run.series.width_ns, depthLines(run),
        linear(0, most * 1000, depth), depth);
      return [lines.canvas, alternative(depthAlternative(run))];
    }));
    return box;
  }

  /** @param {Run[]} runs */
  timeline(runs) {
    const box = section('timeline', 'What the scheduler decided', 'A bar is a turn or a batch; hatched, the disk was left '
      + 'idle on purpose, for somebody\'s next request. Come closer to see each, and point at it for its reason.');
    const said = signs(runs);
    if (said.length > 0) box.append(element('p', { class: 'note' }, `Signs: ${said.join(', ')}.`));
    box.append(this.sides(runs, (run) => {
      const told = alternative(timelineAlternative(run));
      if (run.lanes.length === 0) return [told];
      return [new Timeline(this.host, `decisions of ${run.name}`, run, this.number).canvas, told];
    }));
    return box;
  }

  /** @param {Run[]} runs */
  matrix(runs) {
    const box = section('blame', 'Who waited for whom', 'A row is who waited, a column for whom; a cell is how long a mean '
      + 'I/O of the row waited for the column, and mostly why. The darker, the longer.');
    box.append(this.sides(runs, (run) => [matrix(run), alternative(matrixAlternative(run))]));
    return box;
  }

  /** @param {Run[]} runs */
  disk(runs) {
    const box = section('disk', 'What the disk did with its time', 'Only transfer moves data. Seek and rotation are the price '
      + 'of going from one place to another, idling on purpose the price of waiting for somebody\'s next request.');
    const bars = diskTime(runs);
    box.append(legend(bars[0]?.parts ?? []), stacked(bars, (part) => `${(part * 100).toFixed(0)} %`, 1));
    return box;
  }

  published() {
    const box = section('published', 'Published, and ours', 'A row is a figure that somebody measured and published (◇), and '
      + 'ours (●; the line is its spread over the seeds). The grey bar is the bound that we said ours must lie in.');
    for (const one of this.report.published) {
      box.append(element('h3', {}, one.name), element('p', { class: 'note' }, one.source), publishedTable(one));
      for (const why of one.why) box.append(element('p', {}, why));
    }
    return box;
  }

  downloads() {
    const box = section('files', 'The data', fits(this.report));
    const list = element('p', { class: 'buttons' });
    for (const file of this.report.downloads) {
      const button = element('button', { type: 'button' }, `Save ${file.name}`);
      button.addEventListener('click', () => save(file.name, file.type, file.text));
      list.append(button);
    }
    for (const run of this.runs) {
      const button = element('button', { type: 'button' }, `Save the I/Os of ${run.name} as CSV`);
      button.addEventListener('click', () => save(`${run.name.replace(/[^\w.-]+/g, '_')}.csv`, 'text/csv', csv(run)));
      list.append(button);
    }
    box.append(list);
    return box;
  }

  /** @param {Run[]} runs @param {(run: Run) => Node[]} make */
  sides(runs, make) {
    const sides = element('div', { class: 'sides' });
    for (const run of runs) sides.append(figure(run.name, make(run)));
    return sides;
  }

  /** @param {Run[]} runs @param {boolean} [byJob] */
  legend(runs, byJob) {
    const [run] = runs;
    const named = this.jobs.map((name) => ({ name, colour: colour(this.number(name)) }));
    if (byJob || this.by === 'process') return names(named);
    const { legend: told } = colouring(run, this.by, run.ios.process, run.ios.way, run.ios.latency, this.number);
    return names(told);
  }

  controls() {
    const bar = element('div', { class: 'controls', role: 'toolbar', 'aria-label': 'what is shown' });
    if (this.runs.length > 1) {
      const set = element('fieldset', {}, element('legend', {}, 'Schedulers'));
      this.runs.forEach((run, nth) => {
        const box = /** @type {HTMLInputElement} */ (element('input', { type: 'checkbox' }));
        box.checked = this.shown.has(nth);
        box.addEventListener('change', () => {
          if (box.checked) this.shown.add(nth);
          else this.shown.delete(nth);
          this.build();
        });
        set.append(element('label', {}, box, element('i', { class: 'swatch', style: `background:${colour(nth)}` }), run.name));
      });
      bar.append(set);
    }
    if (this.runs.length > 0) bar.append(this.colourChoice(), this.zoomButtons());
    bar.append(this.themeButton());
    if (this.runs.length > 0) {
      bar.append(element('p', { class: 'note hint' }, 'Click a picture, then: wheel zooms, drag moves, double click shows '
        + 'all; keys ← → + − 0 move and zoom, n and p go from one to the next, Esc closes. All time axes move together.'));
    }
    return bar;
  }

  colourChoice() {
    const choice = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': 'colour of the points' }));
    for (const by of ['process', 'direction', 'latency']) choice.append(element('option', { value: by }, `colour by ${by}`));
    choice.value = this.by;
    choice.addEventListener('change', () => {
      this.by = choice.value;
      this.build();
      /** @type {HTMLElement | null} */ (document.querySelector('.controls select'))?.focus();
    });
    return choice;
  }

  zoomButtons() {
    const { view } = this;
    const middle = () => (view.from + view.to) / 2;
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) => {
      const made = element('button', { type: 'button', 'aria-label': label }, text);
      made.addEventListener('click', act);
      return made;
    };
    return element('span', { class: 'buttons' }, button('+', 'come closer', () => view.zoom(middle(), 0.5)),
      button('−', 'go back', () => view.zoom(middle(), 2)), button('whole run', 'show the whole run', () => view.reset()));
  }

  themeButton() {
    const isDark = forcedTheme() ? forcedTheme() === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
    const made = element('button', { type: 'button', class: 'theme' }, isDark ? 'light' : 'dark');
    made.addEventListener('click', () => {
      force(isDark ? 'light' : 'dark');
      this.build();
      /** @type {HTMLElement | null} */ (document.querySelector('.theme'))?.focus();
    });
    return made;
  }
}

/**
 * The one that the others are held against, and what is proposed, else whichever differs most; or all of three.
 * @param {Run[]} runs @param {number | null} proposed
 */
function firstShown(runs, proposed) {
  if (runs.length <= 3) return new Set(runs.map((_, nth) => nth));
  const mean = (/** @type {Run} */ run, /** @type {string} */ job) => {
    const [ios, ns] = run.totals[job] ?? [0, 0];
    return Math.log(Math.max(1, ns / Math.max(1, ios)));
  };
  const differs = (/** @type {Run} */ run) => run.jobs.reduce((sum, job) => sum + Math.abs(mean(run, job) - mean(runs[0], job)), 0);
  const order = runs.map((_, nth) => nth).slice(1).sort((a, b) => differs(runs[b]) - differs(runs[a]));
  return new Set([0, proposed !== null && proposed > 0 ? proposed : order[0]]);
}

/** @param {string} id @param {string} title @param {string} what */
function section(id, title, what) {
  return element('section', { id, 'aria-labelledby': `${id}-title` }, element('h2', { id: `${id}-title` }, title),
    element('p', { class: 'what' }, what));
}

/** @param {string} title @param {Node[]} nodes */
function figure(title, nodes) {
  return element('figure', {}, element('figcaption', {}, title), ...nodes);
}

/** @param {string} text */
function alternative(text) {
  return element('p', { class: 'alternative' }, text);
}

/** @param {{name: string, colour: string}[]} told @param {Run[]} [only] */
function names(told, only) {
  const wanted = told.filter(({ name }) => !only || only.some((run) => run.name === name));
  return legend(wanted.map((one) => ({ ...one, value: 0 })));
}

/** @param {number} ns */
function shortTime(ns) {
  const units = ['ns', 'µs', 'ms', 's'];
  let [size, nth] = [ns, 0];
  while (nth < 3 && size >= 999.5) [size, nth] = [size / 1000, nth + 1];
  return `${size >= 99.5 ? size.toFixed(0) : Number(size.toPrecision(2))} ${units[nth]}`;
}

/**
 * How much of the runs is in the file.
 * @param {import('./data.js').Report} report
 */
function fits(report) {
  return {
    everything: 'Every I/O with every piece of its time, every command and every decision is in this file.',
    points: 'Every I/O and every command is in this file; where the time went of the slowest hundredth.',
    slowest: 'The run is too large for one file: densities are of all of it, single I/Os of the slowest hundredth.',
    'few slowest': 'The run is too large for one file: densities are of all of it, single I/Os of the slowest thousandth.',
    sums: 'The run is too large for one file: it has densities and sums.',
  }[report.detail] ?? '';
}

/** @param {Run} run */
function csv({ ios, processes }) {
  const quoted = (/** @type {string} */ text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = ['nth,process,op,sector,sectors,begun_ns,latency_ns'];
  for (let nth = 0; nth < ios.nth.length; nth += 1) {
    lines.push([ios.nth[nth], quoted(processes[ios.process[nth]] ?? ''), ['read', 'write', 'trim', 'sync'][ios.way[nth]],
      ios.sector[nth], ios.sectors[nth], ios.begun[nth], ios.latency[nth]].join(','));
  }
  return `${lines.join('\n')}\n`;
}

/** @param {string} name @param {string} type @param {string} text */
function save(name, type, text) {
  const link = /** @type {HTMLAnchorElement} */ (element('a', { download: name }));
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Opens the page. */
async function open() {
  const data = document.getElementById('data')?.textContent ?? '';
  if (!('DecompressionStream' in window)) {
    const loading = document.getElementById('loading');
    if (loading) loading.textContent = 'This browser cannot unpack the pictures: it is older than 2023.';
    return;
  }
  const page = new Page(await unpacked(data));
  page.build();
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => page.build());
  let before = '';
  window.addEventListener('beforeprint', () => {
    before = forcedTheme();
    force('light');
    page.build();
    for (const scatter of page.scatters) scatter.frame();
  });
  window.addEventListener('afterprint', () => {
    force(before);
    page.build();
  });
  /** For the tests. */
  Object.assign(window, { blksched: { page, frames, legs, MARKS, greatest, bytes, SECTOR } });
  document.documentElement.dataset.ready = 'yes';
}

open();
