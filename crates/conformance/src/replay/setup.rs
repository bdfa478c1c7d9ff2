//! The queue that a recording's header describes: its elevator, knobs and clock.

use std::path::Path;

use blksched::author::{Elevator, Jiffies};
use blksched::surroundings::Wakes;
use blksched::tunables::{Knob, KnobError, Unit};
use blksched::{BlockQueue, Catalogue, Group, GroupError, GroupId, Instant, Limits, QueueConfig, Reason, Slots, Span};
use blksched_traces::elevator_transcript::Header;

use super::ReplayError;

/// A queue ready to replay a case.
pub struct Setup {
    /// The elevator's name.
    pub name: String,
    pub(super) queue: BlockQueue<Vec<(Instant, Reason)>>,
    pub(super) clock: RecordedClock,
    pub(super) outputs: Outputs,
    pub(super) sync: Sync,
    pub(super) timers: Timers,
}

/// The unit of time of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordedClock {
    /// Ticks (2.x).
    Ticks(Jiffies),
    /// Nanoseconds (4.20), counted from some time (6.1).
    Ns { at_zero: u64 },
}

impl RecordedClock {
    pub(super) fn instant(self, t: u64) -> Instant {
        match self {
            RecordedClock::Ticks(jiffies) => jiffies.instant(t),
            RecordedClock::Ns { at_zero } => Instant::from_ns(at_zero + t),
        }
    }
}

/// What recordings of a generation show of runs and timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outputs {
    /// Kicks, but no cancelled timers (2.x, 4.20).
    Kicks,
    /// Cancelled timers, but no kicks (6.1).
    Cancels,
}

/// The meaning of a recording's `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// Synchronous, as every read is.
    Waits,
    /// The flag REQ_SYNC, for reads and writes alike (ADIOS).
    Flag,
}

/// Whether recordings show expired deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timers {
    /// As events of their own.
    Recorded,
    /// They do not: where our elevator has a deadline, that kernel retries every few milliseconds, which was not
    /// recorded.
    Unrecorded,
}

/// Why an elevator cannot be set up as the header describes.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It has no such knob, or refuses the value.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// Such a group is impossible.
    #[error(transparent)]
    Group(#[from] GroupError),
}

impl Setup {
    /// The elevator of the catalogue that a recording names.
    ///
    /// # Errors
    /// If there is none, or it lacks a knob that the header sets.
    pub fn of(header: &Header, path: &Path, catalogue: &Catalogue) -> Result<Setup, ReplayError> {
        let unsupported = || ReplayError::Unsupported {
            path: path.to_owned(),
            scheduler: header.scheduler.clone(),
            kernel: header.kernel.clone(),
        };
        check(header).map_err(|message| ReplayError::Header { path: path.to_owned(), message })?;
        let name = elevator_name(header);
        let known = name.split('@').next().is_some_and(|word| catalogue.entries().iter().any(|e| e.name == word));
        if !known {
            return Err(unsupported());
        }
        let built = catalogue
            .build(&name)
            .map_err(|source| ReplayError::Spec { path: path.to_owned(), source: Box::new(source) })?;
        Setup::with(&name, built.elevator, header).map_err(|error| match error {
            SetupError::Knob(source) => ReplayError::Knob { path: path.to_owned(), source: Box::new(source) },
            SetupError::Group(source) => ReplayError::Group { path: path.to_owned(), source },
        })
    }

