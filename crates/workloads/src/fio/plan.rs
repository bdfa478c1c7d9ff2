//! Stage 5: one process per clone of each job, with its region of the disk.

mod company;
mod log;
mod on;

use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fio::ddir::{Ddir, PerDdir};
use blksched::{Class, GroupId, Op, Priority, Sector, Span, SubmitterId};

use super::buffered::{Buffered, Buffering, ClosePlan, Mapping, NamesPlan, Through};
use super::errors::{Note, Problem};
use super::files::{Files, JobClone, does_not_fit};
use super::grain::{CountedFiles, Grain};
use super::layout::{self, Need};
use super::names::clones_have_nothing;
use super::process::{
    Area, Batching, DepthFound, EndsProcesses, FileArea, FileSet, LatencyTarget, Pattern, Pieces, PriorityShare,
    Process, RateFloor, RateLimit, ReadBackOrder, ReadBackPlan, Script, Seeds, Sizes, ThinkTime,
};
use super::region::{Region, Regions, regions};
use super::sections::JobSection;
use super::settings::{CpuPolicy, Durable, FileTurn, Hint, IoEngine, Mix, OffsetOrder, Reporting, Service, Settings};
use crate::Source;
use crate::disks::DiskPlaces;
use crate::host::fs::{FsKind, FsMount, Syncing};
use crate::host::{Advice, Memory, OpenFile, Stable};
use crate::plan::{FilesPlan, IoCharacter, JobPlan, Origin, Plan, Syncs};
pub(super) use log::{Traces, name as trace_name};

const SECTOR_BYTES: u64 = 512;

/// One process's state machine, before a run.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    /// The script of all its runs.
    script: Arc<Script>,
    /// For a job that uses the page cache.
    buffering: Option<Buffering>,
}

impl Scripted {
    #[cfg(test)]
    pub(super) fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// Whether it begins only when others have ended.
    pub(crate) fn waits(&self) -> bool {
        self.script.awaited() > 0
    }

    /// Whether it begins only when this one has ended.
    pub(crate) fn waits_for(&self, other: SubmitterId) -> bool {
        self.script.awaits(other)
    }

    /// The latest time at which its `startdelay` may let it begin.
    pub(crate) fn latest_start(&self) -> Span {
        self.script.startdelay.1
    }

    /// The time after which it ends, if nothing ends it earlier.
    pub(crate) fn runtime(&self) -> Span {
        self.script.runtime
    }

    /// Ends it after this much time, unless it ends earlier.
    pub(crate) fn shorten(&mut self, runtime: Span) {
        let script = Arc::make_mut(&mut self.script);
        script.runtime = script.runtime.min(runtime);
    }

    /// The state machine for one run with this seed, beginning this much later.
    pub(crate) fn source(&self, seed: u64, later: Span) -> Box<dyn Source> {
        let process = Process::new(self.script.clone(), later, seed);
        match &self.buffering {
            None => Box::new(process),
            Some(how) => Box::new(Buffered::new(process, how.clone())),
        }
    }
}

