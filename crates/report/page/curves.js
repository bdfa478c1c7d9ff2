/** How late the latest are: latency by percentile, a line per scheduler, an axis on which each nine is as wide. */

import { element, time } from './format.js';
import { WAYS } from './data.js';
import { MARGIN, isOnPaper, line, logarithmic, sharpness } from './axes.js';
import { colour, dash, theme } from './palette.js';
import { latencyEnds } from './scatter.js';

const NINES = ['p0', 'p90', 'p99', 'p99.9', 'p99.99'];

/** @typedef {{scheduler: number, name: string, curve: import('./data.js').Curve}} Named */

/**
 * The curves that can be held against each other, by job and kind.
 * @param {import('./data.js').Run[]} runs @returns {{title: string, curves: Named[]}[]}
 */
export function groups(runs) {
  /** @type {Map<string, Named[]>} */
  const found = new Map();
  runs.forEach((run, scheduler) => {
    for (const curve of run.curves) {
      if (curve.ios < 20) continue;
      const title = `${run.jobs[curve.job]}: ${WAYS[curve.way]}`;
      found.set(title, [...(found.get(title) ?? []), { scheduler, name: run.name, curve }]);
    }
  });
  return [...found].map(([title, curves]) => ({ title, curves }));
}

/**
 * What a percentile is at these nines.
 * @param {import('./data.js').Curve} curve @param {number} nines
 */
export function atNines(curve, nines) {
  return curve.ns[Math.round(nines * curve.steps)] ?? null;
}

export class Curves {
  /** @param {import('./panel.js').Host} host @param {string} label @param {Named[]} curves */
  constructor(host, label, curves) {
    this.host = host;
    const height = isOnPaper() ? 165 : 210;
    host.panels.push({ frame: () => this.draw() });
    this.curves = curves;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {
      tabindex: '0', role: 'img', 'aria-label': label, style: `height:${height}px`,
    }));
    this.height = height;
    this.nines = -1;
    const all = /** @type {any} */ (curves.map(({ curve }) => ({ curves: [curve] })));
    const [low, high] = latencyEnds(all);
    this.scale = logarithmic(low, high);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener('pointermove', (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.look(((event.clientX - box.left - MARGIN.left) / this.across) * 4, event.clientX, event.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => this.look(-1, 0, 0));
    this.canvas.addEventListener('blur', () => this.look(-1, 0, 0));
    this.canvas.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: -0.1, ArrowRight: 0.1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      const nines = Math.min(4, Math.max(0, (this.nines < 0 ? 1 : this.nines) + by));
      this.look(nines, box.left + MARGIN.left + (nines / 4) * this.across, box.top + 20);
    });
  }

  get across() {
    return this.canvas.clientWidth - MARGIN.left - MARGIN.right;
  }

  /**
   * Tells what each scheduler has there.
   * @param {number} nines @param {number} x @param {number} y
   */
  look(nines, x, y) {
    this.nines = nines >= 0 && nines <= 4 ? nines : -1;
    this.draw();
    if (this.nines < 0) {
      this.host.tell(null, 0, 0, this);
      return;
    }
    const body = element('tbody', {});
    for (const { scheduler, name, curve } of this.curves) {
      const ns = atNines(curve, this.nines);
      body.append(element('tr', {},
        element('td', {}, element('i', { class: 'swatch', style: `background:${colour(scheduler)}` }), name),
        element('td', { class: 'number' }, ns === null ? 'too few I/Os' : time(ns))));
    }
    const percentile = 100 * (1 - 10 ** -this.nines);
    const shown = percentile.toFixed(Math.max(0, Math.ceil(this.nines) - 1)).replace(/\.0+$/, '');
    this.host.tell([element('strong', {}, `p${shown}: all but the slowest ${(100 - percentile).toPrecision(2)} %`),
      element('table', {}, body)], x, y, this);
  }

  draw() {
    const { canvas, height } = this;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const ratio = sharpness();
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { ink, faint, grid, paper } = theme();
    context.fillStyle = paper;
    context.fillRect(0, 0, width, height);
    context.font = '11px system-ui, sans-serif';
    const inner = height - MARGIN.top - MARGIN.bottom;
    const y = (/** @type {number} */ ns) => MARGIN.top + inner * (1 - this.scale.place(ns));
    const x = (/** @type {number} */ nines) => MARGIN.left + (nines / 4) * this.across;
    context.strokeStyle = grid;
    context.fillStyle = faint;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const { value, label } of this.scale.ticks) {
      line(context, MARGIN.left, y(value), width - MARGIN.right, y(value));
      context.fillText(label, MARGIN.left - 6, y(value));
    }
    context.textBaseline = 'top';
    NINES.forEach((label, nines) => {
      line(context, x(nines), MARGIN.top, x(nines), height - MARGIN.bottom);
      context.textAlign = nines === 0 ? 'left' : nines === 4 ? 'right' : 'center';
      context.fillText(label, x(nines), height - MARGIN.bottom + 6);
    });
    for (const { scheduler, curve } of this.curves) {
      context.strokeStyle = colour(scheduler);
      context.setLineDash(dash(scheduler));
      context.lineWidth = 2;
      context.beginPath();
      curve.ns.forEach((ns, step) => context.lineTo(x(step / curve.steps), y(ns)));
      context.stroke();
    }
    context.setLineDash([]);
    if (this.nines >= 0) {
      context.strokeStyle = ink;
      context.lineWidth = 1;
      line(context, x(this.nines), MARGIN.top, x(this.nines), height - MARGIN.bottom);
    }
  }
}
