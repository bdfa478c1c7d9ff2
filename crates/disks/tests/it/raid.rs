//! Arrays: each level against its formula, whatever the members are.

use crate::support::*;
use blksched::{Command, Instant, Op, Span, SubmitterId};
use blksched_disks::{DiskSpec, Level, MirrorReads, Model, RaidSpec, load, parse};

/// The cost of a member's every command.
const SERVICE: Span = Span::from_us(100);
const CHUNK: u64 = 128;

/// Members that execute one command at a time, all in the same time; the tracer records their commands.
fn array(level: Level, members: u32, change: impl FnOnce(&mut RaidSpec)) -> DiskSpec {
    let member = "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"100MB\"\nmax_command = \"1MiB\"\ndepth = 8\n\
                  channels = 1\nservice = \"100us\"\n";
    let member = parse("member", member).unwrap();
    let members = vec![member; members as usize];
    let (reads, max_sectors) = (MirrorReads::Balanced, 65_536);
    let mut raid = RaidSpec {
        level,
        chunk_sectors: CHUNK,
        max_sectors,
        depth: 64,
        reads,
        members,
        failed: 0,
        rebuild: None,
        stripe_cache_size: 256,
        preread_bypass_threshold: 1,
    };
    change(&mut raid);
    DiskSpec {
        name: "array".into(),
        description: String::new(),
        model: Model::Raid(raid),
        attached: blksched_disks::Attached::Scsi,
        middleware: Default::default(),
        published: Vec::new(),
        validated: Vec::new(),
        fits: Vec::new(),
    }
}

/// The time of one command alone, and the members' total time, in units of one service.
fn services(spec: &DiskSpec, command: Command) -> (u64, u64) {
    let mut disk = spec.build(1);
    let run = run_on(&mut *disk, 1, [command]);
    let latency = run.latencies().next().unwrap();
    assert_eq!(run.done[0].1.service.sum(), latency);
    (latency.as_ns() / SERVICE.as_ns(), disk.ledger().total().sum().as_ns() / SERVICE.as_ns())
}

fn random_rate(spec: &DiskSpec, depth: u32, op: Op) -> f64 {
    let sectors = spec.build(1).facts().sectors;
    let mut random = Random(5);
    let commands = (0..8_000).map(|_| Command { op, ..read(random.below(sectors / 8) * 8, 8) });
    run(spec, 1, depth, commands).per_second()
}

#[test]
fn capacity_is_what_redundancy_leaves_of_the_members() {
    let sectors = |level, members| array(level, members, |_| ()).build(1).facts().sectors;
    let one = 195_312 / CHUNK * CHUNK;
    assert_eq!(sectors(Level::Raid0, 4), 4 * one);
    assert_eq!(sectors(Level::Raid1, 2), 195_312);
    assert_eq!(sectors(Level::Raid5, 4), 3 * one);
    assert_eq!(sectors(Level::Raid6, 6), 4 * one);
    assert_eq!(sectors(Level::Raid10, 4), 2 * one);
}

#[test]
fn a_thousand_members_work_side_by_side() {
    let spec = array(Level::Raid0, 1000, |raid| raid.depth = 1024);
    let (mut disk, far) = (spec.build(1), (0..1000).map(|chunk| read(chunk * CHUNK, 8)));
    let run = run_on(&mut *disk, 1000, far);
    // One on each: all end when the first does.
    assert_eq!(run.done.len(), 1000);
    assert!(run.latencies().all(|latency| latency == SERVICE));
    assert_eq!(disk.ledger().total().sum(), SERVICE * 1000);
}

