//! **What for**: the map from sectors to flash, of which a drive without its own memory holds only a part.
//!
//! **Rule**: the map is in pages that describe a `segment` of the disk each. Those used last are in memory, `covers` in
//! all; a read in any other segment reads that page of the map first. Each place in memory can hold every so-many-th
//! segment, so what lies together is never displaced by itself.
//!
//! **Origin**: demand-paged maps (Gupta, Kim and Urgaonkar, "DFTL", ASPLOS 2009); drives without memory keep theirs in
//! some megabytes of the host's (NVMe's Host Memory Buffer): 1 MiB describes 1 GiB.
//!
//! **Limits**: writes change the map in memory and cost nothing here; of a read in several segments only the first is
//! looked up.
//!
//! **Costs when wrong**: a drive without memory would be as fast over all of it as in a small file.

use crate::MapCacheSpec;

/// The segments whose map is in memory.
#[derive(Clone, Debug)]
pub(super) struct MapCache {
    segment_sectors: u64,
    /// What each place holds; one more than the segment's number, 0 for nothing.
    places: Vec<u64>,
}

impl MapCache {
    pub(super) fn new(spec: &MapCacheSpec) -> MapCache {
        let places = spec.covers_sectors / spec.segment_sectors;
        MapCache { segment_sectors: spec.segment_sectors, places: vec![0; places as usize] }
    }

    /// The segment of this sector if its map is not in memory; it is from now on.
    pub(super) fn missed(&mut self, sector: u64) -> Option<u64> {
        let segment = sector / self.segment_sectors;
        let places = self.places.len() as u64;
        let place = &mut self.places[(segment % places) as usize];
        let held = core::mem::replace(place, segment + 1);
        (held != segment + 1).then_some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_missed_once_and_twice_as_much_always() {
        let spec = MapCacheSpec { covers_sectors: 8_000, segment_sectors: 1_000 };
        let mut cache = MapCache::new(&spec);
        let mut misses = |segments: u64| (0..segments).filter(|n| cache.missed(n * 1_000 + 999).is_some()).count();
        assert_eq!((misses(8), misses(8)), (8, 0));
        assert_eq!((misses(9), misses(9)), (1, 2), "the ninth and the first share a place");
        assert_eq!((misses(16), misses(16)), (9, 16), "the first time seven are still there");
    }
}
