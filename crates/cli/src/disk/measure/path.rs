//! A real path, by the wall clock: a block device or a file, bypassing the page cache.
//!
//! A single command is executed by the thread that waits for it, so that no time is added; with several in flight, each
//! has its own thread. The end of a command is the time at which the system call returns.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use blksched::{Instant, Op, Span};
use blksched_disks::probe::{CommandEnded, ProbeAccess, ProbeClock, Target, TargetFacts};

use crate::failure::Failure;

/// The strictest alignment that O_DIRECT asks of addresses, offsets and lengths \[bytes\].
const ALIGNMENT: usize = 4096;
/// The largest command \[512-byte sectors\]: 1 MiB.
const MOST_SECTORS: u32 = 2048;

/// One command.
#[derive(Clone, Copy, Debug)]
struct PathCommand {
    slot: u32,
    op: Op,
    start: u64,
    sectors: u32,
}

/// A command's completion, or why it failed.
type CommandEnd = Result<CommandEnded, String>;

pub(super) struct RealPath {
    file: Arc<File>,
    facts: TargetFacts,
    began: std::time::Instant,
    /// A command that was submitted while none was in flight: the waiting thread executes it itself.
    pending: Option<PathCommand>,
    in_flight: u32,
    workers: Vec<Sender<PathCommand>>,
    done: Receiver<CommandEnd>,
    report: Sender<CommandEnd>,
    buffer: Aligned,
}

/// Memory at an address that O_DIRECT accepts.
struct Aligned {
    memory: Vec<u8>,
    from: usize,
}

impl Aligned {
    fn new() -> Aligned {
        let memory = vec![0x5a; MOST_SECTORS as usize * 512 + ALIGNMENT];
        let from = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned { memory, from }
    }

    fn part(&mut self, sectors: u32) -> &mut [u8] {
        let from = self.from;
        &mut self.memory[from..from + sectors as usize * 512]
    }
}

/// Opens the path, for reading only unless everything on it may be destroyed.
pub(super) fn open(path: &str, access: ProbeAccess) -> Result<RealPath, Failure> {
    let outside = |what: &str, error: std::io::Error| Failure::Outside(format!("{path}: {what}: {error}"));
    let kind = std::fs::metadata(path).map_err(|error| Failure::Input(format!("{path}: {error}")))?;
    let is_device = kind.file_type().is_block_device();
    if !is_device && !kind.is_file() {
        return Err(Failure::Input(format!("{path}: expected a block device or a file")));
    }
    let destroy = access == ProbeAccess::Destroy;
    if is_device {
        in_use(path, kind.rdev(), access)?;
    }
    // The kernel notices any other exclusive use (swap, an array, a volume group).
    let exclusive = if is_device && destroy { libc::O_EXCL } else { 0 };
    let flags = libc::O_DIRECT | exclusive;
    let mut file = OpenOptions::new().read(true).write(destroy).custom_flags(flags).open(path).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::EBUSY) => {
                Failure::Input(format!("{path}: is in use (mounted, swap, part of an array): refused"))
            }
            _ => outside("cannot be opened past the page cache (O_DIRECT)", error),
        }
    })?;
    let bytes = file.seek(SeekFrom::End(0)).map_err(|error| outside("no size", error))?;
    if bytes < 64 << 20 {
        return Err(Failure::Input(format!("{path}: {bytes} bytes; expected 64 MiB or more")));
    }
    if !is_device && kind.blocks() * 512 < bytes / 10 * 9 && !destroy {
        return Err(Failure::Input(format!(
            "{path}: {} of its {bytes} bytes are on a disk, the rest are holes, which no disk reads: expected a file \
             that was written, as by `dd if=/dev/urandom`",
            kind.blocks() * 512
        )));
    }
    if !is_device {
        lies_on_a_disk(path, kind.dev())?;
    }
    let queue = if is_device { device_queue(kind.rdev()) } else { SysfsQueue::of_a_file() };
    let facts = TargetFacts {
        name: path.to_owned(),
        sectors: bytes / 512,
        block_sectors: queue.block_sectors,
        depth: queue.depth,
        max_sectors: queue.max_sectors,
        access,
        clock: ProbeClock::Wall,
        never_turns: queue.never_turns,
    };
    if !is_device && !destroy {
        asks_a_disk(path, &file, bytes)?;
    }
    let (report, done) = channel();
    Ok(RealPath {
        file: Arc::new(file),
        facts,
        began: std::time::Instant::now(),
        pending: None,
        in_flight: 0,
        workers: Vec::new(),
        done,
        report,
        buffer: Aligned::new(),
    })
}

