//! Switching elevators under load: nothing is lost, the order by age is kept, and the device continues its work.

use crate::queue_kit::{ME, PREFLUSH, Plain, Rig, Told, YOU, at_ms, back, durable, inserted};
use blksched::author::merge::Merging;
use blksched::author::{Elevator, RequestId};
use blksched::surroundings::WakeRule;
use blksched::{Bio, Catalogue, Limits, Next, Op, Outcome, Plugging, QueueConfig, Reason, Sector, Slots, Submitted};

fn elevator(spec: &str) -> Box<dyn Elevator> {
    Catalogue::builtin().build(spec).unwrap().elevator
}

fn switch(rig: &mut Rig, to: Box<dyn Elevator>) {
    rig.queue.switch(rig.now, to);
    rig.queue.check();
}

#[test]
fn the_new_elevator_gets_all_that_is_queued_in_the_order_in_which_it_was_made() {
    for spec in Catalogue::builtin().eras() {
        let mut rig = Rig::new(&spec, QueueConfig { depth: 2, ..QueueConfig::default() });
        let starts = [500, 100, 900, 300, 700, 200];
        let made: Vec<RequestId> = starts.iter().map(|&start| rig.new_read(start, 8)).collect();
        let write = rig.new_write(400, 8);
        let taken = rig.issue();
        let plain = Plain::new(Merging::LINUX_2_6);
        switch(&mut rig, plain.boxed());
        let expected: Vec<RequestId> = made.into_iter().chain([write]).filter(|&rq| rq != taken.rq).collect();
        assert!(rig.heard().contains(&Reason::Switched { requests: expected.len() as u32 }), "{spec}");
        let told = plain.told.lock().unwrap().clone();
        let got: Vec<RequestId> =
            told.into_iter().filter_map(|told| if let Told::Insert(rq) = told { Some(rq) } else { None }).collect();
        assert_eq!(got, expected, "{spec}");
        rig.complete(taken.rq);
        assert_eq!(rig.drain().len(), 6, "{spec}");
        assert_eq!(rig.done().len(), 7, "{spec}");
        assert!(rig.queue.requests().is_empty(), "{spec}");
    }
}

#[test]
fn the_new_elevator_prepares_what_it_gets_before_it_is_inserted() {
    let mut rig = Rig::new("noop", QueueConfig::default());
    let rq = rig.new_read(0, 8);
    let plain = Plain::new(Merging::LINUX_2_6);
    switch(&mut rig, plain.boxed());
    assert_eq!(plain.told.lock().unwrap()[..], [Told::Prepare(rq), Told::Insert(rq)]);
}

#[test]
fn the_completion_of_an_old_elevators_request_is_news_to_its_submitter_only() {
    let (old, new) = (Plain::new(Merging::LINUX_2_6), Plain::new(Merging::LINUX_2_6));
    let mut rig = Rig::with(old.boxed(), QueueConfig { depth: 4, ..QueueConfig::default() });
    let first = rig.new_read(0, 8);
    rig.issue();
    let second = rig.new_read(100, 8);
    switch(&mut rig, new.boxed());
    rig.issue();
    rig.complete(first);
    rig.complete(second);
    assert_eq!(rig.done(), [(0, Outcome::Ok), (1, Outcome::Ok)]);
    assert!(!old.told.lock().unwrap().contains(&Told::Complete(first)));
    let told = new.told.lock().unwrap().clone();
    assert!(told.contains(&Told::Complete(second)) && !told.contains(&Told::Complete(first)));
}

#[test]
fn a_number_used_again_after_an_old_completion_belongs_to_the_new_elevator() {
    let new = Plain::new(Merging::LINUX_2_6);
    let mut rig = Rig::new("noop", QueueConfig { depth: 4, ..QueueConfig::default() });
    let old = rig.new_read(0, 8);
    rig.issue();
    switch(&mut rig, new.boxed());
    rig.complete(old);
    let again = rig.new_read(0, 8);
    assert_eq!(again, old, "the slot in the arena is used again");
    rig.issue();
    rig.complete(again);
    assert!(new.told.lock().unwrap().contains(&Told::Complete(again)));
}

