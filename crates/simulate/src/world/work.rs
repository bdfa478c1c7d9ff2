//! What processors work for, carried out when they have: an I/O enters the queue once its process has worked for it, a
//! completion is one once its interrupt has been handled, and a process hears of it once it has run.

use blksched::author::RequestId;
use blksched::{Bio, Instant, Listener, Outcome, Span, SubmitterId};

use blksched_disks::stack::ToilTask;
use blksched_workloads::{CallInterface, CallWay};

use super::below::{BelowTasks, Inline};
use super::mail::Letter;
use super::{Observer, World};
use crate::cpu::{
    CallCosts, Completing, Cores, Cost, CpuCosts, CpuReport, DispatchIn, HostCpus, Rank, SchedulerCosts, Schedules,
    WorkProgress,
};
use crate::disk_number::DiskNumber;
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
    Complete { disk: DiskNumber, rq: RequestId, outcome: Outcome },
    /// A processor's worker runs the queue.
    Dispatch { cpu: u32 },
    /// It has dispatched so many requests of a disk.
    Dispatched { cpu: u32, disk: DiskNumber, requests: u32 },
    /// A stacked device's own.
    Stacked { volume: u16, task: ToilTask },
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
            CpuWork::Complete { .. }
            | CpuWork::Dispatch { .. }
            | CpuWork::Dispatched { .. }
            | CpuWork::Stacked { .. } => None,
        }
    }
}

/// The processors, and which task runs where.
#[derive(Clone, Debug)]
pub(super) struct Labour {
    pub(super) cores: Cores<CpuWork>,
    pub(super) costs: CpuCosts,
    /// Of each disk's scheduler, by its number.
    pub(super) schedulers: Vec<SchedulerCosts>,
    /// Of each source, by its number.
    pub(super) processes: Vec<WorkingProcess>,
    /// The number of the source of each submitter.
    sources: Vec<(SubmitterId, u32)>,
    /// Who issued each request in each disk, by the request's index: its processor handles the completion.
    owners: Vec<Vec<Issuer>>,
    /// What waking a process costs each processor.
    pub(super) wakes: Vec<Span>,
    /// Of each disk, the processor that handles completions for a submitter on each.
    completing: Vec<Vec<Completing>>,
    /// Submitted bios that have not reached the queue, by the world's name for them.
    bios: Vec<Bio>,
    /// Whether the worker of each processor has been called and has not run yet.
    called: Vec<bool>,
    /// Commands that the disk has got.
    started: u64,
    /// Stacked devices' tasks, if any work.
    pub(super) below: BelowTasks,
}

/// Who issued a request.
#[derive(Clone, Copy, Debug, Default)]
enum Issuer {
    /// A source, by its number.
    Source(u32),
    /// A stacked device's thread, which was on this processor.
    Thread(u32),
    /// Another task of the kernel, whose time is not counted.
    #[default]
    Kernel,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkingProcess {
    pub(super) cpu: u32,
    /// How much it still has to do before anything else.
    pub(super) working: u32,
    /// The number of bios since it last waited.
    burst: u32,
    /// It has submitted requests that a worker dispatches.
    leaves_to_worker: bool,
    /// The disk to which it submitted last.
    disk: DiskNumber,
    /// It has slept and an interrupt has woken it, but it has not acted yet.
    is_woken: bool,
    /// What its calls take.
    calls: CallCosts,
    /// It polls for its completions: nothing interrupts, and it does not sleep.
    pub(super) polls: bool,
    /// The processor of the thread that submits for it.
    thread: Option<u32>,
    /// What its next bio makes it do in a stacked device.
    inline: Option<Inline>,
}

/// A task that submits more than this many I/Os in one call plugs (docs/behaviour/blk-mq-6.x.md, P1).
const UNPLUGGED: u32 = 2;

impl Labour {
    /// `places` is the processor of each source, in the order of `submitters`, the sources' submitters.
    pub(super) fn new(
        cores: Cores<CpuWork>,
        (costs, scheduler, hardware_queues): (CpuCosts, SchedulerCosts, u32),
        places: &[u32],
        submitters: impl Iterator<Item = SubmitterId>,
    ) -> Labour {
        let mut sources: Vec<(SubmitterId, u32)> = submitters.zip(0..).collect();
        sources.sort();
        let calls = costs.of_calls(CallWay::default());
        let process = |&cpu: &u32| WorkingProcess { cpu, calls, ..WorkingProcess::default() };
        let sharing = |cpu: usize| places.iter().filter(|&&place| place as usize == cpu).count() as u32;
        let wakes = (0..cores.len()).map(|cpu| costs.wake_among(sharing(cpu))).collect();
        Labour {
            costs,
            schedulers: vec![scheduler],
            processes: places.iter().map(process).collect(),
            sources,
            owners: vec![Vec::new()],
            wakes,
            completing: vec![costs.completes.by_submitter(cores.len() as u32, hardware_queues)],
            bios: Vec::new(),
            called: vec![false; cores.len()],
            started: 0,
            below: BelowTasks::default(),
            cores,
        }
    }

