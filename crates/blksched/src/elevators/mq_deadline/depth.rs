//! How many tags may be used by requests other than reads.
//!
//! **Rule** Reads may use all. Everything else, including synchronous writes, may use `async_depth`; until 6.6 a
//! proportional number of each word of the tag map: ⌈`async_depth` × tags per word ÷ `nr_requests`⌉. By default that is
//! all of them too. In 5.15 the default is three quarters, but the number is applied to each word unscaled, so in a map
//! of 256 tags, with 64 in a word, 192 limits nothing. 5.10 and earlier have no limit.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "limit_depth"; docs/behaviour/elevators-6.12-6.18.md#m5;
//! docs/behaviour/elevators-4.19-5.15.md#m2 and #m3.
//! **In the kernel** `dd_limit_depth`, `async_depth`, `dd_depth_updated`, `dd_to_word_depth`.

use crate::elevator::{Admission, DeviceFacts};
use crate::elevators::tags::Tags;
use crate::mechanism;
use crate::request::Op;

mechanism! {
    /// how many tags requests other than reads may use
    pub(super) enum WriteLimit = "write_limit" {
        /// all: 5.10 and earlier
        Off = "off",
        /// `async_depth` of each word, three quarters of all tags by default: 5.15
        Unscaled = "unscaled",
        /// the part that `async_depth` is of all, all by default: 6.1 and later
        Part = "part",
    }
}

/// How the limit is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    pub(super) limit: WriteLimit,
    pub(super) tags: Tags,
}

impl Depth {
    /// The knob's default.
    pub(super) fn at_first(self, device: &DeviceFacts) -> i32 {
        let all = device.nr_requests.clamp(1, i32::MAX as u32);
        let part = if self.limit == WriteLimit::Unscaled { u64::from(all) * 3 / 4 } else { u64::from(all) };
        part.max(1) as i32
    }

    pub(super) fn admission(self, op: Op, async_depth: i32, device: &DeviceFacts) -> Admission {
        if op == Op::Read {
            return Admission::Unlimited;
        }
        let async_depth = async_depth.max(1) as u32;
        match self.limit {
            WriteLimit::Off => Admission::Unlimited,
            // A mistake of 5.15's: the number means the whole map and is compared with each word of it.
            WriteLimit::Unscaled => Admission::Shallow(async_depth),
            WriteLimit::Part => {
                let depth = u64::from(async_depth) * u64::from(self.tags.all(device));
                let part = depth.div_ceil(u64::from(device.nr_requests.max(1)));
                self.tags.admission(part.min(u64::from(u32::MAX)) as u32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceFacts = DeviceFacts {
        rotational: true,
        depth: 1,
        in_flight: 0,
        nr_requests: 256,
        max_sectors: 1024,
        max_segments: 128,
        tags_per_word: 64,
    };

    const PER_WORD: Depth = Depth { limit: WriteLimit::Part, tags: Tags::PerWord };
    const ALL: Depth = Depth { limit: WriteLimit::Part, tags: Tags::All };

    #[test]
    fn a_write_may_use_its_part_of_each_word_rounded_up_and_a_read_all() {
        assert_eq!(PER_WORD.admission(Op::Read, 1, &DEVICE), Admission::Unlimited);
        let shallow = [1, 64, 65, 192, 256].map(|depth| PER_WORD.admission(Op::Write, depth, &DEVICE));
        assert_eq!(shallow, [1, 16, 17, 48, 64].map(Admission::Shallow));
        assert_eq!(PER_WORD.admission(Op::Discard, 256, &DEVICE), Admission::Shallow(64));
    }

    #[test]
    fn since_6_12_the_knob_is_the_limit_whatever_the_number_of_tags() {
        let limits = [1, 65, 256, 300].map(|depth| ALL.admission(Op::Write, depth, &DEVICE));
        assert_eq!(limits, [1, 65, 256, 300].map(Admission::AtMost));
    }

    #[test]
    fn a_queue_with_few_tags_has_short_words() {
        let device = DeviceFacts { nr_requests: 62, tags_per_word: 8, ..DEVICE };
        assert_eq!(PER_WORD.admission(Op::Write, PER_WORD.at_first(&device), &device), Admission::Shallow(8));
        assert_eq!(PER_WORD.admission(Op::Write, 31, &device), Admission::Shallow(4));
    }

    #[test]
    fn in_5_15_three_quarters_of_all_tags_are_the_limit_of_each_word() {
        let unscaled = Depth { limit: WriteLimit::Unscaled, tags: Tags::PerWord };
        let defaults = [1, 2, 64, 256].map(|nr_requests| unscaled.at_first(&DeviceFacts { nr_requests, ..DEVICE }));
        assert_eq!(defaults, [1, 1, 48, 192]);
        assert_eq!(unscaled.admission(Op::Write, 192, &DEVICE), Admission::Shallow(192));
        let off = Depth { limit: WriteLimit::Off, tags: Tags::PerWord };
        assert_eq!(off.admission(Op::Write, 1, &DEVICE), Admission::Unlimited);
    }
}
