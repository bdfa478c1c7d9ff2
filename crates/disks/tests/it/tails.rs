//! The mechanisms of a tail, each alone: what it does to the times of commands, and that it does nothing when off.

use crate::support::*;
use blksched::{Instant, Op, Span};
use blksched_disks::{
    Before, Chance, CoalescingSpec, DelaySpec, DiskSpec, DriveState, MapCacheSpec, MiddlewareSpec, PageTimes,
    RareDelay, RetrySpec, SlcSpec, SlcWhenFull, StallSpec, TailsSpec, load, load_changed, parse,
};

const US: fn(u64) -> Span = Span::from_us;

fn with_tails(tails: TailsSpec) -> DiskSpec {
    changed_ssd("sata-ssd-ideal", |ssd| ssd.tails = tails)
}

/// Latencies of single reads of 4 KiB, one at a time, ascending.
fn one_by_one(spec: &DiskSpec, count: u64) -> Vec<Span> {
    let places = (0..count).map(|n| read(n * 7_919_009 % 100_000_000 * 8, 8));
    let mut times: Vec<Span> = run(spec, 1, 1, places).latencies().collect();
    times.sort_unstable();
    times
}

#[test]
fn slow_pages_are_the_upper_percentiles_and_the_ideal_drive_has_none() {
    let pages = PageTimes::new(&[US(53), US(73), US(93)]);
    let spec = with_tails(TailsSpec { pages, ..TailsSpec::default() });
    let (tailed, ideal) = (one_by_one(&spec, 3_000), one_by_one(&load("sata-ssd-ideal").unwrap(), 3_000));
    assert_eq!(ideal[0], ideal[2_999]);
    assert_eq!((tailed[100] + US(20), tailed[1_500], tailed[2_900]), (ideal[0], ideal[0], ideal[0] + US(20)));
    assert_eq!(one_by_one(&spec.clone().without_tails(), 3_000), ideal);
    assert!(spec.has_tails() && !spec.without_tails().has_tails());
}

#[test]
fn a_page_that_is_read_again_takes_longer_and_a_hit_in_the_buffer_does_not() {
    let always = Chance::from_millionths(1_000_000);
    let retry = RetrySpec { chance: always, again: Chance::default(), step: US(500), most: 9 };
    let spec = with_tails(TailsSpec { retry: Some(retry), ..TailsSpec::default() });
    let ideal = one_by_one(&load("sata-ssd-ideal").unwrap(), 1)[0];
    assert_eq!(one_by_one(&spec, 10)[9], ideal + US(500));
    let run = run(&spec, 1, 1, [write(0, 8), read(0, 8)]);
    assert!(run.latencies().all(|time| time < US(100)), "{:?}", run.latencies().collect::<Vec<_>>());
}

#[test]
fn a_read_whose_map_is_not_in_memory_takes_one_page_more() {
    let map_cache = Some(MapCacheSpec { covers_sectors: 8_192, segment_sectors: 1_024 });
    let spec = with_tails(TailsSpec { map_cache, ..TailsSpec::default() });
    let flash = ssd(&spec).flash;
    let commands = [0u64, 1_000, 1_024, 8_192, 0].map(|start| read(start * 8 / 8, 8));
    let times: Vec<Span> = run(&spec, 1, 1, commands).latencies().collect();
    let (hit, miss) = (times[1], times[1] + flash.read);
    // A miss, the same segment, another, the one that displaces the first, and the first again.
    assert_eq!(times, [miss, hit, miss, miss, miss]);
}

#[test]
fn writes_wait_while_two_groups_of_64_are_full_and_reads_do_not() {
    let stall = Some(StallSpec { every: 64, time: Span::from_ms(8) });
    let spec = with_tails(TailsSpec { stall, ..TailsSpec::default() });
    let slow = |run: &Run| run.latencies().filter(|&time| time > Span::from_ms(4)).count();
    let writes = |depth| run(&spec, 1, depth, (0..640).map(|n| write(n * 800, 8)));
    // The first is programmed while the second is gathered, and the tenth's end is met by nobody.
    assert_eq!((slow(&writes(1)), slow(&writes(4))), (8, 32), "the one that waits, and four");
    let beside = run(&spec, 1, 2, (0..640).map(|n| if n < 320 { write(n * 800, 8) } else { read(n * 7_919, 8) }));
    assert_eq!(slow(&beside), 6, "five groups: two in flight wait three times, and no read");
    // Slower than they are programmed, none waits: 64 pairs take longer than 8 ms.
    let slower = run(&spec, 1, 1, (0..1_280).map(|n| if n % 2 == 0 { write(n * 800, 8) } else { read(n * 7_919, 8) }));
    let per_group = slower.ended.since(Instant::ZERO) / 10;
    assert!(per_group > Span::from_ms(8) && slow(&slower) == 0, "{per_group}");
}

