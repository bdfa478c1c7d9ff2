//! A queue's scheduler and knobs: saved, changed, and restored however this program ends, unless it is killed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The previous settings.
pub(super) struct SavedSettings {
    queue: PathBuf,
    scheduler: Option<String>,
    /// Knobs of the queue and of that scheduler: file and value.
    knobs: Vec<(PathBuf, String)>,
    changed: bool,
}

/// Files of a queue under the scheduler that is measured, as far as they are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundQueue {
    pub nr_requests: Option<u32>,
    /// The target of write-back throttling \[us\]; 0: it is off.
    pub wbt_lat_usec: Option<u32>,
}

impl FoundQueue {
    /// The target that predictions are made with. Kernels before 6.12 show BFQ's disks the default, which is off.
    pub fn target(&self, scheduler: &str, release: &str) -> Option<u32> {
        let shows_truth = || {
            let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
            (numbers.next(), numbers.next()) >= (Some(6), Some(12))
        };
        self.wbt_lat_usec.filter(|_| scheduler != "bfq" || shows_truth())
    }
}

/// Knobs of the queue that a change of scheduler also changes.
const OF_THE_QUEUE: [&str; 3] = ["nr_requests", "wbt_lat_usec", "read_ahead_kb"];

fn value(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
}

impl SavedSettings {
    pub fn keep(queue: &Path) -> SavedSettings {
        let current = value(&queue.join("scheduler")).unwrap_or_default();
        let scheduler = current.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        let own = fs::read_dir(queue.join("iosched")).into_iter().flatten().flatten().map(|entry| entry.path());
        let files = OF_THE_QUEUE.iter().map(|name| queue.join(name)).chain(own);
        let knobs = files.filter_map(|file| value(&file).map(|value| (file, value))).collect();
        SavedSettings { queue: queue.to_path_buf(), scheduler: scheduler.map(str::to_owned), knobs, changed: false }
    }

    pub fn switch(&mut self, scheduler: &str) -> Result<(), Failure> {
        self.changed = true;
        let file = self.queue.join("scheduler");
        fs::write(&file, scheduler).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
    }

    /// What the queue has now.
    pub fn found(&self) -> FoundQueue {
        let number = |knob: &str| value(&self.queue.join(knob))?.parse().ok();
        FoundQueue { nr_requests: number("nr_requests"), wbt_lat_usec: number("wbt_lat_usec") }
    }

    /// Restores everything; the error names what cannot be restored.
    pub fn restore(mut self) -> Result<(), Failure> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), Failure> {
        if !std::mem::take(&mut self.changed) {
            return Ok(());
        }
        let mut failed = Vec::new();
        let mut put = |file: &Path, text: &str| {
            if value(file).as_deref() != Some(text)
                && let Err(error) = fs::write(file, text)
            {
                failed.push(format!("{} was {text}: {error}", file.display()));
            }
        };
        if let Some(scheduler) = &self.scheduler {
            let file = self.queue.join("scheduler");
            if let Err(error) = fs::write(&file, scheduler) {
                return Err(Failure::Outside(format!("{} was {scheduler}: {error}", file.display())));
            }
        }
        self.knobs.iter().for_each(|(file, text)| put(file, text));
        // Some knobs cannot be written as they are read; what reads the same is the same.
        failed.retain(|_| self.knobs.iter().any(|(file, text)| value(file).as_ref() != Some(text)));
        match failed.is_empty() {
            true => Ok(()),
            false => Err(Failure::Outside(format!("not as it was: {}", failed.join("; ")))),
        }
    }
}

impl Drop for SavedSettings {
    fn drop(&mut self) {
        if let Err(failure) = self.put_back() {
            failure.report();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_queue_shows_of_throttling_under_bfq_is_believed_since_6_12() {
        let found = FoundQueue { nr_requests: None, wbt_lat_usec: Some(75_000) };
        let target = |scheduler: &str, release: &str| found.target(scheduler, release);
        assert_eq!(target("bfq", "6.18.44-generic"), Some(75_000), "somebody wrote it");
        assert_eq!(target("bfq", "7.0.1"), Some(75_000));
        assert_eq!([target("bfq", "6.1.0-18-amd64"), target("bfq", "5.15.0")], [None; 2]);
        assert_eq!(target("none", "6.1.0-18-amd64"), Some(75_000));
        assert_eq!(
            FoundQueue { wbt_lat_usec: Some(0), ..found }.target("none", "6.18"),
            Some(0),
            "it was switched off"
        );
    }
}
