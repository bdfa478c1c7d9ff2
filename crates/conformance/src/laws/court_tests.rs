//! The queue's side of the contract is also checked: a queue that polls or is late is detected.

use blksched::author::merge::Merging;
use blksched::author::{Admits, Bound, Cx, Dispatch, Elevator, Grouped, Insert, Merges, RequestId, Run, Tuned, Wait};
use blksched::reasons::IdleFor;
use blksched::{Bio, BlockQueue, Instant, Next, QueueConfig, Sector, Span, SubmitterId};

use super::Violation;
use super::checker::{Bench, Checker};
use crate::driver::{RunObserver, Seen, Successor};

/// An elevator that holds everything for ever and has a timer every millisecond.
#[derive(Default)]
struct Ticker(Option<Instant>);

impl Elevator for Ticker {
    fn insert(&mut self, cx: &mut Cx<'_>, _rq: RequestId, _at: Insert) -> Run {
        self.0 = Some(cx.now + Span::from_ms(1));
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.0.map_or(Dispatch::Empty, |until| Dispatch::Idle { until, why: IdleFor::Company })
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        self.0.is_some()
    }

    fn deadline(&self) -> Option<Instant> {
        self.0
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.0 = Some(cx.now + Span::from_ms(1));
        Run::No
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, _victim: RequestId) {}

    fn requeue(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}
}

impl Merges for Ticker {
    fn merging(&self) -> Merging {
        Merging::NEVER
    }
}

impl Admits for Ticker {}
impl Grouped for Ticker {}
impl Tuned for Ticker {}

/// A wrapper of a watched elevator that reports a later deadline to the queue.
struct Late(Box<dyn Elevator>);

impl Elevator for Late {
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        self.0.insert(cx, rq, at)
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        self.0.dispatch(cx)
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.0.complete(cx, rq)
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline().map(|until| until + Span::from_us(1))
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.0.elapse(cx)
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        self.0.absorbed(cx, into, victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.0.requeue(cx, rq);
    }
}

impl Merges for Late {
    fn merging(&self) -> Merging {
        Merging::NEVER
    }
}

impl Admits for Late {}
impl Grouped for Late {}
impl Tuned for Late {}

fn checker() -> (Checker, Bench) {
    let wait = Wait::None("not looked at");
    Checker::new(Bound { reads: wait, writes: wait }, false, false)
}

fn ticker(bench: &Bench) -> Box<dyn Elevator> {
    bench.elevator(Successor::Fresh, &|| Box::new(Ticker::default()))
}

fn law(verdict: Result<(), Violation>) -> Option<&'static str> {
    verdict.err().map(|violation| violation.law)
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

#[test]
fn a_queue_that_asks_again_though_nothing_has_changed_is_found() {
    let (mut checker, bench) = checker();
    let mut queue = BlockQueue::new(QueueConfig::default(), ticker(&bench));
    for _ in 0..2 {
        assert_eq!(queue.next(ms(0)), Next::Empty);
        assert_eq!(law(checker.see(ms(0), &Seen::CallBegins)), None);
    }
    queue.run();
    let _ = queue.next(ms(0));
    assert_eq!(law(checker.see(ms(0), &Seen::CallBegins)), Some("the queue never polls"));
}

#[test]
fn a_queue_that_lets_a_deadline_elapse_late_or_not_at_all_is_found() {
    for calls_between in [false, true] {
        let (mut checker, bench) = checker();
        let mut queue = BlockQueue::new(QueueConfig::default(), Box::new(Late(ticker(&bench))));
        queue.submit(ms(0), Bio::read(1, SubmitterId(1), Sector(0), 8));
        assert_eq!(law(checker.see(ms(0), &Seen::CallBegins)), None);
        if calls_between {
            queue.submit(ms(1), Bio::read(2, SubmitterId(1), Sector(0), 8));
        } else {
            queue.elapse(ms(2));
        }
        assert_eq!(law(checker.see(ms(2), &Seen::CallBegins)), Some("deadlines elapse in time"));
    }
}

#[test]
fn a_queue_that_comes_in_time_is_lawful() {
    let (mut checker, bench) = checker();
    let mut queue = BlockQueue::new(QueueConfig::default(), ticker(&bench));
    queue.submit(ms(0), Bio::read(1, SubmitterId(1), Sector(0), 8));
    for at in [1, 1, 7, 9] {
        checker.see(ms(at), &Seen::CallBegins).unwrap();
        let _ = queue.next(ms(at));
    }
    assert_eq!(law(checker.see(ms(9), &Seen::CallBegins)), None);
}
