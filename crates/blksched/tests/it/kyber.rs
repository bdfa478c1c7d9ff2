//! Kyber: its domains, tokens, feedback and knobs, and the reasons it reports.

use std::collections::VecDeque;

use crate::queue_kit::{ME, Rig, WHO, YOU, inserted};
use blksched::reasons::{DepthChange, Domain, DomainTurn, Latency};
use blksched::surroundings::mq::{MqEra, TagOrder};
use blksched::{Bio, Catalogue, Limits, Next, Op, QueueConfig, Reason, Sector, Slots, Span, Submitted};

fn rig(depth: u32) -> Rig {
    let limits = Limits { rotational: false, ..Limits::default() };
    Rig::new("kyber", QueueConfig { depth, limits, ..QueueConfig::default() })
}

fn discard(rig: &mut Rig, start: u64) {
    inserted(rig.submit(Bio { op: Op::Discard, ..Bio::read(0, ME, Sector(start), 8) }));
}

/// Serves this many requests of `op`, one after the other, each in the device for `took`.
fn run(rig: &mut Rig, op: Op, requests: u64, took: Span) {
    for nth in 0..requests {
        inserted(rig.submit(Bio { op, ..Bio::read(0, ME, Sector(nth * 100), 8) }));
        let command = rig.issue();
        rig.now += took;
        rig.complete(command.rq);
    }
}

/// Lets the statistics timer fire; returns the changes of depths.
fn look(rig: &mut Rig) -> Vec<(Domain, u32, u32, DepthChange)> {
    rig.now = rig.queue.deadline().expect("a look is due after any completion");
    rig.heard();
    rig.queue.elapse(rig.now);
    let changed = |reason| match reason {
        Reason::TokensChanged { domain, from, to, why } => Some((domain, from, to, why)),
        _ => None,
    };
    rig.heard().into_iter().filter_map(changed).collect()
}

#[test]
fn a_turn_is_sixteen_reads_eight_writes_and_a_discard() {
    let mut rig = rig(1);
    for nth in 0..20 {
        rig.new_write(nth * 1000, 8);
        rig.new_read(500_000 + nth * 1000, 8);
        discard(&mut rig, 900_000 + nth * 1000);
    }
    let kind = |start: u64| match start {
        0..500_000 => 'w',
        500_000..900_000 => 'r',
        _ => 'd',
    };
    let order: String = rig.drain().into_iter().map(kind).collect();
    assert!(order.starts_with("rrrrrrrrrrrrrrrrwwwwwwwwdrrrrwwwwwwwwdwwwwddd"), "{order}");
    let turns = rig.heard().into_iter().filter_map(|reason| match reason {
        Reason::DomainBegan { domain, why } => Some((domain, why)),
        _ => None,
    });
    let turns: Vec<_> = turns.take(4).collect();
    let used = DomainTurn::BatchUsed;
    assert_eq!(turns[..3], [(Domain::Write, used), (Domain::Discard, used), (Domain::Read, used)]);
    assert_eq!(turns[3], (Domain::Write, DomainTurn::NothingToSend));
}

#[test]
fn a_domain_without_tokens_waits_and_what_waits_still_merges() {
    let mut rig = rig(1000);
    (0..256).for_each(|nth| _ = rig.new_read(nth * 100, 8));
    let flying: Vec<_> = (0..256).map(|_| rig.issue().rq).collect();
    rig.new_read(500_000, 8);
    assert_eq!(rig.next(), Next::Wait);
    assert!(rig.heard().contains(&Reason::Throttled { domain: Domain::Read }));
    assert!(matches!(rig.read(500_008, 8), Submitted::Merged { .. }), "the list was not flushed without a token");
    rig.new_write(900_000, 8);
    assert_eq!(rig.issue().start, Sector(900_000), "another domain goes on");
    rig.complete(flying[7]);
    assert_eq!(rig.issue().start, Sector(500_000));
    assert!(rig.heard().contains(&Reason::TokenTaken { domain: Domain::Read, token: 7 }));
}

#[test]
fn what_was_flushed_with_others_takes_no_bio_any_more() {
    let mut rig = rig(1);
    rig.reads([100, 200]);
    rig.serve();
    rig.new_read(208, 8);
    assert_eq!(rig.drain_whole(), [(200, 8), (208, 8)]);
}

/// The changes after 600 fast writes and 600 reads that took 3 ms in the device, judged together.
fn changes(knobs: &[(&str, i64)]) -> Vec<(Domain, u32, u32, DepthChange)> {
    changes_in(&mut rig(2000), knobs)
}

