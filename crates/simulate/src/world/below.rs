//! The work of stacked devices' own tasks, where processors do it: dm-crypt's workers and thread, md's thread for
//! parity.
//!
//! **Rule** A device has as many workers as the host has processors, and a thread; each is a task that competes with
//! processes. One that is woken goes to the processor where it ran last, or the next idle one, else to where the fewest
//! wait; later an idle processor takes it from a busy one, piece by piece. Who sends a part on pays for the queue and
//! the driver below ([`CpuCosts::below`]) and for the scheduler there, once for each part: a process for its own in its
//! call, a thread for its own one by one, which is also when they go. A process encrypts in its call what no workqueue
//! does, and the interrupt that ends a read decrypts. Completions of a thread's requests are handled where it was.
//! **Left out** Waking a process whose bio dm-crypt completes below another stacked device. What a kernel thread sends
//! on behind a flush, and parity, take no time; the file system's and the flusher's bios neither (as without a device),
//! but their encryption does.

use blksched::{Bio, Listener, Sector, Span, SubmitterId};
use blksched_disks::stack::{Doer, Toil, ToilTask, Wish};

use super::flight::Owner;
use super::mail::Letter;
use super::stack::PartTurn;
use super::work::{CpuWork, Labour, submitting};
use super::{Observer, World};
use crate::cpu::{Cost, CpuCosts, Rank, SchedulerCosts};
use crate::disk_number::DiskNumber;

/// What a process does itself for a bio of a stacked device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inline {
    /// How many parts it submits.
    pub(super) parts: u32,
    /// How long it works on data.
    pub(super) works: Span,
}

impl Inline {
    /// Of a bio of a disk.
    pub(super) const OF_DISK: Inline = Inline { parts: 1, works: Span::ZERO };

    /// The cost of submitting it, and of the rest that falls due with it.
    pub(super) fn submitting(self, costs: &CpuCosts, (scheduler, call): (&SchedulerCosts, Span), rest: Cost) -> Cost {
        let Some(further) = self.parts.checked_sub(1) else {
            let above = Span::from_ns(call.as_ns().saturating_sub(costs.below().as_ns()));
            return Cost { open: above + self.works + rest.open, ..rest };
        };
        let one = submitting(costs, (scheduler, call), rest);
        let (more, times) = (sending(costs, scheduler), u64::from(further));
        Cost {
            locked: one.locked + more.locked * times,
            between: one.between + more.between * times,
            open: one.open + more.open * times + self.works,
            acquisitions: one.acquisitions + more.acquisitions * further,
            ..one
        }
    }
}

/// The cost of sending a part on, and of dispatching it.
fn sending(costs: &CpuCosts, scheduler: &SchedulerCosts) -> Cost {
    let SchedulerCosts { submit, open, acquisitions, .. } = *scheduler;
    Cost { locked: submit, between: open, open: costs.below(), acquisitions, ..Cost::default() }
}

/// A task of a device.
#[derive(Clone, Copy, Debug)]
struct BelowTask {
    /// Its number among the processors' tasks.
    number: u32,
    /// Where it runs, or ran last.
    cpu: u32,
}

/// Those of one device.
#[derive(Clone, Debug)]
struct OfVolume {
    submitter: SubmitterId,
    workers: Vec<BelowTask>,
    thread: BelowTask,
    /// Who encrypts for whom no process submits.
    others: BelowTask,
    /// What the thread does once it has the slot for which it sleeps.
    later: Option<Toil>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct BelowTasks {
    volumes: Vec<OfVolume>,
    /// The processor whose work has its effect now.
    pub(super) here: u32,
    /// Whose submission has its effect now: it has paid for what it does in the device.
    pub(super) paid: Option<SubmitterId>,
}

impl BelowTasks {
    /// Where the thread is that submits under this number.
    pub(super) fn cpu_of(&self, submitter: SubmitterId) -> Option<u32> {
        let volume = self.volumes.iter().find(|volume| volume.submitter == submitter)?;
        Some(volume.thread.cpu)
    }
}

impl Labour {
    fn add_volume(&mut self, submitter: SubmitterId) {
        let cpus = self.cores.len() as u32;
        let first = self.cores.add_tasks(cpus + 2);
        let task = |nth: u32| BelowTask { number: first + nth, cpu: nth % cpus };
        let workers = (0..cpus).map(task).collect();
        let (thread, others) = (task(cpus), task(cpus + 1));
        self.below.volumes.push(OfVolume { submitter, workers, thread, others, later: None });
    }

