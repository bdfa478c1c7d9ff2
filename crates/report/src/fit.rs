//! A run within a limit of bytes: in full, or its points with the stories of the slowest, or densities beside the
//! slowest.

use std::io;

use serde_json::{Value, json};

use crate::columns::Columns;
use crate::density::{Density, LATENCY_FROM, LATENCY_TO, latency_part};
use crate::recorded::{RecordedCommand, RecordedIo, RecordedRun, Report};
use crate::{percentiles, series};

/// The greatest size of a report.
pub const MOST_BYTES: usize = 8 << 20;

/// How much of the runs a report holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Every I/O with every piece of its time, every command and decision.
    Everything,
    /// Every I/O and command; where the time of the slowest hundredth went.
    Points,
    /// Densities, and the slowest hundredth of I/Os and commands, with where their time went.
    Slowest,
    /// The same of the slowest thousandth.
    FewSlowest,
    /// Densities and sums alone.
    Sums,
}

impl Detail {
    const ALL: [Detail; 5] = [Detail::Everything, Detail::Points, Detail::Slowest, Detail::FewSlowest, Detail::Sums];

    fn word(self) -> &'static str {
        match self {
            Detail::Everything => "everything",
            Detail::Points => "points",
            Detail::Slowest => "slowest",
            Detail::FewSlowest => "few slowest",
            Detail::Sums => "sums",
        }
    }

    fn has_points(self) -> bool {
        self <= Detail::Points
    }

    /// The part of the I/Os whose pieces are included.
    fn told(self) -> f64 {
        match self {
            Detail::Everything => 1.0,
            Detail::Points | Detail::Slowest => 0.01,
            Detail::FewSlowest => 0.001,
            Detail::Sums => 0.0,
        }
    }
}

/// The most stretches and marks, unless everything is included.
const STRETCHES: usize = 20_000;
const MARKS: usize = 5_000;

/// The report's data as text of at most `room` bytes, and how much it includes.
pub(crate) fn packed(report: &Report, room: usize) -> io::Result<(String, Detail)> {
    // What cannot fit need not be tried: a point takes at least ten bytes.
    let points: usize = report.runs.iter().map(|run| run.ios.len() + run.sent.len()).sum();
    let hopeless = |detail: &Detail| detail.has_points() && points > room;
    for detail in Detail::ALL.into_iter().filter(|detail| !hopeless(detail)) {
        let text = at(report, detail)?;
        if text.len() <= room || detail == Detail::Sums {
            return Ok((text, detail));
        }
    }
    unreachable!("sums are always tried")
}

fn at(report: &Report, detail: Detail) -> io::Result<String> {
    let mut columns = Columns::default();
    let runs: Vec<Value> = report.runs.iter().map(|run| self::run(run, detail, &mut columns)).collect();
    let published: Vec<Value> = report.published.iter().map(crate::page::published).collect();
    let downloads = report.downloads.iter();
    let downloads = downloads.map(|file| json!({ "name": file.name, "type": file.media_type, "text": file.text }));
    columns.text(json!({
        "detail": detail.word(),
        "proposed": report.proposed,
        "pictured": report.answer.pictured,
        "runs": runs,
        "published": published,
        "downloads": downloads.collect::<Vec<_>>(),
        "beside": if detail == Detail::Everything { Vec::new() } else { report.beside.clone() },
    }))
}

/// The latency that only this part of the I/Os exceeds \[ns\].
fn bound(run: &RecordedRun, part: f64) -> u64 {
    if part >= 1.0 {
        return 0;
    }
    let mut latencies: Vec<u64> = run.ios.iter().map(|io| io.latency_ns).collect();
    latencies.sort_unstable();
    let place = (latencies.len() as f64 * (1.0 - part)) as usize;
    latencies.get(place).copied().unwrap_or(u64::MAX)
}

fn run(run: &RecordedRun, detail: Detail, columns: &mut Columns) -> Value {
    let slow = bound(run, detail.told());
    let told: Vec<&RecordedIo> = run.ios.iter().filter(|io| detail.has_points() || io.latency_ns >= slow).collect();
    let mut told = if detail == Detail::Sums { Vec::new() } else { told };
    told.sort_unstable_by_key(|io| (io.begun_ns, io.nth));
    let is_told = |sent: &&RecordedCommand| {
        let by_nth = |nth: u64| run.ios.binary_search_by_key(&nth, |io| io.nth).map(|at| run.ios[at].latency_ns);
        detail.has_points() || (detail != Detail::Sums && by_nth(sent.io).is_ok_and(|latency| latency >= slow))
    };
    let sent: Vec<&RecordedCommand> = run.sent.iter().filter(is_told).collect();
    let density = (!detail.has_points()).then(|| densities(run, columns));
    let decisions = decisions(run, detail, columns);
    json!({
        "name": run.name,
        "elapsed_ns": run.elapsed_ns,
        "disk_sectors": run.disk_sectors,
        "processes": run.processes,
        "jobs_of": run.jobs_of,
        "jobs": run.jobs,
        "all_ios": run.ios.len(),
        "all_sent": run.sent.len(),
        "ios": ios(run, &told, slow, columns),
        "sent": commands(&sent, columns),
        "parts": run.parts.iter().map(|part| json!([part.leg, part.rule, part.whom])).collect::<Vec<_>>(),
        "stories": run.stories,
        "lanes": run.lanes,
        "words": run.words,
        "decisions": decisions,
        "blame": run.blame.iter().map(|row| {
            json!({ "who": row.who, "whom": row.whom, "rule": row.rule, "leg": row.leg, "ns": row.ns, "ios": row.ios })
        }).collect::<Vec<_>>(),
        "totals": run.totals,
        "disk_time": run.disk_time,
        "shares": run.shares,
        "curves": percentiles::json(run),
        "series": series::pack(run, columns),
        "density": density,
    })
}

