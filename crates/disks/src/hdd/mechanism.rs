//! **What for**: arm and platters together: the cost of an access from the current position, and the access.
//!
//! **Rule**: an access is seek (or head switch), settle if it writes, rotation until its first sector arrives, transfer
//! along the spiral. Afterwards the head is on the track of the next sector: it follows the spiral by itself, so an
//! access that continues immediately needs neither seek nor settle, and no rotation except the skew.

use blksched::{Instant, Span};

use super::geometry::{Behind, Place, Spiral, Track};
use super::lane::TrackLane;
use super::rotation::Platters;
use super::seek::SeekCurve;
use super::shortlist::CoarseCosts;
use super::targets::{Fields, Targets, padded};
use crate::{Activity, HddSpec};

/// What the head does at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// One finished access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessed {
    /// When the last sector has passed.
    pub(super) until: Instant,
    /// The point of the spiral where the head is then \[ns\].
    pub(super) unrolled: u64,
    /// Where the time went.
    pub(super) activity: Activity,
}

/// Arm and platters.
#[derive(Clone, Debug)]
pub(super) struct Mechanism {
    spiral: Spiral,
    platters: Platters,
    seek: SeekCurve,
    head: Track,
    /// The track on which the last access began.
    lane: TrackLane,
    least_sector_time: u64,
    /// The sector after the last access.
    next_sector: u64,
    /// When that ended.
    resting_since: Instant,
}

/// The greatest delay of data \[ns\].
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

impl Mechanism {
    pub(super) fn new(spec: &HddSpec, seed: u64) -> Mechanism {
        let spiral = Spiral::new(spec);
        Mechanism {
            seek: SeekCurve::new(&spec.seek, &spec.seek_curve, spiral.cylinders() as u32),
            platters: Platters::new(spec.revolution(), seed),
            least_sector_time: spiral.least_sector_time(),
            spiral,
            head: Track::default(),
            lane: TrackLane::NONE,
            next_sector: 0,
            resting_since: Instant::NEVER,
        }
    }

    /// Where `sector` begins.
    pub(super) fn place(&self, sector: u64) -> Place {
        self.spiral.place(sector)
    }

    /// The same, with its track for reuse.
    #[inline]
    pub(super) fn locate(&self, sector: u64) -> (Place, TrackLane) {
        self.spiral.locate(sector)
    }

    /// The same for a sector that may be on a cached track.
    pub(super) fn locate_near(&self, sector: u64, lane: &TrackLane) -> (Place, TrackLane) {
        self.spiral.locate_near(sector, lane)
    }

    /// The least time that this many sectors take to pass \[ns\], wherever they are.
    #[inline]
    pub(super) fn least_ns(&self, sectors: u64) -> u64 {
        // Half of what they take, so that rounding does not matter; more sectors than can be counted this way take
        // longer.
        sectors.saturating_mul(self.least_sector_time) >> 33
    }

    /// What follows `sector`.
    pub(super) fn behind(&self, sector: u64) -> Behind {
        self.spiral.behind(sector)
    }

    /// The first sector that has not completely passed when the head is at `unrolled`.
    pub(super) fn sector_at(&self, unrolled: u64) -> u64 {
        self.spiral.sector_at(unrolled)
    }

    /// The first sector that is not on `sector`'s track.
    pub(super) fn track_end(&self, sector: u64) -> u64 {
        self.spiral.end_of(sector, |one, other| one == other)
    }

    /// The first sector that is not in `sector`'s cylinder.
    pub(super) fn cylinder_end(&self, sector: u64) -> u64 {
        self.spiral.end_of(sector, |one, other| one.cylinder == other.cylinder)
    }

    /// The sector after the last access.
    pub(super) fn next_sector(&self) -> u64 {
        self.next_sector
    }

    /// One revolution.
    pub(super) fn revolution(&self) -> Span {
        self.platters.revolution()
    }

    /// What is under the heads at `at` \[ns of a revolution\]; for [`Mechanism::cost`].
    pub(super) fn angle(&self, at: Instant) -> i32 {
        self.platters.angle(at)
    }

    /// The cost of reaching `place` when the platters are at `angle` and the command is ready in `delay_ns` \[ns\].
    #[inline]
    pub(super) fn cost(&self, angle: i32, delay_ns: i32, place: &Place, access: Access) -> i32 {
        let (seek, settle) = self.move_to(place.track, access);
        self.platters.until(angle, place.angle, delay_ns + seek + settle)
    }

