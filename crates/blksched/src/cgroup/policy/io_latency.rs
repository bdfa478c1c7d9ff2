//! io.latency among the queue's policies.
//!
//! Not modelled: the delay of tasks of a group that is down to one bio; processes here do not return to user space.
//!
//! **Origin** docs/behaviour/cgroup-io.md#l.
//! **In the kernel** `blkcg_iolatency_ops`, `blkcg_iolatency_throttle`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Key, key};
use crate::cgroup::blk_iolatency::{IoLatency, Issuer, Verdict};
use crate::cgroup::files::Written;
use crate::group::Group;
use crate::queue::mq::Task;
use crate::queue::rq_qos::{QosCx, RqQos, Throttled};
use crate::request::{Bio, GroupId, RequestId, Table};
use crate::time::Instant;

/// A bio in flight.
#[derive(Clone, Copy, Debug)]
struct LatencyBio {
    group: GroupId,
    submitted: Instant,
    issuer: Issuer,
}

/// io.latency on a queue.
#[derive(Debug)]
pub struct IoLatencyPolicy {
    latency: IoLatency,
    /// The group at which each task sleeps.
    sleeping: BTreeMap<Task, (GroupId, Issuer)>,
    /// Bios that do not have a request yet.
    coming: BTreeMap<Key, LatencyBio>,
    ways: Table<Option<LatencyBio>>,
}

impl IoLatencyPolicy {
    /// For a queue of this many requests.
    pub fn new(rotational: bool, nr_requests: u32) -> IoLatencyPolicy {
        IoLatencyPolicy {
            latency: IoLatency::new(rotational, nr_requests),
            sleeping: BTreeMap::new(),
            coming: BTreeMap::new(),
            ways: Table::new(),
        }
    }

    /// A bio that may pass one group continues to those above it, and may sleep there.
    fn go_on(&mut self, cx: &mut QosCx<'_>, mut woken: Vec<u32>) {
        while let Some(task) = woken.first().copied().map(Task) {
            woken.remove(0);
            let Some((at, issuer)) = self.sleeping.remove(&task) else { continue };
            let held = self.latency.throttle(cx.now, task.0, self.latency.parent(at), issuer, &mut woken);
            match held.verdict {
                Verdict::Go => cx.woke().push(task),
                Verdict::Sleep => drop(self.sleeping.insert(task, (held.at, issuer))),
            }
        }
    }
}

impl RqQos for IoLatencyPolicy {
    fn name(&self) -> &'static str {
        "io.latency"
    }

    fn throttle(&mut self, cx: &mut QosCx<'_>, task: Task, bio: &Bio) -> Throttled {
        let issuer = if bio.is_as_root() { Issuer::AsRoot } else { Issuer::Own };
        self.coming.insert(key(bio), LatencyBio { group: bio.group, submitted: cx.now, issuer });
        let mut woken = Vec::new();
        let held = self.latency.throttle(cx.now, task.0, bio.group, issuer, &mut woken);
        if held.verdict == Verdict::Sleep {
            self.sleeping.insert(task, (held.at, issuer));
        }
        self.go_on(cx, woken);
        match held.verdict {
            Verdict::Go => Throttled::Go,
            Verdict::Sleep => Throttled::Sleep,
        }
    }

    fn track(&mut self, _cx: &mut QosCx<'_>, rq: RequestId, bio: &Bio) {
        *self.ways.row(rq) = self.coming.remove(&key(bio));
    }

    fn done(&mut self, cx: &mut QosCx<'_>, rq: RequestId) {
        let Some(LatencyBio { group, submitted, issuer }) = self.ways.row(rq).take() else { return };
        let mut woken = Vec::new();
        self.latency.done(cx.now, group, submitted, issuer, &mut woken);
        self.go_on(cx, woken);
    }

    fn group(&mut self, _cx: &mut QosCx<'_>, id: GroupId, group: Group) {
        if id != GroupId::ROOT {
            self.latency.set_group(id, group.parent);
        }
    }

    fn ungroup(&mut self, cx: &mut QosCx<'_>, id: GroupId) {
        let mut woken = Vec::new();
        self.latency.remove_group(id, &mut woken);
        self.go_on(cx, woken);
    }

    fn written(&mut self, cx: &mut QosCx<'_>, id: GroupId, written: &Written) -> bool {
        match written {
            Written::Latency(target) => self.latency.set_target(cx.now, id, *target),
            _ => return false,
        }
        true
    }

    fn deadline(&self) -> Option<Instant> {
        self.latency.deadline()
    }

    fn elapse(&mut self, cx: &mut QosCx<'_>) {
        self.latency.elapse(cx.now);
    }
}
