//! A scheduler of the shape that a proposal for BPF gives to all: eight hooks, no timer, no "leave the disk idle".
//!
//! `hooks.rs` is that shape, `deadline.rs` a scheduler written in it, and this file lets any scheduler of that shape
//! run in our queue. README.md says which of ours would fit, and which would not.
//!
//! Try `cargo run --release --example eight_hooks -- compare --elevators none,mq-deadline,hooked-deadline`.

mod deadline;
mod hooks;

use std::process::ExitCode;

use blksched::author::merge::Merging;
use blksched::author::{
    Admits, Ahead, Bound, Cx, Dispatch, Elevator, Entry, Grouped, Home, Insert, Lookup, Merges, Preset, RequestId,
    Requests, Run, Tuned, Wait,
};
use blksched::reasons::End;
use blksched::{Bio, Kernel};

use deadline::HookedDeadline;
use hooks::{EightHooks, MergeBio, View};

/// Any scheduler with eight hooks, as an elevator.
struct Hooked<S: EightHooks>(S);

impl<S: EightHooks> Drop for Hooked<S> {
    fn drop(&mut self) {
        self.0.exit_sched();
    }
}

impl<S: EightHooks> Elevator for Hooked<S> {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.0.init_sched(cx.device().nr_requests, cx.device().rotational);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        self.0.insert_req(&View::new(&|rq| *cx.rq(rq)), rq, at == Insert::First);
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        match self.0.dispatch_req(&View::new(&|rq| *cx.rq(rq))) {
            Some(rq) => Dispatch::Issue(rq),
            None if self.0.has_req() => Dispatch::Wait,
            None => Dispatch::Empty,
        }
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.0.finish_req(&View::new(&|rq| *cx.rq(rq)), rq);
        Run::No
    }

    fn has_work(&self) -> bool {
        self.0.has_req()
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        self.0.merge_req(&View::new(&|rq| *cx.rq(rq)), into, victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.0.insert_req(&View::new(&|rq| *cx.rq(rq)), rq, true);
    }

    fn check(&self, requests: &Requests) {
        self.0.check(requests);
    }
}

impl<S: EightHooks> Merges for Hooked<S> {
    fn merging(&self) -> Merging {
        Merging::LINUX_6_1
    }

    /// The queue's own hash finds back merges; the hook is asked for front merges.
    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        match self.0.merge_bio(&View::new(&|rq| *cx.rq(rq)), bio) {
            MergeBio::Into(rq, End::Front) => Lookup::Front(rq),
            MergeBio::Into(_, End::Back) | MergeBio::No => Lookup::Nothing,
        }
    }

    /// The interface has no hook for a request that grew, so it is removed and inserted again.
    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let look = |rq| *cx.rq(rq);
            let view = View::new(&look);
            self.0.merge_req(&view, rq, rq);
            self.0.insert_req(&view, rq, false);
        }
    }
}

impl<S: EightHooks> Admits for Hooked<S> {}
impl<S: EightHooks> Grouped for Hooked<S> {}
impl<S: EightHooks> Tuned for Hooked<S> {}

/// Every batch begins with the oldest request of its direction, and few batches of one direction follow each other.
const WAIT: Wait = Wait::Bounded {
    ahead: Ahead::All,
    expire: None,
    batches: |_| 2 * deadline::STARVED as u64,
    batch: |_| deadline::BATCH as u64,
};

const HOOKED_DEADLINE: Entry = Entry {
    name: "hooked-deadline",
    summary: "reads before writes, each in sector order, writes after a few batches: in eight hooks",
    presets: &[Preset::of_no_kernel(Kernel::new(6, 18, 0), "an example; no kernel has it")],
    home: Home::OutOfTree,
    mechanisms: &[],
    knobs: &[],
    bound: |_| Bound { reads: WAIT, writes: WAIT },
    build: |_| Box::new(Hooked(HookedDeadline::default())),
};

fn main() -> ExitCode {
    blksched_cli::main_with(&[HOOKED_DEADLINE])
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_keeps_the_laws() {
        blksched_conformance::laws::check_entry(&super::HOOKED_DEADLINE).unwrap();
    }
}
