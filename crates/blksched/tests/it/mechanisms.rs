//! Every mechanism that can be switched separately, in every era that has it: a load under which no two of its variants
//! decide alike.

use crate::queue_kit::{Rig, YOU, at_ms, joined};
use blksched::author::{Mechanism, Waiter};
use blksched::{Bio, Catalogue, Class, Limits, Next, Priority, QueueConfig, Reason, Sector, Slots, Submitted};

/// A load under which a mechanism matters, and the decisions of the elevator with this name.
struct Scenario {
    mechanism: &'static str,
    eras: &'static [&'static str],
    decide: fn(&str) -> Vec<u64>,
}

const OLD: &[&str] = &["deadline@2.5.38", "deadline@2.5.45"];
const NEW: &[&str] = &["deadline@2.6.33", "deadline@4.20"];
const ALL: &[&str] = &["deadline@2.5.38", "deadline@2.5.45", "deadline@2.6.33", "deadline@4.20"];
const ANTICIPATORY: &[&str] = &["anticipatory@2.6.32"];
const MQ: &[&str] = &[
    "mq-deadline@4.19",
    "mq-deadline@5.10",
    "mq-deadline@5.15",
    "mq-deadline@6.1",
    "mq-deadline@6.12",
    "mq-deadline@6.18",
    "mq-deadline@7.3",
];
const KYBER: &[&str] =
    &["kyber@4.19", "kyber@5.10", "kyber@5.15", "kyber@6.1", "kyber@6.12", "kyber@6.18", "kyber@7.3"];
const NONE: &[&str] = &["none@4.19", "none@6.1", "none@6.18"];

const SCENARIOS: &[Scenario] = &[
    Scenario { mechanism: "read-latency2", eras: &["linus@2.4.21"], decide: a_lone_read_beyond_many_writes },
    Scenario { mechanism: "rework", eras: &["linus@2.5.38"], decide: a_second_read_beyond_two_writes },
    Scenario { mechanism: "joins", eras: &["linus@2.5.38"], decide: a_read_behind_one_that_grew },
    Scenario { mechanism: "order", eras: OLD, decide: requests_behind_the_arm },
    Scenario { mechanism: "cost", eras: OLD, decide: long_contiguous_reads_beside_a_write },
    Scenario { mechanism: "arm", eras: OLD, decide: a_request_between_the_issued_and_the_chosen },
    Scenario { mechanism: "expiry", eras: NEW, decide: moments_at_which_a_read_is_late },
    Scenario { mechanism: "alias", eras: NEW, decide: two_requests_with_one_first_sector },
    Scenario { mechanism: "classes", eras: MQ, decide: two_commands_of_three_reads_the_last_of_them_real_time },
    Scenario { mechanism: "ageing", eras: MQ, decide: a_read_queued_before_its_expiry_was_lowered },
    Scenario { mechanism: "position", eras: MQ, decide: reads_on_both_sides_of_the_last_one_after_a_write },
    Scenario { mechanism: "at_head", eras: MQ.split_at(2).1, decide: an_idle_read_handed_back_and_a_real_time_read },
    Scenario { mechanism: "write_limit", eras: MQ, decide: tags_that_a_write_may_use_by_default },
    Scenario { mechanism: "tags", eras: MQ.split_at(3).1, decide: tags_that_a_write_may_use },
    Scenario { mechanism: "merge_priorities", eras: MQ, decide: a_real_time_read_behind_another_one },
    Scenario { mechanism: "merge_priorities", eras: KYBER, decide: a_real_time_read_behind_another_one },
    Scenario { mechanism: "merge_priorities", eras: NONE, decide: a_real_time_read_behind_another_one },
    Scenario { mechanism: "domains", eras: KYBER, decide: a_direct_write_between_two_of_write_back },
    Scenario { mechanism: "tokens", eras: KYBER, decide: tokens_when_the_first_is_given_back },
    Scenario { mechanism: "feedback", eras: KYBER, decide: moments_at_which_latencies_are_looked_at },
    Scenario { mechanism: "limited", eras: KYBER, decide: tags_that_a_direct_write_may_use },
    Scenario { mechanism: "tags", eras: KYBER, decide: tags_that_a_write_may_use },
    Scenario { mechanism: "hz", eras: KYBER, decide: moments_at_which_latencies_are_looked_at_after_slow_reads },
    Scenario { mechanism: "hz", eras: MQ, decide: moments_at_which_a_read_is_late },
    Scenario { mechanism: "hz", eras: ALL, decide: moments_at_which_a_read_is_late },
    Scenario { mechanism: "hz", eras: ANTICIPATORY, decide: moments_at_which_the_disk_is_left_idle },
];

