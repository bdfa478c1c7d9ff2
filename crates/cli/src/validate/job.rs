//! The user's job file, for the real fio and for the simulator: the same except for the place of its files and its run
//! time.

use std::collections::BTreeMap;
use std::path::Path;

use blksched::Span;
use blksched_workloads::fio::{Host, JobFile, Text, is_own};
use blksched_workloads::host::fs::{FsKind, FsMount};
use blksched_workloads::{Plan, is_device, whole_disk};

use super::disk::JobTarget;
use crate::failure::Failure;
use crate::input::{text_of, text_of_file};

/// Options about a job's place and its end, which are replaced.
const REPLACED: [&str; 6] = ["directory", "opendir", "runtime", "timeout", "time_based", "write_iolog"];

/// Options by which fio would write or run something else than the job: the simulator has none of it.
const BESIDE: [&str; 6] =
    ["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "exec_prerun", "exec_postrun"];

/// Options about its files, which are replaced where all become one.
const OF_FILES: [&str; 3] = ["filename", "filename_format", "nrfiles"];

/// A disk large enough for every job \[sectors\].
const LARGE: u64 = 1 << 40;

/// Where a job's files are.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobPlace<'a> {
    /// All of them are this one.
    One(&'a str),
    /// Each by its own name in this folder.
    Folder(&'a str),
    /// Each on the path of the device that it names.
    Each(&'a [(String, String)]),
    /// On the devices that they name.
    AsNamed,
}

impl JobPlace<'_> {
    /// The value with which an option is kept; `None` if it is replaced.
    ///
    /// # Errors
    /// A file that has no place here.
    fn kept(&self, name: &str, value: &str) -> Result<Option<String>, Failure> {
        let is_of_files = OF_FILES.contains(&name);
        Ok(match self {
            // Where the files are is known of the target.
            JobPlace::One(_) | JobPlace::Folder(_) if name == "fs" => None,
            _ if REPLACED.contains(&name) || BESIDE.contains(&name) => None,
            JobPlace::One(_) if is_of_files => None,
            JobPlace::Each(_) | JobPlace::AsNamed if name == "filename" => Some(self.files(value)?),
            JobPlace::Each(_) | JobPlace::AsNamed if is_of_files => None,
            JobPlace::Folder(_) if name == "filename" => in_folder(value),
            // fio makes names of it, which must not lead out of the folder.
            JobPlace::Folder(_) if name == "filename_format" => Some(value.replace('/', "_")),
            _ => Some(value.to_owned()),
        })
    }

    /// A job's `filename=` here.
    ///
    /// # Errors
    /// A name that is none of the disks': fio would open that file.
    fn files(&self, said: &str) -> Result<String, Failure> {
        let JobPlace::Each(paths) = self else { return Ok(said.to_owned()) };
        let path = |file: String| {
            let here = paths.iter().find(|(name, _)| name == whole_disk(&file)).map(|(_, path)| escaped(path));
            let known = || paths.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            here.ok_or_else(|| {
                Failure::Input(format!("filename={said}: `{file}` has no disk in --on: expected one of {}", known()))
            })
        };
        Ok(names_in(said).into_iter().map(path).collect::<Result<Vec<_>, Failure>>()?.join(":"))
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
    ///
    /// # Errors
    /// If it does not fit on any disk, or a job or a file of it has no place there.
    pub fn text(&self, place: JobPlace<'_>, runtime: Span) -> Result<String, Failure> {
        // Laid out on a disk large enough for every job, to get the jobs in their order.
        let plan = self.file.plan(LARGE).map_err(|errors| Failure::Excerpts(errors.to_string()))?;
        if let (JobPlace::Folder(_), Some(job)) = (place, plan.jobs.iter().find(|job| job.name.contains('/'))) {
            let why = "in a folder fio names files after their jobs, and this one would lie elsewhere";
            return Err(Failure::Input(format!("{}: job [{}]: {why}: expected a name without /", self.name, job.name)));
        }
        let kept = |options: &[(String, String)]| -> Result<String, Failure> {
            let line = |(name, value): &(String, String)| {
                let Some(value) = place.kept(name, value)? else { return Ok(String::new()) };
                // fio would reject options it does not know; as comments it ignores them.
                let own = if is_own(name) { "; blksched: " } else { "" };
                let value = if value.is_empty() { String::new() } else { format!("={value}") };
                Ok(format!("{own}{name}{value}\n"))
            };
            options.iter().map(line).collect()
        };
        let mut text = format!("[global]\n{}", kept(self.file.global_options())?);
        match place {
            JobPlace::One(path) => text += &format!("filename={}\n", escaped(path)),
            JobPlace::Folder(path) => text += &format!("directory={}\n", escaped(path)),
            JobPlace::Each(_) | JobPlace::AsNamed => {}
        }
        text += &format!("runtime={}us\ntime_based=1\n", runtime.as_ns() / 1000);
        for job in plan.jobs.iter().filter(|job| job.number == 0) {
            text += &format!("[{}]\n{}", job.name, kept(&job.options)?);
        }
        Ok(text)
    }

    /// Checks that the target and the model are large enough.
    pub fn fits(&self, target: &JobTarget, model_sectors: u64) -> Result<(), Failure> {
        let text = self.text(JobPlace::One("/dev/sda"), Span::from_secs(1))?;
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

    /// The plan on the model's disk, or on a file system there.
    pub fn plan(&self, runtime: Span, sectors: u64, target: &JobTarget, fs: FsMount) -> Result<Plan, Failure> {
        let place = match (fs == FsKind::None, target.is_folder) {
            (true, false) => JobPlace::One("/dev/sda"),
            (false, false) => JobPlace::One("file"),
            (_, true) => JobPlace::Folder("folder"),
        };
        let text = self.text(place, runtime)?;
        // What is there is written over: fio makes a file only if it is missing or too short (tried with 3.33).
        let is_there = !target.is_folder && target.bytes.is_some();
        let text = if is_there { text.replacen("[global]\n", "[global]\noverwrite=1\n", 1) } else { text };
        read(&text)?.plan_on(sectors, fs).map_err(|errors| Failure::Excerpts(errors.to_string()))
    }
}

/// The names of a job's files within a folder, whatever folders they were in; `None` if it names devices alone, which
/// become the job's own file.
fn in_folder(value: &str) -> Option<String> {
    let names = names_in(value).into_iter().filter(|name| !name.starts_with("/dev/"));
    let names: Vec<String> = names.map(|name| escaped(&name.trim_start_matches('/').replace('/', "_"))).collect();
    (!names.is_empty()).then(|| names.join(":"))
}

/// The names in a list of fio's: colons part them, unless they are escaped.
fn names_in(list: &str) -> Vec<String> {
    let parts = list.replace("\\:", "\0");
    parts.split(':').filter(|name| !name.is_empty()).map(|name| name.replace('\0', ":")).collect()
}

/// A path as one name in such a list.
fn escaped(path: &str) -> String {
    path.replace(':', "\\:")
}

/// What the files of a plan take \[bytes\].
pub(super) fn file_bytes(plan: &Plan) -> u64 {
    if plan.fs != FsKind::None {
        return plan.files.iter().map(|file| (file.pages.end - file.pages.start) * 4096).sum();
    }
    // A raw disk has none: the regions of the files, each once.
    let files = plan.jobs.iter().filter_map(|job| job.files.as_ref());
    let of: BTreeMap<&str, u64> =
        files.map(|files| (files.name.as_str(), files.sectors * 512 * u64::from(files.count))).collect();
    of.values().sum()
}

fn read(text: &str) -> Result<JobFile, Failure> {
    JobFile::parse(text, "the job file on its disk").map_err(|errors| Failure::Excerpts(errors.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_folder_files_are_kept_apart_and_on_a_file_they_are_one() {
        let folder = std::env::temp_dir().join(format!("blksched-apart-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("mail.fio");
        let jobs = "[global]\nsize=1m\ndirectory=/var/spool\nruntime=9\n[wal]\nfilename=/a/wal:/b/wal\nrw=write\n\
                    fsync=1\n[queue]\nnrfiles=4\n[raw]\nfilename=/dev/sda\n; blksched: fs=none\n";
        std::fs::write(&file, jobs).unwrap();
        let job = ValidatedJob::load(&file).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let apart = job.text(JobPlace::Folder("/mnt/x"), Span::from_secs(1)).unwrap();
        let expected = "[global]\nsize=1m\ndirectory=/mnt/x\nruntime=1000000us\ntime_based=1\n\
                        [wal]\nfilename=a_wal:b_wal\nrw=write\nfsync=1\n[queue]\nnrfiles=4\n[raw]\n";
        assert_eq!(apart, expected);
        let one = job.text(JobPlace::One("/mnt/x/f"), Span::from_secs(1)).unwrap();
        let expected = "[global]\nsize=1m\nfilename=/mnt/x/f\nruntime=1000000us\ntime_based=1\n\
                        [wal]\nrw=write\nfsync=1\n[queue]\n[raw]\n";
        assert_eq!(one, expected);
        let colon = job.text(JobPlace::One("/mnt/pci-0:1"), Span::from_secs(1)).unwrap();
        assert!(colon.contains("\nfilename=/mnt/pci-0\\:1\n"), "{colon}");
        let colon = job.text(JobPlace::Folder("/mnt/pci-0:1"), Span::from_secs(1)).unwrap();
        assert!(colon.contains("\ndirectory=/mnt/pci-0\\:1\n"), "{colon}");
    }

    /// A job file of this text.
    fn job(text: &str) -> ValidatedJob {
        let folder = blksched_testkit::Folder::new();
        ValidatedJob::load(&folder.written("x.fio", text)).unwrap()
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let text = |text: &str| job(text).text(JobPlace::Folder("/mnt/x"), Span::from_secs(1));
        let format = text("[a]\nsize=1m\nrw=write\nfilename_format=../victim.$jobnum\n").unwrap();
        assert!(format.contains("filename_format=.._victim.$jobnum\n"), "{format}");
        let Err(Failure::Input(why)) = text("[b]\nsize=1m\n[../x]\nsize=1m\nrw=write\n") else { panic!() };
        assert!(why.contains("job [../x]") && why.contains("expected a name without /"), "{why}");
    }

    #[test]
    fn fio_writes_no_logs_and_runs_no_programs_of_the_users() {
        let said = "[a]\nsize=1m\nrw=write\nwrite_bw_log=/srv/log\nwrite_lat_log\nwrite_hist_log=x\nlog_avg_msec=9\n\
                    exec_prerun=touch /tmp/x\nexec_postrun=sync\n";
        let text = job(said).text(JobPlace::Folder("/mnt/x"), Span::from_secs(1)).unwrap();
        let expected = "[global]\ndirectory=/mnt/x\nruntime=1000000us\ntime_based=1\n\
                        [a]\nsize=1m\nrw=write\nlog_avg_msec=9\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_file_of_no_disk_is_refused_and_escaped_colons_part_nothing() {
        let paths = [("sda".to_owned(), "/dev/x".to_owned())];
        let Err(Failure::Input(why)) = JobPlace::Each(&paths).files("/dev/sda:/dev/sdb") else { panic!() };
        assert!(why.contains("`/dev/sdb` has no disk in --on: expected one of sda"), "{why}");
        let Err(Failure::Input(why)) = JobPlace::Each(&paths).files("/mnt/a\\:/dev/sda") else { panic!() };
        assert!(why.contains("`/mnt/a:/dev/sda` has no disk"), "{why}");
    }

    #[test]
    fn files_take_what_they_hold_and_each_counts_once() {
        let target = JobTarget::inspect(&std::env::temp_dir()).unwrap();
        let text = "[global]\nsize=1m\n[a]\nnumjobs=2\nrw=read\n[b]\nfilename=f\nrw=write\n[c]\nfilename=f\nrw=read\n";
        for fs in [FsMount::from(FsKind::None), FsMount::named("ext4").unwrap()] {
            let plan = job(text).plan(Span::from_secs(1), 1 << 24, &target, fs).unwrap();
            assert_eq!(file_bytes(&plan), 3 << 20, "{}", plan.fs);
        }
    }
}
