//! A job on several disks: which of its devices is which of this machine's, and what is predicted for all of them
//! together.
//!
//! One disk's schedulers are measured, the others keep theirs. The prediction has one memory for all, with this
//! machine's size and dirty limits.

use std::fs;
use std::path::PathBuf;

use blksched::{Catalogue, Span};
use blksched_lab::Scene;
use blksched_lab::scene::{HostSettings, Stage};
use blksched_simulate::reality::{Row, rows_of};
use blksched_text::nearest;
use blksched_workloads::whole_disk;

use super::disk::{self, JobTarget};
use super::job::{JobPlace, ValidatedJob};
use super::memory;
use super::settings::FoundQueue;
use super::{SEEDS, ValidationPlan};
use crate::failure::Failure;
use crate::input::OnDisk;

/// Another disk of the job, whose scheduler stays.
pub(super) struct OtherTarget {
    /// The job's name for it.
    pub name: String,
    pub target: JobTarget,
}

/// A device of the job, where it is here, and the column of its name.
#[derive(Debug, PartialEq)]
pub(super) struct NamedPath {
    pub name: String,
    pub path: PathBuf,
    column: usize,
}

/// `sda=/dev/sdb,sdc=/mnt/scratch/file`; nothing if it is one path.
///
/// # Errors
/// A name without a path, a name that is given twice, or a path without a name, with its column.
pub(super) fn named(on: &str) -> Result<Vec<NamedPath>, Failure> {
    if !on.contains('=') || fs::metadata(on).is_ok() {
        return Ok(Vec::new());
    }
    let (mut all, mut column) = (Vec::<NamedPath>::new(), 1);
    for part in on.split(',') {
        let wrong = |why: String| Failure::Input(format!("--on {on}: column {column}: {why}"));
        let (name, path) = part.split_once('=').unwrap_or((part, ""));
        if name.is_empty() || path.is_empty() {
            return Err(wrong(format!("`{part}`: expected NAME=PATH, as in sda=/dev/sdb")));
        }
        let name = whole_disk(name).to_owned();
        if name.contains(':') {
            return Err(wrong(format!("`{name}`: expected a disk's name, without a colon")));
        }
        if all.iter().any(|known| known.name == name) {
            return Err(wrong(format!("`{name}` has a disk already: expected each disk once")));
        }
        if let Some(other) = all.iter().find(|known| known.path.as_os_str() == path) {
            return Err(wrong(format!("{path} is {} already: two names are two disks", other.name)));
        }
        all.push(NamedPath { name, path: PathBuf::from(path), column });
        column += part.chars().count() + 1;
    }
    Ok(all)
}

/// Checks that these are the job's devices, all of them.
pub(super) fn check(on: &str, named: &[NamedPath], job: &ValidatedJob) -> Result<(), Failure> {
    let devices: Vec<String> = job.devices()?;
    let used = devices.join(", ");
    for NamedPath { name, column, .. } in named {
        if !devices.contains(name) {
            let near = nearest(name, devices.iter().map(String::as_str));
            let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let why = format!("no job uses `{name}`{meant} (the jobs use {used})");
            return Err(Failure::Input(format!("--on {on}: column {column}: {why}")));
        }
    }
    match devices.iter().find(|device| named.iter().all(|named| named.name != **device)) {
        Some(device) => Err(Failure::Input(format!("--on {on}: a job uses {device}, too: expected {device}=PATH"))),
        None => Ok(()),
    }
}

/// The disks beneath, each once: measurements of two names on one disk say nothing of two disks.
pub(super) fn inspect(named: &[NamedPath]) -> Result<Vec<OtherTarget>, Failure> {
    let mut all: Vec<OtherTarget> = Vec::new();
    for NamedPath { name, path, .. } in named {
        let target = JobTarget::inspect(path)?;
        if target.is_folder {
            let here = path.display();
            let expected = "with several disks, expected a block device or a file for each";
            return Err(Failure::Input(format!("--on: {name}={here} is a folder: {expected}")));
        }
        let shares = |other: &&OtherTarget| other.target.disks.iter().any(|disk| target.disks.contains(disk));
        if let Some(other) = all.iter().find(shares) {
            let (here, there) = (path.display(), other.target.path.display());
            let what = format!("{name}={here} is on the same disk as {}={there}", other.name);
            return Err(Failure::Input(format!("--on: {what}: expected each disk once")));
        }
        all.push(OtherTarget { name: name.clone(), target });
    }
    Ok(all)
}

/// The scheduler of this name in the running kernel, as a user would type it.
fn running(name: &str) -> Result<String, Failure> {
    let choice = Catalogue::builtin().of_running(name, &disk::kernel()).map_err(Failure::input)?;
    Ok(choice.to_string())
}

