//! A submitter that sleeps for a slot flushes its plug, and the bio with which it sleeps does not stay in the plug.

use blksched::surroundings::WakeRule;
use blksched::{
    Bio, BlockQueue, Catalogue, Delivery, Instant, Next, Outcome, Plugging, QueueConfig, Sector, Slots, SubmitterId,
};

fn queue(nr_requests: u32) -> BlockQueue {
    let slots = Slots::PerDirection { nr_requests, wake: WakeRule::AtFree(1) };
    let config = QueueConfig { depth: 1, plugging: Plugging::LINUX_3, slots, ..QueueConfig::default() };
    BlockQueue::new(config, Catalogue::builtin().build("deadline@4.20").unwrap().elevator)
}

#[test]
fn a_burst_longer_than_the_slots_completes_whole() {
    let mut queue = queue(2);
    let (me, now) = (SubmitterId(1), Instant::ZERO);
    for tag in 0..5 {
        queue.submit(now, Bio::read(tag, me, Sector(tag * 1000), 8));
    }
    queue.waits(now, me);
    let mut done = 0;
    while let Next::Issue(command) = queue.next(now) {
        queue.complete(now, command, Outcome::Ok);
        done += queue.deliveries().filter(|delivery| matches!(delivery, Delivery::Done { .. })).count();
    }
    assert_eq!(done, 5);
}

#[test]
fn a_sleeper_lets_go_of_what_its_plug_holds_before_its_burst_is_over() {
    let mut queue = queue(2);
    for tag in 0..3 {
        queue.submit(Instant::ZERO, Bio::read(tag, SubmitterId(1), Sector(tag * 1000), 8));
    }
    assert!(matches!(queue.next(Instant::ZERO), Next::Issue(_)));
}
