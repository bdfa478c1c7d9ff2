//! A file system as it is made and mounted, in a word: `ext4:data=writeback,commit=30`.
//!
//! The options are those of `mount(8)`; two of ext4's and one of xfs's are of the time when it was made (`mkfs`).

use core::fmt;

use blksched::Span;
use blksched_text::nearest;

use super::BLOCK_SECTORS;
use super::kind::{FsKind, JournalMode, NewBlocks};
use super::layout::XfsGeometry;

/// Why a word does not name a file system that can be had: what was expected, and the nearest word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongMount {
    /// What is wrong, and what was expected.
    pub why: String,
    /// The valid word that is nearest to the wrong one.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for WrongMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        self.nearest.map_or(Ok(()), |near| write!(f, "; did you mean `{near}`?"))
    }
}

impl core::error::Error for WrongMount {}

/// A disk's name as in `/sys/block`, short enough to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskWord {
    text: [u8; DiskWord::LONGEST],
    length: u8,
}

impl DiskWord {
    /// The longest name \[bytes\]: that of the kernel's.
    const LONGEST: usize = 31;

    /// The disk of this name, with or without `/dev/`.
    fn named(word: &str) -> Option<DiskWord> {
        let word = word.strip_prefix("/dev/").unwrap_or(word);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let fits = !word.is_empty() && word.len() <= DiskWord::LONGEST && word.bytes().all(is_name);
        let mut text = [0; DiskWord::LONGEST];
        text.get_mut(..word.len()).filter(|_| fits)?.copy_from_slice(word.as_bytes());
        Some(DiskWord { text, length: word.len() as u8 })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// What may be said when a file system is made or mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// `data=` of ext4.
    pub data: JournalMode,
    /// `commit=` of ext4.
    pub commit: Span,
    /// Not `nobarrier` of ext4.
    pub barrier: bool,
    /// Not `nodelalloc` of ext4.
    pub delalloc: bool,
    /// `dioread_lock` of ext4.
    pub dioread_lock: bool,
    /// `sync` of ext4.
    pub sync: bool,
    /// `dirsync` of ext4, which `sync` implies.
    pub dirsync: bool,
    /// `min_batch_time=` of ext4.
    pub min_batch: Span,
    /// `max_batch_time=` of ext4.
    pub max_batch: Span,
    /// `journal_async_commit` of ext4.
    pub async_commit: bool,
    /// `journal_ioprio=` of ext4: jbd2's level of the best-effort class.
    pub journal_ioprio: u8,
    /// `journal_size=` of ext4 (`mkfs.ext4 -J size=`) \[bytes\]; by the disk's size if it is not said.
    pub journal_size: Option<u64>,
    /// Not `no_journal` of ext4 (`mkfs.ext4 -O ^has_journal`).
    pub has_journal: bool,
    /// The disk that the log has for itself: `journal_dev=` of ext4, `logdev=` of xfs.
    pub log_disk: Option<DiskWord>,
    /// `logbsize=` of xfs \[bytes\].
    pub logbsize: u64,
    /// `logbufs=` of xfs.
    pub logbufs: u64,
    /// `logsize=` of xfs (`mkfs.xfs -l size=`) \[bytes\]; by the disk's size if it is not said.
    pub logsize: Option<u64>,
}

impl MountOptions {
    /// Those of `mkfs` and `mount` for this one.
    pub fn of(kind: FsKind) -> MountOptions {
        let usual = MountOptions::default();
        match kind {
            FsKind::None | FsKind::Ext4 | FsKind::Xfs => usual,
            FsKind::Ext3 => MountOptions { delalloc: false, ..usual },
            FsKind::Ext2 => MountOptions { delalloc: false, has_journal: false, ..usual },
        }
    }

    /// Whether anything is said about synchronous changes.
    fn batches(&self) -> bool {
        let usual = MountOptions::default();
        self.sync || self.dirsync || (self.min_batch, self.max_batch) != (usual.min_batch, usual.max_batch)
    }