#[test]
fn a_serial_link_slower_than_the_drive_limits_the_rate_and_not_the_single_command() {
    let link = |interval| changed_ssd("sata-ssd-ideal", |ssd| ssd.overhead.interval = US(interval));
    let places = |n: u64| read(n * 7_919_009 % 100_000_000 * 8, 8);
    let (fast, slow) = (link(10), link(50));
    assert_eq!(one_by_one(&fast, 100), one_by_one(&slow, 100));
    let deep = run(&slow, 1, 31, (0..2_000).map(places)).ended.since(Instant::ZERO);
    let expected = US(50 * 2_000);
    assert!(deep >= expected && deep < expected + US(200), "{deep}");
}

/// Every command takes the same time, one after the other.
fn serial() -> DiskSpec {
    load_changed("fixed", &[("channels".to_owned(), "1".to_owned())]).unwrap()
}

fn coalesced(from: u32, most: u32, time: Span) -> DiskSpec {
    let coalescing = Some(CoalescingSpec { from, most, time });
    let plain = serial();
    DiskSpec { middleware: MiddlewareSpec { coalescing, ..plain.middleware.clone() }, ..plain }
}

#[test]
fn completions_are_reported_together_when_enough_have_come_or_the_first_has_waited() {
    let alone = run(&serial(), 1, 1, [read(0, 8)]).ended;
    let ends = |spec: &DiskSpec, count: u64| -> Vec<Span> {
        let done = run(spec, 1, 8, (0..count).map(|n| read(n * 8, 8))).done;
        done.iter().map(|(_, done)| done.at.since(alone)).collect()
    };
    let one = alone.since(Instant::ZERO);
    let (short, long) = (US(100), US(300));
    assert!(short < one && one < long);
    // Below `from`, and at it.
    assert_eq!(ends(&coalesced(2, 100, short), 1), [Span::ZERO]);
    assert_eq!(ends(&coalesced(1, 100, short), 1), [short]);
    assert_eq!(ends(&coalesced(3, 100, short), 2), [Span::ZERO, one]);
    assert_eq!(ends(&coalesced(2, 100, short), 2), [short, one], "the second is alone in the controller");
    // Until the time is over, or enough have come.
    assert_eq!(ends(&coalesced(1, 100, long), 2), [long, long]);
    assert_eq!(ends(&coalesced(1, 2, long), 2), [one, one]);
    assert_eq!(ends(&coalesced(1, 1, long), 3), [Span::ZERO, one, one * 2], "groups of one are none");
}

#[test]
fn few_commands_are_delayed_much_and_the_rest_not_at_all() {
    let rare = Some(RareDelay { chance: Chance::from_millionths(10_000), mean: Span::from_ms(1) });
    let delay = Some(DelaySpec { time: Span::ZERO, jitter: Span::ZERO, rare });
    let plain = load("fixed").unwrap();
    let spec = DiskSpec { middleware: MiddlewareSpec { delay, ..plain.middleware.clone() }, ..plain.clone() };
    let (times, usual) = (one_by_one(&spec, 20_000), one_by_one(&plain, 1)[0]);
    let late: Vec<Span> = times.iter().copied().filter(|&time| time > usual).collect();
    assert!((160..240).contains(&late.len()), "{}", late.len());
    let mean = late.iter().map(|time| time.as_ms_f64()).sum::<f64>() / late.len() as f64 - usual.as_ms_f64();
    assert!((0.8..1.2).contains(&mean), "{mean} ms");
    assert_eq!(one_by_one(&spec.without_tails(), 100)[99], usual);
}

