//! The eight hooks: what a scheduler of that shape is told and asked, and nothing else.

use blksched::author::{Request, RequestId, Requests};
use blksched::reasons::End;
use blksched::{Bio, Sector};

/// The requests, for reading; a hook learns no time and cannot sleep.
pub struct View<'a> {
    requests: &'a dyn Fn(RequestId) -> Request,
}

impl<'a> View<'a> {
    pub fn new(requests: &'a dyn Fn(RequestId) -> Request) -> View<'a> {
        View { requests }
    }

    /// A request's first sector and its length.
    pub fn place(&self, rq: RequestId) -> (Sector, u32) {
        let request = (self.requests)(rq);
        (request.start, request.sectors)
    }

    /// The whole request.
    pub fn rq(&self, rq: RequestId) -> Request {
        (self.requests)(rq)
    }
}

/// What may become of a new bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBio {
    /// It may join this request, if it is adjacent.
    Into(RequestId, End),
    /// It becomes a request of its own.
    No,
}

/// A scheduler in the shape of the proposal: init, exit, has, insert, finish, merge request, merge bio, dispatch.
pub trait EightHooks: Send + 'static {
    /// 1. A queue starts using it.
    fn init_sched(&mut self, _nr_requests: u32, _rotational: bool) {}

    /// 2. The queue stops using it.
    fn exit_sched(&mut self) {}

    /// 3. Whether anything is queued.
    fn has_req(&self) -> bool;

    /// 4. Requests are queued, at the head or not.
    fn insert_req(&mut self, view: &View<'_>, rq: RequestId, at_head: bool);

    /// 5. A request has ended.
    fn finish_req(&mut self, _view: &View<'_>, _rq: RequestId) {}

    /// 6. A queued request was absorbed by another.
    fn merge_req(&mut self, view: &View<'_>, into: RequestId, victim: RequestId);

    /// 7. Which request a new bio may join.
    fn merge_bio(&mut self, _view: &View<'_>, _bio: &Bio) -> MergeBio {
        MergeBio::No
    }

    /// 8. The next request. After `None` it is asked again only after the next insertion or completion.
    fn dispatch_req(&mut self, view: &View<'_>) -> Option<RequestId>;

    /// For tests.
    fn check(&self, _requests: &Requests) {}
}
