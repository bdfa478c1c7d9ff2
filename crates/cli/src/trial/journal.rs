//! The journal: what was there before the first switch, in a file that outlives the trial.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use blksched_lab::live::{Place, Saved};

use crate::failure::Failure;

const HEAD: &str = "blksched trial 1";

/// What is needed to give everything back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Journal {
    pub disk: String,
    /// The trial's process.
    pub process: u32,
    pub saved: Saved,
}

impl Journal {
    /// Writes a new one, to the disk, before anything is changed; fails if there is one of the same disk.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let path = self.path(folder);
        let outside = |error: std::io::Error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::Input(format!(
                "{}: a trial of {} is under way, or was cut off: `blksched trial --restore` gives back what was there",
                path.display(),
                self.disk
            )),
            _ => Failure::Outside(format!("{}: {error}", path.display())),
        };
        fs::create_dir_all(folder).map_err(outside)?;
        if let Some(other) = self.in_the_way(folder) {
            return Err(Failure::Input(format!(
                "{}: a trial of the same disk, or of the same limits of dirty pages, is under way or was cut off: \
                 `blksched trial --restore` gives back what was there",
                other.display()
            )));
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(outside)?;
        let written = file.write_all(self.text().as_bytes()).and_then(|()| file.sync_all());
        written.and_then(|()| File::open(folder)?.sync_all()).map_err(|error| {
            drop(fs::remove_file(&path));
            outside(error)
        })?;
        Ok(path)
    }

    /// Another trial's journal about one of these disks, or about the memory that is common to all.
    fn in_the_way(&self, folder: &Path) -> Option<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_one = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("trial-"))
        };
        let has_memory = |journal: &Journal| journal.saved.0.iter().any(|(place, _)| matches!(place, Place::Memory(_)));
        let meets = |path: &PathBuf| {
            let Ok(Some(other)) = Journal::read(path) else { return false };
            self.disk.split(',').any(|disk| other.has(disk)) || has_memory(self) && has_memory(&other)
        };
        entries.filter(is_one).find(meets)
    }

    /// Whether it is about this disk.
    pub fn has(&self, disk: &str) -> bool {
        self.disk.split(',').any(|own| own == disk)
    }

    /// Where it is to be.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("trial-{}", self.disk))
    }

    fn text(&self) -> String {
        let settings = self.saved.0.iter().map(|(place, value)| format!("{}={value}\n", place.path()));
        format!("{HEAD}\n{}\n{}\n{}end\n", self.disk, self.process, settings.collect::<String>())
    }

    /// Reads one. `None` if its end is missing: then it was not yet whole, and nothing had been changed.
    pub fn read(path: &Path) -> Result<Option<Journal>, Failure> {
        let text =
            fs::read_to_string(path).map_err(|error| Failure::Outside(format!("{}: {error}", path.display())))?;
        Journal::parse(&text).map_err(|line| Failure::Input(format!("{}: line {line}: not as written", path.display())))
    }

    fn parse(text: &str) -> Result<Option<Journal>, usize> {
        let Some(text) = text.strip_suffix("end\n") else { return Ok(None) };
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(1);
        }
        let disk = lines.next().filter(|name| !name.is_empty() && !name.contains('/')).ok_or(2usize)?.to_owned();
        let process = lines.next().and_then(|line| line.parse().ok()).ok_or(3usize)?;
        let setting = |(nth, line): (usize, &str)| {
            // Below the disk's queue, or a limit of dirty pages.
            let is_ours = |path: &str| !path.starts_with('/') || path.starts_with("/proc/sys/vm/dirty_");
            let known = line.split_once('=').filter(|(path, _)| !path.contains("..") && is_ours(path));
            known.map(|(path, value)| (Place::of_path(path), value.to_owned())).ok_or(nth + 4)
        };
        let saved = lines.enumerate().map(setting).collect::<Result<Vec<_>, usize>>()?;
        Ok(Some(Journal { disk, process, saved: Saved(saved) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_testkit::Folder;

    fn journal() -> Journal {
        let group = ("system.slice/db.service/io.max", "rbps=max wbps=9 riops=max wiops=max");
        let saved = [("scheduler", "bfq"), ("iosched/slice_idle", "8"), ("nr_requests", "256"), group];
        let saved = saved.map(|(path, value)| (Place::of_path(path), value.to_owned())).to_vec();
        Journal { disk: "sda".to_owned(), process: 12, saved: Saved(saved) }
    }

    #[test]
    fn it_comes_back_and_there_is_one_for_each_disk() {
        let folder = Folder::new();
        let path = journal().write(&folder).unwrap();
        assert_eq!(Journal::read(&path).unwrap(), Some(journal()));
        assert!(format!("{:?}", journal().write(&folder).unwrap_err()).contains("trial --restore"));
    }

    #[test]
    fn no_two_trials_are_about_one_disk_or_about_the_memory() {
        let folder = Folder::new();
        let of = |disk: &str, place: &str| {
            let saved = Saved(vec![(Place::of_path(place), "20".to_owned())]);
            Journal { disk: disk.to_owned(), process: 12, saved }.write(&folder).is_ok()
        };
        assert!(of("sda,sdb", "nr_requests"));
        assert!(!of("sdb", "nr_requests") && !of("sda", "nr_requests") && !of("sdb,sdc", "nr_requests"));
        assert!(of("sdd", "/proc/sys/vm/dirty_ratio"));
        assert!(of("sdg", "web/io.max") && of("sdh", "web/io.max"), "each disk has its own line");
        assert!(!of("sde", "/proc/sys/vm/dirty_ratio") && of("sdf", "nr_requests"));
    }

    #[test]
    fn half_a_journal_is_none_and_a_wrong_one_is_refused() {
        let text = journal().text();
        for end in 0..text.len() {
            assert_eq!(Journal::parse(&text[..end]), Ok(None), "{end}");
        }
        assert_eq!(Journal::parse(&text.replace("trial 1", "trial 2")), Err(1));
        assert_eq!(Journal::parse(&text.replace("iosched/slice_idle=", "../x=")), Err(5));
        assert_eq!(Journal::parse(&text.replace("iosched/slice_idle=", "/etc/passwd=")), Err(5));
    }
}