    /// This source acts: it is awake.
    pub(super) fn acts(&mut self, source: usize) {
        self.processes[source].is_woken = false;
    }

    /// Whether this source still works.
    #[inline]
    pub(super) fn is_working(&self, source: usize) -> bool {
        self.processes[source].working > 0
    }

    /// The disk gets a request of this submitter, whose processor will handle its completion.
    pub(super) fn issued(&mut self, disk: DiskNumber, rq: RequestId, submitter: SubmitterId) {
        let at = self.sources.binary_search_by_key(&submitter, |&(id, _)| id);
        let owners = &mut self.owners[disk.index()];
        if rq.index() >= owners.len() {
            owners.resize(rq.index() + 1, Issuer::Kernel);
        }
        owners[rq.index()] = match at {
            Ok(at) => Issuer::Source(self.sources[at].1),
            Err(_) => self.below.cpu_of(submitter).map_or(Issuer::Kernel, Issuer::Thread),
        };
        self.started += 1;
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
            lock: self.cores.busiest_lock(),
        }
    }

    /// The processor, the urgency and the cost of the work.
    fn order(&mut self, work: &CpuWork) -> (usize, Rank, Cost) {
        let open = |open| Cost { open, ..Cost::default() };
        let costs = &self.costs;
        let worker_of = |cpu: u32| (cpu as usize, Rank::Task(self.processes.len() as u32 + cpu));
        let source = match *work {
            CpuWork::Complete { disk, rq, .. } => {
                let (cpu, interrupt) = self.wakes_owner(disk, rq);
                let (open, locked) = (interrupt, self.schedulers[disk.index()].complete);
                let cost = Cost { open, locked, lock: disk, ..Cost::default() };
                return (cpu, Rank::Interrupt, cost);
            }
            CpuWork::Dispatch { cpu } => {
                let (cpu, rank) = worker_of(cpu);
                return (cpu, rank, open(costs.worker));
            }
            CpuWork::Dispatched { cpu, disk, requests } => {
                let (cpu, rank) = worker_of(cpu);
                return (cpu, rank, self.dispatching(disk, requests));
            }
            _ => work.source().expect("all other work is a source's, or has its cost said"),
        };
        let process = &mut self.processes[source];
        // A process that was waiting needs a context switch.
        let sleeps = process.working == 0 && !process.polls;
        let switched = if sleeps { self.cores.switch_of(process.cpu as usize) } else { Span::ZERO };
        let lock = process.disk;
        let scheduler = &self.schedulers[lock.index()];
        let cost = match work {
            CpuWork::Submit { waits, .. } => {
                let inline = process.inline.take();
                process.burst += u32::from(inline.is_none_or(|inline| inline.parts > 0));
                let rest = if *waits { burst_ends(process, costs, scheduler) } else { Cost::default() };
                let call = process.calls.submit;
                match inline {
                    Some(inline) => inline.submitting(costs, (scheduler, call), rest),
                    None => submitting(costs, (scheduler, call), rest),
                }
            }
            CpuWork::Waits { .. } => burst_ends(process, costs, scheduler),
            CpuWork::Hear { .. } => open(switched + process.calls.reap),
            CpuWork::Wake { .. } => open(switched),
            _ => Cost::default(),
        };
        process.working += 1;
        match (work, process.thread) {
            (CpuWork::Submit { .. }, Some(cpu)) => {
                (cpu as usize, Rank::Task(self.processes.len() as u32 + cpu), Cost { lock, ..cost })
            }
            _ => (process.cpu as usize, Rank::Task(source as u32), Cost { lock, ..cost }),
        }
    }

    /// The processor that handles the completion of a request, and what that costs it: the interrupt, and waking its
    /// owner, if that sleeps. One that polls is not interrupted.
    fn wakes_owner(&mut self, disk: DiskNumber, rq: RequestId) -> (usize, Span) {
        let completing = &self.completing[disk.index()];
        let passing = |is_passed_on: bool| if is_passed_on { self.costs.pass_on } else { Span::ZERO };
        let owner = match self.owners[disk.index()][rq.index()] {
            Issuer::Source(owner) => owner,
            // It wakes the process whose bio is complete, or the thread itself.
            Issuer::Thread(cpu) => {
                let Completing { cpu, is_passed_on } = completing[cpu as usize];
                let woken = self.wakes[cpu as usize];
                return (cpu as usize, self.costs.interrupt + passing(is_passed_on) + woken);
            }
            Issuer::Kernel => return (completing[0].cpu as usize, self.costs.interrupt),
        };
        let process = &mut self.processes[owner as usize];
        if process.polls {
            return (process.cpu as usize, Span::ZERO);
        }
        let Completing { cpu, is_passed_on } = completing[process.cpu as usize];
        let cpu = cpu as usize;
        let passed = passing(is_passed_on);
        let sleeps = process.working == 0 && !core::mem::replace(&mut process.is_woken, true);
        (cpu, self.costs.interrupt + passed + if sleeps { self.wakes[cpu] } else { Span::ZERO })
    }

