//! The prober on our own models, in virtual time: it finds what the model is made of.

use core::ops::ControlFlow;

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::probe::{Modelled, ProbeAccess, ProbeError, ProbeOutcome, Traced, fit_trace, measure};
use blksched_disks::sheet::{Figure, data_sheet};
use blksched_disks::{DiskSpec, HddSpec, Model, SsdSpec, WriteCacheSpec, load, load_changed};

pub(super) fn probed(spec: &DiskSpec, access: ProbeAccess) -> ProbeOutcome {
    let mut target = Modelled::new(spec, 3, access);
    let outcome = measure(&mut target, Span::from_secs(300), 1, &mut |_| ControlFlow::Continue(()));
    let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", spec.name));
    assert_eq!(outcome.stopped, None, "{}", spec.name);
    outcome
}

/// Checks that every value of the list is within 5 %; the list names what differs.
pub(super) fn compare(name: &str, pairs: &[(&str, f64, f64)], outcome: &ProbeOutcome) {
    let off = |(_, ours, theirs): &&(&str, f64, f64)| (ours / theirs - 1.0).abs() > 0.05;
    let off: Vec<_> = pairs.iter().filter(off).collect();
    assert!(off.is_empty(), "{name}: {off:?}\n{}", outcome.toml);
    let error = outcome.error().expect("something was held back");
    let (worst, by) = pairs
        .iter()
        .map(|(what, ours, theirs)| (*what, (ours / theirs - 1.0).abs()))
        .fold(("", 0.0), |worst: (&str, f64), pair| if pair.1 > worst.1 { pair } else { worst });
    // For the table of docs/disks.md.
    println!("{name}: {worst} {:.1} %, held back {:.1} %", 100.0 * by, 100.0 * error);
    assert!(error <= 0.05, "{name}: {error:.3}\n{}", outcome.toml);
}

pub(super) fn hdd(spec: &DiskSpec) -> &HddSpec {
    let Model::Hdd(hdd) = &spec.model else { panic!("{} is {:?}", spec.name, spec.model) };
    hdd
}

/// What reads alone show about a spinning disk.
pub(super) fn read_parameters(found: &HddSpec, real: &HddSpec) -> Vec<(&'static str, f64, f64)> {
    let ns = |span: Span| span.as_ns() as f64;
    let rate = |hdd: &HddSpec| [hdd.zones.outer, hdd.zones.inner, hdd.interface].map(|rate| rate.bytes_per_s() as f64);
    let ([outer, inner, wire], [real_outer, real_inner, real_wire]) = (rate(found), rate(real));
    let turn =
        |hdd: &HddSpec| [hdd.geometry.track_skew, hdd.geometry.cylinder_skew].map(|turn| turn.millionths().into());
    let ([track, cylinder], [real_track, real_cylinder]) = (turn(found), turn(real));
    let (ahead, real_ahead) = (found.look_ahead.as_ref().unwrap(), real.look_ahead.as_ref().unwrap());
    let mut pairs = vec![
        ("speed", found.rpm.into(), real.rpm.into()),
        ("outer", outer, real_outer),
        ("inner", inner, real_inner),
        ("interface", wire, real_wire),
        ("heads", found.geometry.heads.into(), real.geometry.heads.into()),
        ("track_skew", track, real_track),
        ("cylinder_skew", cylinder, real_cylinder),
        ("seek.min", ns(found.seek.min), ns(real.seek.min)),
        ("seek.average", ns(found.seek.average), ns(real.seek.average)),
        ("seek.max", ns(found.seek.max), ns(real.seek.max)),
        ("head_switch", ns(found.seek.head_switch), ns(real.seek.head_switch)),
        ("command", ns(found.overhead.command), ns(real.overhead.command)),
        ("segment", ahead.segment_sectors as f64, real_ahead.segment_sectors as f64),
        ("segments", ahead.segments.into(), real_ahead.segments.into()),
    ];
    if let (Some(ncq), Some(real_ncq)) = (&found.ncq, &real.ncq) {
        pairs.push(("queued", ns(found.overhead.queued), ns(real.overhead.queued)));
        pairs.push(("age_limit", ns(ncq.age_limit), ns(real_ncq.age_limit)));
        assert_eq!((ncq.order, ncq.depth), (real_ncq.order, real_ncq.depth));
        match real_ncq.sequential_wait.is_zero() {
            true => assert_eq!(ncq.sequential_wait, Span::ZERO),
            false => {
                pairs.push(("sequential_wait", ns(ncq.sequential_wait), ns(real_ncq.sequential_wait)));
                pairs.push(("sequential_limit", ns(ncq.sequential_limit), ns(real_ncq.sequential_limit)));
            }
        }
    }
    pairs
}

