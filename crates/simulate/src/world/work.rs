//! What processors work for, carried out when they have: an I/O enters the queue once its process has worked for it, a
//! completion is one once its interrupt has been handled, and a process hears of it once it has run.

use blksched::author::RequestId;
use blksched::{Bio, Instant, Listener, Outcome, Span, SubmitterId};

use super::mail::Letter;
use super::{Observer, World};
use crate::cpu::{Cores, Cost, CpuCosts, CpuReport, HostCpus, Rank, SchedulerCosts, Schedules};
use crate::story::{Happening, IoId};

/// What a processor does.
#[derive(Clone, Copy, Debug)]
pub(super) enum CpuWork {
    /// A source submits the bio at this place; its burst may end with it.
    Submit { source: u32, place: u32, waits: bool },
    /// A source's burst is over.
    Waits { source: u32 },
    /// A source exits.
    Exit { source: u32 },
    /// A source whose submission slept runs again.
    Wake { source: u32 },
    /// A source is told of its I/O.
    Hear { source: u32, place: u32 },
    /// The disk is done with a request.
    Complete { rq: RequestId, outcome: Outcome },
}

impl CpuWork {
    /// The source that the work belongs to.
    fn source(&self) -> Option<usize> {
        match *self {
            CpuWork::Submit { source, .. }
            | CpuWork::Waits { source }
            | CpuWork::Exit { source }
            | CpuWork::Wake { source }
            | CpuWork::Hear { source, .. } => Some(source as usize),
            CpuWork::Complete { .. } => None,
        }
    }
}

/// The processors, and which task runs where.
#[derive(Clone, Debug)]
pub(super) struct Labour {
    cores: Cores<CpuWork>,
    costs: CpuCosts,
    scheduler: SchedulerCosts,
    /// Of each source, by its number.
    processes: Vec<WorkingProcess>,
    /// The processor of each submitter.
    places: Vec<(SubmitterId, u32)>,
    /// The processor that handles the completion of each request in the device, by its index.
    interrupts: Vec<u32>,
    /// Submitted bios that have not reached the queue, by the world's name for them.
    bios: Vec<Bio>,
}

#[derive(Clone, Copy, Debug)]
struct WorkingProcess {
    cpu: u32,
    /// How much it still has to do before anything else.
    working: u32,
    /// The number of bios since it last waited.
    burst: u32,
}

/// A task that submits more than this many I/Os in one call plugs (docs/behaviour/blk-mq-6.x.md, P1).
const UNPLUGGED: u32 = 2;

impl Labour {
    /// `places` is the processor of each source, in the order of `submitters`, the sources' submitters.
    pub(super) fn new(
        cores: Cores<CpuWork>,
        (costs, scheduler): (CpuCosts, SchedulerCosts),
        places: &[u32],
        submitters: impl Iterator<Item = SubmitterId>,
    ) -> Labour {
        let mut by_submitter: Vec<(SubmitterId, u32)> = submitters.zip(places.iter().copied()).collect();
        by_submitter.sort();
        let processes = places.iter().map(|&cpu| WorkingProcess { cpu, working: 0, burst: 0 }).collect();
        Labour { cores, costs, scheduler, processes, places: by_submitter, interrupts: Vec::new(), bios: Vec::new() }
    }

    /// Whether this source still works.
    #[inline]
    pub(super) fn is_working(&self, source: usize) -> bool {
        self.processes[source].working > 0
    }

    /// The disk gets a request of this submitter, whose processor will handle its completion.
    pub(super) fn issued(&mut self, rq: RequestId, submitter: SubmitterId) {
        let at = self.places.binary_search_by_key(&submitter, |&(id, _)| id);
        let cpu = at.map_or(0, |at| self.places[at].1);
        if rq.index() >= self.interrupts.len() {
            self.interrupts.resize(rq.index() + 1, 0);
        }
        self.interrupts[rq.index()] = cpu;
    }

    /// How much longer the owner of an I/O needs until it asks for a slot again: a task that loses the race for a
    /// processor waits for that, too.
    pub(super) fn until_it_asks(&self) -> Span {
        self.costs.switch + self.costs.reap + self.costs.submit
    }

    /// Keeps a bio until its process has worked for it.
    fn keep(&mut self, bio: &Bio) {
        let place = bio.tag.0 as usize;
        if place >= self.bios.len() {
            self.bios.resize(place + 1, *bio);
        }
        self.bios[place] = *bio;
    }

    pub(super) fn report(&self, now: Instant) -> CpuReport {
        let each = || self.cores.worked(now);
        CpuReport {
            cpus: self.cores.len() as u32,
            busy: each().fold(Span::ZERO, |sum, span| sum + span),
            busiest: each().max().unwrap_or(Span::ZERO),
            spun: self.cores.spun(),
        }
    }

