/** What is shown: which schedulers, in which colours, how much of the run, light or dark. */

import { element } from './format.js';
import { colour, force, forcedTheme } from './palette.js';

/** @param {import('./main.js').Page} page */
export function controls(page) {
  const bar = element('div', { class: 'controls', role: 'toolbar', 'aria-label': 'what is shown' });
  if (page.runs.length > 1) {
    const set = element('fieldset', {}, element('legend', {}, 'Schedulers'));
    page.runs.forEach((run, nth) => {
      const box = /** @type {HTMLInputElement} */ (element('input', { type: 'checkbox' }));
      box.checked = page.shown.has(nth);
      box.addEventListener('change', () => {
        if (box.checked) page.shown.add(nth);
        else page.shown.delete(nth);
        page.build();
      });
      set.append(element('label', {}, box, element('i', { class: 'swatch', style: `background:${colour(nth)}` }), run.name));
    });
    bar.append(set);
  }
  if (page.runs.length > 0) bar.append(colourChoice(page), zoomButtons(page));
  bar.append(themeButton(page));
  if (page.report.pictured) bar.append(element('p', { class: 'note hint' }, page.report.pictured));
  if (page.runs.length > 0) {
    bar.append(element('p', { class: 'note hint' }, 'Click a picture, then: wheel zooms, drag moves, double click shows '
      + 'all; keys ← → + − 0 move and zoom, n and p go to the next and the previous, Esc closes. All time axes move together.'));
  }
  return bar;
}

/** @param {import('./main.js').Page} page */
function colourChoice(page) {
  const choice = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': 'colour of the points' }));
  for (const by of ['process', 'direction', 'latency']) choice.append(element('option', { value: by }, `colour by ${by}`));
  choice.value = page.by;
  choice.addEventListener('change', () => {
    page.by = choice.value;
    page.build();
    /** @type {HTMLElement | null} */ (document.querySelector('.controls select'))?.focus();
  });
  return choice;
}

/** @param {import('./main.js').Page} page */
function zoomButtons(page) {
  const { view } = page;
  const middle = () => (view.from + view.to) / 2;
  const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) => {
    const made = element('button', { type: 'button', 'aria-label': label }, text);
    made.addEventListener('click', act);
    return made;
  };
  return element('span', { class: 'buttons' }, button('+', 'come closer', () => view.zoom(middle(), 0.5)),
    button('−', 'go back', () => view.zoom(middle(), 2)), button('whole run', 'show the whole run', () => view.reset()));
}

/** @param {import('./main.js').Page} page */
function themeButton(page) {
  const isDark = forcedTheme() ? forcedTheme() === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
  const made = element('button', { type: 'button', class: 'theme' }, isDark ? 'light' : 'dark');
  made.addEventListener('click', () => {
    force(isDark ? 'light' : 'dark');
    page.build();
    /** @type {HTMLElement | null} */ (document.querySelector('.theme'))?.focus();
  });
  return made;
}
