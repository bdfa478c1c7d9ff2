//! CFQ's mechanisms one by one: a load under which no two variants decide alike, in every era.

mod queue_kit;

use blksched::{Catalogue, Next, QueueConfig, Span};
use queue_kit::{Rig, YOU, at_ms};

const ERAS: &[&str] = &["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33"];

/// What an elevator of a name decides.
type Decide = fn(&str) -> Vec<u64>;
/// The mechanisms shown here.
const SCENARIOS: &[(&str, Decide)] = &[
    ("hz", moments_at_which_the_disk_is_left_idle),
    ("fifo", moments_at_which_a_read_is_late_whose_knob_was_turned),
    ("depth", requests_alone_and_a_read_beside_write_back),
    ("async_depth", write_back_some_time_after_a_read),
    ("next", requests_around_one_whose_time_is_up),
];

fn rig(spec: &str) -> Rig {
    let config = QueueConfig { born: at_ms(10), depth: 64, ..QueueConfig::default() };
    let mut rig = Rig::new(spec, config);
    rig.now = config.born;
    rig
}

/// What goes to the disk before anything comes back.
fn issued_at_once(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let Next::Issue(command) = rig.next() {
        order.push(command.start.0);
    }
    order
}

/// How many milliseconds somebody else's far read is held back for the next read of one that has completed.
fn moments_at_which_the_disk_is_left_idle(spec: &str) -> Vec<u64> {
    let is_idle_after = |&ms: &u64| {
        let mut rig = rig(spec);
        rig.now += Span::from_ms(1);
        rig.new_read(500, 8);
        rig.serve();
        rig.read_by(YOU, 10_000_000, 8);
        rig.next();
        rig.now += Span::from_ms(ms);
        matches!(rig.next(), Next::Idle { .. })
    };
    (0..20).filter(is_idle_after).collect()
}

/// After how many milliseconds a read goes first out of turn, if the knob was turned after it came.
fn moments_at_which_a_read_is_late_whose_knob_was_turned(spec: &str) -> Vec<u64> {
    let is_late_after = |&ms: &u64| {
        let mut rig = rig(spec);
        rig.queue.set(rig.now, "fifo_expire_sync", 10_000_000).unwrap();
        rig.reads([5000, 1000]);
        rig.now += Span::from_ms(5);
        rig.queue.set(rig.now, "fifo_expire_sync", 20_000_000).unwrap();
        rig.now += Span::from_ms(ms);
        rig.serve().0 == 5000
    };
    (0..30).filter(is_late_after).collect()
}

fn requests_alone_and_a_read_beside_write_back(spec: &str) -> Vec<u64> {
    let mut alone = rig(spec);
    (1..=40).for_each(|n| _ = alone.new_read(n * 1000, 8));
    let mut order = issued_at_once(&mut alone);
    let mut mixed = rig(spec);
    mixed.new_write(500, 8);
    mixed.issue();
    mixed.read_by(YOU, 1 << 30, 8);
    order.extend(issued_at_once(&mut mixed));
    order
}

/// 350 ms after the last read and 1360 ms after what counts as the last late one; the slice has not begun.
fn write_back_some_time_after_a_read(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(500, 8);
    rig.serve();
    rig.now += Span::from_ms(350);
    (1..=40).for_each(|n| _ = rig.write_by(YOU, n * 1000, 8));
    issued_at_once(&mut rig)
}

/// The oldest, far from the arm, goes out of turn; what goes then is said by where the next is chosen from.
fn requests_around_one_whose_time_is_up(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "fifo_expire_sync", 5_000_000).unwrap();
    rig.reads([50_000, 1000, 30_000, 51_000]);
    rig.now += Span::from_ms(20);
    issued_at_once(&mut rig)
}

/// What no load here tells apart; the recordings show them era by era.
const WITHOUT_SCENARIOS: &[&str] =
    &["cooperation", "seeks", "trees", "residual", "idling", "preempt", "ncq", "while_idling"];

#[test]
fn every_other_mechanism_has_a_scenario() {
    let catalogue = Catalogue::builtin();
    let entry = catalogue.parse("cfq").unwrap().entry;
    for mechanism in entry.mechanisms {
        let shown = SCENARIOS.iter().any(|(name, _)| *name == mechanism.name);
        assert_ne!(shown, WITHOUT_SCENARIOS.contains(&mechanism.name), "{}", mechanism.name);
    }
}

#[test]
fn the_scenarios_decide_as_the_variants_say() {
    for era in ERAS {
        let spec = |variant: &str| format!("{era}+{variant}");
        let idle = |hz| moments_at_which_the_disk_is_left_idle(&spec(hz)).len();
        // 8 ms are no tick at 100 per second, two at 250 (the first of them partly over) and eight at 1000.
        assert_eq!(["hz=100", "hz=250", "hz=1000"].map(idle), [0, 5, 8], "{era}");
        let late = |fifo| moments_at_which_a_read_is_late_whose_knob_was_turned(&spec(fifo))[0];
        assert_eq!(["fifo=since_made", "fifo=since_inserted"].map(late), [15, 5], "{era}");
        let depth = |depth| requests_alone_and_a_read_beside_write_back(&spec(depth)).len();
        assert_eq!(["depth=quantum", "depth=drain", "depth=drain_or_alone"].map(depth), [17, 16, 40], "{era}");
        let written = |rule| write_back_some_time_after_a_read(&format!("{era}+async_depth={rule}")).len();
        let rules = ["since_last_sync", "since_delayed_sync", "remaining_slice"];
        assert_eq!(rules.map(written), [3, 13, 1], "{era}");
        let next = |from| requests_around_one_whose_time_is_up(&spec(from));
        assert_eq!(next("next=kept"), [50_000, 1000, 30_000, 51_000], "{era}");
        // Only its neighbours by sector are asked.
        assert_eq!(next("next=from_disk"), [50_000, 30_000, 51_000, 1000], "{era}");
        assert_eq!(next("next=from_taken"), [50_000, 51_000, 30_000, 1000], "{era}");
    }
}

#[test]
fn no_two_variants_of_a_mechanism_decide_alike() {
    let catalogue = Catalogue::builtin();
    let mut alike = Vec::new();
    for &(name, decide) in SCENARIOS {
        for era in ERAS {
            let entry = catalogue.parse(era).unwrap().entry;
            let variants = entry.mechanisms.iter().find(|m| m.name == name).unwrap().variants;
            let all: Vec<_> = variants.iter().map(|v| format!("{era}+{name}={}", v.name)).collect();
            let all: Vec<_> = all.iter().map(|spec| (spec, decide(spec))).collect();
            for (nth, (spec, decided)) in all.iter().enumerate() {
                for (other, decided_there) in &all[nth + 1..] {
                    if decided == decided_there {
                        alike.push(format!("{spec} and {other}: {decided:?}"));
                    }
                }
            }
        }
    }
    assert!(alike.is_empty(), "{alike:#?}");
}
