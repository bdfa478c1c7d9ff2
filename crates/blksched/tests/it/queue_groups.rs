//! The queue announces groups to its elevator: each before its first bio, changes while running, all of them on a
//! switch.

use std::sync::{Arc, Mutex};

use blksched::author::merge::Merging;
use blksched::author::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Merges, RequestId, Run, Tuned};
use blksched::{
    Bio, BlockQueue, Catalogue, Group, GroupError, GroupId, Instant, Limits, QueueConfig, Sector, SubmitterId,
};

type Log = Arc<Mutex<Vec<String>>>;

/// Records the announcements of groups and requests.
struct Diary(Log);

impl Diary {
    fn new() -> (Box<Diary>, Log) {
        let log = Log::default();
        (Box::new(Diary(log.clone())), log)
    }

    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Elevator for Diary {
    fn attach(&mut self, _cx: &mut Cx<'_>) {
        self.write("attach".into());
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.write(format!("request of {}", cx.rq(rq).group.0));
        Run::No
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.write("asked".into());
        Dispatch::Wait
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        true
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, _victim: RequestId) {}

    fn requeue(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}
}

impl Merges for Diary {
    fn merging(&self) -> Merging {
        Merging::NEVER
    }
}

impl Admits for Diary {}

impl Grouped for Diary {
    fn group(&mut self, _cx: &mut Cx<'_>, id: GroupId, group: Group) {
        self.write(format!("group {} under {}: {}", id.0, group.parent.0, group.weight));
    }

    fn ungroup(&mut self, _cx: &mut Cx<'_>, id: GroupId) {
        self.write(format!("no group {}", id.0));
    }
}

impl Tuned for Diary {}

/// The records since the last call.
fn heard(log: &Log) -> Vec<String> {
    log.lock().unwrap().drain(..).collect()
}

fn of(group: u32) -> Bio {
    Bio { group: GroupId(group), ..Bio::read(1, SubmitterId(1), Sector(8), 8) }
}

#[test]
fn a_group_is_announced_ahead_of_its_first_bio_and_once() {
    let (diary, log) = Diary::new();
    let mut queue = BlockQueue::new(QueueConfig::default(), diary);
    assert_eq!(heard(&log), ["attach", "group 0 under 0: 200"]);
    queue.submit(Instant::ZERO, of(3));
    queue.submit(Instant::ZERO, of(3));
    queue.submit(Instant::ZERO, of(0));
    assert_eq!(heard(&log), ["group 3 under 0: 100", "request of 3", "request of 3", "request of 0"]);
}

#[test]
fn a_flush_of_a_group_that_nobody_announced_is_no_reason_to_ask_again() {
    let (diary, log) = Diary::new();
    let mut queue = BlockQueue::new(QueueConfig::default(), diary);
    let _ = queue.next(Instant::ZERO);
    heard(&log);
    queue.submit(Instant::ZERO, Bio { group: GroupId(1), ..Bio::flush(1, SubmitterId(1)) });
    let _ = queue.next(Instant::ZERO);
    assert_eq!(heard(&log), ["group 1 under 0: 100"]);
}

#[test]
fn a_weight_changes_while_it_runs_and_what_cannot_be_is_refused_unheard() {
    let (diary, log) = Diary::new();
    let mut queue = BlockQueue::new(QueueConfig::default(), diary);
    let (now, gold) = (Instant::ZERO, Group { weight: 500, ..Group::default() });
    heard(&log);
    queue.set_group(now, GroupId(1), gold).unwrap();
    queue.set_group(now, GroupId(1), Group { weight: 700, ..gold }).unwrap();
    assert_eq!(queue.set_group(now, GroupId(1), Group { weight: 0, ..gold }), Err(GroupError::Weight(0)));
    assert_eq!(queue.groups().get(GroupId(1)).map(|group| group.weight), Some(700));
    queue.remove_group(now, GroupId(1)).unwrap();
    assert_eq!(queue.remove_group(now, GroupId(1)), Err(GroupError::Unknown(GroupId(1))));
    assert_eq!(heard(&log), ["group 1 under 0: 500", "group 1 under 0: 700", "no group 1"]);
}

#[test]
fn a_new_elevator_hears_of_all_groups_before_the_requests_that_are_handed_over() {
    let (diary, _) = Diary::new();
    let mut queue = BlockQueue::new(QueueConfig::default(), diary);
    let (now, child) = (Instant::ZERO, Group { parent: GroupId(4), ..Group::default() });
    queue.set_group(now, GroupId(4), Group::default()).unwrap();
    queue.set_group(now, GroupId(2), child).unwrap();
    queue.submit(now, of(2));
    let (diary, log) = Diary::new();
    queue.switch(now, diary);
    let expected = ["attach", "group 0 under 0: 200", "group 4 under 0: 100", "group 2 under 4: 100", "request of 2"];
    assert_eq!(heard(&log), expected);
}

#[test]
fn who_ignores_weights_says_so() {
    let shares = |spec: &str| {
        let built = Catalogue::builtin().build(spec).unwrap();
        let mut queue = built.queue(Limits::default(), 1);
        queue.set_group(Instant::ZERO, GroupId(1), Group { weight: 500, ..Group::default() }).unwrap();
        queue.shares_by_weight()
    };
    for spec in ["bfq", "bfq@4.19", "cfq@4.20+groups=on"] {
        assert!(shares(spec), "{spec}");
    }
    for spec in ["none", "mq-deadline", "kyber", "deadline", "cfq@2.6.32", "cfq@4.20", "bfq+groups=off", "adios"] {
        assert!(!shares(spec), "{spec}");
    }
}