fn ios(run: &RecordedRun, told: &[&RecordedIo], slow: u64, columns: &mut Columns) -> Value {
    let pieces = |io: &RecordedIo| {
        let (from, count) = (io.pieces.0 as usize, io.pieces.1 as usize);
        let has = io.latency_ns >= slow;
        if has { run.pieces.get(from..from + count).unwrap_or_default() } else { &[] }
    };
    json!({
        "nth": columns.deltas(told.iter().map(|io| io.nth)),
        "process": columns.plain(told.iter().map(|io| u64::from(io.process))),
        "way": columns.plain(told.iter().map(|io| io.way as u64)),
        "sector": columns.deltas(told.iter().map(|io| io.sector)),
        "sectors": columns.plain(told.iter().map(|io| io.sectors)),
        "begun": columns.deltas(told.iter().map(|io| io.begun_ns)),
        "latency": columns.plain(told.iter().map(|io| io.latency_ns)),
        "pieces": columns.plain(told.iter().map(|io| pieces(io).len() as u64)),
        "part": columns.plain(told.iter().flat_map(|io| pieces(io)).map(|piece| u64::from(piece.part))),
        "ns": columns.plain(told.iter().flat_map(|io| pieces(io)).map(|piece| piece.ns)),
        "commands": columns.plain(told.iter().flat_map(|io| pieces(io)).map(|piece| u64::from(piece.commands))),
    })
}

fn commands(sent: &[&RecordedCommand], columns: &mut Columns) -> Value {
    json!({
        "process": columns.plain(sent.iter().map(|sent| u64::from(sent.process))),
        "way": columns.plain(sent.iter().map(|sent| sent.way as u64)),
        "sector": columns.deltas(sent.iter().map(|sent| sent.sector)),
        "sectors": columns.plain(sent.iter().map(|sent| u64::from(sent.sectors))),
        "issued": columns.deltas(sent.iter().map(|sent| sent.issued_ns)),
        "waited": columns.plain(sent.iter().map(|sent| sent.issued_ns.saturating_sub(sent.queued_ns))),
        "in_disk": columns.plain(sent.iter().map(|sent| sent.ended_ns.saturating_sub(sent.issued_ns))),
        "io": columns.deltas(sent.iter().map(|sent| sent.io)),
    })
}

/// The scheduler's decisions; if there are too many, the longest stretches, and marks at equal steps.
fn decisions(run: &RecordedRun, detail: Detail, columns: &mut Columns) -> Value {
    let (most, marked) = if detail == Detail::Everything { (usize::MAX, usize::MAX) } else { (STRETCHES, MARKS) };
    let mut stretches: Vec<_> = run.stretches.iter().collect();
    if stretches.len() > most {
        stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.to_ns - stretch.from_ns));
        stretches.truncate(most);
    }
    stretches.sort_by_key(|stretch| stretch.from_ns);
    let step = run.marks.len().div_ceil(marked).max(1);
    let mut marks: Vec<_> = run.marks.iter().step_by(step).collect();
    marks.sort_by_key(|mark| mark.at_ns);
    json!({
        "all_stretches": run.stretches.len(),
        "all_marks": run.marks.len(),
        "stretches": {
            "lane": columns.plain(stretches.iter().map(|it| u64::from(it.lane))),
            "kind": columns.plain(stretches.iter().map(|it| it.kind as u64)),
            "from": columns.deltas(stretches.iter().map(|it| it.from_ns)),
            "length": columns.plain(stretches.iter().map(|it| it.to_ns - it.from_ns)),
            "why": columns.plain(stretches.iter().map(|it| u64::from(it.why))),
        },
        "marks": {
            "lane": columns.plain(marks.iter().map(|it| u64::from(it.lane))),
            "kind": columns.plain(marks.iter().map(|it| it.kind as u64)),
            "at": columns.deltas(marks.iter().map(|it| it.at_ns)),
            "why": columns.plain(marks.iter().map(|it| u64::from(it.why))),
        },
    })
}

fn densities(run: &RecordedRun, columns: &mut Columns) -> Value {
    let (mut lba, mut latency) = (Density::new(), Density::new());
    let part = |of: u64, all: u64| of as f64 / all.max(1) as f64;
    for sent in run.sent.iter().filter(|sent| sent.sectors > 0) {
        lba.add(part(sent.issued_ns, run.elapsed_ns), part(sent.sector, run.disk_sectors), sent.process);
    }
    for io in &run.ios {
        latency.add(part(io.begun_ns, run.elapsed_ns), latency_part(io.latency_ns), io.process);
    }
    json!({
        "lba": lba.pack(columns), "latency": latency.pack(columns),
        "latency_from_ns": LATENCY_FROM, "latency_to_ns": LATENCY_TO,
    })
}
