//! How many tags anything but a read may use.
//!
//! **Rule** Reads: all. Everything else, writes that somebody waits for included: of each word of the tag map
//! ⌈`async_depth` × tags per word ÷ `nr_requests`⌉. At first that is all of them too.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "limit_depth".

use crate::elevator::{Admission, DeviceFacts};
use crate::request::Op;

/// The knob's first value: every request of the queue.
pub(super) fn all_of_them(device: &DeviceFacts) -> i32 {
    device.nr_requests.clamp(1, i32::MAX as u32) as i32
}

pub(super) fn admission(op: Op, async_depth: i32, device: &DeviceFacts) -> Admission {
    if op == Op::Read {
        return Admission::Unlimited;
    }
    let tags = u64::from(async_depth.max(1) as u32) * u64::from(device.tags_per_word);
    Admission::Shallow(tags.div_ceil(u64::from(device.nr_requests.max(1))).min(u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceFacts =
        DeviceFacts { rotational: true, depth: 1, in_flight: 0, nr_requests: 256, tags_per_word: 64 };

    #[test]
    fn a_write_may_use_its_part_of_each_word_rounded_up_and_a_read_all() {
        assert_eq!(admission(Op::Read, 1, &DEVICE), Admission::Unlimited);
        let shallow = [1, 64, 65, 192, 256].map(|async_depth| admission(Op::Write, async_depth, &DEVICE));
        assert_eq!(shallow, [1, 16, 17, 48, 64].map(Admission::Shallow));
        assert_eq!(admission(Op::Discard, 256, &DEVICE), Admission::Shallow(64));
    }

    #[test]
    fn a_queue_with_few_tags_has_short_words() {
        let device = DeviceFacts { nr_requests: 62, tags_per_word: 8, ..DEVICE };
        assert_eq!(admission(Op::Write, all_of_them(&device), &device), Admission::Shallow(8));
        assert_eq!(admission(Op::Write, 31, &device), Admission::Shallow(4));
    }
}
