//! Stacked devices in a world: places in the common space of sectors without a queue of their own. A bio that is
//! submitted there becomes bios of the members, which are disks or stacked devices in their turn.
//!
//! **Rule** A process's bios go to the members in its own name, one after the other: if one sleeps for a slot, those
//! behind it wait until it wakes, and the process with them. What goes on later (behind a flush, behind encryption)
//! sleeps in a kernel thread's place. A bio is complete at the moment at which its last part is, or once its data is
//! decrypted.
//! Where I/O costs processors, `below.rs` has the devices' own work done by them.
//! **Left out** The processor time of mapping; io.max of the stacked device itself: a limit is of each member.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Bio, Instant, Listener, Sector, Span, Submitted, SubmitterId, Tag};
use blksched_disks::stack::{Below, StackSpec, Volume, Wish};

use super::device::DiskSpan;
use super::mail::Letter;
use super::{Flight, Observer, Owner, World};
use crate::disk_number::DiskNumber;
use crate::story::{Happening, IoId};

/// A stacked device at its place.
struct Placed {
    span: DiskSpan,
    /// Where each member begins in the common space.
    members: Vec<Sector>,
    volume: Volume,
}

/// All of them.
#[derive(Default)]
pub(super) struct Stack {
    volumes: Vec<Placed>,
    threads: Vec<SubmitterId>,
    /// Who sleeps for a slot at a member, and what it submits when it wakes.
    asleep: BTreeMap<SubmitterId, VecDeque<Bio>>,
}

impl Stack {
    fn at(&self, sector: Sector) -> Option<usize> {
        self.volumes.iter().position(|placed| placed.span.has(sector))
    }

    /// Where the device at this sector begins, if it is a stacked one.
    pub(super) fn first_of(&self, sector: Sector) -> Option<Sector> {
        self.at(sector).map(|nth| self.volumes[nth].span.first())
    }

    /// The device at this sector, and the sector as that counts.
    pub(super) fn entered(&self, sector: Sector) -> Option<(usize, Sector)> {
        self.at(sector).map(|nth| (nth, Sector(sector.0 - self.volumes[nth].span.first().0)))
    }

    pub(super) fn volume(&self, nth: usize) -> &Volume {
        &self.volumes[nth].volume
    }

    /// A member's sector in the common space.
    pub(super) fn of_member(&self, nth: usize, member: u32, sector: Sector) -> Sector {
        Sector(self.volumes[nth].members[member as usize].0 + sector.0)
    }

    /// Lets processors do the devices' work; returns in whose names their threads submit.
    pub(super) fn work_on_processors(&mut self, switch: Span) -> Vec<SubmitterId> {
        self.volumes.iter_mut().for_each(|placed| placed.volume.work_on_processors(switch));
        self.threads.clone()
    }

    pub(super) fn wish(&mut self, nth: usize) -> Option<Wish> {
        self.volumes[nth].volume.wish()
    }

    /// Whether a device's thread sleeps for a slot.
    pub(super) fn is_asleep(&self, nth: usize) -> bool {
        self.asleep.contains_key(&self.threads[nth])
    }

    /// A sector of a disk below this one.
    pub(super) fn leaf(&self, mut sector: Sector) -> Sector {
        while let Some(nth) = self.at(sector) {
            let Placed { span, members, volume } = &self.volumes[nth];
            let place = volume.map().place(sector.0 - span.first().0, 0);
            sector = Sector(members[place.member as usize].0 + place.sector);
        }
        sector
    }

    /// When anything happens in one next, or never.
    pub(super) fn upcoming(&self) -> Instant {
        self.volumes.iter().filter_map(|placed| placed.volume.next()).min().unwrap_or(Instant::NEVER)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.volumes.iter().all(|placed| placed.volume.is_idle())
    }
}

/// When a part is submitted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartTurn {
    /// While its submitter submits, who says when its plug opens.
    Own,
    /// Later, by the kernel.
    Later,
}

