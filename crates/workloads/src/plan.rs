//! A run's processes, whatever their origin: the jobs of job files, programs and replays.

use blksched::{GroupId, Instant, Priority, Sector, Span, SubmitterId};

use crate::Source;
use crate::calls::CallWay;
use crate::cpus::CpuSet;
use crate::fio::{Note, OffsetOrder, Reporting, Scripted};
use crate::host::Pages;
use crate::host::fs::{Extent, FileExtents, FsMount, Known};
use crate::programs::Start;
use crate::replay::{Joint, Replay, ReplayedProcess, Timing, Windows};

/// One process.
#[derive(Clone, Debug)]
pub struct JobPlan {
    /// The job's or the program's name in reports.
    pub name: String,
    /// Which clone of the job, or process of the program, from 0.
    pub number: u32,
    /// The text of `description`.
    pub description: Option<String>,
    /// fio's reporting group, from 0: a stonewall or `new_group` begins a new one, and so does a program.
    pub group: u32,
    /// The row of the report that its results belong to, from 0: with `group_reporting` one row for all processes of
    /// the group that ask for it, and one for all of a program; otherwise a row of its own.
    pub row: u32,
    /// Its number; processes count from 0 in the order of the plan.
    pub submitter: SubmitterId,
    /// Its I/O priority.
    pub priority: Priority,
    /// Its control group; 0 is the root.
    pub cgroup: GroupId,
    /// The processors that it may run on.
    pub cpus_allowed: CpuSet,
    /// Its weight among the processes of a processor, -20 to 19; the lower, the more it gets.
    pub nice: i8,
    /// Its calls.
    pub calls: CallWay,
    /// The disks that its files are on, by their places in [`Plan::disks`]; the first for programs and replays.
    pub disks: Vec<u16>,
    /// The files that it uses; `None` for programs, which do not tell.
    pub files: Option<FilesPlan>,
    /// When it begins, if that does not depend on others; a job of a job file begins with its first I/O.
    pub begins: Option<Instant>,
    /// How many I/Os it keeps in flight.
    pub depth: u32,
    /// Whether its I/O goes through the host's page cache.
    pub is_buffered: bool,
    /// The character of its I/O.
    pub character: IoCharacter,
    /// The options of its own section, as written.
    pub options: Vec<(String, String)>,
    /// What it wants reported.
    pub report: Reporting,
}

/// The character of a process's I/O, as far as it is known before the run; for programs and replays it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCharacter {
    /// The order of its offsets.
    pub order: Option<OffsetOrder>,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it waits until its writes are stable.
    pub syncs: Syncs,
    /// Whether it syncs each file that it writes when it closes it (fio counts no such sync).
    pub syncs_on_close: bool,
    /// Whether it touches a mapping of its file (`ioengine=mmap`).
    pub is_mapped: bool,
    /// Whether it has a rate or think time, and would do no more even if it could.
    pub paced: bool,
    /// How much it transfers \[bytes\]; `None` if it only ends by time, or it is unknown.
    pub amount: Option<u64>,
}

/// How a process waits until its writes are stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syncs {
    /// Not at all.
    #[default]
    Never,
    /// In calls of their own, which are counted: `fsync`, `fdatasync`.
    Calls,
    /// In each write: `O_SYNC`, or fio's `msync` after each store with `ioengine=mmap` and `direct=1`.
    Writes,
}

/// What is in a file of a file system when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Data: it was laid out before.
    Written,
    /// Places, where nothing has been written (`fallocate`).
    Unwritten,
    /// Nothing.
    Empty,
}

/// A file of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// The pages of the disk that it has, or will have.
    pub pages: Pages,
    /// What is in it.
    pub state: FileState,
}

impl PlannedFile {
    /// What the file system knows of it when the run begins.
    pub fn known(&self) -> Known {
        let (place, blocks) = (self.pages.start, self.pages.end - self.pages.start);
        let mut extents = FileExtents::default();
        if self.state != FileState::Empty {
            extents.insert(Extent { at: 0, blocks, place, written: self.state == FileState::Written });
        }
        Known { extents, names: Vec::new() }
    }
}

/// Where a job's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesPlan {
    /// The name of its file; of the first one if there are several.
    pub name: String,
    /// The number of its files.
    pub count: u32,
    /// The first sector of its region of that file.
    pub start: Sector,
    /// The length of that region \[512-byte sectors\].
    pub sectors: u64,
}

