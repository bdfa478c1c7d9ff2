//! Dirty extents in order of position, disjoint.
//!
//! Insertion and removal move twelve bytes for each following extent, not the extents themselves.

use core::ops::Range;

use blksched::{Instant, SubmitterId};

use super::geometry::Place;
use super::lane::TrackLane;

/// Consecutive dirty sectors written by one submitter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) sectors: u64,
    /// Where it begins.
    pub(super) place: Place,
    /// Its first track, cached.
    pub(super) lane: TrackLane,
    pub(super) submitter: SubmitterId,
    /// Order of arrival.
    pub(super) serial: u64,
    /// Since when it has been dirty; after a part at its front was written in passing, the rest counts anew.
    pub(super) since: Instant,
}

impl Extent {
    pub(super) fn end(&self) -> u64 {
        self.start + self.sectors
    }
}

/// Extents by position.
#[derive(Clone, Debug)]
pub(super) struct Extents {
    starts: Vec<u64>,
    slots: Vec<u32>,
    slab: Vec<Extent>,
    free: Vec<u32>,
}

impl Extents {
    pub(super) fn with_capacity(capacity: usize) -> Extents {
        Extents {
            starts: Vec::with_capacity(capacity),
            slots: Vec::with_capacity(capacity),
            slab: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The first that begins at or after `sector`.
    pub(super) fn first_from(&self, sector: u64) -> usize {
        self.starts.partition_point(|&start| start < sector)
    }

    /// The first that reaches beyond `sector`.
    pub(super) fn first_beyond(&self, sector: u64) -> usize {
        let after = self.first_from(sector);
        match after.checked_sub(1) {
            Some(before) if self.get(before).end() > sector => before,
            _ => after,
        }
    }

    pub(super) fn get(&self, index: usize) -> &Extent {
        &self.slab[self.slots[index] as usize]
    }

    /// For changing anything but its start.
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Extent {
        &mut self.slab[self.slots[index] as usize]
    }

    pub(super) fn insert(&mut self, extent: Extent) {
        let index = self.first_from(extent.start);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slab.push(extent);
            (self.slab.len() - 1) as u32
        });
        self.slab[slot as usize] = extent;
        self.starts.insert(index, extent.start);
        self.slots.insert(index, slot);
    }

    pub(super) fn remove(&mut self, index: usize) -> Extent {
        self.starts.remove(index);
        let slot = self.slots.remove(index);
        self.free.push(slot);
        self.slab[slot as usize]
    }

    /// Removes `sectors` sectors from its front at `at`; the rest begins at this place.
    pub(super) fn shorten(&mut self, index: usize, sectors: u64, (place, lane): (Place, TrackLane), at: Instant) {
        self.starts[index] += sectors;
        let extent = self.get_mut(index);
        extent.start += sectors;
        extent.sectors -= sectors;
        (extent.place, extent.lane) = (place, lane);
        extent.since = at;
    }

    /// Some of them, in order of position.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = &Extent> {
        self.slots[range].iter().map(|&slot| &self.slab[slot as usize])
    }
}
