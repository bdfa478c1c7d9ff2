//! The processor cost of one I/O.

use blksched::Span;

use super::calls::{CallCosts, CompletesOn, UringCosts};

/// Processor time of the steps that an I/O takes through a blk-mq kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCosts {
    /// The process's own code and the system call, down to the driver, without a scheduler.
    pub submit: Span,
    /// The interrupt and the completion of a request.
    pub interrupt: Span,
    /// What an interrupt takes more on a processor to which another passes it on.
    pub pass_on: Span,
    /// The process reaps one completion.
    pub reap: Span,
    /// A processor switches to a process that slept.
    pub switch: Span,
    /// An interrupt wakes a process that slept.
    pub wake: Span,
    /// What waking takes longer for each doubling of the processes that share the processor.
    pub wake_doubling: Span,
    /// What switching takes longer for each doubling of the processes that share the processor: the more of them, the
    /// less of a process is left in its caches.
    pub switch_doubling: Span,
    /// Who runs first among the processes of one processor.
    pub turns: TaskOrder,
    /// Under a scheduler, a request without a plug is left to a worker (kblockd), which has to be woken.
    pub worker: Span,
    /// What a worker takes for each request that it dispatches, where it is a task of its own.
    pub worker_request: Span,
    /// Who dispatches a request that was not plugged.
    pub dispatch: DispatchIn,
    /// Which processor handles a completion.
    pub completes: CompletesOn,
    /// A lock and the data that it guards move here from another processor.
    pub handover: Span,
    /// What io_uring's calls take; `None` where they were not measured, and then they take what all others do.
    pub uring: Option<UringCosts>,
    /// What a call for each I/O takes (psync), likewise.
    pub sync: Option<CallCosts>,
    /// mq-deadline.
    pub mq_deadline: SchedulerCosts,
    /// Kyber.
    pub kyber: SchedulerCosts,
    /// BFQ.
    pub bfq: SchedulerCosts,
}

/// What a scheduler adds, inside its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCosts {
    /// Looking for merges, and inserting and choosing a request.
    pub submit: Span,
    /// Completing a request.
    pub complete: Span,
    /// On the way to the device, outside the lock: between one time in it and the next.
    pub open: Span,
    /// How often the lock is taken on the way to the device; each time for an even part of `submit`.
    pub acquisitions: u32,
    /// Which tasks the lock serialises.
    pub lock: LockScope,
    /// Whether there is a scheduler at all.
    pub schedules: Schedules,
}

/// Who runs first among the processes of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskOrder {
    /// The one whose work came first, piece by piece.
    #[default]
    Arrival,
    /// The one that has had the least of the processor, as Linux' fair class has it: a process runs until it sleeps or
    /// its slice is over, and interrupts that come meanwhile are charged to it.
    ConsumedTime(FairClass),
}

/// The fair class's times. The names are those of `/sys/kernel/debug/sched` until 6.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairClass {
    /// The time in which each runnable process has a slice (`latency_ns`); with more than eight of them, an eighth of
    /// it each.
    pub latency: Span,
    /// A process that wakes takes the processor from one that has had this much more (`wakeup_granularity_ns`).
    pub wakeup: Span,
}

/// Who dispatches a request that was not plugged, under a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchIn {
    /// A worker, whose time is charged to the submitter's processor request by request; the request is dispatched at
    /// once.
    #[default]
    Charged,
    /// The submitter itself: no worker costs anything. A patched kernel (ICPE'24) does so.
    Submitter,
    /// A worker that is a task of the submitter's processor: it is woken once, and dispatches all requests that have
    /// come until it runs.
    Worker,
}

impl DispatchIn {
    /// All of them, by their words.
    pub const WORDS: [(&'static str, DispatchIn); 3] =
        [("charged", DispatchIn::Charged), ("submitter", DispatchIn::Submitter), ("worker", DispatchIn::Worker)];

    /// Parses a word.
    ///
    /// # Errors
    /// The words that there are.
    pub fn parse(text: &str) -> Result<DispatchIn, String> {
        let found = DispatchIn::WORDS.into_iter().find(|(word, _)| *word == text).map(|(_, way)| way);
        found.ok_or_else(|| format!("`{text}` is not a value of dispatch: expected charged, submitter or worker"))
    }
}

/// Whether requests are sent by the task that submits them, or through a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedules {
    /// `none`.
    #[default]
    No,
    /// Any other.
    Yes,
}

/// Which tasks wait for each other at a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockScope {
    /// No task waits for another.
    #[default]
    None,
    /// Processors that share a hardware queue (Kyber keeps its queues per hardware queue).
    HardwareQueue,
    /// All of them (mq-deadline and BFQ have one lock for the disk).
    Disk,
}