impl<L: Listener, O: Observer> World<L, O> {
    /// The same with a stacked device at this sector of the common space, above members that begin at these and are as
    /// long \[512-byte sectors\]. Members come before what is above them.
    ///
    /// # Panics
    /// If it was not said where the first disk begins, or it overlaps a disk or another.
    pub fn with_volume(mut self, first: Sector, spec: &StackSpec, members: &[(Sector, u64)]) -> World<L, O> {
        assert!(!self.is_lone(), "the first disk has no place");
        let lengths: Vec<u64> = members.iter().map(|(_, sectors)| *sectors).collect();
        let span = DiskSpan::new(first, spec.above(&lengths).sectors());
        let others = self.stack.iter().flat_map(|stack| stack.volumes.iter().map(|placed| &placed.span));
        let is_apart = self.spans.iter().chain(others).all(|other| span.is_apart(other));
        assert!(is_apart, "two devices at one place: {span:?}");
        let processors = self.processors;
        let all_turn = members.iter().all(|(first, _)| self.turns(*first));
        let stack = self.stack.get_or_insert_default();
        // Behind the flusher and a file system's two, every other: those between are further devices' flushers.
        let thread = SubmitterId(self.host.flusher().0 + 3 + 2 * stack.volumes.len() as u32);
        let volume = Volume::new(spec, &lengths, processors, thread);
        let volume = if all_turn { volume } else { volume.with_solid_members() };
        stack.threads.push(thread);
        stack.volumes.push(Placed { span, members: members.iter().map(|(first, _)| *first).collect(), volume });
        self
    }

    /// Whether a stacked device is at this sector.
    pub(super) fn is_stacked(&self, sector: Sector) -> bool {
        self.stack.as_ref().is_some_and(|stack| stack.at(sector).is_some())
    }

    /// A bio enters the stacked device at its place. True if its submitter sleeps.
    pub(super) fn enter_stack(&mut self, bio: Bio) -> bool {
        let Some(nth) = self.stack.as_ref().and_then(|stack| stack.at(bio.start)) else { return false };
        self.pour(nth, PartTurn::Own, |volume, now, first, out| {
            let start = Sector(bio.start.0 - first.0);
            volume.enter(now, Bio { start, ..bio }, out);
        });
        let sleeps = self.stack.as_ref().is_some_and(|stack| stack.asleep.contains_key(&bio.submitter));
        if !sleeps {
            self.flights[bio.tag.0 as u32].accepted_at = Some(self.now);
        }
        sleeps
    }

    /// A part at this place is complete.
    pub(super) fn part_landed(&mut self, place: u32) {
        let Flight { owner, tag, failed, queued_at, issued_at, .. } = *self.flights.release(place);
        let (Owner::Part(nth), Some(stack)) = (owner, &self.stack) else { unreachable!("it is a part") };
        let whole = stack.volumes[nth as usize].volume.whole(tag).0 as u32;
        let flight = &mut self.flights[whole];
        (flight.queued_at, flight.issued_at) = (queued_at, issued_at);
        self.pour(nth as usize, PartTurn::Later, |volume, now, _, out| volume.done(now, tag, failed, out));
    }

    /// Does what stacked devices have to do now.
    pub(super) fn stack_moment(&mut self) {
        let volumes = self.stack.as_ref().map_or(0, |stack| stack.volumes.len());
        for nth in 0..volumes {
            self.pour(nth, PartTurn::Later, |volume, now, _, out| volume.elapse(now, out));
        }
    }

    /// A submission that slept at a member went through. True if its submitter sleeps on, or is no process.
    pub(super) fn stack_woke(&mut self, submitter: SubmitterId) -> bool {
        let Some(stack) = &mut self.stack else { return false };
        let is_thread = stack.threads.contains(&submitter);
        let Some(mut behind) = stack.asleep.remove(&submitter) else { return is_thread };
        while let Some(bio) = behind.pop_front() {
            self.lower(bio);
            let asleep = self.stack.as_mut().and_then(|stack| stack.asleep.get_mut(&submitter));
            if let Some(asleep) = asleep {
                asleep.append(&mut behind);
                self.unplug(submitter);
                return true;
            }
        }
        self.unplug(submitter);
        self.thread_woke(submitter);
        is_thread
    }

