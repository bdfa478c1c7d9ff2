//! The surroundings of linus in 2.4: a plug without a timer, and bios that arrive in buffers. Which submitters sleep
//! for a request and which wake is compared with every recording.

use blksched::author::Waiter;
use blksched::{
    Bio, BlockQueue, Catalogue, Instant, Limits, Next, Op, Outcome, Plugging, QueueConfig, Sector, Slots, Span,
    Submitted, SubmitterId, Tag,
};

const ME: SubmitterId = SubmitterId(7);

fn queue(depth: u32) -> BlockQueue {
    let built = Catalogue::builtin().build("linus@2.4.21").unwrap();
    let limits = Limits { max_sectors: built.max_sectors, ..Limits::default() };
    let (plugging, slots) = (built.plugging, built.slots);
    assert_eq!((plugging, slots), (Plugging::TaskQueue, Slots::LINUX_2_4));
    BlockQueue::new(QueueConfig { depth, plugging, slots, limits, ..QueueConfig::default() }, built.elevator)
}

fn write(tag: u64, start: u64, sectors: u32) -> Bio {
    Bio { op: Op::Write, waiter: Waiter::Async, tag: Tag(tag), ..Bio::read(0, ME, Sector(start), sectors) }
}

#[test]
fn the_plug_opens_when_somebody_waits_and_never_by_itself() {
    let mut queue = queue(1);
    queue.submit(Instant::ZERO, write(1, 0, 8));
    let later = Instant::ZERO + Span::from_ms(60_000);
    assert_eq!((queue.next(later), queue.deadline()), (Next::Plugged { until: None }, None));
    queue.waits(later, SubmitterId(8));
    assert!(matches!(queue.next(later), Next::Issue(_)));
}

#[test]
fn what_an_ide_disk_has_in_service_keeps_the_queue_from_being_plugged_and_what_a_scsi_disk_has_does_not() {
    for (depth, plugged) in [(1, false), (4, true)] {
        let mut queue = queue(depth);
        queue.submit(Instant::ZERO, write(1, 0, 8));
        queue.waits(Instant::ZERO, ME);
        let Next::Issue(first) = queue.next(Instant::ZERO) else { panic!("the plug is open") };
        queue.submit(Instant::ZERO, write(2, 1000, 8));
        queue.complete(Instant::ZERO, first, Outcome::Ok);
        assert_eq!(matches!(queue.next(Instant::ZERO), Next::Plugged { .. }), plugged, "depth {depth}");
    }
}

#[test]
fn a_long_bio_comes_in_buffers_that_join_up_to_the_longest_request() {
    let mut queue = queue(1);
    // 320 sectors are 40 buffers of 8: requests of 128, 128 and 64.
    assert!(matches!(queue.submit(Instant::ZERO, write(1, 0, 320)), Submitted::Merged { .. }));
    assert_eq!(queue.queued(), 3);
    queue.waits(Instant::ZERO, ME);
    let Next::Issue(first) = queue.next(Instant::ZERO) else { panic!("the plug is open") };
    assert_eq!((first.start, first.sectors), (Sector(0), 128));
}

#[test]
fn a_submitter_that_finds_a_request_takes_it_even_while_another_waits() {
    let mut queue = queue(1);
    for nth in 0..64 {
        assert!(matches!(queue.submit(Instant::ZERO, write(nth, nth * 1000, 8)), Submitted::Inserted(_)));
    }
    assert_eq!(queue.submit(Instant::ZERO, write(64, 999_000, 8)), Submitted::Asleep);
    let Next::Issue(first) = queue.next(Instant::ZERO) else { panic!("whoever sleeps opens the plug") };
    queue.complete(Instant::ZERO, first, Outcome::Ok);
    // One is free: too few to wake the sleeper, but enough for another submitter.
    assert!(matches!(queue.next(Instant::ZERO), Next::Issue(_)));
    assert_eq!(queue.deliveries().count(), 1);
    let other = Bio { submitter: SubmitterId(8), ..write(65, 888_000, 8) };
    assert!(matches!(queue.submit(Instant::ZERO, other), Submitted::Inserted(_)));
    assert_eq!(queue.free(blksched::Dir::Write), Some(0));
}

/// 2.5.38's counters are reduced by sectors: a write that grows by more than the read's counter, 1024, makes a wall.
#[test]
fn a_request_that_grows_costs_those_behind_it_by_whichever_way_its_partner_was_found() {
    let order = |name: &str| {
        let built = Catalogue::builtin().build(name).unwrap();
        let limits = Limits { max_sectors: 2048, ..Limits::default() };
        let (plugging, slots) = (built.plugging, built.slots);
        let mut queue =
            BlockQueue::new(QueueConfig { plugging, slots, limits, ..QueueConfig::default() }, built.elevator);
        queue.submit(Instant::ZERO, write(1, 0, 8));
        queue.submit(Instant::ZERO, Bio::read(2, ME, Sector(100_000), 8));
        // Each joins the write merged last, which is tried before any search: 125 times 8 sectors and once 40.
        (0..125).for_each(|nth| {
            assert!(matches!(queue.submit(Instant::ZERO, write(3 + nth, 8 + 8 * nth, 8)), Submitted::Merged { .. }));
        });
        queue.submit(Instant::ZERO, write(200, 1008, 40));
        // It lies before the read, so it is inserted before it unless the read is a wall.
        queue.submit(Instant::ZERO, write(201, 50_000, 8));
        queue.waits(Instant::ZERO, ME);
        let mut starts = Vec::new();
        while let Next::Issue(command) = queue.next(Instant::ZERO) {
            starts.push(command.start.0);
            queue.complete(Instant::ZERO, command, Outcome::Ok);
        }
        starts
    };
    assert_eq!(order("linus@2.5.38+joins=free"), [0, 50_000, 100_000]);
    assert_eq!(order("linus@2.5.38+joins=charged"), [0, 100_000, 50_000]);
}