pub(crate) fn plan(
    jobs: &[JobSection],
    traces: &Traces,
    disks: &DiskPlaces,
    fs: FsMount,
) -> Result<Plan, Vec<Problem>> {
    let fs = on::file_system(jobs, fs, disks.all()[0].sectors).map_err(|problem| vec![problem])?;
    let (adapted, mut unheeded) = on::through_memory(jobs, fs);
    let (clones, files) = cloned(&adapted, disks)?;
    let mut problems = Vec::new();
    let extents = files.lay_out(fs.kind, disks).map_err(|e| vec![does_not_fit(&clones, &files, e)])?;
    unheeded.extend(files.notes(&clones));
    let (notes, jobs) = (unheeded, Vec::with_capacity(clones.len()));
    let log_disk = on::log_disk(&adapted, fs, disks, &files).map_err(|problem| vec![problem])?;
    let placed = on::files(fs.kind, &clones, &files, &extents);
    let blank = on::blank(&clones, &files.needs, &extents);
    let mut plan = Plan { notes, jobs, fs, log_disk, files: placed, blank, disks: names(disks), ..Plan::default() };
    let (mut scripts, mut bufferings) = (Vec::with_capacity(clones.len()), Vec::new());
    let mut order = JobOrder::default();
    for clone in &clones {
        match regions(clone, &extents, &files.needs)
            .and_then(|regions| counted(clone, &regions, &extents, &files.needs).map(|counted| (regions, counted)))
        {
            Ok((regions, counted)) => {
                let s = &clone.job.settings;
                let place = |file: &usize| open_file(s, extents[*file], files.needs[*file]);
                let on_files = fs != FsKind::None
                    && files.needs[clone.files[0]] != Need::WholeDisk
                    && files.disks[clone.files[0]] == 0;
                let placed = clone.files.iter().map(place).collect();
                let name = |file: &usize| files.names[*file].rsplit('/').next().map_or(0, str::len);
                let longest = clone.files.iter().map(name).max().unwrap_or(0);
                let names = on_files.then(|| on::names(s, longest)).flatten();
                let buffering = buffering(s, placed, counted.as_ref(), regions.pass, (on_files, names));
                plan.notes.extend(no_depth(clone.job, clone.number));
                plan.notes.extend(about_a_mapping(clone.job, clone.number));
                plan.notes.extend(through_the_scheduler(clone.job, clone.number));
                plan.notes.extend(log::notes(clone.job, clone.number, traces));
                let (job, script) = order.next(clone, &files, &regions, counted.as_ref());
                let script = match log::log(clone.job, clone.number, traces, disks.all()[0].sectors) {
                    Ok(Some(log)) => Script { log: Some(log), bytes: u64::MAX, read_back: None, ..script },
                    Ok(None) => script,
                    Err(problem) => {
                        problems.push(problem);
                        script
                    }
                };
                let is_buffered = buffering.as_ref().is_some_and(|buffering| buffering.how == Through::Memory);
                plan.jobs.push(JobPlan { is_buffered, ..job });
                scripts.push(script);
                bufferings.push(buffering);
            }
            // Clones of one job fail alike.
            Err(problem) if problems.last().is_some_and(|last| last.place == problem.place) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    company::acquaint(&clones, &plan.jobs, &mut scripts);
    plan.groups = company::group(&clones, &mut plan.jobs);
    plan.origins.reserve_exact(scripts.len());
    plan.origins.extend(plan.jobs.iter().zip(scripts).zip(bufferings).map(|((job, script), buffering)| {
        let script = Arc::new(Script { group: job.cgroup, ..script });
        Origin::Job(Box::new(Scripted { script, buffering }))
    }));
    Ok(plan)
}

/// The disks' names, where they have to be told apart.
fn names(disks: &DiskPlaces) -> Vec<String> {
    if disks.is_one() { Vec::new() } else { disks.all().iter().map(|disk| disk.name().to_owned()).collect() }
}

/// Every process with its files.
fn cloned<'a>(jobs: &'a [JobSection], disks: &DiskPlaces) -> Result<(Vec<JobClone<'a>>, Files), Vec<Problem>> {
    let mut files = Files::default();
    let mut clones = Vec::new();
    let mut problems = Vec::new();
    for job in jobs {
        for number in 0..job.settings.numjobs {
            match files.add(job, number, disks) {
                Ok(files) => clones.push(JobClone { job, number, files }),
                Err(problem) => {
                    problems.push(problem);
                    break;
                }
            }
        }
    }
    if problems.is_empty() { Ok((clones, files)) } else { Err(problems) }
}

/// A job whose process does not count in sectors, as it counts.
struct CountedJob<'a> {
    job: Cow<'a, JobSection>,
    regions: Regions,
    files: Arc<CountedFiles>,
}