fn rig(spec: &str) -> Rig {
    let limits = Limits { max_sectors: 512, ..Limits::default() };
    Rig::new(spec, QueueConfig { limits, ..QueueConfig::default() })
}

/// By its sector the read belongs behind all the writes.
fn a_lone_read_beyond_many_writes(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.writes([100, 200, 300, 400, 500, 600, 700, 800]);
    rig.new_read(1000, 8);
    rig.drain()
}

/// The first read is needed because the rework's reads cannot be inserted before a write at the head.
fn a_second_read_beyond_two_writes(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(50, 8);
    rig.writes([100, 200]);
    rig.new_read(300, 8);
    rig.drain()
}

/// When 700 arrives, 900 has paid 2 of its 16 for two searches. If it also paid 8 for the growth of 500, it has less
/// left than the 8 sectors of 700, which is then not inserted before it.
fn a_read_behind_one_that_grew(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "read_latency", 16).unwrap();
    rig.reads([100, 900, 500]);
    joined(rig.read(508, 8));
    rig.new_read(700, 8);
    rig.drain()
}

/// A list continues from the arm; a tree begins at the lowest sector.
fn requests_behind_the_arm(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(40, 8);
    rig.serve();
    rig.reads([300, 100, 10]);
    rig.drain()
}

/// Nothing was queued behind the last read when it was taken.
fn a_read_close_behind_the_last_one_and_an_older_one_far_away(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(40, 8);
    rig.serve();
    rig.reads([10, 100, 300]);
    rig.drain()
}

/// A write comes between the last read and the next; one read arrives close behind the last.
fn reads_on_both_sides_of_the_last_one_after_a_write(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "fifo_batch", 1).unwrap();
    rig.queue.set(rig.now, "writes_starved", 0).unwrap();
    rig.reads([500, 300, 700]);
    let (first, _) = rig.serve();
    rig.writes([50]);
    rig.reads([600]);
    std::iter::once(first).chain(rig.drain()).collect()
}

/// 0 for a device that is left alone.
fn two_commands_of_three_reads_the_last_of_them_real_time(spec: &str) -> Vec<u64> {
    let mut rig = Rig::new(spec, QueueConfig { depth: 2, ..QueueConfig::default() });
    rig.reads([100, 200]);
    rig.real_time_reads([400]);
    let first = rig.issue().start.0;
    vec![first, if let Next::Issue(second) = rig.next() { second.start.0 } else { 0 }]
}

/// Then it seems to have been queued in the future.
fn a_read_queued_before_its_expiry_was_lowered(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.reads([100]);
    rig.queue.set(rig.now, "read_expire", 10_000_000).unwrap();
    let issued = if let Next::Issue(read) = rig.next() { read.start.0 } else { 0 };
    vec![issued]
}

/// Whether it merges.
fn a_real_time_read_behind_another_one(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(100, 8);
    let real_time = Priority { class: Class::RealTime, level: 4 };
    let became = rig.submit(Bio { priority: real_time, ..Bio::read(0, YOU, Sector(108), 8) });
    vec![u64::from(matches!(became, Submitted::Merged { .. }))]
}

fn a_direct_write_between_two_of_write_back(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    for (start, waiter) in [(100, Waiter::Async), (200, Waiter::Sync), (300, Waiter::Async)] {
        rig.submit(Bio { waiter, ..Bio::write_back(0, YOU, Sector(start), 8) });
    }
    rig.drain()
}

fn tokens_when_the_first_is_given_back(spec: &str) -> Vec<u64> {
    let mut rig = Rig::new(spec, QueueConfig { depth: 8, ..QueueConfig::default() });
    rig.reads([100, 200, 300]);
    let first = rig.issue();
    rig.issue();
    rig.complete(first.rq);
    rig.issue();
    let token = |reason| if let Reason::TokenTaken { token, .. } = reason { Some(u64::from(token)) } else { None };
    rig.heard().into_iter().filter_map(token).collect()
}

