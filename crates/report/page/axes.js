/** Axes: where ticks stand and how they are drawn. */

import { time, moment } from './format.js';
import { theme } from './palette.js';

/** Around every picture: left, right, top, bottom. */
export const MARGIN = { left: 62, right: 10, top: 8, bottom: 24 };

/** Dots of a canvas for each pixel; paper shows more than a screen. */
export function sharpness() {
  return isOnPaper() ? 2.5 : window.devicePixelRatio || 1;
}

/** Is it drawn to be printed? Then everything is drawn at once. */
export function isOnPaper() {
  return Boolean(document.documentElement.dataset.paper);
}

/**
 * Round numbers between two ends.
 * @param {number} from @param {number} to @param {number} most how many @returns {number[]}
 */
export function ticks(from, to, most) {
  const rough = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? rough;
  const found = [];
  for (let nth = Math.ceil(from / step); nth * step <= to * (1 + 1e-12); nth += 1) found.push(nth * step);
  return found;
}

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} place part of the height, from below
 * @property {{value: number, label: string}[]} ticks
 */

/**
 * Equal steps.
 * @param {number} from @param {number} to @param {(value: number) => string} label @returns {Scale}
 */
export function linear(from, to, label) {
  const width = to - from || 1;
  return {
    place: (value) => (value - from) / width,
    ticks: ticks(from, to, 4).map((value) => ({ value, label: label(value) })),
  };
}

/** A power of ten in which nothing lies has this part of the height that another has. */
const EMPTY = 0.28;

/**
 * Equal factors: of time. What `used` leaves out is drawn narrower.
 * @param {number} from a power of ten @param {number} to another @param {(power: number) => boolean} [used] the powers of
 *   ten, by their exponent, in which something lies @returns {Scale}
 */
export function logarithmic(from, to, used) {
  const [low, high] = [Math.round(Math.log10(from)), Math.round(Math.log10(to))];
  const found = [];
  const begins = [0];
  for (let power = low; power <= high; power += 1) {
    found.push({ value: 10 ** power, label: time(10 ** power) });
    begins.push(begins[power - low] + (used && !used(power) ? EMPTY : 1));
  }
  const whole = begins[high - low] || 1;
  return {
    place: (value) => {
      const log = Math.min(Math.max(Math.log10(Math.max(value, 1e-9)), low), high);
      const nth = Math.min(Math.floor(log) - low, Math.max(0, high - low - 1));
      return (begins[nth] + (log - low - nth) * (begins[nth + 1] - begins[nth])) / whole;
    },
    ticks: found,
  };
}

/** Round rates: 1, 10 and 100 of each unit. */
const RATES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'].flatMap((unit, power) => [1, 10, 100].map((times) => ({
  value: times * 1024 ** power, label: `${times}${unit}/s`,
})));

/**
 * Equal factors: of bytes a second, from a ten-thousandth of the greatest on.
 * @param {number} most @returns {Scale}
 */
export function decades(most) {
  const above = RATES.findIndex(({ value }) => value >= most);
  const high = Math.max(4, above < 0 ? RATES.length - 1 : above);
  const found = RATES.slice(high - 4, high + 1);
  const [low, width] = [Math.log(found[0].value), Math.log(found[4].value / found[0].value)];
  return { place: (value) => Math.max(0, (Math.log(Math.max(value, 1e-9)) - low) / width), ticks: found };
}

/**
 * Frame, grid and labels; what is drawn after it lies inside.
 * @param {CanvasRenderingContext2D} context @param {number} width @param {number} height
 * @param {import('./view.js').View} view @param {Scale} scale
 */
export function drawAxes(context, width, height, view, scale) {
  const { ink, faint, grid, paper } = theme();
  context.fillStyle = paper;
  context.fillRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  context.strokeStyle = grid;
  context.lineWidth = 1;
  context.fillStyle = faint;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const inner = height - MARGIN.top - MARGIN.bottom;
  /** @type {number[]} */
  const labelled = [];
  for (const { value, label } of scale.ticks) {
    const y = Math.round(MARGIN.top + inner * (1 - scale.place(value))) + 0.5;
    if (y < MARGIN.top - 1 || y > height - MARGIN.bottom + 1) continue;
    line(context, MARGIN.left, y, width - MARGIN.right, y);
    // Labels that would lie upon each other are left out.
    if (labelled.some((other) => Math.abs(other - y) < 10)) continue;
    labelled.push(y);
    context.fillText(label, MARGIN.left - 6, y);
  }
  context.textAlign = 'center';
  context.textBaseline = 'top';
  const across = width - MARGIN.left - MARGIN.right;
  for (const at of ticks(view.from, view.to, Math.max(2, Math.floor(across / 90)))) {
    const x = Math.round(MARGIN.left + (across * (at - view.from)) / view.width) + 0.5;
    line(context, x, MARGIN.top, x, height - MARGIN.bottom);
    const label = moment(at, view.width);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(x, width - half - 1), height - MARGIN.bottom + 6);
  }
  context.strokeStyle = ink;
  context.globalAlpha = 0.45;
  line(context, MARGIN.left + 0.5, MARGIN.top, MARGIN.left + 0.5, height - MARGIN.bottom);
  line(context, MARGIN.left, height - MARGIN.bottom + 0.5, width - MARGIN.right, height - MARGIN.bottom + 0.5);
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} toX @param {number} toY */
export function line(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}
