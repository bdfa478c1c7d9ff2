//! The anticipatory scheduler's knobs, with sysfs's names and units, and their defaults in ticks.

use crate::kernel::{Kernel, Kernels};
use crate::time::{Jiffies, Span};
use crate::tunables;

pub(super) const V2_6_32: Kernel = Kernel::new(2, 6, 32);
const SINCE_2_6: Kernels = Kernels::between(Kernel::new(2, 6, 0), V2_6_32);
const MS: i64 = 1_000_000;
const INT_MAX: i64 = i32::MAX as i64;

tunables! {
    /// The anticipatory scheduler's knobs. "Read" means synchronous: a process waits for it; "write" means
    /// asynchronous.
    pub struct AnticipatoryTunables {
        /// How long a read may wait before a batch of reads takes it out of order; also the least time between two such
        /// checks.
        read_expire: Span [Ms] = Span::from_ms(125), 0..=INT_MAX * MS, SINCE_2_6,
            sweep [50 * MS, 125 * MS, 250 * MS, 500 * MS];
        /// How long a write may wait before a batch of writes takes it out of order; also the least time between two
        /// such checks.
        write_expire: Span [Ms] = Span::from_ms(250), 0..=INT_MAX * MS, SINCE_2_6,
            sweep [50 * MS, 250 * MS, 1000 * MS];
        /// How long the disk is left idle for the next read of a process, from the completion of its last one. 0: not
        /// at all.
        antic_expire: Span [Ms] = Span::from_ms(6), 0..=INT_MAX * MS, SINCE_2_6,
            sweep [0, 3 * MS, 6 * MS, 10 * MS, 20 * MS];
        /// How long reads continue while writes wait.
        read_batch_expire: Span [Ms] = Span::from_ms(500), 0..=INT_MAX * MS, SINCE_2_6,
            sweep [100 * MS, 250 * MS, 500 * MS, 1000 * MS];
        /// How long writes continue while reads wait; the number of requests in a batch of writes is adapted to it.
        write_batch_expire: Span [Ms] = Span::from_ms(125), 0..=INT_MAX * MS, SINCE_2_6,
            sweep [30 * MS, 60 * MS, 125 * MS, 250 * MS];
    }
}

impl AnticipatoryTunables {
    /// A kernel's defaults are fractions of its HZ, so they differ by a tick's rounding.
    pub(super) fn defaults(jiffies: Jiffies) -> AnticipatoryTunables {
        let hz = u64::from(jiffies.hz());
        AnticipatoryTunables {
            read_expire: jiffies.span(hz / 8),
            write_expire: jiffies.span(hz / 4),
            antic_expire: jiffies.span((hz / 150).max(1)),
            read_batch_expire: jiffies.span(hz / 2),
            write_batch_expire: jiffies.span(hz / 8),
            ..AnticipatoryTunables::of(V2_6_32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_few_ticks_a_second_the_disk_is_left_idle_for_one_tick() {
        let antic_expire = |hz| AnticipatoryTunables::defaults(Jiffies::new(hz)).antic_expire;
        assert_eq!([1000, 250, 100].map(antic_expire), [6, 4, 10].map(Span::from_ms));
    }

    #[test]
    fn the_table_shows_the_defaults_of_a_thousand_ticks_a_second() {
        let (shown, real) = (AnticipatoryTunables::of(V2_6_32), AnticipatoryTunables::defaults(Jiffies::new(1000)));
        assert_eq!(format!("{shown:?}"), format!("{real:?}"));
    }
}