/// Refuses memory: it is not a disk, however long a busy machine takes to read it.
fn lies_on_a_disk(path: &str, dev: u64) -> Result<(), Failure> {
    let number = format!("{}:{}", libc::major(dev), libc::minor(dev));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let of_it = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(&number));
    let kind = of_it.filter_map(|line| line.split_once(" - ")?.1.split(' ').next()).next_back();
    match kind {
        Some(kind @ ("tmpfs" | "ramfs" | "devtmpfs")) => Err(Failure::Input(format!(
            "{path}: lies in memory ({kind}), which is not a disk: expected a block device, or a file on a disk"
        ))),
        _ => Ok(()),
    }
}

/// A read that takes less has not reached a device \[ns\]: the way through the kernel to a device takes longer.
const NO_DEVICE_NS: u128 = 2_000;

/// Refuses a file that was allocated and never written: it looks like data, but the file system makes it up without the
/// disk.
fn asks_a_disk(path: &str, file: &File, bytes: u64) -> Result<(), Failure> {
    const READS: u64 = 64;
    let mut memory = Aligned::new();
    let mut times = Vec::new();
    for nth in 0..READS {
        let job = PathCommand { slot: 0, op: Op::Read, start: bytes / 512 / READS * nth / 8 * 8, sectors: 8 };
        let begun = std::time::Instant::now();
        transfer(file, job, &mut memory).map_err(|error| Failure::Outside(format!("{path}: {error}")))?;
        times.push(begun.elapsed().as_nanos());
    }
    times.sort_unstable();
    let usual = times[times.len() / 2];
    if usual >= NO_DEVICE_NS {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{path}: a read past the page cache takes {usual}ns, so no disk takes part: most of it was allocated and never \
         written, or it is kept in memory; expected a file that was written, as by `dd if=/dev/urandom`"
    )))
}

