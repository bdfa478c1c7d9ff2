/** What the scheduler decided: whose turn, which batch, when it left the disk idle (hatched), and what it did at moments. */

import { element, moment, time } from './format.js';
import { lowerBound } from './data.js';
import { MARGIN, drawAxes } from './axes.js';
import { colour, theme } from './palette.js';
import { Busy } from './busy.js';
import { drawSign, signed } from './signs.js';
import { frames } from './slices.js';
import { MOST_TOUCHED, Panel } from './panel.js';

export const STRETCHES = ['turn', 'batch', 'idle on purpose', 'no token', 'tokens'];
/** A stretch of this kind says how many there are, not that somebody is at work. */
const TOKENS = 4;
const IDLE = 2;
/** A stretch longer than this part of the run is looked at in every window: there cannot be many of them. */
const LONG = 1 / 64;
/** More of them than that are drawn as sums: each would be a part of a pixel. */
const MANY_STRETCHES = 4000;

export class Timeline extends Panel {
  /**
   * @param {import('./panel.js').Host} host @param {string} label @param {import('./data.js').Run} run
   * @param {(name: string) => number} number of a job
   */
  constructor(host, label, run, number) {
    super(host, label, Math.max(90, MARGIN.top + MARGIN.bottom + 26 * run.lanes.length));
    this.run = run;
    this.number = number;
    const { length } = run.decisions.stretches;
    /** @type {number[]} */
    this.long = [];
    /** The longest of the others. */
    this.longest = 0;
    for (let nth = 0; nth < length.length; nth += 1) {
      if (length[nth] > run.elapsed_ns * LONG) this.long.push(nth);
      else this.longest = Math.max(this.longest, length[nth]);
    }
    /** @type {Busy | null} */
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
   * The stretches that may be in the window, but for the long ones that began before.
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
      context.fillText(shortened(context, name, MARGIN.left - 8), MARGIN.left - 5, y + each / 2);
    });
    this.clipped(() => {
      const { kind } = this.run.decisions.stretches;
      const [first, last] = this.visible();
      if (last - first > MANY_STRETCHES) {
        for (const nth of this.long) if (kind[nth] === TOKENS) this.drawStretch(context, nth);
        this.drawBusy(context);
      } else {
        for (const nth of this.long) if (nth < first) this.drawStretch(context, nth);
        for (let nth = first; nth < last; nth += 1) this.drawStretch(context, nth);
      }
      this.drawMarks(context);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {number} nth */
  drawStretch(context, nth) {
    const { lane, kind, from, length } = this.run.decisions.stretches;
    frames.touched += 1;
    const [y, each] = this.y(lane[nth]);
    // What begins or ends far outside is drawn from and to the picture's edges.
    const x = Math.max(this.x(from[nth]), this.inner.x - 9);
    const width = Math.min(Math.max(1, this.x(from[nth] + length[nth]) - x), this.inner.width + 18);
    if (x + width < this.inner.x || this.x(from[nth] + length[nth]) < this.inner.x) return;
    if (kind[nth] === TOKENS) {
      this.drawTokens(context, nth, x, width);
      return;
    }
    const isIdle = kind[nth] === IDLE;
    context.globalAlpha = nth === this.selected ? 1 : 0.75;
    context.fillStyle = isIdle ? this.hatched(context, lane[nth]) : this.laneColour(lane[nth]);
    context.fillRect(x, y + 4, width, each - 8);
    if (isIdle && width > 3) {
      context.strokeStyle = this.laneColour(lane[nth]);
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 4.5, width - 1, each - 9);
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
   * Too many to be drawn one by one: how much of each two pixels.
   * @param {CanvasRenderingContext2D} context
   */
  drawBusy(context) {
    const { run, inner } = this;
    const { stretches } = run.decisions;
    const row = (/** @type {number} */ kind) => (kind === TOKENS ? -1 : Number(kind === IDLE));
    this.busy ??= new Busy(run.lanes.length, run.elapsed_ns, stretches, row);
    for (let lane = 0; lane < run.lanes.length; lane += 1) {
      const [y, each] = this.y(lane);
      for (const which of [0, 1]) {
        context.fillStyle = which === 0 ? this.laneColour(lane) : this.hatched(context, lane);
        for (let x = inner.x; x < inner.x + inner.width; x += 2) {
          frames.touched += 1;
          const part = this.busy.part(lane, which, this.at(x), this.at(x + 2));
          if (part < 0.004) continue;
          context.globalAlpha = 0.15 + 0.7 * Math.min(1, part);
          context.fillRect(x, y + 4, 2, each - 8);
        }
      }
    }
    context.globalAlpha = 1;
  }

  /**
   * Signs, at most one of a kind in twelve pixels of a lane.
   * @param {CanvasRenderingContext2D} context
   */
  drawMarks(context) {
    const { lane, kind, at } = this.run.decisions.marks;
    const [first, last] = [lowerBound(at, this.view.from), lowerBound(at, this.view.to)];
    const step = Math.max(1, Math.ceil((last - first) / (MOST_TOUCHED / 4)));
    /** @type {Map<number, number>} */
    const busy = new Map();
    for (let nth = first; nth < last; nth += step) {
      frames.touched += 1;
      const x = this.x(at[nth]);
      const key = lane[nth] * 8 + kind[nth];
      if (x - (busy.get(key) ?? -Infinity) < 12) continue;
      busy.set(key, x);
      const [y, each] = this.y(lane[nth]);
      const { inner } = this;
      drawSign(context, kind[nth], Math.min(Math.max(x, inner.x + 6), inner.x + inner.width - 6), y + each / 2);
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
    const isThere = (/** @type {number} */ nth) => lanes[nth] === lane && from[nth] + length[nth] >= at - slack;
    for (let nth = before - 1; nth >= Math.max(0, before - 2000); nth -= 1) if (isThere(nth)) return nth;
    return this.long.slice().reverse().find((nth) => nth < before && isThere(nth)) ?? -1;
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
      nodes.push(element('p', {}, ...signed(marks.kind[at], this.run.words[marks.why[at]])));
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
 * As much of a name as has room.
 * @param {CanvasRenderingContext2D} context @param {string} name @param {number} room
 */
function shortened(context, name, room) {
  let [text, length] = [name, name.length];
  while (length > 1 && context.measureText(text).width > room) {
    length -= 1;
    text = `${name.slice(0, length)}…`;
  }
  return text;
}
