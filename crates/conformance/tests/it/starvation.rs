//! Where the catalogue states no bound, requests do starve; where it states one, the same load starves none.

use blksched::author::{Bound, Elevator, Wait, Waiter};
use blksched::{
    Bio, BlockQueue, Catalogue, Class, Dir, Instant, Next, Op, Outcome, Priority, QueueConfig, Sector, Span,
    SubmitterId, Tag,
};
use blksched_conformance::driver::Script;
use blksched_conformance::laws;

const VICTIM: u64 = u64::MAX;
const REAL_TIME: Priority = Priority { class: Class::RealTime, level: 4 };
const IDLE: Priority = Priority { class: Class::Idle, level: 7 };
/// The priorities of stream and victim, since elevators differ in the class that they neglect.
const PRIORITIES: [(Priority, Priority); 2] = [(Priority::NORMAL, IDLE), (REAL_TIME, Priority::NORMAL)];
const ISSUES: u32 = 20_000;
/// The number of requests that the stream keeps queued, all nearer than the victim.
const AHEAD: u32 = 200;

/// How long a request takes \[ms\]: at the slower pace, a request behind [`AHEAD`] others has waited for 12 s and so
/// has aged in an elevator whose ageing takes 10 s.
const PACES: [u64; 2] = [1, 60];

/// As [`others_at_a_pace`], at the pace and with the classes that are worst for the victim.
fn others_before_the_victim(name: &str, dir: Dir) -> Option<u32> {
    let mut most = 0;
    for priorities in PRIORITIES {
        for ms in PACES {
            most = most.max(others_at_a_pace(name, dir, Span::from_ms(ms), priorities)?);
        }
    }
    Some(most)
}

/// How many others are issued before one distant request, while a stream of its direction never ends; `None`: it
/// starves.
fn others_at_a_pace(name: &str, dir: Dir, pace: Span, (stream, victim): (Priority, Priority)) -> Option<u32> {
    let built = Catalogue::builtin().build(name).unwrap();
    let mut queue = BlockQueue::new(QueueConfig::default(), built.elevator);
    let (op, waiter) = if dir == Dir::Read { (Op::Read, Waiter::Sync) } else { (Op::Write, Waiter::Async) };
    let bio = |tag, start| Bio { op, tag: Tag(tag), waiter, ..Bio::read(0, SubmitterId(1), Sector(start), 8) };
    let victim = Bio { submitter: SubmitterId(2), priority: victim, ..bio(VICTIM, 1 << 40) };
    // The disk is busy when the victim arrives.
    queue.submit(Instant::ZERO, Bio { priority: stream, ..bio(0, 0) });
    let Next::Issue(first) = queue.next(Instant::ZERO) else { panic!("there is one") };
    queue.submit(Instant::ZERO, victim);
    let mut now = Instant::ZERO;
    let mut streamed = 0;
    while queue.queued() < AHEAD {
        streamed += 1;
        queue.submit(now, Bio { priority: stream, ..bio(streamed, streamed * 64) });
    }
    queue.complete(now, first, Outcome::Ok);
    for issued in 0..ISSUES {
        while queue.queued() < AHEAD {
            streamed += 1;
            queue.submit(now, Bio { priority: stream, ..bio(streamed, streamed * 64) });
        }
        let Next::Issue(command) = queue.next(now) else { panic!("the stream never ends") };
        if command.start == Sector(1 << 40) {
            return Some(issued);
        }
        now += pace;
        queue.complete(now, command, Outcome::Ok);
        queue.deliveries().for_each(drop);
    }
    None
}

#[test]
fn exactly_what_has_no_bound_starves() {
    let catalogue = Catalogue::builtin();
    let tree = "deadline@2.5.45+order=tree".to_owned();
    let groups = "cfq@4.20+groups".to_owned();
    let linus = ["linus@2.4.21+read-latency2", "linus@2.5.38+rework"].map(str::to_owned);
    for name in catalogue.eras().into_iter().chain([tree, groups]).chain(linus) {
        let choice = catalogue.parse(&name).unwrap();
        let bound = (choice.entry.bound)(&choice);
        for (dir, wait) in [(Dir::Read, bound.reads), (Dir::Write, bound.writes)] {
            let others = others_before_the_victim(&name, dir);
            match wait {
                Wait::None(why) => assert_eq!(others, None, "{dir} of {name}: {why}"),
                Wait::Bounded { .. } | Wait::InTime(_) => {
                    assert!(others.is_some(), "{dir} of {name} starve, but a bound is stated")
                }
            }
        }
    }
}

#[test]
fn at_least_one_starvation_is_shown() {
    assert_eq!(others_before_the_victim("deadline@2.5.38", Dir::Write), None);
    assert!(others_before_the_victim("deadline@2.6.33", Dir::Write).is_some());
}

#[test]
fn a_bound_that_promises_too_much_is_found_broken() {
    for name in ["deadline@2.5.38", "deadline@2.6.33", "deadline@4.20"] {
        let choice = Catalogue::builtin().parse(name).unwrap();
        let make = || -> Box<dyn Elevator> { choice.build().elevator };
        let stated = (choice.entry.bound)(&choice);
        // The stated bound counts batches; this one allows only the requests ahead to be issued first.
        let reads = match stated.reads {
            Wait::Bounded { ahead, expire, .. } => Wait::Bounded { ahead, expire, batches: |_| 1, batch: |_| 1 },
            none @ (Wait::InTime(_) | Wait::None(_)) => none,
        };
        let verdicts =
            (0..300).map(|seed| laws::check(&make, Bound { reads, ..stated }, &Script::from_seed(seed, 300)));
        let broken = verdicts.filter_map(Result::err).map(|violation| violation.law).next();
        assert_eq!(broken, Some("bounded waiting"), "{name}");
    }
}
