//! fio job files: the language in which people already write their workloads.
//!
//! Read in stages, one file each: lines (text into sections and settings), sections (options looked up in the
//! one table of [`options`], values read), check (does each job make sense?), layout (files onto the disk), plan
//! (one process per clone), process (the state machine that submits). Every problem of a file is collected and
//! reported together, with line and column.
//!
//! # Meaning
//!
//! Options mean what fio's manual says. Where the manual leaves a choice, or cannot be followed in a simulation, the
//! following rules apply; *tried* means that fio 3.33 was run to find out.
//!
//! * **Files on the disk.** `filename=/dev/…` is the whole simulated disk, whatever its name. Every other file name is
//!   a separate file, as long as its jobs need (`offset` + `size`), rounded up to 1 MiB. Files are placed in the order
//!   in which they first occur, the first at sector 0, each followed by an equal gap, rounded down to 1 MiB: the files
//!   of a job file are spread over the whole disk. A named file for which no job gives a size is assumed to exist and
//!   gets an equal share of the remaining space; then there are no gaps. A job without `filename` has `nrfiles` files
//!   per process, `job.number.0` and so on, as in fio; these follow each other directly, each starting at a multiple of
//!   4 KiB.
//! * **Several files**, as tried: each gets its share of `size` in whole blocks; they are served in rotation, are done
//!   after one pass, and start over together. `filesize` ranges are drawn by name and `randseed`, not by the
//!   simulation's seed. `process/files.rs` has the rules.
//! * **Mixed workloads** draw each I/O's direction by `rwmixread`. If the direction drawn has to wait for its `rate`
//!   and the other one has not, the other goes (tried). Sequential ones keep a position per direction (tried).
//! * **Random offsets** use every block once before any is reused, unless `norandommap`; a further pass repeats the
//!   order (tried). The order is a keyed permutation, not fio's own sequence; blocks of several sizes share fio's map
//!   of block numbers, with its consequences (`process/block_map.rs`).
//! * **Seeds.** fio repeats its random offsets from run to run unless told otherwise (`randrepeat` is 1 by default).
//!   Here the simulation's seed varies them unless told otherwise, so that a comparison over seeds shows variation: an
//!   explicit `randrepeat=1` makes offsets the same for every seed, `allrandrepeat=1` everything random, and
//!   `randseed=N` replaces the simulation's seed altogether.
//! * **Rates** are kept per direction on a fixed schedule from the job's beginning: the I/O that would be ahead of it
//!   waits, and a job that fell behind catches up.
//! * **`verify`** reads each pass back (`process/read_back.rs`).
//! * **`thinktime`** begins when `thinktime_blocks` I/Os have been reaped and all outstanding I/Os too; the queue is
//!   filled first, and from then on the job works at depth 1 (`process/think.rs`). The last think time is part of the
//!   job (tried).
//! * **`startdelay`** counts from the beginning of the run, also behind a stonewall (tried); `runtime` from the
//!   beginning of the job.
//! * **`prio` alone** means class 2, best effort; a class alone means level 0 (tried).
//! * **Synchronous engines** have one I/O in flight, asynchronous ones up to `iodepth`, each submitted by its own
//!   system call unless `iodepth_batch` says otherwise. Completions are reaped when the queue is full, one at a time
//!   unless configured otherwise, and latencies end then (`process/reap.rs`).
//! * **A number after `rw`** of a sequential job is a stride: it is added after each I/O. At the file's end the job
//!   starts over, backwards at the end; at its region's end, if that comes first, its pass is over, and with the last
//!   of its `loops` the job (tried). For a random job it is the number of its I/Os that follow one another between two
//!   jumps; `rw_sequencer` changes random jobs only (tried).
//! * **Block sizes**: `bssplit` goes before `bsrange`, and that before `bs`, whatever their order (tried). A sequential
//!   job's size that would reach beyond its region is drawn again (tried). Random offsets are multiples of the least
//!   size, and parts already in the map are cut off (tried). `process/sizes.rs` says how sizes of a range are drawn.
//! * **`random_distribution`** other than `random`, and `blockalign`, turn the map off, as in fio. Of `zipf` and
//!   `pareto` without a centre the preferred blocks are scattered; `skew.rs` has the formulas.
//! * **Trims** are discards of the disk. Whatever the engine, the process sleeps until its trim is done (MEMORY: fio
//!   discards by a call that returns then). `trimwrite` writes the ranges that it has trimmed, and does as much of each
//!   as `size` or `number_ios` says (tried).
//! * **Flushes**: `fsync` and `fdatasync` after this many writes, `end_fsync` and `fsync_on_close` at the end are
//!   flushes of the disk's cache. The process sleeps until its flush is done, and asynchronous I/O continues meanwhile;
//!   no flush follows the last write of a job, unless requested at the end. A flush that is due at the end of a pass is
//!   done twice, if another pass follows (tried). With `sync` each write is sent with FUA. On a disk without a volatile
//!   cache all this costs nothing.
//! * **`rate_process=poisson`** draws the gaps between I/Os; a job that fell behind catches up.
//! * **Numbers** may be arithmetic in parentheses, in whole numbers. `$pagesize`, `$mb_memory`, `$ncpus` are those of
//!   the simulated host, [`Host`]: the same on every machine.
//! * **Partial blocks**: a job continues until it has done at least its size, or nothing more fits before its file's
//!   end (tried).
//! * **Buffered I/O** (without `direct=1`) goes through the page cache of the simulated host, [`crate::host`]. There,
//!   `libaio` submits one I/O at a time, whatever `iodepth` says, as on Linux; other asynchronous engines keep their
//!   depth. Each pass over the files reopens them: `invalidate` (on by default) drops their clean pages from memory,
//!   `pre_read` puts them there without cost, and `fadvise_hint` (on) doubles the readahead of sequential jobs and
//!   turns it off for random ones. `fsync` covers the files written since the last one; `sync` waits for each write and
//!   a flush. The files' data is on the disk, not in memory, when the run begins; pages that are dirty when it ends
//!   stay dirty. Trims bypass memory.
//! * **A failed I/O** ends its job.
//! * **`read_iolog`** names a block trace, which the job replays in its order, all its processes and devices as one,
//!   onto the whole disk, as many at a time as `iodepth` allows. The delay before each I/O counts from the submission
//!   of the previous one, so a job that fell behind does not catch up. [`crate::replay`] keeps the dependencies of each
//!   process instead.

