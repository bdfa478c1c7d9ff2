//! A slice of time, its allowance, and the used part of it.
//!
//! **Rule** A bio passes if the amount sent since the slice began, including the bio, does not exceed the allowance of
//! the time since then, rounded up to whole slices. After each charge, whole slices that are over are subtracted from
//! both.
//! **Origin** docs/behaviour/cgroup-io.md#x.
//! **In the kernel** `throtl_slice`, `tg_within_bps_limit`, `tg_within_iops_limit`, `throtl_trim_slice`,
//! `throtl_charge_bio`, `throtl_start_new_slice`, `calculate_bytes_allowed`, `calculate_io_allowed`,
//! `throtl_slice_used`, `throtl_extend_slice`, `carryover_bytes`, `carryover_ios`, `tg_conf_updated`, `bytes_disp`,
//! `io_disp`.

use crate::kernel::{Kernel, V6_18};
use crate::time::{Jiffies, Tick};

/// The versions of `io.max`, as far as they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Era {
    /// Up to 6.12, of which 6.1 and 6.12 were read: metadata is held behind the group's other bios.
    V6_12,
    /// 6.18: one old slice is kept as tolerance; bytes are charged before I/Os are checked; metadata passes.
    #[default]
    V6_18,
}

impl Era {
    /// The era of a kernel. When exactly between 6.12 and 6.18 it changed is not known here.
    pub fn of(kernel: Kernel) -> Era {
        if kernel >= V6_18 { Era::V6_18 } else { Era::V6_12 }
    }
}

/// The limits of one direction per second; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bps: Option<u64>,
    /// I/Os.
    pub iops: Option<u64>,
}

/// A bio's length, and whether this group has charged it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) charged: bool,
}

/// Whether a bio may pass now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceVerdict {
    Pass,
    /// Not before this many ticks.
    Wait(Tick),
}

/// Whether the bio in question is queued here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queued {
    No,
    Yes,
}

/// What was used since the slice began. Negative: carried over.
#[derive(Clone, Debug, Default)]
pub(super) struct ThrottleSlice {
    start: Tick,
    end: Tick,
    bytes: i64,
    ios: i64,
    carried_bytes: i64,
    carried_ios: i64,
}

/// A slice's length: 100 ms.
pub(super) fn length(jiffies: Jiffies) -> Tick {
    Tick::from(jiffies.hz() / 10).max(1)
}

/// The amount allowed in this many ticks.
fn allowed(rate: u64, ticks: Tick, jiffies: Jiffies) -> i64 {
    let allowed = u128::from(rate) * u128::from(ticks) / u128::from(jiffies.hz());
    i64::try_from(allowed).unwrap_or(i64::MAX)
}

impl ThrottleSlice {
    pub(super) fn test(
        &mut self,
        now: Tick,
        size: &mut Size,
        limit: &Limit,
        queued: Queued,
        jiffies: Jiffies,
        era: Era,
    ) -> SliceVerdict {
        if limit.bps.is_none() && limit.iops.is_none() {
            return SliceVerdict::Pass;
        }
        self.renew(now, queued, jiffies);
        let bytes = if size.charged { 0 } else { self.wait_for_bytes(now, size.bytes, limit, jiffies) };
        if era == Era::V6_18 && bytes == 0 && !size.charged {
            self.bytes += size.bytes as i64;
            size.charged = true;
        }
        let ios = match (era, bytes) {
            // 6.18 tests the I/Os only once the bytes fit.
            (Era::V6_18, 1..) => 0,
            _ => self.wait_for_an_io(now, limit, jiffies, era),
        };
        let wait = bytes.max(ios);
        if wait == 0 {
            return SliceVerdict::Pass;
        }
        self.end = self.end.max((now + wait).next_multiple_of(length(jiffies)));
        SliceVerdict::Wait(wait)
    }

