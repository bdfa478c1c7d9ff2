//! One disk of the world with its own request queue, and how bios find it.
//!
//! **Rule** The disks of a world lie one behind the other in one space of sectors, in which everything above the queues
//! (files, the page cache, file systems) counts; a queue and its disk count from zero. At any moment the world turns to
//! one disk: whatever is said of *the* queue is that disk's. Whoever turns to another one turns back. A world with one
//! disk never turns, and pays nothing for the others.
//! **Why** A task of the kernel, too, works at one request queue at a time; what it has submitted to others runs when
//! it has done.

use blksched::{Bio, BlockQueue, InFlight, Instant, Listener, Op, Sector, Span, Submitted};
use blksched_disks::Disk;

use super::known::Known;
use super::submission_queues::SubmissionQueues;
use super::{Observer, World};
use crate::disk_number::DiskNumber;
use crate::story::{Happening, IoId};

/// A queue with its disk.
pub(super) struct Device<L: Listener> {
    pub(super) number: DiskNumber,
    pub(super) queue: Known<BlockQueue<L>>,
    pub(super) disk: Known<Box<dyn Disk>>,
    /// Where commands wait until the drive fetches them, if its hardware queues are told apart, and when it does.
    pub(super) submission: Option<Box<SubmissionQueues>>,
    pub(super) fetches_at: Instant,
    /// How many runs of the queue the kernel's worker still has to make.
    pub(super) workers_called: u32,
    /// When each request in the device was issued, by its index, and the token for its end.
    pub(super) issued: Vec<(Instant, Option<InFlight>)>,
    pub(super) completions: u64,
    pub(super) in_disk: Span,
    /// Something was given to the queue from elsewhere, and it has not run since.
    touched: bool,
}

impl<L: Listener> Device<L> {
    pub(super) fn new(number: DiskNumber, queue: BlockQueue<L>, disk: Box<dyn Disk>) -> Box<Device<L>> {
        Box::new(Device {
            number,
            queue: Known::new(queue),
            disk: Known::new(disk),
            submission: None,
            fetches_at: Instant::NEVER,
            workers_called: 0,
            issued: Vec::new(),
            completions: 0,
            in_disk: Span::ZERO,
            touched: false,
        })
    }

    /// When anything happens in it next, or never.
    #[inline]
    pub(super) fn upcoming(&self) -> Instant {
        self.disk.upcoming().min(self.queue.upcoming()).min(self.fetches_at)
    }

    fn is_idle(&self) -> bool {
        self.queue.requests().is_empty()
    }
}

/// A run of the sectors that all disks make together.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskSpan {
    first: u64,
    end: u64,
}

impl DiskSpan {
    pub(super) fn new(first: Sector, sectors: u64) -> DiskSpan {
        DiskSpan { first: first.0, end: first.0 + sectors }
    }

    pub(super) fn has(&self, sector: Sector) -> bool {
        (self.first..self.end).contains(&sector.0)
    }

    pub(super) fn is_apart(&self, other: &DiskSpan) -> bool {
        self.end <= other.first || other.end <= self.first
    }

    pub(super) fn first(&self) -> Sector {
        Sector(self.first)
    }
}

impl<L: Listener, O: Observer> World<L, O> {
    /// A bio enters the queue.
    pub(super) fn hand_in(&mut self, bio: Bio) -> Submitted {
        self.tells(|| Happening::Entered { bio });
        let became = self.here.queue.submit(self.now, bio);
        if became == Submitted::Held {
            // Its submitter goes on, however long `io.max` holds it.
            self.flights[bio.tag.0 as u32].accepted_at = Some(self.now);
        }
        self.tells(|| Happening::Taken { io: IoId(bio.tag.0), became });
        became
    }

    /// The same where the first disk begins at this sector of the common space. To be said if there are others.
    pub fn with_first_at(mut self, first: Sector) -> World<L, O> {
        self.spans = vec![DiskSpan { first: first.0, end: first.0 + self.here.disk.facts().sectors }];
        self
    }

    /// The same with another disk behind its own queue, which begins at this sector of the common space.
    ///
    /// # Panics
    /// If it overlaps another, or it was not said where the first one begins.
    pub fn with_disk(mut self, first: Sector, queue: BlockQueue<L>, disk: Box<dyn Disk>) -> World<L, O> {
        let span = DiskSpan { first: first.0, end: first.0 + disk.facts().sectors };
        assert!(!self.spans.is_empty(), "the first disk has no place");
        assert!(
            self.spans.iter().all(|other| span.is_apart(other)),
            "two disks at one place: {span:?}, {:?}",
            self.spans
        );
        let number = DiskNumber(self.spans.len() as u16);
        self.spans.push(span);
        self.elsewhere.push(Device::new(number, queue, disk));
        self
    }

    /// How many disks it has.
    pub fn disks(&self) -> u16 {
        self.elsewhere.len() as u16 + 1
    }

