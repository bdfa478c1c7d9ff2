//! The merge hash: queued requests by the sector after their last, so that a bio finds the request it continues.
//!
//! **Rule** Of several requests with the same end only the one hashed most recently is a candidate (2.5 to 6.1).
//! **Origin** `deadline-iosched.c` of 2.5 (256 buckets, the mail of 2002-11-01), the elevator core since 2.6.
//!
//! This file has the buckets; their chains go through the requests' slots (`request/arena.rs`). A request whose end
//! changes is rehashed before the next look-up.
//! **In the kernel** `elv_rqhash_find`, `elv_rqhash_add`, `elv_rqhash_del`.

use alloc::vec;
use alloc::vec::Vec;

use crate::request::{Links, NONE, RequestId, Requests, Sector};

/// Requests by end sector, newest first.
#[derive(Clone, Debug)]
pub(super) struct EndHash {
    /// The newest request of each bucket.
    buckets: Vec<u32>,
    shift: u32,
}

impl EndHash {
    /// A table of 2^`bits` buckets that never grows. 2.5 had 2^8.
    pub(super) fn with_bits(bits: u32) -> EndHash {
        assert!((1..=30).contains(&bits), "2^{bits} buckets");
        EndHash { buckets: vec![NONE; 1 << bits], shift: 64 - bits }
    }

    /// Puts `id` at the front of its chain.
    #[inline(always)]
    pub(super) fn insert(&mut self, requests: &mut Requests, id: RequestId) {
        let (bucket, first) = self.at(requests[id].end());
        requests.chain(id, first, bucket);
    }

    /// The bucket of requests that end here: its number, and its first request.
    #[inline(always)]
    pub(super) fn at(&mut self, end: Sector) -> (u32, &mut u32) {
        let bucket = self.bucket(end);
        (bucket, &mut self.buckets[bucket as usize])
    }

    /// Takes `id` out, if it is hashed.
    #[inline(always)]
    pub(super) fn remove(&mut self, requests: &mut Requests, id: RequestId) {
        if let Some((bucket, first)) = requests.unchain(id) {
            self.buckets[bucket as usize] = first;
        }
    }

    /// Closes the chain of a request that has left it.
    #[inline(always)]
    pub(super) fn mend(&mut self, requests: &mut Requests, links: Links) {
        if let Some((bucket, first)) = requests.mend(links) {
            self.buckets[bucket as usize] = first;
        }
    }

    /// The request hashed most recently under `end`, or `NONE`, and the number of entries examined.
    #[inline(always)]
    pub(super) fn find(&self, requests: &Requests, end: Sector) -> (u32, u32) {
        let first = self.buckets[self.bucket(end) as usize];
        if first == NONE { (NONE, 0) } else { find_from(requests, first, end) }
    }

    #[inline(always)]
    fn bucket(&self, end: Sector) -> u32 {
        // Fibonacci hashing: ends are often multiples of 8, which the high bits of the product do not show.
        (end.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as u32
    }
}

/// Out of line, because a bucket is usually empty.
#[inline(never)]
fn find_from(requests: &Requests, mut at: u32, end: Sector) -> (u32, u32) {
    let mut steps = 0;
    while at != NONE {
        steps += 1;
        if requests[RequestId(at)].end() == end {
            return (at, steps);
        }
        at = requests.chained_behind(at);
    }
    (NONE, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Bio, Stage, SubmitterId};
    use crate::time::Instant;

    #[test]
    fn of_several_requests_with_one_end_the_newest_is_found_and_then_the_next() {
        let (mut hash, mut requests) = (EndHash::with_bits(1), Requests::default());
        for nth in 0..4 {
            let bio = Bio::read(nth, SubmitterId(1), Sector(nth % 2 * 8), 8);
            let rq = requests.make(Stage::Prepared, Instant::ZERO, &bio, NONE);
            hash.insert(&mut requests, rq);
        }
        assert_eq!(hash.find(&requests, Sector(16)).0, 3);
        hash.remove(&mut requests, RequestId(3));
        assert_eq!(hash.find(&requests, Sector(16)).0, 1);
        hash.remove(&mut requests, RequestId(1));
        hash.remove(&mut requests, RequestId(1));
        assert_eq!(hash.find(&requests, Sector(16)).0, NONE);
        assert_eq!(hash.find(&requests, Sector(8)).0, 2);
    }
}