fn an_idle_read_handed_back_and_a_real_time_read(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    let idle = Priority { class: Class::Idle, level: 7 };
    rig.submit(Bio { priority: idle, ..Bio::read(0, YOU, Sector(100), 8) });
    let handed_back = rig.issue();
    rig.requeue(handed_back.rq);
    rig.real_time_reads([400]);
    rig.drain()
}

/// The tags of 62, in eight words of eight, that a write may use; half of them for mq-deadline.
fn tags_that_a_write_may_use(spec: &str) -> Vec<u64> {
    tags_for(spec, Some(31), Waiter::Async)
}

fn tags_that_a_write_may_use_by_default(spec: &str) -> Vec<u64> {
    tags_for(spec, None, Waiter::Async)
}

fn tags_that_a_direct_write_may_use(spec: &str) -> Vec<u64> {
    tags_for(spec, Some(31), Waiter::Sync)
}

fn tags_for(spec: &str, async_depth: Option<i64>, waiter: Waiter) -> Vec<u64> {
    let slots = Slots::LINUX_6_12.with_nr_requests(62);
    let mut rig = Rig::new(spec, QueueConfig { slots, ..QueueConfig::default() });
    if let Some(async_depth) = async_depth {
        _ = rig.queue.set(rig.now, "async_depth", async_depth);
    }
    rig.submit(Bio { waiter, ..Bio::write_back(0, YOU, Sector(100), 8) });
    let limits = |reason| match reason {
        Reason::Limited { shallow } => Some(u64::from(shallow)),
        _ => None,
    };
    rig.heard().into_iter().filter_map(limits).collect()
}

/// Four points of cost are four requests, or two of 256 KiB.
fn long_contiguous_reads_beside_a_write(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "fifo_batch", 4).unwrap();
    rig.queue.set(rig.now, "writes_starved", 1).unwrap();
    for start in [0, 512, 1024, 1536, 2048] {
        rig.new_read(start, 512);
    }
    rig.new_write(90_000, 8);
    rig.drain()
}

/// 300 is ahead of the request issued (100) and behind the one on the dispatch list (500).
fn a_request_between_the_issued_and_the_chosen(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.reads([100, 500]);
    rig.serve();
    rig.reads([900, 300]);
    rig.drain()
}

fn two_requests_with_one_first_sector(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(50, 8);
    rig.new_read(100, 8);
    rig.new_read(100, 4);
    rig.drain()
}

/// At which milliseconds a read queued at 1 ms with an expiry of 5 ms is dispatched out of order.
fn moments_at_which_a_read_is_late(spec: &str) -> Vec<u64> {
    let is_late_at = |&ms: &u64| {
        let mut rig = rig(spec);
        rig.queue.set(rig.now, "fifo_batch", 1).unwrap();
        rig.queue.set(rig.now, "read_expire", 5_000_000).unwrap();
        rig.now = at_ms(1);
        rig.reads([500, 700]);
        rig.serve();
        rig.reads([100, 800]);
        rig.now = at_ms(ms);
        rig.serve();
        rig.serve() == (100, 8)
    };
    (1..40).filter(is_late_at).collect()
}

/// At which milliseconds another process's distant read is held back in expectation of the next read of a process whose
/// read completed at 1 ms.
fn moments_at_which_the_disk_is_left_idle(spec: &str) -> Vec<u64> {
    let is_idle_at = |&ms: &u64| {
        let mut rig = rig(spec);
        rig.now = at_ms(1);
        rig.new_read(500, 8);
        rig.serve();
        rig.read_by(YOU, 10_000_000, 8);
        let _ = rig.next();
        rig.now = at_ms(ms);
        matches!(rig.next(), Next::Idle { .. })
    };
    (1..40).filter(is_idle_at).collect()
}

/// When Kyber next judges latencies \[µs\], for a read that completes at each of these milliseconds.
fn moments_at_which_latencies_are_looked_at(spec: &str) -> Vec<u64> {
    let look_after = |ms: u64| {
        let mut rig = rig(spec);
        rig.now = at_ms(ms);
        rig.new_read(500, 8);
        rig.serve();
        rig.queue.deadline().map_or(0, |at| at.as_ns() / 1000)
    };
    (1..20).map(look_after).collect()
}

