//! The control groups of the tasks whose I/O is recorded, looked up while they live.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use blksched_traces::groups::RecordedGroups;

use crate::trial::groups::GroupTree;

/// The kernel's default of each weight.
const USUAL: u32 = 100;
/// So many tasks are looked up; more are a fault, or a machine whose every I/O is a task of its own.
const MOST_TASKS: usize = 1 << 16;

/// Writes what it is given, and looks up the groups of the tasks in it.
pub(super) struct SeenGroups<W> {
    pub out: W,
    /// The end of a line that is not whole yet.
    rest: Vec<u8>,
    seen: BTreeSet<u32>,
    groups: RecordedGroups,
}

impl<W: Write> SeenGroups<W> {
    pub fn new(out: W) -> SeenGroups<W> {
        SeenGroups { out, rest: Vec::new(), seen: BTreeSet::new(), groups: RecordedGroups::default() }
    }

    /// Writes the groups behind the events, with the weights that they have now.
    pub fn finish(&mut self) -> io::Result<()> {
        // The recording may have ended inside a line.
        if !self.rest.is_empty() {
            self.out.write_all(b"\n")?;
        }
        let tree = GroupTree::here();
        let groups: BTreeSet<String> = self.groups.of_task.values().flat_map(|group| with_those_above(group)).collect();
        for group in groups {
            let own = tree.folders(&group).into_iter().flat_map(|folder| weights(&folder));
            let own: std::collections::BTreeMap<_, _> = own.filter(|(_, weight)| *weight != USUAL).collect();
            if !own.is_empty() {
                self.groups.weights.insert(group, own);
            }
        }
        write!(self.out, "{}", self.groups)
    }

    fn look(&mut self, line: &[u8]) {
        let Some(task) = str::from_utf8(line).ok().and_then(task_of) else { return };
        if self.seen.len() < MOST_TASKS && self.seen.insert(task) {
            let text = fs::read_to_string(Path::new("/proc").join(task.to_string()).join("cgroup"));
            let group = text.ok().and_then(|text| group_of(&text));
            self.groups.of_task.extend(group.map(|group| (task, group)));
        }
    }
}

impl<W: Write> Write for SeenGroups<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        let mut from = 0;
        while let Some(end) = bytes[from..].iter().position(|byte| *byte == b'\n').map(|at| from + at) {
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&bytes[from..end]);
            self.look(&line);
            from = end + 1;
        }
        self.rest.extend_from_slice(&bytes[from..]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The task that submits a bio in this line of tracefs.
fn task_of(line: &str) -> Option<u32> {
    let (before, _) = line.split_once(": block_bio_queue: ")?;
    // "db-77 [000] d..1. 12.000005"
    let who = before.split_whitespace().rev().nth(3)?;
    who.rsplit_once('-')?.1.parse().ok()
}

/// The group in a file `/proc/TASK/cgroup`; `None` for the root. Where version 1 has the I/O controller, its group; of
/// groups without a controller that of systemd.
fn group_of(text: &str) -> Option<String> {
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
    let of = |is_so: &dyn Fn(&str) -> bool| {
        let found = lines.iter().find(|(controllers, path)| is_so(controllers) && *path != "/");
        found.map(|(_, path)| (*path).to_owned())
    };
    let has = |controllers: &str, one: &str| controllers.split(',').any(|word| word == one);
    of(&|controllers| has(controllers, "blkio"))
        .or_else(|| of(&str::is_empty))
        .or_else(|| of(&|controllers| controllers == "name=systemd"))
}

/// `/a/b/c`: it, `/a/b` and `/a`; a group competes with its siblings by each one's weight.
fn with_those_above(group: &str) -> Vec<String> {
    let ends = group.match_indices('/').map(|(at, _)| at).skip(1).chain([group.len()]);
    ends.map(|end| group[..end].to_owned()).collect()
}

/// The weights of the group in this folder.
fn weights(folder: &Path) -> Vec<(String, u32)> {
    let read = |file: &str, called: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        let first = text.lines().next()?;
        Some((called.to_owned(), first.strip_prefix("default ").unwrap_or(first).trim().parse().ok()?))
    };
    let files = [("io.weight", "io.weight"), ("io.bfq.weight", "io.bfq.weight"), ("blkio.bfq.weight", "io.bfq.weight")];
    files.iter().filter_map(|(file, called)| read(file, called)).collect()
}

#[cfg(test)]
mod tests {
    use blksched_testkit::Folder;

    use super::*;

    #[test]
    fn a_task_is_found_in_lines_that_come_in_pieces() {
        let line = "     a b 2-77 [000] d..1. 12.000005: block_bio_queue: 8,0 R 100 + 8 [a b 2]\n";
        assert_eq!(task_of(line), Some(77));
        assert_eq!(task_of("<idle>-0 [001] d.h1. 12.000006: block_rq_complete: 8,0 R () 100 + 8 [0]"), None);
        let own = std::process::id();
        let mut out = SeenGroups::new(Vec::new());
        let text = line.replace("-77 ", &format!("-{own} ")).repeat(3);
        text.as_bytes().chunks(7).for_each(|piece| out.write_all(piece).unwrap());
        assert_eq!(out.seen, BTreeSet::from([own]));
        out.write_all(b"half a line").unwrap();
        out.finish().unwrap();
        let written = String::from_utf8(out.out).unwrap();
        assert!(written.starts_with(&format!("{text}half a line\n")), "{written}");
    }

    #[test]
    fn the_group_is_that_of_the_io_controller_and_the_root_is_none() {
        let unified = "0::/system.slice/db.service\n";
        let hybrid = "7:blkio:/web\n1:name=systemd:/system.slice/nginx.service\n0::/\n";
        let without = "7:blkio:/\n1:name=systemd:/user.slice/user-1000.slice\n0::/\n";
        assert_eq!(group_of(unified).as_deref(), Some("/system.slice/db.service"));
        assert_eq!(group_of(hybrid).as_deref(), Some("/web"));
        assert_eq!(group_of(without).as_deref(), Some("/user.slice/user-1000.slice"));
        assert_eq!((group_of("0::/\n"), group_of("")), (None, None));
        assert_eq!(with_those_above("/a/b/c"), ["/a", "/a/b", "/a/b/c"]);
    }

    #[test]
    fn weights_are_read_from_either_version() {
        let folder = Folder::new();
        fs::write(folder.path("io.weight"), "default 500\n8:0 200\n").unwrap();
        fs::write(folder.path("blkio.bfq.weight"), "300\n").unwrap();
        let of = |file: &str, weight| (file.to_owned(), weight);
        assert_eq!(weights(&folder.path("")), [of("io.weight", 500), of("io.bfq.weight", 300)]);
    }
}
