//! What a recording tells of the kernel's clocks: its count of ticks, when the flusher looks, and the tick of inodes'
//! times.

use std::collections::BTreeMap;

use blksched::{Instant, Span};
use blksched_traces::fs_recording::{FsEvent, FsRecording};
use blksched_workloads::host::fs::{InodeId, JiffyCount, TickPhase};

use super::{Called, Made};

/// A tick that seems to be later than this is none.
const LATEST: Span = Span::from_ms(1);

/// The count of ticks, of which events tell at some moments.
pub(super) fn jiffies(recording: &FsRecording) -> JiffyCount {
    let hz = u64::from(recording.header.hz.max(1));
    let told = recording.events.iter().filter_map(|event| match event.ev.as_str() {
        "writeback_dirty_inode_enqueue" => Some((event.number("dirtied")?, event.t)),
        "writeback_queue_io" => Some((event.number("older")? + event.number("age")? * hz / 1000, event.t)),
        _ => None,
    });
    let told: Vec<(u64, u64)> = told.collect();
    let Some((first, _)) = told.first().copied() else { return JiffyCount::default() };
    let length = 1_000_000_000 / hz;
    // Each tells that the first one's tick began by then, and at most a tick before.
    let began: Vec<u64> =
        told.iter().map(|(count, t)| t.saturating_sub(count.saturating_sub(first) * length)).collect();
    let (least, most) = (began.iter().min().copied(), began.iter().max().copied());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0).saturating_sub(length));
    let begun = (least + most.min(least)) / 2;
    JiffyCount::from(hz, first.saturating_sub(begun / length + 1), Span::from_ns(begun % length))
}

/// When the flusher first looked for what is old, if it ever did. In all recordings that is 5.1 s after the file system
/// was mounted, which left the disk's own inode dirty.
pub(super) fn first_look(recording: &FsRecording) -> Option<Instant> {
    let looks = |event: &&FsEvent| event.ev == "writeback_start" && event.text("reason") == "periodic";
    recording.events.iter().find(looks).map(|look| Instant::from_ns(look.t))
}

/// A write: of which file, when, and whether it changed the file's times.
#[derive(Clone, Copy)]
struct TimedWrite {
    inode: InodeId,
    at: Instant,
    changed: bool,
}

/// The phase of the clock with which most writes change their file's times exactly if they did; and the ticks that the
/// other writes tell to have come late.
pub(super) fn ticks(recording: &FsRecording, calls: &[Called]) -> TickPhase {
    let writes = calls.iter().filter(|call| matches!(call.made, Made::Write { .. }));
    let timed = |call: &Called| {
        let event = &recording.events[call.line - 2];
        let own = recording.events[call.line - 1..].iter().take_while(|other| other.t <= call.end);
        let changed = own.filter(|other| other.task == event.task).any(|other| {
            other.ev == "xfs_update_time" || other.ev == "jbd2_handle_start" && other.number("type") == Some(1)
        });
        TimedWrite { inode: call.inode, at: Instant::from_ns(call.start), changed }
    };
    let writes: Vec<TimedWrite> = writes.map(timed).collect();
    let of = |phase: u64| TickPhase::at(Span::from_us(100 * phase));
    let score = |phase: u64| writes.len() - pairs(&writes, &of(phase)).len();
    // Among equals the middle one.
    let scores: Vec<usize> = (0..40).map(score).collect();
    let best = scores.iter().copied().max().unwrap_or(0);
    let good: Vec<u64> = (0..40).filter(|phase| scores[*phase as usize] == best).collect();
    let clock = of(good[good.len() / 2]);
    let late = pairs(&writes, &clock).into_iter().map(|(last, write)| match write.changed {
        // Both seem to be in one tick: it began after the first.
        true => last.at,
        // They seem to be in two, of which the second had not begun.
        false => write.at,
    });
    let late: Vec<Instant> = late.filter(|at| clock.since(*at) <= LATEST).collect();
    late.into_iter().fold(clock, |clock, at| clock.with_late(at + Span::from_ns(1)))
}

/// The writes that this clock tells wrong, each with the last one that changed the same file's times.
fn pairs(writes: &[TimedWrite], clock: &TickPhase) -> Vec<(TimedWrite, TimedWrite)> {
    let mut last: BTreeMap<InodeId, TimedWrite> = BTreeMap::new();
    let mut wrong = Vec::new();
    for write in writes {
        if let Some(before) = last.get(&write.inode)
            && clock.is_same_tick(before.at, write.at) == write.changed
        {
            wrong.push((*before, *write));
        }
        if write.changed || !last.contains_key(&write.inode) {
            last.insert(write.inode, *write);
        }
    }
    wrong
}
