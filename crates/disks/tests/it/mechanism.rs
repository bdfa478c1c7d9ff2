//! Arm, platters, zones: each against a closed formula.

use crate::support::*;
use blksched::Span;

const MIB: u32 = 2048;

#[test]
fn random_reads_cost_the_mean_seek_and_half_a_revolution() {
    let spec = bare("sata-2009");
    let hdd = hdd(&spec);
    let mut random = Random(1);
    let reads = (0..20_000).map(|_| read(random.below(hdd.capacity_sectors / 8) * 8, 8));
    let run = run(&spec, 1, 1, reads);
    let per = |span: Span| span.as_ms_f64() / run.done.len() as f64;
    let half_turn = hdd.revolution().as_ms_f64() / 2.0;
    assert!((per(run.total.rotation) / half_turn - 1.0).abs() < 0.02, "{}", per(run.total.rotation));
    // Outer cylinders hold more sectors, so random sectors are a little closer together than random cylinders.
    let seek = per(run.total.seek) / hdd.seek.average.as_ms_f64();
    assert!((0.92..1.0).contains(&seek), "{seek}");
    assert!((run.mean_latency_ms() - per(run.total.sum())).abs() < 1e-6);
}

#[test]
fn a_sequential_read_reaches_the_zones_rate_and_inner_zones_are_slower() {
    for preset in ["ide-2002", "sata-2009", "hdd-7200-ideal"] {
        let spec = load_plain(preset);
        let hdd = hdd(&spec);
        let rate = |first: u64| run(&spec, 1, 1, (0..2_000).map(|n| read(first + n * 256, 256))).mb_per_s();
        let outer = hdd.zones.outer.bytes_per_s() as f64 / 1e6;
        let inner = hdd.zones.inner.bytes_per_s() as f64 / 1e6;
        assert!((rate(0) / outer - 1.0).abs() < 0.01, "{preset}: {} of {outer}", rate(0));
        let last = hdd.capacity_sectors - 2_000 * 256;
        assert!((rate(last) / inner - 1.0).abs() < 0.01, "{preset}: {} of {inner}", rate(last));
        let middle = rate(hdd.capacity_sectors / 2);
        assert!(inner < middle && middle < outer, "{preset}: {middle}");
    }
}

fn load_plain(preset: &str) -> blksched_disks::DiskSpec {
    changed(preset, |_| ())
}

#[test]
fn one_zone_is_as_fast_inside_as_outside() {
    let spec = changed("ide-2002", |hdd| hdd.zones.count = 1);
    let rate = |first: u64| run(&spec, 1, 1, (0..2_000).map(|n| read(first + n * 256, 256))).mb_per_s();
    assert!((rate(0) / rate(hdd(&spec).capacity_sectors - 600_000) - 1.0).abs() < 0.005);
}

#[test]
fn a_just_missed_sector_costs_one_revolution() {
    let spec = changed("ide-2002", |hdd| {
        *hdd = bare_hdd(hdd);
        hdd.interface = blksched_disks::Rate::from_bytes_per_s(100_000_000_000);
    });
    let revolution = hdd(&spec).revolution();
    let mut disk = spec.build(1);
    let first = run_on(&mut *disk, 1, [read(100, 1)]).ended;
    // The sector that has just passed: one revolution to its end again.
    disk.start(first, read(100, 1));
    let again = next_completion(&mut *disk).at.since(first);
    assert_eq!(again, revolution);
    // The next one: no rotation at all.
    let mut disk = spec.build(1);
    let first = run_on(&mut *disk, 1, [read(100, 1)]).ended;
    disk.start(first, read(101, 1));
    let next = next_completion(&mut *disk);
    assert_eq!(next.service.rotation, Span::ZERO);
    assert!(next.at.since(first) < revolution / 100);
}

fn bare_hdd(hdd: &blksched_disks::HddSpec) -> blksched_disks::HddSpec {
    let mut bare = hdd.clone();
    (bare.look_ahead, bare.write_cache, bare.ncq) = (None, None, None);
    (bare.overhead.command, bare.overhead.queued) = (Span::ZERO, Span::ZERO);
    bare
}

