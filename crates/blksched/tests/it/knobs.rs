//! Every knob of every era: setting it changes decisions, before the first request and while running.

use crate::queue_kit::{Rig, YOU, at_ms};
use blksched::tunables::Knob;
use blksched::{Catalogue, QueueConfig};

/// A load under which a knob has an effect.
struct Scenario {
    knob: &'static str,
    eras: &'static [&'static str],
    /// Two raw values that lead to different decisions.
    values: [i64; 2],
    /// Other knobs, set so that no other mechanism interferes.
    others: &'static [(&'static str, i64)],
    /// The load before the first request is issued; the knob may be changed after that.
    before: fn(&mut Rig),
    /// The load afterwards.
    after: fn(&mut Rig),
    /// The order of first sectors for each value, if it is kept throughout.
    orders: [&'static [u64]; 2],
}

const ALL: &[&str] = &[
    "deadline@2.5.38",
    "deadline@2.5.45",
    "deadline@2.6.33",
    "deadline@4.20",
    EARLY_MQ[0],
    EARLY_MQ[1],
    EARLY_MQ[2],
    MQ[0],
    MQ[1],
    MQ[2],
    MQ[3],
];
const OLD: &[&str] = &["deadline@2.5.38", "deadline@2.5.45"];
const NEW: &[&str] =
    &["deadline@2.6.33", "deadline@4.20", EARLY_MQ[0], EARLY_MQ[1], EARLY_MQ[2], MQ[0], MQ[1], MQ[2], MQ[3]];
/// The elevators that continue with a request; the others continue from a position, initially 0, as if writes had been
/// last.
const BY_REQUEST: &[&str] = &[
    "deadline@2.5.38",
    "deadline@2.5.45",
    "deadline@2.6.33",
    "deadline@4.20",
    EARLY_MQ[0],
    EARLY_MQ[1],
    EARLY_MQ[2],
    MQ[0],
];
const BY_PLACE: &[&str] = &[MQ[1], MQ[2], MQ[3]];
const MQ: &[&str] = &["mq-deadline@6.1", "mq-deadline@6.12", "mq-deadline@6.18", "mq-deadline@7.3"];
/// Without ageing.
const EARLY_MQ: &[&str] = &["mq-deadline@4.19", "mq-deadline@5.10", "mq-deadline@5.15"];
const ANTICIPATORY: &[&str] = &["anticipatory@2.6.32"];
const LINUS: &[&str] = &["linus@2.4.18", "linus@2.4.21", "linus@2.5.38"];
/// The knob exists only with the patch.
const READ_LATENCY2: &[&str] = &["linus@2.4.21+read-latency2=on"];
const MS: i64 = 1_000_000;

fn five_reads_and_two_writes(rig: &mut Rig) {
    rig.reads([500, 700, 900, 1100, 1300]);
    rig.writes([100, 150]);
}

fn nothing(_: &mut Rig) {}

