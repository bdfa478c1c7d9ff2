//! A queue's state: the data that its mechanisms and its elevator's calls share, behind one reference.

use alloc::vec::Vec;

use super::answers::Delivery;
use super::config::QueueConfig;
use super::fast_path::FastPath;
use super::merge::MergeIndex;
use super::mq::{SearchDepth, Task};
use super::rq_qos::Policies;
use super::slot_pools::SlotPools;
use crate::answer::{Dispatch, Hooks, Insert, Run};
use crate::explain::End;
use crate::facts::{DeviceFacts, Due};
use crate::group::Groups;
use crate::request::{Bios, RequestId, Requests};
use crate::time::Instant;

/// The queue's state, as far as its steps and an elevator use it. One reference, because a context is made for every
/// question.
pub struct QueueState {
    pub(crate) config: QueueConfig,
    /// The calls that the elevator implements.
    pub(crate) hooks: Hooks,
    pub(crate) device: DeviceFacts,
    pub(crate) requests: Requests,
    pub(crate) merges: MergeIndex,
    /// The run that the elevator requested in a call that has no answer.
    pub(crate) run_asked: Run,
    /// Before this moment the elevator need not be asked for its deadline.
    pub(crate) due: Due,
    /// What is known to be inactive.
    pub(crate) fast_path: FastPath,
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
    /// How a step continues that went beyond the short path.
    pub(crate) slow_path: SlowPath,
}

/// How a step continues that went beyond the short path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SlowPath {
    /// It ended there.
    Nothing,
    /// The bio joined this request, and one that it then absorbed must be freed.
    Joined { into: RequestId, end: End, freed: Option<RequestId> },
    /// The request that the bio could join would become too large; the bio's own request is inserted here.
    TooLarge(Insert),
    /// No slot is free at once; the bio's request would be inserted here.
    NoSlot(Insert),
    /// The policy with this number holds the bio back.
    Held(usize),
    /// This search found no free tag.
    NoTag(SearchDepth),
    /// This new request may continue another one; it would be inserted here.
    MayContinue(RequestId, Insert),
    /// The elevator's answer was not a request.
    Answered(Dispatch),
}

impl QueueState {
    /// Prevents further merging into this request.
    #[inline(always)]
    pub(crate) fn seal(&mut self, id: RequestId) {
        self.merges.forget(&mut self.requests, id);
        self.requests.get_mut(id).mergeable = false;
    }
}
