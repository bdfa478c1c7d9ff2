/** How much of each moment a lane of the decision timeline was busy or left idle: what is drawn of too many stretches. */

const BINS = 4096;

export class Busy {
  /**
   * Adds up stretches.
   * @param {number} lanes @param {number} elapsed ns
   * @param {import('./data.js').Decisions['stretches']} stretches @param {(kind: number) => number} row 0 busy, 1 idle, or -1
   */
  constructor(lanes, elapsed, stretches, row) {
    this.bin = Math.max(1, elapsed / BINS);
    /** For each lane, busy then idle, the sums up to the end of each bin. */
    this.sums = Array.from({ length: lanes * 2 }, () => new Float64Array(BINS + 1));
    const { lane, kind, from, length } = stretches;
    for (let nth = 0; nth < lane.length; nth += 1) {
      const which = row(kind[nth]);
      if (which >= 0) this.add(this.sums[lane[nth] * 2 + which], from[nth], from[nth] + length[nth]);
    }
    for (const sum of this.sums) for (let at = 1; at <= BINS; at += 1) sum[at] += sum[at - 1];
  }

  /** @param {Float64Array} sum @param {number} from @param {number} to */
  add(sum, from, to) {
    const { bin } = this;
    for (let at = Math.floor(from / bin); at < BINS && at * bin < to; at += 1) {
      sum[at + 1] += Math.min(to, (at + 1) * bin) - Math.max(from, at * bin);
    }
  }

  /**
   * The part of this while that was busy, or idle.
   * @param {number} lane @param {number} row @param {number} from ns @param {number} to
   */
  part(lane, row, from, to) {
    const sum = this.sums[lane * 2 + row];
    const at = (/** @type {number} */ ns) => {
      const place = Math.min(BINS, Math.max(0, ns / this.bin));
      const low = Math.floor(place);
      return sum[low] + ((sum[low + 1] ?? sum[low]) - sum[low]) * (place - low);
    };
    return (at(to) - at(from)) / Math.max(1, to - from);
  }
}
