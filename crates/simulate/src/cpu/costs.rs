//! The processor cost of one I/O.

use blksched::Span;

/// Processor time of the steps that an I/O takes through a blk-mq kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCosts {
    /// The process's own code and the system call, down to the driver, without a scheduler.
    pub submit: Span,
    /// The interrupt and the completion of a request.
    pub interrupt: Span,
    /// The process reaps one completion.
    pub reap: Span,
    /// A processor switches to a process that slept.
    pub switch: Span,
    /// Under a scheduler, a request without a plug is left to a worker (kblockd), which has to be woken.
    pub worker: Span,
    /// A lock and the data that it guards move here from another processor.
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
    /// Looking for merges, and inserting and choosing a request.
    pub submit: Span,
    /// Completing a request.
    pub complete: Span,
    /// Which tasks the lock serialises.
    pub lock: LockScope,
    /// Whether there is a scheduler at all.
    pub schedules: Schedules,
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
        let of_scheduler =
            |costs: SchedulerCosts| SchedulerCosts { submit: of(costs.submit), complete: of(costs.complete), ..costs };
        CpuCosts {
            submit: of(self.submit),
            interrupt: of(self.interrupt),
            reap: of(self.reap),
            switch: of(self.switch),
            worker: of(self.worker),
            handover: of(self.handover),
            mq_deadline: of_scheduler(self.mq_deadline),
            kyber: of_scheduler(self.kyber),
            bfq: of_scheduler(self.bfq),
        }
    }

    /// All costs with their descriptions.
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

    /// The same, or mq-deadline's if they were not measured.
    pub fn of(&self, scheduler: &str) -> SchedulerCosts {
        let known = self.known(scheduler).or_else(|| self.known("mq-deadline"));
        known.expect("mq-deadline's are known")
    }
}

#[cfg(test)]
mod tests {
    use crate::cpu::CpuPreset;

    #[test]
    fn a_slower_processor_needs_longer_for_everything() {
        let usual = CpuPreset::usual().costs;
        let slower = usual.scaled(200);
        for ((name, before), (_, after)) in usual.rows().into_iter().zip(slower.rows()) {
            assert_eq!(after, before * 2, "{name}");
        }
        assert_eq!(usual.scaled(100), usual);
        assert_eq!(slower.bfq.lock, usual.bfq.lock);
    }
}
