/** Colours: told apart by the colour-blind (after Okabe and Ito), in light and dark; and a ramp of lightness. */

/** @typedef {{series: string[], ink: string, faint: string, grid: string, paper: string, nobody: string}} Theme */

/** @type {Theme} */
export const LIGHT = {
  series: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#5d3a9b', '#7a7a7a'],
  ink: '#1a1d21', faint: '#5c6570', grid: '#e3e6ea', paper: '#ffffff', nobody: '#9aa1a9',
};

/** @type {Theme} */
export const DARK = {
  series: ['#3d8fe0', '#f0803c', '#2ec49a', '#d98cc0', '#e8c547', '#9fdcff', '#a58cff', '#a8a8a8'],
  ink: '#e8eaed', faint: '#a3abb5', grid: '#2e343b', paper: '#16191d', nobody: '#7c848d',
};

let forced = '';

/**
 * Which theme holds: as said, else as the system has it.
 * @returns {Theme}
 */
export function theme() {
  const dark = forced ? forced === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
  return dark ? DARK : LIGHT;
}

/** @param {string} name light, dark, or nothing: as the system has it */
export function force(name) {
  forced = name;
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

/** @returns {string} */
export function forcedTheme() {
  return forced;
}

/**
 * The colour of the nth of several.
 * @param {number} nth
 */
export function colour(nth) {
  const { series } = theme();
  return series[nth % series.length];
}

/**
 * How one is told from another without colour.
 * @param {number} nth @returns {number[]}
 */
export function dash(nth) {
  return [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 2]][nth % 6];
}

/**
 * Dark blue, green, yellow: lightness grows all along.
 * @param {number} part 0 to 1 @returns {[number, number, number]}
 */
export function ramp(part) {
  return RAMP[Math.min(255, Math.max(0, Math.floor(part * 256)))];
}

/** @type {[number, number, number][]} */
const STOPS = [[0, 32, 76], [59, 73, 107], [112, 113, 115], [166, 157, 117], [227, 205, 83], [255, 233, 69]];

/** Its 256 colours: points ask for one each. */
const RAMP = Array.from({ length: 256 }, (_, nth) => {
  const place = (nth / 256) * (STOPS.length - 1);
  const low = Math.floor(place);
  const [a, b] = [STOPS[low], STOPS[low + 1]];
  const mix = (/** @type {number} */ part) => Math.round(a[part] + (b[part] - a[part]) * (place - low));
  return /** @type {[number, number, number]} */ ([mix(0), mix(1), mix(2)]);
});

/** @param {string} hex @returns {[number, number, number]} */
export function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
