//! What a depth limit applies to: the tags of each word of the tag map, or all tags.
//!
//! **Rule** blk-mq's tags are stored in words. Until 6.6 an elevator's limit applied to each word, so its smallest
//! value, one, allowed as many requests as there are words; since then it applies to all tags together.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#d1 (6.12.117 has this as a late stable fix; an early 6.12
//! presumably does not).

use crate::elevator::{Admission, DeviceFacts};
use crate::mechanism;
use crate::queue::mq::MqEra;

mechanism! {
    /// what a limit on the depth of writes counts
    pub enum Tags = "tags" {
        /// tags of each word of the tag map: 6.6 and earlier
        PerWord = "per_word",
        /// all tags: 6.12 and later
        All = "all",
    }
}

impl Tags {
    /// The number of all tags, counted in this way.
    pub(super) fn all(self, device: &DeviceFacts) -> u32 {
        match self {
            Tags::PerWord => device.tags_per_word,
            Tags::All => device.nr_requests,
        }
    }

    /// The blk-mq of the kernels that count in this way.
    pub(super) fn era(self) -> MqEra {
        match self {
            Tags::PerWord => MqEra::Linux6_1,
            Tags::All => MqEra::Linux6_12,
        }
    }

    /// The admission that allows this many tags.
    pub(super) fn admission(self, tags: u32) -> Admission {
        match self {
            Tags::PerWord => Admission::Shallow(tags),
            Tags::All => Admission::AtMost(tags),
        }
    }
}