/// What writes show beyond that; which goes first, destaging or commands, only where commands queue.
fn write_parameters(found: &DiskSpec, real: &DiskSpec) -> Vec<(&'static str, f64, f64)> {
    let rate = |spec: &DiskSpec| {
        let sheet = data_sheet(spec);
        sheet.iter().find(|line| line.figure == Figure::RandomWrite32).expect("it writes").model
    };
    let rates = (rate(found), rate(real));
    let settle = [found, real].map(|spec| hdd(spec).seek.write_settle.as_ns() as f64);
    // Two per cent of a random write: draws of places differ by that.
    assert!((settle[0] - settle[1]).abs() <= 100_000.0, "{settle:?}");
    let queues = hdd(real).ncq.is_some_and(|ncq| ncq.depth > 1);
    let (cache, real) = (hdd(found).write_cache.as_ref().unwrap(), hdd(real).write_cache.as_ref().unwrap());
    assert_eq!(cache.order, real.order);
    let pairs = vec![
        ("reach", cache.reach.into(), real.reach.into()),
        ("size", cache.size_sectors as f64, real.size_sectors as f64),
        ("extents", cache.extents.into(), real.extents.into()),
        ("random writes", rates.0, rates.1),
    ];
    if queues {
        // 220 reads cannot tell more: two draws of places were 0 and 17 % off.
        let turn = |cache: &WriteCacheSpec| cache.destage.turn.as_ns() as f64;
        let share = |cache: &WriteCacheSpec| f64::from(cache.destage.share_percent);
        let within = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() <= 0.2;
        assert!(within(share(cache), share(real)) && within(turn(cache), turn(real)), "{:?}", cache.destage);
    }
    pairs
}

const TURNING: [&str; 4] = ["hdd-7200-ideal", "hdd-7200-starves", "sata-2009", "ide-2002"];

#[test]
fn reads_alone_show_what_a_disk_that_turns_is_made_of() {
    for preset in TURNING {
        let real = load(preset).unwrap();
        let outcome = probed(&real, ProbeAccess::ReadOnly);
        // Sixteen far reads wait for four seconds each where the drive prefers streams.
        let most = Span::from_secs(if preset == "hdd-7200-starves" { 180 } else { 150 });
        assert!(outcome.took < most, "{preset}: {}", outcome.took);
        compare(preset, &read_parameters(hdd(&outcome.spec), hdd(&real)), &outcome);
    }
}

#[test]
fn with_writes_the_cache_shows_too() {
    for preset in TURNING {
        let real = load(preset).unwrap();
        let outcome = probed(&real, ProbeAccess::Destroy);
        compare(preset, &write_parameters(&outcome.spec, &real), &outcome);
    }
}

pub(super) fn ssd(spec: &DiskSpec) -> &SsdSpec {
    let Model::Ssd(ssd) = &spec.model else { panic!("{} is {:?}", spec.name, spec.model) };
    ssd
}

