//! How many tags a process may use.
//!
//! **Rule** Synchronous reads may use all. Write-back may use a half and synchronous writes three quarters, or three
//! and six sixteenths while a raised queue is busy: of each word of the tag map until 6.6, of all tags since. With
//! groups, a queue's share is computed from the top down by weights: if the queue or its group already has that many
//! requests in flight, it may use one; since 6.1. In 7.x synchronous writes may use `async_depth`, write-back two
//! thirds of it, and half of that while a raised queue is busy.
//! **Origin** docs/behaviour/elevators-6.1.md#b2.2, docs/behaviour/elevators-6.12-6.18.md#g8,
//! #amendment-a2 and #amendment-a8, docs/behaviour/elevators-4.19-5.15.md#v4 and #73.
//! **Costs when wrong** The shares of all others are worthless if one process uses all tags, since the others have no
//! request queued that could be selected.
//! **In the kernel** `bfq_limit_depth`, `bfqq_request_over_limit`, `bfq_update_depths`, `word_depths`,
//! `bfq_depth_updated`.

use crate::elevator::{Admission, DeviceFacts};
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::rules::{Grouping, TagShares, WriteLimits};
use crate::elevators::tags::Tags;
use crate::request::{Bio, Op, Waiter};

/// Sixteenths of the tags that write-back and other writes may use: while no raised queue is busy, and while one is.
const SHARES: [[u64; 2]; 2] = [[8, 12], [3, 6]];

impl Bfq {
    #[inline(always)]
    pub(in crate::elevators::bfq) fn admission(&self, device: &DeviceFacts, bio: &Bio) -> Admission {
        let (raised, waits) = (self.busy.raised() > 0, bio.waiter == Waiter::Sync);
        let share = SHARES[usize::from(raised)][usize::from(waits)];
        let all = self.rules.tags.all(device);
        let (tags, limit) = match bio.op {
            Op::Read => (all, device.nr_requests),
            _ => {
                let tags = match self.rules.write_limits {
                    WriteLimits::Tags => ((u64::from(all) * share / 16) as u32).max(1),
                    WriteLimits::AsyncDepth => part_of(self.knobs.async_depth, raised, waits),
                };
                let nr = device.nr_requests;
                // The two are equal if all tags count together.
                let limit = || (u64::from(nr) * u64::from(tags) / u64::from(all.max(1))) as u32;
                (tags, if all == nr && nr > 0 { tags } else { limit() })
            }
        };
        let own = self.contexts.find(bio.submitter).and_then(|context| self.contexts[context].queue(bio.waiter));
        let shares = self.rules.groups == Grouping::On && self.rules.tag_shares == TagShares::On;
        if shares && own.is_some_and(|q| self.hierarchy.has_its_share(q, i64::from(limit))) {
            return self.rules.tags.admission(1);
        }
        match bio.op {
            Op::Read => Admission::Unlimited,
            _ if self.rules.tags == Tags::All && tags >= device.nr_requests => Admission::Unlimited,
            _ => self.rules.tags.admission(tags),
        }
    }
}

/// 7.x: what write-back or synchronous writes may use of `async_depth`, at least one.
fn part_of(async_depth: u32, raised: bool, waits: bool) -> u32 {
    let part = match (raised, waits) {
        (false, true) => async_depth,
        (false, false) => (u64::from(async_depth) * 2 / 3) as u32,
        (true, true) => async_depth / 2,
        (true, false) => async_depth / 4,
    };
    part.max(1)
}