mod blocks;
mod buffered;
mod check;
pub mod command_line;
mod ddir;
mod distribution;
mod embedded;
mod errors;
mod expression;
mod files;
mod grain;
mod host;
mod layout;
mod lines;
mod names;
pub mod options;
mod place;
mod plan;
mod process;
mod region;
mod sections;
mod settings;
mod shell;
mod texts;
mod values;
mod verify_only;

use std::collections::BTreeSet;

use blksched::Instant;

use crate::disks::DiskPlaces;
use crate::host::fs::{FsKind, FsMount};
use crate::plan::Plan;
use crate::replay::Recording;

pub use command_line::{COMMAND_LINE, OwnOption, Typed};
pub use embedded::{EmbeddedJob, embedded};
pub use errors::{Errors, Note, Problem, Style};
pub use host::Host;
pub use options::{is_option, is_own, supported_options};
pub use place::TextPlace;
pub(crate) use plan::Scripted;
use plan::Traces;
use sections::JobSection;
pub use settings::{Latency, LogNames, LogValue, Logs, OffsetOrder, Reporting, Unified};
use settings::{Mix, Settings};
use texts::{MOST_BYTES, Texts};
pub use texts::{Text, TextReader};

/// The time at which a run begins; `startdelay` counts from it.
pub const RUN_BEGINS: Instant = Instant::ZERO;