/// The same for reads that take longer than the target.
fn moments_at_which_latencies_are_looked_at_after_slow_reads(spec: &str) -> Vec<u64> {
    let look_after = |ms: u64| {
        let mut rig = rig(spec);
        rig.now = at_ms(ms);
        rig.new_read(500, 8);
        let read = rig.issue();
        rig.now = at_ms(ms + 3);
        rig.complete(read.rq);
        rig.queue.deadline().map_or(0, |at| at.as_ns() / 1000)
    };
    (1..20).map(look_after).collect()
}

/// The decisions of each variant of a mechanism in an era.
fn decisions(scenario: &Scenario, mechanism: &Mechanism, era: &str) -> Vec<(String, Vec<u64>)> {
    let specs = mechanism.variants.iter().map(|variant| format!("{era}+{}={}", mechanism.name, variant.name));
    specs.map(|spec| (spec.clone(), (scenario.decide)(&spec))).collect()
}

#[test]
fn no_two_variants_of_a_mechanism_decide_alike() {
    let catalogue = Catalogue::builtin();
    for scenario in SCENARIOS {
        for era in scenario.eras {
            let entry = catalogue.parse(era).unwrap().entry;
            let mechanism = entry.mechanisms.iter().find(|m| m.name == scenario.mechanism).unwrap();
            let all = decisions(scenario, mechanism, era);
            for (nth, (spec, decided)) in all.iter().enumerate() {
                for (other, decided_there) in &all[nth + 1..] {
                    assert_ne!(decided, decided_there, "{spec} and {other}");
                }
            }
        }
    }
}

#[test]
fn an_era_decides_as_its_own_row_says() {
    let catalogue = Catalogue::builtin();
    for scenario in SCENARIOS {
        for era in scenario.eras {
            let own = catalogue.parse(era).unwrap().variant(scenario.mechanism);
            let spelt_out = format!("{era}+{}={own}", scenario.mechanism);
            assert_eq!((scenario.decide)(era), (scenario.decide)(&spelt_out), "{spelt_out}");
        }
    }
}

#[test]
fn every_mechanism_of_every_era_has_a_scenario_and_every_variant_a_place() {
    let catalogue = Catalogue::builtin();
    // CFQ's are in `cfq_mechanisms`, BFQ's in `bfq_knobs`; ADIOS's is the length of a tick, which its recordings
    // specify.
    for entry in catalogue.entries().iter().filter(|entry| !["cfq", "bfq", "adios"].contains(&entry.name)) {
        for preset in entry.presets {
            let era = format!("{}@{}", entry.name, preset.kernel);
            for (mechanism, _) in preset.row {
                let shown = SCENARIOS.iter().any(|s| s.mechanism == *mechanism && s.eras.contains(&era.as_str()));
                assert!(shown, "nothing shows what {mechanism} does in {era}");
            }
        }
        for mechanism in entry.mechanisms {
            assert!(mechanism.variants.len() > 1, "{} of {} leaves no choice", mechanism.name, entry.name);
            let used = entry.presets.iter().any(|preset| preset.row.iter().any(|(name, _)| *name == mechanism.name));
            assert!(used, "no era of {} has {}", entry.name, mechanism.name);
        }
    }
}

