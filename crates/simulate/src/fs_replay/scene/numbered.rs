//! Recordings of thousands of files, whose calls are folded: which files they make, when, and with which inodes.

use std::collections::BTreeMap;

use blksched::SubmitterId;
use blksched_traces::fs_recording::FsRecording;
use blksched_workloads::host::fs::{Change, InodeId, NamedIn};

use super::{Called, FIRST_PROCESS, Made, Names};

/// Numbered files, turn and turn about in numbered directories.
#[derive(Clone, Copy)]
pub(super) struct Numbered {
    dirs: u64,
    /// Inodes of an allocation group of xfs, over which the directories rotate.
    per_group: Option<u64>,
    /// Directories whose inodes are in ext4's first block group.
    in_first: u64,
    /// The block groups.
    groups: u64,
}

impl Numbered {
    /// Inodes of a block group.
    const GROUP: u64 = 8192;
    /// The file system's own in the first.
    const OWN: u64 = 11;

    pub fn of(recording: &FsRecording) -> Option<Numbered> {
        let header = &recording.header;
        let dirs = directories(&header.description)?;
        let groups = (header.disk.size / 512 / 262_144).max(2);
        // The first file beyond the first group reads the next one's bitmap.
        let reads = recording.events.iter().position(|event| event.ev == "bio" && event.text("flags") == "RM");
        let call = reads.and_then(|at| recording.events[..at].iter().rev().find(|event| event.ev == "call"));
        let number: Option<u64> = call.and_then(|call| call.text("file").rsplit_once("/m")?.1.parse().ok());
        let per_group = header.geometry.agsize.map(|blocks| blocks * 8);
        let told = number.and_then(|number| (Numbered::GROUP - Numbered::OWN).checked_sub(number));
        Some(Numbered { dirs, per_group, in_first: told.unwrap_or(dirs.div_ceil(groups)).min(dirs), groups })
    }

    pub fn dir(&self, number: u64) -> InodeId {
        if let Some(group) = self.per_group {
            return InodeId(number % XFS_GROUPS * group + XFS_OWN + number / XFS_GROUPS);
        }
        match number.checked_sub(self.in_first) {
            None => InodeId(Numbered::OWN + number + 1),
            Some(other) => InodeId((1 + other % (self.groups - 1)) * Numbered::GROUP + other / (self.groups - 1) + 1),
        }
    }

    /// Files take the first free ones, as in other recordings.
    pub fn file(&self, mut number: u64) -> Option<InodeId> {
        if let Some(group) = self.per_group {
            // In its directory's group, one behind the other.
            let dir = number % self.dirs;
            let behind = XFS_OWN + self.dirs.div_ceil(XFS_GROUPS);
            return Some(InodeId(dir % XFS_GROUPS * group + behind + number / XFS_GROUPS));
        }
        for group in 0..self.groups {
            let others = (self.dirs - self.in_first + self.groups - 1).saturating_sub(group) / (self.groups - 1);
            let taken = if group == 0 { Numbered::OWN + self.in_first } else { others };
            if number < Numbered::GROUP - taken {
                return Some(InodeId(group * Numbered::GROUP + taken + number + 1));
            }
            number -= Numbered::GROUP - taken;
        }
        None
    }
}

/// Allocation groups that mkfs makes, and the first inode that it leaves in one.
const XFS_GROUPS: u64 = 4;
pub(super) const XFS_OWN: u64 = 131;

/// What becomes of folded calls.
pub(super) struct Unfolded<'a> {
    pub names: &'a mut Names,
    pub tasks: &'a mut BTreeMap<String, SubmitterId>,
    pub made: &'a mut Vec<Called>,
}

/// Folded calls, evenly spread over their time: creations of files that are numbered, turn and turn about in as many
/// directories as the recording says. They were too short to be recorded, and when each returned is not.
pub(super) fn unfold(recording: &FsRecording, nth: usize, to: &mut Unfolded<'_>) -> Result<(), String> {
    let event = &recording.events[nth];
    let counts = event.counts("calls");
    if let Some((other, _)) = counts.iter().find(|(op, _)| !matches!(op.as_str(), "open" | "close")) {
        return Err(format!("folded calls of {other}"));
    }
    let opens = counts.iter().find(|(op, _)| op == "open").map_or(0, |(_, count)| *count);
    let Some(dirs) = directories(&recording.header.description) else {
        return Err("folded calls in unknown places".to_owned());
    };
    let next = FIRST_PROCESS + to.tasks.len() as u32;
    let by = *to.tasks.entry(event.task.clone()).or_insert(SubmitterId(next));
    let span = event.number("until").unwrap_or(event.t).saturating_sub(event.t);
    let before = to.made.iter().filter(|made| made.op == "open").count() as u64;
    for call in 0..opens {
        let number = before + call;
        let file = format!("d{}/m{number}", number % dirs);
        let name = file.rsplit('/').next().unwrap_or("").len() as u64;
        let dir = to.names.dir(&file, None);
        let inode = to.names.of(&file, None);
        let start = event.t + span * call / opens;
        let made = Made::Change(Change::Create(NamedIn { dir, name }));
        to.made.push(Called { line: nth + 2, start, end: u64::MAX, by, op: "open".to_owned(), inode, made });
    }
    Ok(())
}

/// `in N directories` of a recording's description.
fn directories(description: &str) -> Option<u64> {
    let words: Vec<&str> = description.split_whitespace().collect();
    let at = words.windows(3).position(|three| three[0] == "in" && three[2].starts_with("directories"))?;
    words[at + 1].parse().ok()
}
