//! The `io` files of groups, written while the queue runs, and what stands at the level of bios: `io.max` and
//! `io.prio.class`.
//!
//! **Rule** A bio passes `io.max` of its group and of every group above before anything else is tried; held there, it
//! takes no slot, and its submitter goes on. What passes later is submitted by a worker, reads and writes in the order
//! in which they queued. Then the group's `io.prio.class` sets its priority, ahead of merging. io.cost and io.latency
//! are policies between merging and slots (`rq_qos`): the former is there once `io.cost.qos` enables it, the latter
//! once a target is written.
//! **Origin** docs/behaviour/cgroup-io.md#o.

use std::collections::BTreeMap;

use super::plug::Handover;
use super::{BlockQueue, Listener, Submitted};
use crate::cgroup::blk_iocost::{Class, Config, Era as CostEra, Overflows};
use crate::cgroup::blk_ioprio::PrioClass;
use crate::cgroup::blk_throttle::{Era, Passage, Throttle};
use crate::cgroup::files::{self, CostQos, FileError, Written};
use crate::cgroup::policy::{IoCostPolicy, IoLatencyPolicy};
use crate::explain::{Reason, Unplug};
use crate::group::{Group, GroupError};
use crate::request::{Bio, GroupId};
use crate::time::{Instant, Jiffies};

/// Ticks of the controllers' clocks: Debian's.
const JIFFIES: Jiffies = Jiffies::new(250);

/// Why a file of a group did not take what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupFileError {
    /// It does not take that.
    File(FileError),
    /// There is no such group, or the weight is none.
    Group(GroupError),
    /// Only the root has that file.
    RootOnly(&'static str),
    /// The root does not have that file.
    NotOfTheRoot(String),
}

impl core::fmt::Display for GroupFileError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GroupFileError::File(error) => error.fmt(f),
            GroupFileError::Group(error) => error.fmt(f),
            GroupFileError::RootOnly(file) => write!(f, "{file}: only the root has this file"),
            GroupFileError::NotOfTheRoot(file) => write!(f, "{file}: the root does not have this file"),
        }
    }
}

impl core::error::Error for GroupFileError {}

/// What stands at the level of bios.
#[derive(Debug)]
pub(super) struct BioGate {
    max: Throttle,
    /// Is any limit written? Without, nobody asks.
    limits: bool,
    classes: BTreeMap<GroupId, PrioClass>,
    /// `io.weight`, for an io.cost that is switched on later.
    weights: BTreeMap<GroupId, u32>,
    held: BTreeMap<u64, Bio>,
    next: u64,
}

impl Default for BioGate {
    fn default() -> BioGate {
        BioGate {
            max: Throttle::new(JIFFIES, Era::default()),
            limits: false,
            classes: BTreeMap::new(),
            weights: BTreeMap::new(),
            held: BTreeMap::new(),
            next: 0,
        }
    }
}

