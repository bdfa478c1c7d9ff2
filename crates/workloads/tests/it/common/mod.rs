//! A driver for tests: every bio completes after a fixed latency, nothing else is in the way.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;

use blksched::{Bio, Dir, Durability, Instant, Op, Priority, Sector, Span};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::{ByteRange, CallWork, HostCall, Memory, OpenFile, Stable, Touch};
use blksched_workloads::{Delivered, Emission, FilesPlan, JobPlan, Plan, Source};

/// The disk of these tests: 1 GiB.
pub const DISK_SECTORS: u64 = 1 << 21;
/// The latency of every bio.
pub const LATENCY: Span = Span::from_ms(1);
const SECTOR_BYTES: u64 = 512;

/// One bio as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    pub at: Instant,
    pub submitter: u32,
    pub dir: Dir,
    /// \[bytes\]
    pub offset: u64,
    /// \[bytes\]
    pub length: u64,
    pub priority: Priority,
    pub op: Op,
    pub durability: Durability,
    /// Whether it is a call to the page cache.
    pub buffered: bool,
}

/// Where a job's files are.
pub fn ground(job: &JobPlan) -> &FilesPlan {
    job.files.as_ref().expect("a job of a job file has files")
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub submitted: Vec<Submitted>,
    /// When each submitter exited.
    pub exits: BTreeMap<u32, Instant>,
    /// The most in flight at a time, of each submitter.
    pub depth: BTreeMap<u32, usize>,
    /// What was set for files in memory.
    pub remembered: Vec<(OpenFile, Memory)>,
    /// The calls to the page cache, as made.
    pub calls: Vec<HostCall>,
}

impl Run {
    pub fn of(&self, submitter: u32) -> Vec<Submitted> {
        self.submitted.iter().copied().filter(|s| s.submitter == submitter).collect()
    }
    pub fn offsets(&self) -> Vec<u64> {
        self.submitted.iter().map(|s| s.offset).collect()
    }
    /// `r`eads, `w`rites and `f`lushes in order.
    pub fn letters(&self) -> String {
        let letter = |op: Op| match op {
            Op::Read => 'r',
            Op::Write => 'w',
            Op::Flush => 'f',
            Op::Discard => 'd',
            Op::WriteZeroes => 'z',
        };
        self.submitted.iter().map(|s| letter(s.op)).collect()
    }
    pub fn times_ms(&self) -> Vec<u64> {
        self.submitted.iter().map(|s| s.at.as_ns() / 1_000_000).collect()
    }
    pub fn bytes(&self, dir: Dir) -> u64 {
        self.submitted.iter().filter(|s| s.dir == dir).map(|s| s.length).sum()
    }
    pub fn count(&self, dir: Dir) -> usize {
        self.submitted.iter().filter(|s| s.dir == dir).count()
    }
    pub fn end_ms(&self) -> u64 {
        self.exits.values().map(|at| at.as_ns() / 1_000_000).max().expect("somebody exited")
    }
}

/// The plan of a valid job file.
pub fn plan(text: &str) -> Plan {
    let file = JobFile::parse(text, "test.fio").unwrap_or_else(|e| panic!("{e}"));
    file.plan(DISK_SECTORS).unwrap_or_else(|e| panic!("{e}"))
}

/// One job: `direct=1` and these options, separated by spaces.
pub fn job(options: &str) -> String {
    format!("[j]\ndirect=1\n{}\n", options.replace(' ', "\n"))
}

/// Runs one job with seed 1.
pub fn run_job(options: &str) -> Run {
    run(&job(options), 1)
}

/// Runs a job file to its end.
pub fn run(text: &str, seed: u64) -> Run {
    run_plan(&plan(text), seed)
}

/// Runs a plan to its end.
pub fn run_plan(plan: &Plan, seed: u64) -> Run {
    Loop::new(plan.sources(seed)).run()
}

struct Loop {
    sources: Vec<Box<dyn Source>>,
    in_flight: BTreeMap<(Instant, u64), Bio>,
    serial: u64,
    result: Run,
}

impl Loop {
    fn new(sources: Vec<Box<dyn Source>>) -> Loop {
        let result = Run {
            submitted: Vec::new(),
            exits: BTreeMap::new(),
            depth: BTreeMap::new(),
            remembered: Vec::new(),
            calls: Vec::new(),
        };
        Loop { sources, in_flight: BTreeMap::new(), serial: 0, result }
    }

