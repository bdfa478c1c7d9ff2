//! The parts of a report: the answer, each scheduler's run, and published figures beside ours.

use std::collections::BTreeMap;

/// Everything that a report shows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first part.
    pub answer: ShownAnswer,
    /// A run per scheduler, beginning with the one with which the others are compared.
    pub runs: Vec<RecordedRun>,
    /// The run of the recommended scheduler, an index of `runs`: shown beside the first.
    pub proposed: Option<usize>,
    /// Published tables beside ours.
    pub published: Vec<Published>,
    /// Files that can be saved from the page.
    pub downloads: Vec<Download>,
    /// Files beside the page if it has no room for everything.
    pub beside: Vec<String>,
}

/// The answer: what happened, why, and what to do.
#[derive(Clone, Debug, Default)]
pub struct ShownAnswer {
    /// The page's title: the workload, and on which disk.
    pub title: String,
    /// What was asked, in one line.
    pub heading: String,
    /// The recommendation, before all sentences.
    pub action: Option<String>,
    /// The name of the recommended scheduler.
    pub proposed: Option<String>,
    /// The verdict, a sentence or two per job.
    pub sentences: Vec<String>,
    /// Tables below it.
    pub tables: Vec<Grid>,
    /// How good such predictions have been, in sentences.
    pub trust: Vec<String>,
    /// How it was made, by name: command, version, seed, disk, knobs.
    pub facts: Vec<(String, String)>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Which run the pictures show, if the figures come from others too: a sentence above them.
    pub pictured: String,
}

/// A table as printed.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The title above it.
    pub title: String,
    /// Headings; true for a column of numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells as they print.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// A file that can be saved from the page.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its name.
    pub name: String,
    /// What kind of data it is.
    pub media_type: &'static str,
    /// Its content.
    pub text: String,
}

/// The direction of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Discarded.
    Trim,
    /// A flush, fsync and its like.
    Sync,
}

impl Way {
    /// All of them, by their number in the data.
    pub const ALL: [Way; 4] = [Way::Read, Way::Write, Way::Trim, Way::Sync];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Write => "write",
            Way::Trim => "trim",
            Way::Sync => "sync",
        }
    }
}

/// A command that the disk got.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCommand {
    /// Its process, an index of [`RecordedRun::processes`].
    pub process: u32,
    /// The direction.
    pub way: Way,
    /// Its first sector \[512-byte sectors\].
    pub sector: u64,
    /// Its length \[sectors\].
    pub sectors: u32,
    /// When the scheduler got it \[ns\]; it may have bypassed the scheduler.
    pub queued_ns: u64,
    /// When the disk got it \[ns\].
    pub issued_ns: u64,
    /// When the disk was done \[ns\]; the run's end, if it was not.
    pub ended_ns: u64,
    /// The number of the first I/O that it carried; 0 if none is included.
    pub io: u64,
}

/// An I/O as its process saw it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedIo {
    /// Its number in the order of submission, from 1.
    pub nth: u64,
    /// Its process, an index of [`RecordedRun::processes`].
    pub process: u32,
    /// The direction.
    pub way: Way,
    /// Its first sector.
    pub sector: u64,
    /// Its length \[sectors\].
    pub sectors: u64,
    /// When it was submitted \[ns\].
    pub begun_ns: u64,
    /// Its latency \[ns\].
    pub latency_ns: u64,
    /// Its pieces: where they begin in [`RecordedRun::pieces`], and how many.
    pub pieces: (u32, u32),
}

/// A piece of an I/O's time.
#[derive(Clone, Copy, Debug)]
pub struct TimePiece {
    /// What it went to, an index of [`RecordedRun::parts`].
    pub part: u32,
    /// Its length \[ns\].
    pub ns: u64,
    /// How many commands the disk completed meanwhile.
    pub commands: u32,
}

/// What a piece of time can go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePart {
    /// Where the I/O was: from 0, before the scheduler, in it, waiting in the drive, being served, after it.
    pub leg: u8,
    /// The reason.
    pub rule: String,
    /// The process to blame; empty if there is none.
    pub whom: String,
}

/// Something that the scheduler did for a while.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// An index of [`RecordedRun::lanes`].
    pub lane: u32,
    /// The kind.
    pub kind: StretchKind,
    /// When it began \[ns\].
    pub from_ns: u64,
    /// When it ended \[ns\].
    pub to_ns: u64,
    /// Why it began or ended, an index of [`RecordedRun::words`].
    pub why: u32,
}