#[test]
fn the_ideal_drive_has_a_name_that_can_be_changed_and_put_into_arrays() {
    assert_eq!(load("ideal:hdd-7200-ideal").unwrap(), load("hdd-7200-ideal").unwrap(), "what has no tails is ideal");
    let folder = std::env::temp_dir().join(format!("blksched-tails-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("tailed.toml").display().to_string();
    let text = include_str!("../../presets/sata-ssd-ideal.toml");
    std::fs::write(&path, format!("{text}\n[stall]\nstate = \"on\"\nevery = 64\ntime = \"8ms\"\n")).unwrap();
    let name = format!("ideal:{path}");
    let (ideal, tailed) = (load(&name).unwrap(), load(&path).unwrap());
    assert!(tailed.has_tails() && !ideal.has_tails() && ideal.name == name);
    let changed = load_changed(&name, &[("depth".to_owned(), "7".to_owned())]).unwrap();
    assert!(!changed.has_tails() && changed.depth() == 7);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(load("ideal:sata-sdd").unwrap_err().to_string().contains("did you mean"));
}

/// All mechanisms at once.
fn everything(preset: &str) -> DiskSpec {
    let chance = Chance::from_millionths;
    let mut spec = changed_ssd(preset, |ssd| {
        ssd.tails = TailsSpec {
            pages: PageTimes::new(&[US(20), US(80), US(140)]),
            retry: Some(RetrySpec { chance: chance(50_000), again: chance(500_000), step: US(200), most: 8 }),
            map_cache: Some(MapCacheSpec { covers_sectors: 1 << 21, segment_sectors: 8_192 }),
            stall: Some(StallSpec { every: 64, time: Span::from_ms(8) }),
        };
        let fold = SlcWhenFull::Fold;
        ssd.slc =
            Some(SlcSpec { size_sectors: 1 << 14, program: US(200), idle: US(900), when_full: fold, is_full: false });
        ssd.interference.pulse = US(90);
        ssd.overhead.interval = ssd.overhead.command * 2;
    });
    let rare = Some(RareDelay { chance: chance(10_000), mean: Span::from_ms(1) });
    spec.middleware.delay = Some(DelaySpec { time: US(5), jitter: US(5), rare });
    spec.middleware.coalescing = Some(CoalescingSpec { from: 3, most: 8, time: US(130) });
    spec
}

#[test]
fn with_everything_on_commands_are_conserved_within_the_stated_time_and_a_seed_repeats_itself() {
    for preset in ["sata-ssd-ideal", "nvme-ssd-ideal", "nvme-ssd-aged"] {
        let spec = everything(preset);
        let run = |seed| {
            let mut random = Random(3);
            let place = |random: &mut Random| random.below(100_000) * 8;
            let (done, _) = check_conservation(&spec, seed, 3_000, &mut random, |random| match random.below(3) {
                0 => read(place(random), 8),
                1 => write(place(random), 8),
                _ => read(place(random), 64),
            });
            done.iter().map(|done| (done.rq, done.at)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1), "{preset}");
        assert_ne!(run(1), run(2), "{preset}: another seed draws other times");
        let commands = (0..20_000u64).map(|n| if n % 3 == 0 { write(n * 8, 8) } else { read(n * 79_190, 8) });
        let longest = crate::support::run(&spec, 1, spec.depth().min(31), commands).latencies().max().unwrap();
        let stated = spec.longest(Op::Read, 8).max(spec.longest(Op::Write, 8));
        assert!(longest <= stated, "{preset}: {longest}, {stated} stated");
    }
}

#[test]
fn the_state_at_the_start_decides_what_the_first_writes_find() {
    let text = include_str!("../../presets/sata-ssd-ideal.toml");
    let at = text.find("\n[overhead]").unwrap();
    let with = |state: &str| parse("my.toml", &format!("{}state = \"{state}\"\n{}", &text[..at], &text[at..]));
    let after = |state| ssd(&with(state).unwrap()).collection.unwrap().after_sectors;
    assert_eq!((after("fresh"), after("filled"), after("steady")), (6_000_000_000 / 512, 0, 0));
    assert_eq!(ssd(&with("steady").unwrap()).state, Some(DriveState::Steady));
    let error = with("stedy").unwrap_err().to_string();
    assert!(
        error.contains("`stedy` is not a value of `state`") && error.ends_with("did you mean `steady`?"),
        "{error}"
    );
    let aged = include_str!("../../presets/nvme-ssd-aged.toml").replacen("kind =", "state = \"fresh\"\nkind =", 1);
    let Some(map) = ssd(&parse("my.toml", &aged).unwrap()).page_map else { panic!("a map") };
    assert_eq!(map.before, Before::Empty, "the state goes before the table's own `before`");
}

#[test]
fn a_burst_into_cells_of_one_bit_is_fast_and_a_stream_is_not() {
    let slc = |is_full, when_full| {
        changed_ssd("sata-ssd-ideal", |ssd| {
            (ssd.buffer, ssd.collection) = (None, None);
            let program = ssd.flash.program;
            ssd.flash.program = program * 10;
            ssd.slc = Some(SlcSpec { size_sectors: 1 << 17, program, idle: Span::from_ms(1), when_full, is_full });
        })
    };
    // So slow that the link does not matter.
    let usual = changed_ssd("sata-ssd-ideal", |ssd| {
        (ssd.buffer, ssd.collection, ssd.flash.program) = (None, None, ssd.flash.program * 10);
    });
    let rate =
        |spec: &DiskSpec, sectors: u64| run(spec, 1, 31, (0..sectors / 64).map(|n| write(n * 64, 64))).per_second();
    let (burst, full) = (slc(false, SlcWhenFull::Direct), slc(true, SlcWhenFull::Direct));
    let (folds, plain) = (slc(true, SlcWhenFull::Fold), rate(&usual, 1 << 16));
    println!("{plain}: {} {} {}", rate(&burst, 1 << 16), rate(&full, 1 << 16), rate(&folds, 1 << 16));
    assert!(rate(&burst, 1 << 16) > 2.0 * plain);
    assert!((rate(&full, 1 << 16) - plain).abs() < 0.01 * plain);
    assert!(rate(&folds, 1 << 16) < 0.95 * plain, "each program is preceded by a move");
    let stream = rate(&burst, 1 << 20);
    assert!(stream > plain && stream < 1.4 * plain, "an eighth of it is fast: {stream}, {plain}");
    // A die that collects is not idle.
    let collects = |slc: Option<SlcSpec>| {
        changed_ssd("sata-ssd-ideal", |ssd| {
            (ssd.buffer, ssd.slc) = (None, slc);
            ssd.collection.as_mut().unwrap().after_sectors = 0;
        })
    };
    let slc = SlcSpec {
        size_sectors: 1 << 17,
        program: US(100),
        idle: Span::from_ms(1),
        when_full: SlcWhenFull::Direct,
        is_full: true,
    };
    assert_eq!(rate(&collects(Some(slc)), 1 << 18), rate(&collects(None), 1 << 18));
}

#[test]
fn cells_of_one_bit_are_read_from_their_table() {
    let table = "[slc]\nstate = \"on\"\nsize = \"40GB\"\nprogram = \"100us\"\nidle = \"2s\"\n";
    let read = |when: &str| read_with(&format!("{table}when_full = \"{when}\"")).map(|spec| ssd(&spec).slc.unwrap());
    let slc = read("direct").unwrap();
    assert_eq!((slc.size_sectors, slc.program, slc.is_full), (40_000_000_000 / 512, US(100), false));
    assert_eq!(read("fold").unwrap().when_full, SlcWhenFull::Fold);
    assert!(read("folds").unwrap_err().contains("did you mean `fold`?"));
    let wrong = |from: &str, to: &str| {
        read_with(&format!("{table}when_full = \"fold\"").replace(from, to)).map(|_| ()).unwrap_err()
    };
    assert!(wrong("40GB", "40TB").contains("`size` is more than the drive's `capacity`"));
    assert!(wrong("40GB", "1MB").contains("no room for a program of each die: expected"), "{}", wrong("40GB", "1MB"));
    assert!(wrong("100us", "90ms").contains("`program` is longer than `flash.program`"));
    let text = format!("{}\n{table}when_full = \"fold\"", include_str!("../../presets/sata-ssd-ideal.toml"));
    let steady = text.replacen("kind =", "state = \"steady\"\nkind =", 1);
    assert!(ssd(&parse("my.toml", &steady).unwrap()).slc.unwrap().is_full, "who has just overwritten it all filled it");
}

fn read_with(tables: &str) -> Result<DiskSpec, String> {
    let text = include_str!("../../presets/sata-ssd-ideal.toml");
    parse("my.toml", &format!("{text}\n{tables}")).map_err(|error| error.to_string())
}

#[test]
fn the_tables_are_read_with_their_switches() {
    let tables = "[pages]\nstate = \"on\"\ntimes = [\"53us\", \"73us\", \"93us\"]\n\
                  [retry]\nstate = \"on\"\nchance = \"0.2%\"\nagain = \"30%\"\nstep = \"80us\"\nmost = 5\n\
                  [map_cache]\nstate = \"on\"\ncovers = \"32GiB\"\nsegment = \"4MiB\"\n\
                  [stall]\nstate = \"on\"\nevery = 64\ntime = \"8.5ms\"\n\
                  [coalescing]\nstate = \"on\"\nfrom = 3\nmost = 8\ntime = \"130us\"\n\
                  [delay]\ntime = \"2us\"\nrare = \"1ms\"\nrare_chance = \"0.01%\"\n";
    let spec = read_with(tables).unwrap();
    let tails = ssd(&spec).tails;
    assert_eq!(tails.pages.unwrap().times(), [US(53), US(73), US(93)]);
    assert_eq!(tails.retry.unwrap().chance, Chance::from_millionths(2_000));
    assert_eq!(tails.map_cache.unwrap().segment_sectors, 8_192);
    assert_eq!(tails.stall.unwrap(), StallSpec { every: 64, time: Span::from_us(8_500) });
    assert_eq!(spec.middleware.coalescing.unwrap(), CoalescingSpec { from: 3, most: 8, time: US(130) });
    assert_eq!(spec.middleware.delay.unwrap().rare.unwrap().chance, Chance::from_millionths(100));
    let off = read_with(&tables.replace("\"on\"", "\"off\"")).unwrap();
    assert_eq!((ssd(&off).tails, off.middleware.coalescing), (TailsSpec::default(), None));
    let twice = read_with(&tables.replacen("\"on\"", "\"of\"", 1)).unwrap_err();
    assert!(twice.contains("`of` is not a value of `state`"), "{twice}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let pages = |times: &str| read_with(&format!("[pages]\nstate = \"off\"\ntimes = [{times}]")).unwrap_err();
    assert!(pages("\"53us\"").contains("1 times: expected one for each page of a cell, 2 to 4"));
    assert!(pages("\"1us\", \"2us\", \"3us\", \"4us\", \"99us\"").contains("5 times"));
    assert!(pages("\"53us\", \"73\"").contains("`73` is not a time"), "{}", pages("\"53us\", \"73\""));
    assert!(pages("\"93us\", \"99us\"").contains("is not between these times"));
    let retry = |chance: &str| {
        let rest = "again = \"30%\"\nstep = \"80us\"\nmost = 5";
        read_with(&format!("[retry]\nstate = \"on\"\nchance = \"{chance}\"\n{rest}")).map(|_| ())
    };
    assert!(retry("100%").is_ok() && retry("0.0001%").is_ok());
    assert!(retry("100.1%").unwrap_err().contains("a probability from 0% to 100%"));
    assert!(retry("0.00001%").unwrap_err().contains("at most four decimals"));
    let stall = |every: u32| read_with(&format!("[stall]\nstate = \"on\"\nevery = {every}\ntime = \"8ms\""));
    assert!(stall(1).is_ok());
    assert!(stall(0).unwrap_err().contains("a whole number from 1"));
    let cache = |covers: &str, segment: &str| {
        let keys = format!("covers = \"{covers}\"\nsegment = \"{segment}\"");
        read_with(&format!("[map_cache]\nstate = \"on\"\n{keys}")).map(|_| ())
    };
    assert!(cache("4MiB", "4MiB").is_ok() && cache("16GiB", "4KiB").is_ok());
    assert!(cache("2MiB", "4MiB").unwrap_err().contains("`covers` is 0 of `segment`"));
    assert!(cache("17GiB", "4KiB").unwrap_err().contains("expected 1 to 4194304"));
    let rare = read_with("[delay]\ntime = \"2us\"\nrare = \"1ms\"").unwrap_err();
    assert!(rare.contains("`rare_chance`"), "{rare}");
}
