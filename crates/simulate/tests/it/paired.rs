//! A bio that passes several recorded devices is one: texts as blkparse and tracefs write them, and a law: what our own
//! stacked devices make of random bios, written as a trace and paired again, is these bios.

use std::fmt::Write as _;

use blksched::{Bio, Durability, Instant, Op, Sector, SubmitterId};
use blksched_disks::stack::{Below, StackLayout, StackSpec, Volume};
use blksched_simulate::recording::{Info, Paired, Reading, Recorded, Stream, in_memory, recording};

fn read(text: &str) -> Result<Recorded, String> {
    recording(vec![in_memory("x", text.as_bytes().to_vec())], &Reading::default())
}

fn info(text: &str) -> (Info, Paired) {
    let files = vec![in_memory("x", text.as_bytes().to_vec())];
    Info::paired(&mut Stream::open(files, Reading::default()).unwrap()).unwrap()
}

/// blkparse's text of these events, a microsecond apart: device, action, kind and the rest.
fn blkparse(events: &[(&str, &str, &str, &str)]) -> String {
    let line = |(nth, (device, action, kind, rest)): (usize, &(&str, &str, &str, &str))| {
        let end = if *action == "Q" { " [app]" } else { "" };
        format!("  {device}    0 {:>8}     0.{:09}   734  {action} {kind:>3} {rest}{end}\n", nth + 1, 1000 * (nth + 1))
    };
    events.iter().enumerate().map(line).collect()
}

#[test]
fn each_kind_of_device_is_paired_with_what_lies_below_it() {
    let raid0 = [
        ("9,0", "Q", "WS", "4936 + 80"),
        ("8,16", "A", "WS", "2432 + 24 <- (9,0) 4992"),
        ("8,16", "Q", "WS", "2432 + 24"),
        ("8,0", "A", "WS", "2504 + 56 <- (9,0) 4936"),
        ("8,0", "Q", "WS", "2504 + 56"),
        ("8,0", "C", "WS", "2504 + 56 [0]"),
        ("8,16", "C", "WS", "2432 + 24 [0]"),
        ("9,0", "C", "WS", "4936 + 80 [0]"),
    ];
    let raid1 = [
        ("9,0", "Q", "WS", "100 + 8"),
        ("8,0", "A", "WS", "100 + 8 <- (9,0) 100"),
        ("8,0", "Q", "WS", "100 + 8"),
        ("8,16", "A", "WS", "100 + 8 <- (9,0) 100"),
        ("8,16", "Q", "WS", "100 + 8"),
        ("9,0", "Q", "FWS", "0 + 0"),
        ("8,16", "Q", "FW", "0 + 0"),
        ("8,0", "Q", "FW", "0 + 0"),
    ];
    let raid5 = [
        ("9,0", "Q", "WS", "4936 + 8"),
        ("8,16", "A", "R", "1608 + 8 <- (9,0) 4808"),
        ("8,16", "Q", "R", "1608 + 8"),
        ("8,48", "A", "WS", "1608 + 8 <- (9,0) 0"),
        ("8,48", "Q", "WS", "1608 + 8"),
        ("8,32", "A", "WS", "1608 + 8 <- (9,0) 4936"),
        ("8,32", "Q", "WS", "1608 + 8"),
    ];
    // A volume on an array: the array's bio is a part, too.
    let linear = [
        ("253,0", "Q", "R", "8 + 16"),
        ("9,0", "A", "R", "2056 + 16 <- (253,0) 8"),
        ("9,0", "Q", "R", "2056 + 16"),
        ("8,0", "A", "R", "1032 + 16 <- (9,0) 2056"),
        ("8,0", "Q", "R", "1032 + 16"),
    ];
    for (events, ios, parts) in [(&raid0[..], 1, 2), (&raid1[..], 2, 4), (&raid5[..], 1, 3), (&linear[..], 1, 2)] {
        let text = blkparse(events);
        let (info, paired) = info(&text);
        assert_eq!((info.ios(), paired.all_parts(), paired.all_own()), (ios, parts, 0), "{text}");
        let recorded = read(&text).unwrap();
        assert_eq!(recorded.recording.ios() as u64, ios);
        let told = &recorded.notes[0];
        assert!(told.contains("I/Os are parts of others") && told.contains("no I/O below is anything else"), "{told}");
    }
    assert_eq!(info(&blkparse(&raid0)).0.completions, 1, "what completes below completes nothing else");
    // What a partition got is its disk's.
    let partition = blkparse(&[("8,0", "A", "W", "2148 + 8 <- (8,1) 100"), ("8,0", "Q", "W", "2148 + 8")]);
    assert_eq!((info(&partition).0.ios(), info(&partition).1), (1, Paired::default()));
}

