//! Converts a line or record of each format to events of a recording.

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::{Class, Durability, Hints, Op, Priority};
use blksched_traces::blktrace::{self, Action, ActionSet};
use blksched_traces::columns::{ToldOp, TraceRow};
use blksched_traces::{blkparse, tracefs, vscsi};
use blksched_workloads::replay::{TraceAction, TraceEvent};

/// A device: major and minor, or [`NAMED`] and its index among the names that the trace gives.
pub(super) type DeviceNumber = (u32, u32);

/// The major number of devices without a number.
pub(super) const NAMED: u32 = u32::MAX;

/// Which events of a kernel count as submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Begins {
    /// `block_bio_queue`, blkparse's Q.
    Queue,
    /// `block_rq_insert`, I, where there is no `block_bio_queue`.
    Insert,
    /// `block_rq_issue`, D, where there is neither: with the scheduler `none`, or if only the disk's side was recorded.
    Issue,
}

impl Begins {
    /// Its action in blktrace's binary files.
    pub(super) fn action(self) -> Action {
        match self {
            Begins::Queue => Action::Queue,
            Begins::Insert => Action::Insert,
            Begins::Issue => Action::Issue,
        }
    }

    /// Its letter in blkparse's text.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Begins::Queue => "Q",
            Begins::Insert => "I",
            Begins::Issue => "D",
        }
    }
}

/// Processes' names, as far as the trace has them.
pub(super) type Names = BTreeMap<u32, String>;

/// Whether a process's plugs and unplugs are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugs {
    Told,
    PassedOver,
}

/// Submissions, completions and names, and plugs if they are wanted; the other actions concern what the simulation does
/// itself.
pub(super) fn asked(plugs: Plugs, begins: Begins) -> ActionSet {
    let always = [begins.action(), Action::Remap, Action::Complete, Action::Note(0)];
    match plugs {
        Plugs::Told => ActionSet::of(&[&always[..], &[Action::Plug, Action::Unplug, Action::UnplugTimer]].concat()),
        Plugs::PassedOver => ActionSet::of(&always),
    }
}

#[inline]
pub(super) fn of_blktrace(
    event: &blktrace::BlktraceEvent,
    payload: &[u8],
    begins: Begins,
    events: &mut impl Extend<TraceEvent>,
    names: &mut Names,
) {
    let whose = ((event.device >> 20, event.device & 0xf_ffff), event.pid);
    let what = match event.action {
        action if action == begins.action() => TraceAction::Queue,
        Action::Complete => TraceAction::Complete,
        // As frequent as submissions, and only the process matters.
        Action::Plug => return events.extend([of_plug(event.time, TraceAction::Plug, whose)]),
        Action::Unplug | Action::UnplugTimer => {
            return events.extend([of_plug(event.time, TraceAction::Unplug, whose)]);
        }
        Action::Note(0) => {
            return named(event.pid, payload, names);
        }
        Action::Remap => match blktrace::mapped_from(payload) {
            Some((from, sector)) => TraceAction::Mapped { from, sector },
            None => return,
        },
        _ => return,
    };
    let place = (event.sector, event.bytes.div_ceil(512));
    events.extend(made(event.time, what, whose, Letters::of_bits(event.kind), place));
}

/// Records a process's name.
#[inline(never)]
fn named(pid: u32, payload: &[u8], names: &mut Names) {
    let name = payload.split(|&byte| byte == 0).next().unwrap_or_default();
    // Repeated often: usually it is known.
    if names.get(&pid).is_none_or(|known| known.as_bytes() != name) {
        names.insert(pid, String::from_utf8_lossy(name).into_owned());
    }
}

pub(super) fn of_blkparse(
    line: &blkparse::Line,
    begins: Begins,
    events: &mut impl Extend<TraceEvent>,
    names: &mut Names,
) {
    let what = match line.action.as_str() {
        letter if letter == begins.letter() => TraceAction::Queue,
        "C" => TraceAction::Complete,
        "A" => match line.mapped_from() {
            Some((from, sector)) => TraceAction::Mapped { from, sector },
            None => return,
        },
        "P" => TraceAction::Plug,
        "U" | "UT" => TraceAction::Unplug,
        _ => return,
    };
    if what == TraceAction::Queue
        && let Some(name) = line.process()
    {
        names.entry(line.pid).or_insert_with(|| name.to_owned());
    }
    let (sector, sectors) = line.place().unwrap_or((0, 0));
    events.extend(made(line.time, what, (line.device, line.pid), Letters::of_text(&line.rwbs), (sector, sectors)));
}

