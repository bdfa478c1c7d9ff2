//! **What for**: the interface: data between drive and host.
//!
//! **Rule**: one transfer at a time, first come, first served: of both directions together on a half-duplex interface
//! (SATA), of each direction on a full-duplex one (PCIe).
//!
//! **Costs when wrong**: on PCIe a read beside a stream of writes waits for every write queued before it, 5 ms with 128
//! of 128 KiB.

use blksched::{Dir, Instant, Span};

use super::lane::{Path, SerialLane};
use crate::{Duplex, Rate, SsdInterfaceSpec};

/// Time per sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct WirePace {
    /// \[ns / 2^32\].
    sector: u64,
}

impl WirePace {
    pub(super) fn new(rate: Rate) -> WirePace {
        let sector = ((512u128 * 1_000_000_000) << 32) / u128::from(rate.bytes_per_s());
        WirePace { sector: u64::try_from(sector).expect("a rate below 1 byte/s is refused when it is read") }
    }

    #[inline]
    pub(super) fn time_of(self, sectors: u32) -> Span {
        Span::from_ns(((u128::from(sectors) * u128::from(self.sector)) >> 32) as u64)
    }
}

/// The interface's lanes.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    duplex: Duplex,
    pace: WirePace,
    write_pace: WirePace,
    /// For reads, and, if half duplex, writes too.
    to_host: SerialLane,
    to_drive: SerialLane,
}

impl Wire {
    pub(super) fn new(spec: SsdInterfaceSpec) -> Wire {
        let (to_host, to_drive) = (SerialLane::default(), SerialLane::default());
        let (pace, write_pace) = (WirePace::new(spec.rate), WirePace::new(spec.write_rate.unwrap_or(spec.rate)));
        Wire { duplex: spec.duplex, pace, write_pace, to_host, to_drive }
    }

    /// The time for `sectors` of a read's or a write's data to cross.
    pub(super) fn time_of(&self, dir: Dir, sectors: u32) -> Span {
        match dir {
            Dir::Read => self.pace.time_of(sectors),
            Dir::Write => self.write_pace.time_of(sectors),
        }
    }

    /// Transfers `sectors` of a read's or a write's data, from `at` at the earliest; returns when that ends, and the
    /// path so far.
    pub(super) fn carry(&mut self, dir: Dir, at: Instant, sectors: u32, path: Path) -> (Instant, Path) {
        let span = self.time_of(dir, sectors);
        let lane = match (self.duplex, dir) {
            (Duplex::Half, _) | (Duplex::Full, Dir::Read) => &mut self.to_host,
            (Duplex::Full, Dir::Write) => &mut self.to_drive,
        };
        let (begin, path) = lane.occupy(at, span, path);
        (begin + span, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_own_lane_when_full_duplex_and_none_when_half() {
        let rate = Rate::from_bytes_per_s(512_000_000);
        let us = |us| Instant::ZERO + Span::from_us(us);
        for (duplex, other, again) in [(Duplex::Half, 3, 6), (Duplex::Full, 2, 4)] {
            let mut wire = Wire::new(SsdInterfaceSpec { rate, write_rate: None, duplex });
            let mut carry = |dir, sectors, op| wire.carry(dir, us(0), sectors, Path { op, foreign: Span::ZERO });
            assert_eq!(carry(Dir::Write, 1, 1).0, us(1));
            let (end, path) = carry(Dir::Read, 2, 2);
            // Its wait for the write is not its own work.
            assert_eq!((end, path.foreign), (us(other), Span::from_us(other - 2)));
            assert_eq!(carry(Dir::Write, 3, 3).0, us(again));
        }
    }
}