#[test]
fn two_switches_while_a_request_is_in_flight_are_as_good_as_one() {
    let (one, two) = (Plain::new(Merging::LINUX_2_6), Plain::new(Merging::LINUX_2_6));
    let mut rig = Rig::new("noop", QueueConfig { depth: 4, ..QueueConfig::default() });
    let rq = rig.new_read(0, 8);
    rig.issue();
    switch(&mut rig, one.boxed());
    switch(&mut rig, two.boxed());
    rig.complete(rq);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
    assert!(one.told.lock().unwrap().is_empty() && two.told.lock().unwrap().is_empty());
}

#[test]
fn a_request_of_the_old_elevator_that_comes_back_untried_is_the_new_ones_from_then_on() {
    let new = Plain::new(Merging::LINUX_2_6);
    let mut rig = Rig::new("noop", QueueConfig { depth: 1, ..QueueConfig::default() });
    rig.new_read(500, 8);
    rig.new_read(100, 8);
    let command = rig.issue();
    switch(&mut rig, new.boxed());
    rig.requeue(command.rq);
    rig.queue.check();
    let mut served = rig.drain();
    served.sort_unstable();
    assert_eq!(served, [100, 500]);
    assert_eq!(rig.done().len(), 2);
    let told = new.told.lock().unwrap().clone();
    for expected in [Told::Prepare(command.rq), Told::Insert(command.rq), Told::Complete(command.rq)] {
        assert_eq!(told.iter().filter(|&&told| told == expected).count(), 1, "{expected:?}");
    }
}

#[test]
fn what_was_queued_goes_on_merging_under_the_new_elevators_rules() {
    let mut rig = Rig::new("noop", QueueConfig::default());
    let rq = rig.new_read(0, 8);
    rig.new_read(500, 8);
    switch(&mut rig, elevator("deadline@2.6.33"));
    assert_eq!(rig.read(8, 8), back(rq));
    switch(&mut rig, Plain::new(Merging::NEVER).boxed());
    assert!(matches!(rig.read(16, 8), Submitted::Inserted(_)));
}

#[test]
fn what_takes_nothing_any_more_still_takes_nothing() {
    let limits = Limits { max_sectors: 16, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, ..QueueConfig::default() });
    rig.new_read(100, 12);
    rig.new_read(112, 8);
    switch(&mut rig, elevator("deadline@4.20"));
    rig.new_read(112, 4);
}

#[test]
fn a_chosen_batch_of_2_5_is_handed_over_like_the_rest() {
    let mut rig = Rig::new("deadline@2.5.45", QueueConfig::default());
    for start in [300, 200, 100] {
        rig.new_read(start, 8);
    }
    rig.serve();
    switch(&mut rig, elevator("noop"));
    assert_eq!(rig.drain(), [300, 200]);
}

#[test]
fn a_flush_in_flight_goes_on_and_what_waits_for_it_goes_to_the_new_elevator() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let new = Plain::new(Merging::LINUX_2_6);
    let mut rig = Rig::new("noop", QueueConfig { limits, depth: 4, ..QueueConfig::default() });
    rig.submit(durable(0, 8, PREFLUSH));
    let flush = rig.issue();
    assert_eq!(flush.op, Op::Flush);
    rig.submit(Bio::flush(0, YOU));
    switch(&mut rig, new.boxed());
    assert_eq!(rig.queue.in_flight(), 1);
    rig.complete(flush.rq);
    let second = rig.issue();
    assert_eq!(second.op, Op::Flush, "the wish that came meanwhile");
    let data = rig.issue();
    assert_eq!(data.start, Sector(0));
    rig.complete(data.rq);
    rig.complete(second.rq);
    assert_eq!(rig.done(), [(0, Outcome::Ok), (1, Outcome::Ok)]);
    let told = new.told.lock().unwrap().clone();
    assert_eq!(
        told.iter().filter(|told| matches!(told, Told::Complete(_))).collect::<Vec<_>>(),
        [&Told::Complete(data.rq)]
    );
}