    /// Your own elevator, on a queue as the header describes it.
    ///
    /// # Errors
    /// If it lacks a knob that the header sets, or the header's groups are impossible.
    pub fn with(name: &str, elevator: Box<dyn Elevator>, header: &Header) -> Result<Setup, SetupError> {
        let limits = Limits {
            max_sectors: header.queue.max_sectors,
            max_segments: header.queue.max_segments.unwrap_or(u16::MAX),
            rotational: header.queue.rotational,
            ..Limits::default()
        };
        let slots = slots(header);
        let clock = match (header.ktime0, counts_ns(header)) {
            (Some(at_zero), _) => RecordedClock::Ns { at_zero },
            (None, true) => RecordedClock::Ns { at_zero: 0 },
            (None, false) => RecordedClock::Ticks(Jiffies::new(header.hz)),
        };
        let born = clock.instant(header.t0.unwrap_or(0));
        let wakes = if header.queue.pool { Wakes::ByDriver } else { Wakes::AtOnce };
        let config = QueueConfig { born, limits, depth: header.queue.depth, slots, wakes, ..QueueConfig::default() };
        let mut queue = BlockQueue::with_listener(config, elevator, Vec::new());
        let mut values = Vec::new();
        for (name, &shown) in header.tunables.iter().filter(|(name, value)| counts(header, name, **value)) {
            let knob = queue.elevator().tunables().find(name)?;
            let raw = raw_value(header, knob, shown);
            // Writing a knob can do more than change it (BFQ's `timeout_sync`).
            if queue.elevator().tunables().get(name) != Some(raw) {
                values.push((knob.name, raw));
            }
        }
        if let Some(depth) = header.queue.async_depth {
            values.push(("async_depth", i64::from(depth)));
        }
        if was_written_anew(header, &values) {
            values.push(("max_budget", 0));
        }
        for (name, raw) in values {
            queue.set(born, name, raw)?;
        }
        // Parents precede their children.
        for group in &header.groups {
            let parent = GroupId(u32::try_from(group.parent).unwrap_or(GroupId::ROOT.0));
            let leaf_weight = group.leaf_weight.unwrap_or(Group::default().leaf_weight);
            let shares = Group { parent, weight: group.weight, leaf_weight };
            queue.set_group(born, GroupId(group.id), shares)?;
        }
        let outputs = if header.ktime0.is_some() { Outputs::Cancels } else { Outputs::Kicks };
        let sync = if header.scheduler == "adios" { Sync::Flag } else { Sync::Waits };
        let timers = if header.scheduler == "mq-deadline" { Timers::Unrecorded } else { Timers::Recorded };
        Ok(Setup { name: name.to_owned(), queue, clock, outputs, sync, timers })
    }
}

/// Refuses a queue that can hold nothing and a clock that never ticks.
fn check(header: &Header) -> Result<(), String> {
    let queue = &header.queue;
    let numbers = [
        ("hz", header.hz, 1_000_000),
        ("queue.depth", queue.depth, u32::MAX),
        ("queue.max_sectors", queue.max_sectors, u32::MAX / 2),
        ("queue.nr_requests", queue.nr_requests, 1 << 20),
    ];
    match numbers.into_iter().find(|&(_, value, most)| value == 0 || value > most) {
        Some((name, value, most)) => Err(format!("`{name}` is {value}: expected 1 to {most}")),
        None => Ok(()),
    }
}

/// Whether this is a knob of its own, and has an effect.
fn counts(header: &Header, name: &str, value: i64) -> bool {
    let same_in_microseconds = name.ends_with("_us");
    let without_effect = header.scheduler == "linus" && name == "max_bomb_segments" && value == 0;
    let ignored = without_effect && header.variant.as_deref() != Some(READ_LATENCY2);
    !(same_in_microseconds || ignored)
}

const READ_LATENCY2: &str = "2.4.20-rl2";

/// 2.4's pool, half for each direction; other recordings have none.
fn slots(header: &Header) -> Slots {
    let nr_requests = header.queue.nr_requests;
    match (header.queue.pool, header.variant.as_deref()) {
        (true, Some("2.4.18")) => Slots::LINUX_2_4_18.with_nr_requests(nr_requests / 2),
        (true, _) => Slots::LINUX_2_4.with_nr_requests(nr_requests / 2),
        (false, _) => Slots::Unlimited.with_nr_requests(nr_requests),
    }
}

