//! What stands around a disk changes what it says it changes, and nothing else.

use crate::support::*;
use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::{
    CommandOutcome, ControllerCacheSpec, DelaySpec, Disk, DiskSpec, FaultAction, FaultSpec, Finished, IoError,
    MiddlewareSpec, PowerSpec, Tracer, load, load_changed, parse, presets,
};

const FIXED: &str = include_str!("../../presets/fixed.toml");
const FAIL: FaultSpec =
    FaultSpec { action: FaultAction::Fail, after: Span::from_ms(30), op: None, nth: 1, times: None, sectors: None };

fn around(preset: &str, middleware: MiddlewareSpec) -> DiskSpec {
    DiskSpec { middleware, ..load(preset).unwrap() }
}

fn faulty(fault: FaultSpec) -> DiskSpec {
    around("fixed", MiddlewareSpec { faults: vec![fault], ..MiddlewareSpec::default() })
}

/// One after the other; returns how each ended and how long it took.
fn one_by_one(spec: &DiskSpec, starts: &[u64]) -> Vec<(CommandOutcome, Span)> {
    let mut disk = spec.build(1);
    let mut now = Instant::ZERO;
    let mut all = Vec::new();
    for &start in starts {
        disk.start(now, read(start, 8));
        let finished = next_completion(&mut *disk);
        all.push((finished.outcome, finished.at.since(now)));
        now = finished.at;
    }
    all
}

#[test]
fn a_transient_fault_fails_the_nth_command_and_a_persistent_one_all_from_there() {
    let ok = one_by_one(&load("fixed").unwrap(), &[0])[0];
    let failed = (CommandOutcome::Failed(IoError::Medium), Span::from_ms(30));
    let starts = [0, 8, 16, 24];
    let transient = faulty(FaultSpec { nth: 3, times: Some(1), ..FAIL });
    assert_eq!(one_by_one(&transient, &starts), [ok, ok, failed, ok]);
    assert_eq!(one_by_one(&faulty(FaultSpec { nth: 3, ..FAIL }), &starts), [ok, ok, failed, failed]);
    assert_eq!(one_by_one(&faulty(FaultSpec { sectors: Some((10, 16)), ..FAIL }), &starts), [ok, failed, failed, ok]);
}

#[test]
fn a_slow_command_works_and_takes_so_much_longer() {
    let ok = one_by_one(&load("fixed").unwrap(), &[0])[0];
    let slow = faulty(FaultSpec { action: FaultAction::Slow, nth: 2, times: Some(1), ..FAIL });
    assert_eq!(one_by_one(&slow, &[0, 8, 16]), [ok, (CommandOutcome::Ok, ok.1 + Span::from_ms(30)), ok]);
}