    /// What dispatching costs a worker, above being called.
    fn dispatching(&self, disk: DiskNumber, requests: u32) -> Cost {
        let locked = dispatching(&self.schedulers[disk.index()]);
        let (all, each) = (u64::from(requests), self.costs.worker_request);
        Cost { locked: locked * all, between: each * (all - 1), open: each, acquisitions: requests, lock: disk }
    }
}

/// The cost of submitting a bio, and of the rest that falls due with it. Where a worker is a task of its own, the last
/// acquisition of the lock is not the submission's.
pub(super) fn submitting(costs: &CpuCosts, (scheduler, call): (&SchedulerCosts, Span), rest: Cost) -> Cost {
    let SchedulerCosts { submit, open, acquisitions, .. } = *scheduler;
    let (locked, acquisitions) = match costs.dispatch {
        DispatchIn::Worker if acquisitions > 1 => (submit - dispatching(scheduler), acquisitions - 1),
        _ => (submit, acquisitions),
    };
    Cost {
        locked: locked + rest.locked,
        between: open,
        open: call + rest.open,
        acquisitions: acquisitions + rest.acquisitions,
        ..Cost::default()
    }
}

/// The part of a submission inside the lock that dispatching is, if it takes the lock anew.
fn dispatching(scheduler: &SchedulerCosts) -> Span {
    match scheduler.acquisitions {
        0 | 1 => Span::ZERO,
        acquisitions => scheduler.submit / u64::from(acquisitions),
    }
}

