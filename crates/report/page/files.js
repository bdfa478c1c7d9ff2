/** The data itself: how much of it is in the file, and what can be saved from inside the page. */

import { element } from './format.js';
import { section } from './parts.js';

/** @typedef {import('./data.js').Run} Run */

/**
 * What can be saved.
 * @param {import('./data.js').Report} report
 */
export function files(report) {
  const { beside } = report;
  const also = beside.length > 0 ? ` Everything is in ${beside.join(', ')}, written beside it.` : '';
  const box = section('files', 'The data', fits(report) + also);
  const list = element('p', { class: 'buttons' });
  for (const file of report.downloads) {
    const button = element('button', { type: 'button' }, `Save ${file.name}`);
    button.addEventListener('click', () => save(file.name, file.type, file.text));
    list.append(button);
  }
  for (const run of report.runs) {
    const button = element('button', { type: 'button' }, `Save the I/Os of ${run.name} as CSV`);
    button.addEventListener('click', () => save(`${run.name.replace(/[^\w.-]+/g, '_')}.csv`, 'text/csv', csv(run)));
    list.append(button);
  }
  box.append(list);
  return box;
}

/**
 * How much of the runs is in the file.
 * @param {import('./data.js').Report} report
 */
function fits(report) {
  if (report.runs.length === 0) return 'Everything that the command prints, with all digits, is in this file.';
  return {
    everything: 'Every I/O with every piece of its time, every command and every decision is in this file.',
    points: 'Every I/O and every command is in this file; where the time went only for the slowest hundredth.',
    slowest: 'The run is too large for one file: densities cover all of it, single I/Os only the slowest hundredth.',
    'few slowest': 'The run is too large for one file: densities cover all of it, single I/Os only the slowest thousandth.',
    sums: 'The run is too large for one file: it has densities and sums.',
  }[report.detail] ?? '';
}

/** @param {Run} run */
function csv({ ios, processes }) {
  const quoted = (/** @type {string} */ text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = ['nth,process,op,sector,sectors,begun_ns,latency_ns'];
  for (let nth = 0; nth < ios.nth.length; nth += 1) {
    lines.push([ios.nth[nth], quoted(processes[ios.process[nth]] ?? ''), ['read', 'write', 'trim', 'sync'][ios.way[nth]],
      ios.sector[nth], ios.sectors[nth], ios.begun[nth], ios.latency[nth]].join(','));
  }
  return `${lines.join('\n')}\n`;
}

/** @param {string} name @param {string} type @param {string} text */
function save(name, type, text) {
  const link = /** @type {HTMLAnchorElement} */ (element('a', { download: name }));
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