impl CpuCosts {
    /// The costs of the scheduler of this name; `None` if they were not measured, in which case mq-deadline's are used.
    pub fn known(&self, scheduler: &str) -> Option<SchedulerCosts> {
        let of = |costs: SchedulerCosts| Some(SchedulerCosts { schedules: Schedules::Yes, ..costs });
        match scheduler {
            "none" => Some(SchedulerCosts::default()),
            "mq-deadline" => of(self.mq_deadline),
            "kyber" => of(self.kyber),
            "bfq" => of(self.bfq),
            _ => None,
        }
    }

    /// The same on a processor that needs this part of the time \[%\].
    pub fn scaled(self, percent: u64) -> CpuCosts {
        let of = |span: Span| span * percent / 100;
        let of_scheduler = |costs: SchedulerCosts| SchedulerCosts {
            submit: of(costs.submit),
            open: of(costs.open),
            complete: of(costs.complete),
            ..costs
        };
        CpuCosts {
            submit: of(self.submit),
            interrupt: of(self.interrupt),
            pass_on: of(self.pass_on),
            reap: of(self.reap),
            switch: of(self.switch),
            switch_doubling: of(self.switch_doubling),
            wake: of(self.wake),
            wake_doubling: of(self.wake_doubling),
            worker: of(self.worker),
            worker_request: of(self.worker_request),
            handover: of(self.handover),
            uring: self.uring.map(|uring| uring.scaled(of)),
            sync: self.sync.map(|CallCosts { submit, reap }| CallCosts { submit: of(submit), reap: of(reap) }),
            completes: self.completes,
            dispatch: self.dispatch,
            turns: self.turns,
            mq_deadline: of_scheduler(self.mq_deadline),
            kyber: of_scheduler(self.kyber),
            bfq: of_scheduler(self.bfq),
        }
    }

    /// All costs with their descriptions.
    pub fn rows(&self) -> Vec<(String, Span)> {
        let mut rows = vec![
            ("the process: its code, the system call, the driver".to_owned(), self.submit),
            ("the process: taking a completion".to_owned(), self.reap),
            ("switching to a process that slept".to_owned(), self.switch),
            ("… more for each doubling of the processes on a processor".to_owned(), self.switch_doubling),
            ("waking it, in the interrupt".to_owned(), self.wake),
            ("… more for each doubling of the processes on a processor".to_owned(), self.wake_doubling),
            ("the interrupt, and the end of the request".to_owned(), self.interrupt),
            ("… more where another processor passes it on".to_owned(), self.pass_on),
            ("a worker, where a scheduler gets a request without a plug".to_owned(), self.worker),
            ("… for each request, where it is a task of its own".to_owned(), self.worker_request),
            ("what a lock guards, moved from another processor".to_owned(), self.handover),
        ];
        rows.extend(self.rows_of_calls());
        for (name, costs) in [("mq-deadline", self.mq_deadline), ("kyber", self.kyber), ("bfq", self.bfq)] {
            rows.push((format!("{name}, to the device, in its lock"), costs.submit));
            rows.push((format!("{name}, to the device, outside"), costs.open));
            rows.push((format!("{name}, at the end, in its lock"), costs.complete));
        }
        rows
    }

    /// The part of [`CpuCosts::submit`] that is below a stacked device: the queue and the driver, which whoever sends
    /// the device's bios on pays, once for each. Half of it is ASSUMED: no load tells it apart.
    pub(crate) fn below(&self) -> Span {
        self.submit / 2
    }

    /// Switching to a process on a processor that this many share.
    pub(crate) fn switch_among(&self, processes: u32) -> Span {
        self.switch + by_doublings(self.switch_doubling, processes)
    }

    /// Waking a process on a processor that this many share.
    pub(crate) fn wake_among(&self, processes: u32) -> Span {
        self.wake + by_doublings(self.wake_doubling, processes)
    }

    /// The same, or mq-deadline's if they were not measured.
    pub fn of(&self, scheduler: &str) -> SchedulerCosts {
        let known = self.known(scheduler).or_else(|| self.known("mq-deadline"));
        known.expect("mq-deadline's are known")
    }
}

fn by_doublings(each: Span, processes: u32) -> Span {
    let doublings = f64::from(processes.max(1)).log2();
    Span::from_ns((each.as_ns() as f64 * doublings).round() as u64)
}

#[cfg(test)]
mod tests {
    use crate::cpu::CpuPreset;

    #[test]
    fn a_slower_processor_needs_longer_for_everything() {
        let mut usual = CpuPreset::builtin("icpe-10core").unwrap().costs;
        for zero in [
            &mut usual.worker,
            &mut usual.worker_request,
            &mut usual.pass_on,
            &mut usual.mq_deadline.complete,
            &mut usual.mq_deadline.open,
            &mut usual.kyber.complete,
            &mut usual.kyber.open,
        ] {
            *zero = (*zero).max(blksched::Span::from_us(1));
        }
        let slower = usual.scaled(200);
        for ((name, before), (_, after)) in usual.rows().into_iter().zip(slower.rows()) {
            assert!(after == before * 2 && !after.is_zero(), "{name}");
        }
        assert_eq!(usual.scaled(100), usual);
        assert_eq!(slower.bfq.lock, usual.bfq.lock);
    }
}
