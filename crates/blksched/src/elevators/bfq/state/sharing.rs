//! A queue's relations to other queues, the processes that share it, and the references that keep it alive.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, or one of its requests exists.
//! **Origin** docs/behaviour/elevators-6.1.md#b1 and #b9.
//! **In the kernel** `bfqq_data`, `bfq_put_cooperator`, `coop`, `split_coop`, `new_bfqq`, `process_ref`, `stable_ref`.

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::Chains;
use crate::request::SubmitterId;

/// A queue's relations to processes and other queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    sole: Option<SubmitterId>,
    target: Option<Qid>,
    is_shared: bool,
    splits: bool,
    /// The number of processes that hold it, and of merges planned into it.
    processes: u32,
    /// The number of its requests, from preparation to completion.
    requests: u32,
    /// The number of stable merges that may still join it.
    stable: u32,
}

impl Sharing {
    /// The only process that has it.
    #[inline]
    pub(crate) fn sole(&self) -> Option<SubmitterId> {
        self.sole
    }

    /// The queue into which it is being merged, process by process.
    #[inline]
    pub(crate) fn target(&self) -> Option<Qid> {
        self.target
    }

    /// Whether several processes share it.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether it is to be split because it seeks now: each of its processes gets its own queue again.
    pub(crate) fn splits(&self) -> bool {
        self.is_shared && self.splits
    }

    /// Whether it belongs to a single process: if merges are carried out to the end of a chain, not while one is
    /// planned.
    #[inline(always)]
    pub(crate) fn is_of_one(&self, chains: Chains) -> bool {
        self.processes == 1 && (chains == Chains::OneStep || self.target.is_none())
    }

    #[inline(always)]
    pub(crate) fn belongs_to(&mut self, submitter: SubmitterId) {
        self.sole = Some(submitter);
    }

    /// The processes of this queue will change to `into`.
    pub(crate) fn plan(&mut self, into: Qid) {
        self.target = Some(into);
    }

    /// A process has changed to it from another queue.
    pub(crate) fn share(&mut self) {
        (self.is_shared, self.sole) = (true, None);
    }

    /// All of its processes but one have left it.
    pub(crate) fn unshare(&mut self) {
        (self.is_shared, self.splits) = (false, false);
    }

    /// Marks it for splitting if it is shared and seeks at the end of its slice.
    pub(crate) fn slice_ended(&mut self, is_seeky: bool) {
        self.splits |= self.is_shared && is_seeky;
    }

    pub(crate) fn processes(&self) -> u32 {
        self.processes
    }

    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether no process, request or stable merge holds it.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.processes + self.requests + self.stable == 0
    }

    pub(crate) fn hold_processes(&mut self, processes: u32) {
        self.processes += processes;
    }

    pub(crate) fn drop_process(&mut self) {
        self.processes -= 1;
    }

    #[inline(always)]
    pub(crate) fn hold_request(&mut self) {
        self.requests += 1;
    }

    #[inline(always)]
    pub(crate) fn drop_request(&mut self) {
        self.requests -= 1;
    }

    pub(crate) fn hold_stable(&mut self) {
        self.stable += 1;
    }

    pub(crate) fn drop_stable(&mut self) {
        self.stable -= 1;
    }
}
