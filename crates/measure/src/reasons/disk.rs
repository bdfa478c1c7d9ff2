//! What the disk does with its time, as running integrals per cause.
//!
//! While several requests are in flight, each moment is split evenly among them, and to the nanosecond: the parts of a
//! stretch of time always add up to it.

use blksched::{Instant, Span};

use super::cause::{Cause, Serving};

/// Time per cause \[ns\], by [`Cause::index`].
pub(super) type Integrals = [u64; Cause::COUNT];

/// What the disk did with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskTime {
    began: Instant,
    now: Instant,
    ns: Integrals,
}

impl DiskTime {
    /// How long it was about this. A moment that several requests share counts for each in part.
    pub fn on(&self, cause: Cause) -> Span {
        Span::from_ns(self.ns[cause.index()])
    }

    /// From the beginning to now.
    pub fn elapsed(&self) -> Span {
        self.now.since(self.began)
    }

    /// How long at least one request was in flight.
    pub fn busy(&self) -> Span {
        Span::from_ns(self.ns[..Serving::COUNT].iter().sum())
    }

    /// [`DiskTime::busy`] as a part of [`DiskTime::elapsed`]; 0 before any time has passed.
    pub fn busy_share(&self) -> f64 {
        if self.elapsed().is_zero() { 0.0 } else { self.busy().as_ns() as f64 / self.elapsed().as_ns() as f64 }
    }

    /// Every cause that took any time.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Span)> {
        Cause::all().map(|cause| (cause, self.on(cause))).filter(|(_, span)| !span.is_zero())
    }

    /// How far it has come.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn integrals(&self) -> &Integrals {
        &self.ns
    }
}

/// Binary places of [`Disk::given`]: fine enough that thousands of requests at a time lose nothing that shows, coarse
/// enough for a request that takes three days. (The sum itself may wrap: only differences count.)
const GIVEN_BITS: u32 = 16;

/// `ns · count / total`, rounded down.
fn part(ns: u64, count: u32, total: u32) -> u64 {
    match ns.checked_mul(u64::from(count)) {
        Some(product) => product / u64::from(total),
        None => (u128::from(ns) * u128::from(count) / u128::from(total)) as u64,
    }
}

/// The integrals, and what is in flight.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    time: DiskTime,
    in_flight: [u32; Serving::COUNT],
    total: u32,
    /// What a request in flight all the time would have been given \[ns·2⁻¹⁶\]: ∫ dt / requests in flight.
    given: u64,
}

impl Default for Disk {
    fn default() -> Disk {
        let time = DiskTime { began: Instant::ZERO, now: Instant::ZERO, ns: [0; Cause::COUNT] };
        Disk { time, in_flight: [0; Serving::COUNT], total: 0, given: 0 }
    }
}

impl Disk {
    pub(super) fn begin(&mut self, now: Instant) {
        (self.time.began, self.time.now) = (now, now);
    }

    pub(super) fn time(&self) -> &DiskTime {
        &self.time
    }

    /// Until `now` all stayed as it was; `resting` is what the disk was about if nothing was in flight.
    pub(super) fn advance(&mut self, now: Instant, resting: Cause) {
        let ns = now.since(self.time.now).as_ns();
        if ns == 0 {
            return;
        }
        self.time.now = now;
        if self.total == 0 {
            self.time.ns[resting.index()] += ns;
            return;
        }
        self.given = self.given.wrapping_add((ns << GIVEN_BITS) / u64::from(self.total));
        let (mut counted, mut spent) = (0, 0);
        for (slot, &count) in self.in_flight.iter().enumerate().filter(|&(_, &count)| count > 0) {
            counted += count;
            let upto = if counted == self.total { ns } else { part(ns, counted, self.total) };
            self.time.ns[slot] += upto - spent;
            spent = upto;
        }
    }

    /// One more request is in flight. The mark goes to [`Disk::stop`].
    pub(super) fn start(&mut self, serving: Serving) -> u64 {
        self.in_flight[serving.index()] += 1;
        self.total += 1;
        self.given
    }

    /// The request that started with `mark` is done: how much of the disk's time it was given.
    pub(super) fn stop(&mut self, serving: Serving, mark: u64) -> Span {
        self.in_flight[serving.index()] -= 1;
        self.total -= 1;
        Span::from_ns(self.given.wrapping_sub(mark) >> GIVEN_BITS)
    }
}

#[cfg(test)]
mod tests {
    use blksched::Dir;

    use super::super::cause::BeganBy;
    use super::*;

    const READ: Serving = Serving::Batch(Dir::Read, BeganBy::Turn);
    const WRITE: Serving = Serving::Batch(Dir::Write, BeganBy::Turn);

    #[test]
    fn time_shared_by_three_still_adds_up_to_the_nanosecond() {
        let mut disk = Disk::default();
        disk.begin(Instant::from_ns(5));
        for serving in [READ, WRITE, Serving::Flush] {
            disk.start(serving);
        }
        disk.advance(Instant::from_ns(105), Cause::Empty);
        disk.advance(Instant::from_ns(106), Cause::Empty);
        assert_eq!(disk.time().busy(), Span::from_ns(101));
        assert_eq!(disk.time().elapsed(), disk.time().iter().fold(Span::ZERO, |sum, (_, span)| sum + span));
        assert_eq!(disk.time().busy_share(), 1.0);
    }

    #[test]
    fn what_each_request_is_given_adds_up_to_what_the_disk_worked() {
        let mut disk = Disk::default();
        let first = disk.start(READ);
        disk.advance(Instant::from_ns(100), Cause::Empty);
        let second = disk.start(WRITE);
        disk.advance(Instant::from_ns(300), Cause::Empty);
        assert_eq!(disk.stop(READ, first), Span::from_ns(200));
        disk.advance(Instant::from_ns(350), Cause::Empty);
        assert_eq!(disk.stop(WRITE, second), Span::from_ns(150));
        disk.advance(Instant::from_ns(400), Cause::Plugged);
        assert_eq!((disk.time().busy(), disk.time().on(Cause::Plugged)), (Span::from_ns(350), Span::from_ns(50)));
    }
}
