//! The page cache's activity under each scheduler: buffered jobs only.

use blksched::{Dir, Op};
use blksched_measure::{Quantity, Sample};
use blksched_workloads::host::{Calls, HostReport, PAGE_BYTES, WaitsFor};
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::sample::sample;

/// The page cache under one scheduler, over its runs.
pub(crate) struct MemoryMeasure {
    /// The part of the pages read that cost no disk I/O.
    pub(super) hits: Sample,
    /// Read from the disk before any call asked for it \[bytes\].
    pub(super) read_ahead: Sample,
    /// Written to memory, and the part of it written to the disk \[bytes\].
    pub(super) dirtied: Sample,
    pub(super) written: Sample,
    /// How often the flusher started.
    pub(super) bursts: Sample,
    /// How often a writer went to sleep at the dirty limit, and for how long \[ns per write\].
    pub(super) throttled: Sample,
    pub(super) room: Sample,
    /// Still dirty at the end \[bytes\].
    pub(super) left: Sample,
}

impl MemoryMeasure {
    /// `None` if no I/O went through the page cache.
    pub(crate) fn of(runs: &[Outcome]) -> Option<MemoryMeasure> {
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
        })
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        json!({
            "read_from_memory": sample(&self.hits, Quantity::Fraction),
            "read_ahead": sample(&self.read_ahead, Quantity::Bytes),
            "written_to_memory": sample(&self.dirtied, Quantity::Bytes),
            "written_to_disk": sample(&self.written, Quantity::Bytes),
            "flusher_bursts": sample(&self.bursts, Quantity::Count),
            "writers_throttled": sample(&self.throttled, Quantity::Count),
            "throttled_per_write": sample(&self.room, Quantity::Time),
            "dirty_at_end": sample(&self.left, Quantity::Bytes),
        })
    }
}

fn bytes(pages: u64) -> f64 {
    (pages * PAGE_BYTES) as f64
}

fn per_call(calls: &Calls, what: WaitsFor) -> f64 {
    calls.on(what).as_ns() as f64 / calls.returned.max(1) as f64
}

/// What the calls of a direction waited for \[ns per call\], if most of its I/O went through the page cache. Waiting
/// for pages from the disk is left out: what their requests waited for says more.
pub(crate) fn waits(dir: Dir, ios: u64, runs: &[Outcome]) -> Option<Vec<(WaitsFor, f64)>> {
    let op = if dir == Dir::Read { Op::Read } else { Op::Write };
    let calls = || runs.iter().map(|run| run.host.calls(op));
    let returned: u64 = calls().map(|calls| calls.returned).sum();
    (returned > 0 && 2 * returned > ios).then(|| {
        let mean = |what| calls().map(|calls| calls.on(what).as_ns() as f64).sum::<f64>() / returned as f64;
        WaitsFor::ALL.into_iter().filter(|what| *what != WaitsFor::Pages).map(|what| (what, mean(what))).collect()
    })
}
