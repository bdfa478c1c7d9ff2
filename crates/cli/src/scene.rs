//! The input of every run, as given by the user: the workload, the disk, and the length.

use std::ffi::OsStr;
use std::path::Path;

use blksched::Span;
use blksched::tunables::{Knob, Tunables};
use blksched_disks::Attached;
pub(crate) use blksched_lab::scene::some_time;
use blksched_lab::scene::{BY_DEVICE, DiskDirt, HostSettings, StackFrom, Tails, attached};
use blksched_lab::{Scene, WordError};
use blksched_simulate::Starts;
use blksched_text::name_of_path;
use blksched_workloads::fio::Typed;
use blksched_workloads::host::HostKnobs;
use blksched_workloads::host::fs::FsMount;
use clap::builder::TypedValueParser;
use clap::{Arg, Args, Command, ValueEnum};
use serde_json::{Map, Value, json};

use crate::input::text_of_file;

/// The workload and the disk, which every run needs.
#[derive(Debug, Args)]
pub(crate) struct SceneArguments {
    /// What runs, all at once: fio job files (`-`: standard input); built-in workloads; programs with their parameters,
    /// as in dd:size=1g,start=5s (`blksched list workloads`, `blksched list dd`); recorded traces
    /// (`blksched list replay`); fio's options, as in --name=a --rw=randread --size=1g [default: beside-a-backup]
    #[arg(value_name = "WORKLOAD", value_parser = FileName)]
    pub(crate) jobs: Vec<String>,
    /// The job file that fio's options on the command line make.
    #[arg(skip)]
    pub(crate) typed: Typed,
    /// The disk: a preset (`blksched list disks`; nvme, ssd, hdd, usb, sd and gp3 for short), a TOML file, or a disk of
    /// this machine, as in sda or /dev/sda; for several disks, each by the name that the jobs give it, a device or a
    /// directory: sda=hdd-7200,/mnt/usb=usb-stick; or a stacked device, each of whose disks has the schedulers:
    /// md-raid0:2xnvme-ssd, md-raid1, md-raid5, md-raid6, md-raid10, striped, linear, lvm, crypt:ssd (docs/stack.md;
    /// raid5:4xhdd-7200 is a controller's); for a trace with device=each one for all, or sda=NAME,sdb=NAME [default:
    /// the kind of the device that the jobs name, or hdd-7200]
    #[arg(long, value_name = "NAME|FILE", default_value = BY_DEVICE, hide_default_value = true)]
    #[arg(value_parser = FileName)]
    pub(crate) disk: String,
    /// Whether the disk's times vary as its file says, or without the mechanisms of a tail (docs/disks.md): the ideal
    /// drive
    #[arg(long, value_name = "on|off", value_enum, default_value_t = TailsWord::On)]
    pub(crate) tails: TailsWord,
    /// End each run after this much simulated time, if its jobs have not ended; a number alone counts seconds, as in
    /// fio [default: found by a pilot: 30s from when every job has begun, or less where that costs too much]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    pub(crate) time: Option<Span>,
    /// When processes begin: drawn up to 10 ms apart, like those that fio starts, exactly as-said, or one-first, the
    /// others 0.2 s later: BFQ merges the queues of processes that begin together
    #[arg(long, value_name = "drawn|as-said|one-first", value_enum, default_value_t = When::Drawn)]
    pub(crate) starts: When,
    /// Turn a knob, as in bfq.slice_idle=0, deadline@2.6.33.read_expire=100ms; may be repeated
    #[arg(long = "set", value_name = "SCHEDULER.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// The first seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many requests the disk gets at a time; at most as many as it accepts [default: as many as it accepts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// How many requests may exist (before blk-mq: per direction) [default: as in the scheduler's kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nr_requests: Option<u32>,
    /// The largest request in KiB; at most the largest that the disk accepts [default: as in the scheduler's kernel]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) max_sectors_kb: Option<u32>,
    /// How the disk is attached to the host: sata, ide, scsi, nvme, virtio, usb, sd, loop [default: as in the
    /// disk's file]
    #[arg(long, value_name = "KIND", value_parser = attached)]
    pub(crate) attached: Option<Attached>,
    /// Writeback throttling of 6.x: how long a read may take, in microseconds; 0 switches it off [default: 75000 for a
    /// spinning disk, else 2000; off under bfq]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) wbt_lat_usec: Option<u64>,
    /// The host: its memory, for buffered I/O, as in memory=1g,dirty_ratio=20 (`blksched list host` shows all), and
    /// of one of several disks, as in sdb:max_bytes=64m,sdb:strict_limit=1; its processors, as in cpus=8 (for
    /// `compare` also several numbers: cpus=1..64, cpus=1/4/10), and what I/O costs them under 6.x: cpu=off, a preset
    /// (`blksched list cpu`), a TOML file; dispatch=submitter, worker or charged, who dispatches under a scheduler;
    /// nr_hw_queues=8, how many hardware queues an NVMe drive, a virtual disk or a SCSI host has, each with its own
    /// tags unless host_tagset=1; rq_affinity=0 to 2 and irq_cpu=N, who handles completions; and of 100 completions,
    /// after how many the I/O's owner or the kernel's worker runs first: owner_first=60, worker_first=76
    /// (docs/host.md)
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = host, default_value = "")]
    #[arg(hide_default_value = true)]
    pub(crate) host: HostSettings,
    /// The file system below the files of job files: ext4, xfs, ext3, ext2, none (files are regions of the disk); and
    /// how it is made and mounted, as in ext4:data=writeback,commit=30 (also data=journal, nobarrier, nodelalloc,
    /// dioread_lock, sync, dirsync, min_batch_time=US, max_batch_time=US, journal_async_commit, journal_ioprio=N,
    /// journal_size=N, journal_dev=DISK, no_journal) or xfs:logbsize=256k (also logbufs=N, logsize=N, logdev=DISK)
    /// [default: as the job file says in `; blksched: fs=xfs`, or ext4; a file name in /dev is the disk itself]
    #[arg(long, value_name = "NAME[:OPTION,…]", value_parser = FsMount::named)]
    pub(crate) fs: Option<FsMount>,
    /// Of several disks, the one whose schedulers are compared; the others keep theirs [default: the one for which
    /// several schedulers are named, or the first]
    #[arg(long, value_name = "DISK")]
    pub(crate) vary: Option<String>,
    /// Where stacked devices come from that --disk does not describe: only from recordings, or also, by auto, from this
    /// machine: a volume or array that the jobs use, or that --disk names, is as it is here (docs/stack.md)
    #[arg(long, value_name = "words|auto", value_enum, default_value_t = StackWordsFrom::Words)]
    #[arg(hide_default_value = true)]
    pub(crate) stack: StackWordsFrom,
    /// Load and check everything, but run nothing
    #[arg(long)]
    pub(crate) parse_only: bool,
}