/// `None` if it counts in sectors.
fn counted<'a>(
    clone: &JobClone<'a>,
    real: &Regions,
    extents: &[layout::FileExtent],
    needs: &[Need],
) -> Result<Option<CountedJob<'a>>, Problem> {
    let grain = Grain::of(&clone.job.settings);
    if !grain.is_fine() {
        return Ok(None);
    }
    let job = grain.scale(clone.job);
    let (extents, needs) = grain.files(&clone.files, extents, needs);
    let as_counted = JobClone { job: &job, number: clone.number, files: (0..extents.len()).collect() };
    let mut regions = regions(&as_counted, &extents, &needs)?;
    let amount = |bytes| grain.amount(bytes);
    (regions.whole, regions.pass, regions.bytes) = (amount(real.whole), amount(real.pass), amount(real.bytes));
    regions.all.iter_mut().zip(&real.all).for_each(|(region, real)| region.bytes = amount(real.bytes));
    let mut starts: Vec<Sector> = extents.iter().map(|extent| Sector(extent.start / SECTOR_BYTES)).collect();
    starts.sort();
    Ok(Some(CountedJob { job, regions, files: Arc::new(CountedFiles { grain, starts }) }))
}

/// What depends on the jobs before: groups, rows, which to wait for.
#[derive(Default)]
struct JobOrder {
    processes: u32,
    group: u32,
    rows: u32,
    /// The processes of each job.
    of_job: BTreeMap<String, Range<u32>>,
    /// How many processes come before the last stonewall.
    behind: u32,
}

impl JobOrder {
    fn next(
        &mut self,
        clone: &JobClone<'_>,
        all: &Files,
        regions: &Regions,
        counted: Option<&CountedJob<'_>>,
    ) -> (JobPlan, Script) {
        let s = &clone.job.settings;
        let mut begins_group = self.processes == 0;
        if clone.number == 0 && self.processes > 0 {
            if s.stonewall {
                self.behind = self.processes;
            }
            if s.stonewall || s.new_group {
                self.group += 1;
                begins_group = true;
            }
        }
        let submitter = SubmitterId(self.processes);
        self.processes += 1;
        let awaited = s.wait_for.as_ref().and_then(|name| self.of_job.get(name)).cloned().unwrap_or(0..0);
        self.of_job.entry(clone.job.name.clone()).or_insert(submitter.0..submitter.0).end = self.processes;
        let made = match counted {
            None => script(s, regions, submitter),
            Some(counted) => script(&counted.job.settings, &counted.regions, submitter),
        };
        let has_nothing = clone.number > 0 && clones_have_nothing(s);
        let bytes = if has_nothing { 0 } else { made.bytes };
        let script = Script { wait_for: awaited, behind: self.behind, bytes, ..made };
        let files = FilesPlan {
            name: all.names[clone.files[0]].clone(),
            count: clone.files.len() as u32,
            start: regions.all[0].start,
            sectors: regions.all[0].sectors,
        };
        let mut disks: Vec<u16> = clone.files.iter().map(|&file| all.disks[file] as u16).collect();
        disks.sort_unstable();
        disks.dedup();
        let job = JobPlan {
            name: s.name.clone().unwrap_or_else(|| clone.job.name.clone()),
            number: clone.number as u32,
            description: s.description.clone(),
            options: clone.job.written.clone(),
            group: self.group,
            row: self.row(s, begins_group),
            submitter,
            priority: priority(s),
            cgroup: GroupId::ROOT,
            cpus_allowed: match s.cpus.policy {
                CpuPolicy::Shared => s.cpus.allowed,
                CpuPolicy::Split => s.cpus.allowed.split(clone.number),
            },
            nice: s.nice as i8,
            calls: s.cpus.calls,
            disks,
            files: Some(files),
            begins: None,
            depth: script.batch.depth,
            is_buffered: false,
            character: character(s, &script),
            report: reporting(s),
        };
        (job, script)
    }

    /// With `group_reporting` a process joins the row of the previous one in its group, even if that one did not ask
    /// for it (tried).
    fn row(&mut self, s: &Settings, begins_group: bool) -> u32 {
        if begins_group || !s.group_reporting {
            self.rows += 1;
        }
        self.rows - 1
    }
}