/// The origin of processes' state machines: one process of a job file, or all processes of a program or a replay.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Job(Box<Scripted>),
    Program { start: Start, first: SubmitterId, disk_sectors: u64 },
    Replay { replay: Replay, parts: Vec<ReplayedProcess>, first: SubmitterId },
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    /// Its path below the root.
    pub name: String,
    /// Its parent group.
    pub parent: GroupId,
    /// Its weight for an elevator and for io.cost, unless its files set another.
    pub weight: u32,
    /// What is written to its files: name and text.
    pub files: Vec<(String, String)>,
    /// What is written under a scheduler that asks for the file; percentages refer to the disk's performance
    /// ([`in_figures`]).
    pub files_if_asked: Vec<(String, String)>,
}

/// The greatest percentage that [`in_figures`] accepts.
pub const MOST_PERCENT: u64 = 10_000;

/// The text for a file of a group with its percentages replaced: `figure` gets the key and the percentage, and returns
/// the value (`None` for no limit). Returns `None` if a percentage is out of range.
///
/// ```
/// let of_a_thousand = |_: &str, percent| Some(1000 * percent / 100);
/// assert_eq!(blksched_workloads::in_figures("wbps=25% wiops=9", of_a_thousand).unwrap(), "wbps=250 wiops=9");
/// ```
pub fn in_figures(text: &str, figure: impl Fn(&str, u64) -> Option<u64>) -> Option<String> {
    let word = |word: &str| {
        let Some((key, percent)) = word.strip_suffix('%').and_then(|word| word.split_once('=')) else {
            return Some(word.to_owned());
        };
        let percent = percent.parse().ok().filter(|percent| (1..=MOST_PERCENT).contains(percent))?;
        let value = figure(key, percent).map_or_else(|| "max".to_owned(), |value| value.max(1).to_string());
        Some(format!("{key}={value}"))
    };
    let words: Option<Vec<String>> = text.split_ascii_whitespace().map(word).collect();
    words.map(|words| words.join(" "))
}

/// All processes of a run, laid out on a disk.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In the order of the file, then of the programs; `jobs[i].submitter` is `i`.
    pub jobs: Vec<JobPlan>,
    /// What was assumed about files.
    pub notes: Vec<Note>,
    /// Control groups below the root, a parent before its children; the first is number 1.
    pub groups: Vec<GroupPlan>,
    /// The names of the disks, in the order of their places; empty if there is one only.
    pub disks: Vec<String>,
    /// The place of the disk whose scheduler is in question.
    pub varied: u16,
    /// Its own name, if it is below a stacked device, which is at the place.
    pub member: Option<String>,
    /// The file system below the files.
    pub fs: FsMount,
    /// The disk that its log has for itself: its first sector, and its length \[512-byte sectors\].
    pub log_disk: Option<(Sector, u64)>,
    /// Its files, in the order in which they were made.
    pub files: Vec<PlannedFile>,
    /// Pages of new files that are written in part, and hold nothing before.
    pub blank: Vec<Pages>,
    /// What was decided about recorded traces.
    pub told: Vec<String>,
    /// In the order of `jobs`.
    pub(crate) origins: Vec<Origin>,
}

impl Plan {
    /// The jobs and programs that begin when they are told to, by their first processes, and when: not what was
    /// recorded, nor what waits for others to end.
    pub fn begins_when_told(&self) -> Vec<(SubmitterId, Span)> {
        // Jobs come before all else, and are a process each.
        let told = self.origins.iter().zip(0..).filter_map(|(origin, nth)| match origin {
            Origin::Job(scripted) if scripted.waits() => None,
            Origin::Job(scripted) => Some((SubmitterId(nth), scripted.latest_start())),
            Origin::Program { start, first, .. } => Some((*first, start.at.since(Instant::ZERO))),
            Origin::Replay { .. } => None,
        });
        told.collect()
    }

    /// The state machines of one run. The same seed gives the same run.
    pub fn sources(&self, seed: u64) -> Vec<Box<dyn Source>> {
        self.staggered_sources(seed, &vec![Span::ZERO; self.jobs.len()])
    }

    /// The same, with each process this much later than specified; a recorded trace stays as it was.
    pub fn staggered_sources(&self, seed: u64, later: &[Span]) -> Vec<Box<dyn Source>> {
        self.joint_sources(seed, later, &mut Joint::default())
    }