    fn run(mut self) -> Run {
        let mut last = Instant::ZERO;
        while self.sources.iter().any(|s| !s.is_finished()) {
            let wake = self.sources.iter().filter_map(|s| s.next()).min();
            let done = self.in_flight.keys().next().copied();
            let now = match (wake, done) {
                (Some(wake), Some((at, _))) if wake < at => wake,
                (_, Some(key)) => {
                    let bio = self.in_flight.remove(&key).expect("just seen");
                    let source = &mut self.sources[bio.submitter.0 as usize];
                    source.delivered(key.0, Delivered::Done { tag: bio.tag, failed: false });
                    key.0
                }
                (Some(wake), None) => wake,
                (None, None) => panic!("unfinished sources that wait for nothing"),
            };
            last = last.max(now);
            self.emit(last);
        }
        assert!(self.in_flight.is_empty(), "exited with I/O in flight");
        self.result
    }

    fn emit(&mut self, now: Instant) {
        let mut out = Vec::new();
        for index in 0..self.sources.len() {
            while self.sources[index].next().is_some_and(|next| next <= now) {
                out.clear();
                self.sources[index].emit(now, &mut out);
                let next = self.sources[index].next();
                assert!(!out.is_empty() || next.is_none_or(|next| next > now), "a source that was due did nothing");
                for emission in &out {
                    self.take(now, index, *emission);
                }
            }
        }
    }

    fn take(&mut self, now: Instant, index: usize, emission: Emission) {
        let submitter = self.sources[index].submitter();
        match emission {
            Emission::Waits | Emission::Taken { .. } => {}
            Emission::Tell { to, word } => {
                let told = Delivered::Told { from: submitter, word };
                let other = self.sources.iter_mut().find(|other| other.submitter() == to && !other.is_finished());
                other.into_iter().for_each(|other| other.delivered(now, told));
            }
            Emission::Exit => {
                self.result.exits.insert(submitter.0, now);
                for source in &mut self.sources {
                    source.delivered(now, Delivered::Exited(submitter));
                }
            }
            Emission::Submit(bio) => self.submit(now, bio, false),
            Emission::Remember { file, memory } => self.result.remembered.push((file, memory)),
            Emission::Call(call) => {
                self.result.calls.push(call);
                self.submit(now, as_bio(&call), true);
            }
        }
    }

    fn submit(&mut self, now: Instant, bio: Bio, buffered: bool) {
        let submitter = bio.submitter;
        assert!(bio.end().0 <= DISK_SECTORS, "beyond the disk: {bio:?}");
        let dir = if bio.op == Op::Read { Dir::Read } else { Dir::Write };
        self.serial += 1;
        self.in_flight.insert((now + LATENCY, self.serial), bio);
        let depth = self.in_flight.values().filter(|b| b.submitter == submitter).count();
        let most = self.result.depth.entry(submitter.0).or_default();
        *most = depth.max(*most);
        self.result.submitted.push(Submitted {
            at: now,
            submitter: submitter.0,
            dir,
            offset: bio.start.0 * SECTOR_BYTES,
            length: u64::from(bio.sectors) * SECTOR_BYTES,
            priority: bio.priority,
            op: bio.op,
            durability: bio.durability,
            buffered,
        });
    }
}

/// Those that it touches.
fn sectors(range: ByteRange) -> u32 {
    ((range.start + range.bytes).div_ceil(512) - range.start / 512) as u32
}

/// What the call would be without a page cache.
fn as_bio(call: &HostCall) -> Bio {
    let bio = Bio { priority: call.priority, ..Bio::read(call.tag.0, call.submitter, call.file.start, 0) };
    match call.work {
        CallWork::Read(range) | CallWork::Touch(Touch { range, stores: false, .. }) => {
            Bio { start: Sector(range.start / 512), sectors: sectors(range), ..bio }
        }
        CallWork::Touch(Touch { range, .. }) => {
            Bio { op: Op::Write, start: Sector(range.start / 512), sectors: sectors(range), ..bio }
        }
        CallWork::Write(range, stable) => {
            let durability = Durability { fua: stable != Stable::Later, ..Durability::default() };
            let (start, sectors) = (Sector(range.start / 512), sectors(range));
            Bio { op: Op::Write, start, sectors, durability, ..bio }
        }
        CallWork::Sync
        | CallWork::SyncData
        | CallWork::SyncAll(_)
        | CallWork::Range { .. }
        | CallWork::Change(..)
        | CallWork::Name(_) => Bio { op: Op::Flush, ..bio },
    }
}