fn priority(s: &Settings) -> Priority {
    let class = match (s.prioclass, s.prio) {
        (None | Some(0), None) if s.nice != 0 => {
            return Priority { class: Class::BestEffort, level: ((s.nice + 20) / 5) as u8 };
        }
        (None, None) | (Some(0), _) => return Priority::default(),
        (Some(number), _) => class(number),
        (None, Some(_)) => Class::BestEffort,
    };
    Priority { class, level: s.prio.unwrap_or(0) as u8 }
}

fn class(number: u64) -> Class {
    match number {
        0 => Class::None,
        1 => Class::RealTime,
        3 => Class::Idle,
        _ => Class::BestEffort,
    }
}

fn commands(s: &Settings) -> PerDdir<Vec<PriorityShare>> {
    PerDdir::from_fn(|ddir| {
        let said = (s.cmdprio_class[ddir].unwrap_or(1), s.cmdprio[ddir].unwrap_or(0));
        let priority = |(number, level): (u64, u64)| Priority { class: class(number), level: level as u8 };
        let all = PriorityShare { size: None, percent: s.cmdprio_percentage[ddir], priority: priority(said) };
        if ddir == Ddir::Trim {
            return Vec::new();
        }
        let by_size = s.cmdprio_bssplit[ddir].iter().map(|(share, percent)| PriorityShare {
            size: Some(u32::try_from(share.bs / SECTOR_BYTES).unwrap_or(u32::MAX)),
            percent: *percent,
            priority: priority(share.own.unwrap_or(said)),
        });
        by_size.chain((all.percent > 0).then_some(all)).collect()
    })
}

fn character(s: &Settings, script: &Script) -> IoCharacter {
    let paced =
        Ddir::ALL.into_iter().any(|ddir| script.limits[ddir] != RateLimit::None) || script.think.time > Span::ZERO;
    let wanders = Ddir::ALL.into_iter().any(|ddir| s.percentage_random[ddir] > 50);
    let each_is_stable = s.sync.is_required() || s.engine == IoEngine::Mapped && s.direct;
    let writes = !matches!(s.mix, Mix::Read | Mix::Trim);
    IoCharacter {
        order: Some(if s.order == OffsetOrder::Random && wanders {
            OffsetOrder::Random
        } else {
            OffsetOrder::Sequential
        }),
        reads: matches!(s.mix, Mix::Read | Mix::Both),
        writes,
        syncs: match (writes, script.flush_after) {
            (true, Some(_)) => Syncs::Calls,
            (true, None) if each_is_stable => Syncs::Writes,
            _ => Syncs::Never,
        },
        syncs_on_close: writes && s.rare.fsync_on_close,
        is_mapped: s.engine == IoEngine::Mapped,
        paced,
        amount: (script.bytes != u64::MAX && script.bytes > 0).then(|| Grain::of(s).real(script.bytes)),
    }
}

fn goes_through_memory(s: &Settings) -> bool {
    let commands = matches!(s.engine, IoEngine::SynchronousCommands | IoEngine::AsynchronousCommands);
    (!s.direct || s.engine == IoEngine::Mapped) && s.mix != Mix::Trim && !commands
}

fn advice(order: Option<OffsetOrder>) -> Advice {
    match order {
        None => Advice::Normal,
        Some(OffsetOrder::Sequential) => Advice::Sequential,
        Some(OffsetOrder::Random) => Advice::Random,
    }
}

/// A mapping is advised to be what it is, unless nothing is advised at all; with `direct=1`, each of its I/Os is
/// followed by an `msync` (both traced with strace).
fn mapping(s: &Settings) -> Option<Mapping> {
    let advice = advice((s.fadvise_hint != Hint::None).then_some(s.order));
    (s.engine == IoEngine::Mapped).then_some(Mapping { advice, syncs: s.direct })
}

fn open_file(s: &Settings, place: layout::FileExtent, need: layout::Need) -> OpenFile {
    let order = match s.fadvise_hint {
        Hint::None => None,
        Hint::Own => Some(s.order),
        Hint::Said(order) => Some(order),
    };
    // A file ends where its last job does, not at the next MiB.
    let length = match need {
        layout::Need::Bytes(bytes) | layout::Need::Exactly(bytes) => bytes.min(place.length),
        layout::Need::WholeDisk | layout::Need::Existing => place.length,
    };
    OpenFile {
        start: Sector(place.start / SECTOR_BYTES),
        sectors: length.div_ceil(SECTOR_BYTES),
        advice: advice(order),
    }
}

