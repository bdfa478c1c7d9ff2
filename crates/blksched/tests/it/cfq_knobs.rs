//! CFQ's knobs: the decisions under each value, in every era that has it.

use crate::queue_kit::{ME, Rig, YOU, at_ms, issued_at_once, one_per_ms};
use blksched::author::RequestId;
use blksched::{Bio, Catalogue, Class, Group, GroupId, Next, Priority, QueueConfig, Sector, Span};

/// A load under which a knob has an effect.
struct Scenario {
    knob: &'static str,
    eras: &'static [&'static str],
    /// Two raw values that lead to different decisions.
    values: [i64; 2],
    decide: fn(&mut Rig) -> Vec<u64>,
    /// First sectors in the order of issue, for each value.
    orders: [&'static [u64]; 2],
}

const ALL: &[&str] = &["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33", "cfq@4.20", "cfq@4.20+groups"];
const OLD: &[&str] = &["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33"];
const LATENCY: &[&str] = &["cfq@2.6.32", "cfq@2.6.33", "cfq@4.20", "cfq@4.20+groups"];
const NEW: &[&str] = &["cfq@4.20", "cfq@4.20+groups"];
const MS: i64 = 1_000_000;

const SCENARIOS: &[Scenario] = &[
    Scenario {
        knob: "quantum",
        eras: OLD,
        values: [1, 3],
        decide: five_of_mine_and_one_of_yours,
        orders: [&[1000], &[1000, 2000, 3000]],
    },
    Scenario {
        knob: "quantum",
        eras: NEW,
        // Half of it, before the slice has begun.
        values: [2, 6],
        decide: five_of_mine_and_one_of_yours,
        orders: [&[1000], &[1000, 2000, 3000]],
    },
    Scenario {
        knob: "fifo_expire_sync",
        eras: ALL,
        values: [125 * MS, 5 * MS],
        decide: |rig| {
            rig.reads([5000, 1000]);
            rig.now += Span::from_ms(10);
            one_per_ms(rig)
        },
        orders: [&[1000, 5000], &[5000, 1000]],
    },
    Scenario {
        knob: "fifo_expire_async",
        eras: ALL,
        values: [250 * MS, 5 * MS],
        decide: |rig| {
            rig.writes([5000, 1000]);
            rig.now += Span::from_ms(10);
            one_per_ms(rig)
        },
        orders: [&[1000, 5000], &[5000, 1000]],
    },
    Scenario {
        knob: "back_seek_max",
        eras: ALL,
        values: [16384, 400],
        decide: one_a_little_behind_and_one_ahead,
        orders: [&[99_000, 103_000], &[103_000, 99_000]],
    },
    Scenario {
        knob: "back_seek_penalty",
        eras: ALL,
        values: [2, 8],
        decide: one_a_little_behind_and_one_ahead,
        orders: [&[99_000, 103_000], &[103_000, 99_000]],
    },
    Scenario {
        knob: "slice_sync",
        eras: ALL,
        values: [100 * MS, 2 * MS],
        decide: |rig| {
            rig.reads([1000, 2000, 3000, 4000, 5000]);
            rig.read_by(YOU, 1 << 30, 8);
            one_per_ms(rig)
        },
        orders: [&[1000, 2000, 3000, 4000, 5000], &[1000, 2000, 3000, 1 << 30]],
    },
    Scenario {
        knob: "slice_async",
        eras: ALL,
        values: [40 * MS, 2 * MS],
        decide: |rig| {
            rig.writes([1000, 2000, 3000, 4000, 5000]);
            your_write(rig, 1 << 30, 5);
            one_per_ms(rig)
        },
        orders: [&[1000, 2000, 3000, 4000, 5000, 1 << 30], &[1000, 2000, 3000, 1 << 30, 4000, 5000]],
    },
    Scenario {
        knob: "slice_async_rq",
        eras: ALL,
        values: [2, 1],
        decide: |rig| {
            (1..=12).for_each(|n| _ = rig.new_write(n * 1000, 8));
            rig.serve();
            your_write(rig, 1 << 30, 3);
            // Level 4 may dispatch eight times as many.
            one_per_ms(rig).into_iter().skip(6).take(3).collect()
        },
        orders: [&[8000, 9000, 10_000], &[8000, 1 << 30, 9000]],
    },
    Scenario {
        knob: "slice_idle",
        eras: ALL,
        values: [8 * MS, 0],
        decide: |rig| {
            rig.new_read(500, 8);
            rig.serve();
            rig.read_by(YOU, 1 << 30, 8);
            issued_at_once(rig)
        },
        // While the disk is left idle, nothing is issued.
        orders: [&[], &[1 << 30]],
    },
    Scenario {
        knob: "low_latency",
        eras: LATENCY,
        values: [0, 1],
        decide: |rig| {
            // 2.6.33 begins as if the last delayed request had completed a second ago.
            rig.queue.set(rig.now, "slice_sync", 1000 * MS).unwrap();
            rig.writes([1000, 2000, 3000, 4000, 5000]);
            your_write(rig, 1 << 30, 5);
            issued_at_once(rig)
        },
        orders: [&[1000, 2000, 3000, 4000], &[1000]],
    },
    Scenario {
        knob: "fairness",
        eras: &["cfq@2.6.31"],
        values: [0, 1],
        decide: |rig| {
            // A process that seeks; the disk counts as having NCQ until it has shown that it does not.
            for start in [100_000, 120_000, 140_000, 160_000] {
                rig.now += Span::from_ms(3);
                rig.new_read(start, 8);
                rig.serve();
            }
            rig.read_by(YOU, 1 << 30, 8);
            issued_at_once(rig)
        },
        orders: [&[1 << 30], &[]],
    },
    Scenario {
        knob: "group_isolation",
        eras: &["cfq@2.6.33+groups"],
        values: [0, 1],
        decide: seekers_and_their_groups,
        // In the root weights have no effect, and I am always first.
        orders: [&[39], &[3]],
    },
    Scenario {
        knob: "group_idle",
        eras: NEW,
        values: [8 * MS, 0],
        decide: |rig| {
            rig.queue.set(rig.now, "slice_idle", 0).unwrap();
            rig.queue.set(rig.now, "fifo_expire_sync", MS).unwrap();
            rig.new_read(500, 8);
            rig.serve();
            rig.now += Span::from_ms(20);
            rig.reads([9000, 8000]);
            rig.now += Span::from_ms(2);
            issued_at_once(rig)
        },
        // The disk was left idle for the group in vain, so this is a new slice, which checks age first.
        orders: [&[9000, 8000], &[8000, 9000]],
    },
    Scenario {
        knob: "target_latency",
        eras: NEW,
        values: [300 * MS, 10 * MS],
        decide: |rig| {
            rig.queue.set(rig.now, "slice_idle", MS).unwrap();
            (1..=10).for_each(|n| _ = rig.new_read(n * 1000, 8));
            rig.read_by(YOU, 1 << 30, 8);
            one_per_ms(rig).into_iter().take(8).collect()
        },
        orders: [&[1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000], &[1000, 2000, 3000, 4000, 5000, 6000, 1 << 30]],
    },
];

