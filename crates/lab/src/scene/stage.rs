//! A workload laid out on a disk: what every run of a comparison has in common.

use std::collections::BTreeSet;
use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::{Attached, DiskSpec};
use blksched_simulate::{Beside, BesideDisk, Length, OtherDisk, Surroundings, Trial};
use blksched_workloads::host::fs::FsKind;
use blksched_workloads::replay::Windows;
use blksched_workloads::{GaveUp, GroupPlan, Plan, whole_disk};

use super::Scene;
use super::contender::{Contender, contenders};
use super::default::{PRESENT, kernel_default_of};
use super::disks::{self, Among, Chosen, DiskNames, OtherStage};
use super::found::FoundDisk;
use super::stack::{self, DiskBelow, Laid};
use super::stack_found::{self, DiskWords};
use super::workload::Workload;
use crate::error::Error;
use crate::files::Files;

/// io.latency halves a depth at most twice a second: from 1023, the depth of an NVMe drive, it reaches one in ten
/// steps.
const IO_LATENCY_SETTLES: Span = Span::from_secs(5);

/// A workload laid out on a disk.
#[derive(Clone)]
pub struct Stage {
    /// The load.
    pub workload: Arc<Workload>,
    /// Its processes as laid out on the disk.
    pub plan: Arc<Plan>,
    /// When all of them have begun and left the ramp that their job file gives them.
    pub counts_from: Span,
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The name as given.
    pub disk_name: String,
    /// How the disk is attached, if its name says it.
    pub attached: Option<Attached>,
    /// What is replayed of a trace, if not all of it or its beginning.
    pub windows: Option<Windows>,
    /// Why this disk, if the user did not name it.
    pub chosen: Option<String>,
    /// What is known of earlier predictions on this very disk, in words.
    pub validated: Option<String>,
    /// Whether the disk was to be without tails, and has none anyway.
    pub is_ideal_anyway: bool,
    /// The disk's name and place among those of a run of several.
    pub among: Among,
    /// The other disks of the same run with their names, if the workload's processes have I/Os there too.
    pub other_disks: Vec<(String, OtherDisk)>,
}

impl Stage {
    /// Loads and checks workload and disk.
    ///
    /// # Errors
    /// If one of them is not understood.
    pub fn load(scene: &Scene, files: &dyn Files) -> Result<Stage, Error> {
        Stage::of(Arc::new(Workload::load(scene, files)?), scene, files)
    }

    /// Lays out a loaded workload on the scene's disk.
    ///
    /// # Errors
    /// If the disk is not understood, or the load does not fit on it.
    pub fn of(workload: Arc<Workload>, scene: &Scene, files: &dyn Files) -> Result<Stage, Error> {
        Stage::on(workload, scene.disk.clone(), scene, files)
    }

    /// Lays out a loaded workload on this disk.
    pub(super) fn on(
        workload: Arc<Workload>,
        disk_name: String,
        scene: &Scene,
        files: &dyn Files,
    ) -> Result<Stage, Error> {
        scene.host.is_one()?;
        let DiskWords { said, told } = stack_found::in_words(disk_name, &workload, scene, files)?;
        let asked = disks::asked(&said, &workload)?;
        let Laid { leaves, volumes, places, shown, above } = stack::laid(&asked, &workload, scene, files)?;
        let is_stacked = |leaf: &&DiskBelow| shown.is_some() && !leaf.name.is_empty();
        let members: Vec<_> = leaves.iter().filter(is_stacked).map(|leaf| leaf.span(scene)).collect();
        let mut leaves = leaves.into_iter();
        let DiskBelow { name, top, first, found } = leaves.next().expect("a run has a disk");
        let FoundDisk { disk, disk_name, attached, chosen, is_ideal_anyway } = found;
        let others = (1..).zip(leaves).map(|(place, leaf)| OtherStage::of(leaf, place, scene, files));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let dirty_limits = scene.host.dirty_limits(&places, others.iter().map(|other| &*other.name).chain([&*name]))?;
        let among = Among { name, top, first, volumes, shown, above, others, dirty_limits, told, ..Among::default() };
        let mut plan = workload.plan(&places, &members)?;
        plan.member = among.member();
        let plan = Arc::new(plan);
        let validated = files.validated(&disk_name);
        let counts_from = plan.all_count_from();
        Ok(Stage {
            workload,
            plan,
            counts_from,
            disk: Arc::new(disk),
            disk_name,
            attached,
            windows: None,
            chosen,
            validated,
            is_ideal_anyway,
            among,
            other_disks: Vec::new(),
        })
    }

