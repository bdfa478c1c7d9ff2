//! The number of distinct weights: while all are equal, fairness needs no idling.
//!
//! **Rule** A queue's weight counts while it is not raised and is busy or has requests in flight.
//! **Origin** docs/behaviour/elevators-6.1.md#b11.
//! **In the kernel** `bfq_weights_tree_add`, `bfq_weight_counter`, `queue_weights_tree`, `bfq_weights_tree_remove`.

use alloc::vec::Vec;

/// The weights counted, lowest first, with the number of queues of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights(Vec<(i64, u32)>);

impl Weights {
    pub(crate) fn reserve(&mut self, weights: usize) {
        self.0.reserve(weights);
    }

    pub(crate) fn add(&mut self, weight: i64) {
        match self.0.binary_search_by_key(&weight, |&(weight, _)| weight) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (weight, 1)),
        }
    }

    pub(crate) fn remove(&mut self, weight: i64) {
        let at = self.0.binary_search_by_key(&weight, |&(weight, _)| weight).expect("a weight that is counted");
        self.0[at].1 -= 1;
        if self.0[at].1 == 0 {
            self.0.remove(at);
        }
    }

    /// Whether there are several weights.
    pub(crate) fn differ(&self) -> bool {
        self.0.len() >= 2
    }

    /// Whether there are several weights and this is not the lowest. A queue that is not counted has no weight here.
    pub(crate) fn favour_others(&self, own: Option<i64>) -> bool {
        self.0.len() >= 2 && (own.is_none() || own != self.0.first().map(|&(weight, _)| weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lowest_of_several_weights_is_content() {
        let mut weights = Weights::default();
        weights.add(40);
        assert!(!weights.favour_others(Some(40)) && !weights.favour_others(None));
        weights.add(10);
        weights.add(10);
        assert!(weights.favour_others(Some(40)) && weights.favour_others(None) && !weights.favour_others(Some(10)));
        weights.remove(10);
        assert!(weights.favour_others(Some(40)));
        weights.remove(10);
        assert!(!weights.favour_others(Some(40)));
    }
}