/// The buffering of a job; `pass` is the number of bytes of one pass over its files, if it counts in sectors.
/// `on_files`: they are on a file system, and what happens to their names there.
fn buffering(
    s: &Settings,
    mut files: Vec<OpenFile>,
    counted: Option<&CountedJob<'_>>,
    pass: u64,
    (on_files, names): (bool, Option<NamesPlan>),
) -> Option<Buffering> {
    let memory = match (s.pre_read, s.invalidate) {
        (true, _) => Memory::Load,
        (false, true) => Memory::Drop,
        (false, false) => Memory::Keep,
    };
    files.sort_by_key(|file| file.start);
    let mapping = mapping(s);
    let range = s.rare.sync_file_range.filter(|_| s.mix != Mix::Read && mapping.is_none());
    let several = s.rare.fsync_on_close && s.mix != Mix::Read && files.len() > 1 && !s.zones.strided;
    let close = several.then_some(match s.files.service.turn {
        FileTurn::Sequential => ClosePlan::InSequence,
        _ => ClosePlan::ByLength,
    });
    let how = Through::of(goes_through_memory(s), on_files && s.mix != Mix::Read)?;
    let only_data = mapping.is_some() || (s.fdatasync > 0 && s.fsync == 0);
    let syncs = if only_data { Syncing::Data } else { Syncing::All };
    let stable = match s.sync {
        Durable::All => Stable::AllOnReturn,
        Durable::No | Durable::Data => Stable::OnReturn,
    };
    let pass = counted.map_or(pass, |counted| counted.regions.pass);
    let counted = counted.map(|counted| counted.files.clone());
    Some(Buffering { files: files.into(), counted, memory, pass, range, close, how, syncs, stable, mapping, names })
}

/// An `iodepth` without effect is reported once, at the job's first process.
fn through_the_scheduler(job: &JobSection, number: u64) -> Option<Note> {
    let s = &job.settings;
    let commands = matches!(s.engine, IoEngine::SynchronousCommands | IoEngine::AsynchronousCommands);
    (number == 0 && commands).then(|| Note {
        place: s.place_of("ioengine", &job.place),
        option: "ioengine",
        why: "Linux sends such commands past its scheduler; here they go through it, or nothing could be compared"
            .to_owned(),
    })
}

/// What fio does with options that do nothing, or something else, in a mapping (traced with strace).
fn about_a_mapping(job: &JobSection, number: u64) -> Option<Note> {
    let s = &job.settings;
    let (option, why) = match () {
        () if number > 0 || s.engine != IoEngine::Mapped => return None,
        () if s.sync.is_required() => {
            ("sync", "it does nothing to stores in a mapping, as in fio; direct=1 or fsync=1 does")
        }
        () if s.direct => ("direct", "a mapping is in the page cache: each I/O is followed by an msync, as in fio"),
        () => return None,
    };
    Some(Note { place: s.place_of(option, &job.place), option, why: why.to_owned() })
}

fn no_depth(job: &JobSection, number: u64) -> Option<Note> {
    let s = &job.settings;
    let idle = number == 0 && s.engine == IoEngine::AsynchronousIfDirect && s.iodepth > 1 && goes_through_memory(s);
    idle.then(|| Note {
        place: s.place_of("iodepth", &job.place),
        option: "iodepth",
        why: "libaio submits buffered I/O one at a time; io_uring, or direct=1, keeps it in flight".to_owned(),
    })
}