    /// Lets a stacked device do something, and does what it wants done.
    pub(super) fn pour(
        &mut self,
        nth: usize,
        turn: PartTurn,
        act: impl FnOnce(&mut Volume, Instant, Sector, &mut Vec<Below>),
    ) {
        let Some(stack) = &mut self.stack else { return };
        let (placed, mut out) = (&mut stack.volumes[nth], Vec::new());
        act(&mut placed.volume, self.now, placed.span.first(), &mut out);
        let mut submitters = Vec::new();
        for below in out {
            match below {
                Below::Submit { member, bio } => {
                    submitters.push(bio.submitter);
                    self.submit_part(nth, member, bio);
                }
                Below::Complete { tag, failed } => self.whole_done(tag, failed),
            }
        }
        if turn == PartTurn::Later {
            submitters.sort_unstable();
            submitters.dedup();
            submitters.into_iter().for_each(|submitter| self.unplug(submitter));
        }
        self.grant(nth);
    }

    fn submit_part(&mut self, nth: usize, member: u32, part: Bio) {
        let Some(stack) = &self.stack else { return };
        let Placed { members, volume, .. } = &stack.volumes[nth];
        let (whole, start) = (volume.whole(part.tag), Sector(members[member as usize].0 + part.start.0));
        let what = (part.op, start, u64::from(part.sectors) * 512);
        let flight = Flight::new(Owner::Part(nth as u16), part.tag, what, part.priority, self.now);
        let bio = Bio { tag: self.flights.insert(flight), start, ..part };
        self.tells(|| Happening::Parted { part: IoId(bio.tag.0), of: IoId(whole.0) });
        if self.is_stacked(start) {
            self.enter_stack(bio);
            return;
        }
        if let Some(index) = self.source_of(bio.submitter).filter(|&index| !self.properties[index].sleeps_for_slots) {
            return self.submit_offloaded(index, bio);
        }
        match self.stack.as_mut().and_then(|stack| stack.asleep.get_mut(&bio.submitter)) {
            Some(behind) => behind.push_back(bio),
            None => self.lower(bio),
        }
    }

    /// A bio enters a disk's queue.
    fn lower(&mut self, bio: Bio) {
        let (home, local) = self.turn_for(bio);
        if self.hand_in(local) == Submitted::Asleep
            && let Some(stack) = &mut self.stack
        {
            stack.asleep.entry(bio.submitter).or_default();
        }
        self.turn_to(home);
    }

    /// All parts of a bio are complete: its owner hears of it.
    fn whole_done(&mut self, tag: Tag, failed: bool) {
        let place = tag.0 as u32;
        let flight = &mut self.flights[place];
        flight.failed = failed;
        let at = match (flight.owner, &mut self.races) {
            (Owner::Source(source), Some(races)) => {
                let heard = &mut self.heard[source as usize];
                *heard = (*heard).max(self.now + races.lap(false).owner);
                *heard
            }
            _ => self.now,
        };
        self.mail.post(at, Letter::Done(place));
    }

    /// Whether the device here turns: of a stacked one, any disk below it, as such a device reports.
    fn turns(&mut self, first: Sector) -> bool {
        let stacked = self.stack.as_ref().and_then(|stack| Some(&stack.volumes[stack.at(first)?]));
        match stacked.map(|placed| placed.members.clone()) {
            Some(members) => members.into_iter().any(|member| self.turns(member)),
            None => {
                let disk = self.disk_at(first);
                self.at_disk(disk, |world| world.here.disk.facts().rotational)
            }
        }
    }

    /// What a submitter has submitted to disks goes on to them.
    pub(super) fn unplug(&mut self, submitter: SubmitterId) {
        let now = self.now;
        self.everywhere(|world| world.here.queue.waits(now, submitter));
    }

    /// The disk of this sector, or the one below it.
    pub(super) fn disk_below(&self, sector: Sector) -> DiskNumber {
        self.disk_at(self.stack.as_ref().map_or(sector, |stack| stack.leaf(sector)))
    }
}
