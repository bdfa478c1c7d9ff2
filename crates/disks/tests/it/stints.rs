//! What the medium is doing belongs to somebody, and to one at a time: the lengths of a part's stints add up to the
//! time that it was busy, and everybody's to what the disk itself counted for them.

use std::collections::BTreeMap;

use crate::support::*;
use blksched::{Command, Instant, Op, Span, SubmitterId};
use blksched_disks::{Disk, DiskSpec, Stint, StintWork, load, presets};

fn disks() -> Vec<DiskSpec> {
    let arrays = [
        "raid0:2xhdd-7200-ideal",
        "raid1:2xhdd-7200-ideal",
        "raid5:3xhdd-7200-ideal",
        "raid6:4xhdd-7200-ideal,failed=1",
        "raid0:2xsata-ssd-ideal",
    ];
    presets().into_iter().chain(arrays.map(|array| load(array).unwrap())).collect()
}

/// Every stint of a run at `depth`, with its submitter, and the disk afterwards.
fn watched(spec: &DiskSpec, depth: u32, commands: Vec<Command>) -> (Vec<(SubmitterId, Stint)>, Box<dyn Disk>, Span) {
    let mut disk = spec.build(3);
    disk.watch();
    let depth = depth.min(disk.facts().depth);
    let mut flights = vec![None; depth as usize];
    let (mut free, mut commands) = ((0..depth).rev().collect::<Vec<u32>>(), commands.into_iter());
    let (mut now, mut told, mut all) = (Instant::ZERO, Vec::new(), Vec::new());
    loop {
        while let Some(&rq) = free.last()
            && let Some(command) = commands.next()
        {
            free.pop();
            flights[rq as usize] = Some(command.submitter);
            disk.start(now, numbered(rq, command));
            hear(&mut *disk, now, &flights, &mut told, &mut all);
        }
        let Some(next) = disk.next() else { break };
        now = next;
        loop {
            let finished = disk.finish(now);
            hear(&mut *disk, now, &flights, &mut told, &mut all);
            let Some(finished) = finished else { break };
            flights[finished.rq.index()] = None;
            free.push(finished.rq.index() as u32);
        }
    }
    assert_eq!(disk.in_flight(), 0, "{}", spec.name);
    (all, disk, now.since(Instant::ZERO))
}

/// Takes the disk's reports: nothing about the past, and only commands in flight.
fn hear(
    disk: &mut dyn Disk,
    now: Instant,
    flights: &[Option<SubmitterId>],
    told: &mut Vec<Stint>,
    all: &mut Vec<(SubmitterId, Stint)>,
) {
    disk.stints(told);
    for stint in told.drain(..) {
        assert!(now <= stint.from && stint.from < stint.until && stint.part < disk.parts(), "{stint:?} at {now}");
        let who = match stint.work {
            StintWork::Command(rq) => flights[rq.index()].expect("a command in flight"),
            StintWork::Cached(submitter) => submitter,
            StintWork::Upkeep => SubmitterId(u32::MAX),
        };
        all.push((who, stint));
    }
}

fn commands(spec: &DiskSpec, count: u64, seed: u64) -> Vec<Command> {
    let sectors = spec.build(1).facts().sectors - 4_096;
    let mut random = Random(seed);
    let mut any = |n: u64| {
        let length = 8 * (1 + random.below(16) as u32);
        let start = if n.is_multiple_of(3) { n * 128 % sectors } else { random.below(sectors) };
        any_command(start, length, &mut random)
    };
    (0..count).map(&mut any).collect()
}