const READS_FIRST: &[u64] = &[500, 700, 900, 1100, 1300, 100, 150];
const IN_TURN: &[u64] = &[500, 100, 700, 150, 900, 1100, 1300];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        knob: "read_expire",
        eras: ALL,
        values: [500 * MS, 10 * MS],
        others: &[("fifo_batch", 1)],
        before: |rig| rig.reads([500, 700]),
        after: |rig| {
            rig.reads([100, 800]);
            rig.now = at_ms(100);
        },
        orders: [&[500, 700, 800, 100], &[500, 700, 100, 800]],
    },
    Scenario {
        knob: "write_expire",
        eras: NEW,
        values: [5000 * MS, 10 * MS],
        others: &[("fifo_batch", 1)],
        before: |rig| rig.writes([500, 700]),
        after: |rig| {
            rig.writes([100, 800]);
            rig.now = at_ms(100);
        },
        orders: [&[500, 700, 800, 100], &[500, 700, 100, 800]],
    },
    Scenario {
        knob: "fifo_batch",
        eras: BY_REQUEST,
        values: [1, 200],
        others: &[("writes_starved", 1)],
        before: five_reads_and_two_writes,
        after: nothing,
        orders: [IN_TURN, READS_FIRST],
    },
    Scenario {
        knob: "seek_cost",
        eras: OLD,
        values: [16, 1],
        others: &[("writes_starved", 1), ("fifo_batch", 16)],
        before: five_reads_and_two_writes,
        after: nothing,
        orders: [IN_TURN, READS_FIRST],
    },
    Scenario {
        knob: "writes_starved",
        eras: BY_REQUEST,
        values: [1, 3],
        others: &[("fifo_batch", 1)],
        before: five_reads_and_two_writes,
        after: nothing,
        orders: [IN_TURN, &[500, 700, 900, 100, 1100, 1300, 150]],
    },
    Scenario {
        knob: "front_merges",
        eras: &["deadline@2.6.33", "deadline@4.20", EARLY_MQ[0], EARLY_MQ[1], EARLY_MQ[2], MQ[0]],
        values: [1, 0],
        others: &[],
        before: |rig| rig.reads([5000, 6000, 100]),
        after: |rig| _ = rig.read(92, 8),
        orders: [&[5000, 6000, 92], &[5000, 6000, 100, 92]],
    },
    Scenario {
        knob: "fifo_batch",
        eras: BY_PLACE,
        values: [1, 200],
        others: &[("writes_starved", 1)],
        before: |rig| rig.reads([500, 700, 900, 1100]),
        after: |rig| rig.writes([100, 150]),
        orders: [&[500, 700, 100, 900, 150, 1100], &[500, 700, 900, 1100, 100, 150]],
    },
    Scenario {
        knob: "writes_starved",
        eras: BY_PLACE,
        values: [1, 3],
        others: &[("fifo_batch", 1)],
        before: |rig| rig.reads([500, 700, 900, 1100]),
        after: |rig| rig.writes([100, 150]),
        orders: [&[500, 700, 100, 900, 150, 1100], &[500, 700, 900, 1100, 100, 150]],
    },
    Scenario {
        knob: "front_merges",
        eras: BY_PLACE,
        values: [1, 0],
        others: &[],
        before: |rig| rig.reads([5000, 6000]),
        after: |rig| {
            rig.reads([7000, 100]);
            rig.read(92, 8);
        },
        orders: [&[5000, 6000, 7000, 92], &[5000, 6000, 7000, 100, 92]],
    },
    Scenario {
        knob: "prio_aging_expire",
        eras: MQ,
        values: [10_000 * MS, 10 * MS],
        others: &[],
        before: |rig| {
            rig.real_time_reads([500, 600, 700]);
            rig.reads([100]);
        },
        after: |rig| rig.now = at_ms(100),
        orders: [&[500, 600, 700, 100], &[500, 100, 600, 700]],
    },
    Scenario {
        knob: "read_expire",
        eras: ANTICIPATORY,
        values: [125 * MS, 10 * MS],
        others: &[("antic_expire", 0)],
        before: |rig| rig.reads([500, 700]),
        after: |rig| {
            rig.reads([100, 800]);
            one_at_100_ms_and_the_rest_at_120(rig);
        },
        orders: [&[500, 800, 100], &[500, 100, 800]],
    },
    Scenario {
        knob: "write_expire",
        eras: ANTICIPATORY,
        values: [250 * MS, 10 * MS],
        others: &[],
        before: |rig| rig.writes([500, 700]),
        after: |rig| {
            rig.writes([100, 800]);
            one_at_100_ms_and_the_rest_at_120(rig);
        },
        orders: [&[500, 800, 100], &[500, 100, 800]],
    },
    Scenario {
        knob: "antic_expire",
        eras: ANTICIPATORY,
        values: [6 * MS, 0],
        others: &[],
        before: |rig| rig.reads([500]),
        after: |rig| _ = rig.read_by(YOU, 10_000_000, 8),
        // While the disk is left idle, nothing is issued.
        orders: [&[500], &[500, 10_000_000]],
    },
    Scenario {
        knob: "read_batch_expire",
        eras: ANTICIPATORY,
        values: [500 * MS, 5 * MS],
        others: &[("antic_expire", 0)],
        before: |rig| rig.reads([500, 700, 900, 1100]),
        after: |rig| {
            rig.serve();
            rig.writes([100]);
            rig.now = at_ms(10);
        },
        orders: [&[500, 900, 1100, 100], &[500, 100, 900, 1100]],
    },
    Scenario {
        knob: "write_batch_expire",
        eras: ANTICIPATORY,
        values: [125 * MS, 5 * MS],
        others: &[("antic_expire", 0)],
        before: |rig| {
            rig.reads([500]);
            rig.writes([100, 150, 200]);
        },
        after: |rig| {
            rig.serve();
            rig.reads([700]);
            rig.now = at_ms(10);
        },
        orders: [&[500, 150, 200, 700], &[500, 700, 150, 200]],
    },
    Scenario {
        knob: "read_latency",
        eras: LINUS,
        // With 0, nothing may pass a read: the write is not inserted before 900.
        values: [2048, 0],
        others: &[],
        before: |rig| rig.reads([500]),
        after: |rig| {
            rig.reads([700, 900]);
            rig.writes([800]);
        },
        orders: [&[500, 700, 800, 900], &[500, 700, 900, 800]],
    },
    Scenario {
        knob: "write_latency",
        eras: LINUS,
        values: [8192, 0],
        others: &[],
        before: |rig| rig.reads([500]),
        after: |rig| {
            rig.writes([700, 900]);
            rig.reads([800]);
        },
        orders: [&[500, 700, 800, 900], &[500, 700, 900, 800]],
    },
    Scenario {
        knob: "max_bomb_segments",
        eras: READ_LATENCY2,
        // Each write costs 1. Four do not reach 6, so the read stays at its sorted place.
        values: [6, 2],
        others: &[],
        before: |rig| rig.reads([50]),
        after: |rig| {
            rig.writes([100, 200, 300, 400]);
            rig.reads([1000]);
        },
        orders: [&[50, 100, 200, 300, 400, 1000], &[50, 100, 200, 1000, 300, 400]],
    },
];

