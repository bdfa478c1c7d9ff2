//! The eight hooks: what a scheduler of that shape is told and asked, and nothing else.

use blksched::author::{Request, RequestId, Requests};
use blksched::reasons::End;
use blksched::{Bio, Sector};

/// The requests, to look at; a hook is told no time and can wait for none.
pub struct View<'a> {
    requests: &'a dyn Fn(RequestId) -> Request,
}

impl<'a> View<'a> {
    pub fn new(requests: &'a dyn Fn(RequestId) -> Request) -> View<'a> {
        View { requests }
    }

    /// Where a request begins and how long it is.
    pub fn place(&self, rq: RequestId) -> (Sector, u32) {
        let request = (self.requests)(rq);
        (request.start, request.sectors)
    }

    /// The whole request.
    pub fn rq(&self, rq: RequestId) -> Request {
        (self.requests)(rq)
    }
}

/// What may become of a bio that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBio {
    /// It may join this request, if it adjoins.
    Into(RequestId, End),
    /// It becomes a request of its own.
    No,
}

/// A scheduler as the proposal has it: init, exit, has, insert, finish, merge request, merge bio, dispatch.
pub trait EightHooks: Send {
    /// 1. A queue takes it on.
    fn init_sched(&mut self, _nr_requests: u32, _rotational: bool) {}

    /// 2. It is left.
    fn exit_sched(&mut self) {}

    /// 3. Is anything queued?
    fn has_req(&self) -> bool;

    /// 4. Requests are queued, at the head or not.
    fn insert_req(&mut self, view: &View<'_>, rq: RequestId, at_head: bool);

    /// 5. A request has ended.
    fn finish_req(&mut self, _view: &View<'_>, _rq: RequestId) {}

    /// 6. A queued request was absorbed by another.
    fn merge_req(&mut self, view: &View<'_>, into: RequestId, victim: RequestId);

    /// 7. A bio comes: which request may it join?
    fn merge_bio(&mut self, _view: &View<'_>, _bio: &Bio) -> MergeBio {
        MergeBio::No
    }

    /// 8. The next request, or none: then it is asked again after the next insertion or completion, not later.
    fn dispatch_req(&mut self, view: &View<'_>) -> Option<RequestId>;

    /// For tests.
    fn check(&self, _requests: &Requests) {}
}
