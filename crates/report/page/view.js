/** The part of the run that is looked at: one for all pictures, so that their time axes are linked. */

const NARROWEST = 1e4;

export class View {
  /** @param {number} end of the longest run, ns */
  constructor(end) {
    this.end = Math.max(end, NARROWEST);
    this.from = 0;
    this.to = this.end;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** @param {() => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }

  /**
   * Looks from here to there, as far as there is anything.
   * @param {number} from @param {number} to
   */
  set(from, to) {
    const width = Math.min(this.end, Math.max(NARROWEST, to - from));
    this.from = Math.min(Math.max(0, from), this.end - width);
    this.to = this.from + width;
    for (const listener of this.listeners) listener();
  }

  /**
   * Keeps `at` where it is.
   * @param {number} at ns @param {number} factor below 1: closer
   */
  zoom(at, factor) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** @param {number} part of the window */
  pan(part) {
    const by = (this.to - this.from) * part;
    const held = Math.min(Math.max(by, -this.from), this.end - this.to);
    this.set(this.from + held, this.to + held);
  }

  reset() {
    this.set(0, this.end);
  }

  get width() {
    return this.to - this.from;
  }
}
