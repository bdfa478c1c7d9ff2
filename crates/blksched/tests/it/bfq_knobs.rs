//! BFQ's knobs and mechanisms: the decisions under each value and variant.

use crate::queue_kit::{ME, Rig, YOU, at_ms, issued_at_once, one_per_ms};
use blksched::author::Waiter;
use blksched::{
    Bio, Catalogue, Class, Group, GroupId, Instant, Priority, QueueConfig, Reason, Sector, Slots, Span, SubmitterId,
};

/// A load under which a knob has an effect.
struct Scenario {
    knob: &'static str,
    /// Two raw values that lead to different decisions.
    values: [i64; 2],
    decide: fn(&mut Rig) -> Vec<u64>,
    /// First sectors in the order of issue, for each value.
    orders: [&'static [u64]; 2],
}

const MS: i64 = 1_000_000;
const FAR: u64 = 1 << 30;

const SCENARIOS: &[Scenario] = &[
    Scenario {
        knob: "fifo_expire_sync",
        values: [125 * MS, 5 * MS],
        decide: |rig| {
            rig.reads([9000, 1000, 2000]);
            rig.now += Span::from_ms(10);
            one_per_ms(rig)
        },
        orders: [&[1000, 2000, 9000], &[1000, 9000, 2000]],
    },
    Scenario {
        knob: "fifo_expire_async",
        values: [250 * MS, 5 * MS],
        decide: |rig| {
            rig.writes([9000, 1000, 2000]);
            rig.now += Span::from_ms(10);
            one_per_ms(rig)
        },
        orders: [&[1000, 2000, 9000], &[1000, 9000, 2000]],
    },
    Scenario {
        knob: "back_seek_max",
        values: [16384, 400],
        decide: one_a_little_behind_and_one_ahead,
        orders: [&[99_000, 103_000], &[103_000, 99_000]],
    },
    Scenario {
        knob: "back_seek_penalty",
        values: [2, 8],
        decide: one_a_little_behind_and_one_ahead,
        orders: [&[99_000, 103_000], &[103_000, 99_000]],
    },
    Scenario {
        knob: "slice_idle",
        values: [8 * MS, 0],
        decide: |rig| {
            rig.queue.set(rig.now, "low_latency", 0).unwrap();
            rig.new_read(500, 8);
            rig.serve();
            rig.read_by(YOU, FAR, 8);
            issued_at_once(rig)
        },
        // While the disk is left idle, nothing is issued.
        orders: [&[], &[FAR]],
    },
    Scenario {
        knob: "max_budget",
        values: [0, 2048],
        decide: |rig| {
            rig.queue.set(rig.now, "low_latency", 0).unwrap();
            for n in 0..14 {
                rig.read(n * 2000, 1024);
                rig.read_by(YOU, FAR + n * 2000, 1024);
            }
            // The first slices have the initial budget of a new queue.
            starts_of_turns(one_per_ms(rig))
        },
        orders: [&[0, FAR, 20_000, FAR + 20_000], &[0, FAR, 20_000, FAR + 20_000, 24_000, FAR + 24_000]],
    },
    Scenario {
        knob: "timeout_sync",
        values: [124 * MS, 8 * MS],
        decide: |rig| {
            rig.queue.set(rig.now, "low_latency", 0).unwrap();
            for n in 0..12 {
                rig.read(n * 100, 8);
                rig.read_by(YOU, FAR + n * 100, 8);
            }
            starts_of_turns(one_per_ms(rig))
        },
        orders: [&[0, FAR], &[0, FAR, 600, FAR + 800]],
    },
    Scenario {
        knob: "strict_guarantees",
        values: [0, 1],
        decide: |rig| {
            rig.reads([1000, 2000, 3000]);
            issued_at_once(rig)
        },
        orders: [&[1000, 2000, 3000], &[1000]],
    },
    Scenario {
        knob: "low_latency",
        values: [0, 1],
        decide: |rig| {
            // Only queues with the default weight are raised.
            let priority = Priority { class: Class::BestEffort, level: 3 };
            for n in 0..4 {
                rig.submit(Bio { priority, ..Bio::read(0, ME, Sector(n * 100), 8) });
            }
            rig.serve();
            rig.read_by(YOU, FAR, 8);
            one_per_ms(rig).into_iter().take(3).collect()
        },
        orders: [&[100, 200, 300], &[FAR]],
    },
];

fn one_a_little_behind_and_one_ahead(rig: &mut Rig) -> Vec<u64> {
    rig.new_read(99_992, 8);
    rig.serve();
    rig.reads([103_000, 99_000]);
    one_per_ms(rig)
}

/// The first of each run of requests on one side of the disk.
fn starts_of_turns(order: Vec<u64>) -> Vec<u64> {
    let first = order.first().copied();
    let turns = order.windows(2).filter(|pair| (pair[0] < FAR) != (pair[1] < FAR)).map(|pair| pair[1]);
    first.into_iter().chain(turns).collect()
}

fn rig(spec: &str) -> Rig {
    let config = QueueConfig { born: at_ms(10), depth: 31, ..QueueConfig::default() };
    let mut rig = Rig::new(spec, config);
    rig.now = config.born;
    rig
}

fn play(scenario: &Scenario, value: i64) -> Vec<u64> {
    let mut rig = rig("bfq");
    rig.queue.set(rig.now, scenario.knob, value).unwrap();
    (scenario.decide)(&mut rig)
}

#[test]
fn each_value_of_a_knob_gives_the_order_that_it_stands_for() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        assert_ne!(scenario.orders[0], scenario.orders[1]);
        for (value, order) in scenario.values.into_iter().zip(scenario.orders) {
            let played = play(scenario, value);
            if played != order {
                wrong.push(format!("{}={value}: {played:?}, not {order:?}", scenario.knob));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_knob_has_a_scenario() {
    let entry = Catalogue::builtin().parse("bfq").unwrap().entry;
    for knob in entry.knobs {
        let shown = SCENARIOS.iter().any(|scenario| scenario.knob == knob.name) || knob.name == "async_depth";
        assert!(shown, "nothing shows what {} does", knob.name);
    }
}

#[test]
fn in_7_x_async_depth_limits_direct_writes_and_write_back_to_two_thirds_of_that() {
    let [direct, write_back] =
        [Waiter::Sync, Waiter::Async].map(|waiter| Bio { waiter, ..Bio::write_back(0, ME, Sector(0), 8) });
    let tags = |async_depth, bio| tags_for("bfq@7.3", async_depth, bio);
    assert_eq!([None, Some(30), Some(1)].map(|depth| tags(depth, direct)), [46, 30, 1]);
    assert_eq!([None, Some(30), Some(1)].map(|depth| tags(depth, write_back)), [30, 20, 1]);
    assert_eq!(tags_for("bfq", None, write_back), 31);
}

#[test]
fn the_time_for_a_budget_depends_on_the_tick_and_can_be_written_anew() {
    let timeout = |spec: &str| rig(spec).queue.elevator().tunables().get("timeout_sync");
    assert_eq!(["bfq+hz=100", "bfq", "bfq+hz=1000"].map(timeout), [120, 124, 125].map(|ms| Some(ms * MS)));
}

#[test]
fn strict_guarantees_bring_idling_back() {
    let mut rig = rig("bfq");
    rig.queue.set(rig.now, "slice_idle", 0).unwrap();
    rig.queue.set(rig.now, "strict_guarantees", 1).unwrap();
    assert_eq!(rig.queue.elevator().tunables().get("slice_idle"), Some(8 * MS));
}

// ---- mechanisms

/// The numbers of requests issued in the first slices of three readers, two of them in one group.
fn by_group(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    rig.queue.set(rig.now, "timeout_sync", 4 * MS).unwrap();
    for id in [1, 2] {
        rig.queue.set_group(rig.now, GroupId(id), Group::default()).unwrap();
    }
    for n in 0..200 {
        for (reader, group) in [(0, 1), (1, 1), (2, 2)] {
            let start = Sector(u64::from(reader) * FAR + n * 100);
            rig.submit(Bio { group: GroupId(group), ..Bio::read(0, SubmitterId(reader), start, 8) });
        }
    }
    let order = one_per_ms(&mut rig);
    (0..3).map(|reader| order[..150].iter().filter(|&&start| start / FAR == reader).count() as u64).collect()
}

/// How many requests, one per millisecond, are issued before another process's if a slice may take 25 ms.
fn requests_of_a_turn(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    rig.queue.set(rig.now, "timeout_sync", 25 * MS).unwrap();
    for n in 0..60 {
        rig.read(n * 100, 8);
        rig.read_by(YOU, FAR + n * 100, 8);
    }
    vec![one_per_ms(&mut rig).iter().take_while(|&&start| start < FAR).count() as u64]
}

/// How many requests of two processes in one group are issued without a pause; the first process seeks.
fn requests_without_idling(spec: &str) -> usize {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    rig.queue.set_group(rig.now, GroupId(1), Group::default()).unwrap();
    for (who, requests) in [(ME, 25), (YOU, 30)] {
        for n in 1..=requests {
            let start = Sector(u64::from(who.0) * FAR + n * 100_000);
            rig.submit(Bio { group: GroupId(1), ..Bio::read(0, who, start, 8) });
        }
    }
    rig.drain().len()
}

/// When the service time of requests, sent every 4 ms and taking 3.5 ms, is first known. While the measured request is
/// in flight, another process's first request arrives.
fn first_learnt_at_ms(spec: &str) -> u64 {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    let born = rig.now;
    for n in 0..4 {
        rig.now = born + Span::from_ms(4 * n);
        rig.new_read(n * 100, 8);
        let rq = rig.issue().rq;
        rig.now += Span::from_us(3500);
        if n == 3 {
            rig.read_by(YOU, FAR, 8);
        }
        rig.complete(rq);
    }
    let learnt = |(at, reason): (Instant, Reason)| matches!(reason, Reason::InjectionLimit { .. }).then_some(at);
    rig.heard_when().into_iter().find_map(learnt).map_or(0, |at| at.since(born).as_ns() / 1_000_000)
}

/// The tags that write-back may use, of 62 in eight words of eight.
fn tags_for_write_back(spec: &str) -> u32 {
    tags_for(spec, None, Bio::write_back(0, ME, Sector(0), 8))
}

fn tags_for(spec: &str, async_depth: Option<i64>, bio: Bio) -> u32 {
    let slots = Slots::LINUX_6_12.with_nr_requests(62);
    let mut rig = Rig::new(spec, QueueConfig { slots, ..QueueConfig::default() });
    if let Some(async_depth) = async_depth {
        rig.queue.set(rig.now, "async_depth", async_depth).unwrap();
    }
    rig.submit(bio);
    let limit = |reason| match reason {
        Reason::Limited { shallow } => Some(shallow),
        _ => None,
    };
    rig.heard().into_iter().find_map(limit).unwrap()
}

#[test]
fn every_mechanism_decides_as_its_variants_say() {
    assert_eq!(["bfq+hz=100", "bfq", "bfq+hz=1000"].map(|spec| requests_of_a_turn(spec)[0]), [30, 26, 25]);
    let near = |counts: Vec<u64>, expected: [u64; 3]| {
        let all = counts.iter().zip(expected).all(|(count, expected)| count.abs_diff(expected) <= 6);
        assert!(all, "{counts:?}, not {expected:?}");
    };
    near(by_group("bfq+groups=off"), [50, 50, 50]);
    near(by_group("bfq"), [37, 37, 75]);
    let entry = Catalogue::builtin().parse("bfq").unwrap().entry;
    // Recordings show what the others do (`eras` of the conformance tests).
    for name in ["groups", "competition", "newcomer", "tags", "write_limits", "hz"] {
        assert!(entry.mechanisms.iter().any(|mechanism| mechanism.name == name), "{name}");
    }
    // The disk idles for a seeky process with nothing queued if its group counts as competing even when alone.
    let lone = ["bfq@6.1", "bfq", "bfq+competition=woken"].map(requests_without_idling);
    assert_eq!(lone, [25, 55, 25]);
    let learnt = ["bfq@6.1", "bfq", "bfq+newcomer=starts_anew"].map(first_learnt_at_ms);
    assert_eq!(learnt, [0, 15, 0]);
    let tags = ["bfq@6.1", "bfq", "bfq+tags=per_word"].map(tags_for_write_back);
    assert_eq!(tags, [4, 31, 4]);
}