fn counts_ns(header: &Header) -> bool {
    header.unit.as_deref() == Some("ns")
}

/// The catalogue's name for the header's scheduler and kernel.
fn elevator_name(header: &Header) -> String {
    let kernel = header.kernel.split([' ', '+']).next().unwrap_or_default();
    let release: Vec<&str> = kernel.split('.').collect();
    let kernel = match release[..] {
        // Red Hat's kernel of RHEL 8.3.
        ["4", "18", "0-240", ..] => "4.18-el8.3".to_owned(),
        ["2", a, b, ..] => format!("2.{a}.{b}"),
        [a, b, ..] => format!("{a}.{b}"),
        _ => kernel.to_owned(),
    };
    let hz = header.hz;
    match header.scheduler.as_str() {
        // The patch of the mail of 2009-11-26.
        "cfq" if header.kernel.ends_with("+async-rampup") => {
            format!("cfq@{kernel}+async_depth=remaining_slice+hz={hz}")
        }
        "cfq" if header.group_scheduling == Some(true) || header.kernel.ends_with("+groups") => {
            format!("cfq@{kernel}+groups+hz={hz}")
        }
        "linus" => match header.variant.as_deref() {
            Some(READ_LATENCY2) => "linus@2.4.21+read-latency2".to_owned(),
            Some("2.5.38-rework") => "linus@2.5.38+rework".to_owned(),
            Some(variant) => format!("linus@{variant}"),
            None => format!("linus@{kernel}"),
        },
        "noop-2.4" => format!("noop@{kernel}"),
        "deadline-list" => format!("deadline@{kernel}+hz={hz}"),
        "deadline-rb-2.5" => format!("deadline@{kernel}+order=tree+hz={hz}"),
        // 2.6.31, 2.6.32 and 2.6.33 decide alike (docs/behaviour/elevators-2.5-2.6.md#d26).
        "deadline" if kernel.starts_with("2.6.") => format!("deadline@2.6.33+hz={hz}"),
        "bfq" if header.group_scheduling != Some(true) => format!("bfq@{kernel}+groups=off+hz={hz}"),
        other => format!("{other}@{kernel}+hz={hz}"),
    }
}

/// BFQ: whether `max_budget` was written although it stayed 0; the budget in force is then no longer the initial one.
fn was_written_anew(header: &Header, values: &[(&str, i64)]) -> bool {
    const AT_THE_START: i64 = 16_384;
    let in_force = header.initial.get("max_budget").copied().unwrap_or(AT_THE_START);
    let says_why = values.iter().any(|(name, _)| ["max_budget", "timeout_sync"].contains(name));
    header.scheduler == "bfq" && in_force != AT_THE_START && !says_why
}

/// The raw value of a written one: times are in the unit in which sysfs shows the knob.
pub(super) fn written_value(knob: &Knob, shown: i64) -> i64 {
    match knob.unit {
        Unit::Ms => Span::from_ms(shown.max(0) as u64).as_ns() as i64,
        Unit::Us => Span::from_us(shown.max(0) as u64).as_ns() as i64,
        _ => shown,
    }
}

/// The raw value to which a header sets a knob: times as the scheduler used them, in ticks or nanoseconds.
fn raw_value(header: &Header, knob: &Knob, shown: i64) -> i64 {
    let in_ticks = !counts_ns(header) || header.scheduler == "deadline";
    match header.raw.get(knob.name) {
        Some(&ticks) if in_ticks => Jiffies::new(header.hz).span(ticks as u64).as_ns() as i64,
        Some(&ns) => ns,
        None if knob.unit == Unit::Ms => {
            // For some knobs sysfs also shows the same quantity in a finer unit.
            let fine = header.tunables.get(&format!("{}_us", knob.name)).map(|&us| Span::from_us(us as u64));
            fine.unwrap_or(Span::from_ms(shown as u64)).as_ns() as i64
        }
        None => shown,
    }
}