#[test]
fn a_write_costs_what_its_level_says() {
    let of = |level, members, sectors| services(&array(level, members, |_| ()), write(0, sectors));
    assert_eq!(of(Level::Raid0, 4, 8), (1, 1));
    assert_eq!(of(Level::Raid1, 3, 8), (1, 3));
    assert_eq!(of(Level::Raid10, 4, 8), (1, 2));
    // Read old data and parity, write both.
    assert_eq!(of(Level::Raid5, 5, 8), (2, 4));
    assert_eq!(of(Level::Raid6, 8, 8), (2, 6));
    // A full stripe reads nothing.
    assert_eq!(of(Level::Raid5, 5, 4 * CHUNK as u32), (1, 5));
    assert_eq!(of(Level::Raid6, 6, 4 * CHUNK as u32), (1, 6));
}

#[test]
fn a_read_costs_one_command_for_each_member_that_holds_some_of_it() {
    let of = |level, members, sectors| services(&array(level, members, |_| ()), read(0, sectors));
    assert_eq!(of(Level::Raid0, 4, 8), (1, 1));
    assert_eq!(of(Level::Raid0, 4, 8 * CHUNK as u32), (1, 4));
    assert_eq!(of(Level::Raid1, 2, 1_024), (1, 1));
    assert_eq!(of(Level::Raid5, 5, 3 * CHUNK as u32), (1, 3));
}

#[test]
fn a_smaller_chunk_spreads_a_read_over_more_members() {
    let of = |chunk_sectors| services(&array(Level::Raid0, 4, |raid| raid.chunk_sectors = chunk_sectors), read(0, 256));
    assert_eq!((of(256), of(128), of(64)), ((1, 1), (1, 2), (1, 4)));
}

#[test]
fn random_reads_go_as_fast_as_all_members_and_random_writes_as_redundancy_lets_them() {
    let one = 1.0 / SERVICE.as_secs_f64();
    let near = |here: f64, members: f64| assert!((here / (members * one) - 1.0).abs() < 0.08, "{here} {members}");
    near(random_rate(&array(Level::Raid0, 4, |_| ()), 32, Op::Read), 4.0);
    near(random_rate(&array(Level::Raid1, 4, |_| ()), 32, Op::Read), 4.0);
    near(random_rate(&array(Level::Raid10, 4, |_| ()), 32, Op::Read), 4.0);
    near(random_rate(&array(Level::Raid1, 4, |_| ()), 32, Op::Write), 1.0);
    near(random_rate(&array(Level::Raid10, 4, |_| ()), 32, Op::Write), 2.0);
    near(random_rate(&array(Level::Raid5, 5, |_| ()), 64, Op::Write), 5.0 / 4.0);
    near(random_rate(&array(Level::Raid6, 8, |_| ()), 64, Op::Write), 8.0 / 6.0);
}

