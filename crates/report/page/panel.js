/** A picture over time on a canvas: its size, its pointer and keys, its frames, and how many points a frame touched. */

import { element } from './format.js';
import { MARGIN, isOnPaper, sharpness } from './axes.js';
import { ask, frames } from './slices.js';

/** More points than that are never touched in one frame of one picture; beyond it densities and sums are drawn. */
export const MOST_TOUCHED = 20000;
/** Pictures are that much lower on paper, so that two of them and their words find room on a page. */
const ON_PAPER = 0.78;

/**
 * @typedef {object} Host
 * @property {import('./view.js').View} view
 * @property {(nodes: Node[] | null, x: number, y: number, who: object) => void} tell shows a story beside the pointer, or
 *   hides it, if it is that picture's own
 * @property {{frame: () => void}[]} panels every picture that is there
 */

/**
 * Whichever picture has been clicked.
 * @type {HTMLCanvasElement | null}
 */
let active = null;

export class Panel {
  /** @param {Host} host @param {string} label @param {number} height CSS pixels */
  constructor(host, label, height) {
    this.host = host;
    this.view = host.view;
    this.height = isOnPaper() ? Math.round(height * ON_PAPER) : height;
    this.width = 0;
    /** Is it in the window, or nearly? */
    this.near = false;
    this.selected = -1;
    this.canvas = /** @type {HTMLCanvasElement} */ (element('canvas', {
      tabindex: '0', role: 'img', 'aria-label': label, style: `height:${this.height}px`,
    }));
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    host.panels.push(this);
    this.view.listen(() => this.ask());
    new ResizeObserver(() => this.ask()).observe(this.canvas);
    new IntersectionObserver(([last]) => {
      this.near = last.isIntersecting;
      if (this.near) this.ask();
    }, { rootMargin: '100px' }).observe(this.canvas);
    this.listen();
  }

  /** Draws when it is its turn. */
  ask() {
    ask(this);
  }

  frame() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const ratio = sharpness();
    this.width = width;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    frames.touched = 0;
    this.draw(this.context);
    frames.drawn += 1;
    frames.most = Math.max(frames.most, frames.touched);
  }

  /** What is inside of the axes. */
  get inner() {
    return {
      x: MARGIN.left, y: MARGIN.top, width: this.width - MARGIN.left - MARGIN.right,
      height: this.height - MARGIN.top - MARGIN.bottom,
    };
  }

  /** @param {number} ns @returns {number} */
  x(ns) {
    return this.inner.x + ((ns - this.view.from) / this.view.width) * this.inner.width;
  }

  /** @param {number} x @returns {number} ns */
  at(x) {
    return this.view.from + ((x - this.inner.x) / this.inner.width) * this.view.width;
  }

  /** @param {() => void} draw inside of the axes only */
  clipped(draw) {
    const { x, y, width, height } = this.inner;
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }

  /**
   * Draws all of it.
   * @param {CanvasRenderingContext2D} _context
   */
  draw(_context) {}

  /**
   * What lies there: its number, or -1.
   * @param {number} _x @param {number} _y @returns {number}
   */
  pick(_x, _y) {
    return -1;
  }

  /**
   * The story of what was picked.
   * @param {number} _nth @param {number} _x @param {number} _y @returns {Node[] | null}
   */
  tell(_nth, _x, _y) {
    return null;
  }

  /**
   * The next one, or the one before.
   * @param {number} _by @returns {number}
   */
  step(_by) {
    return -1;
  }

  /**
   * Where the nth lies.
   * @param {number} _nth @returns {[number, number]}
   */
  place(_nth) {
    return [0, 0];
  }

  listen() {
    const { canvas, view } = this;
    const within = (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('wheel', (event) => {
      if (active !== canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const [x] = within(event);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / 1000);
      else view.zoom(this.at(x), 1.2 ** Math.sign(event.deltaY));
    }, { passive: false });
    let grabbed = -1;
    canvas.addEventListener('pointerdown', (event) => {
      grabbed = event.clientX;
      active = canvas;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (grabbed >= 0 && event.buttons > 0) {
        view.pan((grabbed - event.clientX) / this.inner.width);
        grabbed = event.clientX;
        this.host.tell(null, 0, 0, this);
        return;
      }
      const [x, y] = within(event);
      this.select(this.pick(x, y), x, y, event.clientX, event.clientY);
    });
    canvas.addEventListener('pointerup', () => { grabbed = -1; });
    canvas.addEventListener('pointerleave', () => this.select(-1, 0, 0, 0, 0));
    canvas.addEventListener('dblclick', () => view.reset());
    canvas.addEventListener('focus', () => { active = canvas; });
    canvas.addEventListener('blur', () => {
      if (active === canvas) active = null;
      this.select(-1, 0, 0, 0, 0);
    });
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  /** @param {number} nth @param {number} x @param {number} y @param {number} clientX @param {number} clientY */
  select(nth, x, y, clientX, clientY) {
    if (nth !== this.selected) {
      this.selected = nth;
      this.ask();
    }
    const nodes = x === 0 && y === 0 ? null : this.tell(nth, x, y);
    this.host.tell(nodes, clientX, clientY, this);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { view } = this;
    const middle = (view.from + view.to) / 2;
    const nth = { n: 1, p: -1 }[event.key];
    if (event.key === 'ArrowLeft') view.pan(-0.1);
    else if (event.key === 'ArrowRight') view.pan(0.1);
    else if (event.key === 'ArrowUp' || event.key === '+') view.zoom(middle, 1 / 1.4);
    else if (event.key === 'ArrowDown' || event.key === '-') view.zoom(middle, 1.4);
    else if (event.key === 'Home' || event.key === '0') view.reset();
    else if (event.key === 'Escape') this.select(-1, 0, 0, 0, 0);
    else if (nth) this.walk(nth);
    else return;
    event.preventDefault();
  }

  /**
   * The story of the next one, or of the one before.
   * @param {number} by
   */
  walk(by) {
    const nth = this.step(by);
    if (nth < 0) return;
    const [x, y] = this.place(nth);
    const box = this.canvas.getBoundingClientRect();
    this.select(nth, x, y, box.left + x, box.top + y);
  }
}
