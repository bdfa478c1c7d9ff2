//! **What for**: with several commands queued, the drive chooses which to do next.
//!
//! **Rule**: `arrival` takes the oldest. `positioning` takes the one whose first sector can be under the head soonest
//! (seek, settle and rotation), `seek` the one on the nearest cylinder, wherever the platters are. Neither looks at the
//! `ahead` youngest commands: the drive decides so many ahead. A read that continues what has just been read goes
//! first, until another command has waited for `sequential_limit`; equal costs go to the older. A command that has
//! waited longer than `age_limit` goes first. Drives may wait `sequential_wait` for the next read of a stream even
//! though others are queued.
//!
//! **Origin**: openzfs PR 11166 and issues 15270 and 10253: one random read beside sequential reads at depth 1 waits up
//! to 4 s on many drives, not at all on a WD Green. `seek` and `ahead`: two drives' benchmarks (docs/disks.md), on
//! which random reads at depth 2 to 4 are no faster than alone, and their deviation is that of order of arrival.
//! **Shown by**: random reads at depth 32 run more than 1.7 times as fast as at depth 1; a queued reader beside others
//! can wait long without the age limit; at a depth of `ahead` and one, commands are served in order of arrival.

use blksched::{Command, Instant, Op, Span};

use super::geometry::Place;
use super::lane::TrackLane;
use super::mechanism::{Access, Mechanism};
use super::shortlist::Shortlist;
use crate::{NcqSpec, QueueOrder};

/// A command that needs the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) command: Command,
    /// Where it begins.
    pub(super) place: Place,
    /// Its track, cached.
    pub(super) lane: TrackLane,
    pub(super) arrived: Instant,
    /// When it was decoded.
    pub(super) ready: Instant,
}

impl Queued {
    pub(super) fn access(&self) -> Access {
        if self.command.op == Op::Read { Access::Read } else { Access::Write }
    }
}

/// The commands waiting for the medium.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    order: QueueOrder,
    /// How many of the youngest a choice does not look at.
    ahead: usize,
    age_limit: Span,
    sequential_limit: Span,
    /// The commands, by a number that each keeps; the numbers of removed commands are reused.
    slots: Vec<Queued>,
    free: Vec<u32>,
    /// The number before and after each by age; the first entry is the list's two ends, the next ones belong to slot 0,
    /// 1, ….
    ages: Vec<(u32, u32)>,
    /// What a choice looks at, compactly and in no order: for each the slot, and how many came before it.
    places: Vec<(u32, u64)>,
    /// The same data in coarse units.
    shortlist: Shortlist,
    arrived: u64,
    /// When the last of them has been decoded.
    all_ready: Instant,
}

impl Queue {
    /// The queue of a disk with this many sectors.
    pub(super) fn new(spec: Option<&NcqSpec>, disk_sectors: u64, mechanism: &Mechanism) -> Queue {
        let (order, age_limit, depth) =
            spec.map_or((QueueOrder::Arrival, Span::MAX, 1), |ncq| (ncq.order, ncq.age_limit, ncq.depth as usize));
        Queue {
            order,
            ahead: spec.map_or(0, |ncq| ncq.ahead as usize),
            age_limit,
            sequential_limit: spec.map_or(Span::MAX, |ncq| ncq.sequential_limit),
            slots: Vec::with_capacity(depth),
            free: Vec::with_capacity(depth),
            ages: vec![(0, 0)],
            places: Vec::with_capacity(depth),
            shortlist: Shortlist::new(depth, disk_sectors, mechanism.coarse_costs()),
            arrived: 0,
            all_ready: Instant::ZERO,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, queued: Queued) {
        self.shortlist.push(&queued.place, queued.access(), queued.command.start.0);
        self.all_ready = self.all_ready.max(queued.ready);
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = queued,
            None => {
                self.slots.push(queued);
                self.ages.push((0, 0));
            }
        }
        self.arrived += 1;
        self.places.push((slot, self.arrived));
        let (link, youngest) = (slot + 1, self.ages[0].0);
        self.ages[link as usize] = (youngest, 0);
        self.ages[youngest as usize].1 = link;
        self.ages[0].0 = link;
    }

    /// The command in this place.
    pub(super) fn remove(&mut self, place: usize) -> Queued {
        self.shortlist.swap_remove(place);
        let (slot, _) = self.places.swap_remove(place);
        let (before, behind) = self.ages[slot as usize + 1];
        self.ages[before as usize].1 = behind;
        self.ages[behind as usize].0 = before;
        self.free.push(slot);
        self.slots[slot as usize]
    }

    fn oldest_slot(&self) -> Option<u32> {
        self.ages[0].1.checked_sub(1)
    }

