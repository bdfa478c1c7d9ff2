//! The load in flight: counted from the moment a request is put into a batch or a FIFO until it completes.
//!
//! **Origin** docs/behaviour/adios-3.1.md#a7: one word, the load in its upper 48 bits and the count in its lower 16, so
//! that a count beyond 65,535 spills into the load. Requests that the device returns are counted twice (#a12, read from
//! the code).

/// The number and predicted cost of the requests in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlightCost(u64);

const COUNT_BITS: u32 = 16;

impl FlightCost {
    pub(super) fn begin(&mut self, requests: u64, predicted: u64) {
        self.0 = self.0.wrapping_add((predicted << COUNT_BITS).wrapping_add(requests));
    }

    pub(super) fn end(&mut self, predicted: u64) {
        self.0 = self.0.wrapping_sub((predicted << COUNT_BITS).wrapping_add(1));
    }

    pub(super) fn count(self) -> u64 {
        self.0 & ((1 << COUNT_BITS) - 1)
    }

    /// The sum of their predictions \[ns\].
    pub(super) fn load(self) -> u64 {
        self.0 >> COUNT_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_and_count_come_and_go_together() {
        let mut flight = FlightCost::default();
        flight.begin(3, 700);
        flight.end(200);
        assert_eq!((flight.count(), flight.load()), (2, 500));
    }
}