fn one_at_100_ms_and_the_rest_at_120(rig: &mut Rig) {
    rig.now = at_ms(100);
    rig.serve();
    rig.now = at_ms(120);
}

/// Knobs that are tested elsewhere: CFQ's in `cfq_knobs`, BFQ's in `bfq_knobs`, the others in the elevator's own file.
fn is_shown_elsewhere(elevator: &str, knob: &str) -> bool {
    // ADIOS's knobs have no scenario of their own: its recordings set them at the beginning and change some while
    // running.
    matches!((elevator, knob), ("cfq" | "kyber" | "bfq" | "adios", _) | ("mq-deadline", "async_depth"))
}

/// Plays a scenario with the knob at `from`, and at `to` once the first request is issued.
fn play(scenario: &Scenario, era: &str, from: i64, to: i64) -> Vec<u64> {
    let mut rig = Rig::new(era, QueueConfig::default());
    for (knob, raw) in scenario.others.iter().copied().chain([(scenario.knob, from)]) {
        rig.queue.set(rig.now, knob, raw).unwrap();
    }
    (scenario.before)(&mut rig);
    let (first, _) = rig.serve();
    rig.queue.set(rig.now, scenario.knob, to).unwrap();
    assert_eq!(rig.queue.elevator().tunables().get(scenario.knob), Some(to));
    (scenario.after)(&mut rig);
    std::iter::once(first).chain(rig.drain()).collect()
}

#[test]
fn each_value_of_a_knob_gives_the_order_that_it_stands_for() {
    for scenario in SCENARIOS {
        assert_ne!(scenario.orders[0], scenario.orders[1]);
        for era in scenario.eras {
            for (value, order) in scenario.values.into_iter().zip(scenario.orders) {
                assert_eq!(play(scenario, era, value, value), order, "{era} {}={value}", scenario.knob);
            }
        }
    }
}

#[test]
fn turning_a_knob_while_running_takes_effect_at_once() {
    for scenario in SCENARIOS {
        let [from, to] = scenario.values;
        for era in scenario.eras {
            let (stayed, turned) = (play(scenario, era, from, from), play(scenario, era, from, to));
            assert_ne!(stayed, turned, "{era}: {} from {from} to {to}", scenario.knob);
        }
    }
}