/// Refuses a mounted device if its data would be destroyed; otherwise warns that others use it at the same time.
fn in_use(path: &str, rdev: u64, access: ProbeAccess) -> Result<(), Failure> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = format!("/sys/dev/block/{}:{}", libc::major(rdev), libc::minor(rdev));
    // The device itself, and its partitions: subdirectories with a number of their own.
    let parts = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let parts = parts.filter_map(|part| std::fs::read_to_string(part.path().join("dev")).ok());
    let own = format!("{}:{}", libc::major(rdev), libc::minor(rdev));
    let numbers: Vec<String> = parts.map(|number| number.trim().to_owned()).chain([own]).collect();
    let mounted = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(2);
        let number = words.next()?;
        numbers.iter().any(|known| known == number).then(|| words.nth(1).unwrap_or_default().to_owned())
    });
    match (mounted, access) {
        (Some(at), ProbeAccess::Destroy) => Err(Failure::Input(format!("{path}: is mounted at {at}: refused"))),
        (Some(at), ProbeAccess::ReadOnly) => {
            anstream::eprintln!("{path}: is mounted at {at}: I/O by others is measured too");
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

/// What sysfs tells about a device.
struct SysfsQueue {
    block_sectors: u32,
    depth: u32,
    max_sectors: u32,
    never_turns: bool,
}

impl SysfsQueue {
    /// The limits for a file: its file system accepts whole pages.
    fn of_a_file() -> SysfsQueue {
        SysfsQueue { block_sectors: 8, depth: 32, max_sectors: MOST_SECTORS, never_turns: false }
    }
}

fn device_queue(rdev: u64) -> SysfsQueue {
    let folder = format!("/sys/dev/block/{}:{}", libc::major(rdev), libc::minor(rdev));
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<u32>().ok();
    // A partition's queue is its disk's.
    let of_disk = |name: &str| read(name).or_else(|| read(&format!("../{name}")));
    let logical = of_disk("queue/logical_block_size").unwrap_or(4096);
    let depth = of_disk("device/queue_depth").or_else(|| of_disk("queue/nr_requests")).unwrap_or(32);
    let most = of_disk("queue/max_sectors_kb").map_or(MOST_SECTORS, |kib| kib.saturating_mul(2));
    SysfsQueue {
        block_sectors: (logical / 512).max(1),
        depth: depth.clamp(1, 256),
        max_sectors: most.clamp(8, MOST_SECTORS),
        never_turns: of_disk("queue/rotational") == Some(0),
    }
}

fn transfer(file: &File, job: PathCommand, memory: &mut Aligned) -> Result<(), String> {
    let offset = job.start * 512;
    let part = memory.part(job.sectors);
    let result = match job.op {
        Op::Read => file.read_exact_at(part, offset),
        Op::Write => file.write_all_at(part, offset),
        Op::Flush => file.sync_data(),
        Op::Discard | Op::WriteZeroes => Err(std::io::Error::other("only reads, writes and flushes are measured")),
    };
    result.map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "it now ends before that".to_owned(),
            _ => error.to_string(),
        };
        format!("{:?} of {} sectors at {}: {why}", job.op, job.sectors, job.start)
    })
}

impl RealPath {
    fn moment(began: std::time::Instant) -> Instant {
        Instant::from_ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX - 1))
    }

    /// Starts a thread that executes the commands sent to it.
    fn employ(&mut self) {
        let (sender, jobs) = channel::<PathCommand>();
        let (file, report, began) = (Arc::clone(&self.file), self.report.clone(), self.began);
        std::thread::spawn(move || {
            let mut memory = Aligned::new();
            while let Ok(job) = jobs.recv() {
                let done = transfer(&file, job, &mut memory);
                let at = RealPath::moment(began);
                if report.send(done.map(|()| CommandEnded { slot: job.slot, at })).is_err() {
                    return;
                }
            }
        });
        self.workers.push(sender);
    }

    fn send(&mut self, job: PathCommand) -> Result<(), String> {
        while self.workers.len() <= job.slot as usize {
            self.employ();
        }
        self.in_flight += 1;
        self.workers[job.slot as usize].send(job).map_err(|_| "a thread has gone".to_owned())
    }
}

impl Target for RealPath {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn now(&self) -> Instant {
        RealPath::moment(self.began)
    }

    fn start(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<(), String> {
        let job = PathCommand { slot, op, start, sectors };
        match self.pending.take() {
            Some(first) => {
                self.send(first)?;
                self.send(job)
            }
            None if self.in_flight == 0 => {
                self.pending = Some(job);
                Ok(())
            }
            None => self.send(job),
        }
    }

    fn wait(&mut self) -> Result<CommandEnded, String> {
        if let Some(job) = self.pending.take() {
            transfer(&self.file, job, &mut self.buffer)?;
            return Ok(CommandEnded { slot: job.slot, at: self.now() });
        }
        let done = self.done.recv().map_err(|_| "every thread has gone".to_owned())?;
        self.in_flight -= 1;
        done
    }

    fn rest(&mut self, until: Instant) {
        let left: Span = until.since(self.now());
        std::thread::sleep(std::time::Duration::from_nanos(left.as_ns()));
    }
}