#[test]
fn reads_of_the_first_mirror_only_gain_nothing_from_the_others() {
    let first = array(Level::Raid1, 4, |raid| raid.reads = MirrorReads::First);
    let rate = random_rate(&first, 32, Op::Read);
    assert!((rate * SERVICE.as_secs_f64() - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn of_two_idle_mirrors_that_turn_the_nearer_reads() {
    let seeks = |reads| {
        let mut spec = load("raid1:2xsata-2009").unwrap();
        let Model::Raid(raid) = &mut spec.model else { panic!("a raid") };
        raid.reads = reads;
        let mut random = Random(4);
        run(&spec, 1, 1, (0..2_000).map(|_| read(random.below(900_000_000), 8))).total.seek
    };
    let (nearer, first) = (seeks(MirrorReads::Balanced).as_secs_f64(), seeks(MirrorReads::First).as_secs_f64());
    assert!(nearer < 0.8 * first, "{nearer} {first}");
}

#[test]
fn writes_to_one_page_go_one_after_the_other_and_to_several_stripes_at_once() {
    let ended = |gap: u64| {
        let spec = array(Level::Raid5, 9, |_| ());
        run(&spec, 1, 2, (0..2).map(|n| write(n * gap, 8))).ended.since(Instant::ZERO)
    };
    // Read and write; the second has nothing left to read.
    assert_eq!(ended(0), SERVICE * 3);
    // Another stripe, and its data and parity on two other members.
    let second = array(Level::Raid5, 9, |_| ());
    let mut disk = second.build(1);
    disk.start(Instant::ZERO, numbered(0, write(0, 8)));
    disk.start(Instant::ZERO, numbered(1, write(8 * CHUNK * 3 + CHUNK, 8)));
    let ends = [next_completion(&mut *disk).at, next_completion(&mut *disk).at];
    assert_eq!(ends, [Instant::ZERO + SERVICE * 2; 2]);
}

#[test]
fn a_flush_reaches_every_member_and_waits_for_the_slowest() {
    assert_eq!(services(&array(Level::Raid0, 4, |_| ()), flush()), (1, 4));
    let spec = load("raid1:2xsata-2009").unwrap();
    let mut disk = spec.build(1);
    run_on(&mut *disk, 1, [write(900_000_000, 8), flush()]);
    let flushed = disk.ledger().total();
    settle(&mut *disk);
    assert_eq!(flushed, disk.ledger().total(), "nothing is left to drain");
}

#[test]
fn a_stream_is_as_fast_as_the_members_that_hold_data() {
    for (name, members) in [("raid0:3xsata-2009", 3.0), ("raid5:4xsata-2009", 3.0), ("raid1:2xsata-2009", 1.0)] {
        let spec = load(name).unwrap();
        let rate = run(&spec, 1, 16, (0..4_000).map(|n| read(n * 256, 256))).mb_per_s();
        // A reader of RAID 5 passes over the parity.
        assert!(rate > 0.70 * members * 95.0 && rate < 1.05 * members * 95.0, "{name}: {rate}");
    }
}

#[test]
fn any_level_over_any_members_conserves_commands_and_adds_up_their_ledgers() {
    let levels = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6, Level::Raid10];
    for case in 1..=200u64 {
        let mut random = Random(case * 0x9e37_79b9);
        let level = levels[random.below(5) as usize];
        let count = 4 + 2 * random.below(2);
        let spec = array(level, count as u32, |raid| {
            raid.chunk_sectors = [8, 24, 1_024][random.below(3) as usize];
            raid.depth = 1 + random.below(40) as u32;
            raid.reads = if random.below(4) == 0 { MirrorReads::First } else { MirrorReads::Balanced };
            for member in &mut raid.members {
                let presets = ["null", "fixed", "sata-ssd-ideal", "nvme-ssd-ideal", "ide-2002", "sata-2009"];
                if random.below(2) == 0 {
                    *member = load(presets[random.below(6) as usize]).unwrap();
                }
            }
        });
        let sectors = spec.build(1).facts().sectors;
        check_conservation(&spec, case, 150, &mut random, |random| {
            let (length, near) = (1 + random.below(400), random.below(4_000));
            let start = if random.below(4) == 0 { sectors - length - near } else { near };
            let command = match random.below(16) {
                0 => flush(),
                1 => Command { op: Op::Discard, ..read(start, length as u32) },
                2 => Command { fua: true, ..write(start, length as u32) },
                3..9 => write(start, length as u32),
                _ => read(start, length as u32),
            };
            Command { submitter: SubmitterId(random.below(3) as u32), ..command }
        });
    }
}

#[test]
fn the_same_seed_gives_the_same_completions() {
    let spec = load("raid5:4xhdd-7200-ideal").unwrap();
    let trace = |seed| {
        let mut random = Random(3);
        let commands = (0..500u64).map(|n| match n % 3 {
            0 => write(random.below(1_000_000_000), 64),
            _ => read(random.below(1_000_000_000), 64),
        });
        run(&spec, seed, 16, commands).done
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn a_name_and_a_file_say_the_same_array() {
    let file = |members: &str| format!("kind = \"raid\"\ndescription = \"mine\"\nlevel = \"5\"\n{members}");
    let names =
        parse("x", &file("members = [\"hdd-7200-ideal\", \"hdd-7200-ideal\", \"hdd-7200-ideal\", \"hdd-7200-ideal\"]"))
            .unwrap();
    assert_eq!(names.model, load("raid5:4xhdd-7200-ideal").unwrap().model);
    let tables = "[[member]]\nkind = \"null\"\ncapacity = \"1GB\"\nmax_command = \"1MiB\"\ndepth = 4\n";
    let mixed = file(&format!("chunk = \"64KiB\"\ndepth = 9\nmembers = [\"fixed\", \"null\"]\n{tables}"));
    let Model::Raid(raid) = parse("x", &mixed).unwrap().model else { panic!("a raid") };
    assert_eq!((raid.members.len(), raid.chunk_sectors, raid.depth), (3, 128, 9));
    assert_eq!(raid.members[2].depth(), 4);
}

#[test]
fn what_is_wrong_with_an_array_is_told_with_its_place() {
    let name = |name: &str| load(name).unwrap_err().to_string();
    assert_eq!(name("raid5:2xhdd-7200-ideal"), "raid5:2xhdd-7200-ideal:1:7: 2 members: this level needs from 3 to 64");
    assert_eq!(name("raid0:1025xnull"), "raid0:1025xnull:1:7: 1025 members: this level needs from 2 to 1024");
    assert_eq!(
        name("raid7:4xhdd-7200-ideal"),
        "raid7:4xhdd-7200-ideal:1:5: `7` is not a level: expected one of 0, 1, 5, 6, 10"
    );
    assert!(name("raid10:5xhdd-7200-ideal").ends_with("mirrors come in pairs, expected an even number"));
    assert!(name("raid0:4hdd").contains("gives no number of members"));
    assert!(name("raid0:4xhdd-720").ends_with("did you mean `hdd-7200`?"));
    let file = |rest: &str| {
        parse("my.toml", &format!("kind = \"raid\"\ndescription = \"\"\nlevel = \"0\"\n{rest}"))
            .unwrap_err()
            .to_string()
    };
    assert!(file("members = [\"fixed\", \"fixd\"]").starts_with("my.toml:4:21: `fixd` is not a preset"));
    assert_eq!(file(""), "my.toml:1:1: 0 members: this level needs from 2 to 1024");
    assert!(file("[[member]]\nkind = \"nul\"").starts_with("my.toml:5:8: `nul` is not a kind of disk"));
    let with = |rest: &str| file(&format!("members = [\"fixed\", \"fixed\"]\n{rest}"));
    assert!(with("sync_speed_max = 9").starts_with("my.toml:5:18: `sync_speed_max` says how fast"));
    assert!(with("failed = 1").starts_with("my.toml:5:10: 1 failed members: 2 of this level can do without 0"));
    assert!(with("stripe_cache_siz = 99").ends_with("did you mean `stripe_cache_size`?"));
    let unit = with("chunk = \"64\"");
    assert!(unit.starts_with("my.toml:5:9: \"64\" is not a value for `chunk`"), "{unit}");
}

/// The same array with its last members failed.
fn degraded(level: Level, members: u32, failed: u32) -> DiskSpec {
    array(level, members, |raid| raid.failed = failed)
}

#[test]
fn a_read_of_a_failed_member_reads_the_rest_of_its_stripe() {
    // In stripe 0 of level 5 the last member has the parity; in stripe 1 it has the last column.
    let stripe = 4 * CHUNK;
    let of = |failed, start| services(&degraded(Level::Raid5, 5, failed), read(start, 8));
    assert_eq!((of(0, stripe), of(1, 0)), ((1, 1), (1, 1)));
    let costs: Vec<(u64, u64)> = (0..4).map(|column| of(1, stripe + column * CHUNK)).collect();
    assert_eq!(costs.iter().filter(|cost| **cost == (1, 4)).count(), 1, "{costs:?}");
    assert_eq!(costs.iter().filter(|cost| **cost == (1, 1)).count(), 3, "{costs:?}");
    let six: u64 = (0..4).map(|column| services(&degraded(Level::Raid6, 6, 2), read(column * CHUNK, 8)).1).sum();
    assert_eq!(six, 7, "a parity of stripe 0 is gone, and a column: that one costs the other three and a parity");
    let whole = services(&degraded(Level::Raid5, 5, 1), read(stripe, stripe as u32));
    assert_eq!(whole, (1, 4), "of a whole stripe nothing is read twice");
}

#[test]
fn a_degraded_array_writes_without_its_failed_members() {
    let all = |failed, start| services(&degraded(Level::Raid5, 5, failed), write(start, 8)).1;
    assert_eq!((all(0, 0), all(1, 0)), (4, 1), "the parity is gone: nothing to read or to keep");
    let stripe: Vec<u64> = (0..4).map(|column| all(1, 4 * CHUNK + column * CHUNK)).collect();
    let mut sorted = stripe.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [4, 4, 4, 4], "read-modify-write of the three; the gone one: three others, then the parity");
    assert_eq!(services(&degraded(Level::Raid1, 3, 2), write(0, 8)), (1, 1));
    assert_eq!(services(&degraded(Level::Raid10, 4, 2), write(0, 8)), (1, 1));
}

#[test]
fn a_degraded_array_does_everything_that_it_is_asked_only_slower() {
    for (level, members, failed) in
        [(Level::Raid1, 2, 1), (Level::Raid5, 4, 1), (Level::Raid6, 6, 1), (Level::Raid6, 6, 2), (Level::Raid10, 6, 3)]
    {
        for op in [Op::Read, Op::Write] {
            let (whole, rest) = (array(level, members, |_| ()), degraded(level, members, failed));
            let (whole, rest) = (random_rate(&whole, 32, op), random_rate(&rest, 32, op));
            assert!(rest > 0.0 && (op == Op::Write || rest < whole), "{level:?} {op:?}: {rest} of {whole}");
        }
    }
}

#[test]
fn the_short_name_says_how_many_have_failed() {
    let spec = load("raid5:4xhdd-7200,failed=1").unwrap();
    assert!(spec.description.ends_with("1 failed"));
    assert!(matches!(spec.model, Model::Raid(RaidSpec { failed: 1, .. })));
    for (name, problem) in [
        ("raid5:4xhdd-7200,failed=2", "4 of this level can do without 1 at most"),
        ("raid0:2xnull,failed=1", "can do without 0 at most"),
        ("raid5:4xhdd-7200,fail=1", "200,fail=1:1:18: an array has no `fail`"),
        ("raid5:4xhdd-7200,fail=1", "did you mean `failed`?"),
        ("raid5:4xhdd-7200,failed=one", "`one` is not a value for `failed`: expected a whole number from 0 to 64"),
        ("raid5:4xhdd-7200,failed=0,failed=0", ":1:27: `failed` is given twice"),
        ("raid5:4xhdd-7200,rebuild=10", "from 0% to 99%"),
        ("raid5:4xhdd-7200,rebuild=100%", "from 0% to 99%"),
        ("raid5:4xhdd-7200,failed=1,rebuild=10%", ":1:18: 2 failed members, one of them being rebuilt"),
        ("raid0:2xnull,rebuild=1%", "can do without 0 at most"),
        ("raid5:4xhdd-7200,sync_speed_min=5", ":1:18: `sync_speed_min` says how fast a rebuild is"),
        ("raid5:4xhdd-7200,stripe_cache_size=16", "from 17 to 32768"),
        ("raid5:4xhdd-7200,preread_bypass_threshold=257", "from 0 to 256"),
        ("raid5:4xhdd-7200,chunk=5KiB", "a multiple of 4KiB"),
        ("raid5:4xhdd-7200,", "an array has no ``"),
    ] {
        let error = load(name).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
