//! Edge cases of the contract: tokens that are consumed, bursts that end, plugs that are reported, cancellation. (Cases
//! that do not even compile are in the documentation of `InFlight`.)

use std::panic::{AssertUnwindSafe, catch_unwind};

use blksched::{
    Bio, BlockQueue, Cancelled, Catalogue, Delivery, InFlight, Instant, Limits, Next, Outcome, Plugging, Priority,
    QueueConfig, Sector, Slots, Span, Submitted, SubmitterId, Tag,
};
use blksched::{FlightKey, NotInFlight};

const NOW: Instant = Instant::ZERO;
const ME: SubmitterId = SubmitterId(1);
const YOU: SubmitterId = SubmitterId(2);

fn noop(plugging: Plugging) -> BlockQueue {
    let config = QueueConfig { depth: 4, plugging, ..QueueConfig::default() };
    BlockQueue::new(config, Catalogue::builtin().build("noop").unwrap().elevator)
}

fn read(tag: u64, submitter: SubmitterId) -> Bio {
    Bio::read(tag, submitter, Sector(tag * 1000), 8)
}

fn issue(queue: &mut BlockQueue, now: Instant) -> InFlight {
    match queue.next(now) {
        Next::Issue(command) => command,
        other => panic!("expected a command, not {other:?}"),
    }
}

fn done(queue: &mut BlockQueue) -> Vec<u64> {
    let tag = |delivery| match delivery {
        Delivery::Done { tag, outcome: Outcome::Ok } => tag.0,
        other => panic!("expected a bio that is done, not {other:?}"),
    };
    queue.deliveries().map(tag).collect()
}

/// The message of a call that must panic.
fn panics_with(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it must panic");
    panic.downcast_ref::<String>().cloned().expect("a formatted message")
}

#[test]
fn a_key_is_good_for_one_answer_even_if_its_slot_is_used_again() {
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    let key = issue(&mut queue, NOW).key();
    let first = queue.in_flight_as(key).unwrap();
    queue.complete(NOW, first, Outcome::Ok);
    assert_eq!(done(&mut queue), [1]);
    assert_eq!(queue.in_flight_as(key), Err(NotInFlight(key)));

    queue.submit(NOW, read(2, YOU));
    let second = issue(&mut queue, NOW);
    assert_eq!((second.rq.index() as u64, second.key() == key), (key.0 & 0xffff_ffff, false), "the slot is used again");
    assert_eq!(queue.in_flight_as(key), Err(NotInFlight(key)));
    assert_eq!(queue.deliveries().count(), 0);
    queue.complete(NOW, second, Outcome::Ok);
    assert_eq!(done(&mut queue), [2]);
}

#[test]
fn the_second_token_of_a_key_panics_and_says_why() {
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    let first = issue(&mut queue, NOW);
    let again = queue.in_flight_as(first.key()).unwrap();
    queue.complete(NOW, first, Outcome::Ok);
    queue.submit(NOW, read(1, YOU));
    let theirs = issue(&mut queue, NOW);
    assert_eq!(again.command().rq, theirs.command().rq);
    let said = panics_with(|| queue.complete(NOW, again, Outcome::Ok));
    assert!(said.contains("slot 0 has no such command in flight"), "{said}");
    assert!(said.contains("was completed or handed back before"), "{said}");
}

#[test]
fn a_command_that_was_handed_back_has_a_new_key_when_it_goes_again() {
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    let first = issue(&mut queue, NOW);
    let key = first.key();
    queue.requeue(NOW, first);
    assert!(queue.in_flight_as(key).is_err(), "the device does not have it");
    let again = issue(&mut queue, NOW);
    assert!(queue.in_flight_as(key).is_err() && queue.in_flight_as(again.key()).is_ok());
    assert!(queue.in_flight_as(FlightKey(77)).is_err(), "no such slot");
}

#[test]
fn a_token_of_another_queue_is_refused() {
    let (mut mine, mut yours) = (noop(Plugging::Never), noop(Plugging::Never));
    mine.submit(NOW, read(1, ME));
    yours.submit(NOW, read(2, ME));
    let (token, _theirs) = (issue(&mut mine, NOW), issue(&mut yours, NOW));
    let said = panics_with(|| yours.complete(NOW, token, Outcome::Ok));
    assert!(said.contains("another queue issued it"), "{said}");
}

