/** Points over time: where on the disk commands lie, or how long I/Os took. Densities from afar, points from nearby. */

import { count, element, time } from './format.js';
import { WAYS, lowerBound, remembered } from './data.js';
import { colour, ramp, rgb, theme } from './palette.js';
import { drawAxes, isOnPaper, logarithmic, sharpness } from './axes.js';
import { commandStory, ioStory } from './story.js';
import { Density, highlight } from './density.js';
import { Dots } from './dots.js';
import { frames, later } from './slices.js';
import { MOST_TOUCHED, Panel } from './panel.js';

/** This many points around the pointer are looked at. */
const LOOKED_AT = 2000;
/** More than that are drawn as pixels, fewer as rectangles. */
const MANY = 1000;
/** While points are counted, this many stand for all. */
const SAMPLE = 4000;
/** No point is picked from further away, in pixels. */
const REACH = 14;
export const LATENCY_FROM = 1e2;
export const LATENCY_TO = 1e12;

/**
 * The part of the logarithmic axis that latencies have.
 * @param {import('./data.js').Run[]} runs @returns {[number, number]}
 */
export function latencyEnds(runs) {
  let [low, high] = [Infinity, 0];
  for (const { curves } of runs) {
    for (const { ns } of curves) {
      low = Math.min(low, Math.max(ns[0], 100));
      high = Math.max(high, ns[ns.length - 1]);
    }
    for (const curve of curves) high = Math.max(high, curve.ns[curve.ns.length - 1] * 1.5);
  }
  if (!(low < high)) return [LATENCY_FROM, 1e9];
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
}

/**
 * The axis of latencies: a power of ten in which no I/O lies is narrower, unless the file has densities alone.
 * @param {import('./data.js').Run[]} runs @returns {import('./axes.js').Scale}
 */
export function latencyScale(runs) {
  const ends = latencyEnds(runs);
  if (runs.some((run) => run.density)) return logarithmic(...ends);
  return logarithmic(...ends, (power) => runs.some((run) => powers(run)[power]));
}

/**
 * In which powers of ten a run has latencies.
 * @param {import('./data.js').Run} run @returns {boolean[]}
 */
function powers(run) {
  return remembered(run, 'powers', () => {
    const found = Array.from({ length: 16 }, () => false);
    const { latency } = run.ios;
    let [low, high] = [0, 0];
    for (let nth = 0; nth < latency.length; nth += 1) {
      const ns = Math.max(latency[nth], 1);
      // Most lie where the one before lay.
      if (ns >= low && ns < high) continue;
      const power = Math.floor(Math.log10(ns));
      found[power] = true;
      [low, high] = [10 ** power, 10 ** (power + 1)];
    }
    return found;
  });
}

/**
 * How points are coloured.
 * @param {import('./data.js').Run} run @param {string} by process, direction or latency
 * @param {import('./data.js').Column} process @param {import('./data.js').Column} way
 * @param {import('./data.js').Column} latency @param {(name: string) => number} number of a job, the same in every run
 * @returns {import('./density.js').Colouring}
 */
export function colouring(run, by, process, way, latency, number) {
  const part = (/** @type {number} */ ns) => (Math.log10(Math.max(ns, 1e5)) - 5) / 4.5;
  if (by === 'latency') {
    const legend = [1e5, 1e6, 1e7, 1e8, 1e9].map((ns) => ({ name: time(ns), colour: `rgb(${ramp(part(ns))})` }));
    return { name: by, category: null, value: (nth) => part(latency[nth]), colour: () => theme().ink, legend };
  }
  if (by === 'direction') {
    const legend = WAYS.map((name, nth) => ({ name, colour: colour(nth) }));
    return { name: by, category: (nth) => way[nth], value: null, colour, legend };
  }
  const jobs = run.jobs.map((name) => number(name));
  const legend = run.jobs.map((name, nth) => ({ name, colour: colour(jobs[nth]) }));
  return {
    name: 'process', category: (nth) => jobs[run.jobs_of[process[nth]]] ?? 7, value: null, colour, legend,
  };
}

