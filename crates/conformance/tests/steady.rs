//! No elevator allocates in steady state.

use blksched::Catalogue;
use blksched::author::merge::Merging;
use blksched::author::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, RequestId, Run, Tuned};
use blksched_conformance::laws::check_steady;
use std::collections::VecDeque;

fn count(work: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn no_elevator_of_the_catalogue_allocates_in_steady_state() {
    let catalogue = Catalogue::builtin();
    let tree = "deadline@2.5.45+order=tree".to_owned();
    let groups = "cfq@4.20+groups".to_owned();
    for name in catalogue.eras().into_iter().chain([tree, groups]) {
        let make = || -> Box<dyn Elevator> { catalogue.build(&name).unwrap().elevator };
        assert_eq!(check_steady(&make, &count), Ok(()), "{name}");
    }
}

/// A FIFO that allocates a box for each request.
#[derive(Default)]
struct Boxed(VecDeque<Box<RequestId>>);

impl Elevator for Boxed {
    fn insert(&mut self, _cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.0.push_back(Box::new(rq));
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.0.pop_front().map_or(Dispatch::Empty, |rq| Dispatch::Issue(*rq))
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.0.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.0.retain(|rq| **rq != victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.0.push_front(Box::new(rq));
    }
}

impl Merges for Boxed {
    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }
}

impl Admits for Boxed {}
impl Grouped for Boxed {}
impl Tuned for Boxed {}

#[test]
fn an_elevator_that_allocates_for_each_request_is_found() {
    let make = || -> Box<dyn Elevator> { Box::new(Boxed::default()) };
    assert_eq!(check_steady(&make, &count).unwrap_err().law, "no allocation in steady state");
}