    /// The cost of reaching each of `targets` at `at` \[ns\], into `costs`, which is [`padded`] with infinity.
    ///
    /// Like [`Mechanism::cost`], but accurate only to some nanoseconds (exact without a move), and several at a time.
    pub(super) fn costs(&self, at: Instant, targets: &Targets, costs: &mut Vec<f32>) {
        let (count, angle) = (targets.len(), self.angle(at));
        costs.resize(padded(count), f32::INFINITY);
        if self.seek.is_measured() {
            for (index, cost) in costs[..count].iter_mut().enumerate() {
                let (place, access) = targets.get(index);
                *cost = self.cost(angle, 0, &place, access) as f32;
            }
        } else {
            let Fields { cylinders, heads, angles, settles } = targets.fields();
            self.estimates(angle, (cylinders, heads), angles, settles, costs);
        }
        costs[count..].iter_mut().for_each(|cost| *cost = f32::INFINITY);
    }

    /// The cost of one place, with the platters at `angle`.
    #[inline]
    pub(super) fn estimate(&self, angle: i32, place: &Place, access: Access) -> f32 {
        if self.seek.is_measured() {
            return self.cost(angle, 0, place, access) as f32;
        }
        let (cylinder, here) = (place.track.cylinder as f32, self.head);
        let apart = (cylinder - here.cylinder as f32).abs();
        let moves = self.seek.estimate().move_ns(apart, place.track.head == here.head);
        let settles = access == Access::Write && moves > 0.0;
        let still = if settles { self.seek.write_settle_ns() as f32 } else { 0.0 };
        self.platters.estimate().until(angle, place.angle, moves + still)
    }

    /// Lower bounds of costs, for a choice among many.
    pub(super) fn coarse_costs(&self) -> Option<CoarseCosts> {
        CoarseCosts::new(&self.seek, self.spiral.cylinders(), self.platters.revolution().as_ns() as i32)
    }

    /// The arm's cylinder.
    pub(super) fn cylinder(&self) -> i32 {
        self.head.cylinder
    }

    /// The same for all fields, used or not; the platters are at `angle`.
    #[inline(never)]
    fn estimates(
        &self,
        angle: i32,
        (cylinders, heads): (&[f32], &[i32]),
        angles: &[i32],
        settles: &[f32],
        costs: &mut [f32],
    ) {
        let (seek, turn, here) = (self.seek.estimate(), self.platters.estimate(), self.head);
        let (cylinder, settle_ns) = (here.cylinder as f32, self.seek.write_settle_ns() as f32);
        // All have the same length; parallel iterators need no bounds checks.
        let tracks = cylinders.iter().zip(heads);
        for (cost, ((track, angle_there), settle)) in costs.iter_mut().zip(tracks.zip(angles).zip(settles)) {
            let moves = seek.move_ns((*track.0 - cylinder).abs(), *track.1 == here.head);
            let still = if moves > 0.0 { settle_ns } else { 0.0 };
            *cost = turn.until(angle, *angle_there, moves + still * settle);
        }
    }

    /// Moves to `place`, beginning at `at`, and reads or writes up to `end`; a write's data arrives `data` later.
    /// `place`'s track is the cached one, or none.
    #[inline]
    pub(super) fn access_on(
        &mut self,
        at: Instant,
        (place, lane): (&Place, &TrackLane),
        end: u64,
        access: Access,
        data: Span,
    ) -> Accessed {
        let (seek_ns, settle_ns) = self.move_to(place.track, access);
        let settle_ns = settle_ns + self.acquire_ns(at, place, access, seek_ns);
        let moved_ns = seek_ns + settle_ns;
        let busy_ns = moved_ns.max(data.as_ns().min(LONGEST_WAIT_NS) as i32);
        let there = self.platters.until(self.platters.angle(at), place.angle, busy_ns);
        let behind = lane.behind(end - 1).unwrap_or_else(|| self.spiral.behind(end - 1));
        self.lane = *lane;
        let transfer = behind.unrolled - place.unrolled;
        self.rest_behind(&behind, end);
        let activity = Activity {
            seek: Span::from_ns(seek_ns as u64),
            settle: Span::from_ns(settle_ns as u64),
            interface: Span::from_ns((busy_ns - moved_ns) as u64),
            rotation: Span::from_ns((there - busy_ns) as u64),
            transfer: Span::from_ns(transfer),
            ..Activity::default()
        };
        self.resting_since = at + Span::from_ns(there as u64 + transfer);
        Accessed { until: self.resting_since, unrolled: behind.unrolled, activity }
    }