    /// The stage with these schedulers: of several disks, the one whose schedulers are compared comes to the front, and
    /// the others have theirs.
    ///
    /// # Errors
    /// A disk that is not there; several schedulers for more than one disk; a scheduler that is not understood.
    pub fn under(mut self, elevators: &[String], scene: &Scene, catalogue: &Catalogue) -> Result<Stage, Error> {
        let names = DiskNames { disks: &self.among.names(), tops: &self.among.tops(), above: &self.among.above };
        let Chosen { varied, elevators } = disks::chosen(elevators, scene.vary.as_deref(), names)?;
        if let Some(at) = self.among.others.iter().position(|other| usize::from(other.place) == varied) {
            self.turn_to(at, scene, catalogue)?;
        }
        for other in &mut self.among.others {
            let named = elevators[usize::from(other.place)].first();
            let queues = scene.host.queues_with_tags(other.attached, &other.disk);
            other.contender = disks::scheduler_of(named, other.attached, &other.disk, queues, catalogue)?;
            other.is_named = named.is_some();
        }
        self.among.elevators = Some(elevators.into_iter().nth(varied).unwrap_or_default());
        Ok(self)
    }

    /// Another disk of the run becomes the one whose schedulers are compared.
    fn turn_to(&mut self, other: usize, scene: &Scene, catalogue: &Catalogue) -> Result<(), Error> {
        let queues = scene.host.queues_with_tags(self.attached, &self.disk);
        let contender = disks::scheduler_of(None, self.attached, &self.disk, queues, catalogue)?;
        let there = self.among.others.remove(other);
        let here = OtherStage {
            name: core::mem::replace(&mut self.among.name, there.name),
            place: core::mem::replace(&mut self.among.place, there.place),
            top: core::mem::replace(&mut self.among.top, there.top),
            first: core::mem::replace(&mut self.among.first, there.first),
            disk: core::mem::replace(&mut self.disk, there.disk),
            disk_name: core::mem::replace(&mut self.disk_name, there.disk_name),
            attached: core::mem::replace(&mut self.attached, there.attached),
            chosen: core::mem::replace(&mut self.chosen, there.chosen),
            validated: core::mem::replace(&mut self.validated, there.validated),
            is_ideal_anyway: core::mem::replace(&mut self.is_ideal_anyway, there.is_ideal_anyway),
            contender,
            is_named: false,
        };
        self.among.others.insert(0, here);
        self.among.others.sort_by_key(|other| other.place);
        let plan = Arc::make_mut(&mut self.plan);
        (plan.varied, plan.member) = (self.among.top, self.among.member());
        Ok(())
    }

    /// What it is on, in a few words: the disk, or all disks by their names.
    pub fn on_what(&self) -> String {
        self.among.described(&self.disk.name).unwrap_or_else(|| self.disk.name.clone())
    }

