//! What md and device mapper made of bios in a guest with Linux 6.12 (`testdata/stack/6.12`, recorded by
//! `docs/stack-guest.sh`), beside what our maps make of the same bios: order, flags, sizes, and the member of each.
//!
//! Jobs that keep one bio under way, and a journal's, are compared bio by bio, all parts in their order; of parity,
//! where one thread works on many stripes at once, the order within each stripe. Of the job that keeps six under way
//! the places are, and of a journal above parity.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use blksched::{Bio, Durability, Hints, Instant, Op, Priority, Sector, SubmitterId};
use blksched_disks::stack::{Below, StackSpec, Volume, stack_word};
use blksched_simulate::recording::{Info, Reading, Stream, in_memory, recording};
use blksched_traces::machine::Machine;
use blksched_traces::tracefs::{self, TracefsEvent, TracefsLine};

const THREAD: SubmitterId = SubmitterId(u32::MAX);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stack/6.12")
}

/// A bio of the stacked device, and what was submitted below until the next one.
struct Asked {
    job: String,
    bio: Bio,
    parts: Vec<String>,
}

/// A recording of one stacked device.
struct Recorded {
    spec: StackSpec,
    kind: &'static str,
    /// The members' lengths, and where on them the device begins.
    lengths: Vec<u64>,
    offsets: Vec<u64>,
    asked: Vec<Asked>,
    /// Of what was mapped: the sector above, the member, the sector there.
    mapped: Vec<(u64, u32, u64)>,
    /// What was submitted below that is no part of anything.
    own: Vec<TracefsLine>,
    parts: u64,
    text: Vec<u8>,
}

impl Recorded {
    fn of(path: &Path) -> Recorded {
        let mut text = String::new();
        flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        let machine = Machine::read(&text).unwrap();
        let stacked = machine.devices.iter().find_map(|(number, device)| Some((*number, device.word("stack")?)));
        let (top, word) = stacked.unwrap();
        let word = stack_word(word).unwrap().unwrap();
        let members: Vec<_> = word.disks().iter().map(|name| machine.called(name).unwrap()).collect();
        let number = |nth: usize, word: &str| members[nth].1.word(word).unwrap().parse::<u64>().unwrap();
        let numbers: Vec<(u32, u32)> = members.iter().map(|(number, _)| **number).collect();
        let mut recorded = Recorded {
            spec: word.spec,
            kind: word.kind,
            lengths: (0..numbers.len()).map(|nth| number(nth, "used")).collect(),
            offsets: (0..numbers.len()).map(|nth| number(nth, "offset")).collect(),
            asked: Vec::new(),
            mapped: Vec::new(),
            own: Vec::new(),
            parts: 0,
            text: text.clone().into_bytes(),
        };
        recorded.read(&text, top, &numbers);
        recorded
    }

    fn read(&mut self, text: &str, top: (u32, u32), members: &[(u32, u32)]) {
        let (mut job, mut waiting) = (String::new(), Vec::<((u32, String), u64)>::new());
        for text in text.lines() {
            if let Some((_, name)) = text.split_once("tracing_mark_write: # job ") {
                job = name.trim().to_owned();
                continue;
            }
            let Some(line) = tracefs::read(text.as_bytes(), Path::new("x")).unwrap().pop() else { continue };
            let member = members.iter().position(|number| *number == line.device);
            let part = member.map(|member| {
                let at = line.sector.saturating_sub(if line.sectors > 0 { self.offsets[member] } else { 0 });
                (member as u32, shown(member as u32, &line.rwbs, at, line.sectors))
            });
            match (line.event, part) {
                (TracefsEvent::BioQueue, None) if line.device == top => {
                    self.asked.push(Asked { job: job.clone(), bio: bio(&line, &job), parts: Vec::new() });
                }
                (TracefsEvent::Remap, Some((member, part))) => {
                    let (from, at) = line.from.unwrap();
                    assert_eq!(from, top);
                    if line.sectors > 0 {
                        self.mapped.push((at, member, line.sector - self.offsets[member as usize]));
                    }
                    waiting.push(((member, part), at));
                }
                (TracefsEvent::BioQueue, Some(part)) => {
                    let mapped = waiting.iter().rposition(|(other, _)| *other == part).map(|at| waiting.remove(at).1);
                    let is_flush = line.sectors == 0 && line.rwbs.starts_with('F');
                    if mapped.is_none() && !is_flush {
                        self.own.push(line);
                        continue;
                    }
                    // A journal has several bios under way: a part is that one's whose sector was mapped.
                    let is_its = |asked: &Asked| match (is_flush, mapped) {
                        (false, Some(at)) => (asked.bio.start.0..asked.bio.end().0).contains(&at),
                        _ => asked.bio.op == Op::Flush || asked.bio.durability.preflush,
                    };
                    let last = self.asked.len() - 1;
                    let of = self.asked.iter().rposition(is_its).filter(|_| job == "ext4").unwrap_or(last);
                    self.asked[of].parts.push(part.1);
                    self.parts += 1;
                }
                _ => {}
            }
        }
        assert!(waiting.is_empty(), "each mapped bio is submitted: {waiting:?}");
    }
}

