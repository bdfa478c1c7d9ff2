//! What a recording does not show as a call of its own: a file that is closed at a process's end, and what a call waits
//! for before it changes anything.

use std::collections::BTreeMap;

use blksched_traces::fs_recording::{FsEvent, FsRecording};
use blksched_workloads::host::fs::{Change, InodeId};

use super::{Called, Made};

/// The end of a process closes its file, and frees what xfs has preallocated behind it.
pub(super) fn cut(recording: &FsRecording, nth: usize, before: &[Called]) -> Option<Called> {
    let event = &recording.events[nth];
    let own = || recording.events[nth..].iter().take(6).filter(|other| other.task == event.task);
    let frees = event.ev == "xfs_trans_alloc" && own().any(|other| other.ev == "xfs_free_extent");
    if !frees || event.text("caller") != "xfs_free_eofblocks" {
        return None;
    }
    let recorded = |call: &&Called| recording.events[call.line - 2].task == event.task;
    let writes = before.iter().rev().filter(recorded).filter_map(|call| match call.made {
        Made::Write { at, bytes, .. } => Some((call, (at + bytes).div_ceil(4096))),
        _ => None,
    });
    let (last, _) = writes.clone().next()?;
    let blocks = writes.filter(|(call, _)| call.inode == last.inode).map(|(_, end)| end).max()?;
    let made = Made::Change(Change::Truncate(blocks));
    let op = "close".to_owned();
    Some(Called { line: nth + 2, start: event.t, end: u64::MAX, by: last.by, op, inode: last.inode, made })
}

/// Until when a buffered write waits for a direct read of its file, which has it for itself \[ns\].
pub(super) fn locked(recording: &FsRecording, nth: usize, marks: &BTreeMap<&str, &str>) -> u64 {
    let (call, events) = (&recording.events[nth], &recording.events);
    let direct = |task: &str| {
        let is_seen = |event: &FsEvent| event.ev == "waiting" && event.task == task && event.has("on", "iomap_dio_rw");
        marks.get(task).is_some_and(|mark| mark.contains("O_DIRECT")) || events.iter().any(is_seen)
    };
    if call.text("op") != "write" || direct(&call.task) {
        return 0;
    }
    let mut last: BTreeMap<&str, &FsEvent> = BTreeMap::new();
    for event in events[..nth].iter().filter(|event| matches!(event.ev.as_str(), "call" | "return")) {
        last.insert(&event.task, event);
    }
    let reads = last.values().filter(|event| event.ev == "call" && event.text("op") == "read");
    let same = reads.filter(|event| event.text("file") == call.text("file") && direct(&event.task));
    let ends = same.filter_map(|read| {
        events[nth..].iter().find(|event| event.ev == "return" && event.task == read.task).map(|event| event.t)
    });
    ends.max().unwrap_or(0)
}

/// How long a call waits for reads of metadata before it changes anything \[ns\]: what was not in memory, which a
/// recording does not say by itself.
pub(super) fn reads(behind: &[FsEvent], call: &FsEvent) -> u64 {
    let own = || behind.iter().take_while(|other| !(other.task == call.task && other.ev == "return"));
    let read = |event: &&FsEvent| event.ev == "bio" && event.task == call.task && event.text("flags") == "RM";
    let Some(last) = own().filter(read).last() else { return 0 };
    let ends = |event: &&FsEvent| {
        event.ev == "complete" && event.t > last.t && event.number("sector") == last.number("sector")
    };
    behind.iter().find(ends).map_or(0, |end| end.t - call.t)
}

/// The same of xfs, whose events do not say it: a task that has found places for a file's blocks sends the data there.
pub(super) fn placed_by_xfs(recording: &FsRecording) -> BTreeMap<(InodeId, u64), u64> {
    let mut places = BTreeMap::new();
    for (nth, event) in recording.events.iter().enumerate().filter(|(_, event)| event.ev == "xfs_map_blocks_alloc") {
        let sent = recording.events[nth..].iter().take(20).find(|other| other.ev == "bio" && other.task == event.task);
        let place = sent.and_then(|sent| sent.number("sector")).map(|sector| sector / 8);
        if let (Some(ino), Some(at), Some(place)) = (event.number("ino"), event.number("pos"), place) {
            places.insert((InodeId(ino), at / 4096), place);
        }
    }
    places
}
