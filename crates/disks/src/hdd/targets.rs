//! The candidate positions, field by field, so that the costs of several are computed at a time.

use super::geometry::{Place, Track};
use super::mechanism::Access;

/// How many are computed at once without bounds checks: each field's length is a multiple of this.
const LANES: usize = 8;

/// What the cost of reaching each of some places depends on. Entries after the last place are padding.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    len: usize,
    /// Whole numbers: no disk has 2²⁴ cylinders.
    cylinders: Vec<f32>,
    heads: Vec<i32>,
    /// \[ns of a revolution\]
    angles: Vec<i32>,
    /// 1 for a write, which waits for the arm to settle, 0 for a read.
    settles: Vec<f32>,
}

/// The fields of all places, padded to a multiple of [`LANES`].
pub(super) struct Fields<'t> {
    pub(super) cylinders: &'t [f32],
    pub(super) heads: &'t [i32],
    pub(super) angles: &'t [i32],
    pub(super) settles: &'t [f32],
}

impl Targets {
    pub(super) fn with_capacity(capacity: usize) -> Targets {
        let mut targets = Targets::default();
        targets.grow(padded(capacity));
        targets
    }

    fn grow(&mut self, length: usize) {
        self.cylinders.resize(length, 0.0);
        self.heads.resize(length, 0);
        self.angles.resize(length, 0);
        self.settles.resize(length, 0.0);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, place: &Place, access: Access) {
        let at = self.len;
        if at == self.cylinders.len() {
            self.grow(padded(2 * at + 1));
        }
        self.cylinders[at] = place.track.cylinder as f32;
        self.heads[at] = place.track.head;
        self.angles[at] = place.angle;
        self.settles[at] = if access == Access::Write { 1.0 } else { 0.0 };
        self.len += 1;
    }

    /// One of them, as far as a choice needs it.
    pub(super) fn get(&self, index: usize) -> (Place, Access) {
        let track = Track { cylinder: self.cylinders[index] as i32, head: self.heads[index] };
        let access = if self.settles[index] > 0.0 { Access::Write } else { Access::Read };
        (Place { track, angle: self.angles[index], unrolled: 0 }, access)
    }

    /// All of them.
    #[inline(always)]
    pub(super) fn fields(&self) -> Fields<'_> {
        let count = padded(self.len);
        Fields {
            cylinders: &self.cylinders[..count],
            heads: &self.heads[..count],
            angles: &self.angles[..count],
            settles: &self.settles[..count],
        }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

/// The next multiple of [`LANES`], in a form that lets the compiler omit the remainder loop.
#[inline(always)]
pub(super) fn padded(count: usize) -> usize {
    (count + (LANES - 1)) & !(LANES - 1)
}

/// The first of the cheapest; what lies between the costs' number and a multiple of [`LANES`] is infinite.
pub(super) fn cheapest(costs: &[f32]) -> usize {
    let mut least = [f32::INFINITY; LANES];
    for some in costs.chunks_exact(LANES) {
        for (least, cost) in least.iter_mut().zip(some) {
            *least = if *cost < *least { *cost } else { *least };
        }
    }
    let cost = least.into_iter().fold(f32::INFINITY, |least, cost| if cost < least { cost } else { least });
    // A count compiles to a vector comparison and one test.
    let among = |some: &[f32]| some.iter().filter(|one| **one == cost).count();
    let mut chunks = costs.chunks_exact(LANES).enumerate().filter(|(_, some)| among(some) > 0);
    let Some((nth, first)) = chunks.next() else { return 0 };
    nth * LANES + first.iter().position(|one| *one == cost).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{LANES, cheapest, padded};

    fn of(costs: &[f32]) -> usize {
        let mut all = costs.to_vec();
        all.resize(padded(costs.len()), f32::INFINITY);
        cheapest(&all)
    }

    #[test]
    fn the_first_of_the_cheapest_is_found() {
        assert_eq!(of(&[3.0, 1.5, 2.0, 1.5, f32::MAX]), 1);
        assert_eq!(of(&[0.0, 0.0]), 0);
        let mut costs: Vec<f32> = (0..40).map(|nth| (nth * 7_919 % 40) as f32 * 1e5).collect();
        assert_eq!(of(&costs), 0);
        costs[0] = f32::MAX;
        assert_eq!(costs[of(&costs)], 1e5);
        for last in 0..3 * LANES {
            let mut costs = vec![2.0; last];
            costs.push(1.0);
            assert_eq!(of(&costs), last);
            costs.insert(0, 1.0);
            assert_eq!(of(&costs), 0);
        }
        assert_eq!(cheapest(&[]), 0);
    }
}
