/** What the scheduler decided: whose turn, which batch, when it left the disk idle (hatched), and what it did at moments. */

import { element, moment, time } from './format.js';
import { greatest, lowerBound } from './data.js';
import { MARGIN, drawAxes } from './axes.js';
import { colour, theme } from './palette.js';
import { MOST_TOUCHED, Panel, frames } from './panel.js';

export const STRETCHES = ['turn', 'batch', 'idle on purpose', 'no token', 'tokens'];
/** A stretch of this kind says how many there are, not that somebody is at work. */
const TOKENS = 4;
export const MARKS = ['preempted', 'queues merged or split', 'another\'s request injected', 'time was up',
  'weight raised', 'tokens changed'];
const SIGNS = ['✕', '◆', '▲', '!', '↑', '±'];
const BINS = 4096;

export class Timeline extends Panel {
  /**
   * @param {import('./panel.js').Host} host @param {string} label @param {import('./data.js').Run} run
   * @param {(name: string) => number} number of a job
   */
  constructor(host, label, run, number) {
    super(host, label, Math.max(90, MARGIN.top + MARGIN.bottom + 26 * run.lanes.length));
    this.run = run;
    this.number = number;
    const { stretches } = run.decisions;
    this.longest = greatest(stretches.length);
    /**
     * How much of each bin each lane was busy, by kind.
     * @type {Float32Array | null}
     */
    this.busy = null;
    /**
     * By colour.
     * @type {Map<string, CanvasPattern | string>}
     */
    this.patterns = new Map();
    this.scale = { place: () => 0, ticks: [] };
  }

  /** @param {number} lane */
  y(lane) {
    const each = this.inner.height / Math.max(1, this.run.lanes.length);
    return [this.inner.y + lane * each, each];
  }

  /** @param {number} lane */
  laneColour(lane) {
    const name = this.run.lanes[lane].split('/')[0];
    const known = this.run.jobs.includes(name);
    return known ? colour(this.number(name)) : colour({ reads: 0, writes: 1 }[name] ?? lane);
  }

  /**
   * The stretches that may be in the window.
   * @returns {[number, number]}
   */
  visible() {
    const { from } = this.run.decisions.stretches;
    return [lowerBound(from, this.view.from - this.longest), lowerBound(from, this.view.to)];
  }