impl BioGate {
    /// Does every bio pass as it is?
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.limits && self.classes.is_empty()
    }

    #[inline]
    pub(super) fn has_limits(&self) -> bool {
        self.limits
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.limits { self.max.deadline() } else { None }
    }

    pub(super) fn group(&mut self, id: GroupId, parent: GroupId) {
        self.max.set_group(id, parent);
    }

    /// The bio with its group's priority, if it passes now.
    fn pass(&mut self, now: Instant, mut bio: Bio) -> Option<Bio> {
        if let Some(class) = self.classes.get(&bio.group) {
            bio.priority = class.apply(bio.priority);
        }
        if !self.limits {
            return Some(bio);
        }
        self.next += 1;
        match self.max.submit(now, self.next, &bio) {
            Passage::Go => Some(bio),
            Passage::Held => {
                self.held.insert(self.next, bio);
                None
            }
        }
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Write to a file of a group: `io.max`, `io.latency`, `io.prio.class`, `io.weight`, `io.bfq.weight`; of the root
    /// `io.cost.qos` and `io.cost.model`.
    ///
    /// # Errors
    /// If the file or the group does not exist, or the file does not take that; nothing has changed then.
    pub fn write_group_file(
        &mut self,
        now: Instant,
        id: GroupId,
        file: &str,
        text: &str,
    ) -> Result<(), GroupFileError> {
        let written = files::parse(file, text).map_err(GroupFileError::File)?;
        self.catch_up(now);
        let present = *self.groups().get(id).ok_or(GroupFileError::Group(GroupError::Unknown(id)))?;
        let of_root = matches!(written, Written::CostQos(_) | Written::CostModel(_));
        match (of_root, id == GroupId::ROOT) {
            (true, false) => {
                let file = if matches!(written, Written::CostQos(_)) { "io.cost.qos" } else { "io.cost.model" };
                return Err(GroupFileError::RootOnly(file));
            }
            (false, true) => return Err(GroupFileError::NotOfTheRoot(file.to_owned())),
            _ => {}
        }
        match &written {
            Written::BfqWeight(weight) => {
                let group = Group { weight: *weight, leaf_weight: *weight, ..present };
                self.set_group(now, id, group).map_err(GroupFileError::Group)?;
            }
            Written::Max(keys) => {
                let mut limits = self.gate.max.limits(id);
                keys.iter().for_each(|key| key.change(&mut limits));
                self.gate.limits = true;
                self.gate.max.set_limits(now, id, limits);
            }
            Written::PrioClass(class) => drop(self.gate.classes.insert(id, *class)),
            Written::CostQos(CostQos { enable: Some(true), .. }) | Written::CostModel(_) => {
                self.ensure_io_cost(now, Overflows::Kernel);
                self.configure(now, id, &written);
            }
            Written::Latency(_) => {
                if !self.has_policy("io.latency") {
                    let device = self.core.state.device;
                    self.add_policy(now, Box::new(IoLatencyPolicy::new(device.rotational, device.nr_requests)));
                }
                self.configure(now, id, &written);
            }
            Written::Weight(weight) => {
                self.gate.weights.insert(id, *weight);
                self.configure(now, id, &written);
            }
            Written::CostQos(_) => self.configure(now, id, &written),
        }
        self.changed();
        Ok(())
    }

    /// io.cost stands between merging and slots from now on, if it did not. Its model is the kernel's for such a device
    /// until `io.cost.model` is written.
    pub fn ensure_io_cost(&mut self, now: Instant, overflows: Overflows) {
        if self.has_policy("io.cost") {
            return;
        }
        let class = Class::of(self.core.config.limits.rotational, self.core.config.depth);
        let (model, qos) = (None, None);
        let config = Config { jiffies: JIFFIES, class, model, qos, overflows, era: CostEra::default() };
        self.add_policy(now, Box::new(IoCostPolicy::new(config)));
        for (id, weight) in self.gate.weights.clone() {
            self.configure(now, id, &Written::Weight(weight));
        }
    }

    fn configure(&mut self, now: Instant, id: GroupId, written: &Written) {
        self.tell_policies(now, |policy, cx| {
            policy.written(cx, id, written);
        });
    }

    /// The bio, with its group's priority, unless `io.max` holds it back: then the queue keeps it.
    #[cold]
    pub(super) fn pass_gate(&mut self, now: Instant, bio: Bio) -> Option<Bio> {
        let passed = self.gate.pass(now, bio);
        if passed.is_none() {
            self.core.explain(now, |_| Reason::HeldByMax { submitter: bio.submitter, group: bio.group });
        }
        passed
    }

    /// `io.max` lets go on what its time has come for.
    pub(super) fn elapse_gate(&mut self, now: Instant) {
        let mut released = Vec::new();
        self.gate.max.elapse(now, &mut released);
        self.submit_released(now, &released);
    }

    /// Nobody waits for these: a worker submits them, in one plug.
    pub(super) fn submit_released(&mut self, now: Instant, released: &[u64]) {
        // Then no plug is opened either: whoever collects in it has not handed over yet.
        if released.is_empty() {
            return;
        }
        let mut submitters = Vec::new();
        for token in released {
            let Some(bio) = self.gate.held.remove(token) else { continue };
            self.core.explain(now, |_| Reason::PassedMax { submitter: bio.submitter, group: bio.group });
            if self.submit_passed(now, &bio) == Submitted::Held && !submitters.contains(&bio.submitter) {
                submitters.push(bio.submitter);
            }
        }
        submitters.into_iter().for_each(|submitter| self.flush_plug_of(now, submitter, Handover::Finish));
        self.open_plug(now, Unplug::Waiting);
    }

    /// A group is gone: nothing of it waits at `io.max` any more.
    pub(super) fn ungate(&mut self, now: Instant, id: GroupId) {
        let mut released = Vec::new();
        self.gate.max.remove_group(id, &mut released);
        self.gate.classes.remove(&id);
        self.gate.weights.remove(&id);
        self.submit_released(now, &released);
    }
}
