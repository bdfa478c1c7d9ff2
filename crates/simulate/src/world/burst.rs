//! A source's actions at one moment, emission by emission.

use blksched::author::Waiter;
use blksched::{Bio, Hints, Instant, Listener, Op, Submitted, Tag};
use blksched_workloads::host::{CallWork, HostCall};
use blksched_workloads::{Emission, LoneBurst, TakenIo, UNCOUNTED};

use super::work::CpuWork;
use super::{Observer, World};
use crate::story::{Begun, Happening};

impl<L: Listener, O: Observer> World<L, O> {
    /// Submits one burst of a source.
    pub(super) fn take_turn(&mut self, index: usize) {
        if let Some(labour) = &mut self.labour {
            labour.acts(index);
        }
        match self.sources[index].turn(self.now, &mut self.emissions) {
            Some(burst) => self.submit_lone(index, burst),
            None => self.carry_out(index),
        }
    }

    /// A burst of one bio, which is not in a list.
    #[inline]
    fn submit_lone(&mut self, index: usize, mut burst: LoneBurst) {
        if let Some(TakenIo { tag, accepted }) = burst.taken {
            self.taken(index, tag, accepted);
        }
        self.begin_bio(index, &mut burst.bio);
        let bio = &burst.bio;
        match self.enters_alone(index, bio) {
            LoneEntry::Stays => self.next_turn(index, burst.next),
            LoneEntry::Sleeps => self.set_wake(index),
            LoneEntry::NotAlone if self.labour.is_some() => {
                self.toil_for(index, bio, true);
                self.set_wake(index);
                if self.obey_host() {
                    self.run_queue();
                }
                return;
            }
            LoneEntry::NotAlone => {
                self.enter(index, *bio);
                self.obey_host();
                self.waits(index);
                self.set_wake(index);
            }
        }
        self.obey_host();
        self.run_queue();
    }

    /// A burst that the source has put into a list.
    fn carry_out(&mut self, index: usize) {
        let mut emissions = core::mem::take(&mut self.emissions);
        // A bio that a processor works for first enters the queue later, and the worker does not run earlier for it.
        let mut entered = self.labour.is_none();
        let mut nth = 0;
        while let Some(emission) = emissions.get(nth) {
            nth += 1;
            match *emission {
                Emission::Submit(ref bio) => {
                    let mut bio = *bio;
                    self.begin_bio(index, &mut bio);
                    let waits = matches!(emissions.get(nth), Some(Emission::Waits));
                    if waits && self.enters_alone(index, &bio) != LoneEntry::NotAlone {
                        (nth, entered) = (nth + 1, true);
                        continue;
                    }
                    if self.labour.is_none() {
                        self.enter(index, bio);
                        continue;
                    }
                    nth += usize::from(waits);
                    self.toil_for(index, &bio, waits);
                }
                Emission::Call(ref call) => {
                    entered = true;
                    let what = (call.op(), call.start(), call.bytes());
                    let call = HostCall { tag: self.begin_io(index, call.tag, what, call.priority), ..*call };
                    if !matches!(call.work, CallWork::Name(_)) {
                        self.tells(|| Happening::Began(Begun::call(&call)));
                    }
                    self.host.call(self.now, call);
                }
                Emission::Remember { ref file, memory } => {
                    self.host.remember(self.properties[index].submitter, file, memory);
                }
                Emission::Waits if self.works(index) => self.toil(CpuWork::Waits { source: index as u32 }),
                Emission::Waits => {
                    entered = true;
                    self.obey_host();
                    self.waits(index);
                }
                Emission::Taken { tag, accepted } => self.taken(index, tag, accepted),
                Emission::Tell { to, word } => self.pass_on(index, to, word),
                Emission::Exit if self.works(index) => self.toil(CpuWork::Exit { source: index as u32 }),
                Emission::Exit => {
                    entered = true;
                    self.exit(index);
                }
            }
        }
        emissions.clear();
        self.emissions = emissions;
        self.set_wake(index);
        if self.obey_host() || entered {
            self.run_queue();
        }
    }

    /// A source waits, having submitted all it wants: its plug opens, for whichever disks it submitted to.
    pub(super) fn waits(&mut self, index: usize) {
        let (now, submitter) = (self.now, self.properties[index].submitter);
        self.everywhere(|world| world.here.queue.waits(now, submitter));
    }

    /// Source number `source` takes a completion; of a call that was several I/Os, all of them.
    #[inline]
    fn taken(&mut self, source: usize, tag: Tag, accepted: Option<Instant>) {
        // Usually they are taken as they came, one at a time.
        if let Some((_, place)) = self.untaken[source].pop_front_if(|(other, _)| *other == tag) {
            self.record_taken(source, place, accepted);
        }
        if !self.untaken[source].is_empty() {
            self.take_others(source, tag, accepted);
        }
    }

    #[inline(never)]
    fn take_others(&mut self, source: usize, tag: Tag, accepted: Option<Instant>) {
        while let Some(at) = self.untaken[source].iter().position(|(other, _)| *other == tag)
            && let Some((_, place)) = self.untaken[source].remove(at)
        {
            self.record_taken(source, place, accepted);
        }
    }

    #[inline]
    fn record_taken(&mut self, source: usize, place: u32, accepted: Option<Instant>) {
        let mut done = self.flights.release(place).completion(self.properties[source].submitter);
        let at_once = if self.labour.is_some() { done.accepted_at } else { done.submitted_at };
        done.accepted_at = accepted.unwrap_or(at_once);
        if done.tag != UNCOUNTED {
            self.observer.completed(self.now, source, &done);
        }
    }

    /// Puts a source's own bio in flight, under the world's name for it.
    #[inline]
    fn begin_bio(&mut self, index: usize, bio: &mut Bio) {
        if !self.is_lone() {
            self.address(index, bio);
        }
        if self.direct_in_background {
            *bio = in_background(*bio);
        }
        let what = (bio.op, bio.start, u64::from(bio.sectors) * 512);
        bio.tag = self.begin_io(index, bio.tag, what, bio.priority);
        self.tells(|| Happening::Began(Begun::direct(bio)));
    }

    /// A burst of one bio enters the queue in one step, unless an observer wants to see it in two or something comes
    /// between.
    fn enters_alone(&mut self, index: usize, bio: &Bio) -> LoneEntry {
        let seen = self.observer.is_watching() || self.labour.is_some();
        let between = self.host.has_wishes() || self.host.concerns(bio);
        if seen || between || !self.properties[index].sleeps_for_slots || !self.is_lone() {
            return LoneEntry::NotAlone;
        }
        if self.here.queue.submit_alone(self.now, *bio) == Submitted::Asleep {
            self.fell_asleep(index, bio.submitter);
            return LoneEntry::Sleeps;
        }
        LoneEntry::Stays
    }
}

/// How the submission of a burst of one bio went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoneEntry {
    /// It has entered the queue in one step.
    Stays,
    /// It has entered the queue, and its submitter sleeps for a slot.
    Sleeps,
    /// It needs more than one step and has taken none.
    NotAlone,
}

/// The bio; if it is a write, not marked as synchronous.
fn in_background(bio: Bio) -> Bio {
    match bio.op {
        Op::Write => {
            let hints = Hints { req_sync: false, ..bio.hints };
            Bio { waiter: Waiter::Async, hints, ..bio }
        }
        _ => bio,
    }
}
