//! Where dirty memory stands between its limits, as a factor on the device's rate.
//!
//! **Rule** with the setpoint half way between freerun and the limit, the factor is 1 at the setpoint, up to 2 below, 0
//! at the limit, along a cubic curve, which is flat around the setpoint and steep at the limit. It is multiplied by a
//! second, straight one for the device's own dirty pages around its part of the setpoint; the more the device writes,
//! the flatter that one. With a strict limit only the device's own curve counts, or memory's if that is lower.
//! **Origin** recorded `task_ratelimit / dirty_ratelimit`: within 0.03 in 4,899 of 4,913 events without strict limit
//! and in 439 of 445 with one (where it is not, the estimate of the bandwidth, or the limits, had changed since they
//! were last recorded). That a device with less than half of its part gets more is MEMORY: no recording has two busy
//! devices.
//!
//! In the kernel: `wb_position_ratio`, `pos_ratio_polynom`.

/// Dirty memory between two limits, all in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    /// Dirty or being written.
    pub dirty: u64,
    pub background: u64,
    pub limit: u64,
}

impl Depth {
    /// Up to here nobody is slowed down.
    pub fn freerun(&self) -> u64 {
        u64::midpoint(self.background, self.limit)
    }

    /// The setpoint if this limit counts by itself: where slowing down begins.
    fn curve(&self, setpoint: f64) -> f64 {
        let (dirty, limit) = (self.dirty as f64, self.limit as f64);
        if dirty >= limit {
            return 0.0;
        }
        let x = (setpoint - dirty) / (limit - setpoint).max(1.0);
        (1.0 + x * x * x).clamp(0.0, 2.0)
    }
}

/// Where all memory stands, and one device's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub memory: Depth,
    pub device: Depth,
    /// What the device writes \[pages/s\].
    pub bandwidth: u64,
    pub is_strict: bool,
}

impl Position {
    /// The limit that decides whether anybody is slowed down.
    fn deciding(&self) -> &Depth {
        if self.is_strict && self.memory.dirty <= self.memory.freerun() { &self.device } else { &self.memory }
    }

    /// If nobody is slowed down, how far it is to the limit \[pages\].
    pub fn room_below_freerun(&self) -> Option<u64> {
        let depth = self.deciding();
        (depth.dirty <= depth.freerun()).then(|| depth.limit - depth.dirty)
    }

    /// What the rate is steered towards \[pages\], and what is dirty.
    pub fn setpoint(&self) -> (u64, u64) {
        match self.is_strict {
            true => (self.device.freerun(), self.device.dirty),
            false => (u64::midpoint(self.memory.freerun(), self.memory.limit), self.memory.dirty),
        }
    }

    /// The factor on the device's rate, from 0.
    pub fn ratio(&self) -> f64 {
        let setpoint = u64::midpoint(self.memory.freerun(), self.memory.limit) as f64;
        let all = self.memory.curve(setpoint);
        match self.is_strict {
            true => all.min(self.device.curve(self.device.freerun() as f64)),
            false => all * self.of_device(setpoint),
        }
    }

    /// The straight line of the device's own dirty pages.
    fn of_device(&self, setpoint: f64) -> f64 {
        let (limit, own, dirty) = (self.memory.limit as f64, self.device.limit as f64, self.device.dirty as f64);
        let part = own / limit.max(1.0);
        let span = ((limit - own).max(0.0) + 8.0 * self.bandwidth as f64) * part;
        let (own_setpoint, half) = (setpoint * part, own / 2.0);
        let zero = own_setpoint + span;
        let line = if dirty < zero - span / 4.0 { (zero - dirty) / span.max(1.0) } else { 0.25 };
        let reserve = if dirty < half { (half / dirty.max(1.0)).min(8.0) } else { 1.0 };
        line * reserve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(dirty: u64, device: Depth, bandwidth: u64) -> Position {
        Position { memory: Depth { dirty, background: 4096, limit: 8192 }, device, bandwidth, is_strict: false }
    }

    /// Recorded: a sequential writer, a limit of 32 MiB, three states of the device's part.
    #[test]
    fn the_factor_is_the_recorded_one() {
        for (dirty, setpoint, own, bandwidth, ratio) in [
            (6160, 2442, 5136, 25_600, 1.875),
            (7120, 2442, 6128, 25_600, 0.947),
            (8109, 2348, 7152, 25_600, 0.210),
            (7299, 1097, 7280, 25_068, 0.799),
            (6178, 4241, 6176, 24_633, 1.867),
        ] {
            let limit = setpoint * 8192 / 7168;
            let device = Depth { dirty: own, background: limit / 2, limit };
            let found = position(dirty, device, bandwidth).ratio();
            assert!((found - ratio).abs() < 0.02, "{dirty}: {found}, recorded {ratio}");
        }
    }

    #[test]
    fn a_strict_limit_counts_although_memory_is_nearly_clean() {
        // Recorded: 6170, 7024 and 8064 pages of 8192, of which 4091 in the background.
        for (dirty, ratio) in [(6170, 1.0), (7024, 0.920), (8064, 0.176), (8192, 0.0)] {
            let memory = Depth { dirty: 9000, background: 587_670, limit: 1_176_782 };
            let device = Depth { dirty, background: 4091, limit: 8192 };
            let position = Position { memory, device, bandwidth: 25_400, is_strict: true };
            assert!((position.ratio() - ratio).abs() < 0.02, "{dirty}: {}", position.ratio());
            assert_eq!(position.room_below_freerun(), None);
        }
    }

    #[test]
    fn freerun_ends_above_the_middle_not_at_it() {
        let device = Depth { dirty: 6144, background: 4096, limit: 8192 };
        assert_eq!(position(6144, device, 1).room_below_freerun(), Some(2048));
        assert_eq!(position(6145, device, 1).room_below_freerun(), None);
        let strict = |dirty| {
            let device = Depth { dirty, background: 4096, limit: 8192 };
            Position { is_strict: true, ..position(dirty, device, 1) }.room_below_freerun()
        };
        assert_eq!([strict(6144), strict(6145)], [Some(2048), None]);
    }

    #[test]
    fn beside_a_fast_device_a_slow_one_is_slowed_down_first() {
        let of = |own, limit, bandwidth| {
            position(7168, Depth { dirty: own, background: limit / 2, limit }, bandwidth).ratio()
        };
        let (fast, slow) = (of(6600, 7500, 25_000), of(1500, 700, 300));
        assert!(fast > 0.9 && slow < 0.9 * fast, "{fast} {slow}");
    }
}
