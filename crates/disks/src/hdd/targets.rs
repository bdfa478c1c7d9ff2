//! The places that are chosen among, field by field, so that the costs of several are worked out at a time.

use super::geometry::{Place, Track};
use super::mechanism::Access;

/// What the cost of getting to each of some places depends on.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    pub(super) cylinders: Vec<i32>,
    pub(super) heads: Vec<i32>,
    /// \[ns of a revolution\]
    pub(super) angles: Vec<i32>,
    /// 1 for a write, which waits for the arm to settle, 0 for a read.
    pub(super) settles: Vec<f32>,
}

impl Targets {
    pub(super) fn with_capacity(capacity: usize) -> Targets {
        Targets {
            cylinders: Vec::with_capacity(capacity),
            heads: Vec::with_capacity(capacity),
            angles: Vec::with_capacity(capacity),
            settles: Vec::with_capacity(capacity),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cylinders.len()
    }

    pub(super) fn push(&mut self, place: &Place, access: Access) {
        self.cylinders.push(place.track.cylinder);
        self.heads.push(place.track.head);
        self.angles.push(place.angle);
        self.settles.push(if access == Access::Write { 1.0 } else { 0.0 });
    }

    /// One of them, as far as a choice needs it.
    pub(super) fn get(&self, index: usize) -> (Place, Access) {
        let track = Track { cylinder: self.cylinders[index], head: self.heads[index] };
        let access = if self.settles[index] > 0.0 { Access::Write } else { Access::Read };
        (Place { track, angle: self.angles[index], unrolled: 0 }, access)
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.cylinders.remove(index);
        self.heads.remove(index);
        self.angles.remove(index);
        self.settles.remove(index);
    }

    pub(super) fn clear(&mut self) {
        self.cylinders.clear();
        self.heads.clear();
        self.angles.clear();
        self.settles.clear();
    }
}

/// The cheapest of some costs; the first of several.
pub(super) fn cheapest(costs: &[f32]) -> (usize, f32) {
    // Costs are not negative, and such floats are in the order of their bits, which are compared several at a time.
    let least = costs.iter().map(|cost| cost.to_bits() as i32).fold(f32::INFINITY.to_bits() as i32, i32::min);
    let cost = f32::from_bits(least as u32);
    (costs.iter().position(|one| *one == cost).unwrap_or(0), cost)
}

#[cfg(test)]
mod tests {
    use super::cheapest;

    #[test]
    fn the_first_of_the_cheapest_is_found() {
        assert_eq!(cheapest(&[3.0, 1.5, 2.0, 1.5, f32::MAX]), (1, 1.5));
        assert_eq!(cheapest(&[0.0, 0.0]), (0, 0.0));
        let mut costs: Vec<f32> = (0..40).map(|nth| (nth * 7_919 % 40) as f32 * 1e5).collect();
        assert_eq!(cheapest(&costs), (0, 0.0));
        costs[0] = f32::MAX;
        assert_eq!(cheapest(&costs).1, 1e5);
        assert_eq!(cheapest(&[]), (0, f32::INFINITY));
    }
}
