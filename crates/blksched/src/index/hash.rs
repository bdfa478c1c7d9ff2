//! The merge hash: queued requests by the sector behind their last, so that a bio finds the request it continues.
//!
//! **Rule** Of several requests with the same end only the one hashed most recently is a candidate (2.5 to 6.1).
//! **Origin** `deadline-iosched.c` of 2.5 (256 buckets, the mail of 2002-11-01), the elevator core since 2.6.

use crate::request::{RequestId, Sector, Table};

/// Requests by end sector, newest first.
#[derive(Clone, Debug)]
pub struct EndHash {
    buckets: Vec<u32>,
    nodes: Table<Node>,
    shift: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    end: u64,
    before: u32,
    behind: u32,
    hashed: bool,
}

const NONE: u32 = u32::MAX;

impl Default for Node {
    fn default() -> Node {
        Node { end: 0, before: NONE, behind: NONE, hashed: false }
    }
}

impl EndHash {
    /// A table of 2^`bits` buckets that never grows. 2.5 had 2^8.
    pub fn with_bits(bits: u32) -> EndHash {
        assert!((1..=30).contains(&bits), "2^{bits} buckets");
        EndHash { buckets: vec![NONE; 1 << bits], nodes: Table::new(), shift: 64 - bits, len: 0 }
    }

    /// Put `id` in front of its chain under `end`.
    #[inline(always)]
    pub fn insert(&mut self, id: RequestId, end: Sector) {
        let bucket = self.bucket(end);
        let behind = self.buckets[bucket];
        let node = self.nodes.row(id);
        assert!(!node.hashed, "request {id:?} is already hashed");
        *node = Node { end: end.0, before: NONE, behind, hashed: true };
        if behind != NONE {
            self.nodes[RequestId(behind)].before = id.0;
        }
        self.buckets[bucket] = id.0;
        self.len += 1;
    }

    /// Take `id` out, if it is in.
    #[inline(always)]
    pub fn remove(&mut self, id: RequestId) {
        let Some(&node) = self.nodes.get(id).filter(|node| node.hashed) else { return };
        match node.before {
            NONE => {
                let bucket = self.bucket(Sector(node.end));
                self.buckets[bucket] = node.behind;
            }
            before => self.nodes[RequestId(before)].behind = node.behind,
        }
        if node.behind != NONE {
            self.nodes[RequestId(node.behind)].before = node.before;
        }
        self.nodes[id].hashed = false;
        self.len -= 1;
    }

    /// The request hashed most recently under `end`, and how many entries were looked at.
    #[inline(always)]
    pub fn find(&self, end: Sector) -> (Option<RequestId>, u32) {
        let mut at = self.buckets[self.bucket(end)];
        let mut steps = 0;
        while at != NONE {
            let node = &self.nodes[RequestId(at)];
            steps += 1;
            if node.end == end.0 {
                return (Some(RequestId(at)), steps);
            }
            at = node.behind;
        }
        (None, steps)
    }

    /// How many requests are hashed.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn bucket(&self, end: Sector) -> usize {
        // Fibonacci hashing: ends are often multiples of 8, which the high bits of the product do not show.
        (end.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_requests_with_one_end_the_newest_is_found_and_then_the_next() {
        let mut hash = EndHash::with_bits(1);
        for id in 0..4 {
            hash.insert(RequestId(id), Sector(u64::from(id % 2) * 8));
        }
        assert_eq!(hash.find(Sector(8)).0, Some(RequestId(3)));
        hash.remove(RequestId(3));
        assert_eq!(hash.find(Sector(8)).0, Some(RequestId(1)));
        hash.remove(RequestId(1));
        hash.remove(RequestId(1));
        assert_eq!(hash.find(Sector(8)).0, None);
        assert_eq!(hash.len(), 2);
    }
}
