//! Whether a queue seeks: what is known of it, and whether a first request counts.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5.
//! **In the kernel** `CFQQ_SEEKY`, `seek_mean`.

#![doc(alias = "CFQQ_SEEKY")]
#![doc(alias = "seek_mean")]

use crate::elevators::cfq::rules::FirstSeek;
use crate::estimate::SeekDistance;
use crate::request::Sector;

/// Whether a process or a queue seeks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seekiness {
    pub(crate) is_seeky: bool,
    /// And enough is known to believe it.
    pub(crate) is_surely: bool,
}

impl FirstSeek {
    pub(crate) fn add(self, seeks: &mut SeekDistance, start: Sector) {
        match self {
            FirstSeek::None => seeks.add(start),
            FirstSeek::FromZero => seeks.add_first_too(start),
        }
    }
}
