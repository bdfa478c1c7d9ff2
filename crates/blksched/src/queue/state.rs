//! A queue's state: the data that its mechanisms and its elevator's calls share, behind one reference.

use alloc::vec::Vec;

use super::answers::Delivery;
use super::calm::Calm;
use super::config::QueueConfig;
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

/// The queue's state, as far as its steps and an elevator have to do with it. One reference: a context is made for
/// every question.
pub struct QueueState {
    pub(crate) config: QueueConfig,
    /// What the elevator is asked at all.
    pub(crate) hooks: Hooks,
    pub(crate) device: DeviceFacts,
    pub(crate) requests: Requests,
    pub(crate) merges: MergeIndex,
    /// What the elevator wished in a call that has no answer.
    pub(crate) wished: Run,
    /// Before this moment the elevator need not be asked for its deadline.
    pub(crate) due: Due,
    /// What is known to be quiet.
    pub(crate) calm: Calm,
    /// The latest moment seen; time never runs backwards for an elevator.
    pub(crate) clock: Instant,
    pub(crate) bios: Bios,
    pub(crate) slots: SlotPools,
    pub(crate) policies: Policies,
    pub(crate) groups: Groups,
    /// Tasks that a policy or a tag that came free has woken, until that is [told](QueueState::woken).
    pub(crate) woke: Vec<Task>,
    /// Requests the elevator holds.
    pub(crate) queued: u32,
    pub(crate) deliveries: Vec<Delivery>,
    /// Where a step went beyond the short way, how it goes on.
    pub(crate) rest: Rest,
}

/// How a step goes on that went beyond the short way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rest {
    /// It ended there.
    Nothing,
    /// The bio joined this request, and one that it then absorbed is to be freed.
    Joined { into: RequestId, end: End, freed: Option<RequestId> },
    /// No slot is simply free; the bio's request would be inserted here.
    NoSlot(Insert),
    /// This policy, by its number, holds the bio back.
    Held(usize),
    /// No tag is free, by this search.
    NoTag(SearchDepth),
    /// This new request may continue another; it would be inserted here.
    MayContinue(RequestId, Insert),
    /// The elevator did not answer with a request.
    Answered(Dispatch),
}

impl QueueState {
    /// Nothing merges into this request any more.
    #[inline(always)]
    pub(crate) fn seal(&mut self, id: RequestId) {
        self.merges.forget(&mut self.requests, id);
        self.requests.get_mut(id).mergeable = false;
    }
}
