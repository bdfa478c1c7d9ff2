//! The files that the jobs use, their names and their required lengths.
//!
//! **Rule** The files that a process names itself (`nrfiles`) are placed together, in the order of their numbers; so
//! they are one *extent group*. Every file named in the job file is a separate group. The first process to use a file
//! puts it in its group.

use std::collections::BTreeMap;

use super::errors::{Note, Problem};
use super::layout::{self, ExtentGroup, FileExtent, Need, TooLarge};
use super::names::file_names;
use super::sections::JobSection;
use super::settings::Settings;
use super::values::LengthOrShare;
use crate::disks::DiskPlaces;
use crate::host::fs::FsKind;

/// One clone of a job, before it has a place on the disk.
pub(super) struct JobClone<'a> {
    pub job: &'a JobSection,
    pub number: u64,
    /// Its files, in order.
    pub files: Vec<usize>,
}

/// The files that the clones use, by first use.
#[derive(Default)]
pub(super) struct Files {
    pub names: Vec<String>,
    pub needs: Vec<Need>,
    /// The disk of each.
    pub disks: Vec<usize>,
    /// Which files are adjacent.
    pub extent_groups: Vec<ExtentGroup>,
    by_name: BTreeMap<String, usize>,
}

impl Files {
    /// The files of this clone of `job`; new ones are created.
    pub fn add(&mut self, job: &JobSection, number: u64, disks: &DiskPlaces) -> Result<Vec<usize>, Problem> {
        let names = file_names(job, number);
        let share = names.len() as u64;
        let together = job.settings.files.filename.is_none();
        let first = self.names.len();
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let disk = disks.of_file(&name);
            let bytes = disks.all()[disk].sectors.saturating_mul(512);
            let need = need(job, number, (&name, share), bytes)?;
            files.push(self.file(name, need, together, first));
            if self.disks.len() < self.names.len() {
                self.disks.push(disk);
            }
        }
        Ok(files)
    }

    fn file(&mut self, name: String, need: Need, together: bool, first: usize) -> usize {
        if let Some(&file) = self.by_name.get(&name) {
            self.needs[file] = match (self.needs[file], need) {
                (Need::Bytes(a), Need::Bytes(b)) => Need::Bytes(a.max(b)),
                (Need::Exactly(a), Need::Exactly(b) | Need::Bytes(b)) | (Need::Bytes(b), Need::Exactly(a)) => {
                    Need::Exactly(a.max(b))
                }
                (Need::Existing, other) | (other, _) => other,
            };
            return file;
        }
        let file = self.names.len();
        match self.extent_groups.last_mut() {
            Some(group) if together && group.files.start >= first && group.files.end == file => group.files.end += 1,
            _ => self.extent_groups.push(ExtentGroup { files: file..file + 1 }),
        }
        self.by_name.insert(name.clone(), file);
        self.names.push(name);
        self.needs.push(need);
        file
    }

    /// Lays each disk's files out on it; the file system is on the first.
    pub fn lay_out(&self, fs: FsKind, disks: &DiskPlaces) -> Result<Vec<FileExtent>, TooLarge> {
        if disks.is_one() {
            return layout::lay_out_on(
                fs,
                &self.needs,
                &self.extent_groups,
                disks.all()[0].sectors.saturating_mul(512),
            );
        }
        let mut extents = vec![FileExtent { start: 0, length: 0 }; self.names.len()];
        for (nth, disk) in disks.all().iter().enumerate() {
            let own: Vec<usize> = (0..self.names.len()).filter(|&file| self.disks[file] == nth).collect();
            let needs: Vec<Need> = own.iter().map(|&file| self.needs[file]).collect();
            let place = |file: usize| own.partition_point(|&own| own < file);
            let group = |group: &ExtentGroup| ExtentGroup { files: place(group.files.start)..place(group.files.end) };
            let groups = self.extent_groups.iter().map(group).filter(|group| !group.files.is_empty());
            let fs = if nth == 0 { fs } else { FsKind::None };
            let laid = layout::lay_out_on(fs, &needs, &groups.collect::<Vec<_>>(), disk.sectors.saturating_mul(512));
            let laid = laid.map_err(|error| TooLarge { file: own[error.file], ..error })?;
            for (file, extent) in own.into_iter().zip(laid) {
                extents[file] = FileExtent { start: disk.first.0 * 512 + extent.start, ..extent };
            }
        }
        Ok(extents)
    }

    /// Files whose length was assumed.
    pub fn notes(&self, clones: &[JobClone<'_>]) -> Vec<Note> {
        let mut told = vec![false; self.names.len()];
        let mut notes = Vec::new();
        for clone in clones {
            let existing = |file: &&usize| self.needs[**file] == Need::Existing;
            for &file in clone.files.iter().filter(existing) {
                if !std::mem::replace(&mut told[file], true) {
                    notes.push(assumed(clone.job));
                }
            }
        }
        notes
    }
}