    /// The scheduler that a present kernel chooses for such a disk.
    pub fn kernel_default(&self, scene: &Scene) -> &'static str {
        let recorded = self.workload.machine.as_ref().and_then(|device| device.word("scheduler"));
        let known = recorded.and_then(|name| PRESENT.into_iter().find(|known| *known == name));
        let attached = scene.attached.or(self.attached);
        let queues = scene.host.queues_with_tags(attached, &self.disk);
        known.unwrap_or_else(|| kernel_default_of(attached, &self.disk, queues))
    }

    /// A scheduler, `name[:knob=value]` or with controllers, of the kernel on which a trace was recorded, if it says on
    /// which: of that release, or of the nearest that is known.
    pub(crate) fn of_recorded_kernel(&self, name: &str, catalogue: &Catalogue) -> String {
        let (head, rest) = name.split_at(name.find(['+', ':']).unwrap_or(name.len()));
        let recorded = self.workload.machine.as_ref().and_then(|device| device.word("kernel"));
        match recorded.map(|release| catalogue.of_running(head, release)) {
            Some(Ok(choice)) => format!("{choice}{rest}"),
            _ => name.to_owned(),
        }
    }

    /// The one scheduler that `--elevator` names, or the kernel's default.
    ///
    /// # Errors
    /// If it is not understood, or names several.
    pub fn one_contender(
        &self,
        named: Option<&String>,
        scene: &Scene,
        catalogue: &Catalogue,
    ) -> Result<Contender, Error> {
        let default = || self.of_recorded_kernel(self.kernel_default(scene), catalogue);
        const ONE: &str = "expected one scheduler; `blksched compare` runs several";
        let named = match &self.among.elevators {
            Some(own) if own.len() > 1 => return Err(Error::Input(format!("--elevator {}: {ONE}", own.join(",")))),
            Some(own) => own.first(),
            None => named,
        };
        let elevator = named.cloned().unwrap_or_else(default);
        let mut contenders = contenders("--elevator", std::slice::from_ref(&elevator), &scene.set, catalogue)?;
        if contenders.len() > 1 {
            return Err(Error::Input(format!("--elevator {elevator}: {ONE}")));
        }
        Ok(contenders.remove(0))
    }

    /// A scheduler of this name, without knobs, whatever schedulers were named for the disks.
    ///
    /// # Errors
    /// If there is none.
    pub fn alone(&self, name: &str, catalogue: &Catalogue) -> Result<Contender, Error> {
        let mut contenders = contenders("--elevator", &[name.to_owned()], &[], catalogue)?;
        Ok(contenders.remove(0))
    }

    /// The plan in which the jobs of this name call fdatasync instead of fsync, in files that have been written. `None`
    /// if the load is more than job files, the run has several disks, or nothing is left to change.
    pub fn with_data_syncs(&self, job: &str) -> Option<Plan> {
        let file = self.workload.file.as_ref().filter(|_| !self.workload.has_others() && self.plan.disks.is_empty())?;
        let sectors = self.disk.build(0).facts().sectors;
        file.with_data_syncs(job)?.plan_on(sectors, self.plan.fs).ok()
    }

    /// The length of repeated runs: as given, or as long as a pilot of this contender needs. `effort` multiplies what a
    /// run may cost.
    pub fn length(&self, scene: &Scene, contender: &Contender, effort: f64) -> Result<Length, Error> {
        match scene.time {
            Some(time) => Ok(Length::of(time)),
            None => {
                let length = Length::fitting(&self.trial(scene, contender, Span::MAX), effort).map_err(Error::input)?;
                Ok(self.of_all_the_trace(length))
            }
        }
    }

    /// The length of windows of the whole trace that have as many I/Os as the beginning that a pilot could afford.
    fn of_all_the_trace(&self, length: Length) -> Length {
        let Some((lasts, first, all)) = self.plan.recorded(length.limit) else { return length };
        if lasts <= length.limit || all == 0 {
            return length;
        }
        let part = first as f64 / all as f64;
        if first == 0 {
            return length;
        }
        let exact = Span::from_ns((lasts.as_ns() as f64 * part) as u64);
        // A length that can be read: whole seconds, or milliseconds of a short one.
        let unit = if exact < Span::from_secs(10) { Span::from_ms(1) } else { Span::from_secs(1) };
        let units = exact.as_ns() / unit.as_ns();
        Length { limit: unit * units.max(1), ..length }
    }

    /// The same with io.latency among the contenders: it takes seconds to settle, which are added to the warm-up.
    pub fn settled(&self, length: Length, scene: &Scene, contenders: &[Contender]) -> Length {
        let has = |files: &[(String, String)]| files.iter().any(|(file, _)| file == "io.latency");
        let is_asked = contenders.iter().any(|contender| contender.choice.asked.contains(&"io.latency"));
        let takes_hold = |group: &GroupPlan| has(&group.files) || is_asked && has(&group.files_if_asked);
        if scene.time.is_some() || !self.plan.groups.iter().any(takes_hold) {
            return length;
        }
        // Each phase has its part of the warm-up.
        let warm_up = length.warm_up.max(IO_LATENCY_SETTLES * u64::from(self.plan.phases()));
        Length { warm_up, limit: warm_up + length.limit.saturating_sub(length.warm_up), ..length }
    }

    /// The length of a single run: jobs that end by themselves are not cut off.
    pub fn length_once(&self, scene: &Scene, contender: &Contender) -> Result<Length, Error> {
        match scene.time {
            Some(time) => Ok(Length::of(time)),
            None => Length::fitting_once(&self.trial(scene, contender, Span::MAX)).map_err(Error::input),
        }
    }

    /// The stage with the warm-up cut off; of a trace that is longer than its runs, with windows that `seed` draws from
    /// all of it, unless the user gave the length: then its beginning is what was asked for.
    pub fn cut(mut self, length: Length, scene: &Scene) -> Stage {
        let lasts = self.plan.recorded(Span::ZERO).map(|(lasts, ..)| lasts).filter(|lasts| *lasts > length.limit);
        let mut plan = length.cut(&self.plan);
        let drawn = lasts.filter(|_| scene.time.is_none()).map(|lasts| Windows::drawn(length.limit, lasts, scene.seed));
        // If a part of it cannot be written down, its beginning is replayed, which is told as such.
        self.windows = drawn.filter(|windows| plan.within(windows).is_ok());
        self.plan = Arc::new(plan);
        self
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.chosen.iter().cloned().collect();
        notes.extend(self.among.others.iter().filter_map(|other| other.chosen.clone()));
        notes.extend(self.disk_notes());
        notes.extend(self.workload.notes(&self.plan));
        let others = self.among.others.iter().map(|other| (other.is_ideal_anyway, &other.disk));
        for (_, disk) in others.chain([(self.is_ideal_anyway, &self.disk)]).filter(|(is_ideal, _)| *is_ideal) {
            notes.push(format!("--tails off changes nothing: {} has none", disk.name));
        }
        let others: Vec<String> =
            self.other_disks.iter().map(|(name, other)| format!("{name} on {}", other.disk.name)).collect();
        if !others.is_empty() {
            notes.push(format!(
                "{} run at the same time: a process with I/Os on several disks waits on each for what it waited for on \
                 the others; each disk has processors and memory of its own",
                others.join(", ")
            ));
        }
        notes
    }

    /// Raw I/O to the disk that the files' file system is on.
    fn raw_below_files(&self) -> Option<String> {
        let first = self.among.first_names();
        let file = self.workload.file.as_ref().filter(|_| !self.plan.files.is_empty())?;
        let is_first = |device: &str| first.iter().any(|name| name.is_empty() || *name == whole_disk(device));
        let device = file.devices().find(|device| is_first(device))?;
        Some(format!(
            "{device} is taken as the disk below the files, and its raw I/O lies over their {}: --disk {}=…,/path=… \
             puts files in /path on another disk",
            self.plan.fs,
            whole_disk(device)
        ))
    }

    /// Files below what looks like another disk's mount point, where there is one disk.
    fn mounted_elsewhere(&self) -> Option<String> {
        let files = self.workload.file.as_ref().map(|file| file.file_names()).unwrap_or_default();
        let mounts: Vec<Option<String>> =
            files.iter().filter(|file| !file.starts_with("/dev/")).map(|file| mount_of(file)).collect();
        let first = mounts.iter().flatten().next()?;
        let elsewhere = mounts.iter().any(|mount| mount.as_ref() != Some(first));
        let said =
            format!("files in {first} are on the same disk as the others: --disk sda=…,{first}=… gives them their own");
        elsewhere.then_some(said)
    }

    /// Which disks there are, and under which schedulers.
    fn disk_notes(&self) -> Vec<String> {
        let under = |other: &OtherStage| {
            let why = if other.is_named { "" } else { ", its kernel's choice" };
            format!("{} keeps {}{why}", other.name, other.contender.label())
        };
        let keeps = |other: &&OtherStage| other.is_named || !self.among.is_fellow(other);
        let others: Vec<&OtherStage> = self.among.others.iter().filter(keeps).collect();
        let mut notes: Vec<String> = self.raw_below_files().into_iter().collect();
        notes.extend(self.among.told.clone());
        notes.extend(self.among.stack_note());
        if let Some(OtherStage { name: other, .. }) = others.first() {
            let name = &self.among.name;
            let others = others.into_iter().map(under).collect::<Vec<_>>().join(", ");
            notes.push(format!(
                "several disks: {}; schedulers are those of {name}, while {others} (--vary {other} turns it round)",
                self.on_what()
            ));
        }
        if self.plan.disks.is_empty() {
            notes.extend(self.mounted_elsewhere());
            return notes;
        }
        let place = |file: &String| !file.starts_with("/dev/");
        let files = self.workload.file.as_ref().map(|file| file.file_names()).unwrap_or_default();
        let first = &self.plan.disks[0];
        if files.iter().any(place) && !self.plan.disks.iter().any(|name| name.starts_with('/')) {
            notes.push(format!("files outside /dev are on {first}: --disk /mnt/x=NAME puts those in /mnt/x elsewhere"));
        }
        let writers = self.plan.jobs.iter().filter(|job| job.is_buffered && job.character.writes);
        let written: BTreeSet<u16> = writers.flat_map(|job| job.disks.iter().copied()).collect();
        if written.len() > 1 {
            notes.push(
                "buffered writers to several disks share one memory, in which each disk has a part of the dirty limits \
                 by what it writes (--host dirty_bytes=…, NAME:max_bytes=…,NAME:strict_limit=1); compared with 6.18 \
                 on two emulated disks: 11 of 13 rates within 20 %"
                    .to_owned(),
            );
        }
        if self.plan.fs != FsKind::None && self.plan.jobs.iter().any(|job| job.disks.iter().any(|disk| *disk > 0)) {
            let first_has = match self.plan.files.is_empty() {
                true => "and no file is there: they are regions of their disks".to_owned(),
                false => format!("which has the {}", self.plan.fs),
            };
            notes.push(format!(
                "not modelled: a file system on any disk but {first}, {first_has} (--disk names the first disk first)"
            ));
        }
        notes
    }

    /// The stage with each section of a job file in a row of its own, whatever `group_reporting` joins: one row of an
    /// OLTP load and a scan has no figure that says anything about either.
    pub fn by_section(mut self) -> (Stage, Option<String>) {
        let joined = Arc::make_mut(&mut self.plan).split_rows();
        let note = || format!("group_reporting joins {}: they are judged apart here", joined.join(", "));
        let note = (!joined.is_empty()).then(note);
        (self, note)
    }

    /// The stage without its logs: after several runs it would be unclear to which one a log belongs.
    pub fn without_logs(mut self) -> (Stage, Option<String>) {
        let mut any = false;
        for job in &mut Arc::make_mut(&mut self.plan).jobs {
            any |= std::mem::take(&mut job.report.logs).any();
        }
        let note = "the job file's logs are written by `blksched simulate`, not by `compare`";
        (self, any.then(|| note.to_owned()))
    }

    /// The stage for a sweep's rows, which contain neither submission times nor rates over time: those are not
    /// measured.
    pub fn for_rows(self) -> Stage {
        let (mut stage, _) = self.without_logs();
        for job in &mut Arc::make_mut(&mut stage.plan).jobs {
            let report = &mut job.report;
            (report.slat.measured, report.lat.measured, report.samples) = (false, false, false);
        }
        stage
    }

    /// Which jobs ended early, and why.
    pub fn gave_up(&self, outcomes: impl Iterator<Item = Option<GaveUp>>) -> Vec<String> {
        let why = |why: GaveUp| match why {
            GaveUp::Io => "an I/O failed",
            GaveUp::RateMin => "it was slower than rate_min or rate_iops_min",
            GaveUp::MaxLatency => "an I/O took longer than max_latency",
        };
        let told = self.plan.jobs.iter().zip(outcomes).filter_map(|(job, gave_up)| Some((job, gave_up?)));
        told.map(|(job, gave_up)| format!("job {} (process {}) gave up: {}", job.name, job.number, why(gave_up)))
            .collect()
    }

    /// A limit of the device on which a trace was recorded.
    fn recorded(&self, limit: &str) -> Option<u32> {
        self.workload.machine.as_ref()?.number(limit).filter(|&number| number > 0)
    }

    /// One trial of one contender.
    pub fn trial(&self, scene: &Scene, contender: &Contender, limit: Span) -> Trial {
        let surroundings = Surroundings {
            depth: scene.depth.or_else(|| self.recorded("queue_depth")),
            nr_requests: scene.nr_requests,
            max_sectors: scene.max_sectors_kb.or_else(|| self.recorded("max_sectors_kb")).map(|kib| 2 * kib),
            attached: scene.attached,
            wbt_latency: scene.wbt_lat_usec.map(Span::from_us),
            host: self.among.memory(scene.host.memory),
            cpus: scene.host.processors(),
            hardware_queues: scene.host.hardware_queues,
            shares_tags: scene.host.shares_tags,
            odds: scene.host.odds,
            starts: scene.starts,
            ..Surroundings::default()
        };
        Trial {
            elevator: contender.choice.clone(),
            knobs: contender.knobs.clone(),
            surroundings: contender.around.apply(surroundings),
            disk: self.disk.clone(),
            plan: self.plan.clone(),
            seed: scene.seed,
            limit,
            other_disks: self.other_disks.iter().map(|(_, other)| other.clone()).collect(),
            beside: self.beside(surroundings, contender),
        }
    }
}

