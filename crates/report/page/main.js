/** Puts the page together: which pictures there are, what each means, and the controls that all of them share. */

import { bytes } from './format.js';
import { SECTOR, greatest, unpacked } from './data.js';
import { force, forcedTheme } from './palette.js';
import { View } from './view.js';
import { legs } from './story.js';
import { forget, frames } from './slices.js';
import { colouring } from './scatter.js';
import { SIGNS } from './signs.js';
import { controls } from './controls.js';
import { files } from './files.js';
import { pictures, publishedSection } from './pictures.js';

/** @typedef {import('./data.js').Run} Run */
/** @typedef {import('./scatter.js').Scatter} Scatter */

/** What all pictures share. */
export class Page {
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
    this.host = { view: this.view, tell: (nodes, x, y, who) => this.tell(nodes, x, y, who), panels: [] };
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
    forget();
    this.view.listeners = [];
    this.host.panels = [];
    this.scatters = [];
    const runs = this.runs.filter((_, nth) => this.shown.has(nth));
    /** @type {Node[]} */
    const made = [controls(this)];
    if (runs.length > 0) made.push(...this.pictures(runs));
    if (this.report.published.length > 0) made.push(publishedSection(this));
    made.push(files(this.report));
    this.main.replaceChildren(...made);
  }

  /** @param {Run[]} runs @returns {Node[]} */
  pictures(runs) {
    const made = pictures(this, runs);
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

/**
 * Paper is light, cannot unfold anything, and waits for no frame.
 * @param {Page} page
 */
function onPaper(page) {
  let before = '';
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  window.addEventListener('beforeprint', () => {
    before = forcedTheme();
    force('light');
    opened = [...document.querySelectorAll('details')].filter((one) => !one.open);
    for (const one of opened) one.open = true;
    document.documentElement.dataset.paper = 'yes';
    page.build();
    for (const panel of page.host.panels) panel.frame();
  });
  window.addEventListener('afterprint', () => {
    force(before);
    for (const one of opened) one.open = false;
    delete document.documentElement.dataset.paper;
    page.build();
  });
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
  onPaper(page);
  /** For the tests. */
  Object.assign(window, { blksched: { page, frames, legs, SIGNS, greatest, bytes, SECTOR } });
  document.documentElement.dataset.ready = 'yes';
}

open();
