//! **What for**: the drive's electronics: decoding a command, and moving its data between buffer and host.
//!
//! **Rule**: a command that finds the drive idle costs `command` before anything else happens; one that finds others in
//! flight costs only `queued`, because the drive decodes it while it works. Commands are decoded one after the other,
//! and buffered data crosses the interface one command at a time, at `rate`.
//!
//! **Shown by**: three windowed readers of 32 KiB: with the overhead never hidden they lose a quarter of the bandwidth.

use blksched::{Instant, Span};

use crate::{OverheadSpec, Rate};

/// Decoder and interface.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    overhead: OverheadSpec,
    decoder_free: Instant,
    interface_free: Instant,
    /// \[ns / 2^32\].
    sector_time: u64,
}

impl Wire {
    pub(super) fn new(overhead: OverheadSpec, rate: Rate) -> Wire {
        let sector_time = ((512u128 * 1_000_000_000) << 32) / u128::from(rate.bytes_per_s());
        Wire {
            overhead,
            decoder_free: Instant::ZERO,
            interface_free: Instant::ZERO,
            sector_time: u64::try_from(sector_time).expect("a rate below 1 byte/s is refused when it is read"),
        }
    }

    /// Decodes a command that arrives at `now`; it can be worked on from the answer on.
    pub(super) fn decode(&mut self, now: Instant, others_in_flight: bool) -> Instant {
        let cost = if others_in_flight { self.overhead.queued } else { self.overhead.command };
        self.decoder_free = now.max(self.decoder_free) + cost;
        self.decoder_free
    }

    /// Carries `sectors` of buffered data, from `ready` on at the earliest; says when that ends.
    pub(super) fn carry(&mut self, ready: Instant, sectors: u32) -> Instant {
        self.interface_free = ready.max(self.interface_free) + self.time_of(sectors);
        self.interface_free
    }

    /// How long `sectors` take to cross.
    pub(super) fn time_of(&self, sectors: u32) -> Span {
        Span::from_ns(((u128::from(sectors) * u128::from(self.sector_time)) >> 32) as u64)
    }
}
