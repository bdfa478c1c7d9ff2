//! What every model promises: facts, outcomes, determinism, the ledger.

use crate::support::*;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::{CommandOutcome, DiskSpec, IoError, load, parse, presets};

/// A mixture of all commands.
fn mixture(capacity: u64, seed: u64, count: u64) -> impl Iterator<Item = Command> {
    let mut random = Random(seed);
    (0..count).map(move |n| {
        let start = random.below(capacity - 4_096);
        let sectors = 8 * (1 + random.below(16) as u32);
        let near = n * 40 % (capacity - 4_096);
        let command = match random.below(20) {
            0 => flush(),
            1 => Command { op: Op::Discard, ..read(start, sectors) },
            2 => Command { fua: true, ..write(start, sectors) },
            3..8 => write(start, sectors),
            8..12 => read(near, 32),
            12..14 => write(near, 32),
            _ => read(start, sectors),
        };
        Command { submitter: SubmitterId(random.below(5) as u32), ..command }
    })
}

fn trace(spec: &DiskSpec, seed: u64) -> Vec<(Instant, blksched_disks::Finished)> {
    let facts = spec.build(seed).facts();
    run(spec, seed, facts.depth.min(16), mixture(facts.sectors, 77, 3_000)).done
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    for spec in presets() {
        assert_eq!(trace(&spec, 1), trace(&spec, 1), "{}", spec.name);
        if spec.build(1).facts().rotational {
            assert_ne!(trace(&spec, 1), trace(&spec, 2), "{}", spec.name);
        }
    }
}

#[test]
fn every_command_ends_exactly_once_in_order_of_time() {
    for spec in presets() {
        let done = trace(&spec, 3);
        assert_eq!(done.len(), 3_000, "{}", spec.name);
        assert!(done.is_sorted_by_key(|(_, finished)| finished.at), "{}", spec.name);
        assert!(done.iter().all(|(started, finished)| finished.at >= *started), "{}", spec.name);
    }
}

#[test]
fn one_at_a_time_the_parts_of_every_command_add_up_to_its_latency_and_the_ledger_to_the_busy_time() {
    for preset in ["ide-2002", "sata-2009", "hdd-7200-ideal"] {
        let spec = changed(preset, |hdd| (hdd.look_ahead, hdd.write_cache) = (None, None)).with_depth(1);
        let run = run(&spec, 5, 1, mixture(hdd(&spec).capacity_sectors, 5, 2_000));
        for (started, finished) in &run.done {
            assert_eq!(finished.service.sum(), finished.at.since(*started), "{preset}");
        }
        assert_eq!(run.total.sum(), run.ended.since(Instant::ZERO), "{preset}");
    }
}

#[test]
fn the_mechanism_is_never_busier_than_the_clock_and_accounts_add_up() {
    for preset in ["ide-2002", "sata-2009", "hdd-7200-ideal"] {
        let spec = load(preset).unwrap();
        let mut disk = spec.build(5);
        let facts = disk.facts();
        let ended = run_on(&mut *disk, facts.depth, mixture(facts.sectors, 6, 5_000)).ended;
        let last = settle(&mut *disk).max(ended);
        let total = disk.ledger().total();
        assert!(total.mechanism() <= last.since(Instant::ZERO), "{preset}: {total:?} in {last}");
        assert!(total.mechanism().as_secs_f64() > 0.98 * last.as_secs_f64(), "{preset}: kept busy throughout");
        let sum: u64 = disk.ledger().by_submitter().map(|(_, activity)| activity.sum().as_ns()).sum();
        assert_eq!(sum, total.sum().as_ns());
        assert_eq!(disk.ledger().by_submitter().count(), 5);
    }
}

#[test]
fn a_cached_writes_drain_is_charged_to_its_writer() {
    let mut disk = load("sata-2009").unwrap().build(1);
    let writer = Command { submitter: SubmitterId(7), ..write(500_000_000, 64) };
    let done = run_on(&mut *disk, 1, [writer]).done[0].1;
    assert!(done.service.mechanism().is_zero());
    settle(&mut *disk);
    let charged = disk.ledger().of(SubmitterId(7));
    assert!(charged.seek > Span::ZERO && charged.transfer > Span::ZERO);
    assert_eq!(disk.ledger().total(), charged);
}

#[test]
fn a_command_behind_the_last_sector_fails_and_changes_nothing() {
    for spec in presets() {
        let mut disk = spec.build(1);
        let sectors = disk.facts().sectors;
        for start in [sectors - 4, u64::MAX - 4] {
            disk.start(Instant::ZERO, read(start, 8));
            assert_eq!(
                next_completion(&mut *disk).outcome,
                CommandOutcome::Failed(IoError::OutOfRange),
                "{}",
                spec.name
            );
        }
        assert_eq!(disk.in_flight(), 0);
    }
    let mut disk = load("hdd-7200-ideal").unwrap().build(1);
    let last = disk.facts().sectors - 8;
    disk.start(Instant::ZERO, Command { start: Sector(last), ..read(0, 8) });
    assert_eq!(next_completion(&mut *disk).outcome, CommandOutcome::Ok);
    settle(&mut *disk);
}

#[test]
fn the_facts_follow_the_switches() {
    let facts = |spec: DiskSpec| spec.build(1).facts();
    let sata = facts(load("sata-2009").unwrap());
    assert!(sata.rotational && sata.volatile_cache && sata.fua);
    assert_eq!((sata.depth, sata.sectors, sata.max_sectors), (31, 976_562_500, 65_536));
    let ide = facts(load("ide-2002").unwrap());
    assert_eq!((ide.depth, ide.max_sectors, ide.fua), (1, 256, false));
    assert!(!facts(changed("sata-2009", |hdd| hdd.write_cache = None)).volatile_cache);
    let null = facts(load("null").unwrap());
    assert!(!null.rotational && !null.volatile_cache);
}

#[test]
fn null_ends_at_once() {
    let run = run(&load("null").unwrap(), 1, 32, (0..1_000).map(|n| read(n * 8, 8)));
    assert_eq!((run.ended, run.done.len()), (Instant::ZERO, 1_000));
}

#[test]
fn fixed_works_on_as_many_commands_as_it_has_channels() {
    let text = |channels: u32, rate: &str| {
        format!(
            "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"1GB\"\nmax_command = \"1MiB\"\ndepth = 32\n\
             channels = {channels}\nservice = \"100us\"\n{rate}"
        )
    };
    let seconds = |text: &str, depth| {
        run(&parse("test", text).unwrap(), 1, depth, (0..800).map(|n| read(n * 8, 8))).ended.as_secs_f64()
    };
    assert_eq!(seconds(&text(8, ""), 32), 0.01);
    assert_eq!(seconds(&text(8, ""), 4), 0.02);
    assert_eq!(seconds(&text(1, ""), 32), 0.08);
    // 4 KiB at 40.96 MB/s are another 100 us.
    assert_eq!(seconds(&text(1, "rate = \"40.96MB/s\""), 32), 0.16);
}
