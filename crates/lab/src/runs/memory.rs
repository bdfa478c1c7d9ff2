//! The page cache's activity under each scheduler: buffered jobs only.

use blksched::{Dir, Op};
use blksched_measure::Sample;
use blksched_workloads::host::{Calls, HostReport, PAGE_BYTES, WaitsFor};

use crate::runs::outcome::Outcome;

/// The page cache under one scheduler, over its runs.
#[derive(Clone, Debug)]
pub struct MemoryMeasure {
    /// The part of the pages read that cost no disk I/O.
    pub hits: Sample,
    /// Read from the disk before any call asked for it \[bytes\].
    pub read_ahead: Sample,
    /// Written to memory \[bytes\].
    pub dirtied: Sample,
    /// The part of that written to the disk \[bytes\].
    pub written: Sample,
    /// How often the flusher started.
    pub bursts: Sample,
    /// How often a writer went to sleep at the dirty limit.
    pub throttled: Sample,
    /// How long a writer slept at the dirty limit \[ns per write\].
    pub room: Sample,
    /// Still dirty at the end \[bytes\].
    pub left: Sample,
    /// What an `fsync` or `fdatasync` waited for, in the order of [`WaitsFor::OF_SYNC`] \[ns per call\]; `None` if
    /// there was none, or it waited for nothing.
    pub syncs: Option<[(WaitsFor, Sample); WaitsFor::OF_SYNC.len()]>,
}

impl MemoryMeasure {
    /// `None` if no I/O went through the page cache.
    pub fn of(runs: &[Outcome]) -> Option<MemoryMeasure> {
        let over = |pick: fn(&HostReport) -> f64| Sample::of(runs.iter().map(|run| pick(&run.host)).collect());
        runs.iter().any(|run| run.host.is_used()).then(|| MemoryMeasure {
            hits: over(|host| host.from_memory() as f64 / host.delivered() as f64),
            read_ahead: over(|host| bytes(host.read_ahead)),
            dirtied: over(|host| bytes(host.dirtied)),
            written: over(|host| bytes(host.written.background + host.written.expired + host.written.by_caller)),
            bursts: over(|host| (host.background_bursts + host.expired_bursts) as f64),
            throttled: over(|host| host.writes.throttled as f64),
            room: over(|host| per_call(&host.writes, WaitsFor::Room)),
            left: over(|host| host.dirty as f64),
            syncs: syncs(runs),
        })
    }
}

fn syncs(runs: &[Outcome]) -> Option<[(WaitsFor, Sample); WaitsFor::OF_SYNC.len()]> {
    let each = |what| Sample::of(runs.iter().map(|run| per_call(&run.host.syncs, what)).collect());
    let waited = |run: &Outcome| WaitsFor::OF_SYNC.iter().any(|what| !run.host.syncs.on(*what).is_zero());
    runs.iter().any(waited).then(|| WaitsFor::OF_SYNC.map(|what| (what, each(what))))
}

fn bytes(pages: u64) -> f64 {
    (pages * PAGE_BYTES) as f64
}

fn per_call(calls: &Calls, what: WaitsFor) -> f64 {
    calls.on(what).as_ns() as f64 / calls.returned.max(1) as f64
}

/// What the calls of a direction waited for \[ns per call\], if most of its I/O went through the page cache. Waiting
/// for pages from the disk is left out: what their requests waited for says more.
pub fn waits(dir: Dir, ios: u64, runs: &[Outcome]) -> Option<Vec<(WaitsFor, f64)>> {
    let op = if dir == Dir::Read { Op::Read } else { Op::Write };
    let calls = || runs.iter().map(|run| run.host.calls(op));
    let returned: u64 = calls().map(|calls| calls.returned).sum();
    (returned > 0 && 2 * returned > ios).then(|| {
        let mean = |what| calls().map(|calls| calls.on(what).as_ns() as f64).sum::<f64>() / returned as f64;
        WaitsFor::ALL.into_iter().filter(|what| *what != WaitsFor::Pages).map(|what| (what, mean(what))).collect()
    })
}