/// How many of the first 40 random reads issued are mine; my group has a hundredth of the weight of yours.
fn seekers_and_their_groups(rig: &mut Rig) -> Vec<u64> {
    rig.queue.set(rig.now, "slice_sync", 2 * MS).unwrap();
    for (group, weight) in [(1, 10), (2, 1000)] {
        rig.queue.set_group(rig.now, GroupId(group), Group { weight, ..Group::default() }).unwrap();
    }
    let mut random = 1u64;
    let mut read = |rig: &mut Rig, submitter, group, base: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bio = Bio::read(0, submitter, Sector(base + (random >> 34) * 8), 8);
        rig.submit(Bio { group: GroupId(group), ..bio });
    };
    let mut mine = 0;
    for _ in 0..40 {
        read(rig, ME, 1, 0);
        read(rig, YOU, 2, 1 << 40);
        let Some(start) = one_per_ms(rig).first().copied() else { continue };
        mine += u64::from(start < 1 << 40);
    }
    vec![mine]
}

fn one_a_little_behind_and_one_ahead(rig: &mut Rig) -> Vec<u64> {
    rig.new_read(99_992, 8);
    rig.serve();
    rig.reads([103_000, 99_000]);
    one_per_ms(rig)
}

fn five_of_mine_and_one_of_yours(rig: &mut Rig) -> Vec<u64> {
    rig.reads([1000, 2000, 3000, 4000, 5000]);
    rig.read_by(YOU, 1 << 30, 8);
    issued_at_once(rig)
}

/// Write-back of another level has a queue of its own.
fn your_write(rig: &mut Rig, start: u64, level: u8) {
    let priority = Priority { class: Class::BestEffort, level };
    rig.submit(Bio { priority, ..Bio::write_back(0, YOU, Sector(start), 8) });
}

fn play(scenario: &Scenario, knob: &str, era: &str, value: i64) -> Vec<u64> {
    let config = QueueConfig { born: at_ms(10), depth: 31, ..QueueConfig::default() };
    let mut rig = Rig::new(era, config);
    rig.now = config.born;
    rig.queue.set(rig.now, knob, value).unwrap();
    (scenario.decide)(&mut rig)
}

