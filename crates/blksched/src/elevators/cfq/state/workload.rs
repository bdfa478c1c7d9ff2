//! The kind of load being served, and the rest of its slice.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c33.3; docs/behaviour/elevators-4.20.md#g.5.
//! **In the kernel** `serving_type`, `workload_expires`, `saved_workload_slice`, `serving_wl_class`, `serving_wl_type`,
//! `saved_wl_slice`.

use crate::elevators::cfq::ids::{Gid, ROOT};
use crate::elevators::ioprio::IoprioClass;
use crate::explain::ServiceType;
use crate::time::Tick;

/// The rest of a kind's slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    left: Tick,
    pub(crate) class: IoprioClass,
    kind: ServiceType,
}

/// The kind of load being served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// The group it belongs to.
    pub(crate) group: Gid,
    pub(crate) class: IoprioClass,
    pub(crate) kind: ServiceType,
    pub(crate) expires: Tick,
    /// Whether a process sent a request in this slice that announced more to come.
    pub(crate) idled_for_all: bool,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            group: ROOT,
            class: IoprioClass::BestEffort,
            kind: ServiceType::Async,
            expires: 0,
            idled_for_all: false,
        }
    }
}

impl Workload {
    /// The rest of its slice now.
    pub(crate) fn rest(&self, now: Tick) -> Option<Saved> {
        let left = self.expires.wrapping_sub(now);
        let Workload { class, kind, .. } = *self;
        ((left as i64) > 0).then_some(Saved { left, class, kind })
    }

    pub(crate) fn resume(&mut self, now: Tick, saved: Option<Saved>) {
        match saved {
            Some(Saved { left, class, kind }) => {
                (self.expires, self.class, self.kind) = (now.wrapping_add(left), class, kind);
            }
            // Already over, so that a kind is chosen again.
            None => self.expires = now.wrapping_sub(1),
        }
    }

    pub(crate) fn is_over(&self, now: Tick) -> bool {
        (now.wrapping_sub(self.expires) as i64) > 0
    }
}
