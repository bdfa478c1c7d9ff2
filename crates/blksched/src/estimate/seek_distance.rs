//! How far a process or queue seeks from the end of one request to the start of the next.
//!
//! **Rule** The mean of `min(|start − last end|, 4·mean + slack)` \[sectors\]; slack is 1 GiB while there are few
//! samples, later 64 MiB, so that one far seek does not make a reader seeky for long. The first request does not count
//! as a seek. Seeky means a mean above 8192 sectors (4 MiB).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5.
//! **In the kernel** `cfq_update_io_seektime`, `as_update_seekdist`, `seek_mean`.

use super::Decaying;
use crate::request::Sector;

/// Above this mean \[sectors\] a process is seeky.
pub const SEEKY: u64 = 8192;

/// The seek distances of a process or queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekDistance {
    recent: Decaying,
    mean: u64,
    /// The sector after its last request; `None` at first (a kernel has 0 for that, and so forgets a request that ended
    /// there).
    last: Option<Sector>,
}

impl SeekDistance {
    /// Adds a request that starts here.
    pub fn add(&mut self, start: Sector) {
        let distance = self.last.map_or(0, |last| start.distance(last));
        let slack = if self.recent.samples() <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        self.recent.add(distance.min(self.mean * 4 + slack));
        self.mean = self.recent.mean(self.recent.samples() / 2);
    }

    /// The same for a kernel in which the first request is also a seek, from the beginning of the disk.
    pub fn add_first_too(&mut self, start: Sector) {
        self.last = self.last.or(Some(Sector(0)));
        self.add(start);
    }

    /// Records the sector at which the next request would not be a seek.
    pub fn ended(&mut self, end: Sector) {
        self.last = Some(end).filter(|&end| end != Sector(0));
    }

    /// The mean \[sectors\], valid or not.
    pub fn mean(self) -> u64 {
        self.mean
    }

    /// The mean \[sectors\], if there are enough samples for it to be valid.
    pub fn valid_mean(self) -> Option<u64> {
        self.recent.is_valid().then_some(self.mean)
    }

    /// Whether the mean is seeky, valid or not.
    pub fn is_seeky(self) -> bool {
        self.mean > SEEKY
    }

    /// Whether the mean is valid and seeky.
    pub fn is_surely_seeky(self) -> bool {
        self.recent.is_valid() && self.is_seeky()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(starts: &[u64]) -> SeekDistance {
        let mut seeks = SeekDistance::default();
        for &start in starts {
            seeks.add(Sector(start));
            seeks.ended(Sector(start + 8));
        }
        seeks
    }

    #[test]
    fn a_sequential_reader_far_out_on_the_disk_is_not_seeky() {
        assert_eq!(reader(&[1 << 30, (1 << 30) + 8, (1 << 30) + 16]).valid_mean(), Some(0));
    }

    #[test]
    fn a_random_reader_is_seeky_and_one_far_seek_is_forgiven() {
        assert!(reader(&[0, 1 << 30, 8 << 20, 1 << 29]).is_surely_seeky());
        let mut starts: Vec<u64> = (1..40).map(|n| n * 8).collect();
        starts.push(1 << 40);
        starts.extend((1..12).map(|n| (1 << 40) + n * 8));
        assert!(!reader(&starts).is_seeky());
    }

    #[test]
    fn if_the_first_request_counts_too_a_sequential_reader_far_out_begins_as_a_seeky_one() {
        let mut seeks = SeekDistance::default();
        seeks.add_first_too(Sector(1 << 30));
        assert!(seeks.is_seeky() && !seeks.is_surely_seeky());
        for n in 1..60 {
            seeks.ended(Sector((1 << 30) + n * 8));
            seeks.add_first_too(Sector((1 << 30) + n * 8));
        }
        assert!(!seeks.is_seeky(), "it is forgotten");
    }
}