const HEAD: &str = "# blksched record 1\n# kernel 6.12.1\n# mappings recorded\n\
                    # device 9,0 name=md0 stack=md-raid1:sda+sdb\n# device 8,0 name=sda\n# device 8,16 name=sdb\n";

#[test]
fn what_is_no_part_stays_and_priorities_are_those_of_the_requests_below() {
    let text = format!(
        "{HEAD}\
         a-7 [001] d.... 12.000007: block_bio_queue: 9,0 WS 100 + 8 [a]\n\
         a-7 [001] d.... 12.000008: block_bio_remap: 8,0 WS 2148 + 8 <- (9,0) 100\n\
         a-7 [001] d.... 12.000009: block_bio_queue: 8,0 WS 2148 + 8 [a]\n\
         a-7 [001] d.... 12.000010: block_rq_insert: 8,0 WS 4096 () 2148 + 8 rt,0,2 [a]\n\
         b-8 [001] d.... 12.000020: block_bio_queue: 8,0 R 999 + 8 [b]\n\
         b-8 [001] d.... 12.000021: block_rq_insert: 8,0 R 4096 () 999 + 8 be,0,7 [b]\n\
         a-0 [001] d.... 12.000107: block_rq_complete: 8,0 WS () 2148 + 8 rt,0,2 [0]\n\
         a-0 [001] d.... 12.000108: block_bio_complete: 9,0 WS 100 + 8 [0]\n\
         a-0 [001] d.... 12.000109: block_rq_complete: 8,0 R () 999 + 8 be,0,7 [0]\n"
    );
    let without = |word: &str| {
        let part = |line: &&str| !(line.contains("remap") || line.contains("8,0 WS"));
        let lines: String = text.lines().filter(part).map(|line| format!("{line}\n")).collect();
        lines.replace("md0 stack=md-raid1:sda+sdb", word)
    };
    let recorded = read(&text).unwrap();
    assert_eq!((recorded.recording.ios(), recorded.top), (2, Some((9, 0))));
    assert_eq!(recorded.machine.unwrap().word("name"), Some("md0"));
    let told = "1 I/O is a part of others and not counted again: of 9,0: 8,0 (1); 1 below are none: 8,0 (1)";
    assert_eq!(recorded.notes, [told]);
    // The same without the part, but with the array's own request.
    let expected = without("md0").replace(
        "12.000020: block_bio",
        "12.000010: block_rq_insert: 9,0 WS 4096 () 100 + 8 rt,0,2 [a]\nb-8 [001] d.... 12.000020: block_bio",
    );
    let mut together = Reading::default();
    together.filter.take("device", "all").unwrap();
    let expected = recording(vec![in_memory("x", expected.into_bytes())], &together).unwrap();
    assert_eq!(recorded.recording, expected.recording);
    // Without a header it is not known where sda's own is to go.
    let bare: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let error = read(&bare).unwrap_err();
    assert!(error.contains("has 2 devices") && error.contains("1 below are none: 8,0 (1)"), "{error}");
}

/// A linear congruential generator: the same bios on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const THREAD: SubmitterId = SubmitterId(99);