/// The knob under each of its names in this era: 4.20 also has times in microseconds.
fn names(scenario: &Scenario, era: &str) -> Vec<String> {
    let knobs = Catalogue::builtin().build(era).unwrap().elevator;
    let in_us = format!("{}_us", scenario.knob);
    let names = [scenario.knob.to_owned(), in_us].into_iter();
    names.filter(|name| knobs.tunables().find(name).is_ok()).collect()
}

#[test]
fn each_value_of_a_knob_gives_the_order_that_it_stands_for() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        assert_ne!(scenario.orders[0], scenario.orders[1]);
        for era in scenario.eras {
            for knob in names(scenario, era) {
                for (value, order) in scenario.values.into_iter().zip(scenario.orders) {
                    let played = play(scenario, &knob, era, value);
                    if played != order {
                        wrong.push(format!("{era} {knob}={value}: {played:?}, not {order:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_knob_of_every_era_has_a_scenario() {
    let catalogue = Catalogue::builtin();
    let entry = catalogue.entries().iter().find(|entry| entry.name == "cfq").unwrap();
    for preset in entry.presets {
        let era = format!("cfq@{}", preset.kernel);
        let of_era = |s: &&Scenario| s.eras.iter().any(|spec| spec.split('+').next() == Some(&era));
        let shown: Vec<String> = SCENARIOS.iter().filter(of_era).flat_map(|s| names(s, &era)).collect();
        for knob in entry.knobs.iter().filter(|knob| knob.kernels.contain(preset.kernel)) {
            assert!(shown.iter().any(|name| name == knob.name), "{} in {era}", knob.name);
        }
    }
}

/// Five reads of mine and one of yours; my first is in the disk.
fn amid_reads(era: &str) -> (Rig, RequestId) {
    let config = QueueConfig { born: at_ms(10), depth: 31, ..QueueConfig::default() };
    let mut rig = Rig::new(era, config);
    rig.now = config.born;
    rig.queue.set(rig.now, "quantum", 1).unwrap();
    let first = rig.new_read(1000, 8);
    rig.reads([2000, 3000, 4000, 5000]);
    rig.read_by(YOU, 1 << 30, 8);
    assert_eq!(issued_at_once(&mut rig), [1000], "{era}");
    (rig, first)
}

#[test]
fn quantum_turned_while_requests_are_in_flight_counts_at_once() {
    for era in ALL {
        let (mut rig, _) = amid_reads(era);
        let quantum = if NEW.contains(era) { 6 } else { 3 };
        rig.queue.set(rig.now, "quantum", quantum).unwrap();
        assert_eq!(issued_at_once(&mut rig), [2000, 3000], "{era}");
    }
}

#[test]
fn slice_sync_turned_during_a_turn_counts_from_the_next_one_on() {
    for era in ALL {
        let (mut rig, first) = amid_reads(era);
        rig.queue.set(rig.now, "slice_sync", 2 * MS).unwrap();
        rig.queue.set(rig.now, "quantum", 8).unwrap();
        // The slice of 2 ms begins with the first completion.
        rig.now += Span::from_ms(1);
        rig.complete(first);
        rig.queue.set(rig.now, "slice_sync", 100 * MS).unwrap();
        assert_eq!(one_per_ms(&mut rig)[..3], [2000, 3000, 1 << 30], "{era}");
    }
}

#[test]
fn slice_idle_turned_to_nothing_lets_a_running_timer_run_out_and_starts_no_other() {
    for era in ALL {
        let mut rig = Rig::new(era, QueueConfig { born: at_ms(10), ..QueueConfig::default() });
        rig.now = at_ms(10);
        rig.new_read(500, 8);
        rig.serve();
        rig.write_by(YOU, 1 << 30, 8);
        let Next::Idle { until, .. } = rig.next() else { panic!("{era}: the disk idles") };
        for knob in ["slice_idle", "group_idle"] {
            // 4.20 also idles for groups.
            let turned = rig.queue.set(rig.now, knob, 0);
            assert!(turned.is_ok() || !NEW.contains(era), "{era}");
        }
        assert!(matches!(rig.next(), Next::Idle { until: still, .. } if still == until), "{era}");
        rig.now = until;
        assert_eq!(rig.serve().0, 1 << 30, "{era}");
        rig.new_read(508, 8);
        rig.serve();
        rig.write_by(YOU, 1 << 29, 8);
        assert_eq!(rig.serve().0, 1 << 29, "{era}");
    }
}