#[test]
fn a_track_switch_inside_a_transfer_costs_the_skew_and_without_skew_it_would_cost_nothing() {
    let with = bare("sata-2009");
    let mut skewless = with.clone();
    skewless.hdd_mut().unwrap().geometry.track_skew = blksched_disks::Turn::from_millionths(0);
    let transfer = |spec: &blksched_disks::DiskSpec| run(spec, 1, 1, [read(0, 2 * MIB)]).total.transfer.as_ms_f64();
    // The same sustained rate on average, but the skewless disk's tracks hold fewer sectors.
    assert!((transfer(&with) / transfer(&skewless) - 1.0).abs() < 0.05);
    let exact = 2.0 * 1.048_576 / 95.0 * 1e3;
    assert!((transfer(&with) / exact - 1.0).abs() < 0.02, "{} {exact}", transfer(&with));
}

#[test]
fn a_write_pays_the_settling_time_after_a_seek_and_a_read_does_not() {
    let spec = bare("sata-2009");
    let settle = hdd(&spec).seek.write_settle;
    let far = hdd(&spec).capacity_sectors / 2;
    let settled = |command| run(&spec, 1, 1, [command]).total.settle;
    assert_eq!(settled(read(far, 8)), Span::ZERO);
    assert_eq!(settled(write(far, 8)), settle);
    assert_eq!(settled(write(0, 8)), Span::ZERO, "the head is there already");
}

#[test]
fn a_slower_spindle_waits_longer_and_a_slower_arm_seeks_longer() {
    let random_reads = |spec: &blksched_disks::DiskSpec| {
        let mut random = Random(3);
        run(spec, 1, 1, (0..3_000).map(|_| read(random.below(100_000_000), 8))).total
    };
    let base = random_reads(&bare("sata-2009"));
    let mut slow = bare("sata-2009");
    slow.hdd_mut().unwrap().rpm = 5_400;
    let ratio = random_reads(&slow).rotation.as_secs_f64() / base.rotation.as_secs_f64();
    assert!((ratio / (7_200.0 / 5_400.0) - 1.0).abs() < 0.03, "{ratio}");
    let mut stiff = bare("sata-2009");
    let seek = &mut stiff.hdd_mut().unwrap().seek;
    (seek.min, seek.average, seek.max) = (seek.min * 2, seek.average * 2, seek.max * 2);
    let ratio = random_reads(&stiff).seek.as_secs_f64() / base.seek.as_secs_f64();
    assert!((ratio / 2.0 - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn overhead_is_paid_by_a_lone_command_and_hidden_behind_others() {
    let spec = changed("sata-2009", |hdd| hdd.look_ahead = None);
    let overhead = hdd(&spec).overhead;
    let mut random = Random(5);
    let alone = run(&spec, 1, 1, (0..100).map(|_| read(random.below(900_000_000), 8)));
    assert_eq!(alone.total.overhead, overhead.command * 100);
    let queued = run(&spec, 1, 8, (0..800).map(|_| read(random.below(900_000_000), 8)));
    assert_eq!(queued.total.overhead, overhead.command, "only the first finds the drive idle");
}

#[test]
fn visible_overhead_costs_queued_readers_of_the_buffer_a_part_of_the_rate() {
    let rate = |queued| {
        let spec = changed("sata-2009", |hdd| hdd.overhead.queued = queued);
        run(&spec, 1, 3, (0..20_000).map(|n| read(n * 16, 16))).mb_per_s()
    };
    let (hidden, visible) = (rate(Span::from_us(20)), rate(Span::from_us(150)));
    assert!(hidden > 94.0, "{hidden}");
    // 8 KiB each 150 us.
    assert!((visible / (8.192 / 0.150) - 1.0).abs() < 0.02, "{visible}");
}

#[test]
fn an_interface_slower_than_the_platters_limits_the_rate() {
    let spec = changed("ide-2002", |hdd| hdd.interface = blksched_disks::Rate::from_bytes_per_s(33_000_000));
    let run = run(&spec, 1, 1, (0..2_000).map(|n| read(n * 256, 256)));
    // 128 KiB at 33 MB/s and the overhead of a lone command.
    let exact = 0.131_072 / (0.131_072 / 33.0 + 0.000_3);
    assert!((run.mb_per_s() / exact - 1.0).abs() < 0.01, "{} {exact}", run.mb_per_s());
}