#[test]
fn each_part_of_each_disk_works_for_one_at_a_time() {
    for spec in disks() {
        for depth in [1, 4, 20] {
            let (stints, ..) = watched(&spec, depth, commands(&spec, 300, 5));
            let mut parts: BTreeMap<u32, Vec<Stint>> = BTreeMap::new();
            stints.iter().for_each(|(_, stint)| parts.entry(stint.part).or_default().push(*stint));
            assert_eq!(parts.is_empty(), spec.name == "null", "{}", spec.name);
            for stints in parts.values_mut() {
                stints.sort_by_key(|stint| stint.from);
                let overlap = stints.windows(2).find(|pair| pair[1].from < pair[0].until);
                assert_eq!(overlap, None, "{} at depth {depth}", spec.name);
            }
        }
    }
}

#[test]
fn on_a_disk_that_turns_everybodys_stints_are_what_its_books_say() {
    // Without overheads, and with a wire that is never the slower one, the time is that of arm and platters.
    let quick = |name: &str| {
        changed(name, |hdd| {
            (hdd.overhead.command, hdd.overhead.queued) = (Span::ZERO, Span::ZERO);
            hdd.interface = blksched_disks::Rate::from_bytes_per_s(1_000_000_000_000);
        })
    };
    for name in ["hdd-7200-ideal", "hdd-7200-starves", "sata-2009", "ide-2002"] {
        for depth in [1, 8, 31] {
            let spec = quick(name);
            let (stints, disk, ran) = watched(&spec, depth, commands(&spec, 500, 11));
            let mut of: BTreeMap<SubmitterId, Span> = BTreeMap::new();
            stints.iter().for_each(|(who, stint)| *of.entry(*who).or_default() += stint.until.since(stint.from));
            let ledger = disk.ledger();
            for (who, activity) in ledger.by_submitter() {
                let booked = activity.seek + activity.settle + activity.rotation + activity.transfer;
                // The wire lags the head by a nanosecond every few sectors.
                let told = of.get(&who).copied().unwrap_or_default();
                let off = told.as_ns().abs_diff(booked.as_ns());
                assert!(off <= activity.interface.as_ns(), "{name} at {depth}: {who:?} {told} {booked}");
            }
            let total = of.values().fold(Span::ZERO, |sum, span| sum + *span);
            assert!(total <= ran, "{name} at {depth}");
        }
    }
}

#[test]
fn cached_writes_are_destaged_for_their_writers_whichever_process_flushes() {
    for name in ["hdd-7200-ideal", "sata-ssd-ideal", "raid0:2xhdd-7200-ideal"] {
        let spec = load(name).unwrap();
        let by = |who, command| Command { submitter: SubmitterId(who), ..command };
        let writes = (0..40u64).map(|n| by(1, write(n * 7_919_000, 8)));
        let (stints, ..) = watched(&spec, 1, writes.chain([by(2, flush())]).collect());
        assert!(stints.iter().all(|(who, _)| *who == SubmitterId(1)), "{name}");
        assert!(stints.iter().any(|(_, stint)| matches!(stint.work, StintWork::Cached(_))), "{name}");
    }
}

#[test]
fn a_stream_has_the_head_only_while_its_own_sectors_pass() {
    // The bug: a reader with thousands of reads was credited with 4 % of the time, because others ran beside it.
    let spec = load("hdd-7200-ideal").unwrap();
    let by = |who, command| Command { submitter: SubmitterId(who), ..command };
    let mut random = Random(4);
    let mixed = |n: u64| match n % 4 {
        0 => by(1, read(n * 256, 256)),
        _ => by(2, Command { op: Op::Read, ..read(random.below(1_000_000_000), 8) }),
    };
    let (stints, disk, _) = watched(&spec, 16, (0..400).map(mixed).collect());
    let ledger = disk.ledger();
    for who in [1, 2].map(SubmitterId) {
        let own = stints.iter().filter(|(of, _)| *of == who);
        let own = own.fold(Span::ZERO, |sum, (_, stint)| sum + stint.until.since(stint.from));
        let booked = ledger.of(who).positioning() + ledger.of(who).transfer;
        assert!(own >= booked && own <= booked + ledger.of(who).overhead + ledger.of(who).interface, "{own} {booked}");
    }
}