#[test]
fn a_token_of_another_queue_is_refused_even_if_slot_and_sector_are_the_same() {
    let (mut mine, mut yours) = (noop(Plugging::Never), noop(Plugging::Never));
    mine.submit(NOW, read(1, ME));
    yours.submit(NOW, read(1, YOU));
    let (token, theirs) = (issue(&mut mine, NOW), issue(&mut yours, NOW));
    assert_eq!((token.rq, token.start), (theirs.rq, theirs.start), "what a driver sees of them is alike");
    assert_eq!(yours.in_flight_as(token.key()), Err(NotInFlight(token.key())));
    let said = panics_with(|| yours.complete(NOW, token, Outcome::Ok));
    assert!(said.contains("another queue issued it"), "{said}");
    yours.complete(NOW, theirs, Outcome::Ok);
    assert_eq!(done(&mut yours), [1]);
}

#[test]
fn a_command_whose_token_was_dropped_keeps_its_place_until_its_key_brings_it_back() {
    let mut queue = noop(Plugging::Never);
    queue.submit_burst(NOW, &[1, 2, 3, 4, 5].map(|tag| read(tag, ME)));
    let dropped = [(); 4].map(|()| issue(&mut queue, NOW).key());
    assert_eq!(queue.next(NOW), Next::Full, "the device has all that it takes");
    let again = queue.in_flight_as(dropped[0]).unwrap();
    queue.complete(NOW, again, Outcome::Ok);
    assert_eq!(done(&mut queue), [1]);
    assert_eq!(issue(&mut queue, NOW).start, Sector(5000));
}

#[test]
fn a_wish_to_take_back_what_has_completed_changes_nothing() {
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    let command = issue(&mut queue, NOW);
    queue.complete(NOW, command, Outcome::Ok);
    assert_eq!(queue.cancel(NOW, Tag(1)), Cancelled::Stays, "completed, and not yet delivered");
    assert_eq!(done(&mut queue), [1]);
    assert_eq!(queue.cancel(NOW, Tag(1)), Cancelled::Stays, "delivered");
    assert_eq!((queue.deliveries().count(), queue.next(NOW)), (0, Next::Empty));
}

#[test]
fn what_a_submitter_collects_is_said_and_goes_at_the_latest_after_100_ms() {
    let mut queue = noop(Plugging::LINUX_3);
    let until = NOW + Span::from_ms(100);
    assert_eq!(queue.submit(NOW, read(1, ME)), Submitted::Held);
    assert_eq!(queue.next(NOW), Next::Plugged { until: Some(until) });
    assert_eq!(queue.deadline(), Some(until));
    let later = NOW + Span::from_ms(60);
    queue.submit(later, read(2, YOU));
    assert_eq!(issue(&mut queue, until).start, Sector(1000));
    assert_eq!(queue.next(until), Next::Plugged { until: Some(later + Span::from_ms(100)) });
    queue.waits(until, YOU);
    assert_eq!((issue(&mut queue, until).start, queue.deadline()), (Sector(2000), None));
    assert_eq!(queue.next(until), Next::Empty);
}

#[test]
fn a_burst_that_is_over_bounds_no_later_one() {
    let mut queue = noop(Plugging::LINUX_3);
    let ms = |ms| NOW + Span::from_ms(ms);
    queue.submit(NOW, read(1, YOU));
    queue.submit(NOW, read(2, ME));
    queue.waits(ms(10), ME);
    queue.submit(ms(20), read(3, ME));
    queue.waits(ms(30), YOU);
    assert_eq!(queue.deadline(), Some(ms(120)), "mine began anew");
}

#[test]
fn a_burst_ends_when_its_guard_is_dropped() {
    for plugging in [Plugging::LINUX_2_6, Plugging::LINUX_3, Plugging::LINUX_6, Plugging::Never] {
        let mut queue = noop(plugging);
        {
            let mut burst = queue.burst(NOW, ME);
            burst.submit(read(1, ME));
            burst.submit(read(2, ME));
        }
        assert_eq!(issue(&mut queue, NOW).start, Sector(1000), "{plugging:?}");
        assert_eq!(issue(&mut queue, NOW).start, Sector(2000), "{plugging:?}");
    }
    let mut queue = noop(Plugging::LINUX_3);
    let said = panics_with(|| _ = queue.burst(NOW, ME).submit(read(1, YOU)));
    assert!(said.contains("in a burst of SubmitterId(1)"), "{said}");
}