fn letters(bio: &Bio) -> String {
    let op = match bio.op {
        Op::Read => "R",
        Op::Discard => "D",
        Op::Flush => return "FWS".to_owned(),
        _ => "W",
    };
    let has = |has: bool, letter| if has { letter } else { "" };
    format!("{}{op}{}", has(bio.durability.preflush, "F"), has(bio.durability.fua, "F"))
}

/// What the kernel's tracer would write.
#[derive(Default)]
struct Traced {
    /// All of it, and what is left of it if each bio is one.
    all: String,
    whole: String,
    us: u64,
    ios: usize,
    parts: u64,
    own: u64,
}

impl Traced {
    fn line(&mut self, is_whole: bool, pid: u32, event: &str, bio: &str, end: &str) {
        self.us += 1;
        let mut line = String::new();
        let us = self.us;
        writeln!(line, "p{pid}-{pid} [000] ..... {}.{:06}: {event}: {bio}{end}", us / 1_000_000, us % 1_000_000)
            .unwrap();
        self.all += &line;
        if is_whole {
            self.whole += &line;
        }
    }

    fn submitted(&mut self, is_whole: bool, device: &str, bio: &Bio) {
        let pid = bio.submitter.0 + 1;
        let what = format!("{device} {} {} + {}", letters(bio), bio.start.0, bio.sectors);
        self.line(is_whole, pid, "block_bio_queue", &what, &format!(" [p{pid}]"));
    }

    fn completed(&mut self, is_whole: bool, device: &str, bio: &Bio) {
        let what = format!("{device} {} {} + {}", letters(bio), bio.start.0, bio.sectors);
        self.line(is_whole, 0, "block_bio_complete", &what, " [0]");
    }
}

/// Random bios through a device, many at once; its own I/Os between them where `has_own`.
fn traced(layout: StackLayout, members: &[u64], has_own: bool, draw: &mut Draw) -> Traced {
    let mut volume = Volume::new(&StackSpec::of(layout), members, 2, THREAD);
    let device = |member: u32| format!("8,{}", 16 * member);
    let (mut traced, mut out, mut open, mut under_way) = (Traced::default(), Vec::new(), Vec::new(), Vec::<Bio>::new());
    let (mut now, sectors, is_mds) = (Instant::ZERO, volume.map().sectors(), layout.is_mds());
    while traced.ios < 400 || !under_way.is_empty() {
        match draw.below(5) {
            0 if traced.ios < 400 && under_way.len() < 8 => {
                let op = [Op::Read, Op::Write, Op::Write, Op::Discard, Op::Flush][draw.below(5) as usize];
                let op = if op == Op::Discard && layout.parities() > 0 { Op::Write } else { op };
                // A single flush of a device at a time is told apart from another's.
                let flushes = op == Op::Flush || op == Op::Write && draw.below(4) == 0;
                let is_alone = !under_way.iter().any(|bio| bio.durability.preflush || bio.op == Op::Flush);
                let length = if op == Op::Flush { 0 } else { 1 + draw.below(200) };
                let start = Sector(if op == Op::Flush { 0 } else { draw.below(sectors - length) });
                let durability =
                    Durability { preflush: flushes && op == Op::Write, fua: op == Op::Write && draw.below(4) == 0 };
                let by = SubmitterId(draw.below(3) as u32);
                let bio = Bio { op, durability, ..Bio::write(traced.us, by, start, length as u32) };
                let overlaps = under_way.iter().any(|other| other.end() > bio.start && bio.end() > other.start);
                if (flushes && !is_alone) || overlaps {
                    continue;
                }
                traced.ios += 1;
                traced.submitted(true, "9,0", &bio);
                under_way.push(bio);
                volume.enter(now, bio, &mut out);
            }
            1 if has_own => {
                let (member, by) = (draw.below(members.len() as u64) as u32, SubmitterId(5));
                // Beyond what the device has of the member.
                let bio = Bio::write(0, by, Sector(100_000 + 8 * draw.below(1000)), 8);
                traced.submitted(true, &device(member), &bio);
                traced.completed(true, &device(member), &bio);
                traced.own += 1;
            }
            2 | 3 if !open.is_empty() => {
                let (member, part): (u32, Bio) = open.swap_remove(draw.below(open.len() as u64) as usize);
                traced.completed(false, &device(member), &part);
                volume.done(now, part.tag, false, &mut out);
            }
            _ => {
                if let Some(next) = volume.next() {
                    now = next.max(now);
                    volume.elapse(now, &mut out);
                }
            }
        }
        for below in std::mem::take(&mut out) {
            match below {
                Below::Submit { member, bio } => {
                    let to = device(member);
                    if !(is_mds && bio.op == Op::Flush) {
                        let what = format!("{to} {} {} + {} <- (9,0) 0", letters(&bio), bio.start.0, bio.sectors);
                        traced.line(false, bio.submitter.0 + 1, "block_bio_remap", &what, "");
                    }
                    traced.submitted(false, &to, &bio);
                    traced.parts += 1;
                    open.push((member, bio));
                }
                Below::Complete { tag, .. } => {
                    let at = under_way.iter().position(|bio| bio.tag == tag).unwrap();
                    traced.completed(true, "9,0", &under_way.remove(at));
                }
            }
        }
    }
    traced
}

