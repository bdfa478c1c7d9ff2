//! The references that keep a queue alive, and the merge that is planned for it.
//!
//! **Rule** A queue lives while a process or a merge planned into it holds it, or one of its requests exists.
//! **In the kernel** `cfq_put_queue`, `cfqq_process_refs`, `new_cfqq`, `allocated`.

use crate::elevators::cfq::ids::Qid;

/// What holds a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct References {
    /// The number of processes that hold it, and of merges planned into it.
    processes: u32,
    /// The number of its requests, from preparation to completion.
    requests: u32,
    joins: Option<Qid>,
}

impl References {
    pub(crate) fn of_one_process() -> References {
        References { processes: 1, requests: 0, joins: None }
    }

    /// Whether nothing holds the queue any more.
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.processes + self.requests == 0
    }

    pub(crate) fn processes(self) -> u32 {
        self.processes
    }

    pub(crate) fn requests(self) -> u32 {
        self.requests
    }

    /// The queue into which it is being merged, process by process.
    #[inline]
    pub(crate) fn joins(self) -> Option<Qid> {
        self.joins
    }

    /// Its processes will change to `into`.
    pub(crate) fn plan(&mut self, into: Qid) {
        self.joins = Some(into);
    }

    pub(crate) fn hold_processes(&mut self, processes: u32) {
        self.processes += processes;
    }

    /// True if nothing holds the queue any more.
    pub(crate) fn drop_process(&mut self) -> bool {
        self.processes -= 1;
        self.is_none()
    }

    #[inline(always)]
    pub(crate) fn hold_request(&mut self) {
        self.requests += 1;
    }

    /// True if nothing holds the queue any more.
    #[inline(always)]
    pub(crate) fn drop_request(&mut self) -> bool {
        self.requests -= 1;
        self.is_none()
    }
}
