//! The control groups of the recorded tasks: comments that `blksched record` writes behind a tracefs text.
//!
//! ```text
//! # task 4711 /system.slice/postgresql.service
//! # group /system.slice io.weight=100
//! # group /system.slice/postgresql.service io.weight=500 io.bfq.weight=300
//! ```
//!
//! A task's number is the thread's, as in the events. Tasks of the root group, those that had ended before they were
//! looked up, and weights of 100, the kernel's default, are left out.

use std::collections::BTreeMap;
use std::fmt;

/// Which group each task was in, and the groups' weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedGroups {
    /// A task's group, from the root: `/system.slice/postgresql.service`.
    pub of_task: BTreeMap<u32, String>,
    /// A group's weights by the names of their files.
    pub weights: BTreeMap<String, BTreeMap<String, u32>>,
}

impl RecordedGroups {
    /// Takes one line; whether it is about groups. What is not as written is passed over.
    pub fn take(&mut self, line: &str) -> bool {
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(rest) = line.strip_prefix("# task ") {
            let told = rest.split_once(' ').and_then(|(task, group)| Some((task.parse().ok()?, group.to_owned())));
            self.of_task.extend(told.filter(|(_, group)| group.starts_with('/')));
            return true;
        }
        let Some(rest) = line.strip_prefix("# group ") else { return false };
        let (group, words) = rest.find(" io.").map_or((rest, ""), |at| rest.split_at(at));
        let weights = words.split_whitespace().filter_map(|word| word.split_once('='));
        let weights = weights.filter_map(|(file, weight)| Some((file.to_owned(), weight.parse().ok()?)));
        if group.starts_with('/') {
            self.weights.entry(group.to_owned()).or_default().extend(weights);
        }
        true
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.of_task.is_empty() && self.weights.is_empty()
    }
}

impl fmt::Display for RecordedGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (task, group) in &self.of_task {
            writeln!(f, "# task {task} {group}")?;
        }
        for (group, weights) in &self.weights {
            let weights: String = weights.iter().map(|(file, weight)| format!(" {file}={weight}")).collect();
            writeln!(f, "# group {group}{weights}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_other_comments_are_none() {
        let (db, slice) = ("/system.slice/a b.service".to_owned(), "/system.slice".to_owned());
        let weights =
            |pairs: &[(&str, u32)]| pairs.iter().map(|(file, weight)| ((*file).to_owned(), *weight)).collect();
        let groups = RecordedGroups {
            of_task: BTreeMap::from([(12, db.clone()), (13, slice.clone())]),
            weights: BTreeMap::from([
                (db, weights(&[("io.weight", 500), ("io.bfq.weight", 300)])),
                (slice, weights(&[])),
            ]),
        };
        let mut read = RecordedGroups::default();
        for line in groups.to_string().lines() {
            assert!(read.take(line), "{line}");
        }
        assert_eq!(read, groups);
        for line in ["# tracer: nop", "# device 8,0 name=sda", "a-1 [0] x: y"] {
            assert!(!read.take(line), "{line}");
        }
        for damaged in ["# task x /a", "# task 5", "# task 5 a", "# group a io.weight=3", "# group /a io.weight=x"] {
            assert!(RecordedGroups::default().take(damaged), "{damaged}");
        }
        assert_eq!(read.of_task.len(), 2);
    }
}
