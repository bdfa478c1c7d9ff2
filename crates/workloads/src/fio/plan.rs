//! Stage 5: one process per clone of each job, with its region of the disk.

use std::collections::BTreeMap;

use blksched::{Class, PerDir, Priority, Sector, Span, SubmitterId};

use super::errors::{Note, Problem};
use super::layout::{self, Need};
use super::process::{Limit, Process, Script, Seeds};
use super::sections::JobSection;
use super::settings::{Engine, Mix, Order, Settings};
use super::values::Extent;
use crate::Source;

const SECTOR_BYTES: u64 = 512;

/// One process of a job file.
#[derive(Clone, Debug)]
pub struct JobPlan {
    /// The job's name in reports.
    pub name: String,
    /// Which clone of the job, from 0.
    pub number: u32,
    /// The text of `description`.
    pub description: Option<String>,
    /// fio's reporting group, from 0: a stonewall or `new_group` begins a new one.
    pub group: u32,
    /// The row of the report that its results belong to, from 0: with `group_reporting` one row for all processes of
    /// the group that say so, else a row of its own.
    pub row: u32,
    /// Who it is; processes count from 0 in the order of the file.
    pub submitter: SubmitterId,
    /// Its I/O priority.
    pub priority: Priority,
    /// The file it uses.
    pub file: String,
    /// The first sector of its region of the disk.
    pub start: Sector,
    /// The length of its region \[512-byte sectors\].
    pub sectors: u64,
    /// How many I/Os it keeps in flight.
    pub depth: u32,
    script: Script,
}

impl JobPlan {
    /// The state machine of this process, for one run with this seed.
    pub fn source(&self, seed: u64) -> Box<dyn Source> {
        Box::new(Process::new(self.script.clone(), seed))
    }
}

/// All processes of a job file, laid out on a disk.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order of the file; `jobs[i].submitter` is `i`.
    pub jobs: Vec<JobPlan>,
    /// What was assumed about files.
    pub notes: Vec<Note>,
}

impl Plan {
    /// The state machines of one run. Same seed, same run.
    pub fn sources(&self, seed: u64) -> Vec<Box<dyn Source>> {
        self.jobs.iter().map(|job| job.source(seed)).collect()
    }

    /// How many rows a report has.
    pub fn rows(&self) -> u32 {
        self.jobs.iter().map(|job| job.row + 1).max().unwrap_or(0)
    }
}

/// One clone of one job, before it has a place on the disk.
struct Clone<'a> {
    job: &'a JobSection,
    number: u64,
    file: usize,
}

/// The files that the clones use, by first use.
#[derive(Default)]
struct Files {
    names: Vec<String>,
    needs: Vec<Need>,
    by_name: BTreeMap<String, usize>,
}

