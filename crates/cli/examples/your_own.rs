//! An elevator of your own, in one file: it passes the laws and has a whole command line.
//!
//! Try `cargo run --release --example your_own -- compare --elevators noop,deadline,nearest`.

use std::process::ExitCode;

use blksched::author::index::List;
use blksched::author::{
    Admits, Bound, Cx, Dispatch, Elevator, Entry, Grouped, Home, Insert, Merges, Preset, Request, RequestId, Run,
    Tuned, Wait,
};
use blksched::{Kernel, Sector};

/// Always chooses the queued request nearest to the last one: the disk's arm moves least, and distant requests may
/// starve.
#[derive(Default)]
struct Nearest {
    queued: List,
    arm: Sector,
}

impl Elevator for Nearest {
    fn insert(&mut self, _cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.queued.push_back(rq);
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        let nearest = self.queued.iter().min_by_key(|&rq| cx.rq(rq).start.distance(self.arm));
        let Some(rq) = nearest else { return Dispatch::Empty };
        self.queued.remove(rq);
        self.arm = Request::end(cx.rq(rq));
        Dispatch::Issue(rq)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.queued.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.queued.remove(victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.queued.push_front(rq);
    }
}

// The default: 6.1's merges, any number of requests, no groups, no knobs.
impl Merges for Nearest {}
impl Admits for Nearest {}
impl Grouped for Nearest {}
impl Tuned for Nearest {}

const NEAREST: Entry = Entry {
    name: "nearest",
    summary: "always the nearest request; somebody far away may starve",
    presets: &[Preset::of_no_kernel(Kernel::new(6, 1, 0), "an example; no kernel has it")],
    home: Home::Mainline,
    mechanisms: &[],
    knobs: &[],
    bound: |_| Bound { reads: Wait::None("a nearer request may always come"), writes: Wait::None("the same") },
    build: |_| Box::<Nearest>::default(),
};

fn main() -> ExitCode {
    blksched_cli::main_with(&[NEAREST])
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_keeps_the_laws() {
        blksched_conformance::laws::check_entry(&super::NEAREST).unwrap();
    }
}