/// A parsed and checked job file.
///
/// ```
/// use blksched_workloads::fio::JobFile;
///
/// let file = JobFile::parse("[reader]\nrw=randread\nbs=4k\ndirect=1\nfilename=/dev/sda\nrandrepat=0\n", "my.fio");
/// let errors = file.unwrap_err();
/// assert_eq!(errors.problems[0].place.to_string(), "6:1");
/// assert!(errors.to_string().contains("did you mean `randrepeat`?"));
/// ```
#[derive(Clone, Debug)]
pub struct JobFile {
    texts: Vec<Text>,
    jobs: Vec<JobSection>,
    globals: Vec<(String, String)>,
    notes: Vec<Note>,
    traces: Traces,
}

impl JobFile {
    /// Parses `text` on a host without environment variables, and without includes; `file_name` is for messages.
    ///
    /// # Errors
    /// Everything that is wrong with the file, not only the first.
    pub fn parse(text: &str, file_name: &str) -> Result<JobFile, Errors> {
        let text = Text { name: file_name.to_owned(), text: text.to_owned() };
        JobFile::read(&Host::default(), &[text], &mut |_| Err("no other file can be read here".to_owned()))
    }

    /// Parses several job files as one run, in their order; each has its own `[global]`. `read` reads what they
    /// include.
    ///
    /// # Errors
    /// Everything that is wrong with the files, not only the first.
    pub fn read(host: &Host, files: &[Text], read: TextReader<'_>) -> Result<JobFile, Errors> {
        JobFile::read_beside(host, &Typed::default(), files, read)
    }

