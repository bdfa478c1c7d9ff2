//! The parts of a report: the answer, each scheduler's run, and published figures beside ours.

use std::collections::BTreeMap;

/// Everything that a report shows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What stands first.
    pub answer: ShownAnswer,
    /// A run per scheduler, the one that the others are held against first.
    pub runs: Vec<RecordedRun>,
    /// The run that the answer proposes, an index of `runs`: shown beside the first.
    pub proposed: Option<usize>,
    /// Published tables beside ours.
    pub published: Vec<Published>,
    /// Files that can be saved from inside the page.
    pub downloads: Vec<Download>,
    /// Files that lie beside the page if it has no room for everything.
    pub beside: Vec<String>,
}

/// The answer: what happened, why, and what to do.
#[derive(Clone, Debug, Default)]
pub struct ShownAnswer {
    /// The page's title: the workload, and on which disk.
    pub title: String,
    /// What was asked, in a line.
    pub heading: String,
    /// What to do, first of all sentences.
    pub action: Option<String>,
    /// The scheduler that it proposes, by name.
    pub proposed: Option<String>,
    /// The verdict, a sentence or two per job.
    pub sentences: Vec<String>,
    /// Tables below it.
    pub tables: Vec<Grid>,
    /// How far such predictions have been right before, in sentences.
    pub trust: Vec<String>,
    /// How it was made, by name: command, version, seed, disk, knobs.
    pub facts: Vec<(String, String)>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// What the pictures are of, if the figures are of something else: a sentence above them.
    pub pictured: String,
}

/// A table, as it prints.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Above it.
    pub title: String,
    /// Headings; true: a column of numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells as they print.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// A file to be saved from inside the page.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its name.
    pub name: String,
    /// What kind of data it is.
    pub media_type: &'static str,
    /// All of it.
    pub text: String,
}

/// Which way bytes went.
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

    /// As people say it.
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
    /// Whose, an index of [`RecordedRun::processes`].
    pub process: u32,
    /// What.
    pub way: Way,
    /// Where it begins \[512-byte sectors\].
    pub sector: u64,
    /// How long it is \[sectors\].
    pub sectors: u32,
    /// When the scheduler got it \[ns\]; it may have passed it by.
    pub queued_ns: u64,
    /// When the disk got it \[ns\].
    pub issued_ns: u64,
    /// When the disk was done \[ns\]; the run's end, if it was not.
    pub ended_ns: u64,
    /// The first I/O that it carried, by number; 0: none that is told.
    pub io: u64,
}

/// An I/O as its process saw it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedIo {
    /// Which, in the order of submission, from 1.
    pub nth: u64,
    /// Whose, an index of [`RecordedRun::processes`].
    pub process: u32,
    /// What.
    pub way: Way,
    /// Where it begins \[sectors\].
    pub sector: u64,
    /// How long it is \[sectors\].
    pub sectors: u64,
    /// When it was submitted \[ns\].
    pub begun_ns: u64,
    /// How long it took \[ns\].
    pub latency_ns: u64,
    /// Its pieces: where they begin in [`RecordedRun::pieces`], and how many.
    pub pieces: (u32, u32),
}

/// A piece of an I/O's time.
#[derive(Clone, Copy, Debug)]
pub struct TimePiece {
    /// What it went to, an index of [`RecordedRun::parts`].
    pub part: u32,
    /// How long it is \[ns\].
    pub ns: u64,
    /// How many commands the disk completed meanwhile.
    pub commands: u32,
}

/// What a piece of time can go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePart {
    /// Where the I/O was meanwhile, from 0: before the scheduler, in it, waiting in the drive, served, after it.
    pub leg: u8,
    /// Why.
    pub rule: String,
    /// The process it blames; empty: none.
    pub whom: String,
}

/// Something that the scheduler did for a while.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// An index of [`RecordedRun::lanes`].
    pub lane: u32,
    /// What.
    pub kind: StretchKind,
    /// When it began \[ns\].
    pub from_ns: u64,
    /// When it ended \[ns\].
    pub to_ns: u64,
    /// Why it began or ended, an index of [`RecordedRun::words`].
    pub why: u32,
}

/// What lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StretchKind {
    /// A slice, a budget: the turn of a process.
    Turn,
    /// A batch.
    Batch,
    /// The disk is left idle on purpose.
    Idle,
    /// No token is left.
    NoToken,
    /// This many tokens there are.
    Tokens,
}

impl StretchKind {
    /// As people say it.
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
    /// What.
    pub kind: MarkKind,
    /// When \[ns\].
    pub at_ns: u64,
    /// In words, an index of [`RecordedRun::words`].
    pub why: u32,
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A turn was taken away.
    Preempted,
    /// Queues became one, or two again.
    Merged,
    /// Another's request went in a process's turn.
    Injected,
    /// A request's time was up.
    Expired,
    /// A weight was raised.
    Raised,
    /// A number of tokens changed.
    Tokens,
}

impl MarkKind {
    /// As people say it.
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
    /// For which job; empty: none.
    pub whom: String,
    /// Why.
    pub rule: String,
    /// As in [`TimePart::leg`].
    pub leg: u8,
    /// How long in all \[ns\].
    pub ns: u64,
    /// In how many I/Os.
    pub ios: u64,
}

/// What one scheduler did.
#[derive(Clone, Debug, Default)]
pub struct RecordedRun {
    /// The scheduler, with its knobs.
    pub name: String,
    /// How long it lasted \[ns\].
    pub elapsed_ns: u64,
    /// The disk's size \[sectors\].
    pub disk_sectors: u64,
    /// Processes by name; the job of each is in `jobs_of`.
    pub processes: Vec<String>,
    /// The job of each process, an index of `jobs`.
    pub jobs_of: Vec<u32>,
    /// Jobs by name.
    pub jobs: Vec<String>,
    /// What the disk got, in its order.
    pub sent: Vec<RecordedCommand>,
    /// What the processes asked for, in the order in which it ended.
    pub ios: Vec<RecordedIo>,
    /// Pieces of the I/Os.
    pub pieces: Vec<TimePiece>,
    /// What pieces went to.
    pub parts: Vec<TimePart>,
    /// Whole stories in a sentence, of the slowest I/Os, by number.
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
    /// I/Os of each job, and how long they took together \[ns\].
    pub totals: BTreeMap<String, (u64, u64)>,
    /// What the disk's time went to \[ns\].
    pub disk_time: Vec<(String, u64)>,
    /// The share of the disk's time that each job asked for and was given (parts of one).
    pub shares: Vec<(String, f64, f64)>,
}

/// What ours is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// What was published.
    Published,
    /// What was measured on a disk just now.
    Measured,
}

/// A published table beside ours.
#[derive(Clone, Debug)]
pub struct Published {
    /// What stands beside ours.
    pub against: Against,
    /// The experiment.
    pub name: String,
    /// Its source.
    pub source: String,
    /// Its rows.
    pub rows: Vec<PublishedRow>,
    /// Why it comes out so, in sentences.
    pub why: Vec<String>,
}

/// One published value beside ours.
#[derive(Clone, Debug)]
pub struct PublishedRow {
    /// What.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// As it was published.
    pub published: Option<f64>,
    /// Ours.
    pub ours: Option<f64>,
    /// The least and the greatest of ours, over the seeds.
    pub spread: Option<(f64, f64)>,
    /// What it must lie in.
    pub bound: Option<(f64, f64)>,
    /// Does it?
    pub inside: Option<bool>,
    /// Is it an error if it does not?
    pub claimed: bool,
}