/// The jobs on the models of their disks, under their schedulers.
///
/// # Errors
/// If the models are not understood, or the jobs do not fit on them.
pub(super) fn stage(
    disks: &str,
    plan: &ValidationPlan,
    (scheduler, found): (&str, FoundQueue),
) -> Result<(Stage, Scene), Failure> {
    let (text, tags) = (plan.job.text(JobPlace::AsNamed, plan.runtime)?, plan.target.tags());
    let scene = Scene {
        host: HostSettings {
            cpus: super::processors().cpus,
            memory: memory::of(&plan.target),
            ..HostSettings::default()
        },
        depth: tags,
        nr_requests: if scheduler == "none" { tags } else { found.nr_requests },
        wbt_lat_usec: found.target(scheduler, &disk::kernel()).map(u64::from),
        max_sectors_kb: plan.target.number("max_sectors_kb"),
        vary: Some(plan.name.clone()),
        ..Scene::of_jobs(&plan.job.name, &text, disks)
    };
    let mut elevators = vec![format!("{}={}", plan.name, running(scheduler)?)];
    for OtherTarget { name, target } in &plan.others {
        let current = target.current().unwrap_or_else(|| "none".to_owned());
        let mut word = format!("{name}={}", running(&current)?);
        for knob in ["nr_requests", "max_sectors_kb"] {
            word += &target.number(knob).map_or_else(String::new, |value| format!(":{knob}={value}"));
        }
        elevators.push(word);
    }
    let stage = Stage::load(&scene, &OnDisk)?.under(&elevators, &scene, &Catalogue::builtin())?;
    Ok((stage, scene))
}

/// The rows of one scheduler, for every seed.
pub(super) fn predict(
    disks: &str,
    plan: &ValidationPlan,
    (scheduler, found): (&str, FoundQueue),
) -> Result<Vec<Row>, Failure> {
    let (stage, scene) = stage(disks, plan, (scheduler, found))?;
    let contender = stage.one_contender(None, &scene, &Catalogue::builtin())?;
    let mut rows = Vec::new();
    for seed in 1..=SEEDS {
        let scene = Scene { seed, ..scene.clone() };
        let limit = Span::from_ns(plan.runtime.as_ns() * 4);
        let found = stage.trial(&scene, &contender, limit).simulate().map_err(Failure::input)?;
        let (job, scheduler) = (plan.job.name.clone(), scheduler.to_owned());
        let place = Row { job, scheduler, repeat: seed as u32, ..Row::default() };
        rows.extend(rows_of(&stage.plan, &found, &place));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> (blksched_testkit::Folder, ValidatedJob) {
        let folder = blksched_testkit::Folder::new();
        let text = "[global]\nbs=4k\nsize=1m\ndirect=1\nrw=randread\n[a]\nfilename=/dev/sda\n[b]\n\
                    filename=/dev/sdc1:/dev/sda2\n";
        let job = ValidatedJob::load(&folder.written("two.fio", text)).unwrap();
        (folder, job)
    }

    fn said<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        match result.unwrap_err() {
            Failure::Input(text) | Failure::Excerpts(text) | Failure::Outside(text) => text,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_path_is_one_disk_and_names_are_several() {
        assert_eq!(named("/dev/sdb").unwrap(), []);
        let both = named("sda=/dev/sdb,/dev/sdc=/mnt/scratch/file").unwrap();
        let names: Vec<&str> = both.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(names, ["sda", "sdc"]);
        for (on, expected) in [
            ("sda=/dev/sdb,sdc", "column 14: `sdc`: expected NAME=PATH"),
            ("sda=", "column 1: `sda=`: expected NAME=PATH"),
            ("sda=/dev/sdb,sd:c=/dev/sdd", "column 14: `sd:c`: expected a disk's name, without a colon"),
            ("sda=/dev/sdb,sda1=/dev/sdc", "column 14: `sda` has a disk already"),
            ("sda=/dev/sdb,sdc=/dev/sdb", "column 14: /dev/sdb is sda already: two names are two disks"),
        ] {
            let error = said(named(on));
            assert!(error.contains(expected), "{on}: {error}");
        }
    }

    #[test]
    fn each_device_of_the_job_has_its_path_and_no_other_has() {
        let (_folder, job) = job();
        let check = |on: &str| check(on, &named(on).unwrap(), &job);
        check("sda=/dev/sdx,sdc=/dev/sdy").unwrap();
        let unknown = said(check("sda=/dev/sdx,sdd=/dev/sdy"));
        assert!(unknown.contains("column 14: no job uses `sdd`; did you mean `sd"), "{unknown}");
        let missing = said(check("sda=/dev/sdx"));
        assert!(missing.contains("a job uses sdc, too: expected sdc=PATH"), "{missing}");
        let paths = [("sda".to_owned(), "/dev/x".to_owned()), ("sdc".to_owned(), "/dev/by:path".to_owned())];
        let text = job.text(JobPlace::Each(&paths), Span::from_secs(2)).unwrap();
        assert!(text.contains("[a]\nfilename=/dev/x\n"), "{text}");
        assert!(text.contains("[b]\nfilename=/dev/by\\:path:/dev/x\n"), "{text}");
        let own = job.text(JobPlace::AsNamed, Span::from_secs(2)).unwrap();
        assert!(own.contains("filename=/dev/sdc1:/dev/sda2\n") && own.contains("runtime=2000000us"), "{own}");
    }

    #[test]
    fn two_files_of_one_disk_are_not_two_disks() {
        let folder = blksched_testkit::Folder::new();
        let (one, other) = (folder.written("one", [0; 4096]), folder.written("other", [0; 4096]));
        let on = format!("sda={},sdc={}", one.display(), other.display());
        let target = JobTarget::inspect(&one).unwrap();
        if target.disks.is_empty() {
            return println!("skipped: no disk is beneath {}", one.display());
        }
        let error = said(inspect(&named(&on).unwrap()).map(|found| found.len()));
        assert!(error.contains("is on the same disk as sda="), "{error}");
    }
}
