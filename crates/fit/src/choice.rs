//! Which cells a model is fitted on.
//!
//! **Rule** At most [`MOST_CELLS`], shared among the kinds of load. Of each kind the single I/O first, which shows the
//! drive; then cells with at least 64 in flight, which show the elevator and the request pool, and those between. The
//! list is fixed: nothing of the results is looked at. Where a grid lacks a cell of the list, the nearest one is taken.

use crate::cell::{GridLoad, LoadPattern, ResultGrid};

/// A table of more cells is no model.
pub const MOST_CELLS: usize = 8;

/// Depth and processes, in order of preference. 64 in flight fill the queue of an elevator, 256 more than its pool of
/// requests, so that somebody always waits for one; with a thousand every host looks alike, since each process waits
/// for nearly all others.
const PREFERRED: [(u32, u32); MOST_CELLS] = [(1, 1), (16, 4), (8, 1), (16, 16), (1, 32), (1, 4), (4, 1), (32, 1)];
/// The same where there are mixtures, of which two deep cells are enough.
const MIXED: [(u32, u32); 4] = [(1, 1), (16, 4), (32, 1), (1, 32)];
/// From so many in flight on, requests wait in the host.
const DEEP: u32 = 64;

/// The loads of a grid, divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChoice {
    /// Those that the fit sees.
    pub used: Vec<GridLoad>,
    /// Those that judge it.
    pub judges: Vec<GridLoad>,
}

impl CellChoice {
    /// The choice for a grid.
    pub fn of(grid: &ResultGrid) -> CellChoice {
        // Of a spinning drive's writes such results show the cache, of which they tell too little for a model.
        let is_told = |pattern: &LoadPattern| !grid.turns() || *pattern == LoadPattern::Read;
        let patterns: Vec<LoadPattern> = shown(&grid.patterns()).into_iter().filter(is_told).collect();
        let has_mixes = patterns.iter().any(|pattern| matches!(pattern, LoadPattern::Mixed(_)));
        let (places, most_deep) = if has_mixes { (&MIXED[..], 2) } else { (&PREFERRED[..], MOST_CELLS) };
        let mut used: Vec<GridLoad> = Vec::new();
        for (place, &pattern) in places.iter().flat_map(|&place| patterns.iter().map(move |pattern| (place, pattern))) {
            let deep = used.iter().filter(|load| load.in_flight() >= DEEP).count();
            let is_enough = place.0 * place.1 >= DEEP && deep >= most_deep;
            if let Some(load) = nearest(grid, pattern, place, &used).filter(|_| !is_enough && used.len() < MOST_CELLS) {
                used.push(load);
            }
        }
        let judges = grid.cells.iter().map(|cell| cell.load);
        let judges = judges.filter(|load| is_told(&load.pattern) && !used.contains(load)).collect();
        CellChoice { used, judges }
    }
}

/// The kinds of load that are looked at: both pure ones and at most two mixtures, the ones with the fewest reads and
/// nearest to half, which show a read behind writes.
fn shown(patterns: &[LoadPattern]) -> Vec<LoadPattern> {
    let mixed = || {
        patterns.iter().filter_map(|pattern| if let LoadPattern::Mixed(reads) = pattern { Some(*reads) } else { None })
    };
    let (least, middle) = (mixed().min(), mixed().min_by_key(|reads| reads.abs_diff(50)));
    let is_shown = |pattern: &&LoadPattern| match pattern {
        LoadPattern::Read => true,
        // Pure writes add nothing to writes of mixtures.
        LoadPattern::Write => least.is_none(),
        LoadPattern::Mixed(reads) => Some(*reads) == least || Some(*reads) == middle,
    };
    patterns.iter().filter(is_shown).copied().collect()
}

/// The unused cell nearest to this place, by the ratios of depth and processes; `None` if it is not even within four
/// times of each.
fn nearest(grid: &ResultGrid, pattern: LoadPattern, place: (u32, u32), used: &[GridLoad]) -> Option<GridLoad> {
    let ratio = |one: u32, other: u32| (f64::from(one) / f64::from(other)).log2().abs();
    let distance = |load: &GridLoad| ratio(load.depth, place.0) + ratio(load.jobs, place.1);
    let loads = grid.cells.iter().map(|cell| cell.load);
    let free = loads.filter(|load| load.pattern == pattern && !used.contains(load));
    let farther = |load: &GridLoad| ratio(load.depth, place.0).max(ratio(load.jobs, place.1));
    free.min_by(|one, other| distance(one).total_cmp(&distance(other))).filter(|load| farther(load) <= 2.0)
}

#[cfg(test)]
mod tests {
    use blksched::Dir;

    use super::*;
    use crate::cell::CellFigures;

    fn grid(patterns: &[LoadPattern]) -> ResultGrid {
        let mut grid = ResultGrid::default();
        for &pattern in patterns {
            for depth in [1, 2, 4, 8, 16, 32, 64] {
                for jobs in [1, 2, 4, 8, 16, 32, 64] {
                    let load = GridLoad { pattern, bytes: 4096, depth, jobs };
                    grid.add(load, Dir::Read, CellFigures::default());
                }
            }
        }
        grid
    }

    #[test]
    fn at_most_eight_are_used_and_two_of_them_are_deep() {
        let mixes = [5, 35, 50, 65, 95].map(LoadPattern::Mixed);
        let all = [
            &[LoadPattern::Read][..],
            &[LoadPattern::Read, LoadPattern::Write],
            &[&[LoadPattern::Read], &mixes[..]].concat(),
        ];
        for patterns in all {
            let choice = CellChoice::of(&grid(patterns));
            assert_eq!(choice.used.len(), MOST_CELLS, "{choice:?}");
            assert_eq!(choice.judges.len(), 49 * patterns.len() - MOST_CELLS);
            assert!(choice.used.iter().filter(|load| load.in_flight() >= 64).count() >= 2, "{choice:?}");
        }
        let choice = CellChoice::of(&grid(&[&[LoadPattern::Read], &mixes[..]].concat()));
        assert!(choice.used.iter().all(|load| !matches!(load.pattern, LoadPattern::Mixed(35 | 65 | 95))));
    }

    #[test]
    fn a_small_grid_gives_its_nearest_cells_and_keeps_none_twice() {
        let mut grid = ResultGrid::default();
        for (depth, jobs) in [(1, 1), (2, 1), (16, 8)] {
            grid.add(
                GridLoad { pattern: LoadPattern::Read, bytes: 4096, depth, jobs },
                Dir::Read,
                CellFigures::default(),
            );
        }
        let choice = CellChoice::of(&grid);
        assert_eq!((choice.used.len(), choice.judges.len()), (3, 0));
    }
}