    /// Where a piece of a device's work is done.
    fn place_of(&mut self, nth: usize, toil: &Toil) -> (u32, Rank) {
        let volume = &mut self.below.volumes[nth];
        let task = match toil.doer {
            Doer::Here => return (self.below.here, Rank::Interrupt),
            Doer::Worker(worker) => &mut volume.workers[worker as usize],
            Doer::Thread => &mut volume.thread,
            Doer::Submitter(_) => &mut volume.others,
        };
        task.cpu = self.cores.for_task(task.cpu, toil.woken || matches!(toil.doer, Doer::Submitter(_)));
        (task.cpu, Rank::Task(task.number))
    }
}

impl<L: Listener, O: Observer> World<L, O> {
    /// Stacked devices' work is done by the processors from now on.
    pub(super) fn stack_works(&mut self) {
        let (Some(labour), Some(stack)) = (&mut self.labour, &mut self.stack) else { return };
        let switch = labour.costs.switch;
        for thread in stack.work_on_processors(switch) {
            labour.add_volume(thread);
        }
    }

    /// Whose submission has its effect now.
    #[inline]
    pub(super) fn pays(&mut self, submitter: Option<SubmitterId>) {
        if self.stack.is_some()
            && let Some(labour) = &mut self.labour
        {
            labour.below.paid = submitter;
        }
    }

    /// Sees to what a stacked device wants.
    pub(super) fn grant(&mut self, nth: usize) {
        while let Some(wish) = self.stack.as_mut().and_then(|stack| stack.wish(nth)) {
            match wish {
                Wish::Unplug => {
                    let thread = self.labour.as_ref().map(|labour| labour.below.volumes[nth].submitter);
                    thread.into_iter().for_each(|thread| self.unplug(thread));
                }
                Wish::Toil(toil) => self.toil_below(nth, toil),
            }
        }
    }

    /// A device's thread has the slot for which it slept.
    pub(super) fn thread_woke(&mut self, thread: SubmitterId) {
        let Some(labour) = &mut self.labour else { return };
        let later = labour.below.volumes.iter_mut().position(|volume| volume.submitter == thread);
        if let Some(nth) = later
            && let Some(toil) = labour.below.volumes[nth].later.take()
        {
            self.toil_below(nth, Toil { woken: true, ..toil });
        }
    }

    /// A piece of a device's work is done.
    pub(super) fn stack_worked(&mut self, volume: u16, task: ToilTask) {
        let turn = if matches!(task, ToilTask::Crypted { .. }) { PartTurn::Later } else { PartTurn::Own };
        self.pour(volume.into(), turn, |volume, now, _, out| volume.toiled(now, task, out));
    }

    fn toil_below(&mut self, nth: usize, toil: Toil) {
        let submits = toil.submits.map(|(member, sector)| self.disk_of_member(nth, member, sector));
        let wakes = toil.completes.is_some_and(|tag| self.sleeps(tag.0 as u32));
        let Some(labour) = &mut self.labour else { return };
        match toil.doer {
            Doer::Submitter(by) if labour.below.paid == Some(by) => {
                return self.pour(nth, PartTurn::Own, |volume, now, _, out| volume.toiled(now, toil.task, out));
            }
            Doer::Thread if self.stack.as_ref().is_some_and(|stack| stack.is_asleep(nth)) => {
                labour.below.volumes[nth].later = Some(toil);
                return;
            }
            _ => {}
        }
        let (cpu, rank) = labour.place_of(nth, &toil);
        let mut cost = match submits {
            Some(lock) => Cost { lock, ..sending(&labour.costs, &labour.schedulers[lock.index()]) },
            None => Cost::default(),
        };
        cost.open += toil.takes;
        if toil.woken {
            cost.open += labour.cores.switch_of(cpu as usize);
        }
        if wakes && rank != Rank::Interrupt {
            cost.open += labour.wakes[cpu as usize];
        }
        let work = CpuWork::Stacked { volume: nth as u16, task: toil.task };
        if let Some(done) = labour.cores.give(self.now, cpu as usize, rank, cost, work) {
            self.mail.post(done, Letter::Worked(cpu));
        }
    }

    /// Whether the process of this I/O sleeps.
    fn sleeps(&self, place: u32) -> bool {
        let (Owner::Source(source), Some(labour)) = (self.flights[place].owner, &self.labour) else { return false };
        let process = &labour.processes[source as usize];
        process.working == 0 && !process.polls
    }

    fn disk_of_member(&self, nth: usize, member: u32, sector: Sector) -> DiskNumber {
        let place = self.stack.as_ref().map_or(sector, |stack| stack.of_member(nth, member, sector));
        self.disk_below(place)
    }
}

impl super::stack::Stack {
    /// What whoever submits this bio does itself.
    pub(super) fn inline(&self, bio: &Bio) -> Inline {
        let Some((nth, start)) = self.entered(bio.start) else { return Inline::OF_DISK };
        let volume = self.volume(nth);
        let (parts, works) = volume.inline(&Bio { start, ..*bio });
        if parts == 0 {
            return Inline { parts, works };
        }
        let place = volume.map().place(start.0, 0);
        let (start, sectors) = (self.of_member(nth, place.member, Sector(place.sector)), bio.sectors.div_ceil(parts));
        let each = self.inline(&Bio { start, sectors, ..*bio });
        Inline { parts: parts * each.parts, works: works + each.works * u64::from(parts) }
    }
}