impl Stage {
    /// The other disks of the run, in what surrounds the one whose schedulers are compared; those below the same
    /// device have all that it has.
    fn beside(&self, own: Surroundings, contender: &Contender) -> Beside {
        let around = Surroundings {
            host: own.host,
            cpus: own.cpus,
            hardware_queues: own.hardware_queues,
            shares_tags: own.shares_tags,
            odds: own.odds,
            starts: own.starts,
            ..Surroundings::default()
        };
        let disk = |other: &OtherStage| {
            let is_fellow = self.among.is_fellow(other);
            let alike = is_fellow && !other.is_named;
            let contender = if alike { contender } else { &other.contender };
            BesideDisk {
                name: other.name.clone(),
                first: other.first,
                disk: other.disk.clone(),
                is_fellow,
                is_alike: alike,
                elevator: contender.choice.clone(),
                knobs: contender.knobs.clone(),
                surroundings: contender.around.apply(if alike { own } else { around }),
            }
        };
        let disks = self.among.others.iter().map(disk).collect();
        let Among { first, volumes, dirty_limits, .. } = &self.among;
        Beside { first: *first, disks, volumes: volumes.clone(), dirty_limits: dirty_limits.clone() }
    }
}

/// The folder in which another disk is usually mounted that this file is below.
fn mount_of(file: &str) -> Option<String> {
    let places = [("/run/media/", 2), ("/media/", 1), ("/mnt/", 1)];
    let (place, deep) = places.into_iter().find(|(place, _)| file.starts_with(place))?;
    let parts: Vec<&str> = file[place.len()..].split('/').collect();
    (parts.len() > deep).then(|| format!("{place}{}", parts[..deep].join("/")))
}
