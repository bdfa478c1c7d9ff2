//! How many tags may be used by requests other than reads.
//!
//! **Rule** Reads may use all. Everything else, including synchronous writes, may use `async_depth`; until 6.6 a
//! proportional number of each word of the tag map: ⌈`async_depth` × tags per word ÷ `nr_requests`⌉. By default that is
//! all of them too.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "limit_depth"; docs/behaviour/elevators-6.12-6.18.md#m5.
//! **In the kernel** `dd_limit_depth`, `async_depth`, `dd_depth_updated`, `dd_to_word_depth`.

#![doc(alias = "dd_limit_depth")]
#![doc(alias = "async_depth")]
#![doc(alias = "dd_depth_updated")]
#![doc(alias = "dd_to_word_depth")]

use crate::elevator::{Admission, DeviceFacts};
use crate::elevators::tags::Tags;
use crate::request::Op;

/// The knob's default: all requests of the queue.
pub(super) fn all_of_them(device: &DeviceFacts) -> i32 {
    device.nr_requests.clamp(1, i32::MAX as u32) as i32
}

pub(super) fn admission(op: Op, async_depth: i32, device: &DeviceFacts, tags: Tags) -> Admission {
    if op == Op::Read {
        return Admission::Unlimited;
    }
    let depth = u64::from(async_depth.max(1) as u32) * u64::from(tags.all(device));
    tags.admission(depth.div_ceil(u64::from(device.nr_requests.max(1))).min(u64::from(u32::MAX)) as u32)
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

    #[test]
    fn a_write_may_use_its_part_of_each_word_rounded_up_and_a_read_all() {
        assert_eq!(admission(Op::Read, 1, &DEVICE, Tags::PerWord), Admission::Unlimited);
        let shallow =
            [1, 64, 65, 192, 256].map(|async_depth| admission(Op::Write, async_depth, &DEVICE, Tags::PerWord));
        assert_eq!(shallow, [1, 16, 17, 48, 64].map(Admission::Shallow));
        assert_eq!(admission(Op::Discard, 256, &DEVICE, Tags::PerWord), Admission::Shallow(64));
    }

    #[test]
    fn since_6_12_the_knob_is_the_limit_whatever_the_number_of_tags() {
        let limits = [1, 65, 256, 300].map(|async_depth| admission(Op::Write, async_depth, &DEVICE, Tags::All));
        assert_eq!(limits, [1, 65, 256, 300].map(Admission::AtMost));
    }

    #[test]
    fn a_queue_with_few_tags_has_short_words() {
        let device = DeviceFacts { nr_requests: 62, tags_per_word: 8, ..DEVICE };
        assert_eq!(admission(Op::Write, all_of_them(&device), &device, Tags::PerWord), Admission::Shallow(8));
        assert_eq!(admission(Op::Write, 31, &device, Tags::PerWord), Admission::Shallow(4));
    }
}