fn flash_parameters(found: &SsdSpec, real: &SsdSpec) -> Vec<(&'static str, f64, f64)> {
    let ns = |span: Span| span.as_ns() as f64;
    let rate = |ssd: &SsdSpec| [ssd.interface.rate, ssd.flash.channel_rate].map(|rate| rate.bytes_per_s() as f64);
    let ([wire, channel], [real_wire, real_channel]) = (rate(found), rate(real));
    let (collection, real_collection) = (found.collection.unwrap(), real.collection.unwrap());
    let copies = |percent: u32| 100.0 / (100.0 - f64::from(percent));
    vec![
        ("command", ns(found.overhead.command), ns(real.overhead.command)),
        ("interval", ns(found.overhead.interval), ns(real.overhead.interval)),
        ("interface", wire, real_wire),
        ("channel_rate", channel, real_channel),
        ("channels", found.flash.channels.into(), real.flash.channels.into()),
        ("dies", found.flash.dies.into(), real.flash.dies.into()),
        ("page", found.flash.page_sectors as f64, real.flash.page_sectors as f64),
        ("read", ns(found.flash.read), ns(real.flash.read)),
        ("program_size", found.flash.program_sectors as f64, real.flash.program_sectors as f64),
        ("program", ns(found.flash.program), ns(real.flash.program)),
        ("after", collection.after_sectors as f64, real_collection.after_sectors as f64),
        ("writes per write", copies(collection.valid_percent), copies(real_collection.valid_percent)),
    ]
}

#[test]
fn a_disk_of_flash_shows_its_dies_its_programs_and_its_collection() {
    for (preset, after) in [("sata-ssd-ideal", "3GB"), ("nvme-ssd-ideal", "3GB")] {
        // Less than the preset has, so that the test is short: the mechanism is the same.
        let real = load_changed(preset, &[("collection.after".to_owned(), after.to_owned())]).unwrap();
        let outcome = probed(&real, ProbeAccess::Destroy);
        assert_eq!(ssd(&outcome.spec).interface.duplex, ssd(&real).interface.duplex);
        compare(preset, &flash_parameters(ssd(&outcome.spec), ssd(&real)), &outcome);
    }
}

/// What an aged flash disk shows; its programs cannot be distinguished from the copies between them, only their sum.
fn aged_parameters(found: &SsdSpec, real: &SsdSpec) -> Vec<(&'static str, f64, f64)> {
    let ns = |span: Span| span.as_ns() as f64;
    let rate = |ssd: &SsdSpec| ssd.interface.rate.bytes_per_s() as f64;
    let sum = |ssd: &SsdSpec| ns(ssd.overhead.command + ssd.flash.read);
    vec![
        ("interval", ns(found.overhead.interval), ns(real.overhead.interval)),
        ("interface", rate(found), rate(real)),
        ("command and read", sum(found), sum(real)),
        ("channels", found.flash.channels.into(), real.flash.channels.into()),
        ("dies", found.flash.dies.into(), real.flash.dies.into()),
        ("page", found.flash.page_sectors as f64, real.flash.page_sectors as f64),
    ]
}

#[test]
fn reads_alone_show_an_aged_disk_of_flash() {
    let real = load("nvme-ssd-aged").unwrap();
    let outcome = probed(&real, ProbeAccess::ReadOnly);
    compare("nvme-ssd-aged", &aged_parameters(ssd(&outcome.spec), ssd(&real)), &outcome);
}