    /// The wait of a read that needs no move and does not just continue \[ns\].
    #[inline]
    fn acquire_ns(&self, at: Instant, place: &Place, access: Access, seek_ns: i32) -> i32 {
        if self.seek.acquire_ns() == 0 { 0 } else { self.acquires_ns(at, place, access, seek_ns) }
    }

    /// The same for a disk on which that takes time.
    #[inline(never)]
    fn acquires_ns(&self, at: Instant, place: &Place, access: Access, seek_ns: i32) -> i32 {
        let acquire = self.seek.acquire_ns();
        let goes_on = || at == self.resting_since && self.spiral.place(self.next_sector) == *place;
        match access {
            Access::Read if place.track.cylinder == self.head.cylinder && !goes_on() => (acquire - seek_ns).max(0),
            _ => 0,
        }
    }

    /// The head has followed the spiral as far as `unrolled`; returns the first sector that has not completely passed.
    pub(super) fn follow(&mut self, unrolled: u64) -> u64 {
        let here = self.lane.passing(unrolled).unwrap_or_else(|| self.spiral.passing_at(unrolled));
        (self.next_sector, self.head) = here;
        self.next_sector
    }

    /// Puts the head where `behind` says; `end` is the next sector.
    pub(super) fn rest_behind(&mut self, behind: &Behind, end: u64) {
        self.head = behind.next_track;
        self.next_sector = end;
    }

    /// Seek and settle from the head's track to `track` \[ns\].
    #[inline]
    fn move_to(&self, track: Track, access: Access) -> (i32, i32) {
        let distance = (track.cylinder - self.head.cylinder).abs();
        let seek = self.seek.move_ns(distance, track.head == self.head.head);
        let settle = match access {
            Access::Read => 0,
            Access::Write => self.seek.write_settle_ns(),
        };
        (seek, if seek > 0 { settle } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::tests_support::{TestRandom, hdd_spec};

    #[test]
    fn the_estimated_costs_are_the_exact_ones_to_some_nanoseconds() {
        let spec = hdd_spec("sata-2009");
        let mut mechanism = Mechanism::new(&spec, 1);
        let mut random = TestRandom(8);
        let (mut all, mut off) = (0, 0);
        for round in 0..200u64 {
            let at = Instant::from_ns(random.below(1 << 40));
            let mut targets = Targets::with_capacity(32);
            let places: Vec<(Place, Access)> = (0..32)
                .map(|index| {
                    let access = if index % 2 == 0 { Access::Read } else { Access::Write };
                    (mechanism.place(random.below(spec.capacity_sectors)), access)
                })
                .collect();
            places.iter().for_each(|(place, access)| targets.push(place, *access));
            let mut costs = Vec::new();
            mechanism.costs(at, &targets, &mut costs);
            for ((place, access), estimate) in places.iter().zip(costs) {
                let exact = mechanism.cost(mechanism.angle(at), 0, place, *access) as f32;
                all += 1;
                // A place reached within nanoseconds of its passing may count for the next revolution.
                off += u32::from((exact - estimate).abs() > 16.0);
            }
            let sector = round * 4_000_000;
            let begin = (&mechanism.place(sector), &TrackLane::NONE);
            mechanism.access_on(at, begin, sector + 1, Access::Read, Span::ZERO);
        }
        assert!(all == 6_400 && off <= 2, "{off} of {all}");
    }

    #[test]
    fn going_on_without_a_pause_costs_nothing_but_the_skew() {
        let spec = hdd_spec("sata-2009");
        let mut mechanism = Mechanism::new(&spec, 1);
        let mut at = Instant::ZERO;
        let mut rotation = Span::ZERO;
        for piece in 0..1_000u64 {
            let begin = (&mechanism.place(piece * 100), &TrackLane::NONE);
            let accessed = mechanism.access_on(at, begin, (piece + 1) * 100, Access::Write, Span::ZERO);
            at = accessed.until;
            if piece > 0 {
                assert!((accessed.activity.seek + accessed.activity.settle).is_zero());
                rotation += accessed.activity.rotation;
                let mut targets = Targets::default();
                targets.push(&mechanism.place((piece + 1) * 100), Access::Write);
                let mut costs = Vec::new();
                mechanism.costs(at, &targets, &mut costs);
                assert_eq!(
                    costs[0] as i32,
                    mechanism.cost(mechanism.angle(at), 0, &mechanism.place((piece + 1) * 100), Access::Write)
                );
            }
        }
        let tracks = at.since(Instant::ZERO).as_ns() / mechanism.revolution().as_ns();
        let skew = spec.geometry.track_skew.of(spec.revolution());
        assert!(rotation <= skew * (tracks + 1), "{rotation}");
    }
}