#[test]
fn random_bios_through_a_device_written_and_paired_again_are_these_bios() {
    let mut draw = Draw(11);
    for (layout, members) in [
        (StackLayout::Linear, vec![4_096; 2]),
        (StackLayout::Behind { header: 128 }, vec![8_192]),
        (StackLayout::Striped { chunk: 16 }, vec![4_096; 3]),
        (StackLayout::Raid0 { chunk: 32 }, vec![4_096, 6_000, 5_000]),
        (StackLayout::Raid1, vec![4_096; 3]),
        (StackLayout::Raid10 { chunk: 16 }, vec![4_096; 4]),
        (StackLayout::Raid4 { chunk: 16 }, vec![4_096; 3]),
        (StackLayout::Raid5 { chunk: 16 }, vec![4_096; 4]),
        (StackLayout::Raid6 { chunk: 16 }, vec![4_096; 5]),
    ] {
        for has_own in [false, true] {
            let traced = traced(layout, &members, has_own, &mut draw);
            let words: Vec<String> = (0..members.len()).map(|nth| format!("sd{nth}")).collect();
            let devices: String =
                words.iter().zip(0..).map(|(name, nth)| format!("# device 8,{} name={name}\n", 16 * nth)).collect();
            let head = format!(
                "# blksched record 1\n# mappings recorded\n# device 9,0 name=md0 stack=linear:{}\n{devices}",
                words.join("+")
            );
            // Without a header md's flushes are known to be parts once a mapping showed what lies on what.
            let is_enough = !has_own && !layout.is_mds();
            let texts = if is_enough { vec![head.as_str(), "# tracer: nop\n"] } else { vec![head.as_str()] };
            for head in texts {
                let paired = read(&format!("{head}{}", traced.all)).unwrap();
                let mut together = Reading::default();
                together.filter.take("device", "all").unwrap();
                let whole = vec![in_memory("x", traced.whole.clone().into_bytes())];
                let whole = recording(whole, &together).unwrap();
                assert_eq!(paired.recording.ios(), traced.ios + traced.own as usize, "{layout:?}");
                assert_eq!(paired.recording, whole.recording, "{layout:?} {has_own}");
                let (_, counts) = info(&format!("{head}{}", traced.all));
                assert_eq!(counts.all_parts(), traced.parts, "{layout:?}");
                let own = if head.contains("stack=") { traced.own } else { 0 };
                assert_eq!(counts.all_own(), own, "{layout:?}");
            }
        }
    }
}