/// The schedulers that `--elevator` names: one for each disk, as in `sda=bfq,sdb=none`.
pub(crate) fn named(elevator: Option<&str>) -> Vec<String> {
    elevator.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

impl SceneArguments {
    /// The same for the library.
    pub(crate) fn scene(&self) -> Scene {
        Scene {
            jobs: self.jobs.clone(),
            typed: self.typed.clone(),
            disk: self.disk.clone(),
            tails: self.tails.into(),
            time: self.time,
            starts: self.starts.into(),
            set: self.set.clone(),
            seed: self.seed,
            depth: self.depth,
            nr_requests: self.nr_requests,
            max_sectors_kb: self.max_sectors_kb,
            attached: self.attached,
            wbt_lat_usec: self.wbt_lat_usec,
            host: self.host.clone(),
            fs: self.fs,
            vary: self.vary.clone(),
            stack: self.stack.into(),
        }
    }
}

/// Parses the host's settings; its processors' costs may be a file.
///
/// # Errors
/// The word that was not understood, what was expected, and the nearest.
pub fn host(text: &str) -> Result<HostSettings, WordError> {
    let file = |name: &str| {
        let path = Path::new(name);
        (name.ends_with(".toml") || path.is_file()).then(|| text_of_file(path))
    };
    HostSettings::parse(text, &file)
}

/// The host's parameters for machines: by name, a number and its unit; those of single disks as in `sdb:max_bytes`.
pub(crate) fn host_settings(host: &HostKnobs, of_disks: &[DiskDirt]) -> Map<String, Value> {
    let of = |knob: &Knob| Some((knob.name.to_owned(), in_its_unit(knob, host.get(knob.name)?)));
    let of_disk = |knob: &Knob, DiskDirt { disk, max_bytes, strict_limit }: &DiskDirt| {
        let raw = match knob.name {
            "max_bytes" => (*max_bytes)? as i64,
            "strict_limit" => i64::from((*strict_limit)?),
            _ => return None,
        };
        Some((format!("{disk}:{}", knob.name), in_its_unit(knob, raw)))
    };
    let of_disks = of_disks.iter().flat_map(|own| HostKnobs::KNOBS.iter().filter_map(move |knob| of_disk(knob, own)));
    HostKnobs::KNOBS.iter().filter_map(of).chain(of_disks).collect()
}

/// A knob's value for machines, as in its control file.
pub(crate) fn in_its_unit(knob: &Knob, raw: i64) -> Value {
    json!({ "value": knob.unit.in_sysfs(raw), "unit": knob.unit.symbol() })
}

/// Whether the disk's times vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TailsWord {
    /// As its file says.
    On,
    /// Without the mechanisms of a tail.
    Off,
}

impl From<TailsWord> for Tails {
    fn from(tails: TailsWord) -> Tails {
        match tails {
            TailsWord::On => Tails::On,
            TailsWord::Off => Tails::Off,
        }
    }
}

/// Where stacked devices come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StackWordsFrom {
    /// From words and recordings.
    Words,
    /// From this machine, too.
    Auto,
}

impl From<StackWordsFrom> for StackFrom {
    fn from(from: StackWordsFrom) -> StackFrom {
        match from {
            StackWordsFrom::Words => StackFrom::Words,
            StackWordsFrom::Auto => StackFrom::Machine,
        }
    }
}

/// When the processes of a run begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Each a random few milliseconds later than specified.
    Drawn,
    /// Exactly as specified.
    AsSaid,
    /// The first 0.2 s before the others, which are drawn: BFQ then merges none of their queues.
    OneFirst,
}

impl From<When> for Starts {
    fn from(when: When) -> Starts {
        match when {
            When::Drawn => Starts::Drawn(0),
            When::AsSaid => Starts::AsSaid,
            When::OneFirst => Starts::OneFirst(0),
        }
    }
}

/// The name of a file or of something built in: a text, even if the file's name is not valid UTF-8 ([`name_of_path`]).
#[derive(Clone)]
pub(crate) struct FileName;

impl TypedValueParser for FileName {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(name_of_path(value))
    }
}