#[test]
fn every_knob_of_every_era_has_a_scenario() {
    for entry in Catalogue::builtin().entries() {
        let here = |knob: &&Knob| !is_shown_elsewhere(entry.name, knob.name);
        for preset in entry.presets {
            let era = format!("{}@{}", entry.name, preset.kernel);
            for knob in entry.knobs.iter().filter(|knob| knob.kernels.contain(preset.kernel)).filter(here) {
                let shown = SCENARIOS.iter().any(|s| s.knob == knob.name && s.eras.contains(&era.as_str()));
                assert!(shown, "nothing shows what {} does in {era}", knob.name);
            }
        }
    }
}

#[test]
fn an_era_refuses_the_knobs_it_did_not_have_and_every_value_out_of_range() {
    for entry in Catalogue::builtin().entries() {
        for preset in entry.presets {
            let era = format!("{}@{}", entry.name, preset.kernel);
            let mut rig = Rig::new(&era, QueueConfig::default());
            for knob in entry.knobs {
                let had = knob.kernels.contain(preset.kernel);
                assert_eq!(rig.queue.set(rig.now, knob.name, knob.min).is_ok(), had, "{era} {}", knob.name);
                let kept = rig.queue.elevator().tunables().get(knob.name);
                // If every number is valid, there is none out of range.
                let refused =
                    knob.max.checked_add(1).is_none_or(|beyond| rig.queue.set(rig.now, knob.name, beyond).is_err());
                assert!(refused, "{era} {}", knob.name);
                assert_eq!(rig.queue.elevator().tunables().get(knob.name), kept, "{era} {}", knob.name);
            }
        }
    }
}

#[test]
fn every_era_starts_with_its_own_defaults() {
    let knob = |era: &str, name: &str| Rig::new(era, QueueConfig::default()).queue.elevator().tunables().get(name);
    assert_eq!(
        ALL.iter().map(|era| knob(era, "fifo_batch").unwrap()).collect::<Vec<_>>(),
        [64, 32, 16, 16, 16, 16, 16, 16, 16, 16, 16]
    );
    for era in ALL {
        assert_eq!(knob(era, "read_expire"), Some(500 * MS), "{era}");
        assert_eq!(knob(era, "writes_starved"), Some(2), "{era}");
        let is_old = OLD.contains(era);
        assert_eq!(knob(era, "seek_cost"), is_old.then_some(16), "{era}");
        assert_eq!(knob(era, "write_expire"), (!is_old).then_some(5000 * MS), "{era}");
        assert_eq!(knob(era, "front_merges"), (!is_old).then_some(1), "{era}");
    }
}

#[test]
fn writes_starved_below_zero_lets_writes_go_first_and_a_batch_of_none_is_a_batch_of_one() {
    for era in ALL {
        let mut rig = Rig::new(era, QueueConfig::default());
        rig.queue.set(rig.now, "writes_starved", -1).unwrap();
        rig.queue.set(rig.now, "fifo_batch", 0).unwrap();
        rig.new_read(500, 8);
        rig.new_write(100, 8);
        rig.new_write(200, 8);
        assert_eq!(rig.drain(), [100, 200, 500], "{era}");
    }
}

#[test]
fn a_knob_of_other_kernels_is_refused_with_those_that_have_it() {
    for (spec, knob, expected) in [
        ("mq-deadline@5.10", "prio_aging_expire", "`prio_aging_expire` is a knob of 6.1 and later"),
        ("mq-deadline@4.19", "async_depth", "`async_depth` is a knob of 5.15 and later"),
        ("cfq@2.6.33", "slice_sync_us", "`slice_sync_us` is a knob of 4.20 and later"),
        ("deadline@4.20", "seek_cost", "`seek_cost` is a knob of 2.5.38 to 2.5.45"),
        ("deadline@4.20", "fifo_bitch", "no knob is called `fifo_bitch`; did you mean `fifo_batch`?"),
    ] {
        let mut built = Catalogue::builtin().build(spec).unwrap();
        let tunables = built.elevator.tunables_mut().unwrap();
        assert_eq!(tunables.set(knob, 1).unwrap_err().to_string(), expected, "{spec}");
        assert_eq!(tunables.set_text(knob, "1").unwrap_err().to_string(), expected, "{spec}");
    }
}