    /// The same on one of several disks; `joint` has the processes that they share.
    pub fn joint_sources(&self, seed: u64, later: &[Span], joint: &mut Joint) -> Vec<Box<dyn Source>> {
        let mut sources = Vec::with_capacity(self.jobs.len());
        for origin in &self.origins {
            let later = later[sources.len()];
            match origin {
                Origin::Job(scripted) => sources.push(scripted.source(seed, later)),
                Origin::Program { start, first, disk_sectors } => {
                    let start = Start { at: start.at + later, ..start.clone() };
                    let processes = start.processes(*first, *disk_sectors, seed);
                    let processes = processes.expect("it was started when it was planned, and no seed changes that");
                    sources.extend(processes.into_iter().map(|process| process.source));
                }
                Origin::Replay { replay, parts, first } => {
                    let submitters = (first.0..).map(SubmitterId);
                    sources.extend(parts.iter().zip(submitters).map(|(part, own)| replay.source(part, own, joint)));
                }
            }
        }
        sources
    }

    /// Adds a program's processes to those on the disk. They share one row of the report.
    ///
    /// # Errors
    /// If it does not fit on the disk, or its parameters contradict each other.
    pub fn add_program(&mut self, start: Start, disk_sectors: u64) -> Result<(), String> {
        let first = SubmitterId(self.jobs.len() as u32);
        let processes = start.processes(first, disk_sectors, 0)?;
        let next = self.next(start.at);
        for (number, process) in (0..).zip(&processes) {
            let submitter = process.source.submitter();
            self.jobs.push(JobPlan {
                name: start.name.clone(),
                number,
                submitter,
                priority: process.priority,
                ..next.clone()
            });
        }
        self.origins.push(Origin::Program { start, first, disk_sectors });
        Ok(())
    }

    /// Adds the processes of a recorded trace to those on the disk.
    ///
    /// # Errors
    /// If it does not fit on the disk.
    pub fn add_replay(&mut self, replay: Replay, disk_sectors: u64) -> Result<(), String> {
        let parts = replay.parts(disk_sectors)?;
        let next = self.next(replay.at);
        for (number, part) in (0..).zip(&parts) {
            self.jobs.push(JobPlan {
                name: part.name.clone(),
                number,
                row: next.row + part.row,
                submitter: SubmitterId(next.submitter.0 + number),
                priority: part.priority,
                depth: part.depth,
                ..next.clone()
            });
        }
        self.origins.push(Origin::Replay { replay, parts, first: next.submitter });
        Ok(())
    }

    /// The next process that is not a job of a job file, in a group and row of its own.
    fn next(&self, begins: Instant) -> JobPlan {
        JobPlan {
            name: String::new(),
            number: 0,
            description: None,
            group: self.jobs.iter().map(|job| job.group + 1).max().unwrap_or(0),
            row: self.rows(),
            submitter: SubmitterId(self.jobs.len() as u32),
            priority: Priority::default(),
            cgroup: GroupId::ROOT,
            cpus_allowed: CpuSet::ALL,
            nice: 0,
            calls: CallWay::default(),
            disks: vec![0],
            files: None,
            begins: Some(begins),
            depth: 1,
            is_buffered: false,
            character: IoCharacter::default(),
            options: Vec::new(),
            report: Reporting::default(),
        }
    }

    /// Whether any of it is a program or a replay, whose end is awaited.
    pub fn has_programs(&self) -> bool {
        self.origins.iter().any(|origin| !matches!(origin, Origin::Job(_)))
    }

    /// Whether any of it replays a recording.
    pub fn has_replays(&self) -> bool {
        self.origins.iter().any(|origin| matches!(origin, Origin::Replay { .. }))
    }

    /// Which processes replay a recording, by their places in `jobs`.
    pub fn replayed(&self) -> Vec<bool> {
        let mut replayed = vec![false; self.jobs.len()];
        for origin in &self.origins {
            if let Origin::Replay { parts, first, .. } = origin {
                replayed[first.0 as usize..][..parts.len()].fill(true);
            }
        }
        replayed
    }

    /// Which processes submit their I/Os at the moments of a recording, however slow the disk is, by their places in
    /// `jobs`.
    pub fn at_recorded_moments(&self) -> Vec<bool> {
        let mut recorded = vec![false; self.jobs.len()];
        for origin in &self.origins {
            if let Origin::Replay { replay, parts, first, .. } = origin {
                recorded[first.0 as usize..][..parts.len()].fill(replay.timing() == Timing::Recorded);
            }
        }
        recorded
    }

    /// How long its recordings last, and how many of their I/Os are submitted in the first `limit` of them, of how
    /// many; `None` if it has none, or the trace is that of several disks, which are replayed side by side.
    pub fn recorded(&self, limit: Span) -> Option<(Span, usize, usize)> {
        let replays = self.origins.iter().filter_map(|origin| match origin {
            Origin::Replay { replay, .. } => Some(replay),
            Origin::Job(_) | Origin::Program { .. } => None,
        });
        let of = |replay: &Replay| {
            let begins = replay.at.since(Instant::ZERO);
            let (lasts, first) = replay.begins_with(limit.saturating_sub(begins));
            (begins + lasts, first, replay.ios())
        };
        let both = |a: (Span, usize, usize), b: (Span, usize, usize)| (a.0.max(b.0), a.1 + b.1, a.2 + b.2);
        replays.map(of).reduce(both).filter(|_| !self.is_joint())
    }

