//! A job's logs, as written by fio's `write_bw_log` and similar options.
//!
//! **Rule** Without a window each completion is a line: of latency \[ns\], of its own bandwidth \[KB/s\], or 1 (I/O).
//! With one, each direction has a line per window in which anything completed: the mean latency, KiB per second, I/Os
//! per second. Times are milliseconds since the job's beginning.

use core::fmt::Write;

use blksched::{Class, Instant, Priority, Sector, Span};

use super::Work;

/// Longer logs are cut off, so that no run exhausts memory.
const MOST_LINES: usize = 4_000_000;

/// The value of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogValue {
    /// The mean over the window.
    #[default]
    Mean,
    /// The greatest.
    Greatest,
}

/// The optional columns of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogColumns {
    /// The offset \[bytes\].
    pub offset: bool,
    /// The priority in full, in hexadecimal; otherwise 1 for the real-time class and 0 for others.
    pub prio: bool,
}

/// The settings of a job's logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPlan {
    /// The averaging window; zero for a line per I/O.
    pub window: Span,
    /// The value of a window.
    pub value: LogValue,
    /// Which columns.
    pub columns: LogColumns,
}

/// One kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Bandwidth.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// Submission latency; empty for blocking engines.
    Slat,
    /// Completion latency.
    Clat,
    /// Both together.
    Lat,
}

impl LogKind {
    /// All of them.
    pub const ALL: [LogKind; 5] = [LogKind::Bandwidth, LogKind::Iops, LogKind::Slat, LogKind::Clat, LogKind::Lat];

    /// fio's word in the file's name: `bw`, `iops`, `slat`, `clat`, `lat`.
    pub fn name(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Iops => "iops",
            LogKind::Slat => "slat",
            LogKind::Clat => "clat",
            LogKind::Lat => "lat",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct LogLine {
    at: Span,
    work: Work,
    bytes: u64,
    start: Sector,
    priority: Priority,
    slat: Option<Span>,
    clat: Span,
    lat: Span,
}

/// What completed, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLog {
    plan: LogPlan,
    began: Instant,
    lines: Vec<LogLine>,
    cut_off: u64,
}

impl JobLog {
    /// An empty log of a job that began at this time.
    pub(super) fn new(plan: LogPlan, began: Instant) -> JobLog {
        JobLog { plan, began, lines: Vec::new(), cut_off: 0 }
    }

    /// Drops what was before.
    pub(super) fn starting(self, began: Instant) -> JobLog {
        JobLog::new(self.plan, began)
    }

    pub(super) fn completed(&mut self, now: Instant, done: &super::Completion, latencies: (Option<Span>, Span, Span)) {
        let work = Work::from(done.op);
        if work == Work::Sync {
            return;
        }
        if self.lines.len() == MOST_LINES {
            self.cut_off += 1;
            return;
        }
        let (slat, clat, lat) = latencies;
        let at = now.since(self.began);
        let (bytes, start, priority) = (done.bytes, done.start, done.priority);
        self.lines.push(LogLine { at, work, bytes, start, priority, slat, clat, lat });
    }

    /// How many I/Os are missing because the log was too long.
    pub fn cut_off(&self) -> u64 {
        self.cut_off
    }

    /// The log's text, as fio writes it.
    pub fn text(&self, kind: LogKind) -> String {
        if self.plan.window.is_zero() { self.every(kind) } else { self.windows(kind) }
    }

    fn every(&self, kind: LogKind) -> String {
        let mut text = String::new();
        for line in &self.lines {
            if let Some(value) = line.value(kind) {
                self.put(&mut text, (line.at, value, line.work), (line.bytes, line.start.0 * 512, line.priority));
            }
        }
        text
    }

    fn windows(&self, kind: LogKind) -> String {
        let mut text = String::new();
        let nth = |line: &LogLine| line.at.as_ns() / self.plan.window.as_ns();
        for window in self.lines.chunk_by(|a, b| nth(a) == nth(b)) {
            let end = Span::from_ns((nth(&window[0]) + 1) * self.plan.window.as_ns());
            for work in [Work::Read, Work::Write, Work::Trim] {
                let of_work = || window.iter().filter(move |line| line.work == work);
                if let Some(value) = self.summary(kind, of_work) {
                    self.put(&mut text, (end, value, work), (0, 0, Priority::default()));
                }
            }
        }
        text
    }

    /// The value of one direction in one window; `None` if nothing completed.
    fn summary<'a, I: Iterator<Item = &'a LogLine>>(&self, kind: LogKind, lines: impl Fn() -> I) -> Option<u64> {
        let count = lines().filter_map(|line| line.value(kind)).count() as u64;
        let per_s = |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(self.plan.window.as_ns())) as u64;
        match (kind, self.plan.value) {
            _ if count == 0 => None,
            (LogKind::Bandwidth, _) => Some(per_s(lines().map(|line| line.bytes).sum()) / 1024),
            (LogKind::Iops, _) => Some(per_s(count)),
            (_, LogValue::Greatest) => lines().filter_map(|line| line.value(kind)).max(),
            (_, LogValue::Mean) => Some(lines().filter_map(|line| line.value(kind)).sum::<u64>() / count),
        }
    }

    fn put(&self, text: &mut String, (at, value, work): (Span, u64, Work), what: (u64, u64, Priority)) {
        let (bytes, offset, priority) = what;
        let ddir = Work::ALL.iter().position(|other| *other == work).expect("every kind of work is listed");
        let columns = self.plan.columns;
        let prio = match columns.prio {
            true => format!("{:#06x}", class_number(priority.class) << 13 | u32::from(priority.level)),
            false => u32::from(priority.class == Class::RealTime).to_string(),
        };
        let offset = if columns.offset { format!("{offset}, ") } else { String::new() };
        let ms = at.as_ns() / 1_000_000;
        writeln!(text, "{ms}, {value}, {ddir}, {bytes}, {offset}{prio}").expect("memory takes any text");
    }
}

/// Linux's number of a class.
pub(crate) fn class_number(class: Class) -> u32 {
    match class {
        Class::None => 0,
        Class::RealTime => 1,
        Class::BestEffort => 2,
        Class::Idle => 3,
    }
}

impl LogLine {
    fn value(&self, kind: LogKind) -> Option<u64> {
        match kind {
            // Tried with fio: thousands of bytes, although averages are in KiB.
            LogKind::Bandwidth => {
                Some((u128::from(self.bytes) * 1_000_000 / u128::from(self.clat.as_ns().max(1))) as u64)
            }
            LogKind::Iops => Some(1),
            LogKind::Slat => self.slat.map(Span::as_ns),
            LogKind::Clat => Some(self.clat.as_ns()),
            LogKind::Lat => Some(self.lat.as_ns()),
        }
    }
}
