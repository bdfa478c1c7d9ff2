//! What the scheduler is doing at a moment, as far as its reasons show.

use blksched::author::Waiter;
use blksched::reasons::{BatchStart, Domain, HeldBack, IdleFor};
use blksched::{Dir, GroupId, Reason, SubmitterId};

use super::part::Batched;

/// The process or group that the disk is left idle for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdledFor {
    Submitter(SubmitterId),
    Group(GroupId),
    Other,
}

/// What holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stance {
    /// The owner of the slice or budget.
    pub(super) turn: Option<(SubmitterId, Waiter)>,
    pub(super) batch: Option<(Dir, Batched)>,
    pub(super) idling: Option<IdledFor>,
    pub(super) held: Option<HeldBack>,
    pub(super) drains: bool,
    pub(super) plugged: bool,
    /// Domains without a token, a bit for each.
    throttled: u8,
    /// The next batch of writes begins because writes were passed over.
    starved: bool,
}

impl Stance {
    /// Whether this domain has no token.
    pub(super) fn lacks_token(self, domain: Domain) -> bool {
        self.throttled & (1 << domain as u8) != 0
    }

    /// What holds after `reason`.
    pub(super) fn after(mut self, reason: Reason) -> Stance {
        match reason {
            Reason::SliceBegan { owner, waiter, .. } => {
                self.turn = Some((owner, waiter));
                self.held = None;
            }
            Reason::SliceEnded { .. } => (self.turn, self.held) = (None, None),
            Reason::HeldBack { why, .. } => self.held = Some(why),
            Reason::Issued { .. } => (self.held, self.drains) = (None, false),
            Reason::WritesStarved { .. } => self.starved = true,
            Reason::BatchBegan { dir, why, .. } => {
                let starved = core::mem::take(&mut self.starved) && dir == Dir::Write;
                self.batch = Some((dir, if starved { Batched::Starved } else { batched(why) }));
            }
            Reason::BatchMoved { dir, .. } => self.batch = Some((dir, Batched::Moved)),
            Reason::BatchDrains { .. } => self.drains = true,
            Reason::Plugged => self.plugged = true,
            Reason::Unplugged(_) => self.plugged = false,
            Reason::Armed { why, .. } => self.idling = idling(why),
            Reason::Cancelled | Reason::Elapsed => self.idling = None,
            Reason::Throttled { domain } => self.throttled |= 1 << domain as u8,
            Reason::TokenTaken { domain, .. } => self.throttled &= !(1 << domain as u8),
            Reason::Switched { .. } => self = Stance { plugged: self.plugged, ..Stance::default() },
            _ => {}
        }
        self
    }
}

fn batched(why: BatchStart) -> Batched {
    match why {
        BatchStart::Expired { .. } => Batched::Expired,
        BatchStart::NextInOrder | BatchStart::Oldest | BatchStart::Lowest => Batched::Turn,
    }
}

fn idling(why: IdleFor) -> Option<IdledFor> {
    match why {
        IdleFor::Submitter(submitter) => Some(IdledFor::Submitter(submitter)),
        IdleFor::Group(group) => Some(IdledFor::Group(group)),
        IdleFor::Statistics => None,
        _ => Some(IdledFor::Other),
    }
}