    /// Leaves only what lies in these windows of its recordings.
    ///
    /// # Errors
    /// If a recording begins later than the run (its windows would not be those of the others), or a temporary file
    /// cannot be written or read; nothing has changed then.
    pub fn within(&mut self, windows: &Windows) -> Result<(), String> {
        let part = |origin: &Origin| match origin {
            Origin::Replay { replay, .. } if replay.at > Instant::ZERO => {
                Err("a recording with `start=` has no windows".to_owned())
            }
            Origin::Replay { replay, .. } => replay.within(windows).map(Some),
            Origin::Job(_) | Origin::Program { .. } => Ok(None),
        };
        let parts: Vec<Option<Replay>> = self.origins.iter().map(part).collect::<Result<_, String>>()?;
        for (origin, part) in self.origins.iter_mut().zip(parts) {
            if let (Origin::Replay { replay, .. }, Some(part)) = (origin, part) {
                *replay = part;
            }
        }
        Ok(())
    }

    /// Whether a process of it has I/Os on other disks of the same run.
    pub fn is_joint(&self) -> bool {
        let shared = |origin: &Origin| match origin {
            Origin::Replay { parts, .. } => parts.iter().any(|part| part.is_shared),
            Origin::Job(_) | Origin::Program { .. } => false,
        };
        self.origins.iter().any(shared)
    }

    /// Whether this process uses the disk whose scheduler is in question.
    pub fn is_on_varied(&self, job: usize) -> bool {
        self.disks.is_empty() || self.jobs[job].disks.contains(&self.varied)
    }

    /// The names of the disks that these processes use, as in `sda, sdb`; `None` if there is one disk only.
    pub fn disks_of(&self, members: &[usize]) -> Option<String> {
        if self.disks.is_empty() {
            return None;
        }
        let mut used: Vec<u16> = members.iter().flat_map(|&job| self.jobs[job].disks.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        Some(used.iter().map(|&disk| self.disks[usize::from(disk)].as_str()).collect::<Vec<_>>().join(", "))
    }

    /// The number of rows of a report.
    pub fn rows(&self) -> u32 {
        self.jobs.iter().map(|job| job.row + 1).max().unwrap_or(0)
    }

    /// Gives the processes of each section of a job file a row of their own, where `group_reporting` joins several
    /// sections in one; returns the names of those sections.
    ///
    /// ```
    /// let text = "[global]\nrw=read\nsize=1m\ngroup_reporting\n[a]\nnumjobs=2\n[b]\n";
    /// let mut plan = blksched_workloads::fio::JobFile::parse(text, "two.fio").unwrap().plan(1 << 20).unwrap();
    /// assert_eq!(plan.members_by_row(), [[0, 1, 2]]);
    /// assert_eq!(plan.split_rows(), ["a", "b"]);
    /// assert_eq!(plan.members_by_row(), [vec![0, 1], vec![2]]);
    /// ```
    pub fn split_rows(&mut self) -> Vec<String> {
        let (mut rows, mut section): (Vec<(u32, u32)>, u32) = (Vec::new(), 0);
        for (nth, job) in self.jobs.iter_mut().enumerate() {
            // A section's clones, or a program's processes, count from 0.
            section += u32::from(nth > 0 && job.number == 0);
            let key = (job.row, section);
            let row = rows.iter().position(|known| *known == key).unwrap_or(rows.len());
            if row == rows.len() {
                rows.push(key);
            }
            job.row = row as u32;
        }
        let is_joined = |&row: &usize| rows.iter().enumerate().any(|(other, key)| other != row && key.0 == rows[row].0);
        let name = |row: usize| self.jobs.iter().find(|job| job.row as usize == row).map(|job| job.name.clone());
        (0..rows.len()).filter(is_joined).filter_map(name).collect()
    }

    /// The processes of each row, by their places in `jobs`.
    pub fn members_by_row(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.rows() as usize];
        self.jobs.iter().enumerate().for_each(|(job, plan)| rows[plan.row as usize].push(job));
        rows
    }

    /// The processes of one row, by their places in `jobs`.
    pub fn members(&self, row: u32) -> Vec<usize> {
        (0..self.jobs.len()).filter(|&job| self.jobs[job].row == row).collect()
    }
}