/// A part as one word. Where a flush lies, and whether a read is ahead of time, are no matter.
fn shown(member: u32, letters: &str, sector: u64, sectors: u32) -> String {
    match sectors {
        0 => format!("{member} flush"),
        _ => format!("{member} {} {sector} + {sectors}", letters.replace('A', "")),
    }
}

fn letters(bio: &Bio) -> String {
    let op = match bio.op {
        Op::Read => "R",
        Op::Discard => "D",
        _ => "W",
    };
    let of = |has: bool, letter: &'static str| if has { letter } else { "" };
    let (fua, sync, meta) = (of(bio.durability.fua, "F"), of(bio.hints.req_sync, "S"), of(bio.hints.meta, "M"));
    format!("{}{op}{fua}{sync}{meta}", if bio.durability.preflush { "F" } else { "" })
}

/// The bio of a line, with the priority of its job.
fn bio(line: &TracefsLine, job: &str) -> Bio {
    let preflush = line.rwbs.starts_with('F');
    let rest = &line.rwbs[usize::from(preflush)..];
    let op = match (line.sectors, rest.as_bytes()[0]) {
        (0, _) => Op::Flush,
        (_, b'R') => Op::Read,
        (_, b'D') => Op::Discard,
        _ => Op::Write,
    };
    let has = |letter| rest[1..].contains(letter);
    let durability = Durability { preflush: preflush && op == Op::Write, fua: has('F') && op == Op::Write };
    let hints = Hints { req_sync: has('S'), meta: has('M'), ..Hints::default() };
    let level = match job {
        "reads" => 2,
        "writes" => 6,
        _ => 4,
    };
    let priority = Priority { level, ..Priority::NORMAL };
    Bio {
        op,
        durability,
        hints,
        priority,
        ..Bio::read(line.time_us, SubmitterId(1), Sector(line.sector), line.sectors)
    }
}

/// What a volume makes of these bios, all submitted at once: its parts in their order.
fn made(volume: &mut Volume, now: &mut Instant, bios: &[Bio]) -> Vec<String> {
    let (mut out, mut open, mut parts, mut left) = (Vec::new(), Vec::new(), Vec::new(), bios.len());
    bios.iter().for_each(|bio| volume.enter(*now, *bio, &mut out));
    while left > 0 {
        for below in out.drain(..) {
            match below {
                Below::Submit { member, bio } => {
                    parts.push(shown(member, &letters(&bio), bio.start.0, bio.sectors));
                    open.push(bio);
                }
                Below::Complete { .. } => left -= 1,
            }
        }
        // What is submitted together is answered together.
        for part in std::mem::take(&mut open) {
            volume.done(*now, part.tag, false, &mut out);
        }
        if out.is_empty()
            && let Some(next) = volume.next()
        {
            *now = next.max(*now);
            volume.elapse(*now, &mut out);
        }
    }
    parts
}

/// The kernel cuts what a mirror gets at the least of what its members take, and we at each member: 127.5 KiB here.
fn cut(recorded: &Recorded, bio: Bio) -> Vec<Bio> {
    const LONGEST: u32 = 255;
    if recorded.kind != "md-raid1" || bio.op == Op::Discard || bio.sectors <= LONGEST {
        return vec![bio];
    }
    let piece = |begin: u32| {
        let start = Sector(bio.start.0 + u64::from(begin));
        Bio { start, sectors: LONGEST.min(bio.sectors - begin), ..bio }
    };
    (0..bio.sectors).step_by(LONGEST as usize).map(piece).collect()
}

