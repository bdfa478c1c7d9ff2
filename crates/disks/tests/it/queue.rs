//! Native command queueing: what choosing gains, and what the age limit guards.

use crate::support::*;
use blksched::{Instant, Span};
use blksched_disks::{DiskSpec, QueueOrder};

fn random_reads(spec: &DiskSpec, depth: u32) -> Run {
    let mut random = Random(11);
    run(spec, 1, depth, (0..10_000).map(|_| read(random.below(900_000_000), 8)))
}

#[test]
fn random_reads_at_depth_32_are_at_least_1_7_times_as_fast_as_one_at_a_time() {
    let spec = changed("sata-2009", |_| ());
    let one = random_reads(&spec.clone().with_depth(1), 1).per_second();
    let many = random_reads(&spec.with_depth(32), 32).per_second();
    assert!(many > 1.7 * one, "{many} {one}");
}

#[test]
fn taking_commands_in_order_of_arrival_gains_nothing_from_depth() {
    let spec = changed("sata-2009", |hdd| {
        hdd.ncq.as_mut().unwrap().order = QueueOrder::Arrival;
        hdd.overhead.command = hdd.overhead.queued;
    });
    let one = random_reads(&spec.clone().with_depth(1), 1).per_second();
    let many = random_reads(&spec.with_depth(32), 32);
    assert!((many.per_second() / one - 1.0).abs() < 0.02);
    let starts: Vec<Instant> = many.done.iter().map(|(started, _)| *started).collect();
    assert!(starts.is_sorted());
}

#[test]
fn a_drive_that_decides_ahead_gains_nothing_until_more_are_queued() {
    let of = |order, depth: u32| {
        let spec = changed("sata-2009", |hdd| {
            let ncq = hdd.ncq.as_mut().unwrap();
            (ncq.order, ncq.ahead) = (order, 4);
            hdd.overhead.command = hdd.overhead.queued;
        });
        random_reads(&spec.with_depth(depth), depth)
    };
    for order in [QueueOrder::Positioning, QueueOrder::Seek] {
        let alone = of(order, 1).per_second();
        for depth in [2, 5] {
            let run = of(order, depth);
            assert!((run.per_second() / alone - 1.0).abs() < 0.02, "{order:?} at {depth}");
            let starts: Vec<Instant> = run.done.iter().map(|(started, _)| *started).collect();
            assert!(starts.is_sorted(), "{order:?} at {depth}: in order of arrival");
        }
        assert!(of(order, 8).per_second() > 1.1 * alone, "{order:?}");
    }
    let gain = |order| of(order, 32).per_second() / of(order, 1).per_second();
    let (seek, positioning) = (gain(QueueOrder::Seek), gain(QueueOrder::Positioning));
    assert!(
        1.3 < seek && seek < 0.8 * positioning,
        "who does not look at the platters gains less: {seek}, {positioning}"
    );
}

#[test]
fn nobody_waits_much_longer_than_the_age_limit_and_without_one_somebody_does() {
    // One distant command among many that are always nearer.
    let longest = |age_limit| {
        let spec = changed("sata-2009", |hdd| hdd.ncq.as_mut().unwrap().age_limit = age_limit);
        let mut random = Random(2);
        let commands = (0..6_000).map(|n| if n == 40 { read(900_000_000, 8) } else { read(random.below(40_000), 8) });
        run(&spec, 1, 31, commands).latencies().max().unwrap()
    };
    let limit = Span::from_ms(300);
    assert!(longest(limit) < limit + Span::from_ms(50), "{}", longest(limit));
    assert!(longest(Span::from_secs(3600)) > Span::from_secs(1));
}

#[test]
fn queued_reads_that_continue_each_other_are_hits_even_out_of_order() {
    let spec = changed("sata-2009", |_| ());
    let order = [0u64, 2, 1, 4, 3, 6, 5, 7];
    let reads = (0..200u64).flat_map(|group| order.map(|n| read((group * 8 + n) * 64, 64)));
    let run = run(&spec, 1, 4, reads);
    assert!(run.mb_per_s() > 90.0, "{}", run.mb_per_s());
}

#[test]
fn a_write_waiting_for_room_is_served_although_reads_never_stop() {
    let spec = changed("sata-2009", |hdd| hdd.write_cache.as_mut().unwrap().size_sectors = 256);
    let mut random = Random(4);
    let commands = (0..5_000u64).map(|n| match n % 4 {
        0 => write(random.below(900_000_000), 128),
        _ => read(random.below(900_000_000), 8),
    });
    let run = run(&spec, 1, 16, commands);
    let longest = run.latencies().max().unwrap();
    assert!(longest < Span::from_secs(3), "{longest}");
}

#[test]
fn depth_is_what_the_disk_accepts_and_one_more_is_the_drivers_bug() {
    let spec = changed("sata-2009", |_| ()).with_depth(2);
    assert_eq!(spec.build(1).facts().depth, 2);
    let overfilled = std::panic::catch_unwind(move || {
        let mut disk = spec.build(1);
        (0..3).for_each(|n| disk.start(Instant::ZERO, numbered(n, read(0, 8))));
    });
    assert!(overfilled.is_err());
}