#[test]
fn a_burst_in_one_call_ends_and_stops_at_the_first_that_sleeps() {
    let mut queue = noop(Plugging::LINUX_3);
    assert_eq!(queue.submit_burst(NOW, &[read(1, ME), read(2, YOU), read(3, ME)]), 3);
    assert_eq!((queue.queued(), queue.deadline()), (3, None));

    let slots = Slots::PerDirection { nr_requests: 2, wake: blksched::surroundings::WakeRule::AtFree(1) };
    let config = QueueConfig { depth: 4, plugging: Plugging::LINUX_3, slots, ..QueueConfig::default() };
    let mut queue = BlockQueue::new(config, Catalogue::builtin().build("noop").unwrap().elevator);
    let bios = [1, 2, 3, 4].map(|tag| read(tag, ME));
    assert_eq!(queue.submit_burst(NOW, &bios), 3, "the third sleeps, the fourth is not taken");
    let first = issue(&mut queue, NOW);
    queue.complete(NOW, first, Outcome::Ok);
    assert_eq!(done(&mut queue), [1]);
}

#[test]
fn a_wish_to_take_back_is_answered() {
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    queue.submit(NOW, read(2, ME));
    queue.submit(NOW, Bio::read(3, YOU, Sector(2008), 8));
    queue.submit(NOW, read(4, ME));
    let flying = issue(&mut queue, NOW);
    assert_eq!(queue.cancel(NOW, Tag(1)), Cancelled::InDevice);
    assert_eq!(queue.cancel(NOW, Tag(2)), Cancelled::Stays, "it shares a request");
    assert_eq!(queue.cancel(NOW, Tag(4)), Cancelled::TakenBack);
    assert_eq!(queue.cancel(NOW, Tag(4)), Cancelled::Stays, "nothing of it is here any more");
    queue.complete(NOW, flying, Outcome::Ok);
    let merged = issue(&mut queue, NOW);
    queue.complete(NOW, merged, Outcome::Ok);
    assert_eq!(queue.next(NOW), Next::Empty);
    assert_eq!(done(&mut queue), [1, 2, 3]);
}

#[test]
fn a_built_elevator_brings_the_surroundings_of_its_era() {
    let build = |name: &str| Catalogue::builtin().build(name).unwrap();
    let limits = Limits { max_sectors: 4096, ..Limits::default() };
    for era in Catalogue::builtin().eras() {
        let built = build(&era);
        let config = built.config(limits, 7);
        assert_eq!((config.plugging, config.slots, config.depth), (built.plugging, built.slots, 7), "{era}");
        assert_eq!(config.limits.max_sectors, built.max_sectors.min(4096), "{era}");
        let mut queue = built.queue(limits, 7);
        queue.submit_burst(NOW, &[read(1, ME)]);
        let command = issue(&mut queue, NOW);
        queue.complete(NOW, command, Outcome::Ok);
        assert_eq!(done(&mut queue), [1], "{era}");
    }
}

#[test]
fn a_queue_and_what_was_built_can_be_printed() {
    let built = Catalogue::builtin().build("bfq@6.1").unwrap();
    assert!(format!("{built:?}").starts_with("Built { choice: bfq@6.1, slots: Tags {"), "{built:?}");
    let mut queue = noop(Plugging::Never);
    queue.submit(NOW, read(1, ME));
    assert_eq!(format!("{queue:?}"), "BlockQueue { depth: 4, queued: 1, in_flight: 0, deadline: None, .. }");
}

#[test]
fn a_priority_is_made_from_a_class_and_a_level_that_fits() {
    let texts = [Priority::real_time(0), Priority::best_effort(7), Priority::best_effort(8), Priority::idle()];
    assert_eq!(texts.map(|priority| priority.to_string()), ["rt/0", "be/7", "be/7", "idle/7"]);
    assert_eq!(Priority::best_effort(4), Priority::NORMAL);
}
