//! The used parts of the disk, with the gaps between them shortened: otherwise two files would be two flat lines.

use crate::recorded::RecordedRun;

/// The number of slices of the disk; used parts with fewer than twenty of them in between form one region.
const SLICES: usize = 2048;
const APART: usize = 20;
const MOST: usize = 6;
/// The height of a gap, as a part of the whole.
const GAP: f64 = 0.07;

/// A part of the disk \[sectors\], and the corresponding part of the height.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DiskRegion {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The regions used by any run.
pub(super) fn regions(runs: &[RecordedRun]) -> Vec<DiskRegion> {
    let whole = runs.iter().map(|run| run.disk_sectors).max().unwrap_or(1).max(1);
    let mut slices: Vec<Option<(u64, u64)>> = vec![None; SLICES];
    for sent in runs.iter().flat_map(|run| &run.sent).filter(|sent| sent.sectors > 0) {
        let (from, to) = (sent.sector, sent.sector + u64::from(sent.sectors));
        let slice = (u128::from(from) * SLICES as u128 / u128::from(whole)) as usize;
        let known = slices[slice.min(SLICES - 1)].get_or_insert((from, to));
        *known = (known.0.min(from), known.1.max(to));
    }
    let near = whole / SLICES as u64 * APART as u64;
    let mut found: Vec<DiskRegion> = Vec::new();
    for (from, to) in slices.into_iter().flatten() {
        match found.last_mut() {
            Some(last) if from.saturating_sub(last.to) <= near => last.to = last.to.max(to),
            _ => found.push(DiskRegion { from, to, low: 0.0, high: 0.0 }),
        }
    }
    while found.len() > MOST {
        let gap = |nth: &usize| found[*nth].from - found[nth - 1].to;
        let nearest = (1..found.len()).min_by_key(gap).unwrap_or(1);
        found[nearest - 1].to = found[nearest].to;
        found.remove(nearest);
    }
    let room = 1.0 - GAP * found.len().saturating_sub(1) as f64;
    let sum: u64 = found.iter().map(|region| region.to - region.from).sum();
    let (count, mut at) = (found.len() as f64, 0.0);
    for region in &mut found {
        let share = 0.5 * (region.to - region.from) as f64 / sum.max(1) as f64 + 0.5 / count;
        (region.low, region.high) = (at, at + share * room);
        at = region.high + GAP;
    }
    found
}

/// A sector's part of the height.
pub(super) fn place(regions: &[DiskRegion], sector: u64) -> f64 {
    let Some(region) = regions.iter().find(|region| sector <= region.to) else { return 1.0 };
    let part = sector.saturating_sub(region.from) as f64 / (region.to - region.from).max(1) as f64;
    region.low + (region.high - region.low) * part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{RecordedCommand, Way};

    #[test]
    fn two_files_far_apart_are_two_regions_with_a_short_gap() {
        let at = |sector| RecordedCommand {
            process: 0,
            way: Way::Read,
            sector,
            sectors: 8,
            queued_ns: 0,
            issued_ns: 0,
            ended_ns: 1,
            io: 1,
        };
        let sent = vec![at(0), at(1_000), at(900_000), at(900_992)];
        let found = regions(&[RecordedRun { disk_sectors: 1_000_000, sent, ..RecordedRun::default() }]);
        assert_eq!(found.iter().map(|one| (one.from, one.to)).collect::<Vec<_>>(), [(0, 1_008), (900_000, 901_000)]);
        assert!((found[1].low - found[0].high - GAP).abs() < 1e-9 && (found[1].high - 1.0).abs() < 1e-9);
        assert!(place(&found, 500) < found[0].high && place(&found, 900_500) > found[1].low);
        assert!(place(&found, 500_000) == found[1].low, "what nobody uses has no height");
    }
}