fn batch(s: &Settings) -> Batching {
    let depth = match s.engine {
        IoEngine::Synchronous | IoEngine::Mapped if s.offload => return Batching::of_one(s.iodepth as u32),
        IoEngine::Synchronous | IoEngine::Mapped | IoEngine::SynchronousCommands => return Batching::of_one(1),
        IoEngine::AsynchronousIfDirect if goes_through_memory(s) => return Batching::of_one(1),
        IoEngine::Asynchronous | IoEngine::AsynchronousCommands | IoEngine::AsynchronousIfDirect => s.iodepth as u32,
    };
    let upto_depth = |n: u64| (n as u32).min(depth);
    let submit = if s.iodepth_batch == 0 { depth } else { upto_depth(s.iodepth_batch) };
    let complete_min = upto_depth(s.iodepth_batch_complete_min);
    let complete_max = s.iodepth_batch_complete_max.map_or(complete_min, upto_depth).max(complete_min).max(1);
    let low = s.iodepth_low.map_or(depth, upto_depth);
    Batching { depth, submit, complete_min, complete_max, low: if low == 0 { depth } else { low } }
}

fn pattern(s: &Settings) -> Pattern {
    Pattern {
        order: s.order,
        norandommap: s.norandommap,
        drawn: match s.mix {
            // A write follows its trim.
            Mix::TrimWrite => &[Ddir::Trim],
            _ => s.dirs(),
        },
        sizes: PerDdir::from_fn(|ddir| Sizes::new(&s.blocks(ddir), s.rare.bs_unaligned)),
        sizes_onward: s.blocks_onward().map(|blocks| Sizes::new(&blocks, s.rare.bs_unaligned)),
        stride: s.jumps.stride / SECTOR_BYTES as i64,
        every: s.jumps.every,
        sequencer: s.rw_sequencer,
        percentage_random: s.percentage_random,
        distribution: s.random_distribution.clone(),
        align: PerDdir::from_fn(|dir| s.blockalign[dir].map(|bytes| bytes / SECTOR_BYTES)),
    }
}

fn reporting(s: &Settings) -> Reporting {
    let commands = commands(s);
    Reporting {
        ramp: s.ending.ramp_time,
        latency_target: (s.pace.latency_target.unwrap_or(Span::ZERO), s.pace.latency_window, s.pace.latency_percentile),
        counts_errors: Ddir::ALL.into_iter().any(|ddir| s.ending.continues[ddir]),
        by_priority: Ddir::ALL.into_iter().any(|ddir| !commands[ddir].is_empty()),
        ..s.report.clone()
    }
}

fn file_set(s: &Settings, regions: &Regions) -> FileSet {
    let area = |region: &Region| FileArea {
        area: Area {
            start: region.start,
            sectors: region.sectors,
            reach: region.reach,
            offset: region.offset,
            file: region.file,
        },
        bytes: region.bytes,
    };
    FileSet {
        files: regions.all.iter().map(area).collect(),
        open: s.files.openfiles.map_or(regions.all.len(), |open| open as usize),
        service: match s.zones.strided {
            true => Service { turn: FileTurn::Sequential, every: 1 },
            false => s.files.service.clone(),
        },
        pieces: if s.zones.strided { Pieces::Zones } else { Pieces::Files },
    }
}

fn think_time(s: &Settings) -> ThinkTime {
    let p = &s.pace;
    let unless_said = if p.thinktime_iotime.is_zero() { 1 } else { u64::MAX };
    ThinkTime {
        time: p.thinktime,
        blocks: p.thinktime_blocks.unwrap_or(unless_said),
        after: p.thinks_after,
        iotime: p.thinktime_iotime,
        rates: p.after_thinking,
    }
}

fn limit(bytes: Option<u64>, ios: Option<u64>) -> RateLimit {
    match (bytes, ios) {
        (Some(bytes), _) if bytes > 0 => RateLimit::BytesPerSecond(bytes),
        (_, Some(ios)) if ios > 0 => RateLimit::IosPerSecond(ios),
        _ => RateLimit::None,
    }
}

/// One pass over the files \[bytes\]. Trimmed blocks count as written, too (tried).
fn pass(s: &Settings, regions: &Regions) -> u64 {
    regions.pass.min(regions.whole).max(1).saturating_mul(if s.mix == Mix::TrimWrite { 2 } else { 1 })
}

