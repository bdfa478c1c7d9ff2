//! Bios on their way through the controllers of their groups, and groups' files written. The state is in
//! `queue/cgroup.rs`.
//!
//! **In the kernel** `blk_throtl_bio`, `tg_set_limit`.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cgroup::blk_iocost::{Class, Config, Era as CostEra, Overflows};
use crate::cgroup::files::{self, CostQos, Written};
use crate::cgroup::policy::{IoCostPolicy, IoLatencyPolicy};
use crate::elevator::Elevator;
use crate::explain::{Reason, Unplug};
use crate::group::{Group, GroupError};
use crate::queue::cgroup::{GroupFileError, JIFFIES};
use crate::queue::plug::Handover;
use crate::queue::step::Step;
use crate::queue::{BlockQueue, Listener, Submitted};
use crate::request::{Bio, GroupId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// How many bios `io.max` has held so far; `None` if no group has a limit.
    pub fn held_by_io_max(&self) -> Option<u64> {
        self.state.gate.has_limits().then(|| self.state.gate.ever_held())
    }

    /// How fast io.cost's clock has run since when, as parts of its model's rate; empty without io.cost. A long run has
    /// fewer moments, evenly spread.
    pub fn io_cost_rates(&self) -> Vec<(Instant, f64)> {
        self.state.policies.iter().find_map(|policy| policy.clock_rates()).unwrap_or_default()
    }

    /// Writes to a file of a group: `io.max`, `io.latency`, `io.prio.class`, `io.weight`, `io.bfq.weight`; for the root
    /// also `io.cost.qos` and `io.cost.model`.
    ///
    /// # Errors
    /// If the file or the group does not exist, or the file does not accept the text; nothing has changed then.
    pub fn write_group_file(
        &mut self,
        now: Instant,
        id: GroupId,
        file: &str,
        text: &str,
    ) -> Result<(), GroupFileError> {
        let written = files::parse(file, text).map_err(GroupFileError::File)?;
        let mut step = self.at(now);
        let present = *step.cx.state.groups.get(id).ok_or(GroupFileError::Group(GroupError::Unknown(id)))?;
        let of_root = matches!(written, Written::CostQos(_) | Written::CostModel(_) | Written::CostRate(_));
        match (of_root, id == GroupId::ROOT) {
            (true, false) => {
                let file = match written {
                    Written::CostQos(_) => "io.cost.qos",
                    Written::CostModel(_) => "io.cost.model",
                    _ => files::COST_RATE,
                };
                return Err(GroupFileError::RootOnly(file));
            }
            (false, true) => return Err(GroupFileError::NotOfTheRoot(file.to_owned())),
            _ => {}
        }
        match &written {
            Written::BfqWeight(weight) => {
                let group = Group { weight: *weight, leaf_weight: *weight, ..present };
                step.announce(id, group).map_err(GroupFileError::Group)?;
            }
            Written::Max(keys) => {
                step.cx.state.gate.change_limits(now, id, keys);
                step.cx.state.gate_changed();
            }
            Written::PrioClass(class) => {
                step.cx.state.gate.set_class(id, *class);
                step.cx.state.gate_changed();
            }
            Written::CostQos(CostQos { enable: Some(true), .. }) | Written::CostModel(_) => {
                step.ensure_io_cost(Overflows::Kernel);
                step.configure(id, &written);
            }
            Written::Latency(_) => {
                if !step.cx.state.policies.has("io.latency") {
                    let device = step.cx.state.device;
                    step.add_policy(Box::new(IoLatencyPolicy::new(device.rotational, device.nr_requests)));
                }
                step.configure(id, &written);
            }
            Written::Weight(weight) => {
                step.cx.state.gate.set_weight(id, *weight);
                step.configure(id, &written);
            }
            Written::CostQos(_) | Written::CostRate(_) => step.configure(id, &written),
        }
        step.changed();
        Ok(())
    }

    /// Puts io.cost between merging and slots, if it is not there yet. Until `io.cost.model` is written, its model is
    /// the kernel's for such a device.
    pub fn ensure_io_cost(&mut self, now: Instant, overflows: Overflows) {
        self.at(now).ensure_io_cost(overflows);
    }
}

impl Step<'_, dyn Elevator> {
    fn ensure_io_cost(&mut self, overflows: Overflows) {
        if self.cx.state.policies.has("io.cost") {
            return;
        }
        let class = Class::of(self.cx.state.config.limits.rotational, self.cx.state.config.depth);
        let (model, qos) = (None, None);
        let config = Config { jiffies: JIFFIES, class, model, qos, overflows, era: CostEra::default() };
        self.add_policy(Box::new(IoCostPolicy::new(config)));
        for (id, weight) in self.cx.state.gate.weights().collect::<Vec<_>>() {
            self.configure(id, &Written::Weight(weight));
        }
    }

    fn configure(&mut self, id: GroupId, written: &Written) {
        self.tell_policies(|policy, cx| {
            policy.written(cx, id, written);
        });
    }

    /// The bio, with its group's priority, unless `io.max` holds it back; then the queue keeps it.
    pub(in crate::queue) fn pass_gate(&mut self, bio: Bio) -> Option<Bio> {
        let passed = self.cx.state.gate.pass(self.cx.now, bio);
        self.cx.state.gate_changed();
        if passed.is_none() {
            self.cx.tell(|_| Reason::HeldByMax { submitter: bio.submitter, group: bio.group });
        }
        passed
    }

    /// Releases the bios of `io.max` whose time has come.
    pub(in crate::queue) fn elapse_gate(&mut self) {
        let mut released = Vec::new();
        self.cx.state.gate.elapse(self.cx.now, &mut released);
        self.submit_released(&released);
    }

    /// Submits released bios. No process waits for them: a worker submits them, in one plug.
    pub(in crate::queue) fn submit_released(&mut self, released: &[u64]) {
        // Then no plug is emptied either: the submitter that collects in it has not handed over yet.
        if released.is_empty() {
            return;
        }
        let mut submitters = Vec::new();
        for token in released {
            let Some(bio) = self.cx.state.gate.let_go(*token) else { continue };
            self.cx.tell(|_| Reason::PassedMax { submitter: bio.submitter, group: bio.group });
            if self.submit_passed(&bio) == Submitted::Held && !submitters.contains(&bio.submitter) {
                submitters.push(bio.submitter);
            }
        }
        submitters.into_iter().for_each(|submitter| self.flush_plug_of(submitter, Handover::Finish));
        self.open_plug(Unplug::Waiting);
    }

    /// A group is removed: its bios no longer wait at `io.max`.
    pub(in crate::queue) fn ungate(&mut self, id: GroupId) {
        let mut released = Vec::new();
        self.cx.state.gate.remove_group(id, &mut released);
        self.cx.state.gate_changed();
        self.submit_released(&released);
    }
}
