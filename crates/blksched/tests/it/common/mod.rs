//! Helpers of the queue's tests: queues that record every reason, and an elevator that counts its calls.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use blksched::author::merge::Merging;
use blksched::author::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, RequestId, Run, Tuned};
use blksched::{
    BlockQueue, Catalogue, Delivery, InFlight, Instant, Next, Outcome, QueueConfig, Reason, Span, SubmitterId,
};
use std::collections::VecDeque;

/// A queue and its recorded reasons.
pub type Queue = BlockQueue<Vec<(Instant, Reason)>>;

/// One submitter.
pub const A: SubmitterId = SubmitterId(1);
/// Another submitter.
pub const B: SubmitterId = SubmitterId(2);

/// This many milliseconds after the start.
pub fn ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

/// A queue with an elevator of the catalogue.
pub fn queue(elevator: &str, config: QueueConfig) -> Queue {
    BlockQueue::with_listener(config, Catalogue::builtin().build(elevator).unwrap().elevator, Vec::new())
}

/// The reasons since the last call.
pub fn said(queue: &mut Queue) -> Vec<Reason> {
    std::mem::take(queue.listener_mut()).into_iter().map(|(_, reason)| reason).collect()
}

/// The commands that the queue issues at this moment, and its last answer.
pub fn ask(queue: &mut Queue, now: Instant) -> (Vec<InFlight>, Next) {
    let mut commands = Vec::new();
    loop {
        match queue.next(now) {
            Next::Issue(command) => commands.push(command),
            answer => return (commands, answer),
        }
    }
}

/// The sectors at which those commands start.
pub fn starts(commands: &[InFlight]) -> Vec<u64> {
    commands.iter().map(|command| command.start.0).collect()
}

/// The deliveries since the last call: tag and outcome.
pub fn done(queue: &mut Queue) -> Vec<(u64, Outcome)> {
    let done = queue.deliveries().filter_map(|delivery| match delivery {
        Delivery::Done { tag, outcome } => Some((tag.0, outcome)),
        Delivery::Awake(_) | Delivery::Runnable(_) => None,
    });
    done.collect()
}

/// First in, first out; counts how often it is asked for a request.
#[derive(Default)]
pub struct Counting {
    fifo: VecDeque<RequestId>,
    asked: Arc<AtomicU32>,
}

impl Counting {
    /// Creates one, with its counter.
    pub fn new() -> (Box<Counting>, impl Fn() -> u32) {
        let counting = Box::new(Counting::default());
        let asked = Arc::clone(&counting.asked);
        (counting, move || asked.load(Ordering::Relaxed))
    }
}

impl Elevator for Counting {
    fn insert(&mut self, _cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.fifo.push_back(rq);
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.fifo.pop_front().map_or(Dispatch::Empty, Dispatch::Issue)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.fifo.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.fifo.retain(|&rq| rq != victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.fifo.push_front(rq);
    }
}

impl Merges for Counting {
    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }
}

impl Admits for Counting {}
impl Grouped for Counting {}
impl Tuned for Counting {}