export class Scatter extends Panel {
  /**
   * @param {import('./panel.js').Host} host @param {string} label @param {import('./data.js').Run} run
   * @param {'lba' | 'latency'} kind @param {import('./axes.js').Scale} scale the vertical axis
   */
  constructor(host, label, run, kind, scale) {
    super(host, label, 240);
    this.run = run;
    this.kind = kind;
    const isLba = kind === 'lba';
    this.times = isLba ? run.sent.issued : run.ios.begun;
    this.heights = isLba ? run.sent.sector : run.ios.latency;
    this.lengths = isLba ? run.sent.in_disk : run.ios.latency;
    this.process = isLba ? run.sent.process : run.ios.process;
    this.way = isLba ? run.sent.way : run.ios.way;
    this.scale = scale;
    /** @type {Density | null} */
    this.density = null;
    /**
     * What counts them.
     * @type {import('./slices.js').Work | null}
     */
    this.counting = null;
    this.dots = new Dots();
    /** @type {import('./density.js').Colouring | null} */
    this.colouring = null;
  }

  /** @param {import('./density.js').Colouring} how */
  paint(how) {
    this.colouring = how;
    this.density = null;
    this.counting = null;
    this.ask();
  }

  /**
   * Part of the height of the nth; no number: it has none.
   * @param {number} nth
   */
  part(nth) {
    if (this.kind === 'lba' && this.run.sent.sectors[nth] === 0) return NaN;
    return this.scale.place(this.heights[nth]);
  }

  /**
   * The points in the window: from, to.
   * @returns {[number, number]}
   */
  visible() {
    return [lowerBound(this.times, this.view.from), lowerBound(this.times, this.view.to)];
  }

  /** Is only a part of the points in the file? */
  get isSparse() {
    return this.run.density !== null;
  }

