//! The listener on a real queue: what it derives agrees with what a driver sees from outside.

use blksched::author::PerDir;
use blksched::{
    Bio, BlockQueue, Catalogue, Delivery, Dir, InFlight, Instant, Next, Op, Outcome, Plugging, QueueConfig, Sector,
    Slots, Span, SubmitterId,
};
use blksched_measure::{Cause, Reasons};

/// What the driver saw of one run.
struct Seen {
    queue: BlockQueue<Reasons>,
    end: Instant,
    /// The time in the device, summed over requests.
    in_device_ns: u64,
    /// Time with something in the device.
    busy_ns: u64,
    issued: PerDir<u64>,
    waited_ns: PerDir<u64>,
    delivered: u64,
}

/// Bios from a small generator: bursts of sequential writes, and scattered reads, each from a submitter of its own (one
/// that sleeps submits nothing else).
fn bio(nth: u64) -> Bio {
    let scattered = nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    if nth % 5 < 3 {
        Bio::write_back(nth, SubmitterId(nth as u32), Sector(1_000_000 + nth * 8), 8)
    } else {
        Bio::read(nth, SubmitterId(nth as u32), Sector(scattered & !7), 8)
    }
}

/// Submits a bio every 300 µs to a disk that takes 1 ms per request, until 400 are done.
fn run(elevator: &str, config: QueueConfig) -> Seen {
    let built = Catalogue::builtin().build(elevator).unwrap();
    let queue = BlockQueue::with_listener(config, built.elevator, Reasons::new());
    let mut seen = Seen {
        queue,
        end: Instant::ZERO,
        in_device_ns: 0,
        busy_ns: 0,
        issued: PerDir::default(),
        waited_ns: PerDir::default(),
        delivered: 0,
    };
    let (mut now, mut device): (Instant, Vec<(Instant, InFlight)>) = (Instant::ZERO, Vec::new());
    for step in 0..8000u64 {
        if step % 3 == 0 && step < 1200 {
            seen.queue.submit(now, bio(step / 3));
        }
        while let Next::Issue(command) = seen.queue.next(now) {
            let rq = &seen.queue.requests()[command.rq];
            if command.op != Op::Flush {
                seen.issued[rq.dir()] += 1;
                seen.waited_ns[rq.dir()] += now.since(rq.queued_at).as_ns();
            }
            device.push((now, command));
        }
        let next = now + Span::from_us(100);
        seen.busy_ns += if device.is_empty() { 0 } else { 100_000 };
        seen.in_device_ns += 100_000 * device.len() as u64;
        now = next;
        while let Some(at) = device.iter().position(|(since, _)| now.since(*since) >= Span::from_ms(1)) {
            let (_, command) = device.remove(at);
            seen.queue.complete(now, command, Outcome::Ok);
            seen.delivered += seen.queue.deliveries().filter(|d| matches!(d, Delivery::Done { .. })).count() as u64;
        }
        if seen.queue.deadline().is_some_and(|deadline| deadline <= now) {
            seen.queue.elapse(now);
        }
    }
    seen.queue.listener_mut().settle(now);
    seen.end = now;
    seen
}

/// Checks everything that must hold of any run.
fn agrees(seen: &Seen) {
    assert_eq!(seen.delivered, 400);
    let reasons = seen.queue.listener();
    for dir in Dir::BOTH {
        let waiting = reasons.waiting(dir);
        assert_eq!(waiting.requests(), seen.issued[dir]);
        assert_eq!(waiting.total().as_ns(), seen.waited_ns[dir], "{dir}");
        assert_eq!(Cause::all().map(|cause| waiting.on(cause).as_ns()).sum::<u64>(), seen.waited_ns[dir], "{dir}");
        assert_eq!(reasons.queued(dir), 0);
    }
    let disk = reasons.disk();
    assert_eq!(disk.busy().as_ns(), seen.busy_ns);
    assert_eq!(disk.elapsed(), seen.end.since(Instant::ZERO));
    assert_eq!(disk.iter().map(|(_, span)| span.as_ns()).sum::<u64>(), seen.end.as_ns());
    let given: u64 = reasons.submitters().map(|time| time.share.given.as_ns()).sum();
    assert!(given.abs_diff(seen.busy_ns) < 1000, "{given} given of {}", seen.busy_ns);
    let requests: u64 = reasons.submitters().map(|time| time.requests).sum();
    assert_eq!(requests, seen.issued.read + seen.issued.write);
}

#[test]
fn every_elevator_in_the_catalogue_adds_up() {
    for elevator in ["noop", "deadline@2.5.38", "deadline@2.5.45", "deadline@2.6.33", "deadline@4.20"] {
        agrees(&run(elevator, QueueConfig::default()));
    }
}

#[test]
fn a_deep_device_adds_up() {
    let seen = run("deadline@2.6.33", QueueConfig { depth: 7, ..QueueConfig::default() });
    agrees(&seen);
    assert!(seen.in_device_ns > seen.busy_ns);
}

#[test]
fn a_plugged_queue_with_few_slots_adds_up_and_shows_both() {
    let plugging = Plugging::LINUX_2_6;
    let slots = Slots::LINUX_2_6.with_nr_requests(8);
    let seen = run("deadline@2.5.45", QueueConfig { plugging, slots, ..QueueConfig::default() });
    agrees(&seen);
    let reasons = seen.queue.listener();
    assert!(reasons.entered().plugged > 0 && !reasons.waiting(Dir::Read).on(Cause::Plugged).is_zero());
    assert!(reasons.sleeps(Dir::Read).began > 0);
    assert_eq!(reasons.sleeps(Dir::Read).lengths.count(), reasons.sleeps(Dir::Read).began);
}

#[test]
fn reads_behind_a_2_5_batch_name_it() {
    let words = |elevator: &str| {
        let seen = run(elevator, QueueConfig::default());
        let words = seen.queue.listener().waiting(Dir::Read).in_words(Dir::Read);
        words.into_iter().map(|(words, _)| words).collect::<Vec<_>>()
    };
    assert!(words("deadline@2.5.45").iter().any(|words| words.contains("moved to the disk at once")));
    assert!(!words("deadline@2.6.33").iter().any(|words| words.contains("moved to the disk at once")));
}

#[test]
fn sequential_writes_merge_and_the_batches_are_counted() {
    let seen = run("deadline@2.6.33", QueueConfig::default());
    let reasons = seen.queue.listener();
    assert!(reasons.entered().merges_per_request() > 0.0);
    assert!(reasons.entered().sizes.write.max() > 8);
    assert!(reasons.batches().count(Dir::Read) > 0 && reasons.batches().count(Dir::Write) > 0);
    assert!(reasons.effort().steps() > 0);
}
