//! The page cache's activity in one run.

use blksched::Op;
use blksched_measure::{Column, Quantity, Table};
use blksched_workloads::host::{HostReport, PAGE_BYTES, WaitsFor};

/// Both tables; empty if no I/O went through the page cache. `dirty_most` is that of each of several disks.
pub(super) fn tables(host: &HostReport, dirty_most: &[u64], disks: &[String]) -> [Table; 2] {
    let mut pages = pages(host);
    for (disk, bytes) in disks.iter().zip(dirty_most).filter(|(_, bytes)| **bytes > 0) {
        let what = format!("greatest amount dirty for {disk}");
        pages.row([what.into(), (*bytes).into(), blksched_measure::Cell::Missing]);
    }
    [waits(host), pages]
}

/// What calls waited for, besides the processor.
fn waits(host: &HostReport) -> Table {
    let columns = vec![
        Column::words("call", "call"),
        Column::words("cause", "waited for"),
        Column::numbers("ns", "in all", Quantity::Time),
        Column::numbers("ns_per_call", "per call", Quantity::Time),
    ];
    let mut table = Table::new("What buffered calls waited for", columns);
    for (op, name) in [(Op::Read, "read"), (Op::Write, "write"), (Op::Flush, "fsync")] {
        let calls = host.calls(op);
        for what in WaitsFor::ALL.into_iter().filter(|what| !calls.on(*what).is_zero()) {
            let all = calls.on(what).as_ns() as f64;
            table.row([name.into(), what.words().into(), all.into(), (all / calls.returned.max(1) as f64).into()]);
        }
    }
    table
}

/// Where pages came from and went.
fn pages(host: &HostReport) -> Table {
    let columns = vec![
        Column::words("what", "what"),
        Column::numbers("bytes", "bytes", Quantity::Bytes),
        Column::numbers("times", "times", Quantity::Count),
    ];
    let mut table = Table::new("the page cache", columns);
    let rows = [
        ("read by processes from memory", host.from_memory(), None),
        ("read from the disk on demand", host.asked, None),
        ("read from the disk ahead", host.read_ahead, None),
        ("written to memory", host.dirtied, None),
        ("written over dirty pages", host.overwritten, None),
        ("written back above the background limit, in bursts", host.written.background, Some(host.background_bursts)),
        ("written back because files had expired, in bursts", host.written.expired, Some(host.expired_bursts)),
        ("written back by fsync, O_SYNC, direct I/O", host.written.by_caller, None),
        ("greatest amount dirty; writers throttled", host.dirty_most / PAGE_BYTES, Some(host.writes.throttled)),
        ("left dirty at the end", host.dirty / PAGE_BYTES, None),
    ];
    for (what, pages, times) in rows.into_iter().filter(|(_, pages, times)| *pages > 0 || *times > Some(0)) {
        let times = times.map_or(blksched_measure::Cell::Missing, blksched_measure::Cell::from);
        table.row([what.into(), (pages * PAGE_BYTES).into(), times]);
    }
    table
}