#[test]
#[ignore = "slow: writes 18 GB through a map of pages, half a minute"]
fn writes_show_what_an_aged_disk_of_flash_comes_to() {
    let real = load("nvme-ssd-aged").unwrap();
    // A fifth of the usual time: it is slow from its first write on.
    let mut target = Modelled::new(&real, 3, ProbeAccess::Destroy);
    let outcome = measure(&mut target, Span::from_secs(60), 1, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(outcome.stopped, None);
    let mut pairs = aged_parameters(ssd(&outcome.spec), ssd(&real));
    let [found, own] = [&outcome.spec, &real].map(sustained_writes);
    pairs.push(("sustained writes", found, own));
    compare("nvme-ssd-aged, writes", &pairs, &outcome);
}

/// The rate of random writes of 128 KiB, at the end of 4 GB \[bytes/s\].
fn sustained_writes(spec: &DiskSpec) -> f64 {
    let mut disk = spec.build(9);
    let (mut now, mut draw, mut ends) = (Instant::ZERO, 88_172_645_463_325_252u64, Vec::new());
    let mut free: Vec<RequestId> = (0..32).map(RequestId::from_index).collect();
    for _ in 0..32_000 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = Sector((draw >> 32) % (disk.facts().sectors / 256 - 1) * 256);
        while free.is_empty() {
            let then = disk.next().unwrap();
            if let Some(finished) = disk.finish(then) {
                (now, free) = (finished.at, vec![finished.rq]);
                ends.push(now);
            }
        }
        let rq = free.pop().unwrap();
        disk.start(now, Command { rq, op: Op::Write, start, sectors: 256, fua: false, submitter: SubmitterId(1) });
    }
    let (from, last) = (ends[ends.len() / 2], ends[ends.len() - 1]);
    (ends.len() / 2) as f64 * 131_072.0 / last.since(from).as_secs_f64()
}

/// One command at a time, and a map that takes longer than the command: the data's time on a channel cannot be
/// distinguished from that on the interface.
fn slow_flash_parameters(found: &SsdSpec, real: &SsdSpec, access: ProbeAccess) -> Vec<(&'static str, f64, f64)> {
    let ns = |span: Span| span.as_ns() as f64;
    let map = |ssd: &SsdSpec, op| {
        let map = ssd.overhead.map;
        ns(if op == Op::Read { map.random_read } else { map.random_write }.unwrap())
    };
    let rate = |ssd: &SsdSpec| ssd.interface.rate.bytes_per_s() as f64;
    let mut pairs = vec![
        ("random_read", map(found, Op::Read), map(real, Op::Read)),
        ("interface", rate(found), rate(real)),
        (
            "command and read",
            ns(found.overhead.command + found.flash.read),
            ns(real.overhead.command + real.flash.read),
        ),
    ];
    if access == ProbeAccess::Destroy {
        pairs.push(("random_write", map(found, Op::Write), map(real, Op::Write)));
        pairs.push(("command", ns(found.overhead.command), ns(real.overhead.command)));
        pairs.push(("program", ns(found.flash.program), ns(real.flash.program)));
    }
    pairs
}

#[test]
fn a_stick_and_a_card_show_what_their_map_takes() {
    for preset in ["usb-stick", "sd-card"] {
        let real = load(preset).unwrap();
        for access in [ProbeAccess::ReadOnly, ProbeAccess::Destroy] {
            let outcome = probed(&real, access);
            compare(preset, &slow_flash_parameters(ssd(&outcome.spec), ssd(&real), access), &outcome);
        }
    }
}

/// What a volume is made of; where its credits outlast the measurement, its burst is what shows.
pub(super) fn volume_parameters(found: &DiskSpec, real: &DiskSpec) -> Vec<(&'static str, f64, f64)> {
    let fixed = |spec: &DiskSpec| {
        let Model::Fixed(fixed) = &spec.model else { panic!("{} is {:?}", spec.name, spec.model) };
        *fixed
    };
    let ns = |span: Span| span.as_ns() as f64;
    let (ours, theirs) = (fixed(found), fixed(real));
    let rate = |rate: Option<blksched_disks::Rate>| rate.unwrap().bytes_per_s() as f64;
    let mut pairs = vec![
        ("read service", ns(ours.read.service), ns(theirs.read.service)),
        ("write service", ns(ours.write.service), ns(theirs.write.service)),
        ("read rate", rate(ours.read.rate), rate(theirs.read.rate)),
        ("write rate", rate(ours.write.rate), rate(theirs.write.rate)),
    ];
    let (ours_around, theirs_around) = (&found.middleware, &real.middleware);
    if let (Some(ours), Some(theirs)) = (ours_around.delay, theirs_around.delay) {
        pairs.push(("jitter", ns(ours.jitter), ns(theirs.jitter)));
    }
    match (ours_around.caps, theirs_around.caps) {
        (Some(ours), Some(theirs)) => {
            let long = theirs.operations.credits > 1_000_000;
            let operations = if long { theirs.operations.burst } else { theirs.operations.rate };
            pairs.push(("operations", ours.operations.rate as f64, operations as f64));
            pairs.push(("bytes", ours.bytes.rate as f64, theirs.bytes.rate as f64));
            if !long {
                pairs.push(("credits", ours.operations.credits as f64, theirs.operations.credits as f64));
            }
        }
        (None, None) => pairs.push(("channels", ours.channels.into(), theirs.channels.into())),
        (ours, theirs) => panic!("caps {ours:?} for {theirs:?}"),
    }
    pairs
}