/// The parts by what of the members they are: of each stripe, in their order.
fn by_place(parts: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut all = BTreeMap::<&str, Vec<&str>>::new();
    for part in parts {
        let place = part.split(' ').nth(2).unwrap_or("flush");
        all.entry(place).or_default().push(part);
    }
    all
}

/// How many bios of each job are equal, and how many there are; the first that is not is told.
fn compared(name: &str, recorded: &Recorded) -> BTreeMap<String, (usize, usize)> {
    // The guest has one processor.
    let mut volume = Volume::new(&recorded.spec, &recorded.lengths, 1, THREAD).with_solid_members();
    let mut now = Instant::ZERO;
    let mut all = BTreeMap::<String, (usize, usize)>::new();
    let is_left = |asked: &&Asked| asked.job != "deep" && (asked.job != "ext4" || recorded.spec.parity.is_none());
    for Asked { job, bio, parts } in recorded.asked.iter().filter(is_left) {
        let ours = made(&mut volume, &mut now, &cut(recorded, *bio));
        let equal = match recorded.spec.parity {
            Some(_) => by_place(&ours) == by_place(parts),
            None if bio.op == Op::Read && job == "ext4" => {
                let of_any = |part: &String| of_any(part, recorded).to_owned();
                ours.iter().map(of_any).eq(parts.iter().map(of_any))
            }
            None => ours == *parts,
        };
        if !equal {
            println!(
                "{name} {job} {} {} + {}:\n    is   {parts:?}\n    ours {ours:?}",
                letters(bio),
                bio.start.0,
                bio.sectors
            );
        }
        let count = all.entry(job.clone()).or_default();
        *count = (count.0 + usize::from(equal), count.1 + 1);
    }
    all
}

/// A part without which mirror it is on: that hangs on what else is under way, of which a file system has much.
fn of_any<'p>(part: &'p str, recorded: &Recorded) -> &'p str {
    let is_mirror = matches!(recorded.kind, "md-raid1" | "md-raid10");
    part.split_once(' ').filter(|_| is_mirror).map_or(part, |(_, part)| part)
}

fn recordings(folder: &Path) -> Vec<(String, PathBuf)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<(String, PathBuf)> = files
        .filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(".trace.gz")?.to_owned(), path)))
        .filter(|(name, _)| name != "partition")
        .collect();
    all.sort();
    assert!(all.len() >= 16, "{all:?}");
    all
}

/// The bios that are not equal, of how many.
fn differences(folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut equal, mut bios) = (0, 0);
    for (name, path) in recordings(folder) {
        for (job, (same, all)) in compared(&name, &Recorded::of(&path)) {
            (equal, bios) = (equal + same, bios + all);
            if same < all {
                wrong.push(format!("{name} {job}: {same} of {all}"));
            }
        }
    }
    println!("{equal} of {bios} bios have the same parts");
    wrong
}

#[test]
fn recorded_bios_have_the_parts_that_our_maps_make() {
    assert_eq!(differences(&folder()), KNOWN);
}

/// Where a stripe cache is full, others of it are still in memory than ours keeps: md's has several lists of them.
const KNOWN: [&str; 4] =
    ["raid4 sizes: 15 of 16", "raid5 sizes: 15 of 16", "raid5-3 sizes: 14 of 16", "raid6 sizes: 13 of 16"];

#[test]
fn everything_mapped_lies_where_our_maps_have_it() {
    for (name, path) in recordings(&folder()) {
        let recorded = Recorded::of(&path);
        let map = recorded.spec.above(&recorded.lengths);
        for &(from, member, sector) in &recorded.mapped {
            let is_data = (0..map.copies()).map(|copy| map.place(from, copy));
            let is_data = is_data.into_iter().any(|place| (place.member, place.sector) == (member, sector));
            let is_parity = from == 0 && map.parity(sector) >> member & 1 == 1;
            // A discard that goes to every member tells the bio's first sector for all of them.
            let is_discard = recorded
                .asked
                .iter()
                .any(|Asked { bio, .. }| bio.op == Op::Discard && (bio.start.0..bio.end().0).contains(&from));
            assert!(is_data || is_parity || is_discard, "{name}: {from} on {member} at {sector}");
        }
    }
}

