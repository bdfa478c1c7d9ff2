//! The user's job file, for the real fio and for the simulator: the same except for the place of its files and its run
//! time.

use std::path::Path;

use blksched::Span;
use blksched_workloads::fio::{Host, JobFile, Text, is_own};
use blksched_workloads::{Plan, is_device, whole_disk};

use super::disk::JobTarget;
use crate::failure::Failure;
use crate::input::{text_of, text_of_file};

/// Options about files and about a job's end, which are replaced.
const REPLACED: [&str; 9] = [
    "filename",
    "directory",
    "filename_format",
    "nrfiles",
    "opendir",
    "runtime",
    "timeout",
    "time_based",
    "write_iolog",
];

/// A disk large enough for every job \[sectors\].
const LARGE: u64 = 1 << 40;

/// Where jobs are.
pub(super) enum JobPlace<'a> {
    /// All of them on this path.
    One(&'a str),
    /// Each on the path of the device that it names.
    Each(&'a [(String, String)]),
    /// On the devices that they name.
    AsNamed,
}

impl JobPlace<'_> {
    /// Whether this option is as in the job.
    fn keeps(&self, option: &str) -> bool {
        option == "filename" && !matches!(self, JobPlace::One(_))
    }

    /// A job's `filename=` here.
    fn files(&self, said: &str) -> String {
        let JobPlace::Each(paths) = self else { return said.to_owned() };
        let path = |file: &str| {
            let here =
                paths.iter().find(|(name, _)| name == whole_disk(file)).map(|(_, path)| path.replace(':', "\\:"));
            here.unwrap_or_else(|| file.to_owned())
        };
        said.split(':').map(path).collect::<Vec<_>>().join(":")
    }
}

/// A job file.
#[derive(Debug)]
pub(super) struct ValidatedJob {
    pub name: String,
    pub writes: bool,
    file: JobFile,
}

impl ValidatedJob {
    pub fn load(path: &Path) -> Result<ValidatedJob, Failure> {
        let name = path.display().to_string();
        let text = text_of(&name, std::fs::read(path))?;
        let texts = [Text { name: name.clone(), text }];
        let beside = |name: &str| text_of_file(&path.parent().unwrap_or(Path::new(".")).join(name));
        let file = JobFile::read(&Host::default(), &texts, &mut |name| beside(name));
        let file = file.map_err(|errors| Failure::Excerpts(errors.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(ValidatedJob { name, writes: file.writes(), file })
    }

    /// The devices that its jobs name, a partition as its disk.
    ///
    /// # Errors
    /// If a job is on no device.
    pub fn devices(&self) -> Result<Vec<String>, Failure> {
        let mut all: Vec<String> = Vec::new();
        for file in self.file.file_names() {
            if !is_device(&file) {
                let why = format!("{}: `{file}` is on no device", self.name);
                return Err(Failure::Input(format!(
                    "{why}: with several disks, expected filename=/dev/NAME for each job"
                )));
            }
            let name = whole_disk(&file).to_owned();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        Ok(all)
    }

    /// The job file for fio, or for ourselves: all jobs at their place, for this time.
    pub fn text(&self, place: &JobPlace<'_>, runtime: Span) -> Result<String, Failure> {
        // Laid out on a disk large enough for every job, to get the jobs in their order.
        let plan = self.file.plan(LARGE).map_err(|errors| Failure::Excerpts(errors.to_string()))?;
        let kept = |options: &[(String, String)]| -> String {
            let kept = options.iter().filter(|(name, _)| !REPLACED.contains(&name.as_str()) || place.keeps(name));
            let line = |(name, value): &(String, String)| {
                // fio would reject options it does not know; as comments it ignores them.
                let own = if is_own(name) { "; blksched: " } else { "" };
                let value = if place.keeps(name) { place.files(value) } else { value.clone() };
                let value = if value.is_empty() { String::new() } else { format!("={value}") };
                format!("{own}{name}{value}\n")
            };
            kept.map(line).collect()
        };
        let mut text = format!("[global]\n{}", kept(self.file.global_options()));
        if let JobPlace::One(path) = place {
            text += &format!("filename={path}\n");
        }
        text += &format!("runtime={}us\ntime_based=1\n", runtime.as_ns() / 1000);
        for job in plan.jobs.iter().filter(|job| job.number == 0) {
            text += &format!("[{}]\n{}", job.name, kept(&job.options));
        }
        Ok(text)
    }

    /// Checks that the target and the model are large enough.
    pub fn fits(&self, target: &JobTarget, model_sectors: u64) -> Result<(), Failure> {
        let text = self.text(&JobPlace::One("/dev/sda"), Span::from_secs(1))?;
        let file = read(&text)?;
        file.plan(model_sectors).map_err(|errors| Failure::Excerpts(errors.to_string()))?;
        let Some(bytes) = target.bytes.filter(|_| target.is_device || !self.writes) else { return Ok(()) };
        // Laid out on a disk large enough for every job; a job that asks for the whole disk takes what there is.
        let plan = file.plan(LARGE).map_err(|errors| Failure::Excerpts(errors.to_string()))?;
        let end = |sectors: u64, start: u64| (start + sectors < LARGE).then_some(start + sectors);
        let ends = plan.jobs.iter().filter_map(|job| job.files.as_ref());
        let needed = ends.filter_map(|files| end(files.sectors, files.start.0)).max().unwrap_or(0) * 512;
        if needed > bytes {
            let what = format!("--on {}: it has {bytes} bytes, and the job needs {needed}", target.path.display());
            return Err(Failure::Input(what));
        }
        Ok(())
    }

    /// The plan on the model's disk.
    pub fn plan(&self, runtime: Span, sectors: u64) -> Result<Plan, Failure> {
        let text = self.text(&JobPlace::One("/dev/sda"), runtime)?;
        read(&text)?.plan(sectors).map_err(|errors| Failure::Excerpts(errors.to_string()))
    }
}

fn read(text: &str) -> Result<JobFile, Failure> {
    JobFile::parse(text, "the job file on its disk").map_err(|errors| Failure::Excerpts(errors.to_string()))
}