    /// The processor, the urgency and the cost of the work.
    fn order(&mut self, work: &CpuWork) -> (usize, Rank, Cost) {
        let open = |open| Cost { open, ..Cost::default() };
        let costs = &self.costs;
        if let CpuWork::Complete { rq, .. } = *work {
            let cost = Cost { open: costs.interrupt, locked: self.scheduler.complete };
            return (self.interrupts[rq.index()] as usize, Rank::Interrupt, cost);
        }
        let process = &mut self.processes[work.source().expect("all other work is a source's")];
        // A process that was waiting needs a context switch.
        let switched = if process.working == 0 { costs.switch } else { Span::ZERO };
        let cost = match work {
            CpuWork::Submit { waits, .. } => {
                process.burst += 1;
                let worker = if *waits { workers(process, costs, &self.scheduler) } else { Span::ZERO };
                Cost { open: costs.submit + worker, locked: self.scheduler.submit }
            }
            CpuWork::Waits { .. } => open(workers(process, costs, &self.scheduler)),
            CpuWork::Hear { .. } => open(switched + costs.reap),
            CpuWork::Wake { .. } => open(switched),
            CpuWork::Exit { .. } | CpuWork::Complete { .. } => Cost::default(),
        };
        process.working += 1;
        (process.cpu as usize, Rank::Process, cost)
    }
}

/// The burst is over: the cost of a worker for what was not plugged.
fn workers(process: &mut WorkingProcess, costs: &CpuCosts, scheduler: &SchedulerCosts) -> Span {
    let burst = core::mem::take(&mut process.burst);
    let unplugged = if burst <= UNPLUGGED && scheduler.schedules == Schedules::Yes { burst } else { 0 };
    Span::from_ns(costs.worker.as_ns() * u64::from(unplugged))
}

impl<L: Listener, O: Observer> World<L, O> {
    /// The same on processors whose time I/O costs: for each source by its number the processor that it runs on, the
    /// scheduler's costs, and the number of the disk's hardware queues. Needs races.
    pub fn with_cpus(
        mut self,
        cpus: &HostCpus,
        scheduler: SchedulerCosts,
        hardware_queues: u32,
        places: &[u32],
    ) -> World<L, O> {
        let cores = Cores::new(cpus.cpus, scheduler.lock, hardware_queues, cpus.costs.handover);
        let submitters = self.sources.iter().map(|source| source.submitter());
        self.labour = Some(Box::new(Labour::new(cores, (cpus.costs, scheduler), places, submitters)));
        self
    }

    /// Whether this source has to work before its next call.
    pub(super) fn works(&self, index: usize) -> bool {
        self.labour.as_ref().is_some_and(|labour| labour.is_working(index))
    }

    /// A source's bio reaches the queue, bypassing the host's memory.
    pub(super) fn enter(&mut self, index: usize, bio: Bio) {
        match self.host.concerns(&bio) {
            true => self.host.bypass(self.now, bio),
            false => self.submit(index, bio),
        }
    }

    /// Sets when a source is called next: not before it has finished its work.
    pub(super) fn set_wake(&mut self, source: usize) {
        self.next_turn(source, self.sources[source].next());
    }

    /// Updates the entry of a source that has just returned its next moment.
    #[inline]
    pub(super) fn next_turn(&mut self, source: usize, next: Option<Instant>) {
        self.wakes.set(source, if self.works(source) { None } else { next });
    }

    /// Gives work to a processor.
    pub(super) fn toil(&mut self, work: CpuWork) {
        let labour = self.labour.as_mut().expect("somebody works");
        let (cpu, rank, cost) = labour.order(&work);
        if let Some(done) = labour.cores.give(self.now, cpu, rank, cost, work) {
            self.mail.post(done, Letter::Worked(cpu as u32));
        }
    }

    /// Works for a source's bio; its burst may end with it.
    pub(super) fn toil_for(&mut self, source: usize, bio: &Bio, waits: bool) {
        self.labour.iter_mut().for_each(|labour| labour.keep(bio));
        self.toil(CpuWork::Submit { source: source as u32, place: bio.tag.0 as u32, waits });
    }

    /// Processor number `cpu` has finished a piece of work, whose effect happens now.
    pub(super) fn worked(&mut self, cpu: u32) {
        let labour = self.labour.as_mut().expect("somebody worked");
        let (work, next) = labour.cores.done(self.now, cpu as usize);
        if let Some(source) = work.source() {
            labour.processes[source].working -= 1;
        }
        if let Some(done) = next {
            self.mail.post(done, Letter::Worked(cpu));
        }
        match work {
            CpuWork::Submit { source, place, waits } => {
                let (source, bio) = (source as usize, labour.bios[place as usize]);
                self.tells(|| Happening::Reached { io: IoId(bio.tag.0) });
                self.enter(source, bio);
                self.burst_over(source, waits);
            }
            CpuWork::Waits { source } => self.burst_over(source as usize, true),
            CpuWork::Exit { source } => self.exit(source as usize),
            CpuWork::Wake { source } => self.tell(source as usize, blksched_workloads::Delivered::Awake),
            CpuWork::Hear { place, .. } => self.end_io(place),
            CpuWork::Complete { rq, outcome } => self.complete(rq, outcome),
        }
    }

    /// A source's work is done, and with it its burst if it `waits`.
    fn burst_over(&mut self, source: usize, waits: bool) {
        if waits {
            self.obey_host();
            self.queue.waits(self.now, self.properties[source].submitter);
        }
        self.set_wake(source);
        self.obey_host();
        self.run_queue();
    }

    /// What the processors have done so far, if I/O costs them anything.
    pub fn cpu_report(&self) -> Option<CpuReport> {
        self.labour.as_ref().map(|labour| labour.report(self.now))
    }
}