#[test]
fn a_delay_is_added_to_every_command_and_its_jitter_lies_between_nothing_and_itself() {
    let ok = one_by_one(&load("fixed").unwrap(), &[0])[0].1;
    let delayed = |time, jitter| {
        let delay = Some(DelaySpec { time, jitter, rare: None });
        around("fixed", MiddlewareSpec { delay, ..MiddlewareSpec::default() })
    };
    let constant = delayed(Span::from_us(70), Span::ZERO);
    assert!(one_by_one(&constant, &[0, 8, 16]).iter().all(|one| one.1 == ok + Span::from_us(70)));
    let starts: Vec<u64> = (0..2_000).map(|n| n * 8).collect();
    let extra: Vec<u64> = one_by_one(&delayed(Span::from_us(70), Span::from_us(100)), &starts)
        .iter()
        .map(|one| one.1.as_ns() - ok.as_ns() - 70_000)
        .collect();
    assert!(extra.iter().all(|&extra| extra <= 100_000));
    let mean = extra.iter().sum::<u64>() as f64 / extra.len() as f64;
    assert!((mean / 50_000.0 - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn the_seed_decides_the_jitter() {
    let delay = Some(DelaySpec { time: Span::ZERO, jitter: Span::from_ms(1), rare: None });
    let spec = around("fixed", MiddlewareSpec { delay, ..MiddlewareSpec::default() });
    let trace = |seed| run(&spec, seed, 8, (0..200).map(|n| read(n * 8, 8))).done;
    assert_eq!(trace(3), trace(3));
    assert_ne!(trace(3), trace(4));
}

#[test]
fn a_tracer_keeps_the_last_commands_and_changes_nothing() {
    let spec = around("sata-2009", MiddlewareSpec { tracer: Some(10), ..MiddlewareSpec::default() });
    let commands = || (0..50u64).map(|n| read(n * 7_919_000, 8));
    let mut disk = spec.build(1);
    let traced = run_on(&mut *disk, 8, commands()).done;
    assert_eq!(traced, run(&load("sata-2009").unwrap(), 1, 8, commands()).done);
    let trace = disk.trace().unwrap();
    assert_eq!((trace.seen(), trace.records().len()), (50, 10));
    for (record, (started, finished)) in trace.records().zip(&traced[40..]) {
        assert_eq!((record.started, record.ended, record.service), (*started, finished.at, finished.service));
        assert_eq!(record.command.rq, finished.rq);
    }
    assert!(load("sata-2009").unwrap().build(1).trace().is_none());
    let by_hand = Tracer::new(load("null").unwrap().build(1), 1);
    assert_eq!(by_hand.trace().unwrap().seen(), 0);
}

#[test]
fn a_window_lets_so_many_commands_in_and_the_others_wait_in_order_of_arrival() {
    let ends = |window| {
        let mut spec = around("fixed", MiddlewareSpec { window, ..MiddlewareSpec::default() });
        spec = spec.with_depth(32);
        run(&spec, 1, 8, (0..8).map(|n| read(n * 8, 8))).done.iter().map(|(_, one)| one.at.as_ns()).collect::<Vec<_>>()
    };
    // So many at a time go as so many one after the other, if the disk serves one at a time.
    let alone = ends(Some(1))[0];
    assert_eq!(ends(Some(1)), (1..=8).map(|turn| turn * alone).collect::<Vec<_>>());
    assert_eq!(ends(None), ends(Some(8)));
    assert!(ends(Some(3)).is_sorted() && ends(Some(3)).last() <= ends(Some(1)).last());
    let text = format!("{FIXED}\n[window]\nstate = \"on\"\ncommands = 1\n");
    assert_eq!(parse("x", &text).unwrap().middleware.window, Some(1));
    assert_eq!(parse("x", &text.replace("\"on\"", "\"off\"")).unwrap().middleware.window, None);
}

#[test]
fn a_disk_that_was_idle_for_long_wakes_first_and_what_comes_meanwhile_waits_too() {
    let (idle, wake) = (Span::from_ms(50), Span::from_ms(4));
    let asleep = around("fixed", MiddlewareSpec { power: Some(PowerSpec { idle, wake }), ..MiddlewareSpec::default() });
    let service = run(&load("fixed").unwrap(), 1, 1, [read(0, 8)]).ended.since(Instant::ZERO);
    // Waits so long between the commands; answers what each takes.
    let after = |pause: Span, together: u32| -> Vec<Span> {
        let (mut disk, mut now, mut took) = (asleep.build(1), Instant::ZERO, Vec::new());
        for _ in 0..3 {
            (0..together).for_each(|rq| disk.start(now, numbered(rq, read(0, 8))));
            let ends: Vec<Finished> = (0..together).map(|_| next_completion(&mut *disk)).collect();
            took.push(ends[0].at.since(now));
            now = ends[together as usize - 1].at + pause;
        }
        took
    };
    assert_eq!(after(idle, 1), [service; 3], "at the limit it is awake");
    let slept = service + wake;
    assert_eq!(after(idle + Span::from_us(1), 1), [service, slept, slept]);
    assert_eq!(after(idle + Span::from_us(1), 2), [service, slept, slept], "both wait, and are served in order");
    assert!(asleep.has_tails() && asleep.clone().without_tails().middleware.power.is_none());
}

/// A controller with room for so many writes of 4 KiB, one of which it writes at a time, before a slow disk.
fn cached(writes: u64) -> DiskSpec {
    let cache = ControllerCacheSpec { size_sectors: writes * 8, time: Span::from_us(2), at_once: 1 };
    DiskSpec { middleware: MiddlewareSpec { controller_cache: Some(cache), ..MiddlewareSpec::default() }, ..slow() }
}

fn slow() -> DiskSpec {
    load_changed("fixed", &[("service".to_owned(), "3ms".to_owned()), ("channels".to_owned(), "1".to_owned())]).unwrap()
}

#[test]
fn writes_end_in_the_controllers_memory_until_it_is_full_and_reads_of_it_there() {
    let (fast, slow) = (Span::from_us(2), run(&self::slow(), 1, 1, [write(0, 8)]).ended.since(Instant::ZERO));
    assert!(slow > fast * 10);
    let times = |room, commands: &[Command]| -> Vec<Span> {
        run(&cached(room), 1, 1, commands.iter().copied()).latencies().collect()
    };
    let burst: Vec<Command> = (0..6).map(|n| write(n * 80, 8)).collect();
    assert_eq!(times(6, &burst), [fast; 6]);
    let full = times(4, &burst);
    assert_eq!(full[..4], [fast; 4]);
    // The fifth waits for the first to be written, the sixth for the second.
    assert_eq!(full[4..], [slow - fast * 3, slow]);
    assert_eq!(times(4, &[write(0, 8), read(0, 8), read(2, 4)]), [fast; 3], "held, and a part of it");
    assert!(times(4, &[write(8, 8), read(4, 8)])[1] > fast * 10, "a half of it is elsewhere");
    assert_eq!(times(4, &[write(0, 8), flush()])[1], fast, "its battery keeps what it holds");
    assert!(times(4, &[write(0, 40)])[0] > fast * 10, "more than its memory");
    assert_eq!(times(5, &[write(0, 40)]), [fast]);
    let facts = cached(4).build(1).facts();
    assert!(!facts.volatile_cache && facts.depth == self::slow().build(1).facts().depth);
}

#[test]
fn a_controllers_memory_and_sleep_lose_nothing_and_end_within_the_stated_time() {
    for (case, preset) in (1..=8).flat_map(|case| ["fixed", "sata-ssd-ideal", "hdd-7200-ideal"].map(|of| (case, of))) {
        let mut random = Random(case * 0x9e37_79b9);
        let cache = ControllerCacheSpec {
            size_sectors: 8 << random.below(8),
            time: Span::from_us(random.below(50)),
            at_once: 1 + random.below(4) as u32,
        };
        let power = PowerSpec { idle: Span::from_ms(random.below(20)), wake: Span::from_ms(random.below(5)) };
        let layers = MiddlewareSpec { controller_cache: Some(cache), power: Some(power), ..MiddlewareSpec::default() };
        let spec = around(preset, layers);
        check_conservation(&spec, case, 400, &mut random, |random| {
            let (start, sectors) = (random.below(3_000), 1 + random.below(64) as u32);
            any_command(start, sectors, random)
        });
        let commands = (0..500).map(|n| if n % 3 == 0 { read(n * 800, 8) } else { write(n * 800, 8) });
        let longest = run(&spec, 1, 16, commands).latencies().max().unwrap();
        assert!(longest <= spec.longest(Op::Write, 8), "{preset}: {longest}");
    }
    // What lies beyond the end is refused by the disk behind.
    let mut disk = cached(4).build(1);
    let end = disk.facts().sectors;
    disk.start(Instant::ZERO, numbered(0, write(end - 4, 8)));
    assert!(matches!(next_completion(&mut *disk).outcome, CommandOutcome::Failed(_)));
}

#[test]
fn an_nvme_drives_arbitration_burst_is_a_power_of_two_and_weights_are_refused_with_the_reason() {
    let read = |arbitration: &str, attached: &str| {
        let text = FIXED.replacen("\"loop\"", &format!("\"{attached}\""), 1);
        let found = parse("x", &format!("{text}\n[arbitration]\n{arbitration}\n"));
        found.map(|spec| spec.middleware.arbitration_burst.get()).map_err(|error| error.to_string())
    };
    assert_eq!(read("", "nvme"), Ok(1));
    assert_eq!(read("burst = 8", "nvme"), Ok(8));
    assert_eq!(read("mechanism = \"round-robin\"\nburst = \"unlimited\"", "nvme"), Ok(u32::MAX));
    let error = |arbitration, attached| read(arbitration, attached).unwrap_err();
    assert!(error("burst = 6", "nvme").contains("expected 1, 2, 4, 8, 16, 32, 64 or \"unlimited\""));
    assert!(error("burst = 128", "nvme").contains("expected 1, 2, 4, 8, 16, 32, 64 or \"unlimited\""));
    assert!(error("burst = \"unlimted\"", "nvme").contains("did you mean `unlimited`"));
    assert!(error("mechanism = \"weighted\"", "nvme").contains("Linux never does"));
    assert!(error("mechanism = \"round-robbin\"", "nvme").contains("did you mean `round-robin`"));
    assert!(error("burst = 8", "sata").contains("only an NVMe drive has submission queues"));
}

#[test]
fn it_is_read_from_the_tables_of_any_disk() {
    let text = format!(
        "{FIXED}\n[[fault]]\naction = \"fail\"\nafter = \"3s\"\nop = \"read\"\nnth = 100\ntimes = 2\n\
         first_sector = 1_000\nlast_sector = 2000\n[[fault]]\naction = \"slow\"\nafter = \"5ms\"\n\
         [delay]\ntime = \"1ms\"\njitter = \"20us\"\n[tracer]\nkeep = 64\n"
    );
    let (op, times, sectors) = (Some(Op::Read), Some(2), Some((1_000, 2_000)));
    let fail = FaultSpec { after: Span::from_secs(3), op, nth: 100, times, sectors, ..FAIL };
    let slow = FaultSpec { action: FaultAction::Slow, after: Span::from_ms(5), ..FAIL };
    let delay = DelaySpec { time: Span::from_ms(1), jitter: Span::from_us(20), rare: None };
    let expected =
        MiddlewareSpec { faults: vec![fail, slow], delay: Some(delay), tracer: Some(64), ..MiddlewareSpec::default() };
    assert_eq!(parse("x", &text).unwrap().middleware, expected);
    let text = format!(
        "{FIXED}\n[power]\nstate = \"on\"\nidle = \"100ms\"\nwake = \"5ms\"\n\
         [controller_cache]\nstate = \"on\"\nsize = \"1GiB\"\ntime = \"20us\"\nat_once = 16\n"
    );
    let read = |text: &str| parse("x", text).map(|spec| spec.middleware).map_err(|error| error.to_string());
    let power = PowerSpec { idle: Span::from_ms(100), wake: Span::from_ms(5) };
    let cache = ControllerCacheSpec { size_sectors: 2 << 20, time: Span::from_us(20), at_once: 16 };
    let both = MiddlewareSpec { power: Some(power), controller_cache: Some(cache), ..MiddlewareSpec::default() };
    assert_eq!(read(&text).unwrap(), both);
    assert_eq!(read(&text.replace("\"on\"", "\"off\"")).unwrap(), MiddlewareSpec::default());
    assert!(read(&text.replace("at_once = 16", "at_once = 0")).unwrap_err().contains("a whole number from 1"));
    assert!(read(&text.replace("wake", "wakes")).unwrap_err().contains("did you mean `wake`?"));
}

#[test]
fn what_is_wrong_with_its_tables_is_told_with_its_place() {
    let complaint = |tables: &str| parse("my.toml", &format!("{FIXED}\n{tables}")).unwrap_err().to_string();
    let line = FIXED.lines().count() + 2;
    assert_eq!(
        complaint("[delay]\ntime = \"1 ms\"\njiter = \"1us\""),
        format!(
            "my.toml:{}:1: unknown key `jiter`: expected in [delay] one of time, jitter, rare, \
             rare_chance; did you mean `jitter`?",
            line + 2
        )
    );
    assert_eq!(
        complaint("[[fault]]\naction = \"fial\"\nafter = \"1s\""),
        format!(
            "my.toml:{}:10: `fial` is not a value of `action`: expected one of fail, slow; did you mean `fail`?",
            line + 1
        )
    );
    let one = complaint("[fault]\naction = \"fail\"");
    assert!(one.contains("expected tables [[fault]]"), "{one}");
    let keep = complaint("[tracer]\nkeep = 0");
    assert!(keep.contains("a whole number from 1"), "{keep}");
    let order = complaint("[[fault]]\naction = \"slow\"\nafter = \"1s\"\nfirst_sector = 9\nlast_sector = 8");
    assert!(order.contains("`last_sector` lies before `first_sector`"), "{order}");
}

#[test]
fn commands_are_conserved_whatever_stands_around_whichever_disk() {
    for (case, preset) in presets().into_iter().enumerate() {
        let slow = FaultSpec { action: FaultAction::Slow, nth: 5, times: Some(40), ..FAIL };
        let fail = FaultSpec { nth: 60, times: Some(30), op: Some(Op::Write), ..FAIL };
        let delay = Some(DelaySpec { time: Span::from_us(3), jitter: Span::from_ms(2), rare: None });
        let middleware = MiddlewareSpec {
            faults: vec![slow, fail],
            delay,
            window: Some(3),
            tracer: Some(1_000),
            ..Default::default()
        };
        let spec = DiskSpec { middleware, ..preset };
        let mut random = Random(case as u64 + 1);
        let (done, disk) = check_conservation(&spec, case as u64, 600, &mut random, |random| {
            let (start, submitter) = (random.below(100_000), SubmitterId(random.below(3) as u32));
            let command = if random.below(2) == 0 { read(start, 8) } else { write(start, 8) };
            blksched::Command { submitter, ..command }
        });
        let failed = done.iter().filter(|finished| finished.outcome != CommandOutcome::Ok).count();
        assert_eq!(failed, 30, "{}", spec.name);
        assert_eq!(disk.trace().unwrap().seen(), 600);
    }
}

#[test]
fn a_volume_of_a_cloud_spends_its_credits_and_then_keeps_its_rate() {
    let spec = blksched_disks::load_changed("cloud-gp2", &[("caps.credits".to_owned(), "6000".to_owned())]).unwrap();
    let mut disk = spec.build(1);
    let (mut now, mut ends) = (Instant::ZERO, Vec::new());
    let command = |nth: u32| Command {
        rq: RequestId::from_index(nth % 16),
        op: Op::Read,
        start: Sector(u64::from(nth) * 8),
        sectors: 8,
        fua: false,
        submitter: SubmitterId(1),
    };
    let mut free: Vec<u32> = (0..16).collect();
    for nth in 0..8_000 {
        while free.is_empty() {
            let then = disk.next().unwrap();
            while let Some(finished) = disk.finish(then) {
                free.push(finished.rq.index() as u32);
                ends.push(finished.at);
            }
            now = then;
        }
        let slot = free.pop().unwrap();
        disk.start(now, Command { rq: RequestId::from_index(slot), ..command(nth) });
    }
    let rate = |from: usize, to: usize| (to - from) as f64 / ends[to].since(ends[from]).as_secs_f64();
    let (burst, after) = (rate(100, 5_000), rate(7_000, 7_900));
    assert!((burst / 3_000.0 - 1.0).abs() < 0.02, "{burst}");
    assert!((after / 300.0 - 1.0).abs() < 0.02, "{after}");
    let wrong = blksched_disks::load_changed("cloud-gp2", &[("caps.burst".to_owned(), "10/s".to_owned())]);
    assert!(wrong.unwrap_err().to_string().contains("`burst` is less than `operations`"));
}
