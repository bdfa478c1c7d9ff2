//! What a disk did in a run.

use blksched::{Listener, Span};
use blksched_disks::Activity;
use blksched_measure::Reasons;

use crate::world::{Observer, World};

/// What the disk did with its time.
#[derive(Clone, Copy, Debug)]
pub struct DiskShare {
    /// The mechanism's total time.
    pub activity: Activity,
    /// The part of the run in which it had at least one request (0 to 1): `%util` of iostat.
    pub busy: f64,
    /// The part of the run in which it moved its arm (0 to 1).
    pub seeking: f64,
    /// The number of requests it had to choose from, on average while it had any.
    pub depth: f64,
}

impl DiskShare {
    /// What the disk that this world turns to did.
    pub(crate) fn of<L: Listener, O: Observer>(world: &World<L, O>, reasons: &Reasons, elapsed: Span) -> DiskShare {
        let activity = world.disk().ledger().total();
        let part = |span: Span| if elapsed.is_zero() { 0.0 } else { span.as_secs_f64() / elapsed.as_secs_f64() };
        let had_any = reasons.disk().busy().as_secs_f64();
        let depth = if had_any > 0.0 { world.time_in_disk().as_secs_f64() / had_any } else { 0.0 };
        DiskShare { activity, busy: reasons.disk().busy_share(), seeking: part(activity.seek), depth }
    }
}
