//! CFQ's mechanisms one by one: in every era, a load under which no two variants decide alike. If another mechanism
//! would hide the difference, the load fixes it.

use crate::queue_kit::{ME, Rig, WHO, YOU, at_ms, issued_at_once, one_per_ms};
use blksched::author::Run;
use blksched::{
    Bio, Catalogue, Class, Group, GroupId, Hints, Instant, Next, Priority, QueueConfig, Reason, Sector, Span,
    SubmitterId,
};

const ERAS: &[&str] = &["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33", "cfq@4.20"];
const MS: i64 = 1_000_000;
const FAR: u64 = 1 << 30;

/// The decisions of the elevator with this name.
type Decide = fn(&str) -> Vec<u64>;
/// Every mechanism with its load.
const SCENARIOS: &[(&str, Decide)] = &[
    ("hz", moments_at_which_the_disk_is_left_idle),
    ("fifo", late_reads_and_late_write_back),
    ("depth", requests_alone_and_a_read_beside_write_back_and_two_readers),
    ("async_depth", write_back_some_time_after_a_read),
    ("next", requests_around_one_whose_time_is_up),
    ("cooperation", reads_of_two_side_by_side),
    ("seeks", idling_for_who_seeks_one_way_or_the_other),
    ("first_seek", idling_for_who_has_just_begun_far_out),
    ("trees", real_time_after_best_effort_and_a_lone_seeker),
    ("residual", write_back_that_was_preempted),
    ("idling", idling_for_four_kinds_of_process),
    ("preempt", wishes_to_run_at_once),
    ("ncq", idling_on_a_disk_that_queued_once),
    ("while_idling", the_request_after_one_that_was_idled_for),
    ("clock", the_end_of_idling),
    ("think", idling_for_who_writes_sooner_than_it_reads),
    ("alias", reads_of_one_sector),
    ("write_back", write_back_of_who_became_important),
    ("boost", metadata_of_the_idle_class),
    ("groups", reads_of_a_light_group_beside_a_heavy_one),
    ("charge", slow_reads_beside_fast_ones_without_idling),
];

fn rig(spec: &str) -> Rig {
    let config = QueueConfig { born: at_ms(10), depth: 64, ..QueueConfig::default() };
    let mut rig = Rig::new(spec, config);
    rig.now = config.born;
    rig
}

/// For how many milliseconds another process's distant read is held back in expectation of the next read of a process
/// whose read has completed.
fn moments_at_which_the_disk_is_left_idle(spec: &str) -> Vec<u64> {
    let spec = format!("{spec}+clock=jiffies");
    let is_idle_after = |&ms: &u64| {
        let mut rig = rig(&spec);
        rig.now += Span::from_ms(1);
        rig.new_read(500, 8);
        rig.serve();
        rig.read_by(YOU, 10_000_000, 8);
        let _ = rig.next();
        rig.now += Span::from_ms(ms);
        matches!(rig.next(), Next::Idle { .. })
    };
    (0..20).filter(is_idle_after).collect()
}

/// Whether the disk is left idle for a sequential reader after its first request, which is far from sector 0.
fn idling_for_who_has_just_begun_far_out(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+seeks=per_process+idling=unless_seeky+trees=single"));
    rig.new_read(FAR, 8);
    rig.serve();
    rig.read_by(YOU, 10_000_000, 8);
    vec![u64::from(matches!(rig.next(), Next::Idle { .. }))]
}

/// When reads are late, and how many late writes are dispatched beside a read in flight.
fn late_reads_and_late_write_back(spec: &str) -> Vec<u64> {
    let mut decided = moments_at_which_a_read_is_late_whose_knob_was_turned(spec);
    let mut rig = rig(&format!("{spec}+depth=while_slice_lasts+trees=single"));
    rig.queue.set(rig.now, "slice_idle", 0).unwrap();
    rig.queue.set(rig.now, "fifo_expire_async", 5 * MS).unwrap();
    rig.read_by(YOU, FAR, 8);
    rig.issue();
    rig.writes([1000, 2000]);
    rig.now += Span::from_ms(20);
    decided.push(issued_at_once(&mut rig).len() as u64);
    decided
}

/// After how many milliseconds a read is dispatched out of order, if the knob was changed after its arrival.
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

