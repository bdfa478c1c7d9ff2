/** Lines over time: what each job got, and how many requests were with the scheduler and in the disk. */

import { element, moment, rate } from './format.js';
import { greatest, remembered } from './data.js';
import { drawAxes } from './axes.js';
import { colour, theme } from './palette.js';
import { frames } from './slices.js';
import { Panel } from './panel.js';

/** This many of the 2048 parts of a run make one point of a line. */
export const SMOOTH = 24;

/**
 * @typedef {object} Line
 * @property {string} name @property {string} colour @property {import('./data.js').Column} values
 * @property {import('./data.js').Column | null} most @property {number[]} dash
 */

export class Lines extends Panel {
  /**
   * @param {import('./panel.js').Host} host @param {string} label @param {number} binNs @param {() => Line[]} lines
   * @param {import('./axes.js').Scale} scale @param {(value: number) => string} show
   */
  constructor(host, label, binNs, lines, scale, show) {
    super(host, label, 170);
    this.binNs = binNs;
    this.lines = lines;
    this.scale = scale;
    this.show = show;
  }

  /** @param {CanvasRenderingContext2D} context */
  draw(context) {
    drawAxes(context, this.width, this.height, this.view, this.scale);
    this.clipped(() => {
      for (const one of this.lines()) {
        context.strokeStyle = one.colour;
        if (one.most) this.steps(context, one.most);
        context.setLineDash(one.dash);
        context.lineWidth = 1.6;
        this.trace(context, one.values);
        context.setLineDash([]);
      }
      if (this.selected >= 0) {
        context.fillStyle = theme().faint;
        context.fillRect(this.x((this.selected + 0.5) * this.binNs), this.inner.y, 1, this.inner.height);
      }
    });
  }

  /**
   * The bins in the window, as many together as make a pixel.
   * @returns {{first: number, last: number, step: number}}
   */
  bins() {
    const first = Math.max(0, Math.floor(this.view.from / this.binNs) - 1);
    const last = Math.ceil(this.view.to / this.binNs) + 1;
    return { first, last, step: Math.max(1, Math.floor((last - first) / Math.max(1, this.inner.width / 2))) };
  }

  /** @param {CanvasRenderingContext2D} context @param {import('./data.js').Column} values */
  trace(context, values) {
    const { first, last, step } = this.bins();
    context.beginPath();
    for (let bin = first; bin < Math.min(last, values.length); bin += step) {
      let sum = 0;
      const end = Math.min(bin + step, values.length);
      for (let nth = bin; nth < end; nth += 1) sum += values[nth];
      frames.touched += end - bin;
      const y = this.height_of(sum / (end - bin));
      context.lineTo(this.x((bin + (end - bin) / 2) * this.binNs), y);
    }
    context.stroke();
  }

  /**
   * The most of each while, dotted.
   * @param {CanvasRenderingContext2D} context @param {import('./data.js').Column} values
   */
  steps(context, values) {
    const { first, last } = this.bins();
    // Coarser than the line, so that these are steps and not a comb.
    const step = Math.max(1, Math.floor((last - first) / Math.max(1, this.inner.width / 12)));
    context.setLineDash([2, 3]);
    context.lineWidth = 1.2;
    context.beginPath();
    for (let bin = first; bin < Math.min(last, values.length); bin += step) {
      let most = 0;
      const end = Math.min(bin + step, values.length);
      for (let nth = bin; nth < end; nth += 1) most = Math.max(most, values[nth]);
      frames.touched += end - bin;
      const y = this.height_of(most * 1000);
      context.lineTo(this.x(bin * this.binNs), y);
      context.lineTo(this.x(end * this.binNs), y);
    }
    context.stroke();
  }

  /** @param {number} value */
  height_of(value) {
    return this.inner.y + this.inner.height * (1 - this.scale.place(value));
  }

