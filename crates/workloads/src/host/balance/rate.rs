//! What a device writes, and the rate at which its tasks may dirty memory.
//!
//! **Rule** both begin at 100 MiB/s. At most every 200 ms a task that checks measures. *Bandwidth*: a mean over about 4
//! s of what the device wrote; a second one follows it by an eighth of the difference, only while the first moves away
//! from it. *Rate*: if the tasks together dirtied more than the device writes, the balanced rate is lower by that
//! ratio. The rate moves towards it by an eighth of the difference, the slower the smaller the difference is, and only
//! if the last two balanced rates and what the tasks are allowed now all lie on that side, and memory does too.
//! **Origin** recordings: every one of 366 updates of the rate is right to the page, 347 of 373 of the bandwidth (the
//! rest are updates by the flusher between two of a task).
//!
//! In the kernel: `wb_update_bandwidth`, `wb_update_dirty_ratelimit`; `avg_write_bandwidth`, `dirty_ratelimit`.

use super::position::Position;
use super::ticks::Ticks;

/// What a device is taken to write as long as nothing is known \[pages/s\].
const ASSUMED: u64 = (100 << 20) / 4096;

/// Where memory stands when a task measures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub position: &'a Position,
    /// The position's factor.
    pub ratio: f64,
}

/// Rates in pages/s.
#[derive(Clone, Debug)]
pub(super) struct DeviceRate {
    rate: u64,
    balanced: u64,
    /// The mean of what it writes, and the mean that follows it.
    writes: u64,
    bandwidth: u64,
    /// Pages since the last measurement.
    dirtied: u64,
    written: u64,
    /// The tick of the last measurement.
    measured: i64,
}

impl DeviceRate {
    pub fn new() -> DeviceRate {
        DeviceRate {
            rate: ASSUMED,
            balanced: ASSUMED,
            writes: ASSUMED,
            bandwidth: ASSUMED,
            dirtied: 0,
            written: 0,
            measured: 0,
        }
    }

    /// The rate of the device's tasks together.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// What the device is thought to write.
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth
    }

    pub fn dirtied(&mut self, pages: u64) {
        self.dirtied += pages;
    }

    pub fn written(&mut self, pages: u64) {
        self.written += pages;
    }

    /// The device had nothing to write and now has. Time without work says nothing about it, if it was more than the
    /// interval of measurements.
    pub fn begins(&mut self, tick: i64, ticks: Ticks) {
        if tick - self.measured > interval(ticks) {
            self.restart(tick);
        }
    }

    fn restart(&mut self, tick: i64) {
        (self.measured, self.dirtied, self.written) = (tick, 0, 0);
    }

    /// Measures, if it is time. The flusher measures the bandwidth alone, without a setting.
    pub fn update(&mut self, tick: i64, ticks: Ticks, setting: Option<&Setting>) {
        let elapsed = tick - self.measured;
        if elapsed < interval(ticks) {
            return;
        }
        let a_second = |pages: u64| pages * ticks.a_second() / elapsed as u64;
        let (dirtied, written) = (a_second(self.dirtied), a_second(self.written));
        if let Some(setting) = setting {
            self.adapt(dirtied, setting);
        }
        self.learn(written, elapsed as u64, (3 * ticks.a_second()).next_power_of_two());
        self.restart(tick);
    }

    /// Adapts the rate to what was dirtied \[pages/s\].
    fn adapt(&mut self, dirtied: u64, setting: &Setting) {
        let allowed = (self.rate as f64 * setting.ratio) as u64 + 1;
        let balanced = (allowed * self.bandwidth / dirtied.max(1)).min(self.bandwidth);
        let (setpoint, dirty) = setting.position.setpoint();
        // Only towards the setpoint, and by the most cautious of three estimates: one odd measurement moves it
        // little.
        let all = [balanced, self.balanced, allowed];
        if dirty > setpoint {
            let highest = all.into_iter().max().unwrap_or(allowed);
            self.rate -= step(self.rate, self.rate.saturating_sub(highest));
        } else if dirty < setpoint {
            let lowest = all.into_iter().min().unwrap_or(allowed);
            self.rate += step(self.rate, lowest.saturating_sub(self.rate));
        }
        self.rate = self.rate.max(1);
        self.balanced = balanced;
    }

    /// Learns what the device wrote \[pages/s\] for so many ticks, of the ticks of the mean.
    fn learn(&mut self, written: u64, elapsed: u64, mean: u64) {
        let before = self.writes;
        if elapsed > mean {
            // What was before such a gap is no part of the mean any more.
            (self.writes, self.bandwidth) = (written, written.max(1));
            return;
        }
        self.writes = (written * elapsed + before * (mean - elapsed)) / mean;
        // It follows the mean only while the mean itself moves that way, so that it does not swing around it.
        let follows = self.bandwidth;
        if follows > before && before >= self.writes {
            self.bandwidth -= (follows - before) / 8;
        } else if follows < before && before <= self.writes {
            self.bandwidth += (before - follows) / 8;
        }
        self.bandwidth = self.bandwidth.max(1);
    }
}