#[test]
fn what_a_submitter_collected_enters_the_new_elevator() {
    let plugging = Plugging::Submitter { requests: 16 };
    let new = Plain::new(Merging::LINUX_4_20);
    let mut rig = Rig::new("noop", QueueConfig { plugging, ..QueueConfig::default() });
    rig.read(0, 8);
    rig.read(100, 8);
    switch(&mut rig, new.boxed());
    assert_eq!(rig.next(), Next::Plugged { until: Some(at_ms(100)) });
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain(), [0, 100]);
}

#[test]
fn sleepers_sleep_on_and_wake_as_they_would_have() {
    let slots = Slots::PerDirection { nr_requests: 1, wake: WakeRule::AtFree(1) };
    let mut rig = Rig::new("noop", QueueConfig { slots, ..QueueConfig::default() });
    rig.read(0, 8);
    assert_eq!(rig.read_by(YOU, 100, 8), Submitted::Asleep);
    switch(&mut rig, elevator("deadline@4.20"));
    assert_eq!(rig.drain(), [0, 100]);
    assert_eq!(rig.awake(), [YOU]);
}

#[test]
fn an_open_plug_is_not_closed_by_a_switch_and_a_closed_one_stays_as_it_was() {
    let plugging = Plugging::LINUX_2_6;
    let mut rig = Rig::new("noop", QueueConfig { plugging, ..QueueConfig::default() });
    rig.read(0, 8);
    rig.now = at_ms(1);
    switch(&mut rig, elevator("deadline@2.6.33"));
    assert_eq!((rig.next(), rig.queue.deadline()), (Next::Plugged { until: Some(at_ms(3)) }, Some(at_ms(3))));
    rig.queue.waits(rig.now, ME);
    rig.heard();
    switch(&mut rig, elevator("noop"));
    assert!(!rig.heard().contains(&Reason::Plugged));
    assert_eq!(rig.issue().start, Sector(0));
}

#[test]
fn the_new_elevator_is_asked_even_if_the_old_ones_answer_still_stands() {
    let mut rig = Rig::new("noop", QueueConfig { depth: 4, ..QueueConfig::default() });
    assert_eq!(rig.next(), Next::Empty);
    let new = Plain::new(Merging::LINUX_2_6);
    switch(&mut rig, new.boxed());
    let _ = rig.next();
    assert_eq!(new.told.lock().unwrap()[..], [Told::Dispatch]);
}

#[test]
fn under_load_nothing_is_lost_or_done_twice_whatever_follows_whatever() {
    let mut eras = Catalogue::builtin().eras();
    eras.push("deadline@2.5.45+order=tree".to_owned());
    let limits = Limits { volatile_cache: true, max_sectors: 64, ..Limits::default() };
    let config =
        QueueConfig { limits, depth: 3, slots: Slots::LINUX_2_6.with_nr_requests(20), ..QueueConfig::default() };
    let mut rig = Rig::new("noop", config);
    let mut dice = 12345_u64;
    let mut below = |bound: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % bound
    };
    let (mut submitted, mut in_flight, mut done) = (0, vec![], vec![]);
    for step in 0..20_000_u64 {
        rig.now = at_ms(step / 10);
        match below(20) {
            0..9 => {
                let (start, sectors) = (Sector(below(300) * 8), 8 + below(10) as u32 * 8);
                let bio = match below(12) {
                    0 => durable(start.0, sectors, PREFLUSH),
                    1 => Bio::flush(0, ME),
                    2..7 => Bio::write(0, ME, start, sectors),
                    _ => Bio::read(0, ME, start, sectors),
                };
                rig.submit(bio);
                submitted += 1;
            }
            9..14 => {
                if let Next::Issue(command) = rig.next() {
                    in_flight.push(command.rq);
                }
            }
            14..18 if !in_flight.is_empty() => {
                let rq = in_flight.swap_remove(below(in_flight.len() as u64) as usize);
                rig.complete(rq);
            }
            18 if !in_flight.is_empty() => {
                let rq = in_flight.swap_remove(below(in_flight.len() as u64) as usize);
                rig.requeue(rq);
            }
            19 => {
                let spec = &eras[below(eras.len() as u64) as usize];
                switch(&mut rig, elevator(spec));
            }
            _ => {}
        }
        done.extend(rig.done());
    }
    in_flight.into_iter().for_each(|rq| rig.complete(rq));
    rig.drain();
    done.extend(rig.done());
    let mut tags: Vec<u64> = done.into_iter().map(|(tag, _)| tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..submitted).collect::<Vec<u64>>());
    assert!(rig.queue.requests().is_empty());
}