#[test]
fn the_scenarios_decide_as_the_notes_say() {
    let writes_before = |spec| a_lone_read_beyond_many_writes(spec).iter().position(|&start| start == 1000);
    // Six, which cost 1 each.
    assert_eq!(["linus@2.4.21", "linus@2.4.21+read-latency2=on"].map(writes_before), [Some(8), Some(6)]);
    assert_eq!(a_second_read_beyond_two_writes("linus@2.5.38"), [50, 100, 200, 300]);
    assert_eq!(a_second_read_beyond_two_writes("linus@2.5.38+rework=on"), [50, 300, 100, 200]);
    assert_eq!(a_read_behind_one_that_grew("linus@2.5.38"), [100, 500, 900, 700]);
    assert_eq!(a_read_behind_one_that_grew("linus@2.5.38+joins=free"), [100, 500, 700, 900]);
    let spec = "deadline@2.5.45";
    assert_eq!(requests_behind_the_arm(spec), [100, 300, 10]);
    assert_eq!(requests_behind_the_arm("deadline@2.5.45+order=tree"), [10, 100, 300]);
    assert_eq!(long_contiguous_reads_beside_a_write(spec), [0, 512, 90_000, 1024, 1536, 2048]);
    let per_request = long_contiguous_reads_beside_a_write("deadline@2.5.45+cost=per_request");
    assert_eq!(per_request, [0, 512, 1024, 1536, 90_000, 2048]);
    assert_eq!(a_request_between_the_issued_and_the_chosen(spec), [500, 900, 300]);
    let issued = a_request_between_the_issued_and_the_chosen("deadline@2.5.45+arm=last_issued");
    assert_eq!(issued, [500, 300, 900]);
    assert_eq!(two_requests_with_one_first_sector("deadline@2.6.33"), [100, 50, 100]);
    assert_eq!(two_requests_with_one_first_sector("deadline@4.20"), [50, 100, 100]);
    let first_late = |spec: &str| moments_at_which_a_read_is_late(spec)[0];
    assert_eq!([100, 250, 300, 1000].map(|hz| first_late(&format!("deadline@2.6.33+hz={hz}"))), [20, 12, 10, 7]);
    assert_eq!([100, 250, 300, 1000].map(|hz| first_late(&format!("deadline@4.20+hz={hz}"))), [10, 8, 7, 6]);
    let position = |variant| {
        a_read_close_behind_the_last_one_and_an_older_one_far_away(&format!("mq-deadline+position={variant}"))
    };
    assert_eq!(position("next_rq"), [10, 100, 300]);
    assert_eq!(position("latest_pos"), [100, 300, 10]);
    let position =
        |variant| reads_on_both_sides_of_the_last_one_after_a_write(&format!("mq-deadline@6.1+position={variant}"));
    assert_eq!(position("next_rq_of_both"), [500, 50, 300, 600, 700]);
    assert_eq!(position("next_rq"), [500, 50, 700, 300, 600]);
    assert_eq!(position("latest_pos"), [300, 50, 500, 600, 700]);
    let classes = ["4.19", "5.15", "6.1"]
        .map(|era| two_commands_of_three_reads_the_last_of_them_real_time(&format!("mq-deadline@{era}")));
    assert_eq!(classes, [[100, 200], [400, 100], [400, 0]]);
    let limits =
        ["5.10", "5.15", "6.1", "6.18"].map(|era| tags_that_a_write_may_use_by_default(&format!("mq-deadline@{era}")));
    assert_eq!(limits, [vec![], vec![46], vec![8], vec![62]]);
    assert_eq!(a_direct_write_between_two_of_write_back("kyber@4.19"), [200, 100, 300]);
    assert_eq!(["kyber@4.19", "kyber"].map(tokens_when_the_first_is_given_back), [[0, 1, 0], [0, 1, 2]]);
    let direct = ["kyber@6.18", "kyber@7.3"].map(tags_that_a_direct_write_may_use);
    assert_eq!(direct, [vec![], vec![31]]);
    let handed_back = |era: &str| an_idle_read_handed_back_and_a_real_time_read(era);
    assert_eq!((handed_back("mq-deadline@6.1"), handed_back("mq-deadline")), (vec![400, 100], vec![100, 400]));
    let tags = ["mq-deadline@6.1", "mq-deadline", "kyber@6.1", "kyber"].map(|era| tags_that_a_write_may_use(era)[0]);
    assert_eq!(tags, [4, 31, 6, 46]);
    assert_eq!([250, 1000].map(|hz| first_late(&format!("mq-deadline+hz={hz}"))), [8, 6]);
    assert_eq!(moments_at_which_latencies_are_looked_at("kyber")[..5], [100_000, 100_000, 100_000, 104_000, 104_000]);
    let idle = |hz| moments_at_which_the_disk_is_left_idle(&format!("anticipatory+hz={hz}"));
    assert_eq!([100, 250, 1000].map(|hz| idle(hz).last().copied()), [Some(9), Some(3), Some(6)]);
}
