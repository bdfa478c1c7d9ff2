//! Carries out the requests of the host's memory: its bios go to the queue, its calls return to their sources.

use blksched::{Bio, Listener, Submitted, SubmitterId};
use blksched_workloads::Delivered;
use blksched_workloads::host::Wish;

use super::work::CpuWork;
use super::{Flight, Observer, Owner, World};
use crate::story::{Begun, Happening};

impl<L: Listener, O: Observer> World<L, O> {
    /// Does what the host wants done, usually nothing. True if the queue was given anything.
    #[inline(always)]
    pub(super) fn obey_host(&mut self) -> bool {
        self.host.has_wishes() && self.carry_out_wishes()
    }

    #[inline(never)]
    fn carry_out_wishes(&mut self) -> bool {
        let (now, mut any) = (self.now, false);
        while let Some(wish) = self.host.wish(self.now) {
            any |= !matches!(wish, Wish::Return { .. } | Wish::Landed(_) | Wish::WaitedForMemory(_));
            match wish {
                Wish::Submit(bio) => self.submit_for_host(bio),
                Wish::Waits(submitter) => self.everywhere(|world| world.here.queue.waits(now, submitter)),
                Wish::WaitedForMemory(_) => self.everywhere(|world| world.here.queue.waited_for_memory(now)),
                Wish::GoOn(bio) => {
                    let Owner::Source(index) = self.flights[bio.tag.0 as u32].owner else {
                        unreachable!("the host bypasses sources' bios only")
                    };
                    self.submit(index as usize, bio);
                }
                Wish::Landed(bio) => self.end_io(bio.tag.0 as u32),
                Wish::Return { tag, failed, issued_at, .. } => {
                    let flight = &mut self.flights[tag.0 as u32];
                    // Nothing delayed it before its first transfer, so it was queued from the beginning.
                    flight.queued_at = flight.submitted_at;
                    flight.issued_at = issued_at.unwrap_or(self.now).max(flight.submitted_at);
                    flight.failed = failed;
                    self.end_io(tag.0 as u32);
                }
            }
        }
        any
    }

    /// Submits a source's own bio.
    pub(super) fn submit(&mut self, index: usize, bio: Bio) {
        if !self.properties[index].sleeps_for_slots && !self.is_stacked(bio.start) {
            return self.submit_offloaded(index, bio);
        }
        if self.is_stacked(bio.start) {
            if self.enter_stack(bio) {
                self.fell_asleep(index, bio.submitter);
            }
            return;
        }
        let (home, bio) = self.turn_for(bio);
        if self.hand_in(bio) == Submitted::Asleep {
            self.fell_asleep(index, bio.submitter);
        }
        self.turn_to(home);
    }

    /// A source's own bio found no slot.
    pub(super) fn fell_asleep(&mut self, index: usize, submitter: SubmitterId) {
        self.host.fell_asleep(submitter);
        self.asleep[index] = true;
        self.sources[index].asleep();
    }

    fn submit_for_host(&mut self, bio: Bio) {
        let bytes = u64::from(bio.sectors) * 512;
        let flight = Flight::new(Owner::Host, bio.tag, (bio.op, bio.start, bytes), bio.priority, self.now);
        let tag = self.flights.insert(flight);
        let bio = Bio { tag, ..bio };
        self.tells(|| Happening::Began(Begun::transfer(&bio)));
        if self.is_stacked(bio.start) {
            if self.enter_stack(bio) {
                self.host.fell_asleep(bio.submitter);
            }
            return;
        }
        let (home, bio) = self.turn_for(bio);
        if self.hand_in(bio) == Submitted::Asleep {
            self.host_fell_asleep(bio.submitter);
        }
        self.turn_to(home);
    }

    /// This submitter's submission, which slept, went through.
    pub(super) fn wake(&mut self, submitter: SubmitterId) {
        if self.stack_woke(submitter) {
            return;
        }
        let source = self.source_of(submitter);
        if let Some(index) = source.filter(|&index| !self.properties[index].sleeps_for_slots) {
            return self.offloaded_woke(index, submitter);
        }
        self.host.woke(self.now, submitter);
        let Some(index) = source else { return };
        if core::mem::take(&mut self.asleep[index]) {
            match self.labour {
                Some(_) => self.toil(CpuWork::Wake { source: index as u32 }),
                None => self.tell(index, Delivered::Awake),
            }
        }
    }
}
