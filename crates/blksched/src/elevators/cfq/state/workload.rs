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
    class: IoprioClass,
    kind: ServiceType,
}

/// The kind of load being served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// The group it belongs to.
    group: Gid,
    class: IoprioClass,
    kind: ServiceType,
    expires: Tick,
    /// Whether a process sent a request in this slice that announced more to come.
    idled_for_all: bool,
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

    pub(crate) fn group(&self) -> Gid {
        self.group
    }

    /// It belongs to this group from now on; true if it belonged to another.
    pub(crate) fn move_to(&mut self, group: Gid) -> bool {
        core::mem::replace(&mut self.group, group) != group
    }

    pub(crate) fn class(&self) -> IoprioClass {
        self.class
    }

    pub(crate) fn set_class(&mut self, class: IoprioClass) {
        self.class = class;
    }

    #[inline]
    pub(crate) fn kind(&self) -> ServiceType {
        self.kind
    }

    pub(crate) fn set_expires(&mut self, expires: Tick) {
        self.expires = expires;
    }

    /// A kind's slice begins.
    pub(crate) fn begin(&mut self, kind: ServiceType, expires: Tick) {
        (self.kind, self.expires, self.idled_for_all) = (kind, expires, false);
    }

    /// Whether a process sent a request in this slice that announced more to come.
    #[inline]
    pub(crate) fn is_idled_for_all(&self) -> bool {
        self.idled_for_all
    }

    #[inline]
    pub(crate) fn announces_more(&mut self, more: bool) {
        self.idled_for_all |= more;
    }
}
