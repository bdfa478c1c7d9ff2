//! How many requests of write-back a slice has.
//!
//! **Rule** `2 · slice_async_rq · (8 − level)`: level 0 has eight times what level 7 has.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c13.
//! **In the kernel** `cfq_prio_to_maxrq`, `slice_async_rq`.

/// How many requests of write-back a slice has.
pub(crate) fn async_share(per_level: i32, level: u8) -> u32 {
    let share = 2 * i64::from(per_level) * (8 - i64::from(level));
    u32::try_from(share).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_back_of_level_0_has_eight_times_the_share_of_level_7() {
        assert_eq!((async_share(2, 0), async_share(2, 4), async_share(2, 7)), (32, 16, 4));
        assert_eq!(async_share(i32::MAX, 0), u32::MAX);
    }
}