  /** @param {number} x @param {number} _y */
  pick(x, _y) {
    const bin = Math.floor(this.at(x) / this.binNs);
    const values = this.lines()[0]?.values.length ?? 0;
    return x >= this.inner.x && bin >= 0 && bin < values ? bin : -1;
  }

  /** @param {number} nth @param {number} _x @param {number} _y @returns {Node[] | null} */
  tell(nth, _x, _y) {
    if (nth < 0) return null;
    const body = element('tbody', {});
    for (const one of this.lines()) {
      const most = one.most ? `, at most ${one.most[nth]}` : '';
      body.append(element('tr', {},
        element('td', {}, element('i', { class: 'swatch', style: `background:${one.colour}` }), one.name),
        element('td', { class: 'number' }, this.show(one.values[nth]) + most)));
    }
    const at = moment(nth * this.binNs, this.binNs * 100);
    return [element('strong', {}, `At ${at}`), element('table', {}, body)];
  }

  /** @param {number} by */
  step(by) {
    const last = (this.lines()[0]?.values.length ?? 0) - 1;
    const { first, last: end } = this.bins();
    const next = this.selected < 0 ? first + 1 : this.selected + by;
    return Math.min(Math.max(next, first, 0), end, last);
  }

  /** @param {number} nth @returns {[number, number]} */
  place(nth) {
    return [this.x((nth + 0.5) * this.binNs), this.inner.y + 20];
  }
}

/**
 * Bytes of a bin as bytes a second, smoothed.
 * @param {import('./data.js').Column} bytes @param {number} binNs
 */
function rates(bytes, binNs) {
  const smooth = new Float64Array(bytes.length);
  let sum = 0;
  const window = SMOOTH;
  for (let nth = 0; nth < bytes.length + window / 2; nth += 1) {
    if (nth < bytes.length) sum += bytes[nth];
    if (nth >= window) sum -= bytes[nth - window];
    const at = nth - window / 2;
    // At the run's ends fewer are known.
    const known = Math.min(nth, bytes.length - 1) - Math.max(0, nth - window + 1) + 1;
    if (at >= 0) smooth[at] = (sum / known) * (1e9 / binNs);
  }
  return smooth;
}

/**
 * Bytes a second of each job.
 * @param {import('./data.js').Run} run
 */
function smoothed(run) {
  return remembered(run, 'rates', () => run.series.bytes.map((bytes) => rates(bytes, run.series.width_ns)));
}

/** @param {import('./data.js').Run} run @param {(name: string) => number} number @returns {() => Line[]} */
export function throughputLines(run, number) {
  const smooth = smoothed(run);
  const has = smooth.map((values) => values.some((value) => value > 0));
  return () => run.jobs
    .map((name, nth) => ({
      name, colour: colour(number(name)), values: smooth[nth], most: null, dash: [],
    }))
    .filter((_, nth) => has[nth]);
}

/** @param {import('./data.js').Run} run @returns {() => Line[]} */
export function depthLines(run) {
  const { queued, in_disk: inDisk } = run.series;
  // Over so much of the run as makes a bin a second, so that the numbers stay as they are.
  const [queuedMean, diskMean] = [rates(queued.mean, 1e9), rates(inDisk.mean, 1e9)];
  return () => [
    { name: 'with the scheduler', colour: colour(1), values: queuedMean, most: queued.most, dash: [] },
    { name: 'in the disk', colour: colour(0), values: diskMean, most: inDisk.most, dash: [] },
  ];
}

/** @param {number} thousandths */
export function depth(thousandths) {
  const whole = thousandths / 1000;
  return whole >= 10 || Number.isInteger(whole) ? whole.toFixed(0) : whole.toFixed(1);
}

/**
 * The greatest of several lines.
 * @param {import('./data.js').Run[]} runs
 */
export function greatestRate(runs) {
  let most = 0;
  for (const run of runs) {
    for (const values of smoothed(run)) most = Math.max(most, greatest(values));
  }
  return most;
}

/** @param {number} value */
export function showRate(value) {
  return rate(value);
}
