//! How many writes may be in flight.
//!
//! **Origin** docs/behaviour/blk-wbt.md#3.
//! **In the kernel** `calc_wb_limits`, `rq_depth_calc_max_depth`, `get_limit`, `rq_depth_scale_down`,
//! `rq_depth_scale_up`, `scale_up`, `scale_down`, `wb_background`, `wb_normal`.

use crate::time::Span;

/// Writes in flight at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteLimits {
    /// For tasks that sync, and while writers had to wait for memory.
    pub max: u32,
    /// For ordinary write-back.
    pub normal: u32,
    /// In the background, and while reads are recent.
    pub background: u32,
}

/// The initial limit, on a device that takes more.
const START: u32 = 16;

impl WriteLimits {
    /// The limits at this step (above 0: scaled down) on a device that takes this many; the flag: whether they are at
    /// their maximum.
    pub(super) fn at(step: i32, queue_depth: u32, target: Span) -> (WriteLimits, bool) {
        let (max, at_max) = deepest(step, queue_depth);
        let (normal, background) = match max {
            _ if target.is_zero() => (0, 0),
            0..=2 => (max, 1),
            _ => (max.div_ceil(2), max.div_ceil(4)),
        };
        (WriteLimits { max, normal, background }, at_max)
    }
}

fn deepest(step: i32, queue_depth: u32) -> (u32, bool) {
    if queue_depth == 1 {
        return if step > 0 { (1, false) } else { (2, true) };
    }
    let start = START.min(queue_depth);
    match step {
        0 => (start, false),
        1.. => (1 + ((start - 1) >> step.unsigned_abs().min(31)), false),
        _ => {
            let grown = 1 + (u64::from(start - 1) << step.unsigned_abs().min(31));
            // The ceiling may be below the start: at a depth of 8, a step up lowers the limit from 8 to 6. Kept.
            let ceiling = 3 * queue_depth / 4;
            if grown > u64::from(ceiling) { (ceiling, true) } else { (grown as u32, false) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: i32, queue_depth: u32) -> (u32, u32, u32) {
        let (WriteLimits { max, normal, background }, _) = WriteLimits::at(step, queue_depth, Span::from_ms(75));
        (max, normal, background)
    }

    #[test]
    fn a_sata_disk_begins_with_16_and_settles_at_24() {
        assert_eq!([at(0, 32), at(-1, 32), at(1, 32), at(4, 32)], [(16, 8, 4), (24, 12, 6), (8, 4, 2), (1, 1, 1)]);
        assert_eq!(at(-6, 1023), (767, 384, 192));
        assert_eq!([at(0, 8), at(-1, 8)], [(8, 4, 2), (6, 3, 2)], "a shallow device's ceiling is below its start");
        assert_eq!([at(0, 1), at(1, 1)], [(2, 2, 1), (1, 1, 1)]);
    }
}