pub(super) fn of_tracefs(
    line: &tracefs::TracefsLine,
    begins: Begins,
    events: &mut impl Extend<TraceEvent>,
    names: &mut Names,
) {
    let priority = line.priority.map(|told| {
        let class = match told.class {
            "rt" => Class::RealTime,
            "be" => Class::BestEffort,
            "idle" => Class::Idle,
            _ => Class::None,
        };
        TraceAction::Request(Priority { class, level: told.level })
    });
    let is_submission = matches!(
        (line.event, begins),
        (tracefs::TracefsEvent::BioQueue, Begins::Queue)
            | (tracefs::TracefsEvent::Insert, Begins::Insert)
            | (tracefs::TracefsEvent::Issue, Begins::Issue)
    );
    let (letters, place) = (Letters::of_text(&line.rwbs), (line.sector, line.sectors));
    let mut add = |what: TraceAction| {
        events.extend(made(line.time_us.saturating_mul(1000), what, (line.device, line.pid), letters, place));
    };
    if is_submission {
        let name = if begins == Begins::Queue { &line.last } else { &line.task };
        names.entry(line.pid).or_insert_with(|| name.clone());
        add(TraceAction::Queue);
    }
    match (line.event, priority) {
        (tracefs::TracefsEvent::Complete | tracefs::TracefsEvent::BioComplete, _) => add(TraceAction::Complete),
        (tracefs::TracefsEvent::Remap, _) => {
            line.from.into_iter().for_each(|(from, sector)| add(TraceAction::Mapped { from, sector }));
        }
        (tracefs::TracefsEvent::Insert | tracefs::TracefsEvent::Issue, Some(priority)) => add(priority),
        _ => {}
    }
}

/// A row is a submission and, if the trace has its latency, a completion.
pub(super) fn of_row(row: &TraceRow, events: &mut impl Extend<TraceEvent>) {
    let op = match row.op {
        ToldOp::Read => Op::Read,
        ToldOp::Write => Op::Write,
        ToldOp::Discard => Op::Discard,
        ToldOp::Flush => Op::Flush,
        // It stands for an I/O of any kind, at a place of its own.
        ToldOp::Unknown => Op::Read,
        ToldOp::Other | ToldOp::Wait => return,
    };
    let begin = row.offset / 512;
    let sectors = (row.offset % 512).saturating_add(row.bytes).div_ceil(512);
    let place = (begin, u32::try_from(sectors).unwrap_or(u32::MAX));
    both(row.time, row.response, op, place, ((NAMED, row.device), row.process + 1), events);
}

/// A record of vscsi: one device and one process, since it names neither.
pub(super) fn of_vscsi(record: &vscsi::Record, events: &mut impl Extend<TraceEvent>) {
    let op = match vscsi::kind(record.command) {
        Some(vscsi::ScsiKind::Read) => Op::Read,
        Some(vscsi::ScsiKind::Write) => Op::Write,
        Some(vscsi::ScsiKind::Discard) => Op::Discard,
        Some(vscsi::ScsiKind::Flush) => Op::Flush,
        None => return,
    };
    let time = record.time_us.saturating_mul(1000);
    let response = record.response_us.map(|us| us.saturating_mul(1000));
    both(time, response, op, (record.block, record.bytes.div_ceil(512)), ((NAMED, 0), 1), events);
}

/// Submission and completion of a row or a record; nothing for what neither moves data nor flushes.
fn both(
    time: u64,
    response: Option<u64>,
    op: Op,
    place: (u64, u32),
    whose: (DeviceNumber, u32),
    events: &mut impl Extend<TraceEvent>,
) {
    let (start, sectors) = place;
    if sectors == 0 && op != Op::Flush {
        return;
    }
    let queued = TraceEvent {
        time,
        what: TraceAction::Queue,
        device: whose.0,
        pid: whose.1,
        op,
        start,
        sectors,
        // Such traces do not tell who waits: a process waits for its reads, but not for writes that a cache takes.
        waiter: if matches!(op, Op::Read | Op::Flush) { Waiter::Sync } else { Waiter::Async },
        hints: Hints::default(),
        durability: Durability::default(),
    };
    let completed = response.map(|took| TraceEvent {
        time: time.saturating_add(took),
        what: TraceAction::Complete,
        ..queued.clone()
    });
    events.extend([Some(queued), completed].into_iter().flatten());
}

/// The meaning of blkparse's letters: `F` for a flush before it, the kind, then `F` (FUA), `A` (ahead), `S` (sync), `M`
/// (metadata).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Letters {
    preflush: bool,
    /// `None` if neither read, write nor discard; with a preflush, that is a flush.
    op: Option<Op>,
    fua: bool,
    sync: bool,
    meta: bool,
}

