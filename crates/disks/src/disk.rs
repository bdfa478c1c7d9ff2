//! The interface of every disk model: start, next, finish.

use std::borrow::Cow;

use blksched::author::RequestId;
use blksched::{Command, Instant};

use crate::{Activity, CommandTrace, Ledger, Stint};

/// A disk, in virtual time. It never reads a clock and never calls back.
///
/// Between two calls time may only go forward, and a driver calls [`Disk::finish`] at [`Disk::next`] at the latest.
pub trait Disk: Send {
    /// What it reports to its host; never changes.
    fn facts(&self) -> Facts;

    /// Hands over a command at `now`.
    ///
    /// # Panics
    /// If [`Facts::depth`] commands are in flight, or a read or write is longer than [`Facts::max_sectors`] or has no
    /// sectors: all three are the driver's to prevent.
    fn start(&mut self, now: Instant, command: Command);

    /// When it next wants `finish` to be called: a completion, or a step of its own (a drained write, the end of a
    /// look-ahead). `None` if nothing will happen until the next `start`.
    fn next(&self) -> Option<Instant>;

    /// Executes its own steps up to `now` and returns one completion, the earliest. To be called until `None`.
    fn finish(&mut self, now: Instant) -> Option<Finished>;

    /// Commands started and not yet returned.
    fn in_flight(&self) -> u32;

    /// When it fetches the next command from a submission queue: one that is handed over before waits in the disk,
    /// behind those that were. Long past if it takes whatever comes.
    fn fetches(&self) -> Instant {
        Instant::ZERO
    }

    /// Where the mechanism's time went so far.
    ///
    /// A disk with several members returns the sum over them, computed by this call.
    fn ledger(&self) -> Cow<'_, Ledger>;

    /// How many parts of it can work at the same time: independent heads, dies, channels.
    fn parts(&self) -> u32;

    /// From now on, records what its parts do, for [`Disk::stints`].
    fn watch(&mut self);

    /// Moves newly known work of its parts to `to`; nothing unless it is watched.
    fn stints(&mut self, to: &mut Vec<Stint>);

    /// The recorded commands, if there is a tracer.
    fn trace(&self) -> Option<&CommandTrace> {
        None
    }
}

/// What a disk reports to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Capacity \[512-byte sectors\].
    pub sectors: u64,
    /// Whether it spins.
    pub rotational: bool,
    /// The most commands at a time; at least 1.
    pub depth: u32,
    /// Its largest read or write \[512-byte sectors\].
    pub max_sectors: u32,
    /// Whether a completed write may be lost when the power fails.
    pub volatile_cache: bool,
    /// Whether a single write can bypass the cache.
    pub fua: bool,
}

/// One completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The command's request.
    pub rq: RequestId,
    /// When it completed; may be before the `now` of a late call.
    pub at: Instant,
    /// Whether it succeeded.
    pub outcome: CommandOutcome,
    /// This command's own part of the disk's work; without the time that it waited behind others, and for a cached
    /// write without the later drain.
    pub service: Activity,
}

/// Whether a command succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It succeeded.
    Ok,
    /// It failed; nothing was read or written.
    Failed(IoError),
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoError {
    /// It reaches beyond the disk's last sector.
    OutOfRange,
    /// The medium could not be read or written.
    Medium,
}

/// The checks every model makes before it accepts a command.
pub(crate) fn admit(facts: &Facts, in_flight: u32, command: &Command) -> CommandOutcome {
    assert!(in_flight < facts.depth, "command started with {in_flight} of {} in flight", facts.depth);
    // What carries no data has limits of its own, which are far off (discard_max_bytes, write_zeroes_max_bytes).
    let carries_data = matches!(command.op, blksched::Op::Read | blksched::Op::Write);
    assert!(
        command.sectors <= facts.max_sectors || !carries_data,
        "a command of {} sectors, but this disk takes at most {}",
        command.sectors,
        facts.max_sectors
    );
    assert!(command.sectors > 0 || command.op == blksched::Op::Flush, "{:?} without sectors", command.op);
    let end = command.start.0.checked_add(u64::from(command.sectors));
    if end.is_some_and(|end| end <= facts.sectors) {
        CommandOutcome::Ok
    } else {
        CommandOutcome::Failed(IoError::OutOfRange)
    }
}