  /** @param {CanvasRenderingContext2D} context */
  draw(context) {
    drawAxes(context, this.width, this.height, this.view, this.scale);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    this.run.lanes.forEach((name, lane) => {
      const [y, each] = this.y(lane);
      context.fillStyle = theme().ink;
      context.fillText(name.length > 10 ? `${name.slice(0, 9)}…` : name, MARGIN.left - 5, y + each / 2);
    });
    this.clipped(() => {
      const [first, last] = this.visible();
      if (last - first <= MOST_TOUCHED * 0.7) this.drawStretches(context, first, last);
      else this.drawBusy(context);
      this.drawMarks(context);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {number} first @param {number} last */
  drawStretches(context, first, last) {
    const { lane, kind, from, length } = this.run.decisions.stretches;
    frames.touched += last - first;
    for (let nth = first; nth < last; nth += 1) {
      const [y, each] = this.y(lane[nth]);
      const x = this.x(from[nth]);
      const width = Math.max(1, this.x(from[nth] + length[nth]) - x);
      if (x + width < this.inner.x) continue;
      const isIdle = kind[nth] === 2;
      context.globalAlpha = nth === this.selected ? 1 : 0.75;
      if (kind[nth] === TOKENS) {
        this.drawTokens(context, nth, x, width);
        continue;
      }
      context.fillStyle = isIdle ? this.hatched(context, lane[nth]) : this.laneColour(lane[nth]);
      context.fillRect(x, y + 4, width, each - 8);
      if (isIdle && width > 3) {
        context.strokeStyle = this.laneColour(lane[nth]);
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 4.5, width - 1, each - 9);
      }
    }
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} nth @param {number} x @param {number} width */
  drawTokens(context, nth, x, width) {
    const { lane, why } = this.run.decisions.stretches;
    const [y, each] = this.y(lane[nth]);
    const label = this.run.words[why[nth]] ?? '';
    context.globalAlpha = 0.3;
    context.fillStyle = this.laneColour(lane[nth]);
    context.fillRect(x, y + 3, Math.max(1, width - 2), each - 6);
    context.globalAlpha = 1;
    const left = Math.max(x, this.inner.x) + 10;
    if (left + context.measureText(label).width + 10 > Math.min(x + width, this.inner.x + this.inner.width)) return;
    context.fillStyle = theme().ink;
    context.textAlign = 'left';
    context.fillText(label, left, y + each / 2);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} lane */
  hatched(context, lane) {
    const known = this.patterns.get(this.laneColour(lane));
    if (known) return known;
    const tile = document.createElement('canvas');
    tile.width = 6;
    tile.height = 6;
    const inside = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
    inside.strokeStyle = this.laneColour(lane);
    inside.lineWidth = 1.4;
    for (const by of [-6, 0, 6]) {
      inside.beginPath();
      inside.moveTo(by - 1, 7);
      inside.lineTo(by + 7, -1);
      inside.stroke();
    }
    const pattern = context.createPattern(tile, 'repeat') ?? 'transparent';
    this.patterns.set(this.laneColour(lane), pattern);
    return pattern;
  }

  /**
   * Too many to be drawn one by one: how much of each bin.
   * @param {CanvasRenderingContext2D} context
   */
  drawBusy(context) {
    const { lanes } = this.run;
    this.busy ??= this.sums();
    const bin = this.run.elapsed_ns / BINS;
    const first = Math.max(0, Math.floor(this.view.from / bin));
    const last = Math.min(BINS, Math.ceil(this.view.to / bin));
    // Of many lanes every so manieth bin stands for those behind it.
    const step = Math.max(1, Math.ceil((2 * lanes.length * (last - first)) / (MOST_TOUCHED / 2)));
    lanes.forEach((_, lane) => {
      const [y, each] = this.y(lane);
      for (const kind of [0, 1]) {
        context.fillStyle = kind === 0 ? this.laneColour(lane) : this.hatched(context, lane);
        for (let nth = first; nth < last; nth += step) {
          const part = /** @type {Float32Array} */ (this.busy)[(lane * 2 + kind) * BINS + nth];
          if (part < 0.004) continue;
          context.globalAlpha = 0.15 + 0.7 * Math.min(1, part);
          context.fillRect(this.x(nth * bin), y + 4, this.x((nth + step) * bin) - this.x(nth * bin) + 0.5, each - 8);
        }
        frames.touched += Math.ceil((last - first) / step);
      }
    });
    context.globalAlpha = 1;
  }

  sums() {
    const sums = new Float32Array(this.run.lanes.length * 2 * BINS);
    const { lane, kind, from, length } = this.run.decisions.stretches;
    const bin = this.run.elapsed_ns / BINS;
    for (let nth = 0; nth < lane.length; nth += 1) {
      if (kind[nth] === TOKENS) continue;
      const to = from[nth] + length[nth];
      for (let at = Math.floor(from[nth] / bin); at < BINS && at * bin < to; at += 1) {
        const part = (Math.min(to, (at + 1) * bin) - Math.max(from[nth], at * bin)) / bin;
        sums[(lane[nth] * 2 + (kind[nth] === 2 ? 1 : 0)) * BINS + at] += part;
      }
    }
    return sums;
  }

  /**
   * Signs, at most one of a kind in four pixels of a lane.
   * @param {CanvasRenderingContext2D} context
   */
  drawMarks(context) {
    const { lane, kind, at } = this.run.decisions.marks;
    const [first, last] = [lowerBound(at, this.view.from), lowerBound(at, this.view.to)];
    const step = Math.max(1, Math.ceil((last - first) / (MOST_TOUCHED / 4)));
    /** @type {Map<number, number>} */
    const busy = new Map();
    context.textAlign = 'center';
    context.font = 'bold 11px system-ui, sans-serif';
    context.fillStyle = theme().ink;
    for (let nth = first; nth < last; nth += step) {
      frames.touched += 1;
      const x = this.x(at[nth]);
      const key = lane[nth] * 8 + kind[nth];
      if (x - (busy.get(key) ?? -Infinity) < 12) continue;
      busy.set(key, x);
      const [y, each] = this.y(lane[nth]);
      context.fillText(SIGNS[kind[nth]] ?? '?', x, y + each / 2);
    }
  }

  /** @param {number} x @param {number} y */
  pick(x, y) {
    const lane = Math.floor((y - this.inner.y) / (this.inner.height / Math.max(1, this.run.lanes.length)));
    if (x < this.inner.x || lane < 0 || lane >= this.run.lanes.length) return -1;
    const { from, length, lane: lanes } = this.run.decisions.stretches;
    const at = this.at(x);
    const slack = (3 / this.inner.width) * this.view.width;
    const before = lowerBound(from, at + slack);
    for (let nth = before - 1; nth >= Math.max(0, before - 2000); nth -= 1) {
      if (lanes[nth] === lane && from[nth] + length[nth] >= at - slack) return nth;
    }
    return -1;
  }

  /** @param {number} nth @param {number} x @param {number} y @returns {Node[] | null} */
  tell(nth, x, y) {
    const { stretches, marks } = this.run.decisions;
    const nodes = [];
    if (nth >= 0) {
      const why = this.run.words[stretches.why[nth]] ?? '';
      nodes.push(element('strong', {}, `${this.run.lanes[stretches.lane[nth]]}: ${STRETCHES[stretches.kind[nth]]} of `
        + `${time(stretches.length[nth])}`),
      element('p', {}, `From ${moment(stretches.from[nth], this.view.width)}. ${why}`));
    }
    const near = (6 / this.inner.width) * this.view.width;
    const first = lowerBound(marks.at, this.at(x) - near);
    for (let at = first; at < Math.min(marks.at.length, first + 5) && marks.at[at] < this.at(x) + near; at += 1) {
      const [top, each] = this.y(marks.lane[at]);
      if (y < top || y > top + each) continue;
      nodes.push(element('p', {}, `${SIGNS[marks.kind[at]]} ${this.run.words[marks.why[at]] ?? ''}`));
    }
    return nodes.length > 0 ? nodes : null;
  }

  /** @param {number} by */
  step(by) {
    const [first, last] = this.visible();
    if (first >= last) return -1;
    const next = this.selected < 0 ? (by > 0 ? first : last - 1) : this.selected + by;
    return Math.min(Math.max(next, first), last - 1);
  }

  /** @param {number} nth @returns {[number, number]} */
  place(nth) {
    const { from, length, lane } = this.run.decisions.stretches;
    const [y, each] = this.y(lane[nth]);
    const middle = this.x(from[nth] + length[nth] / 2);
    return [Math.min(Math.max(middle, this.inner.x + 1), this.inner.x + this.inner.width - 1), y + each / 2];
  }
}

/**
 * What the signs mean, of those that are there.
 * @param {import('./data.js').Run[]} runs @returns {string[]}
 */
export function signs(runs) {
  const seen = new Set();
  for (const run of runs) for (const kind of run.decisions.marks.kind) seen.add(kind);
  return MARKS.map((name, kind) => `${SIGNS[kind]} ${name}`).filter((_, kind) => seen.has(kind));
}
