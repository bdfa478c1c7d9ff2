//! What a run costs, counted.

use blksched_workloads::host::HostReport;

/// This many pages that pass through the page cache cost as much as a request: most pass in runs of many (measured on
/// `desktop-start` and `scrub`, 2026-11-28).
const PAGES_AS_A_REQUEST: u64 = 16;

/// The simulated work of a run: its requests (or its I/Os, if memory serves them), and the pages that pass through the
/// page cache. It is counted, not timed, so that it is the same on every machine; a million takes about a second of a
/// processor.
pub(crate) fn work(requests: u64, ios: u64, host: &HostReport) -> u64 {
    requests.max(ios) + (host.delivered() + host.dirtied) / PAGES_AS_A_REQUEST
}
