//! A queue's state: the data that its mechanisms and its elevator's calls share, behind one reference.

use alloc::vec::Vec;

use super::answers::Delivery;
use super::cgroup::BioGate;
use super::config::QueueConfig;
use super::dispatch_list::DispatchList;
use super::flush::Flushes;
use super::merge::MergeIndex;
use super::mq::Task;
use super::plug::{Plug, Plugging};
use super::rq_qos::Policies;
use super::sequence::Sequences;
use super::slot_pools::SlotPools;
use super::split::SplitPiece;
use crate::answer::{Dispatch, Run};
use crate::facts::{DeviceFacts, Due};
use crate::group::Groups;
use crate::request::{Bio, Bios, RequestId, Requests, Stage};
use crate::time::Instant;

/// The queue's state, as far as its steps and an elevator use it. One reference, because a context is made for every
/// question.
pub struct QueueState {
    pub(crate) config: QueueConfig,
    pub(crate) device: DeviceFacts,
    pub(crate) requests: Requests,
    pub(crate) merges: MergeIndex,
    /// The run that the elevator requested in a call that has no answer.
    pub(crate) run_asked: Run,
    /// Whether the elevator may have a deadline, and how that is known.
    pub(crate) due: Due,
    /// No deadline comes before this moment, neither the elevator's nor one of the queue's [timers](Self::next_timer).
    /// Whatever makes one come sooner [says so](Self::wake_by).
    pub(crate) quiet_until: Instant,
    /// The latest moment seen; time never runs backwards for an elevator.
    pub(crate) clock: Instant,
    pub(crate) bios: Bios,
    pub(crate) slots: SlotPools,
    pub(crate) policies: Policies,
    pub(crate) groups: Groups,
    /// Tasks woken by a policy or a freed tag, until that is [reported](QueueState::woken).
    pub(crate) woke: Vec<Task>,
    /// The number of requests in the elevator.
    pub(crate) queued: u32,
    pub(crate) deliveries: Vec<Delivery>,
    /// The elevator's last answer, as long as nothing has changed since (Rule 2).
    pub(super) answer: Option<Dispatch>,
    pub(super) plug: Plug,
    pub(super) flushes: Flushes,
    pub(super) sequences: Sequences,
    pub(super) list: DispatchList,
    pub(super) gate: BioGate,
    /// The longest bio that needs nothing before it searches for a request to join; 0 while every bio may need
    /// something ([`QueueState::gate_changed`]).
    pub(super) longest: u32,
    /// Requests in flight that were issued by an elevator that has been replaced.
    pub(super) of_old_elevator: Vec<RequestId>,
    /// Cancelled requests that are still in the elevator.
    pub(super) cancelled: Vec<RequestId>,
    /// The task that fell asleep last; further pieces of its bio follow.
    pub(super) last_asleep: Option<Task>,
}

impl QueueState {
    /// Prevents further merging into this request.
    #[inline(always)]
    pub(crate) fn seal(&mut self, id: RequestId) {
        self.merges.forget(&mut self.requests, id);
        self.requests.get_mut(id).mergeable = false;
    }

    /// A deadline may come at this moment.
    #[inline(always)]
    pub(crate) fn wake_by(&mut self, at: Instant) {
        self.quiet_until = self.quiet_until.min(at);
    }

    /// `io.max` or `io.prio.class` were set: bios pass them first. 2.4's page cache submits buffers, which are no bios.
    pub(super) fn gate_changed(&mut self) {
        let is_straight = self.gate.is_open() && self.plug.kind() != Plugging::TaskQueue;
        self.longest = if is_straight { self.config.limits.max_sectors } else { 0 };
        self.wake_by(self.gate.deadline().unwrap_or(Instant::NEVER));
    }

    /// Whether there may be a deadline other than the elevator's. Usually there is none.
    #[inline]
    pub(super) fn has_timers(&self) -> bool {
        self.plug.is_closed() || self.plug.holds() || self.gate.has_limits() || !self.policies.is_empty()
    }

    /// The earliest of the queue's own deadlines.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        Instant::earliest([self.plug.deadline(), self.policies.deadline(), self.gate.deadline()])
    }

    /// A bio, or a piece of one, becomes a request.
    #[inline(always)]
    pub(super) fn make(&mut self, bio: &Bio, piece: SplitPiece, tag: u32) -> RequestId {
        let rq = self.requests.make(Stage::Prepared, self.clock, bio, tag);
        if piece.of.is_some() {
            let carried = self.bios.carry(bio.tag, piece.of);
            self.requests.get_mut(rq).carry(carried);
        }
        rq
    }
}
