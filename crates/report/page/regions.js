/** The parts of the disk that are used, with the gaps between them cut short: else two files far apart are two flat lines. */

import { SECTOR, remembered } from './data.js';
import { bytes } from './format.js';
import { linear } from './axes.js';

const SLICES = 2048;
/** What lies closer together than this part of the disk is one region. */
const APART = 0.01;
const MOST_REGIONS = 8;
/** A gap's part of the height. */
const GAP = 0.075;

/** @typedef {{from: number, to: number, low: number, high: number}} Region sectors, and parts of the height */

/**
 * The regions that any of the runs touches; nothing of where a file has densities alone.
 * @param {import('./data.js').Run[]} runs @returns {Region[]}
 */
export function regions(runs) {
  const whole = Math.max(1, ...runs.map((run) => run.disk_sectors));
  const low = new Float64Array(SLICES).fill(Infinity);
  const high = new Float64Array(SLICES);
  for (const run of runs) {
    const used = slices(run, whole);
    for (let slice = 0; slice < SLICES; slice += 1) {
      low[slice] = Math.min(low[slice], used.low[slice]);
      high[slice] = Math.max(high[slice], used.high[slice]);
    }
  }
  /** @type {Region[]} */
  const found = [];
  for (let slice = 0; slice < SLICES; slice += 1) {
    if (!(low[slice] < Infinity)) continue;
    const last = found[found.length - 1];
    if (last && low[slice] - last.to < whole * APART) last.to = Math.max(last.to, high[slice]);
    else found.push({ from: low[slice], to: high[slice], low: 0, high: 0 });
  }
  while (found.length > MOST_REGIONS) {
    let nearest = 1;
    for (let nth = 2; nth < found.length; nth += 1) {
      if (found[nth].from - found[nth - 1].to < found[nearest].from - found[nearest - 1].to) nearest = nth;
    }
    found[nearest - 1].to = found[nearest].to;
    found.splice(nearest, 1);
  }
  return placed(found);
}

/**
 * The least and the greatest sector that a run touches in each slice of the disk.
 * @param {import('./data.js').Run} run @param {number} whole sectors
 */
function slices(run, whole) {
  return remembered(run, `slices of ${whole}`, () => {
    const low = new Float64Array(SLICES).fill(Infinity);
    const high = new Float64Array(SLICES);
    const { sector, sectors } = run.sent;
    for (let nth = 0; nth < sector.length; nth += 1) {
      if (sectors[nth] === 0) continue;
      const slice = Math.min(SLICES - 1, Math.floor((sector[nth] / whole) * SLICES));
      low[slice] = Math.min(low[slice], sector[nth]);
      high[slice] = Math.max(high[slice], sector[nth] + sectors[nth]);
    }
    return { low, high };
  });
}

/**
 * Gives each its part of the height: half by size, half alike.
 * @param {Region[]} found
 */
function placed(found) {
  const room = 1 - GAP * Math.max(0, found.length - 1);
  const sum = found.reduce((all, region) => all + region.to - region.from, 0) || 1;
  let at = 0;
  for (const region of found) {
    const share = 0.5 * ((region.to - region.from) / sum) + 0.5 / found.length;
    region.low = at;
    region.high = at + share * room;
    at = region.high + GAP;
  }
  return found;
}

/**
 * An axis of these regions; of one region, an ordinary one.
 * @param {Region[]} found @param {number} whole sectors @returns {import('./axes.js').Scale}
 */
export function broken(found, whole) {
  if (found.length === 0) return linear(0, whole, (sector) => bytes(sector * SECTOR));
  const marks = found.flatMap((region) => {
    const size = bytes((region.to - region.from) * SECTOR);
    return [{ value: region.from, label: bytes(region.from * SECTOR) }, { value: region.to, label: `+${size}` }];
  });
  return {
    place: (sector) => {
      for (const region of found) {
        if (sector <= region.to) {
          const part = (sector - region.from) / Math.max(1, region.to - region.from);
          return region.low + (region.high - region.low) * Math.max(0, part);
        }
      }
      return 1;
    },
    ticks: marks,
  };
}