/// The burst is over: what was not plugged is left to a worker, and the process itself dispatches what was.
fn burst_ends(process: &mut WorkingProcess, costs: &CpuCosts, scheduler: &SchedulerCosts) -> Cost {
    let burst = core::mem::take(&mut process.burst);
    let is_plugged = burst > UNPLUGGED;
    let unplugged = if !is_plugged && scheduler.schedules == Schedules::Yes { burst } else { 0 };
    process.leaves_to_worker = unplugged > 0 && costs.dispatch == DispatchIn::Worker;
    match costs.dispatch {
        DispatchIn::Charged => Cost { open: costs.worker * u64::from(unplugged), ..Cost::default() },
        DispatchIn::Worker if is_plugged && scheduler.acquisitions > 1 => {
            Cost { locked: dispatching(scheduler) * u64::from(burst), acquisitions: burst, ..Cost::default() }
        }
        DispatchIn::Submitter | DispatchIn::Worker => Cost::default(),
    }
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
        let cores = Cores::new(cpus.cpus, (scheduler.lock, hardware_queues), &cpus.costs, places);
        let submitters = self.sources.iter().map(|source| source.submitter());
        let costs = (cpus.costs, scheduler, hardware_queues);
        self.labour = Some(Box::new(Labour::new(cores, costs, places, submitters)));
        self.stack_works();
        self
    }

    /// The same with what is known of each source, by its number: its calls, and its weight among the processes of its
    /// processor (`nice`).
    pub fn with_tasks(mut self, tasks: impl Iterator<Item = (CallWay, i8)>) -> World<L, O> {
        let Some(labour) = &mut self.labour else { return self };
        let cpus = labour.cores.len() as u32;
        for ((number, process), (calls, nice)) in labour.processes.iter_mut().enumerate().zip(tasks) {
            let beside = (process.cpu + 1) % cpus;
            process.calls = labour.costs.of_calls(calls);
            let knows = labour.costs.uring.is_some() && calls.interface == CallInterface::Uring;
            process.polls = knows && calls.polls;
            process.thread =
                (knows && calls.has_thread).then(|| calls.thread_cpu.filter(|cpu| *cpu < cpus).unwrap_or(beside));
            labour.cores.set_nice(number, nice);
        }
        self
    }

    /// The same with the costs of a further disk's scheduler, whose queue has this many hardware queues.
    pub fn with_scheduler_of_disk(mut self, scheduler: SchedulerCosts, hardware_queues: u32) -> World<L, O> {
        if let Some(labour) = &mut self.labour {
            labour.cores.add_locks(scheduler.lock, hardware_queues, &labour.costs);
            labour.schedulers.push(scheduler);
            labour.owners.push(Vec::new());
            let completes = labour.costs.completes;
            labour.completing.push(completes.by_submitter(labour.cores.len() as u32, hardware_queues));
        }
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
        let disk = if self.is_lone() { DiskNumber::FIRST } else { self.disk_below(bio.start) };
        let inline = self.stack.as_ref().map(|stack| stack.inline(bio));
        if let Some(labour) = &mut self.labour {
            labour.keep(bio);
            labour.processes[source].disk = disk;
            labour.processes[source].inline = inline;
        }
        self.toil(CpuWork::Submit { source: source as u32, place: bio.tag.0 as u32, waits });
    }

    /// Processor number `cpu` has finished a piece of work, whose effect happens now.
    pub(super) fn worked(&mut self, cpu: u32) {
        let labour = self.labour.as_mut().expect("somebody worked");
        labour.below.here = cpu;
        let (work, next) = match labour.cores.progress(self.now, cpu as usize) {
            WorkProgress::Part(end) => return self.mail.post(end, Letter::Worked(cpu)),
            WorkProgress::Done(work, next) => (work, next),
        };
        if let Some(source) = work.source() {
            labour.processes[source].working -= 1;
        }
        if let Some(done) = next {
            self.mail.post(done, Letter::Worked(cpu));
        }
        match work {
            CpuWork::Submit { source, place, waits } => {
                let (source, bio) = (source as usize, labour.bios[place as usize]);
                self.pays(Some(bio.submitter));
                self.tells(|| Happening::Reached { io: IoId(bio.tag.0) });
                self.enter(source, bio);
                self.pays(None);
                self.burst_over(source, waits);
            }
            CpuWork::Waits { source } => self.burst_over(source as usize, true),
            CpuWork::Exit { source } => self.exit(source as usize),
            CpuWork::Wake { source } => self.tell(source as usize, blksched_workloads::Delivered::Awake),
            CpuWork::Hear { place, .. } => self.end_io(place),
            CpuWork::Complete { disk, rq, outcome } => {
                let home = self.turn_to(disk);
                self.complete(rq, outcome);
                self.turn_to(home);
            }
            CpuWork::Dispatch { cpu } => self.dispatch(cpu),
            CpuWork::Dispatched { .. } => {}
            CpuWork::Stacked { volume, task } => self.stack_worked(volume, task),
        }
    }

    /// Everything of this moment has happened: processors that have finished their work begin the next.
    #[inline]
    pub(super) fn choose_tasks(&mut self) {
        while let Some((cpu, done)) = self.labour.as_mut().and_then(|labour| labour.cores.choose(self.now)) {
            if let Some(done) = done {
                self.mail.post(done, Letter::Worked(cpu));
            }
        }
    }

    /// A source's work is done, and with it its burst if it `waits`.
    fn burst_over(&mut self, source: usize, waits: bool) {
        if waits {
            self.obey_host();
            self.waits(source);
        }
        self.set_wake(source);
        self.obey_host();
        if self.leaves_to_worker(source) {
            self.hand_out_everywhere();
        } else {
            self.run_queue();
        }
    }

    /// Calls the worker of this source's processor if it has submitted anything that is left to it.
    fn leaves_to_worker(&mut self, source: usize) -> bool {
        let Some(labour) = &mut self.labour else { return false };
        let process = &mut labour.processes[source];
        let (leaves, cpu) = (core::mem::take(&mut process.leaves_to_worker), process.cpu);
        if leaves && !core::mem::replace(&mut labour.called[cpu as usize], true) {
            self.toil(CpuWork::Dispatch { cpu });
        }
        leaves
    }

    /// The worker of a processor runs the queue.
    fn dispatch(&mut self, cpu: u32) {
        self.labour.iter_mut().for_each(|labour| labour.called[cpu as usize] = false);
        if self.is_lone() {
            return self.dispatch_here(cpu);
        }
        while let Some(disk) = self.take_touched() {
            let home = self.turn_to(disk);
            self.dispatch_here(cpu);
            self.turn_to(home);
        }
    }

    /// The worker of a processor runs the queue that the world turns to.
    fn dispatch_here(&mut self, cpu: u32) {
        let started = |world: &World<L, O>| world.labour.as_ref().map_or(0, |labour| labour.started);
        let before = started(self);
        self.run_worker();
        let requests = (started(self) - before) as u32;
        if requests > 0 {
            self.toil(CpuWork::Dispatched { cpu, disk: self.here.number, requests });
        }
    }

    /// Tells the sources what every disk has for them.
    fn hand_out_everywhere(&mut self) {
        if self.is_lone() {
            return self.hand_out(None);
        }
        for disk in 0..self.disks() {
            let home = self.turn_to(DiskNumber(disk));
            self.hand_out(None);
            self.turn_to(home);
        }
    }

    /// What the processors have done so far, if I/O costs them anything.
    pub fn cpu_report(&self) -> Option<CpuReport> {
        self.labour.as_ref().map(|labour| labour.report(self.now))
    }
}