    /// When the oldest arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.oldest_slot().map(|slot| self.slots[slot as usize].arrived)
    }

    /// How long others wait at most for reads that continue each other.
    pub(super) fn sequential_limit(&self) -> Span {
        self.sequential_limit
    }

    /// Whether a queued read continues where the last one ended. `window` is what has just been read.
    pub(super) fn continues(&self, window: Option<(u64, u64)>) -> bool {
        self.may_continue(window) && (0..self.places.len()).any(|place| self.continues_in(window, place))
    }

    /// Which command is next at `at`, by its place. `window` is what has just been read.
    pub(super) fn choose(&mut self, at: Instant, mechanism: &Mechanism, window: Option<(u64, u64)>) -> Option<usize> {
        let oldest = self.oldest_slot()?;
        let waited = at.since(self.slots[oldest as usize].arrived);
        let one = self.places.len() <= self.ahead + 1;
        if self.order == QueueOrder::Arrival || one || waited > self.age_limit {
            return self.places.iter().position(|&(slot, _)| slot == oldest);
        }
        if !self.may_continue(window) {
            return Some(self.cheapest(at, mechanism, None));
        }
        let streaming = (0..self.places.len()).filter(|&place| self.continues_in(window, place));
        match streaming.min_by_key(|&place| self.places[place].1) {
            None => Some(self.cheapest(at, mechanism, None)),
            Some(first) if waited <= self.sequential_limit || self.places[first].0 == oldest => Some(first),
            // The stream has had its time: the best of the others, of which the oldest is one.
            Some(_) => Some(self.cheapest(at, mechanism, window)),
        }
    }

    /// Whether any read may begin in the window. All are checked, coarsely and several at a time.
    fn may_continue(&self, window: Option<(u64, u64)>) -> bool {
        window.is_some_and(|(first, end)| self.shortlist.may_read_in(first, end))
    }

    /// Whether it is a read that begins in the window.
    fn continues_in(&self, window: Option<(u64, u64)>, place: usize) -> bool {
        let queued = &self.slots[self.places[place].0 as usize];
        queued.access() == Access::Read && lies_in(window, queued.command.start.0)
    }

    /// So many commands had come when what is being decided was planned: a choice looks at no younger one.
    fn known(&self) -> u64 {
        let youngest = |link: u32| self.ages[link as usize].0;
        match (0..self.ahead).fold(0, |link, _| youngest(link)) {
            0 => self.arrived,
            first => self.places.iter().find(|(slot, _)| slot + 1 == first).map_or(0, |&(_, nth)| nth - 1),
        }
    }

    /// The best command by this queue's order, the older of equals; none that continues in `except`.
    fn cheapest(&mut self, at: Instant, mechanism: &Mechanism, except: Option<(u64, u64)>) -> usize {
        let (slots, places, known) = (&self.slots, &self.places, self.known());
        let counts = |queued: &Queued, nth: u64| {
            nth <= known && (queued.access() == Access::Write || !lies_in(except, queued.command.start.0))
        };
        if self.order == QueueOrder::Seek {
            let here = mechanism.cylinder();
            let distance = |&(place, (slot, nth)): &(usize, (u32, u64))| {
                let queued = &slots[slot as usize];
                (!counts(queued, nth), queued.place.track.cylinder.abs_diff(here), nth, place)
            };
            return places.iter().copied().enumerate().min_by_key(distance).map_or(0, |(place, _)| place);
        }
        let (angle, is_ready) = (mechanism.angle(at), self.all_ready <= at);
        let estimate = |place: usize| {
            let (slot, nth) = places[place];
            let queued = &slots[slot as usize];
            let cost = || mechanism.estimate(angle, &queued.place, queued.access());
            (if counts(queued, nth) { cost() } else { f32::INFINITY }, nth)
        };
        if is_ready && let Some(coarse) = self.shortlist.costs() {
            return self.shortlist.cheapest((&coarse, mechanism.cylinder(), angle), estimate);
        }
        let cost = |place: usize| {
            let (slot, nth) = places[place];
            let queued = &slots[slot as usize];
            if is_ready || !counts(queued, nth) {
                return estimate(place);
            }
            let delay_ns = queued.ready.since(at).as_ns().min(LONGEST_DELAY_NS) as i32;
            (mechanism.cost(angle, delay_ns, &queued.place, queued.access()) as f32, nth)
        };
        let least = |least: (usize, (f32, u64)), place| {
            let cost = cost(place);
            if cost < least.1 { (place, cost) } else { least }
        };
        (0..places.len()).fold((0, (f32::INFINITY, u64::MAX)), least).0
    }
}

fn lies_in(window: Option<(u64, u64)>, start: u64) -> bool {
    window.is_some_and(|(first, end)| start.wrapping_sub(first) <= end - first)
}

