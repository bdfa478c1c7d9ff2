//! What is run: the load, the disk, the host and the settings around the schedulers.

mod contender;
mod cpu_notes;
mod default;
mod disks;
mod each;
mod found;
mod groups;
mod host;
mod reading;
mod settings;
mod stack;
mod stack_found;
mod stage;
mod trace;
mod usual;
mod which;
mod word;
mod workload;

use blksched::Span;
use blksched_disks::Attached;
use blksched_simulate::Starts;
use blksched_workloads::fio::{Text, Typed};
use blksched_workloads::host::fs::FsMount;

pub use contender::{AROUND, Contender, QueueSettings, contenders, notes_on, unthrottled};
pub use default::{PRESENT, kernel_default};
pub use disks::{Among, OtherStage};
pub use groups::notes_on_files;
pub use host::{DiskDirt, HostSettings};
pub use settings::{attached, some_time};
pub use stage::Stage;
pub use trace::{PER_CPU, Trace, stem};
pub use usual::{BY_FILE, BY_WEIGHT, by_groups, usual};
pub use which::BY_DEVICE;
pub use word::{FoundJob, Word};
pub use workload::{DEFAULT_LOAD, STANDARD_INPUT, Workload};

/// What is run, by name, and the settings that hold for every scheduler.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What runs, all at once: built-in workloads, programs with their parameters (`dd:size=1g`), and whatever else
    /// [`Files`](crate::Files) finds.
    pub jobs: Vec<String>,
    /// A job file as text, which runs besides.
    pub typed: Typed,
    /// The disk's name; [`BY_DEVICE`] for the class of the device that the jobs name; for a trace each of whose devices
    /// becomes a disk one for all, or `sda=NAME,sdb=NAME`. Where jobs name several devices, so can they.
    pub disk: String,
    /// Whether the disk's times vary.
    pub tails: Tails,
    /// How long each run is at most; `None`: as long as pilots find necessary.
    pub time: Option<Span>,
    /// When processes begin.
    pub starts: Starts,
    /// Knobs, as in `bfq.slice_idle=0`.
    pub set: Vec<String>,
    /// The first seed of the random numbers.
    pub seed: u64,
    /// How many requests the disk gets at a time; `None`: as many as it accepts.
    pub depth: Option<u32>,
    /// How many requests may exist (before blk-mq: per direction); `None`: as in the scheduler's kernel.
    pub nr_requests: Option<u32>,
    /// The largest request \[KiB\]; `None`: as in the scheduler's kernel.
    pub max_sectors_kb: Option<u32>,
    /// How the disk is attached to the host; `None`: as in the disk's description.
    pub attached: Option<Attached>,
    /// Writeback throttling: how long a read may take \[us\], 0 for off; `None`: the kernel's choice.
    pub wbt_lat_usec: Option<u64>,
    /// The host.
    pub host: HostSettings,
    /// The file system below the files of job files; `None`: as they say, or else ext4
    /// ([`JobFile::usual_file_system`](blksched_workloads::fio::JobFile::usual_file_system)).
    pub fs: Option<FsMount>,
    /// Of several disks, the one whose schedulers are compared; `None`: the one for which several are named, or the
    /// first.
    pub vary: Option<String>,
    /// Where stacked devices come from that were not described.
    pub stack: StackFrom,
}

/// Where stacked devices come from that were not described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackFrom {
    /// From descriptions and recordings alone: a device of which nobody says what is below it is a disk.
    #[default]
    Words,
    /// Also from this machine, for the devices of it that jobs or the disk's name mean.
    Machine,
}

/// Whether a disk's times vary as its file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tails {
    /// As the file says.
    #[default]
    On,
    /// It is the ideal drive: [`blksched_disks::DiskSpec::without_tails`].
    Off,
}

impl Scene {
    /// The text of a fio job file on a disk, all else at its default; `name` stands for the file in messages.
    pub fn of_jobs(name: &str, text: &str, disk: &str) -> Scene {
        let text = Some(Text { name: name.to_owned(), text: text.to_owned() });
        let typed = Typed { text, ..Typed::default() };
        Scene { jobs: Vec::new(), typed, ..Scene::of("", disk, 1) }
    }

    /// A workload on a disk, all else at its default.
    pub fn of(workload: &str, disk: &str, seed: u64) -> Scene {
        Scene {
            jobs: vec![workload.to_owned()],
            typed: Typed::default(),
            disk: disk.to_owned(),
            tails: Tails::On,
            time: None,
            starts: Starts::Drawn(0),
            set: Vec::new(),
            seed,
            depth: None,
            nr_requests: None,
            max_sectors_kb: None,
            attached: None,
            wbt_lat_usec: None,
            host: HostSettings::default(),
            fs: None,
            vary: None,
            stack: StackFrom::Words,
        }
    }
}
