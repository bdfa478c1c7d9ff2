//! Counts by size, in memory only where something was counted.
//!
//! **Rule** The buckets are those of an HDR histogram of three digits (2048 of width 1, then 1024 per doubling, each as
//! wide as a part in a thousand of its value or less). Sixteen adjacent buckets share a cache line that is allocated
//! when the first of them is used, and the table of lines covers only the range between the least and the greatest: a
//! process of a few hundred I/Os needs kilobytes, where a whole table takes a hundred.

/// Significant bits of a value: 2048 values of width 1.
const BITS: u32 = 11;
/// Buckets per doubling, from the second on.
const HALF: usize = 1 << (BITS - 1);
/// Neighbours that are allocated together.
const LINE: usize = 16;
/// How far the index grows beyond what is needed.
const SPARE: usize = 64;
/// Marks a line where nothing was counted.
const NONE: u16 = u16::MAX;

/// The number of values of each size.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// The line of each sixteen buckets, beginning with the first sixteen that have one.
    index: Vec<u16>,
    first: usize,
    lines: Vec<[u32; LINE]>,
}

impl Counts {
    pub(super) fn record(&mut self, value: u64) {
        self.add(bucket(value), 1);
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        other.each().for_each(|(bucket, count)| self.add(bucket, count));
    }

    /// What came after an earlier copy.
    pub(super) fn since(&self, earlier: &Counts) -> Counts {
        let mut before = earlier.each().peekable();
        let mut rest = Counts::default();
        for (bucket, count) in self.each() {
            while before.next_if(|(other, _)| *other < bucket).is_some() {}
            let counted = before.next_if(|(other, _)| *other == bucket).map_or(0, |(_, count)| count);
            if count > counted {
                rest.add(bucket, count - counted);
            }
        }
        rest
    }

    /// The least value that may have been counted, and the greatest; zeros if nothing was.
    pub(super) fn ends(&self) -> (u64, u64) {
        let mut buckets = self.each().map(|(bucket, _)| bucket);
        let Some(first) = buckets.next() else { return (0, 0) };
        (if first == 0 { 0 } else { greatest(first - 1) + 1 }, greatest(buckets.last().unwrap_or(first)))
    }

    fn add(&mut self, bucket: usize, times: u32) {
        let nth = (bucket / LINE).wrapping_sub(self.first);
        let line = match self.index.get(nth) {
            Some(&line) if line != NONE => line,
            _ => self.open(bucket / LINE),
        };
        let count = &mut self.lines[usize::from(line)][bucket % LINE];
        *count = count.saturating_add(times);
    }

    /// Gives these sixteen buckets a line.
    #[cold]
    fn open(&mut self, at: usize) -> u16 {
        if self.index.is_empty() {
            self.first = at;
        }
        let before = self.first.saturating_sub(at);
        let wanted = before + self.index.len().max(at.saturating_sub(self.first) + 1);
        // Unlike a growing vector, does not double the capacity: there may be thousands of histograms.
        if wanted > self.index.capacity() {
            self.index.reserve_exact(wanted + SPARE - self.index.len());
        }
        self.index.resize(wanted, NONE);
        self.index.rotate_right(before);
        self.first -= before;
        if self.lines.len() == self.lines.capacity() {
            self.lines.reserve_exact(self.lines.len() / 4 + SPARE / LINE);
        }
        // At most 57,344 / 16 of them.
        let line = self.lines.len() as u16;
        self.index[at - self.first] = line;
        self.lines.push([0; LINE]);
        line
    }

    /// Buckets with a count, from the least value up.
    fn each(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let present = self.index.iter().enumerate().filter(|&(_, &line)| line != NONE);
        present.flat_map(move |(at, &line)| {
            let counts = self.lines[usize::from(line)].iter().enumerate();
            counts.filter(|&(_, &count)| count > 0).map(move |(nth, &count)| ((self.first + at) * LINE + nth, count))
        })
    }

    /// The greatest value of the bucket in which the value of this rank (from 1, by size) lies.
    pub(super) fn of_rank(&self, rank: u64) -> u64 {
        let mut passed = 0;
        let mut last = 0;
        for (bucket, count) in self.each() {
            passed += u64::from(count);
            last = bucket;
            if passed >= rank {
                break;
            }
        }
        greatest(last)
    }

    /// Its memory \[bytes\].
    pub(super) fn bytes(&self) -> usize {
        self.index.capacity() * size_of::<u16>() + self.lines.capacity() * size_of::<[u32; LINE]>()
    }
}

impl PartialEq for Counts {
    /// Compares counts, in whatever order they came.
    fn eq(&self, other: &Counts) -> bool {
        self.each().eq(other.each())
    }
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    let doublings = (u64::BITS - BITS).saturating_sub((value | 1).leading_zeros().min(u64::BITS - BITS));
    (value >> doublings) as usize + doublings as usize * HALF
}

/// The greatest value of a bucket.
fn greatest(bucket: usize) -> u64 {
    let doublings = (bucket / HALF).saturating_sub(1);
    let within = (bucket - doublings * HALF) as u64;
    (within << doublings) + ((1 << doublings) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_lies_between_its_neighbours_to_a_part_in_a_thousand() {
        let edges = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1 << bit) + 1]);
        for value in edges.chain([2047, 2048, 2049, 4095, 4096, 123_456_789, u64::MAX]) {
            let top = greatest(bucket(value));
            assert!(value <= top && top - value <= value / 1000, "{value}: {top}");
            assert_eq!(bucket(top), bucket(value));
            assert!(top == u64::MAX || bucket(top + 1) == bucket(value) + 1, "{value}: {top}");
        }
        assert!(bucket(u64::MAX) / LINE < usize::from(NONE));
    }

    #[test]
    fn percentiles_are_those_of_a_whole_table() {
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 24
        };
        let values: Vec<u64> = (0..4000).map(|nth| draw() >> (nth % 40)).collect();
        let mut ours = Counts::default();
        let mut table = hdrhistogram::Histogram::<u32>::new(3).unwrap();
        for &value in &values {
            ours.record(value);
            table.record(value).unwrap();
        }
        for per_mille in 1..=1000 {
            let quantile = f64::from(per_mille) / 1000.0;
            let rank = ((quantile * values.len() as f64).ceil() as u64).max(1);
            assert_eq!(ours.of_rank(rank), table.value_at_quantile(quantile), "{per_mille}");
        }
    }

    #[test]
    fn the_order_of_counting_does_not_matter_and_an_empty_one_takes_nothing() {
        let (mut up, mut down) = (Counts::default(), Counts::default());
        assert_eq!(up.bytes(), 0);
        for value in 1..1000 {
            up.record(value * value);
            down.record((1000 - value) * (1000 - value));
        }
        assert_eq!(up, down);
        assert_ne!(up.lines, down.lines, "they lie differently");
        up.record(5);
        assert_ne!(up, down);
    }

    #[test]
    fn a_disks_reader_takes_less_than_8_kb() {
        // A second of 4 KiB reads at random from a disk: 1 to 20 ms, 100 of them.
        let mut counts = Counts::default();
        (0..100).for_each(|nth| counts.record(1_000_000 + nth * 190_000));
        assert!(counts.bytes() < 8 << 10, "{}", counts.bytes());
    }
}
