//! mq-deadline: who is asked in which order, and what is told to whom.
//!
//! **Rule** First what the device handed back. Then, while two classes are busy, whoever has waited too long
//! (`ageing`). Then the classes from the highest down, until one answers or one is busy: a class below one that is
//! busy gets nothing, even if all that is in flight of the higher one is its last request.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "Dispatch".

use super::ageing::{self, Age, MAY_AGE};
use super::batch::Batch;
use super::class::{ClassQueue, PerRank, Rank};
use super::depth;
use super::onward::Onward;
use super::tunables::MqDeadlineTunables;
use crate::elevator::{Admission, Cx, Dispatch, Elevator, Insert, Lookup, Neighbours, Run};
use crate::explain::{ClassTurn, End, Reason};
use crate::index::List;
use crate::queue::merge::Merging;
use crate::request::{Bio, Dir, RequestId, Requests};
use crate::time::{Jiffies, Tick};
use crate::tunables::Tunables;

/// mq-deadline.
#[derive(Debug)]
pub struct MqDeadline {
    pub(super) tunables: MqDeadlineTunables,
    jiffies: Jiffies,
    pub(super) classes: PerRank<ClassQueue>,
    batch: Batch,
    /// Handed back by the device: these go first, whatever their class.
    handed_back: List,
}

impl MqDeadline {
    pub(super) fn new(tunables: MqDeadlineTunables, hz: u32, onward: Onward) -> MqDeadline {
        MqDeadline {
            tunables,
            jiffies: Jiffies::new(hz),
            classes: PerRank::from_fn(|| ClassQueue::new(onward)),
            batch: Batch::default(),
            handed_back: List::new(),
        }
    }

    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let several = ageing::is_looked_at(&self.classes);
        if several && let Some(rq) = self.choose_aged(cx) {
            return Some(rq);
        }
        for rank in Rank::ALL {
            if let Some((rq, _)) = self.pick(cx, rank, Age::Any) {
                if several {
                    cx.explain(Reason::ClassServed { class: rank.class(), why: ClassTurn::Highest });
                }
                return Some(rq);
            }
            if self.classes[rank].is_busy() {
                cx.explain(Reason::ClassBlocks { class: rank.class() });
                return None;
            }
        }
        None
    }

    fn choose_aged(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let now = self.jiffies.tick(cx.now);
        let age = Age::aged(now, self.tunables.prio_aging_expire, self.jiffies);
        let (rank, (rq, queued)) = MAY_AGE.into_iter().find_map(|rank| Some((rank, self.pick(cx, rank, age)?)))?;
        let waited = self.jiffies.span(now - queued.max(0) as Tick);
        cx.explain(Reason::ClassServed { class: rank.class(), why: ClassTurn::Aged { waited } });
        Some(rq)
    }

    /// The next request of a class, and at which tick it was queued, if it is old enough.
    ///
    /// A kernel also refuses, whoever is asked, a request that seems to have been queued in the future: after
    /// `read_expire` or `write_expire` was lowered those already queued look so until that much time has passed, and
    /// the disk is left alone. No recording shows it; it is not done here.
    fn pick(&mut self, cx: &mut Cx<'_>, rank: Rank, age: Age) -> Option<(RequestId, i64)> {
        let candidate = self.batch.candidate(cx, &self.classes[rank], &self.tunables, self.jiffies)?;
        let (dir, rq) = (candidate.dir, candidate.rq);
        let queued = self.classes[rank].aged[dir].expires(rq) as i64 - self.expire(dir) as i64;
        if !age.admits(queued) {
            return None;
        }
        self.batch.took(cx, candidate);
        self.classes[rank].take(dir, rq);
        Some((rq, queued))
    }

    fn expire(&self, dir: Dir) -> Tick {
        self.jiffies.ticks(match dir {
            Dir::Read => self.tunables.read_expire,
            Dir::Write => self.tunables.write_expire,
        })
    }
}

impl Elevator for MqDeadline {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.tunables.async_depth = depth::all_of_them(cx.device());
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        let (dir, start, rank) = (cx.rq(rq).dir(), cx.rq(rq).start, Rank::of(cx.rq(rq).priority));
        let expires = self.jiffies.tick(cx.now) + self.expire(dir);
        let class = &mut self.classes[rank];
        class.unfinished += 1;
        if at == Insert::First {
            self.handed_back.push_front(rq);
        } else {
            class.sorted[dir].insert(rq.index() as u32, start);
            class.aged[dir].push(rq, expires);
        }
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if let Some(rq) = self.handed_back.pop_front() {
            return Dispatch::Issue(rq);
        }
        if !self.has_work() {
            return Dispatch::Empty;
        }
        self.choose(cx).map_or(Dispatch::Wait, Dispatch::Issue)
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.classes[Rank::of(cx.rq(rq).priority)].unfinished -= 1;
        Run::No
    }

    fn has_work(&self) -> bool {
        self.classes.iter().any(ClassQueue::has_any) || !self.handed_back.is_empty()
    }

    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        depth::admission(bio.op, self.tunables.async_depth, cx.device())
    }

    fn merging(&self) -> Merging {
        Merging::LINUX_6_1
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        self.look_in_front(cx, bio)
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        self.beside(rq)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let request = cx.rq(rq);
            self.classes[Rank::of(request.priority)].move_in_order(request.dir(), rq, request.start);
        }
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let request = cx.rq(victim);
        self.classes[Rank::of(request.priority)].absorb(request.dir(), into, victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.handed_back.push_front(rq);
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }

    fn check(&self, requests: &Requests) {
        self.handed_back.check(requests);
        self.classes.iter().for_each(|class| class.check(requests));
    }
}
