//! **What for**: the drive's electronics: decoding a command, and moving its data between buffer and host.
//!
//! **Rule**: a command that finds the drive idle costs `command` before anything else happens, or the file's value for
//! its case (hit or miss, read or write, after a read or after a write); one that finds others in flight costs only
//! `queued`, because the drive decodes it while working. Commands are decoded one after the other, and buffered data
//! crosses the interface one command at a time, at `rate`.
//!
//! **Shown by**: three windowed readers of 32 KiB: with the overhead never hidden they lose a quarter of the bandwidth.

use blksched::{Instant, Op, Span};

use crate::{OverheadSpec, Rate, Watermarks};

/// Decoder and interface.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    overhead: OverheadSpec,
    decoder_free: Instant,
    interface_free: Instant,
    /// \[ns / 2^32\].
    sector_time: u64,
    watermarks: Watermarks,
    /// Whether the previous command was a write.
    after_write: bool,
}

/// The kind that a command turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireCase {
    /// A read of what is in the buffer, or just passing under the head.
    ReadHit,
    ReadMiss,
    /// A write that ends in the buffer.
    WriteHit,
    WriteMiss,
    Other,
}

impl Wire {
    pub(super) fn new(overhead: OverheadSpec, rate: Rate, watermarks: Watermarks) -> Wire {
        let sector_time = ((512u128 * 1_000_000_000) << 32) / u128::from(rate.bytes_per_s());
        Wire {
            overhead,
            decoder_free: Instant::ZERO,
            interface_free: Instant::ZERO,
            watermarks,
            after_write: false,
            sector_time: u64::try_from(sector_time).expect("a rate below 1 byte/s is refused when it is read"),
        }
    }

    /// Decodes a command that arrives at `now`; returns when work on it can begin.
    pub(super) fn decode(&mut self, now: Instant, case: WireCase, others_in_flight: bool) -> Instant {
        let cost = if others_in_flight { self.overhead.queued } else { self.cost_of(case) };
        self.after_write = matches!(case, WireCase::WriteHit | WireCase::WriteMiss);
        self.decoder_free = now.max(self.decoder_free) + cost;
        self.decoder_free
    }

    /// Whether the cost of a command depends on its case.
    pub(super) fn tells_cases_apart(&self) -> bool {
        self.overhead.cases.is_some()
    }

    /// The cost of a command that finds the drive idle.
    fn cost_of(&self, case: WireCase) -> Span {
        let Some(cases) = &self.overhead.cases else { return self.overhead.command };
        let costs = if self.after_write { &cases.after_write } else { &cases.after_read };
        match case {
            WireCase::ReadHit => costs.read_hit,
            WireCase::ReadMiss => costs.read_miss,
            WireCase::WriteHit => costs.write_hit,
            WireCase::WriteMiss => costs.write_miss,
            WireCase::Other => self.overhead.command,
        }
    }

    /// The cost of a command once its data is through.
    pub(super) fn end_cost(&self, op: Op) -> Span {
        self.overhead.cases.map_or(Span::ZERO, |cases| if op == Op::Read { cases.read_end } else { cases.write_end })
    }

    /// When a read that misses ends: its data is under the head from `from` to `until`.
    ///
    /// The bus is at least one sector behind the head; a file without costs by case includes that in `command`.
    pub(super) fn read_through(&self, from: Instant, until: Instant, sectors: u32) -> Instant {
        let Some(cases) = &self.overhead.cases else { return until.max(from + self.time_of(sectors)) };
        let under_head = until.since(from);
        let first = under_head / u64::from(sectors.max(1));
        let needed = self.watermarks.read.part_of(under_head, sectors);
        let begin = from + needed.max(first) + cases.read_prepare;
        (begin + self.time_of(sectors)).max(until + self.time_of(1))
    }

    /// How much later than the write itself its data arrives, as far as the medium waits for it.
    pub(super) fn data_ahead_of_medium(&self, sectors: u32) -> Span {
        self.time_of(self.watermarks.write.of(sectors))
    }

    /// Transfers `sectors` of buffered data, from `ready` at the earliest; returns when that ends.
    pub(super) fn carry(&mut self, ready: Instant, sectors: u32) -> Instant {
        self.interface_free = ready.max(self.interface_free) + self.time_of(sectors);
        self.interface_free
    }

    /// The transfer time of `sectors`.
    pub(super) fn time_of(&self, sectors: u32) -> Span {
        Span::from_ns(((u128::from(sectors) * u128::from(self.sector_time)) >> 32) as u64)
    }
}