#[test]
fn a_request_that_absorbed_an_older_one_keeps_the_older_ones_place() {
    let mut rig = Rig::new("deadline@2.6.33", QueueConfig::default());
    let high = rig.new_read(16, 8);
    rig.now = at_ms(1);
    let between = rig.new_read(1000, 8);
    rig.now = at_ms(2);
    let low = inserted(rig.read(0, 8));
    rig.read(8, 8);
    assert!(!rig.queue.requests().is_live(high));
    let new = Plain::new(Merging::LINUX_2_6);
    switch(&mut rig, new.boxed());
    let order: Vec<u64> = rig.drain();
    assert_eq!(order, [0, 1000], "{low:?} is as old as {high:?} was, older than {between:?}");
}

/// Found by the laws: tasks are woken per batch of returned tags, and the batch is sized for the elevator that limits
/// requests. A task that slept behind the old elevator's limit waited for a batch that the new one's requests never
/// filled.
#[test]
fn a_task_that_sleeps_behind_the_old_elevators_limit_goes_on_under_the_new_one() {
    let slots = Slots::LINUX_6_1.with_nr_requests(128);
    let mut rig = Rig::new("mq-deadline@6.1", QueueConfig { depth: 1, slots, ..QueueConfig::default() });
    rig.queue.set(rig.now, "async_depth", 1).unwrap();
    let mut asleep = 0;
    for nth in 0..64 {
        asleep += usize::from(rig.write(1000 * nth, 8) == Submitted::Asleep);
    }
    assert!(asleep > 0, "the limit is felt");
    switch(&mut rig, elevator("deadline@4.20"));
    assert_eq!(rig.drain().len(), 64);
    assert_eq!(rig.done().len(), 64);
}

/// Found by the laws: Kyber announces its `async_depth` since 7.x, and the batch stayed that of the depth before.
#[test]
fn wake_up_batches_follow_the_limit_that_a_knob_sets() {
    let slots = Slots::LINUX_6_12.with_nr_requests(128);
    let mut rig = Rig::new("kyber@7.3", QueueConfig { depth: 1, slots, ..QueueConfig::default() });
    rig.queue.set(rig.now, "async_depth", 1).unwrap();
    let asleep = (0..8).filter(|nth| rig.write(1000 * nth, 8) == Submitted::Asleep).count();
    assert_eq!(asleep, 7, "one write has the only tag");
    assert_eq!(rig.drain().len(), 8);
    rig.queue.set(rig.now, "async_depth", 2).unwrap();
    let asleep = (0..8).filter(|nth| rig.write(1000 * nth, 8) == Submitted::Asleep).count();
    assert_eq!(asleep, 6);
    // Nobody waits for eight tags of which only two are ever returned.
    rig.queue.set(rig.now, "async_depth", 128).unwrap();
    assert_eq!(rig.drain().len(), 8);
    assert_eq!(rig.done().len(), 16);
}
