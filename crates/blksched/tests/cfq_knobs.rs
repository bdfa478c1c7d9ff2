//! CFQ's knobs: what each value decides, in every era that has it.

mod queue_kit;

use blksched::{Bio, Catalogue, Class, Next, Priority, QueueConfig, Sector, Span};
use queue_kit::{Rig, YOU, at_ms};

/// A load under which a knob matters.
struct Scenario {
    knob: &'static str,
    eras: &'static [&'static str],
    /// Two raw values that decide differently.
    values: [i64; 2],
    decide: fn(&mut Rig) -> Vec<u64>,
    /// First sectors in the order in which they are issued, for either value.
    orders: [&'static [u64]; 2],
}

const ALL: &[&str] = &["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33"];
const LATENCY: &[&str] = &["cfq@2.6.32", "cfq@2.6.33"];
const MS: i64 = 1_000_000;

/// Knobs that nothing here shows: `fairness` needs a disk known to queue, and `group_isolation` does nothing.
const WITHOUT_SCENARIOS: &[&str] = &["fairness", "group_isolation"];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        knob: "quantum",
        eras: ALL,
        values: [1, 3],
        decide: |rig| {
            rig.reads([1000, 2000, 3000, 4000, 5000]);
            rig.read_by(YOU, 1 << 30, 8);
            issued_at_once(rig)
        },
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
            // Level 4 may send eight times as many.
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
            // 2.6.33 begins as if the last late request were a second ago.
            rig.queue.set(rig.now, "slice_sync", 1000 * MS).unwrap();
            rig.writes([1000, 2000, 3000, 4000, 5000]);
            your_write(rig, 1 << 30, 5);
            issued_at_once(rig)
        },
        orders: [&[1000, 2000, 3000, 4000], &[1000]],
    },
];

fn one_a_little_behind_and_one_ahead(rig: &mut Rig) -> Vec<u64> {
    rig.new_read(99_992, 8);
    rig.serve();
    rig.reads([103_000, 99_000]);
    one_per_ms(rig)
}

/// Write-back of another level has a queue of its own.
fn your_write(rig: &mut Rig, start: u64, level: u8) {
    let priority = Priority { class: Class::BestEffort, level };
    rig.submit(Bio { priority, ..Bio::write_back(0, YOU, Sector(start), 8) });
}

/// What goes to the disk before anything comes back.
fn issued_at_once(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let Next::Issue(command) = rig.next() {
        order.push(command.start.0);
    }
    order
}

/// What goes until the disk is left idle, one request at a time and each taking a millisecond.
fn one_per_ms(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let Next::Issue(command) = rig.next() {
        order.push(command.start.0);
        rig.now += Span::from_ms(1);
        rig.complete(command.rq);
    }
    order
}

fn play(scenario: &Scenario, era: &str, value: i64) -> Vec<u64> {
    let config = QueueConfig { born: at_ms(10), depth: 31, ..QueueConfig::default() };
    let mut rig = Rig::new(era, config);
    rig.now = config.born;
    rig.queue.set(rig.now, scenario.knob, value).unwrap();
    (scenario.decide)(&mut rig)
}

#[test]
fn each_value_of_a_knob_gives_the_order_that_it_stands_for() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        assert_ne!(scenario.orders[0], scenario.orders[1]);
        for era in scenario.eras {
            for (value, order) in scenario.values.into_iter().zip(scenario.orders) {
                let played = play(scenario, era, value);
                if played != order {
                    wrong.push(format!("{era} {}={value}: {played:?}, not {order:?}", scenario.knob));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_other_knob_of_every_era_has_a_scenario() {
    let catalogue = Catalogue::builtin();
    let entry = catalogue.entries().iter().find(|entry| entry.name == "cfq").unwrap();
    for preset in entry.presets {
        let era = format!("cfq@{}", preset.kernel);
        let here = |s: &Scenario| s.eras.contains(&era.as_str());
        for knob in entry.knobs.iter().filter(|knob| knob.kernels.contain(preset.kernel)) {
            let shown = SCENARIOS.iter().any(|s| s.knob == knob.name && here(s));
            assert_ne!(shown, WITHOUT_SCENARIOS.contains(&knob.name), "{} in {era}", knob.name);
        }
    }
}