/// The kind of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StretchKind {
    /// A process's slice or budget.
    Turn,
    /// A batch.
    Batch,
    /// The disk is left idle on purpose.
    Idle,
    /// No token is left.
    NoToken,
    /// The number of tokens.
    Tokens,
}

impl StretchKind {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            StretchKind::Turn => "turn",
            StretchKind::Batch => "batch",
            StretchKind::Idle => "idle on purpose",
            StretchKind::NoToken => "no token",
            StretchKind::Tokens => "tokens",
        }
    }
}

/// Something that the scheduler did at a moment.
#[derive(Clone, Debug)]
pub struct Mark {
    /// An index of [`RecordedRun::lanes`].
    pub lane: u32,
    /// The kind.
    pub kind: MarkKind,
    /// The time \[ns\].
    pub at_ns: u64,
    /// The reason in words, an index of [`RecordedRun::words`].
    pub why: u32,
}

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A slice was preempted.
    Preempted,
    /// Queues were merged or split.
    Merged,
    /// Another queue's request was served in a process's slice.
    Injected,
    /// A request had expired.
    Expired,
    /// A weight was raised.
    Raised,
    /// A number of tokens changed.
    Tokens,
}

impl MarkKind {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            MarkKind::Preempted => "preempted",
            MarkKind::Merged => "queues merged or split",
            MarkKind::Injected => "another's request injected",
            MarkKind::Expired => "time was up",
            MarkKind::Raised => "weight raised",
            MarkKind::Tokens => "tokens changed",
        }
    }
}

/// Who waited for whom.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The job that waited.
    pub who: String,
    /// The job that it waited for; empty if there is none.
    pub whom: String,
    /// The reason.
    pub rule: String,
    /// As in [`TimePart::leg`].
    pub leg: u8,
    /// The total time \[ns\].
    pub ns: u64,
    /// The number of I/Os.
    pub ios: u64,
}

/// The run of one scheduler.
#[derive(Clone, Debug, Default)]
pub struct RecordedRun {
    /// The scheduler, with its knobs.
    pub name: String,
    /// Its length \[ns\].
    pub elapsed_ns: u64,
    /// The disk's size \[sectors\].
    pub disk_sectors: u64,
    /// Processes by name; the job of each is in `jobs_of`.
    pub processes: Vec<String>,
    /// The job of each process, an index of `jobs`.
    pub jobs_of: Vec<u32>,
    /// Jobs by name.
    pub jobs: Vec<String>,
    /// The commands that the disk got, in order.
    pub sent: Vec<RecordedCommand>,
    /// The processes' I/Os, in the order of completion.
    pub ios: Vec<RecordedIo>,
    /// Pieces of the I/Os.
    pub pieces: Vec<TimePiece>,
    /// What pieces went to.
    pub parts: Vec<TimePart>,
    /// Whole stories of the slowest I/Os in a sentence, by number.
    pub stories: BTreeMap<u64, String>,
    /// Rows of the decision timeline.
    pub lanes: Vec<String>,
    /// What lasted.
    pub stretches: Vec<Stretch>,
    /// What happened at a moment.
    pub marks: Vec<Mark>,
    /// Reasons in words.
    pub words: Vec<String>,
    /// Who waited for whom over the whole run.
    pub blame: Vec<Blame>,
    /// The number of I/Os of each job, and their total time \[ns\].
    pub totals: BTreeMap<String, (u64, u64)>,
    /// What the disk's time went to \[ns\].
    pub disk_time: Vec<(String, u64)>,
    /// The share of the disk's time that each job asked for and was given (parts of one).
    pub shares: Vec<(String, f64, f64)>,
}

/// What ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Published values.
    Published,
    /// Values measured on a disk just now.
    Measured,
}

/// A published table beside ours.
#[derive(Clone, Debug)]
pub struct Published {
    /// The kind of the values beside ours.
    pub against: Against,
    /// The experiment.
    pub name: String,
    /// Its source.
    pub source: String,
    /// Its rows.
    pub rows: Vec<PublishedRow>,
    /// Why the results are as they are, in sentences.
    pub why: Vec<String>,
}

/// One published value beside ours.
#[derive(Clone, Debug)]
pub struct PublishedRow {
    /// Its label.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// The published value.
    pub published: Option<f64>,
    /// Our value.
    pub ours: Option<f64>,
    /// The least and the greatest of ours, over the seeds.
    pub spread: Option<(f64, f64)>,
    /// The bound.
    pub bound: Option<(f64, f64)>,
    /// Whether ours is inside.
    pub inside: Option<bool>,
    /// Whether it is an error to be outside.
    pub claimed: bool,
}