/// How much a rate moves if it is wrong by this much.
fn step(rate: u64, wrong: u64) -> u64 {
    let small = u32::try_from(rate / (2 * wrong + 1)).unwrap_or(u32::MAX);
    wrong.checked_shr(small).unwrap_or(0).div_ceil(8)
}

/// The shortest time between two measurements \[ticks\].
fn interval(ticks: Ticks) -> i64 {
    (ticks.a_second() / 5) as i64
}

#[cfg(test)]
mod tests {
    use super::super::position::Depth;
    use super::*;

    /// Memory above its setpoint, or below it.
    fn position(dirty: u64) -> Position {
        let memory = Depth { dirty, background: 4096, limit: 8192 };
        Position { memory, device: memory, bandwidth: ASSUMED, is_strict: false }
    }

    const TICKS: fn() -> Ticks = || Ticks::per_second(250);

    /// Recorded: a sequential writer on a disk of 12.5 MB/s; the second and the third update of its rate.
    #[test]
    fn a_rate_that_is_much_too_high_falls_by_an_eighth_of_the_difference() {
        let mut rate = DeviceRate::new();
        let above = position(8300);
        let at_limit = Setting { position: &above, ratio: 0.0 };
        rate.dirtied(4500);
        rate.update(58, TICKS(), Some(&at_limit));
        assert_eq!(rate.rate(), 25_600, "the balanced rate before was the assumed one");
        rate.dirtied(950);
        rate.update(109, TICKS(), Some(&at_limit));
        assert_eq!(rate.rate(), 22_400, "102,400 to 89,600 KiB/s");
    }

    #[test]
    fn the_bandwidth_follows_over_seconds() {
        let mut rate = DeviceRate::new();
        let (mut seconds, mut tick) = (0.0, 0);
        while rate.bandwidth() > 6_400 {
            rate.written(3_100 / 5);
            tick += 50;
            rate.update(tick, TICKS(), None);
            seconds += 0.2;
        }
        assert!((7.0..10.0).contains(&seconds), "a quarter of the assumed bandwidth after {seconds} s");
    }

    #[test]
    fn a_measurement_takes_200_ms_and_idle_time_is_none() {
        let mut rate = DeviceRate::new();
        rate.update(49, TICKS(), None);
        assert_eq!(rate.measured, 0);
        rate.update(50, TICKS(), None);
        assert_eq!(rate.measured, 50);
        let before = rate.writes;
        rate.begins(100, TICKS());
        assert_eq!(rate.measured, 50, "no more than the interval");
        rate.begins(2_000, TICKS());
        rate.written(5_120);
        rate.update(2_050, TICKS(), None);
        assert!(rate.writes.abs_diff(before) * 20 < before, "{} {before}", rate.writes);
    }

    #[test]
    fn a_small_error_is_corrected_more_slowly() {
        assert_eq!([step(25_600, 25_599), step(25_600, 12_800), step(25_600, 3_200)], [3_200, 1_600, 50]);
        assert_eq!(step(25_600, 100), 0);
        assert_eq!(step(1, 0), 0);
    }

    #[test]
    fn below_the_setpoint_a_rate_rises_only_if_everything_says_so() {
        let mut rate = DeviceRate { rate: 1_000, balanced: 1_000, ..DeviceRate::new() };
        let below = position(6_500);
        let setting = Setting { position: &below, ratio: 1.3 };
        rate.dirtied(200);
        rate.update(50, TICKS(), Some(&setting));
        assert_eq!(rate.rate(), 1_000, "the balanced rate before was no higher");
        rate.dirtied(200);
        rate.update(100, TICKS(), Some(&setting));
        assert!(rate.rate() > 1_000, "{}", rate.rate());
    }
}