    /// When ext4's new blocks get places.
    pub fn new_blocks(&self) -> NewBlocks {
        match (self.delalloc, self.dioread_lock) {
            (false, _) => NewBlocks::AtOnce,
            (true, true) => NewBlocks::Written,
            (true, false) => NewBlocks::Unwritten,
        }
    }
}

impl Default for MountOptions {
    /// Those of `mkfs` and `mount` for ext4 and xfs.
    fn default() -> MountOptions {
        MountOptions {
            data: JournalMode::Ordered,
            commit: Span::from_secs(5),
            barrier: true,
            delalloc: true,
            dioread_lock: false,
            sync: false,
            dirsync: false,
            min_batch: Span::ZERO,
            max_batch: Span::from_ms(15),
            async_commit: false,
            journal_ioprio: 3,
            journal_size: None,
            has_journal: true,
            log_disk: None,
            logbsize: 32 << 10,
            logbufs: 8,
            logsize: None,
        }
    }
}

/// A file system, and how it is made and mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsMount {
    /// Which one.
    pub kind: FsKind,
    /// How.
    pub options: MountOptions,
}

impl From<FsKind> for FsMount {
    fn from(kind: FsKind) -> FsMount {
        FsMount { kind, options: MountOptions::of(kind) }
    }
}

impl PartialEq<FsKind> for FsMount {
    fn eq(&self, kind: &FsKind) -> bool {
        self.kind == *kind
    }
}

/// Options that are understood.
const OF_EXT4: [&str; 15] = [
    "data",
    "commit",
    "barrier",
    "nobarrier",
    "nodelalloc",
    "dioread_lock",
    "sync",
    "dirsync",
    "min_batch_time",
    "max_batch_time",
    "journal_async_commit",
    "journal_ioprio",
    "journal_size",
    "journal_dev",
    "no_journal",
];
/// Of those, the ones that it takes for the older formats.
const OF_EXT3: [&str; 11] = [
    "data",
    "commit",
    "barrier",
    "nobarrier",
    "sync",
    "dirsync",
    "min_batch_time",
    "max_batch_time",
    "journal_ioprio",
    "journal_size",
    "journal_dev",
];
const OF_EXT2: [&str; 2] = ["barrier", "nobarrier"];
const OF_XFS: [&str; 4] = ["logbufs", "logbsize", "logsize", "logdev"];

/// Options of both that change nothing here: reads change no times, and the rest is the default.
const IDLE: [&str; 8] = ["defaults", "rw", "async", "noatime", "nodiratime", "relatime", "nodiscard", "noquota"];
/// And of each.
const IDLE_OF_EXT4: [&str; 2] = ["auto_da_alloc", "errors"];
const IDLE_OF_XFS: [&str; 2] = ["attr2", "inode64"];

/// Real options that change what happens, in a way that is not modelled.
const NOT_MODELLED: [&str; 14] = [
    "fast_commit",
    "noauto_da_alloc",
    "sync",
    "dirsync",
    "discard",
    "lazytime",
    "strictatime",
    "stripe",
    "data_err",
    "rtdev",
    "wsync",
    "allocsize",
    "sunit",
    "swidth",
];

