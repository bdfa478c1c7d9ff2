//! A job's settings about its end, other jobs' ends, errors, and its group.

use blksched::Span;

use crate::fio::ddir::PerDdir;

/// The jobs that a job's exit ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExitWhat {
    /// The jobs of its reporting group.
    #[default]
    Group,
    /// Those between the same two stonewalls.
    Stonewall,
    /// All of the run, including those to come.
    All,
}

/// The control group of a job's processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cgroup {
    /// `None` for the root.
    pub name: Option<String>,
    /// `None` for the default.
    pub weight: Option<u32>,
    pub files: Vec<GroupFile>,
}

/// Something written to a file of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupFile {
    /// `None` for the job's own.
    pub group: Option<String>,
    pub file: String,
    pub text: String,
    pub when: GroupFileWrite,
}

impl GroupFile {
    /// The file of a group that says where its processes may run: a container's `--cpuset-cpus`.
    pub const CPUS: &str = "cpuset.cpus";
}

/// When something is written to a group's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupFileWrite {
    /// Whatever controllers there are.
    Always,
    /// Under a scheduler whose name asks for that controller.
    IfAsked,
}

/// The fields carry the names of fio's options.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EndSettings {
    /// Results count from then on.
    pub ramp_time: Span,
    pub exitall: bool,
    pub exit_what: ExitWhat,
    pub exitall_on_error: bool,
    /// Directions in which an error does not end the job.
    pub continues: PerDdir<bool>,
    /// The same by `ignore_error`.
    pub ignores: PerDdir<bool>,
    pub cgroup: Cgroup,
}
