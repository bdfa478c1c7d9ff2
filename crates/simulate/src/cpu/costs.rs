//! The processor cost of one I/O.

use blksched::Span;

/// Processor time of the steps that an I/O takes through a kernel since blk-mq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCosts {
    /// The process: its own code and the system call, down to the driver, without a scheduler.
    pub submit: Span,
    /// The interrupt and the end of a request.
    pub interrupt: Span,
    /// The process takes one completion.
    pub reap: Span,
    /// A processor switches to a process that slept.
    pub switch: Span,
    /// A request without a plug under a scheduler is left to a worker (kblockd), which is woken for it.
    pub worker: Span,
    /// A lock, and what it guards, moves here from another processor.
    pub handover: Span,
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
    /// Looking for merges, inserting and choosing a request.
    pub submit: Span,
    /// Its end.
    pub complete: Span,
    /// How far the lock reaches.
    pub lock: LockScope,
    /// There is one at all.
    pub schedules: Schedules,
}

/// Whether requests are sent by the task that submits them, or through a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedules {
    /// `none`.
    #[default]
    No,
    /// Everything else.
    Yes,
}

/// Which tasks wait for which at a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockScope {
    /// No task for any other.
    #[default]
    None,
    /// Processors that share a hardware queue (Kyber keeps its queues per hardware queue).
    HardwareQueue,
    /// All of them (mq-deadline and BFQ have one lock for the disk).
    Disk,
}

impl CpuCosts {
    /// Of the scheduler of this name; `None`: none is known, and mq-deadline's stand for it.
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

    /// All of them, in words.
    pub fn rows(&self) -> [(&'static str, Span); 12] {
        [
            ("the process: its code, the system call, the driver", self.submit),
            ("the process: taking a completion", self.reap),
            ("switching to a process that slept", self.switch),
            ("the interrupt, and the end of the request", self.interrupt),
            ("a worker, where a scheduler gets a request without a plug", self.worker),
            ("what a lock guards, moved from another processor", self.handover),
            ("mq-deadline, to the device", self.mq_deadline.submit),
            ("mq-deadline, at the end", self.mq_deadline.complete),
            ("kyber, to the device", self.kyber.submit),
            ("kyber, at the end", self.kyber.complete),
            ("bfq, to the device", self.bfq.submit),
            ("bfq, at the end", self.bfq.complete),
        ]
    }

    /// The same, mq-deadline's if none is known.
    pub fn of(&self, scheduler: &str) -> SchedulerCosts {
        let known = self.known(scheduler).or_else(|| self.known("mq-deadline"));
        known.expect("mq-deadline's are known")
    }
}