/// Longer delays make no difference to a choice.
const LONGEST_DELAY_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use blksched::author::RequestId;
    use blksched::{Sector, SubmitterId};

    use super::*;
    use crate::hdd::mechanism::Accessed;
    use crate::hdd::targets::Targets;
    use crate::hdd::tests_support::{TestRandom, hdd_spec};

    /// The simplest implementation: in order of age, each cost by itself.
    struct Plain {
        queued: Vec<Queued>,
        spec: NcqSpec,
    }

    impl Plain {
        fn choose(&self, at: Instant, mechanism: &Mechanism, window: Option<(u64, u64)>) -> Option<usize> {
            let waited = at.since(self.queued.first()?.arrived);
            let known = self.queued.len().saturating_sub(self.spec.ahead as usize);
            if self.spec.order == QueueOrder::Arrival || known <= 1 || waited > self.spec.age_limit {
                return Some(0);
            }
            let goes_on = |one: &Queued| one.access() == Access::Read && lies_in(window, one.command.start.0);
            let sequential = self.queued.iter().position(goes_on);
            if let Some(first) = sequential.filter(|&at| waited <= self.spec.sequential_limit || at == 0) {
                return Some(first);
            }
            let cost = |one: &Queued| match self.spec.order {
                QueueOrder::Seek => one.place.track.cylinder.abs_diff(mechanism.cylinder()) as f32,
                _ => self.cost(at, mechanism, one),
            };
            let costs = self.queued[..known].iter().map(|one| if goes_on(one) { f32::MAX } else { cost(one) });
            let least = |best: (usize, f32), (nth, cost)| if cost < best.1 { (nth, cost) } else { best };
            Some(costs.enumerate().fold((0, f32::INFINITY), least).0)
        }

        fn cost(&self, at: Instant, mechanism: &Mechanism, one: &Queued) -> f32 {
            if self.queued.iter().all(|one| one.ready <= at) {
                let (mut alone, mut costs) = (Targets::default(), Vec::new());
                alone.push(&one.place, one.access());
                mechanism.costs(at, &alone, &mut costs);
                return costs[0];
            }
            let delay_ns = one.ready.since(at).as_ns().min(LONGEST_DELAY_NS) as i32;
            mechanism.cost(mechanism.angle(at), delay_ns, &one.place, one.access()) as f32
        }
    }

    #[test]
    fn a_choice_in_no_order_is_that_of_the_plain_way() {
        let spec = hdd_spec("hdd-7200-ideal");
        for (seed, order, ahead, age_limit_ms) in [
            (1, QueueOrder::Positioning, 0, 1000),
            (2, QueueOrder::Positioning, 0, 30),
            (3, QueueOrder::Arrival, 0, 1000),
            (4, QueueOrder::Positioning, 3, 1000),
            (5, QueueOrder::Seek, 0, 1000),
            (6, QueueOrder::Seek, 4, 30),
        ] {
            let ncq = NcqSpec { order, ahead, age_limit: Span::from_ms(age_limit_ms), ..spec.ncq.unwrap() };
            let mut mechanism = Mechanism::new(&spec, seed);
            let mut queue = Queue::new(Some(&ncq), spec.capacity_sectors, &mechanism);
            let mut plain = Plain { queued: Vec::new(), spec: ncq };
            let (mut random, mut at) = (TestRandom(seed), Instant::ZERO);
            // How many choices were made among several, and how many of them for a stream.
            let (mut choices, mut streams) = (0, 0);
            for nth in 0..30_000_u32 {
                if plain.queued.len() < 32 && random.below(2) == 0 {
                    // Many in one place, so that costs are equal, and many that continue others.
                    let near = mechanism.next_sector() + random.below(64);
                    let sector = [random.below(8) * 1_000_000, near, random.below(spec.capacity_sectors - 100)];
                    let start = sector[random.below(3) as usize].min(spec.capacity_sectors - 100);
                    let op = if random.below(3) == 0 { Op::Write } else { Op::Read };
                    let (rq, submitter) = (RequestId::from_index(nth), SubmitterId(0));
                    let command = Command { rq, op, start: Sector(start), sectors: 8, fua: false, submitter };
                    let (place, lane) = mechanism.locate(start);
                    let ready = at + Span::from_us(random.below(12));
                    let queued = Queued { command, place, lane, arrived: at, ready };
                    queue.push(queued);
                    plain.queued.push(queued);
                    continue;
                }
                at += Span::from_us(random.below(400));
                let next = mechanism.next_sector();
                let window = (random.below(3) == 0).then(|| (next.saturating_sub(32), next + 32));
                let (ours, theirs) = (queue.choose(at, &mechanism, window), plain.choose(at, &mechanism, window));
                assert_eq!(queue.oldest(), plain.queued.first().map(|queued| queued.arrived));
                let (Some(ours), Some(theirs)) = (ours, theirs) else {
                    assert_eq!(ours, theirs);
                    continue;
                };
                choices += u32::from(plain.queued.len() > 1);
                let (taken, wanted) = (queue.remove(ours), plain.queued.remove(theirs));
                assert_eq!(taken.command, wanted.command, "choice {choices} of {}", plain.queued.len() + 1);
                streams += u32::from(lies_in(window, taken.command.start.0));
                let Accessed { until, .. } = mechanism.access_on(
                    at.max(taken.ready),
                    (&taken.place, &taken.lane),
                    taken.command.start.0 + 8,
                    taken.access(),
                    Span::ZERO,
                );
                at = until;
            }
            assert!(choices > 5_000 && streams > 200, "{choices}, {streams}");
        }
    }
}