fn assumed(job: &JobSection) -> Note {
    let (option, why) = match job.settings.files.fill_device {
        true => ("fill_device", "the device is full when the file has reached its equal share of the free disk"),
        false => {
            ("filename", "no job gives a size: the file is taken to exist and gets an equal share of the free disk")
        }
    };
    Note { place: job.settings.place_of(option, &job.place), option, why: why.to_owned() }
}

pub(super) use crate::disks::is_device;

/// Whether a value of `filename`, which may name several, names devices alone.
pub(super) fn are_devices(names: &str) -> bool {
    names.split(':').all(is_device)
}

/// What one of `share` files of a clone needs.
fn need(job: &JobSection, number: u64, (name, share): (&str, u64), disk: u64) -> Result<Need, Problem> {
    let s = &job.settings;
    match s.size {
        _ if is_device(name) => Ok(Need::WholeDisk),
        _ if s.files.fill_device => Ok(Need::Existing),
        _ if let Some(range) = s.files.filesize => Ok(Need::Exactly(drawn_size(s, range, name))),
        Some(LengthOrShare::Bytes(size)) if size > 0 => {
            Ok(Need::Bytes(share_of(size, share, s).saturating_add(first_offset(s, number))))
        }
        _ if s.files.filename.is_some() => Ok(Need::Existing),
        _ => {
            let title = format!("job `{}` needs `size`", job.name);
            let expected = format!("its file does not exist yet; the disk has {disk} bytes");
            let problem = Problem::new(s.place_of("size", &job.place), title, expected);
            Err(problem.help("say `size=…`, or `filename=/dev/…` for the whole disk"))
        }
    }
}

fn first_offset(s: &Settings, number: u64) -> u64 {
    let bytes = |extent| match extent {
        LengthOrShare::Bytes(bytes) => bytes,
        LengthOrShare::Percent(_) => 0,
    };
    bytes(s.offset).saturating_add(bytes(s.offset_increment).saturating_mul(number))
}

/// Each file's part of `size`: whole blocks (tried).
pub(super) fn share_of(size: u64, files: u64, s: &Settings) -> u64 {
    match files {
        1 => size,
        _ => size / files - size / files % s.min_bs().max(1),
    }
}

/// A length in the range that depends only on the file's name and `randseed`, in whole blocks and at least one.
fn drawn_size(s: &Settings, (from, to): (u64, u64), name: &str) -> u64 {
    let unit = s.max_bs().max(1);
    if from == to || to / unit <= from / unit {
        return from.max(unit).min(to);
    }
    // FNV-1a; any hash of names would do.
    let seed = s.randseed.unwrap_or(0) ^ 0xcbf2_9ce4_8422_2325;
    let hash = name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let (least, most) = (from.div_ceil(unit).max(1), to / unit);
    (least + super::process::mix(hash) % (most - least + 1)) * unit
}

/// The error about the first file that does not fit.
pub(super) fn does_not_fit(clones: &[JobClone<'_>], files: &Files, error: TooLarge) -> Problem {
    let user = clones.iter().find(|clone| clone.files.contains(&error.file)).map(|clone| clone.job);
    let job = user.expect("every file is some clone's");
    let file = format!("file `{}` of job `{}`", files.names[error.file], job.name);
    let (title, expected) = match error.longest {
        None => (format!("{file} does not fit on the disk"), format!("{} MiB are left", error.free >> 20)),
        Some(longest) => {
            let title = format!("{file} is longer than the file system's files can be");
            (title, format!("at most {} MiB", longest >> 20))
        }
    };
    let option = if job.settings.files.filesize.is_some() { "filesize" } else { "size" };
    Problem::new(job.settings.place_of(option, &job.place), title, expected)
}