  /** @param {CanvasRenderingContext2D} context */
  draw(context) {
    if (!this.colouring) return;
    drawAxes(context, this.width, this.height, this.view, this.scale);
    const [first, last] = this.visible();
    this.clipped(() => {
      if (this.isSparse || last - first > MOST_TOUCHED) this.drawDensity(context);
      if (last - first <= MOST_TOUCHED) this.drawPoints(context, first, last);
      if (this.selected >= 0) this.drawSelected(context);
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  drawDensity(context) {
    const { run, kind } = this;
    if (!this.counting) this.count();
    if (!this.density) {
      this.drawSample(context);
      return;
    }
    // Counts that came with the file have all of the axis, the picture a part of it.
    let [low, high] = [0, 1];
    if (run.density && kind === 'latency') {
      const whole = logarithmic(run.density.latency_from_ns, run.density.latency_to_ns);
      const { ticks: own } = this.scale;
      [low, high] = [whole.place(own[0].value), whole.place(own[own.length - 1].value)];
    }
    const { from, to } = this.view;
    const end = Math.min(to, run.elapsed_ns);
    if (end <= from) return;
    const into = { ...this.inner, width: this.x(end) - this.inner.x };
    this.density.blit(context, into, from / run.elapsed_ns, end / run.elapsed_ns, low, high);
  }

  /** Counts how many lie where: at once if it must be drawn at once. */
  count() {
    const how = /** @type {import('./density.js').Colouring} */ (this.colouring);
    const { run, kind } = this;
    const counted = (/** @type {Density} */ made) => {
      if (how !== this.colouring) return;
      this.density = made;
      this.ask();
    };
    this.counting = run.density
      ? Density.from(run.density[kind], how, run.jobs.map((_, nth) => nth), counted)
      : Density.of(this.times, run.elapsed_ns, (nth) => this.part(nth), how, counted);
    if (isOnPaper()) for (const _ of this.counting);
    else later(this.counting);
  }

  /**
   * While they are counted: every so manieth.
   * @param {CanvasRenderingContext2D} context
   */
  drawSample(context) {
    const [first, last] = this.visible();
    this.drawDots(context, first, last, Math.max(1, Math.ceil((last - first) / SAMPLE)));
  }

  /**
   * As pixels, every so manieth of them.
   * @param {CanvasRenderingContext2D} context @param {number} first @param {number} last @param {number} step
   */
  drawDots(context, first, last, step) {
    const how = /** @type {import('./density.js').Colouring} */ (this.colouring);
    const { inner, dots } = this;
    const size = (last - first) / step > 5000 ? 2 : 3;
    const perNs = inner.width / this.view.width;
    /** @type {Map<number, [number, number, number]>} */
    const known = new Map();
    dots.begin(inner.width, inner.height, sharpness());
    for (let nth = first; nth < last; nth += step) {
      frames.touched += 1;
      const y = this.part(nth);
      if (!(y >= 0)) continue;
      let colour = how.value ? ramp(how.value(nth)) : undefined;
      if (!colour) {
        const category = how.category ? how.category(nth) : 0;
        colour = known.get(category) ?? rgb(how.colour(category));
        known.set(category, colour);
      }
      const wide = this.kind === 'lba' ? Math.max(size, this.lengths[nth] * perNs) : size;
      dots.rectangle(this.x(this.times[nth]) - inner.x, inner.height * (1 - y) - size / 2, wide, size, colour, 0.7);
    }
    dots.end(context, inner);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} first @param {number} last */
  drawPoints(context, first, last) {
    const number = last - first;
    if (number > MANY) {
      this.drawDots(context, first, last, 1);
      return;
    }
    const how = /** @type {import('./density.js').Colouring} */ (this.colouring);
    const { inner } = this;
    frames.touched += number;
    const size = number > 800 ? 3 : 4;
    const perNs = inner.width / this.view.width;
    let before = '';
    context.globalAlpha = 0.9;
    for (let nth = first; nth < last; nth += 1) {
      const y = this.part(nth);
      if (!(y >= 0)) continue;
      const fill = how.value ? `rgb(${ramp(how.value(nth))})` : how.colour(how.category ? how.category(nth) : 0);
      if (fill !== before) context.fillStyle = fill;
      before = fill;
      const wide = this.kind === 'lba' ? Math.max(size, this.lengths[nth] * perNs) : size;
      context.fillRect(this.x(this.times[nth]), inner.y + inner.height * (1 - y) - size / 2, wide, size);
    }
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context */
  drawSelected(context) {
    const [x, y] = this.place(this.selected);
    context.strokeStyle = highlight();
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.stroke();
    if (this.kind === 'latency') {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(this.x(this.times[this.selected] + this.lengths[this.selected]), y);
      context.stroke();
    }
  }

  /** @param {number} nth @returns {[number, number]} */
  place(nth) {
    return [this.x(this.times[nth]), this.inner.y + this.inner.height * (1 - this.part(nth))];
  }

  /** @param {number} x @param {number} y */
  pick(x, y) {
    const { inner } = this;
    if (x < inner.x || x > inner.x + inner.width || y < inner.y || y > inner.y + inner.height) return -1;
    const at = lowerBound(this.times, this.at(x));
    const reach = (REACH / inner.width) * this.view.width;
    const first = Math.max(lowerBound(this.times, this.at(x) - reach), at - LOOKED_AT / 2);
    const last = Math.min(lowerBound(this.times, this.at(x) + reach), at + LOOKED_AT / 2);
    frames.most = Math.max(frames.most, last - first);
    let [nearest, least] = [-1, REACH];
    for (let nth = first; nth < last; nth += 1) {
      const [px, py] = this.place(nth);
      const distance = Math.hypot(px - x, py - y);
      if (distance < least) [nearest, least] = [nth, distance];
    }
    return nearest;
  }

  /** @param {number} nth @param {number} x @param {number} _y @returns {Node[] | null} */
  tell(nth, x, _y) {
    if (nth >= 0) return this.kind === 'lba' ? commandStory(this.run, nth) : ioStory(this.run, nth);
    const [first, last] = this.visible();
    if (last - first <= MOST_TOUCHED || x < this.inner.x) return null;
    const what = this.kind === 'lba' ? 'commands' : 'I/Os';
    return [element('p', {}, `${count(last - first)} ${what} in view: zoom in to see each.`)];
  }

  /** @param {number} by */
  step(by) {
    const [first, last] = this.visible();
    if (first >= last) return -1;
    const next = this.selected < 0 ? (by > 0 ? first : last - 1) : this.selected + by;
    return Math.min(Math.max(next, first), last - 1);
  }
}