/// Behind the members' requests there are the priorities of who wrote, except where md's thread works.
#[test]
fn priorities_go_down_except_through_parity() {
    for (name, path) in recordings(&folder()) {
        let recorded = Recorded::of(&path);
        let text = String::from_utf8(recorded.text.clone()).unwrap();
        let mut levels = BTreeMap::<(String, bool), Vec<u8>>::new();
        let mut job = String::new();
        for text in text.lines() {
            if let Some((_, name)) = text.split_once("tracing_mark_write: # job ") {
                job = name.trim().to_owned();
            }
            let Some(line) = tracefs::read(text.as_bytes(), Path::new("x")).unwrap().pop() else { continue };
            let is_members = line.event == TracefsEvent::Insert && line.sectors > 1 && line.last != "kworker/0:1H";
            if let (true, Some(priority)) = (is_members && ["reads", "writes"].contains(&job.as_str()), line.priority) {
                let by_thread = line.task.starts_with("md0_");
                levels.entry((job.clone(), by_thread)).or_default().push(priority.level);
            }
        }
        for ((job, by_thread), mut levels) in levels {
            levels.sort_unstable();
            levels.dedup();
            let own = if job == "reads" { 2 } else { 6 };
            // The probes before a job are at the usual level.
            assert_eq!(levels.contains(&own), !by_thread, "{name} {job} {by_thread}: {levels:?}");
            assert!(by_thread || levels.iter().all(|level| [own, 4].contains(level)), "{name} {job}: {levels:?}");
        }
    }
}

/// What the recorder would have written of that machine: each bio is counted once, and what is left below is md's own.
#[test]
fn a_recorded_bio_and_its_parts_are_one() {
    for (name, path) in recordings(&folder()) {
        let recorded = Recorded::of(&path);
        let file = || vec![in_memory(&name, recorded.text.clone())];
        let read = recording(file(), &Reading::default()).unwrap();
        assert_eq!(read.recording.ios(), recorded.asked.len() + recorded.own.len(), "{name}");
        let (info, paired) = Info::paired(&mut Stream::open(file(), Reading::default()).unwrap()).unwrap();
        assert_eq!(info.ios(), (recorded.asked.len() + recorded.own.len()) as u64, "{name}");
        assert_eq!((paired.all_parts(), paired.all_own()), (recorded.parts, recorded.own.len() as u64), "{name}");
        let superblocks = recorded.own.iter().all(|line| line.task.starts_with("md0_") && line.rwbs == "FWFSM");
        assert!(superblocks, "{name}: {:?}", recorded.own);
        assert_eq!(info.never_completed(), 0, "{name}");
        assert!(read.machine.unwrap().word("stack").is_some(), "{name}");
    }
    // A partition is no device: its bios are its disk's.
    let path = folder().join("partition.trace.gz");
    let file = || vec![in_memory("partition", fs::read(&path).unwrap())];
    let (info, paired) = Info::paired(&mut Stream::open(file(), Reading::default()).unwrap()).unwrap();
    assert!(info.ios() > 20 && paired == Default::default(), "{} {paired:?}", info.ios());
}

#[test]
#[ignore = "slow: a guest is booted under emulation and records every device, some four minutes"]
fn a_guest_records_the_same_parts_again() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stack-guest.sh");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let to = target.join("stack-guest");
    let mut sh = Command::new("sh");
    sh.arg(script).arg(&to).env("CARGO_TARGET_DIR", target.join(".."));
    let said = blksched_testkit::output(&mut sh).unwrap();
    let told = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    println!("{told}");
    if told.contains("stack-guest: no ") || told.contains("stack-guest: apt knows no") {
        assert!(std::env::var_os("BLKSCHED_REQUIRE_GUESTS").is_none(), "{told}");
        println!("skipped");
        return;
    }
    assert!(said.status.success(), "{told}");
    assert_eq!(differences(&to), KNOWN);
}