fn changes_in(rig: &mut Rig, knobs: &[(&str, i64)]) -> Vec<(Domain, u32, u32, DepthChange)> {
    for &(knob, raw) in knobs {
        rig.queue.set(rig.now, knob, raw).unwrap();
    }
    run(rig, Op::Write, 600, Span::from_us(1));
    let mut flying = Vec::new();
    for batch in 0..3 {
        for nth in 0..200 {
            rig.new_read((batch * 200 + nth) * 100, 8);
            flying.push(rig.issue().rq);
        }
        rig.now += Span::from_ms(3);
        flying.drain(..).for_each(|rq| rig.complete(rq));
    }
    look(rig)
}

#[test]
fn a_quick_domain_gives_way_to_one_that_is_slow_in_the_device() {
    let sent_at_once = |rig: &mut Rig| {
        (0..200).for_each(|nth| _ = rig.new_write(nth * 100, 8));
        (0..200).take_while(|_| matches!(rig.next(), Next::Issue(_))).count()
    };
    assert_eq!(sent_at_once(&mut rig(2000)), 128);
    let mut rig = rig(2000);
    changes_in(&mut rig, &[]);
    assert_eq!(sent_at_once(&mut rig), 32);
}

#[test]
fn depths_follow_from_targets_and_the_reasons_say_how() {
    let slow = DepthChange::DeviceTooSlow { quarters: 1 };
    assert_eq!(changes(&[]), [(Domain::Write, 128, 32, slow)], "reads have all their tokens already");
    assert_eq!(changes(&[("read_lat_nsec", 10_000_000)]), []);
    // 1 µs is within two quarters of 2 µs.
    let half = DepthChange::DeviceTooSlow { quarters: 2 };
    assert_eq!(changes(&[("write_lat_nsec", 2_000)]), [(Domain::Write, 128, 64, half)]);
    let both = changes(&[("write_lat_nsec", 500), ("read_lat_nsec", 10_000_000)]);
    let reads = DepthChange::DeviceTooSlow { quarters: 2 };
    assert_eq!(both, [(Domain::Read, 256, 128, reads)], "now writes are too slow, and reads give way");
}

#[test]
fn turning_a_target_while_running_counts_for_what_completes_from_then_on() {
    for (knob, value) in [("read_lat_nsec", 10_000_000), ("write_lat_nsec", 2_000)] {
        let turned_late = {
            let mut rig = rig(2000);
            run(&mut rig, Op::Write, 1, Span::from_us(1));
            rig.queue.set(rig.now, knob, value).unwrap();
            rig.queue.elevator().tunables().get(knob)
        };
        assert_eq!(turned_late, Some(value));
        assert_ne!(changes(&[]), changes(&[(knob, value)]), "{knob}");
    }
}

#[test]
fn a_domain_that_misses_its_own_target_grows_back() {
    let mut rig = rig(2000);
    run(&mut rig, Op::Write, 600, Span::from_us(1));
    rig.queue.set(rig.now, "read_lat_nsec", 1).unwrap();
    run(&mut rig, Op::Read, 600, Span::from_us(1));
    assert_eq!(look(&mut rig), [(Domain::Write, 128, 32, DepthChange::DeviceTooSlow { quarters: 1 })]);
    rig.queue.set(rig.now, "write_lat_nsec", 1).unwrap();
    run(&mut rig, Op::Write, 600, Span::from_us(1));
    assert_eq!(look(&mut rig), [(Domain::Write, 32, 64, DepthChange::OwnTargetMissed { quarters: 8 })]);
}

#[test]
fn few_samples_are_judged_after_a_second_and_only_in_the_device() {
    let mut rig = rig(1);
    run(&mut rig, Op::Read, 100, Span::from_ms(30));
    let judged: Vec<Latency> = rig
        .heard()
        .into_iter()
        .filter_map(|reason| if let Reason::LatencyJudged { latency, .. } = reason { Some(latency) } else { None })
        .collect();
    assert!(judged.len() > 1 && judged.iter().all(|latency| *latency == Latency::Device), "{judged:?}");
}

#[test]
fn a_look_at_latencies_wishes_no_run_and_is_not_repeated_by_itself() {
    let mut rig = rig(1);
    assert_eq!(rig.queue.deadline(), None);
    run(&mut rig, Op::Read, 1, Span::from_ms(1));
    look(&mut rig);
    assert_eq!(rig.queue.deadline(), None);
    assert!(!rig.heard().iter().any(|reason| matches!(reason, Reason::WishedRun(_))));
}

