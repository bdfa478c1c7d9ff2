//! What the page cache did under each scheduler, and what that says: buffered jobs only.

use blksched::{Dir, Op};
use blksched_measure::{Column, Quantity, Spread, Table};
use blksched_simulate::Findings;
use blksched_workloads::host::{Calls, HostReport, PAGE_BYTES, WaitsFor};
use serde_json::{Value, json};

use super::json::spread;
use super::measured::Measured;

/// One scheduler's, over its runs.
pub(crate) struct MemoryMeasure {
    /// The part of the pages read that cost no disk I/O.
    hits: Spread,
    /// Read from the disk before anybody asked \[bytes\].
    read_ahead: Spread,
    /// Written to memory, and of it to the disk \[bytes\].
    dirtied: Spread,
    written: Spread,
    /// How often the flusher set to work.
    bursts: Spread,
    /// How often a writer went to sleep at the dirty limit, and for how long \[ns per write\].
    throttled: Spread,
    room: Spread,
    /// Dirty at the end \[bytes\].
    left: Spread,
}

impl MemoryMeasure {
    /// `None` if nothing went through the page cache.
    pub(crate) fn of(runs: &[Findings]) -> Option<MemoryMeasure> {
        let over = |pick: fn(&HostReport) -> f64| Spread::of(&runs.iter().map(|r| pick(&r.host)).collect::<Vec<_>>());
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
            "read_from_memory": spread(self.hits, Quantity::Fraction),
            "read_ahead": spread(self.read_ahead, Quantity::Bytes),
            "written_to_memory": spread(self.dirtied, Quantity::Bytes),
            "written_to_disk": spread(self.written, Quantity::Bytes),
            "flusher_bursts": spread(self.bursts, Quantity::Count),
            "writers_throttled": spread(self.throttled, Quantity::Count),
            "throttled_per_write": spread(self.room, Quantity::Time),
            "dirty_at_end": spread(self.left, Quantity::Bytes),
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
pub(crate) fn waits(dir: Dir, ios: u64, runs: &[Findings]) -> Option<Vec<(WaitsFor, f64)>> {
    let op = if dir == Dir::Read { Op::Read } else { Op::Write };
    let calls = || runs.iter().map(|run| run.host.calls(op));
    let returned: u64 = calls().map(|calls| calls.returned).sum();
    (returned > 0 && 2 * returned > ios).then(|| {
        let mean = |what| calls().map(|calls| calls.on(what).as_ns() as f64).sum::<f64>() / returned as f64;
        WaitsFor::ALL.into_iter().filter(|what| *what != WaitsFor::Pages).map(|what| (what, mean(what))).collect()
    })
}

/// One row per scheduler; none if nothing was buffered.
pub(super) fn table(measured: &[Measured]) -> Option<Table> {
    let columns = vec![
        Column::words("elevator", "elevator"),
        Column::numbers("hits", "read from memory", Quantity::Fraction),
        Column::numbers("read_ahead", "read ahead", Quantity::Bytes),
        Column::numbers("dirtied", "written to memory", Quantity::Bytes),
        Column::numbers("written", "of it to the disk", Quantity::Bytes),
        Column::numbers("bursts", "bursts", Quantity::Count),
        Column::numbers("throttled", "writers throttled", Quantity::Count),
        Column::numbers("room", "per write", Quantity::Time),
        Column::numbers("left", "left dirty", Quantity::Bytes),
    ];
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        let memory = elevator.memory.as_ref()?;
        super::tables::below_a_line(&mut table, measured, nth);
        table.row([
            elevator.label().into(),
            memory.hits.into(),
            memory.read_ahead.into(),
            memory.dirtied.into(),
            memory.written.into(),
            memory.bursts.into(),
            memory.throttled.into(),
            memory.room.into(),
            memory.left.into(),
        ]);
    }
    Some(table)
}

/// Memory hides the disk: said if, whoever schedules, nearly every call of a direction is done without it.
pub(super) fn beyond_reach(measured: &[Measured], dir: Dir) -> Option<String> {
    const LEAST: f64 = 0.95;
    let hits = |m: &Measured| m.memory.as_ref().map_or(0.0, |memory| memory.hits.mean);
    let free = |m: &Measured| {
        let memory = m.memory.as_ref()?;
        (memory.room.count > 0 && memory.dirtied.mean > 0.0).then_some(memory.throttled.mean)
    };
    match dir {
        Dir::Read => {
            let least = measured.iter().map(hits).fold(f64::INFINITY, f64::min);
            (least >= LEAST).then(|| {
                format!(
                    "Whichever it is, {} of what is read comes from memory, where no scheduler reaches; \
                     --host memory=… makes that less, direct=1 goes past it.",
                    if least < 0.9995 {
                        format!("at least {}", Quantity::Fraction.show(least))
                    } else {
                        "all".to_owned()
                    }
                )
            })
        }
        Dir::Write => measured.iter().all(|m| free(m) == Some(0.0)).then(|| {
            "Whichever it is, no write waits for the disk: all fit below the dirty limit (--host dirty_ratio=…), and \
             what they cost the disk comes later, or falls on others."
                .to_owned()
        }),
    }
}
