//! Which files the jobs use, how they are called and how long they must be.

use std::collections::BTreeMap;

use super::errors::{Note, Problem};
use super::layout::{Need, TooLarge};
use super::sections::JobSection;
use super::values::Extent;

/// One clone of one job, before it has a place on the disk.
pub(super) struct Clone<'a> {
    pub job: &'a JobSection,
    pub number: u64,
    pub file: usize,
}

/// The files that the clones use, by first use.
#[derive(Default)]
pub(super) struct Files {
    pub names: Vec<String>,
    pub needs: Vec<Need>,
    by_name: BTreeMap<String, usize>,
}

impl Files {
    /// The file of this clone of `job`, made if it is new.
    pub fn add(&mut self, job: &JobSection, number: u64, disk: u64) -> Result<usize, Problem> {
        let name = file_name(job, number);
        let need = need(job, number, &name, disk)?;
        if let Some(&file) = self.by_name.get(&name) {
            self.needs[file] = match (self.needs[file], need) {
                (Need::Bytes(a), Need::Bytes(b)) => Need::Bytes(a.max(b)),
                (Need::Existing, other) | (other, _) => other,
            };
            return Ok(file);
        }
        let file = self.names.len();
        self.by_name.insert(name.clone(), file);
        self.names.push(name);
        self.needs.push(need);
        Ok(file)
    }

    /// Files whose length was assumed.
    pub fn notes(&self, clones: &[Clone<'_>]) -> Vec<Note> {
        let existing = (0..self.names.len()).filter(|&file| self.needs[file] == Need::Existing);
        let used_by = |file: usize| clones.iter().find(|clone| clone.file == file);
        let note = |clone: &Clone<'_>| Note {
            place: clone.job.settings.place_of("filename", &clone.job.place),
            option: "filename",
            why: "no job says a size: the file is taken to exist and gets an equal share of the free disk".to_owned(),
        };
        existing.filter_map(used_by).map(note).collect()
    }
}

fn file_name(job: &JobSection, number: u64) -> String {
    let s = &job.settings;
    let name = match &s.filename {
        Some(name) => name.replace("\\:", ":"),
        None => {
            let format = s.filename_format.as_deref().filter(|format| !format.is_empty());
            let words = [("$jobnum", number.to_string()), ("$filenum", "0".to_owned()), ("$clientuid", String::new())];
            let format = format.unwrap_or("$jobname.$jobnum.$filenum").replace("$jobname", &job.name);
            words.iter().fold(format, |format, (word, text)| format.replace(word, text))
        }
    };
    match &s.directory {
        Some(directory) if !is_device(&name) => format!("{}/{name}", directory.replace("\\:", ":")),
        _ => name,
    }
}

/// Files below /dev/shm are memory to Linux, and files to us.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/")
}

fn need(job: &JobSection, number: u64, name: &str, disk: u64) -> Result<Need, Problem> {
    let s = &job.settings;
    if is_device(name) {
        return Ok(Need::WholeDisk);
    }
    let offset = match s.offset {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(_) => 0,
    };
    let increment = match s.offset_increment {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(_) => 0,
    };
    let offset = offset.saturating_add(increment.saturating_mul(number));
    match s.size {
        Some(Extent::Bytes(size)) if size > 0 => {
            Ok(Need::Bytes(size.checked_next_multiple_of(s.max_bs()).unwrap_or(u64::MAX).saturating_add(offset)))
        }
        _ if s.filename.is_some() => Ok(Need::Existing),
        _ => {
            let title = format!("job `{}` needs `size`", job.name);
            let expected = format!("its file does not exist yet; the disk has {disk} bytes");
            let problem = Problem::new(s.place_of("size", &job.place), title, expected);
            Err(problem.help("say `size=…`, or `filename=/dev/…` for the whole disk"))
        }
    }
}

/// What to tell the user of the first file that does not fit.
pub(super) fn does_not_fit(clones: &[Clone<'_>], files: &Files, error: TooLarge) -> Problem {
    let user = clones.iter().find(|clone| clone.file == error.file).map(|clone| clone.job);
    let job = user.expect("every file is some clone's");
    let title = format!("file `{}` of job `{}` does not fit on the disk", files.names[error.file], job.name);
    let expected = format!("{} MiB are left", error.free >> 20);
    Problem::new(job.settings.place_of("size", &job.place), title, expected)
}
