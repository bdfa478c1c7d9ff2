//! Stage 5: one process per clone of each job, with its region of the disk.

use blksched::{Class, PerDir, Priority, Sector, Span, SubmitterId};

use super::errors::{Note, Problem};
use super::files::{Clone, Files, does_not_fit};
use super::layout;
use super::process::{Limit, Process, Script, Seeds};
use super::region::{Region, region};
use super::sections::JobSection;
use super::settings::{Engine, Mix, Settings};
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
    /// The options of its own section, as written.
    pub options: Vec<(String, String)>,
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
            options: clone.job.written.clone(),
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
