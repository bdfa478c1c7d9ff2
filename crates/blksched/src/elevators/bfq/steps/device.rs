//! Observation of the device: its peak rate, at dispatch and completion.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b12; docs/behaviour/elevators-4.19-5.15.md#y16.
//! **In the kernel** `bfq_update_peak_rate`, `bfq_update_rate_reset`, `last_position`, `in_serv_last_pos`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::device::peak_rate::{Dispatched, SHIFT};
use crate::elevators::bfq::rules::Sequential;
use crate::elevators::bfq::state::habits;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;
use crate::request::Sector;

impl Bfq {
    /// Observes a dispatch, of the queue in service or of another one.
    #[inline(always)]
    pub(super) fn sample_dispatch(&mut self, call: &mut Call<'_>, start: Sector, sectors: u32, in_service: bool) {
        let last = self.device.last_position();
        let seeks = match self.rules.sequential {
            Sequential::NearOrLarge => habits::seeks(last, start, sectors, self.device.rate.is_rotational()),
            Sequential::Near => start.distance(last) >= habits::SEEK,
        };
        let at =
            Dispatched { ns: call.ns, sectors: u64::from(sectors), seeks, device_idle: self.device.in_device() == 0 };
        if self.device.rate.dispatched(at) {
            self.rate_changed(&mut call.apart());
        }
        self.device.move_to(start + sectors);
        if in_service {
            self.in_service.move_to(start + sectors);
        }
    }

    #[inline(never)]
    pub(super) fn rate_changed(&mut self, call: &mut Call<'_>) {
        if self.knobs.max_budget == 0 {
            self.recompute_max_budget();
        }
        let sectors_per_s = (self.device.rate.rate() * 1_000_000) >> SHIFT;
        call.explain(Reason::PeakRate { sectors_per_s, max_budget: self.device.max_budget() });
    }
}
