//! Bugs that the laws found in the queue, each as a minimal case.

use crate::common::{A, B, Counting, ask, done, ms, queue, said, starts};
use blksched::reasons::End;
use blksched::surroundings::WakeRule;
use blksched::{
    Bio, BlockQueue, Durability, Instant, Limits, Next, Outcome, Plugging, QueueConfig, Reason, Sector, Slots,
    Submitted,
};

const THREE: Slots = Slots::PerDirection { nr_requests: 3, wake: WakeRule::AtFree(1) };

fn read(tag: u64, start: u64) -> Bio {
    Bio::read(tag, A, Sector(start), 8)
}

fn submitter_plug() -> QueueConfig {
    QueueConfig { depth: 8, plugging: Plugging::Submitter { requests: 16 }, ..QueueConfig::default() }
}

// ---- plugs

#[test]
fn a_merge_in_a_submitters_plug_is_said() {
    let mut queue = queue("noop", submitter_plug());
    queue.submit(ms(0), read(1, 0));
    let Submitted::Merged { into, end: End::Back } = queue.submit(ms(0), read(2, 8)) else { panic!("it adjoins") };
    assert!(said(&mut queue).contains(&Reason::Merged { into, end: End::Back }));
    queue.waits(ms(0), A);
    let (commands, _) = ask(&mut queue, ms(0));
    assert_eq!((commands.len(), commands[0].sectors), (1, 16));
}

#[test]
fn a_write_that_must_be_stable_does_not_join_a_plain_one_in_its_submitters_plug() {
    let limits = Limits { volatile_cache: true, fua: true, ..Limits::default() };
    let mut queue = queue("noop", QueueConfig { limits, ..submitter_plug() });
    queue.submit(ms(0), Bio::write(1, A, Sector(0), 8));
    let durability = Durability { fua: true, preflush: false };
    queue.submit(ms(0), Bio { durability, ..Bio::write(2, A, Sector(8), 8) });
    queue.waits(ms(0), A);
    let (commands, _) = ask(&mut queue, ms(0));
    assert_eq!(
        commands.iter().map(|command| (command.start.0, command.fua)).collect::<Vec<_>>(),
        [(0, false), (8, true)]
    );
}

#[test]
fn a_submitter_that_sleeps_for_a_slot_opens_the_queues_plug() {
    let mut queue =
        queue("noop", QueueConfig { slots: THREE, plugging: Plugging::LINUX_2_5, depth: 8, ..QueueConfig::default() });
    for nth in 0..3 {
        queue.submit(ms(0), read(nth, nth * 100));
    }
    assert_eq!(ask(&mut queue, ms(0)).1, Next::Plugged { until: Some(ms(3)) });
    assert_eq!(queue.submit(ms(0), read(3, 900)), Submitted::Asleep);
    assert_eq!(starts(&ask(&mut queue, ms(0)).0), [0, 100, 200]);
}

#[test]
fn data_behind_a_flush_goes_past_the_plug_of_a_submitter_that_has_waited_or_gone() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let mut queue = queue("noop", QueueConfig { limits, ..submitter_plug() });
    let durability = Durability { fua: false, preflush: true };
    queue.submit(ms(0), Bio { durability, ..Bio::write(1, A, Sector(0), 8) });
    queue.submit(ms(0), Bio { durability, ..Bio::write(2, B, Sector(100), 8) });
    queue.waits(ms(0), A);
    queue.forget(ms(0), B);
    let (mut flush, _) = ask(&mut queue, ms(0));
    queue.complete(ms(1), flush.remove(0), Outcome::Ok);
    assert_eq!(starts(&ask(&mut queue, ms(1)).0), [0, 100]);
}

#[test]
fn the_pieces_of_a_split_bio_do_not_collect_while_the_rest_of_them_sleeps() {
    let limits = Limits { max_sectors: 8, ..Limits::default() };
    let mut queue = queue("noop", QueueConfig { limits, slots: THREE, ..submitter_plug() });
    assert_eq!(queue.submit(ms(0), Bio::read(1, A, Sector(0), 80)), Submitted::Asleep);
    let mut issued = 0;
    for at in 1..=4 {
        for command in ask(&mut queue, ms(at)).0 {
            issued += 1;
            queue.complete(ms(at), command, Outcome::Ok);
        }
    }
    assert_eq!(issued, 10);
    assert_eq!(done(&mut queue), [(1, Outcome::Ok)]);
}

// ---- slots

#[test]
fn a_split_bio_that_finds_no_slots_sleeps_once_and_wakes_once() {
    let mut queue = queue("noop", QueueConfig { depth: 8, slots: THREE, ..QueueConfig::default() });
    assert_eq!(queue.submit(ms(0), Bio::read(1, A, Sector(0), 5 * 1024)), Submitted::Asleep);
    for _ in 0..4 {
        let (commands, _) = ask(&mut queue, ms(1));
        for command in commands {
            queue.complete(ms(1), command, Outcome::Ok);
        }
    }
    let said = said(&mut queue);
    let count = |wanted: fn(&Reason) -> bool| said.iter().filter(|reason| wanted(reason)).count();
    assert_eq!(count(|reason| matches!(reason, Reason::Slept { .. })), 1);
    assert_eq!(count(|reason| matches!(reason, Reason::Woke { .. })), 1);
}

// ---- polling

fn settled(config: QueueConfig) -> (BlockQueue, impl Fn() -> u32) {
    let (elevator, asked) = Counting::new();
    let mut queue = BlockQueue::new(config, elevator);
    assert_eq!(queue.next(Instant::ZERO), Next::Empty);
    assert_eq!(asked(), 1);
    (queue, asked)
}

#[test]
fn a_settled_queue_is_asked_without_asking_its_elevator() {
    let (mut queue, asked) = settled(QueueConfig::default());
    assert_eq!((queue.next(ms(1)), queue.next(ms(2)), asked()), (Next::Empty, Next::Empty, 1));
    queue.waits(ms(3), A);
    assert_eq!((queue.next(ms(3)), asked()), (Next::Empty, 1));
}

#[test]
fn a_refused_knob_is_no_change() {
    let (mut queue, asked) = settled(QueueConfig::default());
    assert!(queue.set(ms(1), "no_such_knob", 1).is_err());
    assert_eq!((queue.next(ms(1)), asked()), (Next::Empty, 1));
}

#[test]
fn a_flush_waiting_to_be_sent_is_no_change_for_the_elevator_but_one_in_flight_is() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let (mut queue, asked) = settled(QueueConfig { limits, depth: 1, ..QueueConfig::default() });
    queue.submit(ms(1), Bio::flush(1, A));
    let Next::Issue(flush) = queue.next(ms(1)) else { panic!("the flush goes first") };
    assert_eq!((queue.next(ms(1)), asked()), (Next::Full, 1));
    queue.complete(ms(2), flush, Outcome::Ok);
    assert_eq!(queue.next(ms(2)), Next::Empty);
}

#[test]
fn a_bio_that_joins_another_in_its_submitters_plug_is_no_change() {
    let plugging = Plugging::Submitter { requests: 16 };
    let (mut queue, asked) = settled(QueueConfig { plugging, ..QueueConfig::default() });
    queue.submit(ms(1), Bio::read(1, A, Sector(0), 8));
    let _ = queue.next(ms(1));
    let before = asked();
    queue.submit(ms(1), Bio::read(2, A, Sector(8), 8));
    assert_eq!((queue.next(ms(1)), asked()), (Next::Plugged { until: Some(ms(101)) }, before));
}
