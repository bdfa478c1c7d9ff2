//! The call log: a recording replays, and one with a changed decision diverges.

use std::sync::{Arc, Mutex};

use blksched::reasons::NoListener;
use blksched::{
    Bio, Catalogue, Class, Durability, Group, GroupId, InFlight, Instant, Next, Outcome, Priority, QueueConfig, Sector,
    Slots, Span, SubmitterId,
};
use blksched_conformance::calls::replay;
use blksched_traces::call_log::{Answer, Call, CallLog, Delivery, Record};
use blksched_traces::calls::LoggedQueue;

/// Random calls of every kind to a queue under `elevator`, as a server would make them.
fn recorded(elevator: &str, seed: u64) -> CallLog {
    let catalogue = Catalogue::builtin();
    let records = Arc::new(Mutex::new(Vec::<Record>::new()));
    let sink = records.clone();
    let sink = Box::new(move |record: &Record| sink.lock().unwrap().push(record.clone()));
    let config = QueueConfig { depth: 4, slots: Slots::LINUX_6_1.with_nr_requests(32), ..QueueConfig::default() };
    let choice = catalogue.parse(elevator).unwrap();
    let mut queue = LoggedQueue::new(config, &choice, NoListener, Some(sink));
    let header = queue.header().clone();
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let (mut now, mut in_flight) = (Instant::ZERO, Vec::<InFlight>::new());
    for tag in 0..600 {
        now += Span::from_us(draw(3000));
        let who = SubmitterId(draw(4) as u32);
        match draw(20) {
            0..10 => {
                let start = Sector(draw(200) * 8);
                let mut bio = if draw(2) == 0 { Bio::read(tag, who, start, 8) } else { Bio::write(tag, who, start, 8) };
                bio.group = GroupId(draw(3) as u32);
                bio.priority = Priority { class: Class::BestEffort, level: draw(8) as u8 };
                bio.durability = Durability { preflush: draw(20) == 0, fua: draw(20) == 0 };
                queue.submit(now, bio);
            }
            10 => queue.waits(now, who),
            11 => queue.elapse(now),
            12 => _ = queue.set_group(now, GroupId(1), Group { weight: draw(3) as u32, ..Group::default() }),
            13 => _ = queue.set(now, "no_such_knob", 1),
            14 if draw(20) == 0 => queue.switch(now, &choice),
            15..18 if !in_flight.is_empty() => {
                let command = in_flight.swap_remove(draw(in_flight.len() as u64) as usize);
                match draw(10) {
                    0 => queue.requeue(now, command),
                    1 => queue.complete(now, command, Outcome::Failed),
                    _ => queue.complete(now, command, Outcome::Ok),
                }
            }
            _ => {}
        }
        while let Next::Issue(command) = queue.next(now) {
            in_flight.push(command);
        }
        queue.deliveries(now).for_each(drop);
    }
    drop(queue);
    let records = Arc::into_inner(records).unwrap().into_inner().unwrap();
    CallLog { header, records }
}

#[test]
fn what_was_recorded_under_any_era_replays_through_its_file() {
    for elevator in Catalogue::builtin().eras() {
        let log = recorded(&elevator, 1);
        let mut file = Vec::new();
        log.write(&mut file).unwrap();
        let read = CallLog::read(&file[..], std::path::Path::new("calls.jsonl")).unwrap();
        let report = replay(&read, &Catalogue::builtin()).unwrap();
        assert!(report.divergence.is_none(), "{elevator}: {:?}", report.divergence);
        assert!(report.calls > 600 && report.elevator == elevator, "{report:?}");
    }
}

#[test]
fn a_log_holds_every_kind_of_answer() {
    let log = recorded("deadline", 2);
    let has = |what: &str, found: fn(&Record) -> bool| assert!(log.records.iter().any(found), "no {what}");
    has("merge", |record| matches!(record.said, Answer::Merged { .. }));
    has("sleep", |record| matches!(record.said, Answer::Asleep));
    has("refusal", |record| matches!((&record.call, &record.said), (Call::Set { .. }, Answer::Refused(_))));
    has("requeue", |record| matches!(record.call, Call::Requeue { .. }));
    has("null answer", |record| matches!((&record.call, &record.said), (Call::Next {}, Answer::Empty | Answer::Full)));
    has("failure", |record| match &record.said {
        Answer::Delivered(all) => all.iter().any(|delivery| matches!(delivery, Delivery::Failed(_))),
        _ => false,
    });
}

#[test]
fn another_answer_another_deadline_and_another_elevator_are_found_at_their_line() {
    let log = recorded("cfq@2.6.33", 3);
    let catalogue = Catalogue::builtin();
    let issue = log.records.iter().rposition(|record| matches!(record.said, Answer::Issue { .. })).unwrap();
    let mut changed = log.clone();
    if let Answer::Issue { sectors, .. } = &mut changed.records[issue].said {
        *sectors += 8;
    }
    let divergence = replay(&changed, &catalogue).unwrap().divergence.expect("the answer differs");
    assert_eq!(divergence.line, issue + 2);
    let mut changed = log.clone();
    changed.records[10].deadline = Some(1);
    assert_eq!(replay(&changed, &catalogue).unwrap().divergence.expect("the deadline differs").line, 12);
    let mut changed = log.clone();
    changed.header.elevator = "deadline".into();
    assert!(replay(&changed, &catalogue).unwrap().divergence.is_some());
    let mut changed = log;
    changed.header.elevator = "deadlime".into();
    assert!(replay(&changed, &catalogue).unwrap_err().to_string().contains("deadline"));
}

#[test]
fn a_log_that_asks_for_the_impossible_is_told_and_harms_nothing() {
    let log = recorded("noop", 4);
    let catalogue = Catalogue::builtin();
    let refused = |change: fn(&mut CallLog)| {
        let mut log = log.clone();
        change(&mut log);
        replay(&log, &catalogue).map(|report| report.divergence.expect("it cannot be").what)
    };
    let twice = refused(|log| log.records.retain(|record| !matches!(record.call, Call::Next {})));
    assert!(twice.unwrap().contains("here"));
    let backwards = refused(|log| log.records.push(log.records[0].clone()));
    assert!(backwards.unwrap().contains("backwards"));
    assert!(refused(|log| log.header.queue.depth = 0).unwrap_err().to_string().contains("depth"));
}