    /// The same beside options on a command line, whose jobs come first and whose `[global]` is for all files (tried
    /// with fio 3.33). With [`sections`](Typed::sections), other jobs of the files are left out.
    ///
    /// # Errors
    /// Everything that is wrong with both.
    pub fn read_beside(host: &Host, typed: &Typed, files: &[Text], read: TextReader<'_>) -> Result<JobFile, Errors> {
        let beside = typed.text.is_some();
        let files: Vec<Text> = typed.text.iter().chain(files).cloned().collect();
        let files = &files[..];
        let whole = |file: u32| TextPlace { text: file, range: 0..0, line: 1, column: 1 };
        if let Some(file) = files.iter().position(|file| file.text.len() > MOST_BYTES) {
            let title = "the file is too long for a job file";
            let problem = Problem::new(whole(file as u32), title, "expected at most 4 MiB");
            let shown: Vec<Text> = files.iter().map(|file| Text { text: String::new(), ..file.clone() }).collect();
            return Err(Errors::new(&shown, vec![problem]));
        }
        let (texts, mut problems) = Texts::load(files, read);
        let (mut jobs, mut globals, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut for_all = Settings::default();
        for file in 0..files.len() as u32 {
            let (lines, mut unread) = texts.lines(file);
            problems.append(&mut unread);
            let is_typed = beside && file == 0;
            let mut sections = sections::assemble(&lines, host, for_all.clone());
            problems.append(&mut sections.problems);
            if sections.jobs.is_empty() && problems.is_empty() && !(is_typed && files.len() > 1) {
                problems.push(Problem::new(whole(file), "no job is defined", "expected a section such as [job]"));
            }
            if is_typed {
                for_all = sections.defaults;
            } else if !typed.sections.is_empty() {
                sections.jobs.retain(|job| typed.sections.contains(&job.name));
            }
            jobs.append(&mut sections.jobs);
            globals.append(&mut sections.globals);
            notes.append(&mut sections.notes);
        }
        if jobs.is_empty() && problems.is_empty() {
            let title = format!("no job is called `{}`, as --section says", typed.sections.join("`, `"));
            problems.push(Problem::new(whole(files.len() as u32 - 1), title, "expected the name of a section"));
        }
        for job in &mut jobs {
            let left = check::leave_to_the_trace(job).into_iter().filter(|note| !notes.contains(note));
            let left: Vec<Note> = left.collect();
            notes.extend(left);
            notes.extend(check::end_by_amount(job).filter(|note| !notes.contains(note)));
            match verify_only::make_reader(job) {
                // Jobs of one `[global]` share its place and its note.
                Ok(note) => notes.extend(note.filter(|note| !notes.contains(note))),
                Err(problem) => problems.push(problem),
            }
        }
        problems.extend(check::check(&jobs));
        match problems.is_empty() {
            true => Ok(JobFile { texts: texts.all, jobs, globals, notes, traces: Traces::new() }),
            false => Err(Errors::new(&texts.all, problems)),
        }
    }

    /// The options that were accepted but change nothing, in their order.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The options of its `[global]` sections, as written.
    pub fn global_options(&self) -> &[(String, String)] {
        &self.globals
    }

    /// The place of a note: the name of its file, line and column.
    pub fn locate(&self, place: &TextPlace) -> String {
        format!("{}:{place}", self.texts[place.text as usize].name)
    }

    /// Whether any of its jobs does anything but read.
    pub fn writes(&self) -> bool {
        let reads = |job: &JobSection| job.settings.mix == Mix::Read && job.settings.files.replay.log.is_none();
        !self.jobs.iter().all(reads)
    }

    /// The names of the traces that its jobs replay (`read_iolog`). The caller reads the files and passes each to
    /// [`give_trace`](JobFile::give_trace) before the plan.
    pub fn traces(&self) -> Vec<String> {
        let of = |job: &JobSection| {
            let replay = job.settings.files.replay.clone();
            (0..job.settings.numjobs).filter_map(move |number| plan::trace_name(&replay, number))
        };
        self.jobs.iter().flat_map(of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Takes the contents of one of [`JobFile::traces`], or the reason why it could not be read.
    pub fn give_trace(&mut self, name: &str, read: Result<Recording, String>) {
        self.traces.insert(name.to_owned(), read);
    }

    /// The same, where the jobs of this name call `fdatasync` instead of `fsync`, in files that were written before.
    /// `None` if they do already, or do not sync.
    pub fn with_data_syncs(&self, job: &str) -> Option<JobFile> {
        let mut file = self.clone();
        let mut changed = false;
        for own in file.jobs.iter_mut().filter(|own| own.name == job) {
            let settings = &mut own.settings;
            let syncs = settings.fsync.max(settings.fdatasync) > 0 && settings.mix != Mix::Read;
            changed |= syncs && (settings.fsync > 0 || !settings.rare.overwrite);
            (settings.fdatasync, settings.fsync) = (settings.fdatasync.max(settings.fsync), 0);
            settings.rare.overwrite = true;
        }
        changed.then_some(file)
    }

    /// Lays its files out on a disk of `disk_sectors` sectors \[512 bytes\] and makes its processes.
    ///
    /// # Errors
    /// If the files do not fit, or a job's region is empty or outside of its file.
    pub fn plan(&self, disk_sectors: u64) -> Result<Plan, Errors> {
        self.plan_on(disk_sectors, FsKind::None)
    }

    /// The same, with its files on a file system: the one that the job file says, or else this one.
    ///
    /// # Errors
    /// As [`plan`](JobFile::plan), and if jobs contradict each other, or a job's raw device what is said.
    pub fn plan_on(&self, disk_sectors: u64, fs: impl Into<FsMount>) -> Result<Plan, Errors> {
        self.plan_on_disks(&DiskPlaces::alone(disk_sectors), fs)
    }

    /// The same on several disks. A file system is on the first; files on others are regions of those.
    ///
    /// # Errors
    /// As [`plan_on`](JobFile::plan_on).
    pub fn plan_on_disks(&self, disks: &DiskPlaces, fs: impl Into<FsMount>) -> Result<Plan, Errors> {
        plan::plan(&self.jobs, &self.traces, disks, fs.into()).map_err(|problems| Errors::new(&self.texts, problems))
    }

    /// The names of the files of all jobs, in their order, devices too.
    ///
    /// ```
    /// let text = "[a]\nfilename=/dev/sda:/dev/sdb\n[b]\nsize=1m\ndirectory=/mnt/usb\n";
    /// let file = blksched_workloads::fio::JobFile::parse(text, "a.fio").unwrap();
    /// assert_eq!(file.file_names(), ["/dev/sda", "/dev/sdb", "/mnt/usb/b.0.0"]);
    /// ```
    pub fn file_names(&self) -> Vec<String> {
        let (mut all, mut known) = (Vec::new(), BTreeSet::new());
        for job in &self.jobs {
            for name in (0..job.settings.numjobs).flat_map(|number| names::file_names(job, number)) {
                if job.settings.files.replay.log.is_none() && known.insert(name.clone()) {
                    all.push(name);
                }
            }
        }
        all
    }

    /// Whether any job uses a file, and not a device. A replayed trace (`read_iolog`) was recorded below its files.
    pub fn uses_files(&self) -> bool {
        let is_raw = |name: &String| files::are_devices(name);
        let is_below = |job: &JobSection| {
            job.settings.files.replay.log.is_some() || job.settings.files.filename.as_ref().is_some_and(is_raw)
        };
        !self.jobs.iter().all(is_below)
    }

    /// That no job uses a file, so that this file system, asked for beside the job file, is below none.
    pub fn without_files_on(&self, fs: FsMount) -> Errors {
        let problem = self.jobs.first().map(|job| {
            let place = job.settings.place_of("filename", &job.place);
            let title = format!("--fs {fs}: every job uses a raw device");
            Problem::new(place, title, "a file name outside /dev".to_owned())
        });
        Errors::new(&self.texts, problem.into_iter().collect())
    }

    /// The file system below its files on a usual machine: the one that it says, or else ext4, which fio's working
    /// directory is on, if any job uses a file.
    ///
    /// ```
    /// use blksched_workloads::{fio::JobFile, host::fs::FsKind};
    /// let on = |text: &str| JobFile::parse(text, "a.fio").unwrap().usual_file_system();
    /// assert_eq!(on("[a]\nsize=1m\n[b]\nfilename=/dev/sda\n"), FsKind::Ext4);
    /// assert_eq!(on("[a]\nfilename=/dev/sda\n"), FsKind::None);
    /// assert_eq!(on("[a]\nsize=1m\n; blksched: fs=xfs\n"), FsKind::Xfs);
    /// ```
    pub fn usual_file_system(&self) -> FsMount {
        let usual = if self.uses_files() { FsKind::Ext4 } else { FsKind::None };
        self.file_system().unwrap_or(usual.into())
    }

    /// The devices that jobs name, as in `filename=/dev/sda`, in the order of the file.
    ///
    /// ```
    /// let file = blksched_workloads::fio::JobFile::parse("[a]\nfilename=/dev/sda:/dev/sdb\n[b]\nsize=1m\n", "a.fio");
    /// assert_eq!(file.unwrap().devices().collect::<Vec<_>>(), ["/dev/sda", "/dev/sdb"]);
    /// ```
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        let names = self.jobs.iter().filter_map(|job| job.settings.files.filename.as_deref());
        names.flat_map(|names| names.split(':')).filter(|name| files::is_device(name))
    }

    /// The file system that the job file says, if it says any.
    pub fn file_system(&self) -> Option<FsMount> {
        self.jobs.iter().find_map(|job| job.settings.rare.fs)
    }
}

/// For fuzzing: parses any bytes as a job file, as a text around one and as a command line. Plans a job file on a small
/// disk and draws the first decisions of each process. Never panics.
pub fn fuzz_parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for job in embedded(&text).iter().take(3) {
        assert!(job.text(&text).lines().count() <= text.lines().count().max(1), "places stay those of the whole text");
    }
    drop(command_line::split(shell::words(&text), &|_| None));
    drop(command_line::commands_in(&text));
    match JobFile::parse(&text, "fuzz.fio") {
        Err(errors) => drop(errors.to_string()),
        Ok(file) => match file.plan(1 << 21) {
            Err(errors) => drop(errors.to_string()),
            Ok(plan) => {
                for mut source in plan.sources(0) {
                    for _ in 0..8 {
                        if let Some(next) = source.next() {
                            source.emit(next, &mut Vec::new());
                        }
                    }
                }
            }
        },
    }
}
