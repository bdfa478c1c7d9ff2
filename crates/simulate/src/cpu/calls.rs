//! What a process's own calls cost it, by its interface; and where completions are handled.

use blksched::Span;
use blksched_workloads::{CallInterface, CallWay};

use super::costs::CpuCosts;
use super::locks::hardware_queue;

/// Processor time of an interface's calls for one I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// To submit it, down to the driver.
    pub submit: Span,
    /// To reap it.
    pub reap: Span,
}

/// Processor time of io_uring's calls for one I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UringCosts {
    /// As usual.
    pub calls: CallCosts,
    /// What submitting takes less if the file is registered.
    pub registered: Span,
    /// What submitting takes less if the memory is registered.
    pub fixed: Span,
    /// With IOPOLL: to find one completion and to reap it, in place of the interrupt.
    pub poll: Span,
    /// With SQPOLL: what is left to the process when a thread submits.
    pub ring: Span,
}

/// Which processor handles a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletesOn {
    /// The submitter's. A drive with a queue for each processor interrupts there; how it comes there otherwise was not
    /// said, and costs nothing.
    #[default]
    Submitter,
    /// The submitter's, to the processor (`rq_affinity` 2): the one that is interrupted, if it is another, passes it
    /// on. This one is interrupted on a disk with one hardware queue.
    PassedOn(u32),
    /// The one that is interrupted (`rq_affinity` 0; and 1, as all processors here share a cache): this one for a disk
    /// with one hardware queue, otherwise the first of those that share the queue.
    Interrupted(u32),
}

/// Where the completions of a submitter are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completing {
    pub(crate) cpu: u32,
    /// Whether another processor is interrupted and passes it on.
    pub(crate) is_passed_on: bool,
}

impl CompletesOn {
    /// For a submitter on each of this many processors, on a disk with this many hardware queues.
    pub(crate) fn by_submitter(self, cpus: u32, hardware_queues: u32) -> Vec<Completing> {
        let queue = |cpu: u32| hardware_queue(cpu as usize, cpus as usize, hardware_queues.max(1) as usize);
        let first = |cpu: u32| (0..=cpu).find(|&other| queue(other) == queue(cpu)).unwrap_or(cpu);
        let interrupted = |one: u32, cpu| if hardware_queues <= 1 { one.min(cpus - 1) } else { first(cpu) };
        let on = |cpu: u32| match self {
            CompletesOn::Submitter => Completing { cpu, is_passed_on: false },
            CompletesOn::PassedOn(one) => Completing { cpu, is_passed_on: interrupted(one, cpu) != cpu },
            CompletesOn::Interrupted(one) => Completing { cpu: interrupted(one, cpu), is_passed_on: false },
        };
        (0..cpus).map(on).collect()
    }
}

impl UringCosts {
    /// The same on a processor on which everything takes as much as `of` says.
    pub(super) fn scaled(self, of: impl Fn(Span) -> Span) -> UringCosts {
        let UringCosts { calls, registered, fixed, poll, ring } = self;
        let calls = CallCosts { submit: of(calls.submit), reap: of(calls.reap) };
        UringCosts { calls, registered: of(registered), fixed: of(fixed), poll: of(poll), ring: of(ring) }
    }
}

impl CpuCosts {
    /// What this process's calls take.
    pub(crate) fn of_calls(&self, calls: CallWay) -> CallCosts {
        let usual = CallCosts { submit: self.submit, reap: self.reap };
        match (calls.interface, self.uring) {
            (CallInterface::Uring, Some(uring)) => {
                let on = |on: bool, span: Span| if on { span } else { Span::ZERO };
                let saved = on(calls.registered_files, uring.registered) + on(calls.fixed_buffers, uring.fixed);
                let submit = Span::from_ns(uring.calls.submit.as_ns().saturating_sub(saved.as_ns()));
                let reap = if calls.polls { uring.poll } else { uring.calls.reap };
                CallCosts { submit, reap: reap + on(calls.has_thread, uring.ring) }
            }
            (CallInterface::Sync, _) => self.sync.unwrap_or(usual),
            _ => usual,
        }
    }

    /// Their descriptions.
    pub(super) fn rows_of_calls(&self) -> Vec<(String, Span)> {
        let mut rows = Vec::new();
        let mut row = |what: &str, span: Span| rows.push((what.to_owned(), span));
        if let Some(UringCosts { calls, registered, fixed, poll, ring }) = self.uring {
            row("io_uring: its code, the system call, the driver", calls.submit);
            row("io_uring: taking a completion", calls.reap);
            row("… less, with a registered file", registered);
            row("… less, with registered memory", fixed);
            row("io_uring, IOPOLL: finding and taking a completion", poll);
            row("io_uring, SQPOLL: what is left to the process", ring);
        }
        if let Some(CallCosts { submit, reap }) = self.sync {
            row("a call for each I/O: down to the driver", submit);
            row("a call for each I/O: back", reap);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    #[test]
    fn what_is_registered_is_saved_and_what_was_not_measured_is_as_dear_as_the_rest() {
        let uring = UringCosts {
            calls: CallCosts { submit: us(5), reap: us(2) },
            registered: us(1),
            fixed: us(3),
            poll: us(7),
            ring: us(10),
        };
        let costs = CpuCosts { submit: us(20), reap: us(30), uring: Some(uring), ..CpuCosts::default() };
        let of = |calls: CallWay| {
            let CallCosts { submit, reap } = costs.of_calls(calls);
            (submit.as_ns() / 1000, reap.as_ns() / 1000)
        };
        let ring = CallWay { interface: CallInterface::Uring, ..CallWay::default() };
        assert_eq!(of(CallWay::default()), (20, 30));
        assert_eq!(of(CallWay { interface: CallInterface::Sync, ..ring }), (20, 30), "not measured");
        assert_eq!(of(ring), (5, 2));
        assert_eq!(of(CallWay { registered_files: true, fixed_buffers: true, ..ring }), (1, 2));
        assert_eq!(of(CallWay { polls: true, has_thread: true, ..ring }), (5, 17));
    }

    #[test]
    fn an_interrupt_comes_where_the_queue_has_it_and_is_passed_on_if_asked_for() {
        let on = |completes: CompletesOn, queues| -> [(u32, bool); 4] {
            let all = completes.by_submitter(4, queues);
            std::array::from_fn(|nth| (all[nth].cpu, all[nth].is_passed_on))
        };
        let here = |cpus: [u32; 4]| cpus.map(|cpu| (cpu, false));
        assert_eq!(on(CompletesOn::Submitter, 1), here([0, 1, 2, 3]));
        assert_eq!(on(CompletesOn::Interrupted(2), 1), here([2; 4]));
        assert_eq!(on(CompletesOn::Interrupted(9), 1), here([3; 4]), "there is no tenth");
        assert_eq!(on(CompletesOn::Interrupted(3), 2), here([0, 0, 2, 2]));
        assert_eq!(on(CompletesOn::Interrupted(3), 4), here([0, 1, 2, 3]));
        assert_eq!(on(CompletesOn::PassedOn(1), 1), [(0, true), (1, false), (2, true), (3, true)]);
        assert_eq!(on(CompletesOn::PassedOn(1), 2), [(0, false), (1, true), (2, false), (3, true)]);
        assert_eq!(on(CompletesOn::PassedOn(1), 4), here([0, 1, 2, 3]));
    }
}
