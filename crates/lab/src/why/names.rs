//! Processes by name.

use std::collections::BTreeSet;

use blksched::{GroupId, SubmitterId};
use blksched_simulate::story::Whose;
use blksched_text::{did_you_mean, nearest};
use blksched_workloads::Plan;
use blksched_workloads::host::fs::FsMount;

use crate::error::{Expected, WordError};

/// The flusher; that of one of several disks has the disk's name behind it.
pub(super) const WRITE_BACK: &str = "write-back";

/// The printed names of processes: the job's, with a number if it has several.
#[derive(Clone)]
pub struct Names {
    /// Name, number, whether the name has several processes, and the report's row.
    processes: Vec<(String, u32, bool, u32)>,
    /// The control group of each process.
    within: Vec<GroupId>,
    /// The paths of the groups below the root; the first is number 1.
    groups: Vec<String>,
    /// The disks of a run of several.
    disks: Vec<String>,
    /// What an fsync waits for beside its data.
    metadata: &'static str,
}

/// What a file system writes beside data, in words.
fn metadata(fs: FsMount) -> &'static str {
    if fs.kind.is_ext() && !fs.options.has_journal { "the file system's metadata" } else { "the journal's writes" }
}

impl Names {
    /// The names of a plan's processes.
    pub fn of(plan: &Plan) -> Names {
        let named = |name: &str| plan.jobs.iter().filter(|job| job.name == name).count();
        let processes = plan.jobs.iter();
        let processes = processes.map(|job| (job.name.clone(), job.number, named(&job.name) > 1, job.row));
        Names {
            processes: processes.collect(),
            within: plan.jobs.iter().map(|job| job.cgroup).collect(),
            groups: plan.groups.iter().map(|group| group.name.clone()).collect(),
            disks: plan.disks.clone(),
            metadata: metadata(plan.fs),
        }
    }

    /// Names for a server's recording, which has none: numbers.
    pub fn numbered(most: u32) -> Names {
        let processes = (0..=most).map(|id| (format!("submitter-{id}"), 0, false, id)).collect();
        Names {
            processes,
            within: Vec::new(),
            groups: Vec::new(),
            disks: Vec::new(),
            metadata: metadata(FsMount::default()),
        }
    }

    /// The file system's own writes.
    pub(super) fn metadata(&self) -> &'static str {
        self.metadata
    }

    /// The name of one process.
    pub fn process(&self, submitter: SubmitterId) -> String {
        match self.processes.get(submitter.0 as usize) {
            Some((name, number, true, _)) => format!("{name}/{number}"),
            Some((name, ..)) => name.clone(),
            None => self.of_the_kernel(submitter),
        }
    }

    /// The common name of a job's processes.
    pub fn job(&self, submitter: SubmitterId) -> String {
        let own = self.processes.get(submitter.0 as usize);
        own.map_or_else(|| self.of_the_kernel(submitter), |(name, ..)| name.clone())
    }

    /// Whether this process is in this group, or is a server's, whose groups are its submitters' own.
    pub fn is_within(&self, submitter: SubmitterId, group: GroupId) -> bool {
        self.within.get(submitter.0 as usize).is_none_or(|own| *own == group)
    }

    /// A control group.
    pub fn group(&self, group: GroupId) -> String {
        match (group.0 as usize).checked_sub(1).map(|nth| self.groups.get(nth)) {
            None => "the root group".to_owned(),
            Some(Some(name)) => format!("group {name}"),
            Some(None) => format!("group {}", group.0),
        }
    }

    /// The kernel's threads have the numbers behind the processes': the flusher, a journal's thread, its workers, and
    /// then in turn the threads that stacked devices send writes on with, and further disks' flushers.
    fn of_the_kernel(&self, submitter: SubmitterId) -> String {
        match submitter.0 as usize - self.processes.len() {
            0 => WRITE_BACK.to_owned(),
            1 => "the journal".to_owned(),
            2 => "a worker of the file system".to_owned(),
            flusher if flusher.is_multiple_of(2) => match self.disks.get(flusher / 2 - 1) {
                Some(disk) => format!("{WRITE_BACK} to {disk}"),
                None => WRITE_BACK.to_owned(),
            },
            _ => "a stacked device's write thread".to_owned(),
        }
    }

    /// The process that the disk worked for.
    pub fn whose(&self, whose: Whose) -> String {
        match whose {
            Whose::Process(submitter) => self.process(submitter),
            Whose::Flush => "a flush of the disk's cache".to_owned(),
            Whose::Group(group) => self.group(group),
            Whose::Nobody => "a process whose command has not come back".to_owned(),
        }
    }

    /// The processes that a user's word names.
    ///
    /// # Errors
    /// If it names none, with the nearest.
    pub fn find(&self, said: &str) -> Result<BTreeSet<SubmitterId>, WordError> {
        let all = (0..self.processes.len() as u32).map(SubmitterId);
        let meant: BTreeSet<_> = all.clone().filter(|&id| self.process(id) == said || self.job(id) == said).collect();
        if !meant.is_empty() {
            return Ok(meant);
        }
        let mut words: Vec<String> = all.clone().map(|id| self.job(id)).collect();
        words.extend(all.map(|id| self.process(id)));
        words.sort();
        words.dedup();
        let near = did_you_mean(said, words.iter().map(String::as_str));
        let message = format!("no such process: expected one of {}{}", words.join(", "), near);
        let nearest = nearest(said, words.iter().map(String::as_str));
        Err(WordError::new(Expected::Process, said, message).near(nearest))
    }
}