#[test]
fn a_volume_shows_its_delay_and_its_caps_or_how_many_commands_it_serves() {
    for preset in ["cloud-gp3", "cloud-gp2", "fixed"] {
        let real = load(preset).unwrap();
        for access in [ProbeAccess::ReadOnly, ProbeAccess::Destroy] {
            let outcome = probed(&real, access);
            compare(preset, &volume_parameters(&outcome.spec, &real), &outcome);
        }
    }
}

#[test]
fn a_volume_whose_measuring_was_interrupted_says_so() {
    let mut target = Modelled::new(&load("cloud-gp3").unwrap(), 3, ProbeAccess::Destroy);
    let mut stop = |progress: blksched_disks::probe::ProbeProgress| match progress.stage {
        "long writing" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let outcome = measure(&mut target, Span::from_secs(300), 1, &mut stop).unwrap();
    assert_eq!(outcome.stopped, Some(ProbeError::Interrupted));
    assert!(matches!(outcome.spec.model, Model::Fixed(_)), "{}", outcome.toml);
    assert!(outcome.toml.contains("# Not all of it was measured: interrupted."), "{}", outcome.toml);
}

#[test]
fn what_takes_no_time_is_known_at_once() {
    for access in [ProbeAccess::ReadOnly, ProbeAccess::Destroy] {
        let outcome = probed(&load("null").unwrap(), access);
        assert!(matches!(outcome.spec.model, Model::Null(_)), "{}", outcome.toml);
    }
}

#[test]
#[ignore = "slow: writes 48 GB to the models, two minutes without optimisation"]
fn a_disk_of_flash_as_its_preset_has_it() {
    for preset in ["sata-ssd-ideal", "nvme-ssd-ideal"] {
        let real = load(preset).unwrap();
        let outcome = probed(&real, ProbeAccess::Destroy);
        compare(preset, &flash_parameters(ssd(&outcome.spec), ssd(&real)), &outcome);
    }
}

#[test]
fn what_is_interrupted_or_out_of_time_says_what_is_missing_and_is_a_disk_all_the_same() {
    let mut target = Modelled::new(&load("hdd-7200-ideal").unwrap(), 3, ProbeAccess::ReadOnly);
    let mut stop = |progress: blksched_disks::probe::ProbeProgress| match progress.stage {
        "look-ahead" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let outcome = measure(&mut target, Span::from_secs(300), 1, &mut stop).unwrap();
    assert_eq!(outcome.stopped, Some(ProbeError::Interrupted));
    assert!(outcome.held_back.is_empty() && outcome.toml.contains("# Not all of it was measured: interrupted."));
    assert!(hdd(&outcome.spec).look_ahead.is_none() && hdd(&outcome.spec).rpm == 7200);

    let mut target = Modelled::new(&load("hdd-7200-ideal").unwrap(), 3, ProbeAccess::ReadOnly);
    let outcome = measure(&mut target, Span::from_secs(20), 1, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(outcome.stopped, Some(ProbeError::TimeIsUp));
    assert!(outcome.took < Span::from_secs(21), "{}", outcome.took);
}

#[test]
fn without_leave_to_destroy_nothing_is_written() {
    let real = blksched_disks::parse("traced", &(HDD.to_owned() + "\n[tracer]\nkeep = 100000\n")).unwrap();
    let mut target = Modelled::new(&real, 3, ProbeAccess::ReadOnly);
    measure(&mut target, Span::from_secs(300), 1, &mut |_| ControlFlow::Continue(())).unwrap();
    let trace = target.disk().trace().expect("a tracer is in the way");
    let reads = trace.records().filter(|record| record.command.op == blksched::Op::Read).count();
    assert!(reads > 1_000 && reads == trace.records().count());
}

const HDD: &str = include_str!("../../presets/ide-2002.toml");

/// The trace of a closed loop of one command at a time: streams at both ends, random reads, writes.
fn traced(spec: &DiskSpec) -> Vec<Traced> {
    let mut disk = spec.build(5);
    let (mut now, mut traced, mut state) = (Instant::ZERO, Vec::new(), 88_172_645_463_325_252u64);
    let mut random = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let sectors = disk.facts().sectors;
    for nth in 0..3_000u64 {
        let (op, start, length) = match nth % 300 {
            step @ 0..100 => (Op::Read, (nth / 300 % 2) * (sectors - 200_000) + step * 256, 256),
            100..280 => (Op::Read, random(sectors - 8), 8),
            _ => (Op::Write, random(sectors - 8), 8),
        };
        let (rq, submitter) = (RequestId::from_index(0), SubmitterId(1));
        disk.start(now, Command { rq, op, start: Sector(start), sectors: length, fua: false, submitter });
        let finished = loop {
            let then = disk.next().unwrap();
            if let Some(finished) = disk.finish(then) {
                break finished;
            }
        };
        traced.push(Traced { op, start, sectors: length, issued: now, completed: finished.at });
        now = finished.at;
    }
    traced
}

#[test]
fn a_trace_tells_what_its_load_asked_for_and_the_rest_is_named() {
    let near = |name: &str, ours: f64, theirs: f64, within: f64| {
        assert!((ours / theirs - 1.0).abs() <= within, "{name}: {ours} for {theirs}");
    };
    let real = load("sata-2009").unwrap();
    let fit = fit_trace("mine", traced(&real)).unwrap();
    let (found, real) = (hdd(&fit.spec), hdd(&real));
    assert_eq!(found.rpm, real.rpm);
    near("outer", found.zones.outer.bytes_per_s() as f64, real.zones.outer.bytes_per_s() as f64, 0.06);
    near("inner", found.zones.inner.bytes_per_s() as f64, real.zones.inner.bytes_per_s() as f64, 0.06);
    near("average", found.seek.average.as_ms_f64(), real.seek.average.as_ms_f64(), 0.15);
    assert!(found.write_cache.is_some() && fit.unknown.iter().any(|what| what.starts_with("heads, skews")));
    assert!(fit.held_back.unwrap().relative() < 0.35, "{}", fit.toml);

    let real = load("sata-ssd-ideal").unwrap();
    let fit = fit_trace("mine", traced(&real)).unwrap();
    assert!(ssd(&fit.spec).depth == 1 && fit.unknown.iter().any(|what| what.starts_with("dies")));
    assert!(fit.held_back.unwrap().relative() < 0.35, "{}", fit.toml);

    // A disk that takes the same time for every command is neither.
    let slow = load_changed("fixed", &[("service".to_owned(), "3ms".to_owned())]).unwrap();
    let fit = fit_trace("mine", traced(&slow)).unwrap();
    let Model::Fixed(found) = &fit.spec.model else { panic!("{}", fit.toml) };
    near("service", found.read.service.as_ms_f64(), 3.0, 0.02);
    assert!(fit.held_back.unwrap().relative() < 0.02, "{}", fit.toml);

    let few = fit_trace("mine", traced(&load("sata-ssd-ideal").unwrap())[..100].to_vec()).unwrap_err().to_string();
    assert!(few.contains("100 commands") && few.contains("expected 200 or more"), "{few}");
}

#[test]
fn what_is_as_slow_as_a_disk_that_turns_and_does_not_is_measured_as_what_it_is_and_says_so() {
    let slow = load_changed("fixed", &[("service".to_owned(), "3ms".to_owned())]).unwrap();
    let mut target = Modelled::new(&slow, 3, ProbeAccess::ReadOnly);
    let outcome = measure(&mut target, Span::from_secs(120), 1, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(outcome.toml.contains("\n# Its reads take as long as"), "{}", outcome.toml);
    assert!(matches!(outcome.spec.model, Model::Fixed(_)), "{}", outcome.toml);
}

#[test]
fn a_seek_curve_of_another_shape_is_written_point_by_point() {
    let mut real = load("hdd-7200-ideal").unwrap();
    let ms = |ms: f64| Span::from_ns((ms * 1e6) as u64);
    // A straight line over more cylinders than it has.
    let line = |distance: u32| 1.0 + 14.0 * f64::from(distance) / 400_000.0;
    real.hdd_mut().unwrap().seek_curve = [1, 200_000, 400_000].map(|distance| (distance, ms(line(distance)))).to_vec();
    let outcome = probed(&real, ProbeAccess::ReadOnly);
    let found = &hdd(&outcome.spec).seek_curve;
    assert!(found.len() >= 6, "{}", outcome.toml);
    for (distance, time) in &found[1..] {
        let (ours, theirs) = (time.as_ms_f64(), line(*distance));
        assert!((ours / theirs - 1.0).abs() < 0.05, "{distance}: {ours} for {theirs}\n{}", outcome.toml);
    }
    // The usual curve needs three numbers.
    let usual = probed(&load("hdd-7200-ideal").unwrap(), ProbeAccess::ReadOnly);
    assert!(hdd(&usual.spec).seek_curve.is_empty(), "{}", usual.toml);
}

/// Two thirds of its cylinders as fast as the outermost, then half as fast: not a straight line.
const KNEE: [(u32, u32, u32); 2] = [(0, 100_000, 3_600), (100_001, 150_000, 1_800)];

#[test]
fn rates_of_another_shape_are_written_zone_by_zone() {
    let preset = include_str!("../../presets/hdd-7200-ideal.toml");
    let without = |text: &str, heading: &str| {
        let (before, behind) = text.split_once(heading).expect("it has it");
        let (_, behind) = behind.split_once("\n[").expect("more follows");
        format!("{before}[{behind}")
    };
    let mut text = without(&without(preset, "[zones]"), "[geometry]");
    text = text.lines().filter(|line| !line.starts_with("zones.") && !line.starts_with("geometry.")).fold(
        String::new(),
        |text, line| match line.starts_with("capacity") {
            true => text + "capacity = \"1.8TB\"\n",
            false => text + line + "\n",
        },
    );
    text += "\n[geometry]\nheads = 8\n";
    for (first, last, per_track) in KNEE {
        text += &format!(
            "\n[[zone]]\nfirst_cylinder = {first}\nlast_cylinder = {last}\nsectors_per_track = {per_track}\n\
             track_skew = \"0.12rev\"\ncylinder_skew = \"0.12rev\"\n"
        );
    }
    let real = blksched_disks::parse("knee", &text).unwrap();
    let outcome = probed(&real, ProbeAccess::ReadOnly);
    let found = hdd(&outcome.spec).layout.as_ref().unwrap_or_else(|| panic!("{}", outcome.toml));
    assert_eq!(found.zones.len(), 20);
    for figure in [Figure::SequentialRead, Figure::SequentialReadMiddle, Figure::SequentialReadInner] {
        let of = |spec: &DiskSpec| data_sheet(spec).iter().find(|line| line.figure == figure).unwrap().model;
        let (ours, theirs) = (of(&outcome.spec), of(&real));
        assert!((ours / theirs - 1.0).abs() < 0.05, "{figure:?}: {ours} for {theirs}\n{}", outcome.toml);
    }
}