impl FsMount {
    /// The file system of this word: `NAME` or `NAME:OPTION,…`.
    ///
    /// ```
    /// use blksched_workloads::host::fs::{FsMount, JournalMode};
    ///
    /// let fs: FsMount = FsMount::named("ext4:data=writeback,commit=30").unwrap();
    /// assert_eq!(fs.options.data, JournalMode::Writeback);
    /// assert_eq!(fs.to_string(), "ext4:data=writeback,commit=30");
    /// let wrong = FsMount::named("ext4:barier=0").unwrap_err();
    /// assert_eq!(wrong.nearest, Some("barrier"));
    /// ```
    ///
    /// # Errors
    /// That it, or an option, is not modelled, or not known, and what was expected.
    pub fn named(text: &str) -> Result<FsMount, WrongMount> {
        let (word, options) = text.split_once(':').unwrap_or((text, ""));
        let mut mount = FsMount::from(FsKind::named(word.trim()).map_err(|wrong| with_colon(wrong, word))?);
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            mount.set(option)?;
        }
        match mount.options {
            MountOptions { async_commit: true, data: JournalMode::Ordered, .. } => {
                wrong("journal_async_commit needs data=writeback: ext4 cannot be mounted so with data=ordered")
            }
            MountOptions { has_journal: false, data, commit, async_commit, journal_ioprio, .. }
                if (data, commit, async_commit, journal_ioprio)
                    != (JournalMode::Ordered, Span::from_secs(5), false, 3)
                    || mount.options.journal_size.is_some()
                    || mount.options.batches()
                    || mount.options.log_disk.is_some() =>
            {
                let what = "data=, commit=, sync, dirsync, min_batch_time=, max_batch_time=, journal_async_commit, \
                            journal_ioprio=, journal_size= and journal_dev=";
                wrong(format!(
                    "no_journal leaves nothing for {what} (sync and dirsync without a journal are not modelled)"
                ))
            }
            _ => Ok(mount),
        }
    }

    /// Takes an option, `NAME` or `NAME=VALUE`.
    fn set(&mut self, option: &str) -> Result<(), WrongMount> {
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let (own, idle): (&[&'static str], &[&str]) = match self.kind {
            FsKind::Ext4 => (&OF_EXT4, &IDLE_OF_EXT4),
            FsKind::Ext3 => (&OF_EXT3, &IDLE_OF_EXT4),
            FsKind::Ext2 => (&OF_EXT2, &IDLE_OF_EXT4),
            FsKind::Xfs => (&OF_XFS, &IDLE_OF_XFS),
            FsKind::None => return wrong(format!("`{option}`: none is no file system, and has no options")),
        };
        let is_known = |name| own.contains(&name) || idle.contains(&name) || IDLE.contains(&name);
        if matches!(self.kind, FsKind::Ext3 | FsKind::Ext2) && !is_known(name) && !NOT_MODELLED.contains(&name) {
            return Err(unknown(self.kind, own, name));
        }
        // What is left to the older formats means the same.
        let kind = if self.kind.is_ext() { FsKind::Ext4 } else { self.kind };
        let options = &mut self.options;
        match (kind, name, value) {
            (_, name, _) if NOT_MODELLED.contains(&name) && !own.contains(&name) => {
                return wrong(format!("`{option}` of {} is not modelled: {} are", self.kind, own.join(", ")));
            }
            (FsKind::Ext4, "data", Some(value)) => options.data = data(value)?,
            (FsKind::Ext4, "commit", Some(value)) => options.commit = commit(value)?,
            (FsKind::Ext4, "barrier", None | Some("1")) => options.barrier = true,
            (FsKind::Ext4, "barrier", Some("0")) | (FsKind::Ext4, "nobarrier", None) => options.barrier = false,
            (FsKind::Ext4, "barrier", Some(value)) => return wrong(format!("barrier={value}: expected 0 or 1")),
            (FsKind::Ext4, "delalloc", None) => options.delalloc = true,
            (FsKind::Ext4, "nodelalloc", None) => options.delalloc = false,
            (FsKind::Ext4, "dioread_nolock", None) => options.dioread_lock = false,
            (FsKind::Ext4, "dioread_lock" | "nodioread_nolock", None) => options.dioread_lock = true,
            (FsKind::Ext4, "async", None) => options.sync = false,
            (FsKind::Ext4, "sync", None) => options.sync = true,
            (FsKind::Ext4, "dirsync", None) => options.dirsync = true,
            (FsKind::Ext4, "min_batch_time", Some(value)) => options.min_batch = batch(name, value)?,
            (FsKind::Ext4, "max_batch_time", Some(value)) => options.max_batch = batch(name, value)?,
            (FsKind::Ext4, "journal_async_commit", None) => options.async_commit = true,
            (FsKind::Ext4, "no_journal", None) => options.has_journal = false,
            (FsKind::Ext4, "journal_ioprio", Some(value)) => match value.parse() {
                Ok(level @ 0..=7) => options.journal_ioprio = level,
                _ => return wrong(format!("journal_ioprio={value}: expected 0 (first) to 7")),
            },
            (FsKind::Ext4, "journal_size", Some(value)) => {
                options.journal_size = Some(bytes((name, value), 4 << 20..=40 << 30, 4096)?);
            }
            (FsKind::Ext4, "journal_dev" | "journal_path", Some(value)) | (FsKind::Xfs, "logdev", Some(value)) => {
                let Some(disk) = DiskWord::named(value) else {
                    return wrong(format!("{name}={value}: expected another disk of the run, as in {name}=/dev/sdb"));
                };
                options.log_disk = Some(disk);
            }
            (FsKind::Xfs, "logbufs", Some(value)) => match value.parse() {
                Ok(buffers @ 2..=8) => options.logbufs = buffers,
                _ => return wrong(format!("logbufs={value}: expected 2 to 8")),
            },
            (FsKind::Xfs, "logsize", Some(value)) => {
                options.logsize = Some(bytes((name, value), 8 << 20..=2 << 30, 4096)?);
            }
            (FsKind::Xfs, "logbsize", Some(value)) => options.logbsize = log_buffer(value)?,
            (FsKind::Xfs, "barrier" | "nobarrier", _) => {
                return wrong(format!("`{option}`: xfs has had no such option since Linux 4.19, and always flushes"));
            }
            (_, name, value) if IDLE.contains(&name) || idle.contains(&name) => changes_nothing(name, value)?,
            (_, name, _) if own.contains(&name) => {
                let expected =
                    if value.is_some() { format!("`{name}` without a value") } else { format!("{name}=…") };
                return wrong(format!("`{option}`: expected {expected}"));
            }
            _ => return Err(unknown(self.kind, own, name)),
        }
        Ok(())
    }

    /// Whether it, and the journal or log that was asked for, has room on a disk of this length \[512-byte sectors\].
    ///
    /// # Errors
    /// That the disk is too short for one; that the journal is longer than a quarter of it (ext4), or the log than an
    /// allocation group (xfs); and the disk's length.
    pub fn fits(&self, sectors: u64) -> Result<(), WrongMount> {
        let least = self.kind.shortest_disk();
        if sectors < least {
            let (least, disk) = (least >> 11, (sectors * 512) >> 20);
            return wrong(format!(
                "{} is modelled on disks of at least {least} MiB, and this one has {disk}",
                self.kind
            ));
        }
        if self.options.log_disk.is_some() {
            // There its disk is the limit.
            return Ok(());
        }
        let (option, said, (most, of)) = match self.kind {
            FsKind::None => return Ok(()),
            FsKind::Ext4 | FsKind::Ext3 | FsKind::Ext2 => {
                ("journal_size", self.options.journal_size, (sectors / 4 * 512, "a quarter"))
            }
            FsKind::Xfs => {
                // The head of its group lies before the log.
                let group = XfsGeometry { sectors }.group().saturating_sub(48);
                ("logsize", self.options.logsize, (group * 512, "an allocation group"))
            }
        };
        match said {
            Some(bytes) if bytes > most => {
                let (said, most, disk) = (size(Some(bytes)), most >> 20, (sectors * 512) >> 20);
                wrong(format!("{option}={said}: expected at most {most}m, {of} of the disk, which has {disk} MiB"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the journal or log that was asked for has room on a disk of its own, of this length
    /// \[512-byte sectors\].
    ///
    /// # Errors
    /// What was expected instead: it is longer than the disk, whose first block is no part of a journal.
    pub fn fits_log_disk(&self, sectors: u64) -> Result<(), WrongMount> {
        let (option, said, room) = match self.kind {
            FsKind::None => return Ok(()),
            FsKind::Ext4 | FsKind::Ext3 | FsKind::Ext2 => {
                ("journal_size", self.options.journal_size, sectors.saturating_sub(BLOCK_SECTORS) * 512)
            }
            FsKind::Xfs => ("logsize", self.options.logsize, sectors * 512),
        };
        match said {
            Some(bytes) if bytes > room => {
                let (said, most) = (size(Some(bytes)), room >> 20);
                wrong(format!("{option} of at most {most}m instead of {said}"))
            }
            _ => Ok(()),
        }
    }

    /// What differs from the defaults, as on a command line; empty if nothing does.
    pub fn said(&self) -> String {
        let (own, usual) = (&self.options, MountOptions::of(self.kind));
        let mut words: Vec<String> = Vec::new();
        let mut say = |is: bool, word: String| words.extend(is.then_some(word));
        say(own.data != usual.data, format!("data={}", own.data.word()));
        say(own.commit != usual.commit, format!("commit={}", own.commit.as_ns() / 1_000_000_000));
        if let Some(disk) = own.log_disk {
            let option = if self.kind == FsKind::Xfs { "logdev" } else { "journal_dev" };
            say(true, format!("{option}={}", disk.as_str()));
        }
        say(!own.barrier, "nobarrier".to_owned());
        say(own.delalloc != usual.delalloc, "nodelalloc".to_owned());
        say(own.dioread_lock, "dioread_lock".to_owned());
        say(own.sync, "sync".to_owned());
        say(own.dirsync, "dirsync".to_owned());
        let us = |time: Span| time.as_ns() / 1000;
        say(own.min_batch != usual.min_batch, format!("min_batch_time={}", us(own.min_batch)));
        say(own.max_batch != usual.max_batch, format!("max_batch_time={}", us(own.max_batch)));
        say(own.async_commit, "journal_async_commit".to_owned());
        say(own.journal_ioprio != usual.journal_ioprio, format!("journal_ioprio={}", own.journal_ioprio));
        say(own.journal_size.is_some(), format!("journal_size={}", size(own.journal_size)));
        say(own.has_journal != usual.has_journal, "no_journal".to_owned());
        say(own.logbufs != usual.logbufs, format!("logbufs={}", own.logbufs));
        say(own.logbsize != usual.logbsize, format!("logbsize={}", size(Some(own.logbsize))));
        say(own.logsize.is_some(), format!("logsize={}", size(own.logsize)));
        words.join(",")
    }
}

impl fmt::Display for FsMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.said();
        let colon = if said.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{said}", self.kind)
    }
}

fn wrong<T>(why: impl Into<String>) -> Result<T, WrongMount> {
    Err(WrongMount { why: why.into(), nearest: None })
}

fn data(value: &str) -> Result<JournalMode, WrongMount> {
    let words = || JournalMode::ALL.into_iter().map(JournalMode::word);
    JournalMode::ALL.into_iter().find(|mode| mode.word() == value).ok_or_else(|| WrongMount {
        why: format!("data={value}: expected {}", words().collect::<Vec<_>>().join(", ")),
        nearest: nearest(value, words().filter(|_| value.len() <= 64)),
    })
}

/// Checks the value of an option that changes nothing here.
fn changes_nothing(name: &str, value: Option<&str>) -> Result<(), WrongMount> {
    const ERRORS: [&str; 3] = ["continue", "remount-ro", "panic"];
    let said = value.map_or(name.to_owned(), |value| format!("{name}={value}"));
    match (name, value) {
        ("errors", Some(value)) if ERRORS.contains(&value) => Ok(()),
        ("errors", _) => Err(WrongMount {
            why: format!("`{said}`: expected errors=continue, errors=remount-ro or errors=panic"),
            nearest: value.filter(|value| value.len() <= 64).and_then(|value| nearest(value, ERRORS)),
        }),
        ("auto_da_alloc", Some("1")) | (_, None) => Ok(()),
        ("auto_da_alloc", Some("0")) => wrong(format!("`{said}`: `noauto_da_alloc` of ext4 is not modelled")),
        ("auto_da_alloc", _) => wrong(format!("`{said}`: expected auto_da_alloc=1")),
        _ => wrong(format!("`{said}`: expected `{name}` without a value")),
    }
}

/// Microseconds; a second is longer than any commit should take.
fn batch(name: &str, value: &str) -> Result<Span, WrongMount> {
    match value.parse() {
        Ok(us @ 0..=1_000_000) => Ok(Span::from_us(us)),
        _ => wrong(format!("{name}={value}: expected whole microseconds, 0 to 1000000")),
    }
}

/// That an option is not one of the file system's, which are `own`.
fn unknown(kind: FsKind, own: &[&'static str], name: &str) -> WrongMount {
    let other = match kind {
        FsKind::Ext3 if name == "no_journal" => " (that is ext2)",
        FsKind::Xfs | FsKind::Ext3 | FsKind::Ext2 if OF_EXT4.contains(&name) => " (ext4 has it)",
        FsKind::Ext4 if OF_XFS.contains(&name) => " (xfs has it)",
        _ => "",
    };
    let why = format!("unknown option `{name}` of {kind}{other}: expected {}", own.join(", "));
    // Long texts are not misspelt words.
    let known = own.iter().chain(&NOT_MODELLED).copied().filter(|_| name.len() <= 64);
    WrongMount { why, nearest: nearest(name, known) }
}

/// What is wrong with a word that names a file system and, without a colon, its options.
fn with_colon(wrong: WrongMount, word: &str) -> WrongMount {
    let has_options = |name| FsKind::named(name).is_ok_and(|kind| kind != FsKind::None);
    let found = word.trim().split_once([',', ' ']);
    let found = found.filter(|(name, options)| has_options(name) && !options.trim().is_empty());
    let Some((name, options)) = found else { return wrong };
    let (word, with_it) = (word.trim(), format!("{name}:{}", options.trim()));
    // What is refused itself is no advice.
    let why = match FsMount::named(&with_it) {
        Ok(_) => format!("`{word}`: expected a colon before options, as in `{with_it}`"),
        Err(inner) => format!("`{word}`: expected a colon before options; and {}", inner.why),
    };
    WrongMount { why, nearest: None }
}

/// A day is longer than any run.
fn commit(value: &str) -> Result<Span, WrongMount> {
    match value.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Span::from_secs(seconds)),
        // Linux takes 0 for its default.
        Ok(0) => Ok(MountOptions::default().commit),
        _ => wrong(format!("commit={value}: expected whole seconds, 1 to 86400")),
    }
}

/// A length in bytes within these, and a multiple of `of`: `64m`, `256k`.
fn bytes((name, value): (&str, &str), within: core::ops::RangeInclusive<u64>, of: u64) -> Result<u64, WrongMount> {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &value[digits.len()..] {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        _ => None,
    };
    let read = || digits.parse::<u64>().ok()?.checked_mul(1 << shift?);
    match read() {
        Some(bytes) if within.contains(&bytes) && bytes.is_multiple_of(of) => Ok(bytes),
        _ => {
            let (least, most) = (size(Some(*within.start())), size(Some(*within.end())));
            wrong(format!("{name}={value}: expected {least} to {most}"))
        }
    }
}

fn log_buffer(value: &str) -> Result<u64, WrongMount> {
    match bytes(("logbsize", value), 16 << 10..=256 << 10, 1)? {
        bytes if bytes.is_power_of_two() => Ok(bytes),
        _ => wrong(format!("logbsize={value}: expected 16k, 32k, 64k, 128k or 256k")),
    }
}

fn size(bytes: Option<u64>) -> String {
    match bytes.unwrap_or_default() {
        bytes if bytes.is_multiple_of(1 << 30) => format!("{}g", bytes >> 30),
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        bytes => format!("{}k", bytes >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_reads_as_it_is_written() {
        for text in [
            "none",
            "xfs",
            "ext4:data=writeback,commit=30,nobarrier,journal_async_commit,journal_ioprio=0,journal_size=64m",
            "ext4:no_journal",
            "ext4:nodelalloc",
            "ext4:dioread_lock",
            "ext4:sync,dirsync,min_batch_time=100,max_batch_time=0",
            "ext4:data=journal,journal_size=64m",
            "ext4:journal_dev=nvme0n1",
            "ext3",
            "ext3:data=writeback,commit=9,dirsync",
            "ext2:nobarrier",
            "xfs:logdev=sdb,logsize=64m",
            "xfs:logbufs=2,logbsize=256k,logsize=2g",
        ] {
            assert_eq!(FsMount::named(text).map(|mount| mount.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(FsMount::named("ext4:rw,noatime,errors=remount-ro,barrier=1"), Ok(FsMount::from(FsKind::Ext4)));
        assert_eq!(FsMount::named("ext3:auto_da_alloc"), Ok(FsMount::from(FsKind::Ext3)));
        assert_eq!(FsMount::named("xfs:rw,noatime,inode64,logbufs=8,noquota"), Ok(FsMount::from(FsKind::Xfs)));
    }

    #[test]
    fn a_journal_has_to_have_room_on_the_disk() {
        let fits = |text: &str| FsMount::named(text).unwrap().fits(1 << 21).map_err(|wrong| wrong.why);
        assert_eq!((fits("ext4:journal_size=256m"), fits("xfs:logsize=64m"), fits("none")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(
            fits("ext4:journal_size=257m").unwrap_err(),
            "journal_size=257m: expected at most 256m, a quarter of the disk, which has 1024 MiB"
        );
        let short = |text: &str, mib: u64| FsMount::named(text).unwrap().fits(mib << 11).map_err(|wrong| wrong.why);
        assert_eq!((short("ext3", 16), short("ext2", 16), short("none", 1)), (Ok(()), Ok(()), Ok(())));
        let why = "ext3 is modelled on disks of at least 16 MiB, and this one has 15";
        assert_eq!(short("ext3", 15).unwrap_err(), why);
        assert_eq!(
            fits("xfs:logsize=256m").unwrap_err(),
            "logsize=256m: expected at most 255m, an allocation group of the disk, which has 1024 MiB"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        let all = [
            ("ext4:datta=writeback", "unknown option `datta` of ext4", Some("data")),
            ("ext4:data=writebak", "expected ordered, writeback, journal", Some("writeback")),
            ("ext4:data=jurnal", "expected ordered, writeback, journal", Some("journal")),
            ("ext4:fast_commit", "`fast_commit` of ext4 is not modelled: data, commit", None),
            ("ext4:commit=soon", "commit=soon: expected whole seconds", None),
            ("ext4:max_batch_time=15ms", "max_batch_time=15ms: expected whole microseconds", None),
            ("ext4:no_journal,dirsync", "no_journal leaves nothing", None),
            ("ext4:dirsnyc", "unknown option `dirsnyc` of ext4", Some("dirsync")),
            ("xfs:dirsync", "`dirsync` of xfs is not modelled", None),
            ("ext4:dirsync=1", "expected `dirsync` without a value", None),
            ("ext4:commit", "`commit`: expected commit=…", None),
            ("ext4:nobarrier=1", "expected `nobarrier` without a value", None),
            ("ext4:journal_async_commit", "needs data=writeback", None),
            ("ext4:journal_size=1m", "journal_size=1m: expected 4m to 40g", None),
            ("ext4:journal_dev=a b", "journal_dev=a b: expected another disk of the run", None),
            ("ext4:jurnal_dev=sdb", "unknown option `jurnal_dev` of ext4", Some("journal_dev")),
            ("ext4:no_journal,journal_dev=sdb", "no_journal leaves nothing", None),
            ("ext4:journal_ioprio=9", "expected 0 (first) to 7", None),
            ("ext4:no_journal,commit=9", "no_journal leaves nothing", None),
            ("ext4:no_journal,journal_ioprio=0", "no_journal leaves nothing", None),
            ("xfs:nobarrier", "since Linux 4.19", None),
            ("xfs:logbsize=48k", "expected 16k, 32k, 64k, 128k or 256k", None),
            ("xfs:logbufs=1", "logbufs=1: expected 2 to 8", None),
            ("xfs:logbuf=4", "unknown option `logbuf` of xfs", Some("logbufs")),
            ("ext3:nodelalloc", "unknown option `nodelalloc` of ext3 (ext4 has it): expected data, commit", None),
            ("ext3:journal_async_commit", "unknown option `journal_async_commit` of ext3 (ext4 has it)", None),
            ("ext3:fast_commit", "`fast_commit` of ext3 is not modelled", None),
            ("ext2:commit=5", "unknown option `commit` of ext2 (ext4 has it): expected barrier, nobarrier", None),
            ("ext3:no_journal", "unknown option `no_journal` of ext3 (that is ext2)", None),
            ("ext2:sync", "`sync` of ext2 is not modelled", None),
            ("ext4:inode64", "unknown option `inode64` of ext4", None),
            ("xfs:errors=continue", "unknown option `errors` of xfs", None),
            ("xfs:logbsz=64k", "of xfs: expected logbufs, logbsize, logsize, logdev", Some("logbsize")),
            ("none:commit=5", "none is no file system", None),
            ("btrfs:ssd", "not modelled", None),
            ("exft4", "unknown file system `exft4`", Some("ext4")),
            ("xfs:commit=5", "unknown option `commit` of xfs (ext4 has it): expected logbufs, logbsize", None),
            ("ext4, commit=5", "expected a colon before options, as in `ext4:commit=5`", None),
            ("none,commit=5", "unknown file system `none,commit=5`", None),
            ("xfs,", "unknown file system `xfs,`", Some("xfs")),
            ("xfs:inode64=3", "`inode64=3`: expected `inode64` without a value", None),
            ("ext4:noatime=1", "`noatime=1`: expected `noatime` without a value", None),
            ("ext4:errors", "`errors`: expected errors=continue, errors=remount-ro or errors=panic", None),
            ("ext4:errors=painc", "`errors=painc`: expected errors=continue, errors=remount-ro", Some("panic")),
            ("ext4:auto_da_alloc=0", "`noauto_da_alloc` of ext4 is not modelled", None),
            ("ext4:auto_da_alloc=2", "`auto_da_alloc=2`: expected auto_da_alloc=1", None),
            ("xfs commit=5", "expected a colon before options; and unknown option `commit` of xfs (ext4 has", None),
        ];
        for (text, why, nearest) in all {
            let wrong = FsMount::named(text).unwrap_err();
            assert!(wrong.why.contains(why) && wrong.nearest == nearest, "{text}: {wrong:?}");
        }
    }
}