    /// Begins a new slice if the old one has ended and no bio waits; otherwise extends the old one.
    fn renew(&mut self, now: Tick, queued: Queued, jiffies: Jiffies) {
        let slice = length(jiffies);
        if !(self.start..=self.end).contains(&now) && queued == Queued::No {
            *self = ThrottleSlice { start: now, end: now + slice, ..ThrottleSlice::default() };
        } else if self.end < now + slice {
            self.end = (now + slice).next_multiple_of(slice);
        }
    }

    fn wait_for_bytes(&self, now: Tick, bytes: u64, limit: &Limit, jiffies: Jiffies) -> Tick {
        let Some(rate) = limit.bps else { return 0 };
        let elapsed = now - self.start;
        // Whole slices: a fresh group may send a slice's worth at once.
        let rounded = elapsed.next_multiple_of(length(jiffies)).max(length(jiffies));
        let may = allowed(rate, rounded, jiffies).saturating_add(self.carried_bytes);
        let missing = self.bytes.saturating_add(bytes as i64).saturating_sub(may);
        if missing <= 0 {
            return 0;
        }
        let ticks = missing as u128 * u128::from(jiffies.hz()) / u128::from(rate.max(1));
        (ticks as Tick).max(1) + (rounded - elapsed)
    }

    fn wait_for_an_io(&self, now: Tick, limit: &Limit, jiffies: Jiffies, era: Era) -> Tick {
        let Some(rate) = limit.iops else { return 0 };
        let elapsed = now - self.start;
        let rounded = (elapsed + 1).next_multiple_of(length(jiffies));
        if self.ios < allowed(rate, rounded, jiffies).saturating_add(self.carried_ios) {
            return 0;
        }
        let wait = rounded - elapsed;
        match era {
            Era::V6_12 => wait,
            Era::V6_18 => wait.max(Tick::from(jiffies.hz()) / rate.max(1) + 1),
        }
    }

    /// A bio passes.
    pub(super) fn charge(&mut self, size: Size) {
        self.bytes += if size.charged { 0 } else { size.bytes as i64 };
        self.ios += 1;
    }

    /// Removes whole slices that have ended; 6.18 keeps one of them, so that a late timer loses nothing.
    pub(super) fn trim(&mut self, now: Tick, limit: &Limit, jiffies: Jiffies, era: Era) {
        let slice = length(jiffies);
        if limit.bps.is_none() && limit.iops.is_none() || !(self.start..=self.end).contains(&now) {
            return;
        }
        self.end = (now + slice).next_multiple_of(slice);
        let over = (now - self.start) / slice * slice;
        let taken = match era {
            Era::V6_12 => over,
            Era::V6_18 if over >= 2 * slice => over - slice,
            Era::V6_18 => 0,
        };
        if taken == 0 {
            return;
        }
        let of = |rate: Option<u64>| rate.map_or(0, |rate| allowed(rate, taken, jiffies));
        let (bytes, ios) = (of(limit.bps) + self.carried_bytes, of(limit.iops) + self.carried_ios);
        if bytes <= 0 && ios <= 0 {
            return;
        }
        self.bytes = (self.bytes - bytes).max(0);
        self.ios = (self.ios - ios).max(0);
        (self.carried_bytes, self.carried_ios) = (0, 0);
        self.start += taken;
    }

    /// The limits change: what was allowed while bios waited, and not used, is carried over.
    pub(super) fn change(&mut self, now: Tick, limit: &Limit, waits: bool, jiffies: Jiffies, era: Era) {
        let mut carried = (0, 0);
        if waits {
            let ticks = now - self.start;
            let of = |rate: Option<u64>, used: i64, before: i64| {
                rate.map_or(0, |rate| allowed(rate, ticks, jiffies) - used + before)
            };
            carried = (of(limit.bps, self.bytes, self.carried_bytes), of(limit.iops, self.ios, self.carried_ios));
        }
        *self = ThrottleSlice { start: now, end: now + length(jiffies), ..ThrottleSlice::default() };
        match era {
            Era::V6_12 => (self.carried_bytes, self.carried_ios) = carried,
            Era::V6_18 => (self.bytes, self.ios) = (-carried.0, -carried.1),
        }
    }
}