fn requests_alone_and_a_read_beside_write_back_and_two_readers(spec: &str) -> Vec<u64> {
    let mut order = requests_alone_and_a_read_beside_write_back(spec);
    let mut two = rig(spec);
    (1..=20).for_each(|n| _ = two.new_read(n * 1000, 8));
    two.read_by(YOU, FAR, 8);
    order.extend(issued_at_once(&mut two));
    order
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

/// Write-back 350 ms after the last read and 1360 ms after the last one that counts as delayed; the slice has not
/// begun.
fn write_back_some_time_after_a_read(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.new_read(500, 8);
    rig.serve();
    rig.now += Span::from_ms(350);
    (1..=40).for_each(|n| _ = rig.write_by(YOU, n * 1000, 8));
    issued_at_once(&mut rig)
}

/// The oldest request, far from the arm, is dispatched out of order; the next one depends on the position from which it
/// is chosen.
fn requests_around_one_whose_time_is_up(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.queue.set(rig.now, "fifo_expire_sync", 5_000_000).unwrap();
    rig.reads([50_000, 1000, 30_000, 51_000]);
    rig.now += Span::from_ms(20);
    issued_at_once(&mut rig)
}

/// Reads of mine and yours at one position, and another process's distant read that arrived before yours.
fn reads_of_two_side_by_side(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+trees=by_workload+seeks=per_queue+preempt=class_first"));
    rig.queue.set(rig.now, "quantum", 16).unwrap();
    rig.new_read(1000, 8);
    let mine = rig.issue();
    rig.read_by(WHO, FAR, 8);
    rig.read_by(YOU, 1100, 8);
    rig.complete(mine.rq);
    let mut order = one_per_ms(&mut rig);
    rig.new_read(1300, 8);
    rig.read_by(YOU, 1200, 8);
    rig.new_read(1400, 8);
    order.extend(issued_at_once(&mut rig));
    order
}

/// A sequential reader that writes all over the disk, and a process that jumps a little each time.
fn idling_for_who_seeks_one_way_or_the_other(spec: &str) -> Vec<u64> {
    let spec = format!("{spec}+trees=single+idling=unless_shallow+think=per_process");
    let mut writer = rig(&spec);
    let mut jumper = rig(&spec);
    for nth in 1..=12 {
        writer.now += Span::from_ms(3);
        jumper.now += Span::from_ms(3);
        writer.write_by(ME, FAR * nth, 8);
        drain(&mut writer);
        writer.new_read(nth * 8, 8);
        drain(&mut writer);
        jumper.new_read(nth * 2000, 8);
        drain(&mut jumper);
    }
    vec![idles(&writer), idles(&jumper)]
}

/// In the middle of best effort's time, real-time write-back and then a real-time read arrive. Then a seeky process
/// alone.
fn real_time_after_best_effort_and_a_lone_seeker(spec: &str) -> Vec<u64> {
    let spec = format!("{spec}+idling=unless_shallow+seeks=per_queue+think=per_process");
    let mut rig = self::rig(&spec);
    rig.new_read(500, 8);
    let mine = rig.issue();
    rig.read_by(WHO, FAR, 8);
    rig.complete(mine.rq);
    rig.now += Span::from_ms(9);
    rig.queue.elapse(rig.now);
    let real_time = |level| Priority { class: Class::RealTime, level };
    rig.submit(Bio { priority: real_time(0), ..Bio::write_back(0, YOU, Sector(7000), 8) });
    rig.submit(Bio { priority: real_time(7), ..Bio::read(0, SubmitterId(9), Sector(9000), 8) });
    let mut order = vec![rig.serve().0];
    let mut seeker = self::rig(&spec);
    seek_around(&mut seeker, 12, Span::from_ms(3));
    order.push(idles(&seeker));
    order
}

/// Which process continues after a read has taken the disk from write-back: the same, or another that was waiting; once
/// after the slice has begun, and once before.
fn write_back_that_was_preempted(spec: &str) -> Vec<u64> {
    let after = |begun: bool| {
        let mut rig = rig(&format!("{spec}+trees=single+depth=drain+idling=unless_shallow+preempt=class_first"));
        for (knob, value) in [("slice_idle", 0), ("slice_sync", 40 * MS), ("slice_async", 40 * MS)] {
            rig.queue.set(rig.now, knob, value).unwrap();
        }
        let write = |who, start, level| {
            let priority = Priority { class: Class::BestEffort, level };
            Bio { priority, ..Bio::write_back(0, who, Sector(start), 8) }
        };
        (1..=3).for_each(|n| _ = rig.submit(write(ME, n * 1000, 0)));
        let first = rig.issue();
        rig.submit(write(YOU, FAR, 1));
        if begun {
            rig.now += Span::from_ms(1);
            rig.complete(first.rq);
        }
        rig.now += Span::from_ms(20);
        rig.read_by(WHO, 1 << 20, 8);
        if !begun {
            rig.complete(first.rq);
        }
        assert_eq!(rig.serve().0, 1 << 20);
        rig.serve().0
    };
    vec![after(true), after(false)]
}

/// A seeky process with a think time of 1 ms; a seeky one with four requests at a time; a sequential one, alone, whose
/// think time is too long.
fn idling_for_four_kinds_of_process(spec: &str) -> Vec<u64> {
    let by_window = format!("{spec}+trees=single+seeks=per_queue+think=per_process+clock=jiffies");
    let mut hasty = rig(&by_window);
    let mut deep = rig(&by_window);
    let mut slow = rig(&format!("{spec}+trees=by_workload+seeks=per_queue+think=three_levels"));
    seek_around(&mut hasty, 20, Span::from_ms(1));
    for nth in 1..=8 {
        deep.now += Span::from_ms(3);
        (0..4).for_each(|n| _ = deep.new_read(FAR * (4 * nth + n), 8));
        drain(&mut deep);
        slow.now += Span::from_ms(12);
        slow.new_read(nth * 8, 8);
        drain(&mut slow);
    }
    vec![idles(&hasty), idles(&deep), idles(&slow)]
}

/// How often an arrival requests an immediate run: a close one of yours, twice; one of best effort close to real
/// time's; write-back while the active queue is empty and not idled for.
fn wishes_to_run_at_once(spec: &str) -> Vec<u64> {
    let spec = format!("{spec}+cooperation=none+seeks=per_queue+idling=unless_shallow+trees=single");
    let mut twice = rig(&spec);
    twice.new_read(1000, 8);
    twice.serve();
    twice.write_by(WHO, FAR, 8);
    for nth in 1..=2 {
        for (who, start) in [(YOU, nth * 2000), (ME, nth * 2000 + 1000)] {
            twice.read_by(who, start, 8);
            drain(&mut twice);
        }
    }
    let mut classes = rig(&spec);
    let priority = Priority { class: Class::RealTime, level: 4 };
    classes.submit(Bio { priority, ..Bio::read(0, ME, Sector(1000), 8) });
    classes.serve();
    classes.read_by(YOU, 1100, 8);
    let mut empty = rig(&spec);
    empty.queue.set(empty.now, "slice_idle", 0).unwrap();
    empty.new_read(1000, 8);
    empty.issue();
    empty.write_by(YOU, FAR, 8);
    [twice, classes, empty].iter_mut().map(runs_at_once).collect()
}

/// A disk that takes many requests at a time, then one; at the end a process seeks.
fn idling_on_a_disk_that_queued_once(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+idling=unless_seeky+seeks=per_queue+trees=single+depth=drain_or_alone"));
    (1..=70).for_each(|n| _ = rig.new_read(FAR * n, 8));
    let in_flight: Vec<_> = std::iter::from_fn(|| match rig.next() {
        Next::Issue(command) => Some(command.rq),
        _ => None,
    })
    .collect();
    in_flight.into_iter().for_each(|rq| rig.complete(rq));
    drain(&mut rig);
    (1..=130).for_each(|n| _ = rig.new_read(FAR * n, 8));
    drain(&mut rig);
    seek_around(&mut rig, 6, Span::from_ms(3));
    vec![idles(&rig)]
}

/// The disk idled for me, and I sent two requests; the slice ends before the second.
fn the_request_after_one_that_was_idled_for(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+trees=single+idling=unless_shallow+depth=drain_or_alone+preempt=class_first"));
    for (knob, value) in [("slice_sync", 4 * MS), ("quantum", 8)] {
        rig.queue.set(rig.now, knob, value).unwrap();
    }
    rig.new_read(1000, 8);
    let first = rig.issue();
    rig.read_by(YOU, FAR, 8);
    rig.complete(first.rq);
    rig.now += Span::from_ms(2);
    rig.new_read(1008, 16);
    let mut order = issued_at_once(&mut rig);
    rig.now += Span::from_ms(3);
    rig.new_read(1100, 16);
    order.extend(issued_at_once(&mut rig));
    order
}

fn the_end_of_idling(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.now += Span::from_us(500);
    rig.new_read(500, 8);
    rig.serve();
    rig.queue.deadline().map(Instant::as_ns).into_iter().collect()
}

/// A process that reads 12 ms after its last read completed, but writes after 1 ms.
fn idling_for_who_writes_sooner_than_it_reads(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+trees=single+idling=unless_shallow+seeks=per_queue"));
    for nth in 1..=12 {
        rig.new_read(nth * 8, 8);
        drain(&mut rig);
        rig.now += Span::from_ms(1);
        rig.write_by(ME, FAR + nth * 100, 8);
        rig.now += Span::from_ms(10);
        drain(&mut rig);
        rig.now += Span::from_ms(1);
    }
    rig.new_read(13 * 8, 8);
    drain(&mut rig);
    vec![idles(&rig)]
}

fn reads_of_one_sector(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    rig.read(5000, 8);
    rig.read(1000, 8);
    rig.read(5000, 16);
    rig.drain_whole().into_iter().map(|(start, sectors)| start + u64::from(sectors)).collect()
}

/// You write at level 0 and I at level 4; then I change to level 0 too.
fn write_back_of_who_became_important(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+async_depth=unlimited"));
    for (who, start, level) in [(YOU, 9000, 0), (ME, 1000, 4), (ME, 9500, 0)] {
        let priority = Priority { class: Class::BestEffort, level };
        rig.submit(Bio { priority, ..Bio::write_back(0, who, Sector(start), 8) });
    }
    drain(&mut rig)
}

fn metadata_of_the_idle_class(spec: &str) -> Vec<u64> {
    let mut rig = rig(spec);
    let priority = Priority { class: Class::Idle, level: 7 };
    let read = |start, meta| {
        let hints = Hints { meta, ..Hints::default() };
        Bio { priority, hints, ..Bio::read(0, ME, Sector(start), 8) }
    };
    rig.submit(read(500, false));
    rig.serve();
    rig.submit(read(1000, true));
    rig.read_by(YOU, FAR, 8);
    vec![rig.serve().0]
}

/// How many of 40 reads are mine; my group has a hundredth of the weight of yours.
fn reads_of_a_light_group_beside_a_heavy_one(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+idling=unless_shallow"));
    vec![mine_of_forty(&mut rig, [10, 1000], [1, 1])]
}

/// The same with equal weights, on a disk without idling: my reads take 9 ms each and yours 1 ms.
fn slow_reads_beside_fast_ones_without_idling(spec: &str) -> Vec<u64> {
    let mut rig = rig(&format!("{spec}+groups+idling=unless_shallow"));
    rig.queue.set(rig.now, "slice_idle", 0).unwrap();
    vec![mine_of_forty(&mut rig, [100, 100], [9, 1])]
}

fn mine_of_forty(rig: &mut Rig, weights: [u32; 2], takes_ms: [u64; 2]) -> u64 {
    rig.queue.set(rig.now, "slice_sync", 2 * MS).unwrap();
    // Otherwise 2.6.33 counts all processes that are not idled for as the root's.
    let _only_in_2_6_33 = rig.queue.set(rig.now, "group_isolation", 1);
    for (group, weight) in [1, 2].into_iter().zip(weights) {
        rig.queue.set_group(rig.now, GroupId(group), Group { weight, ..Group::default() }).unwrap();
    }
    let read = |rig: &mut Rig, who: SubmitterId, start| {
        rig.submit(Bio { group: GroupId(who.0), ..Bio::read(0, who, Sector(start), 8) })
    };
    let mut next = [0, FAR];
    for (who, next) in [ME, YOU].into_iter().zip(&mut next) {
        for _ in 0..3 {
            read(rig, who, *next);
            *next += 100;
        }
    }
    let mut mine = 0;
    for _ in 0..40 {
        let Next::Issue(command) = rig.next() else { panic!("six are queued") };
        let side = usize::from(command.start.0 >= FAR);
        mine += u64::from(side == 0);
        rig.now += Span::from_ms(takes_ms[side]);
        read(rig, command.submitter, next[side]);
        next[side] += 100;
        rig.complete(command.rq);
    }
    mine
}

/// This many reads all over the disk, one after the other, each after a think time.
fn seek_around(rig: &mut Rig, times: u64, think: Span) {
    for nth in 1..=times {
        rig.now += think;
        rig.new_read(nth * nth * FAR, 8);
        drain(rig);
    }
}

/// Issues everything that may be dispatched now, each completing at once.
fn drain(rig: &mut Rig) -> Vec<u64> {
    rig.drain()
}

/// Whether the disk is left idle, as a number.
fn idles(rig: &Rig) -> u64 {
    u64::from(rig.queue.deadline().is_some())
}

fn runs_at_once(rig: &mut Rig) -> u64 {
    rig.heard().into_iter().filter(|reason| *reason == Reason::WishedRun(Run::Now)).count() as u64
}

#[test]
fn every_mechanism_has_a_scenario() {
    let catalogue = Catalogue::builtin();
    let entry = catalogue.parse("cfq").unwrap().entry;
    for mechanism in entry.mechanisms {
        assert!(SCENARIOS.iter().any(|(name, _)| *name == mechanism.name), "{}", mechanism.name);
    }
}

#[test]
fn the_scenarios_decide_as_the_variants_say() {
    // 4.20's defaults are not fractions of HZ, and its fifo and depth have a variant that differs from all of these.
    for era in &ERAS[..3] {
        let spec = |variant: &str| format!("{era}+{variant}");
        let idle = |hz| moments_at_which_the_disk_is_left_idle(&spec(hz)).len();
        // 8 ms are 0 ticks at 100 per second, two at 250 (the first of them partly over) and eight at 1000.
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
        // Only its neighbours by sector are compared.
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
            let choice = catalogue.parse(era).unwrap();
            // Not every era has every mechanism.
            if !choice.has(name) {
                continue;
            }
            let entry = choice.entry;
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