/// Only for jobs that end by themselves: a runtime also ends the reading back.
fn read_back(s: &Settings, regions: &Regions) -> Option<ReadBackPlan> {
    let writes = matches!(s.mix, Mix::Write | Mix::Both | Mix::TrimWrite);
    let has_map = s.order != OffsetOrder::Sequential && s.keeps_map();
    let asked = s.rare.verify && !s.rare.skips_verify && writes && !regions.repeats;
    asked.then(|| ReadBackPlan {
        pass: pass(s, regions),
        loops: s.loops,
        bytes: s.io_size.map_or(0, |_| regions.pass),
        order: if has_map { ReadBackOrder::AsWritten } else { ReadBackOrder::ByPlace },
    })
}

fn profile(s: &Settings) -> Option<LatencyTarget> {
    let then = if s.pace.latency_run { DepthFound::GoesOn } else { DepthFound::Ends };
    Some(LatencyTarget {
        target: s.pace.latency_target?,
        window: s.pace.latency_window,
        percentile: s.pace.latency_percentile,
        most: batch(s).depth,
        then,
    })
}

fn rate_floor(s: &Settings) -> Option<RateFloor> {
    let least = PerDdir::from_fn(|ddir| match s.dirs().contains(&ddir) {
        true => limit(s.pace.rate_min[ddir], s.pace.rate_iops_min[ddir]),
        false => RateLimit::None,
    });
    let said = Ddir::ALL.into_iter().any(|ddir| least[ddir] != RateLimit::None);
    said.then_some(RateFloor { least, cycle: s.pace.rate_cycle })
}

fn script(s: &Settings, regions: &Regions, submitter: SubmitterId) -> Script {
    // Trimmed blocks are also written (tried).
    let passes = if s.mix == Mix::TrimWrite { 2 } else { 1 };
    // Every sync of a mapping is an `msync` of all of it (traced with strace).
    let ranges = s.rare.sync_file_range.filter(|_| s.engine == IoEngine::Mapped).map_or(0, |plan| plan.every);
    Script {
        submitter,
        behind: 0,
        wait_for: 0..0,
        priority: priority(s),
        group: GroupId::ROOT,
        written_as: if s.sg_verifies && s.engine == IoEngine::SynchronousCommands { Op::Read } else { Op::Write },
        commands: commands(s),
        pattern: Arc::new(pattern(s)),
        files: file_set(s, regions),
        mix: s.mix,
        reads_percent: s.rwmixread_percent as u32,
        bytes: match regions.repeats {
            _ if s.files.create_only => 0,
            true => u64::MAX,
            false => regions.bytes.saturating_mul(passes),
        },
        // With a time limit, or without a map, files have no end (tried).
        pass: if regions.repeats || !s.keeps_map() { u64::MAX } else { pass(s, regions) },
        passes: regions.passes,
        // A job that only ends by time has no last loop.
        ios: match s.number_ios {
            Some(ios) if !regions.repeats => ios.saturating_mul(s.loops).saturating_mul(passes),
            _ => u64::MAX,
        },
        runtime: s.runtime.unwrap_or(Span::MAX),
        startdelay: s.startdelay,
        batch: batch(s),
        offloads: s.engine == IoEngine::Asynchronous,
        // `O_SYNC` is about calls.
        durable: if s.engine == IoEngine::Mapped { Durable::No } else { s.sync },
        flush_after: [s.fsync, s.fdatasync, ranges].into_iter().filter(|writes| *writes > 0).min(),
        flush_at_end: (s.end_fsync || s.rare.fsync_on_close) && s.mix != Mix::Read,
        read_back: read_back(s, regions),
        think: think_time(s),
        floor: rate_floor(s),
        max_latency: s.pace.max_latency,
        profile: profile(s),
        flow: None,
        log: None,
        ramp: s.ending.ramp_time,
        ends: EndsProcesses::default(),
        tolerates: PerDdir::from_fn(|ddir| s.ending.continues[ddir] || s.ending.ignores[ddir]),
        limits: PerDdir::from_fn(|ddir| limit(s.pace.rate[ddir], s.pace.rate_iops[ddir])),
        rate_process: s.pace.rate_process,
        seeds: Seeds { randseed: s.randseed, offsets_repeat: s.randrepeat == Some(true), all_repeat: s.allrandrepeat },
    }
}