#[test]
fn write_back_leaves_a_quarter_of_the_slots_and_direct_writes_do_not() {
    let let_in = |make: fn(u64, blksched::SubmitterId, Sector, u32) -> Bio| {
        let slots = Slots::LINUX_6_1.with_nr_requests(256);
        let mut rig = Rig::new("kyber", QueueConfig { slots, ..QueueConfig::default() });
        (0..300).take_while(|nth| rig.submit(make(0, ME, Sector(nth * 100), 8)) != Submitted::Asleep).count()
    };
    assert_eq!((let_in(Bio::write_back), let_in(Bio::write)), (192, 256));
}

#[test]
fn a_request_handed_back_gives_its_token_back_and_goes_first_in_its_domain() {
    let mut rig = rig(300);
    (0..256).for_each(|nth| _ = rig.new_read(nth * 100, 8));
    let flying: Vec<_> = (0..256).map(|_| rig.issue()).collect();
    rig.new_read(500_000, 8);
    assert_eq!(rig.next(), Next::Wait);
    rig.requeue(flying[3].rq);
    assert_eq!((rig.issue().start, rig.next()), (flying[3].start, Next::Wait));
}

/// Enough tags, and the hardware queues of the three.
fn with_queues(elevator: &str, [me, you, who]: [u32; 3]) -> Rig {
    let limits = Limits { rotational: false, ..Limits::default() };
    let slots = Slots::tags(1024, MqEra::Linux6_12, TagOrder::Lowest);
    let mut rig = Rig::new(elevator, QueueConfig { depth: 2000, limits, slots, ..QueueConfig::default() });
    [(ME, me), (YOU, you), (WHO, who)].into_iter().for_each(|(submitter, queue)| rig.queue.place(submitter, queue));
    rig
}

fn issued(rig: &mut Rig) -> Vec<blksched::Command> {
    core::iter::from_fn(|| match rig.next() {
        Next::Issue(command) => Some(*command),
        _ => None,
    })
    .collect()
}

#[test]
fn a_read_of_one_hardware_queue_does_not_wait_behind_anothers_list_for_a_token() {
    let completions_until_it_goes = |mut rig: Rig| {
        (0..300).for_each(|nth| _ = inserted(rig.read_by(YOU, nth * 100, 8)));
        let mut flying: VecDeque<_> = issued(&mut rig).into();
        assert_eq!(flying.len(), 256);
        inserted(rig.read_by(WHO, 900_000, 8));
        assert_eq!(rig.next(), Next::Wait);
        (1..).find(|_| {
            let first = flying.pop_front().expect("it goes some time");
            rig.complete(first.rq);
            rig.queue.check();
            let new = issued(&mut rig);
            flying.extend(&new);
            new.iter().any(|command| command.start == Sector(900_000))
        })
    };
    assert_eq!(completions_until_it_goes(with_queues("kyber", [0, 0, 0])), Some(45), "it is the last of all");
    // Both queues wait, and a batch of eight tokens wakes them; they share it.
    assert_eq!(completions_until_it_goes(with_queues("kyber", [0, 1, 2])), Some(8));
}

#[test]
fn every_hardware_queue_has_a_turn_of_its_own() {
    let order = |queues| {
        let mut rig = with_queues("kyber", queues);
        for nth in 0..20 {
            for who in [YOU, WHO] {
                inserted(rig.read_by(who, nth * 100 + u64::from(who.0) * 50_000, 8));
            }
        }
        for who in [YOU, WHO] {
            inserted(rig.write_by(who, 900_000 + u64::from(who.0) * 100, 8));
        }
        issued(&mut rig).iter().map(|command| if command.op == Op::Read { 'r' } else { 'w' }).collect::<String>()
    };
    assert!(order([0, 0, 0]).starts_with(&format!("{}wwr", "r".repeat(16))));
    assert!(order([0, 1, 2]).starts_with(&format!("{}wwr", "r".repeat(32))));
}

#[test]
fn a_bio_finds_only_requests_of_its_own_hardware_queue_also_after_a_switch() {
    let mut rig = with_queues("mq-deadline", [0, 1, 2]);
    let kyber = Catalogue::builtin().build("kyber").unwrap().elevator;
    rig.queue.switch(rig.now, kyber);
    inserted(rig.read_by(YOU, 1000, 8));
    inserted(rig.read_by(WHO, 1008, 8));
    assert!(matches!(rig.read_by(YOU, 1008, 8), Submitted::Merged { .. }));
    assert_eq!(rig.drain_whole(), [(1000, 16), (1008, 8)]);
}
