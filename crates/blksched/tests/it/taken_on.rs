//! Attaching an elevator to a queue: it is the first call, with the time and the device's facts; and a request that an
//! earlier elevator issued is new to it when the device returns it.

use std::sync::{Arc, Mutex};

use blksched::author::merge::Merging;
use blksched::author::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, RequestId, Run, Tuned};
use blksched::{Bio, BlockQueue, Catalogue, Instant, Next, QueueConfig, Sector, Slots, Span, SubmitterId};

type Log = Arc<Mutex<Vec<String>>>;

/// A FIFO that records its calls.
struct Diary {
    log: Log,
    fifo: Vec<RequestId>,
}

impl Diary {
    fn new() -> (Box<Diary>, Log) {
        let log = Log::default();
        (Box::new(Diary { log: log.clone(), fifo: Vec::new() }), log)
    }

    fn write(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }
}

impl Elevator for Diary {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.write(format!("attach at {} with {} requests", cx.now, cx.device().nr_requests));
    }

    fn insert(&mut self, _cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        self.write(format!("insert {} {at:?}", rq.index()));
        self.fifo.push(rq);
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        if self.fifo.is_empty() { Dispatch::Empty } else { Dispatch::Issue(self.fifo.remove(0)) }
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.write(format!("complete {}", rq.index()));
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.fifo.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, _victim: RequestId) {}

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.write(format!("requeue {}", rq.index()));
        self.fifo.insert(0, rq);
    }
}

impl Merges for Diary {
    fn prepare(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.write(format!("prepare {}", rq.index()));
    }

    fn merging(&self) -> Merging {
        Merging::NEVER
    }
}

impl Admits for Diary {}
impl Grouped for Diary {}
impl Tuned for Diary {}

#[test]
fn an_elevator_hears_of_its_queue_before_anything_else() {
    let (diary, log) = Diary::new();
    let born = Instant::ZERO + Span::from_secs(7);
    let slots = Slots::Unbounded { nr_requests: 64 };
    let mut queue = BlockQueue::new(QueueConfig { born, slots, ..QueueConfig::default() }, diary);
    queue.submit(born, Bio::read(1, SubmitterId(1), Sector(8), 8));
    assert_eq!(log.lock().unwrap()[..2], ["attach at 7.000000000s with 64 requests", "prepare 0"]);
}

#[test]
fn a_request_of_an_earlier_elevator_that_comes_back_is_prepared_and_inserted_first() {
    let (now, me) = (Instant::ZERO, SubmitterId(1));
    let mut queue = BlockQueue::new(QueueConfig::default(), Catalogue::builtin().build("noop").unwrap().elevator);
    queue.submit(now, Bio::read(1, me, Sector(8), 8));
    let Next::Issue(command) = queue.next(now) else { panic!("there is a request") };
    let (diary, log) = Diary::new();
    queue.switch(now, diary);
    queue.requeue(now, command);
    assert_eq!(log.lock().unwrap()[1..], ["prepare 0", "insert 0 First"]);
    assert!(matches!(queue.next(now), Next::Issue(_)));
}
