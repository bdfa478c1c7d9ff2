//! The slice of the queue in service: when it began, where on the disk it is, and whether the disk idles for it.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b11 and #b13.
//! **In the kernel** `idle_slice_timer`, `last_idling_start`, `last_budget_start`, `in_serv_last_pos`.

use crate::request::Sector;
use crate::time::Instant;

/// The current idling, or the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idling {
    until: Option<Instant>,
    since_ns: u64,
}

impl Idling {
    /// When it ends, while the disk idles.
    #[inline]
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// When it began, the last one if the disk does not idle \[ns\].
    pub(crate) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    pub(crate) fn begin(&mut self, ns: u64, until: Instant) {
        *self = Idling { until: Some(until), since_ns: ns };
    }

    /// True if the disk was idling.
    #[inline]
    pub(crate) fn end(&mut self) -> bool {
        self.until.take().is_some()
    }
}

/// The slice in service, or the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InService {
    began_ns: u64,
    position: Sector,
}

impl Default for InService {
    fn default() -> InService {
        InService { began_ns: 0, position: Sector(0) }
    }
}

impl InService {
    pub(crate) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// The end of the last request of this slice that went to the device.
    #[inline]
    pub(crate) fn position(&self) -> Sector {
        self.position
    }

    pub(crate) fn begin(&mut self, ns: u64) {
        self.began_ns = ns;
    }

    #[inline]
    pub(crate) fn move_to(&mut self, position: Sector) {
        self.position = position;
    }
}