    /// Looks at a disk other than the first, too.
    ///
    /// # Panics
    /// If there is no such disk.
    pub fn at_disk<T>(&mut self, disk: DiskNumber, look: impl FnOnce(&mut World<L, O>) -> T) -> T {
        let home = self.turn_to(disk);
        let seen = look(self);
        self.turn_to(home);
        seen
    }

    /// Whether it has one disk only, and nothing stacked on it.
    #[inline(always)]
    pub(crate) fn is_lone(&self) -> bool {
        self.spans.is_empty()
    }

    /// Turns to this disk; returns the one that it turned away from.
    pub(super) fn turn_to(&mut self, disk: DiskNumber) -> DiskNumber {
        let home = self.here.number;
        if home != disk {
            let there = self.elsewhere.iter_mut().find(|device| device.number == disk);
            core::mem::swap(&mut self.here, there.unwrap_or_else(|| panic!("there is no {disk:?}")));
            self.tells(|| Happening::Turned { disk });
        }
        home
    }

    /// The disk of a sector of the common space.
    pub(super) fn disk_at(&self, sector: Sector) -> DiskNumber {
        let at = self.spans.iter().position(|span| span.has(sector));
        DiskNumber(at.unwrap_or(0) as u16)
    }

    /// A sector of the common space as its disk counts.
    #[inline]
    pub(super) fn on_disk(&self, sector: Sector) -> Sector {
        if let Some(first) = self.stack.as_ref().and_then(|stack| stack.first_of(sector)) {
            return Sector(sector.0 - first.0);
        }
        match self.spans.get(self.disk_at(sector).index()) {
            Some(span) => Sector(sector.0.saturating_sub(span.first)),
            None => sector,
        }
    }

    /// Turns to the disk of a bio, which is about to be given to its queue; returns where it turned away from, and the
    /// bio as that queue counts.
    #[inline]
    pub(super) fn turn_for(&mut self, bio: Bio) -> (DiskNumber, Bio) {
        if self.is_lone() {
            return (DiskNumber::FIRST, bio);
        }
        let home = self.turn_to(self.disk_at(bio.start));
        self.here.touched = true;
        // A flush is of a whole disk; its sector only says of which.
        let start = if bio.op == Op::Flush { Sector(0) } else { self.on_disk(bio.start) };
        (home, Bio { start, ..bio })
    }

    /// A flush of a process's own is of the disk that it used last.
    #[inline(never)]
    pub(super) fn address(&mut self, index: usize, bio: &mut Bio) {
        match bio.op {
            Op::Flush => bio.start = self.last_used[index].unwrap_or_else(|| self.first_place()),
            _ => {
                let above = self.stack.as_ref().and_then(|stack| stack.first_of(bio.start));
                self.last_used[index] = Some(above.unwrap_or_else(|| self.begins(self.disk_at(bio.start))));
            }
        }
    }

    fn begins(&self, disk: DiskNumber) -> Sector {
        self.spans[disk.index()].first()
    }

    /// Where a process's flush goes that has used no disk yet.
    fn first_place(&self) -> Sector {
        if self.stack.is_some() { Sector(0) } else { self.begins(DiskNumber::FIRST) }
    }

    /// Does something at every disk, each of which then runs its queue.
    pub(super) fn everywhere(&mut self, mut at: impl FnMut(&mut World<L, O>)) {
        if self.is_lone() {
            return at(self);
        }
        for number in 0..self.disks() {
            let home = self.turn_to(DiskNumber(number));
            self.here.touched = true;
            at(self);
            self.turn_to(home);
        }
    }

    /// The next event of any disk but this one.
    #[inline(never)]
    pub(super) fn elsewhere_upcoming(&self) -> Instant {
        let disks = self.elsewhere.iter().map(|device| device.upcoming()).min().unwrap_or(Instant::NEVER);
        self.stack.as_ref().map_or(disks, |stack| disks.min(stack.upcoming()))
    }

    /// Whether no disk has anything to do.
    pub(super) fn is_idle(&self) -> bool {
        self.stack.as_ref().is_none_or(|stack| stack.is_idle())
            && self.here.is_idle()
            && self.elsewhere.iter().all(|device| device.is_idle())
    }

    /// The first disk that was given something and has not run its queue since; it counts as run from now on.
    pub(super) fn take_touched(&mut self) -> Option<DiskNumber> {
        let all = self.elsewhere.iter_mut().chain([&mut self.here]);
        let first = all.filter(|device| device.touched).min_by_key(|device| device.number)?;
        first.touched = false;
        Some(first.number)
    }

    /// How many requests all disks have completed.
    pub fn completions(&self) -> u64 {
        self.here.completions + self.elsewhere.iter().map(|device| device.completions).sum::<u64>()
    }

    /// How many requests this disk has completed.
    pub fn completions_here(&self) -> u64 {
        self.here.completions
    }

    /// The time that completed requests have spent at the disk, summed over the requests.
    pub fn time_in_disk(&self) -> Span {
        self.here.in_disk
    }
}
