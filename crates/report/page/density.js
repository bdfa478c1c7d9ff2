/** How many points lie where, at every magnification: drawn once, in pieces of work, so that a frame touches no point. */

import { greatest } from './data.js';
import { rgb, ramp, theme } from './palette.js';

const COLUMNS = 4096;
const ROWS = 128;
const NARROWEST_LEVEL = 256;
/** This many points are counted in one go: a millisecond or so. */
const PIECE = 8192;

/**
 * A picture of the whole run, this many cells wide.
 * @typedef {{columns: number, canvas: HTMLCanvasElement}} Level
 */

/**
 * What colours a point: a category with a colour each, or a value between 0 and 1.
 * @typedef {object} Colouring
 * @property {string} name
 * @property {((nth: number) => number) | null} category of the nth point
 * @property {((nth: number) => number) | null} value of the nth point, 0 to 1
 * @property {(category: number) => string} colour
 * @property {{name: string, colour: string}[]} legend
 */

export class Density {
  /** @param {number} columns @param {number} rows */
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.counts = new Uint32Array(columns * rows);
    /** For whom most of a cell is: Boyer and Moore's vote. */
    this.leader = new Uint32Array(columns * rows);
    this.lead = new Uint32Array(columns * rows);
    /**
     * The greatest value in a cell, if points have values.
     * @type {Float32Array | null}
     */
    this.values = null;
    /** @type {Level[]} */
    this.levels = [];
  }

  /**
   * Counts points, in pieces of work.
   * @param {import('./data.js').Column} times sorted @param {number} end of the run
   * @param {(nth: number) => number} place part of the height @param {Colouring} colouring
   * @param {(made: Density) => void} done
   * @returns {import('./slices.js').Work}
   */
  static* of(times, end, place, colouring, done) {
    const made = new Density(COLUMNS, ROWS);
    const { category, value } = colouring;
    if (value) made.values = new Float32Array(COLUMNS * ROWS);
    for (let nth = 0; nth < times.length; nth += 1) {
      if (nth % PIECE === PIECE - 1) yield;
      const y = place(nth);
      if (!(y >= 0)) continue;
      const column = Math.min(COLUMNS - 1, Math.floor((times[nth] / end) * COLUMNS));
      const cell = Math.min(ROWS - 1, Math.floor(y * ROWS)) * COLUMNS + column;
      made.counts[cell] += 1;
      if (value && made.values) made.values[cell] = Math.max(made.values[cell], value(nth));
      else if (category) made.vote(cell, category(nth), 1);
    }
    yield* made.draw(colouring);
    done(made);
  }

  /**
   * Counts that were made before.
   * @param {import('./data.js').Grid} grid @param {Colouring} colouring @param {number[]} jobs
   * @param {(made: Density) => void} done
   * @returns {import('./slices.js').Work}
   */
  static* from(grid, colouring, jobs, done) {
    const made = new Density(grid.columns, grid.rows);
    made.counts.set(grid.counts);
    for (let cell = 0; cell < grid.process.length; cell += 1) {
      made.leader[cell] = colouring.name === 'process' ? jobs[grid.process[cell]] ?? 0 : 0;
      made.lead[cell] = 1;
    }
    yield* made.draw(colouring);
    done(made);
  }

  /** @param {number} cell @param {number} category @param {number} votes */
  vote(cell, category, votes) {
    if (this.leader[cell] === category) this.lead[cell] += votes;
    else if (this.lead[cell] < votes) {
      this.leader[cell] = category;
      this.lead[cell] = votes - this.lead[cell];
    } else this.lead[cell] -= votes;
  }

  /**
   * Every magnification, each half as wide as the one before.
   * @param {Colouring} colouring
   * @returns {import('./slices.js').Work}
   */
  * draw(colouring) {
    /** @type {Density} */
    let level = this;
    for (;;) {
      yield;
      this.levels.push({ columns: level.columns, canvas: level.picture(colouring) });
      if (level.columns <= NARROWEST_LEVEL) return;
      yield;
      level = level.halved();
    }
  }

  /** @returns {Density} */
  halved() {
    const half = new Density(this.columns / 2, this.rows);
    if (this.values) half.values = new Float32Array(half.counts.length);
    for (let cell = 0; cell < this.counts.length; cell += 1) {
      if (this.counts[cell] === 0) continue;
      const into = Math.floor(cell / this.columns) * half.columns + ((cell % this.columns) >> 1);
      half.counts[into] += this.counts[cell];
      if (this.values && half.values) half.values[into] = Math.max(half.values[into], this.values[cell]);
      else half.vote(into, this.leader[cell], this.lead[cell]);
    }
    return half;
  }

  /** @param {Colouring} colouring @returns {HTMLCanvasElement} */
  picture(colouring) {
    const canvas = document.createElement('canvas');
    canvas.width = this.columns;
    canvas.height = this.rows;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const image = context.createImageData(this.columns, this.rows);
    const pixels = new Uint32Array(image.data.buffer);
    const most = Math.log(Math.max(2, greatest(this.counts)));
    /** @type {Map<number, [number, number, number]>} */
    const known = new Map();
    for (let cell = 0; cell < this.counts.length; cell += 1) {
      const number = this.counts[cell];
      if (number === 0) continue;
      let mixed;
      if (this.values) mixed = ramp(this.values[cell]);
      else {
        mixed = known.get(this.leader[cell]) ?? rgb(colouring.colour(this.leader[cell]));
        known.set(this.leader[cell], mixed);
      }
      const row = this.rows - 1 - Math.floor(cell / this.columns);
      const alpha = Math.round(90 + 165 * (Math.log(number) / most));
      pixels[row * this.columns + (cell % this.columns)] = packed(mixed, alpha);
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /**
   * Puts the part of the run that is looked at into a rectangle.
   * @param {CanvasRenderingContext2D} context @param {{x: number, y: number, width: number, height: number}} into
   * @param {number} from part of the run @param {number} to @param {number} low part of the height @param {number} high
   */
  blit(context, into, from, to, low, high) {
    const wanted = into.width * window.devicePixelRatio;
    const fits = this.levels.filter((level) => (to - from) * level.columns >= wanted * 0.5);
    const level = fits[fits.length - 1] ?? this.levels[0];
    context.imageSmoothingEnabled = false;
    context.drawImage(level.canvas, from * level.columns, (1 - high) * this.rows, (to - from) * level.columns,
      (high - low) * this.rows, into.x, into.y, into.width, into.height);
  }
}

const FIRST_IS_LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** @param {[number, number, number]} colour @param {number} alpha of 255 */
function packed([red, green, blue], alpha) {
  return FIRST_IS_LOW ? (alpha << 24) | (blue << 16) | (green << 8) | red : (red << 24) | (green << 16) | (blue << 8) | alpha;
}

/** The colour of what is picked out. */
export function highlight() {
  return theme().ink;
}
