/** What the file holds, unpacked: columns of whole numbers behind a JSON text. `columns.rs` describes the format. */

import { breath } from './slices.js';

/** @typedef {Float64Array | Uint32Array} Column */
/** @typedef {{kind: string, count: number, at: number, bytes: number}} ColumnHead */

/**
 * @typedef {object} Ios
 * @property {Column} nth @property {Column} process @property {Column} way @property {Column} sector
 * @property {Column} sectors @property {Column} begun @property {Column} latency @property {Column} pieces
 * @property {Column} part @property {Column} ns @property {Column} commands
 */
/**
 * @typedef {object} Sent
 * @property {Column} process @property {Column} way @property {Column} sector @property {Column} sectors
 * @property {Column} issued @property {Column} waited @property {Column} in_disk @property {Column} io
 */
/**
 * @typedef {object} Grid
 * @property {number} columns @property {number} rows @property {Column} counts @property {Column} process
 */
/** @typedef {{job: number, way: number, ios: number, ns: number[], steps: number}} Curve */
/** @typedef {{who: string, whom: string, rule: string, leg: number, ns: number, ios: number}} Blame */
/** @typedef {{mean: Column, most: Column}} Depth */
/** @typedef {{width_ns: number, bytes: Column[], queued: Depth, in_disk: Depth}} Series */
/**
 * @typedef {object} Decisions
 * @property {number} all_stretches @property {number} all_marks
 * @property {{lane: Column, kind: Column, from: Column, length: Column, why: Column}} stretches
 * @property {{lane: Column, kind: Column, at: Column, why: Column}} marks
 */
/**
 * @typedef {object} Run
 * @property {string} name @property {number} elapsed_ns @property {number} disk_sectors
 * @property {string[]} processes @property {number[]} jobs_of @property {string[]} jobs
 * @property {number} all_ios @property {number} all_sent @property {Ios} ios @property {Sent} sent
 * @property {[number, string, string][]} parts @property {Record<string, string>} stories
 * @property {string[]} lanes @property {string[]} words @property {Decisions} decisions
 * @property {Blame[]} blame @property {Record<string, [number, number]>} totals
 * @property {[string, number][]} disk_time @property {[string, number, number][]} shares
 * @property {Curve[]} curves @property {Series} series
 * @property {{lba: Grid, latency: Grid, latency_from_ns: number, latency_to_ns: number} | null} density
 */
/**
 * @typedef {object} PublishedRow
 * @property {string} label @property {string} unit @property {number | null} published @property {number | null} ours
 * @property {[number, number] | null} spread @property {[number, number] | null} bound
 * @property {boolean | null} inside @property {boolean} claimed
 */
/**
 * @typedef {object} Published
 * @property {'published' | 'measured'} against what stands beside ours
 * @property {string} name @property {string} source @property {PublishedRow[]} rows @property {string[]} why
 */
/**
 * @typedef {object} Report
 * @property {string} detail @property {number | null} proposed
 * @property {string} pictured what the pictures are of @property {Run[]} runs @property {Published[]} published
 * @property {{name: string, type: string, text: string}[]} downloads
 * @property {string[]} beside files with what this one has no room for
 */

export const WAYS = ['read', 'write', 'trim', 'sync'];
export const LEGS = ['before the scheduler', 'in the scheduler', 'in the drive, waiting', 'in the drive, served',
  'after the drive'];
export const SECTOR = 512;

/** @param {string} text base64 @returns {Promise<Report>} */
export async function unpacked(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new window.DecompressionStream('deflate-raw'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  const bytes = all.subarray(4 + length);
  /** @type {Column[]} */
  const columns = [];
  for (const of of head.columns) {
    columns.push(column(of, bytes));
    if (of.count > 100000) await breath();
  }
  for (const run of head.runs) resolve(run, columns);
  return head;
}

/**
 * What was found of a run by going through all of it.
 * @type {WeakMap<Run, Map<string, any>>}
 */
const memory = new WeakMap();

/**
 * What `make` finds of a run: once.
 * @template Found
 * @param {Run} run @param {string} what @param {() => Found} make @returns {Found}
 */
export function remembered(run, what, make) {
  const of = memory.get(run) ?? new Map();
  memory.set(run, of);
  if (!of.has(what)) of.set(what, make());
  return of.get(what);
}

/**
 * A column's numbers.
 * @param {ColumnHead} head @param {Uint8Array} bytes @returns {Column}
 */
export function column(head, bytes) {
  const wide = new Float64Array(head.count);
  let at = head.at;
  let before = 0;
  let most = 0;
  const isDelta = head.kind === 'delta';
  for (let nth = 0; nth < head.count; nth += 1) {
    let value = 0;
    let place = 1;
    let byte = 0;
    do {
      byte = bytes[at];
      at += 1;
      value += (byte & 0x7f) * place;
      place *= 128;
    } while (byte >= 0x80);
    if (isDelta) {
      before += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      value = before;
    }
    wide[nth] = value;
    if (value > most) most = value;
  }
  return isDelta || most > 0xffffffff ? wide : Uint32Array.from(wide);
}

/**
 * Puts columns in the place of their numbers.
 * @param {any} run @param {Column[]} columns
 */
function resolve(run, columns) {
  const of = (/** @type {Record<string, any>} */ table) => {
    for (const key of Object.keys(table)) table[key] = columns[table[key]];
  };
  of(run.ios);
  of(run.sent);
  of(run.decisions.stretches);
  of(run.decisions.marks);
  of(run.series.queued);
  of(run.series.in_disk);
  run.series.bytes = run.series.bytes.map((/** @type {number} */ nth) => columns[nth]);
  for (const kind of run.density ? ['lba', 'latency'] : []) {
    const grid = run.density[kind];
    grid.counts = columns[grid.counts];
    grid.process = columns[grid.process];
  }
}

/**
 * The first place whose value is not below `value`.
 * @param {Column} sorted @param {number} value
 */
export function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The greatest number of a column.
 * @param {Column} numbers
 */
export function greatest(numbers) {
  let most = 0;
  for (let nth = 0; nth < numbers.length; nth += 1) if (numbers[nth] > most) most = numbers[nth];
  return most;
}