impl Letters {
    fn of_text(letters: &str) -> Letters {
        let (preflush, rest) = match letters.strip_prefix('F') {
            Some(rest) if !rest.is_empty() => (true, rest),
            // A flush without data.
            Some(_) => return Letters { preflush: true, ..Letters::default() },
            None => (false, letters),
        };
        let (op, is_known) = match rest.chars().next() {
            Some('R') => (Some(Op::Read), true),
            Some('W') => (Some(Op::Write), true),
            Some('D') => (Some(Op::Discard), true),
            Some('F' | 'N') => (None, true),
            _ => (None, false),
        };
        let has = |letter| rest.get(1..).unwrap_or_default().contains(letter);
        Letters { preflush: preflush && is_known, op, fua: has('F'), sync: has('S'), meta: has('M') }
    }

    #[inline]
    fn of_bits(kind: blktrace::Categories) -> Letters {
        let has = |bit| kind.0 & bit != 0;
        let op = match () {
            () if has(blktrace::Categories::DISCARD) => Some(Op::Discard),
            () if has(blktrace::Categories::WRITE) => Some(Op::Write),
            () if has(blktrace::Categories::READ) => Some(Op::Read),
            () => None,
        };
        Letters {
            preflush: has(blktrace::Categories::FLUSH),
            op,
            fua: has(blktrace::Categories::FUA),
            sync: has(blktrace::Categories::SYNC),
            meta: has(blktrace::Categories::META),
        }
    }
}

/// A plug or unplug of a process, which has neither a kind of I/O nor a place.
#[inline]
fn of_plug(time: u64, what: TraceAction, (device, pid): (DeviceNumber, u32)) -> TraceEvent {
    let (hints, durability) = (Hints::default(), Durability::default());
    TraceEvent { time, what, device, pid, op: Op::Read, start: 0, sectors: 0, waiter: Waiter::Sync, hints, durability }
}

/// An event of any format; `None` if it is not about an I/O to a disk.
#[inline]
fn made(
    time: u64,
    what: TraceAction,
    whose: (DeviceNumber, u32),
    letters: Letters,
    (start, sectors): (u64, u32),
) -> Option<TraceEvent> {
    let op = match letters.op {
        _ if matches!(what, TraceAction::Plug | TraceAction::Unplug) => return Some(of_plug(time, what, whose)),
        None | Some(Op::Write) if sectors == 0 && letters.preflush => Op::Flush,
        Some(op) if sectors > 0 => op,
        _ => return None,
    };
    let waits = matches!(op, Op::Read | Op::Flush) || letters.sync;
    let is_data = op == Op::Write;
    Some(TraceEvent {
        time,
        what,
        device: whose.0,
        pid: whose.1,
        op,
        start,
        sectors,
        waiter: if waits { Waiter::Sync } else { Waiter::Async },
        hints: Hints { meta: letters.meta, req_sync: letters.sync, ..Hints::default() },
        durability: Durability { preflush: letters.preflush && is_data, fua: letters.fua && is_data },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_say_what_kind_of_io_it_is() {
        let of =
            |letters: &str, sectors| made(0, TraceAction::Queue, ((8, 0), 1), Letters::of_text(letters), (0, sectors));
        let kind = |letters: &str, sectors| of(letters, sectors).map(|event| (event.op, event.waiter));
        assert_eq!(kind("RA", 8), Some((Op::Read, Waiter::Sync)));
        assert_eq!((kind("W", 8), kind("WS", 8)), (Some((Op::Write, Waiter::Async)), Some((Op::Write, Waiter::Sync))));
        assert_eq!((kind("FWS", 0), kind("FN", 0)), (Some((Op::Flush, Waiter::Sync)), Some((Op::Flush, Waiter::Sync))));
        assert_eq!((kind("D", 8), kind("N", 0), kind("R", 0)), (Some((Op::Discard, Waiter::Async)), None, None));
        let journal = of("FWFSM", 8).unwrap();
        assert_eq!(journal.durability, Durability { preflush: true, fua: true });
        assert!(journal.hints.meta);
    }

    #[test]
    fn blktraces_bits_mean_what_blkparses_letters_of_them_mean() {
        for bits in 0..=u16::MAX {
            let kind = blktrace::Categories(bits);
            assert_eq!(Letters::of_bits(kind), Letters::of_text(&kind.letters()), "{bits:#x} {}", kind.letters());
        }
    }
}