pub(crate) fn plan(jobs: &[JobSection], disk_sectors: u64) -> Result<Plan, Vec<Problem>> {
    let disk = disk_sectors.saturating_mul(SECTOR_BYTES);
    let mut files = Files::default();
    let mut clones = Vec::new();
    let mut problems = Vec::new();
    for job in jobs {
        for number in 0..job.settings.numjobs {
            match files.add(job, number, disk) {
                Ok(file) => clones.push(Clone { job, number, file }),
                Err(problem) => {
                    problems.push(problem);
                    break;
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let extents = layout::lay_out(&files.needs, disk).map_err(|e| vec![does_not_fit(&clones, &files, e)])?;
    let mut plan = Plan { jobs: Vec::new(), notes: files.notes(&clones) };
    let mut order = Succession::default();
    for clone in &clones {
        match region(clone, extents[clone.file]) {
            Ok(region) => plan.jobs.push(order.next(clone, &files.names[clone.file], &region)),
            // Clones of one job fail alike.
            Err(problem) if problems.last().is_some_and(|last| last.place == problem.place) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

impl Files {
    fn add(&mut self, job: &JobSection, number: u64, disk: u64) -> Result<usize, Problem> {
        let name = file_name(job, number);
        let need = need(job, number, &name, disk)?;
        if let Some(&file) = self.by_name.get(&name) {
            self.needs[file] = match (self.needs[file], need) {
                (Need::Bytes(a), Need::Bytes(b)) => Need::Bytes(a.max(b)),
                (Need::Existing, other) | (other, _) => other,
            };
            return Ok(file);
        }
        let file = self.names.len();
        self.by_name.insert(name.clone(), file);
        self.names.push(name);
        self.needs.push(need);
        Ok(file)
    }

    fn notes(&self, clones: &[Clone<'_>]) -> Vec<Note> {
        let existing = (0..self.names.len()).filter(|&file| self.needs[file] == Need::Existing);
        let used_by = |file: usize| clones.iter().find(|clone| clone.file == file);
        let note = |clone: &Clone<'_>| Note {
            place: clone.job.settings.place_of("filename", &clone.job.place),
            option: "filename",
            why: "no job says a size: the file is taken to exist and gets an equal share of the free disk".to_owned(),
        };
        existing.filter_map(used_by).map(note).collect()
    }
}

fn file_name(job: &JobSection, number: u64) -> String {
    let s = &job.settings;
    let name = match &s.filename {
        Some(name) => name.replace("\\:", ":"),
        None => format!("{}.{number}.0", job.name),
    };
    match &s.directory {
        Some(directory) if !is_device(&name) => format!("{}/{name}", directory.replace("\\:", ":")),
        _ => name,
    }
}

/// Files below /dev/shm are memory to Linux, and files to us.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/")
}

fn need(job: &JobSection, number: u64, name: &str, disk: u64) -> Result<Need, Problem> {
    let s = &job.settings;
    if is_device(name) {
        return Ok(Need::WholeDisk);
    }
    let offset = match s.offset {
        Extent::Bytes(bytes) => bytes.saturating_add(s.offset_increment.saturating_mul(number)),
        Extent::Percent(_) => 0,
    };
    match s.size {
        Some(Extent::Bytes(size)) if size > 0 => {
            Ok(Need::Bytes(size.checked_next_multiple_of(s.max_bs()).unwrap_or(u64::MAX).saturating_add(offset)))
        }
        _ if s.filename.is_some() => Ok(Need::Existing),
        _ => {
            let title = format!("job `{}` needs `size`", job.name);
            let expected = format!("its file does not exist yet; the disk has {disk} bytes");
            let problem = Problem::new(s.place_of("size", &job.place), title, expected);
            Err(problem.help("say `size=…`, or `filename=/dev/…` for the whole disk"))
        }
    }
}

fn does_not_fit(clones: &[Clone<'_>], files: &Files, error: layout::TooLarge) -> Problem {
    let user = clones.iter().find(|clone| clone.file == error.file).map(|clone| clone.job);
    let job = user.expect("every file is some clone's");
    let title = format!("file `{}` of job `{}` does not fit on the disk", files.names[error.file], job.name);
    let expected = format!("{} MiB are left", error.free >> 20);
    Problem::new(job.settings.place_of("size", &job.place), title, expected)
}

/// The part of the disk that a clone uses.
struct Region {
    start: Sector,
    /// Blocks of each direction.
    blocks: PerDir<u64>,
    /// To transfer in one loop \[bytes\].
    bytes: u64,
    sectors: u64,
}

fn resolve(extent: Extent, whole: u64) -> u64 {
    match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
    }
}

fn region(clone: &Clone<'_>, file: layout::Extent) -> Result<Region, Problem> {
    let (job, s) = (clone.job, &clone.job.settings);
    let base = match s.offset {
        Extent::Bytes(bytes) => bytes,
        percent => resolve(percent, file.length).next_multiple_of(s.min_bs()),
    };
    let offset = base.saturating_add(s.offset_increment.saturating_mul(clone.number));
    let left = file.length.saturating_sub(offset);
    let size = match s.size {
        None | Some(Extent::Bytes(0)) => left,
        Some(Extent::Percent(percent)) => whole_blocks(resolve(Extent::Percent(percent), file.length), s).min(left),
        Some(Extent::Bytes(bytes)) => bytes.min(left),
    };
    if size < s.max_bs() {
        let title = format!("the region of job `{}` is smaller than one block", job.name);
        let expected = format!("{size} bytes from offset {offset} on, block size {}", s.max_bs());
        let option = if left < s.max_bs() { "offset" } else { "size" };
        return Err(Problem::new(s.place_of(option, &job.place), title, expected));
    }
    let blocks = PerDir::from_fn(|dir| match s.order {
        Order::Random => size / s.bs[dir],
        Order::Sequential if size.next_multiple_of(s.bs[dir]) <= left => size.div_ceil(s.bs[dir]),
        Order::Sequential => size / s.bs[dir],
    });
    let bytes = match s.io_size {
        None | Some(Extent::Bytes(0)) => size,
        Some(extent) => resolve(extent, file.length),
    };
    let bytes = if s.order == Order::Random { whole_blocks(bytes, s) } else { bytes };
    let start = Sector((file.start + offset) / SECTOR_BYTES);
    Ok(Region { start, blocks, bytes, sectors: size / SECTOR_BYTES })
}

/// At least one.
fn whole_blocks(bytes: u64, s: &Settings) -> u64 {
    (bytes - bytes % s.min_bs()).max(s.min_bs())
}

/// What depends on the jobs before: groups, rows, whom to wait for.
#[derive(Default)]
struct Succession {
    processes: u32,
    group: u32,
    rows: u32,
    /// The row shared by the current group's processes with `group_reporting`.
    shared_row: Option<u32>,
    /// How many processes stand before the last stonewall.
    behind: u32,
}

impl Succession {
    fn next(&mut self, clone: &Clone<'_>, file: &str, region: &Region) -> JobPlan {
        let s = &clone.job.settings;
        if clone.number == 0 && self.processes > 0 {
            if s.stonewall {
                self.behind = self.processes;
            }
            if s.stonewall || s.new_group {
                self.group += 1;
                self.shared_row = None;
            }
        }
        let submitter = SubmitterId(self.processes);
        self.processes += 1;
        let script = script(s, region, submitter, self.behind);
        JobPlan {
            name: s.name.clone().unwrap_or_else(|| clone.job.name.clone()),
            number: clone.number as u32,
            description: s.description.clone(),
            group: self.group,
            row: self.row(s),
            submitter,
            priority: priority(s),
            file: file.to_owned(),
            start: region.start,
            sectors: region.sectors,
            depth: script.depth,
            script,
        }
    }

    fn row(&mut self, s: &Settings) -> u32 {
        if let (true, Some(row)) = (s.group_reporting, self.shared_row) {
            return row;
        }
        let row = self.rows;
        self.rows += 1;
        if s.group_reporting {
            self.shared_row = Some(row);
        }
        row
    }
}

fn priority(s: &Settings) -> Priority {
    let class = match (s.prioclass, s.prio) {
        (None, None) | (Some(0), _) => return Priority::default(),
        (Some(1), _) => Class::RealTime,
        (Some(3), _) => Class::Idle,
        _ => Class::BestEffort,
    };
    Priority { class, level: s.prio.unwrap_or(0) as u8 }
}

fn script(s: &Settings, region: &Region, submitter: SubmitterId, behind: u32) -> Script {
    let limit = |dir| match (s.rate[dir], s.rate_iops[dir]) {
        (Some(bytes), _) if bytes > 0 => Limit::BytesPerSecond(bytes),
        (_, Some(ios)) if ios > 0 => Limit::IosPerSecond(ios),
        _ => Limit::None,
    };
    Script {
        submitter,
        behind,
        priority: priority(s),
        order: s.order,
        norandommap: s.norandommap,
        reads_percent: match s.mix {
            Mix::Read => 100,
            Mix::Write => 0,
            Mix::Both => s.rwmixread_percent as u32,
        },
        start: region.start,
        blocks: region.blocks,
        block_sectors: PerDir::from_fn(|dir| (s.bs[dir] / SECTOR_BYTES) as u32),
        bytes: if s.time_based { u64::MAX } else { region.bytes.saturating_mul(s.loops) },
        ios: s.number_ios.unwrap_or(u64::MAX),
        runtime: s.runtime.unwrap_or(Span::MAX),
        startdelay: s.startdelay,
        depth: match s.engine {
            Engine::Synchronous => 1,
            Engine::Asynchronous => s.iodepth as u32,
        },
        thinktime: s.thinktime,
        thinktime_blocks: s.thinktime_blocks,
        limits: PerDir::from_fn(limit),
        seeds: Seeds { randseed: s.randseed, offsets_repeat: s.randrepeat == Some(true), all_repeat: s.allrandrepeat },
    }
}
