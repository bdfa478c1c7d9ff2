//! Traces of every format that can be replayed, as recordings: the only place that knows both.
//!
//! | format | contents besides sector, length and time |
//! |---|---|
//! | blktrace's binary files, one per CPU, or blkparse's dump (`-d`) | completions, plugs, process names |
//! | blkparse's text | the same |
//! | tracefs's text with `block_bio_queue` and `block_rq_…` | completions, priorities (kernels since 6.7) |
//! | VMware's vscsi, versions 1 and 2 | version 2: completions |
//! | rows of [columns](blksched_traces::columns), [known](blksched_traces::presets) or described | what they say |
//!
//! Files may be packed (gzip, zstd, bzip2). A recording that is replayed takes some 16 bytes an I/O: of
//! [`most_memory`](Reading::most_memory) in memory, and beyond that in a temporary file. [`Info`] needs memory only for
//! the I/Os in flight.

mod apart;
mod doubts;
mod events;
mod filter;
mod format;
mod info;
mod ios;
mod order;
mod paired;
mod stream;
mod unlike;

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use blksched::{Op, Span};
use blksched_measure::Work;
use blksched_traces::machine::{Device, Machine};
use blksched_workloads::replay::{Builder, Recording, TraceEvent};

pub use events::Begins;
pub use filter::{Devices, Filter, KEYS};
pub use format::Format;
pub use info::{Fitness, Info, LoadAsked, LoadShare};
pub use ios::{Ios, TraceIo};
pub use paired::Paired;
use paired::Pairing;
pub use stream::{Damage, MOST_WAITING, Met, Named, Reading, Stream, WINDOW};

/// How much of a file is read to determine its format \[bytes\].
const BEGINNING: usize = 64 << 10;

/// What a file is, by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A trace in a known format.
    Trace,
    /// A job file, or at least a text that could be one.
    Jobs,
    /// Neither, with an explanation.
    Unknown(String),
}

/// Whether this file is a trace that can be replayed. `name` is for the explanation if it is neither a trace nor a job
/// file.
pub fn content(name: &str, file: impl Read + Send) -> std::io::Result<Content> {
    let mut beginning = Vec::new();
    let damaged = match blksched_traces::unpack::unpacked(file) {
        Ok(input) => input.take(BEGINNING as u64).read_to_end(&mut beginning).err(),
        Err(error) => Some(error),
    };
    match damaged {
        Some(error) if beginning.is_empty() => return Err(error),
        _ => {}
    }
    let whole = beginning.len() < BEGINNING;
    if Format::of(&beginning, whole).is_some() {
        return Ok(Content::Trace);
    }
    Ok(if name.ends_with(".fio") || looks_like_jobs(&beginning) {
        Content::Jobs
    } else {
        Content::Unknown(format::unknown(name, &beginning, whole))
    })
}

/// Whether a section or an option is alone on a line, or there are only comments: such a text is meant as a job file.
fn looks_like_jobs(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let text_alone = !text.contains('\0');
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let is_section = |line: &str| {
        let line = line.split([';', '#']).next().unwrap_or_default().trim_end();
        line.starts_with('[') && line.ends_with(']')
    };
    let is_option = |line: &str| {
        let name = line.split('=').next().unwrap_or_default();
        name.len() < 40 && name.chars().all(|c| c.is_ascii_alphabetic() || "_-".contains(c)) && !name.is_empty()
    };
    text_alone && lines.next().is_none_or(|line| is_section(line) || is_option(line) || line.starts_with("include "))
}

/// The recording in a trace's files: several if there is one per CPU. Each has a name for errors. Comes with notes on
/// what was found, and whether it can support a verdict.
///
/// # Errors
/// If a file is not a trace or is broken, nothing was submitted, or it has several devices and none is chosen.
pub fn recording(files: Vec<Named>, reading: &Reading) -> Result<Recorded, String> {
    let name = files.first().map_or(String::new(), |(name, _)| name.clone());
    let mut stream = Stream::open(files, reading.clone())?;
    has_places(&name, &stream)?;
    let is_each = reading.filter.device == Devices::Each;
    let (mut builder, mut info, mut each) =
        (Builder::keeping(reading.most_memory), Info::default(), BTreeMap::<_, Info>::new());
    let header = stream.machine().cloned();
    let mut pairing = Pairing::of(header.as_ref());
    // Who asks for one device wants all of its own.
    let pairs = !matches!(reading.filter.device, Devices::One(_));
    stream.each(|event| {
        let count = |event: &TraceEvent| {
            info.count(event);
            let own = is_each && (each.len() < MOST_DISKS || each.contains_key(&event.device));
            let mut own = own.then(|| each.entry(event.device).or_default());
            own.iter_mut().for_each(|own| own.count(event));
            builder.add(event, |since| {
                let took = Span::from_ns(event.time - since);
                info.took_so_long(event.op, took);
                own.iter_mut().for_each(|own| own.took_so_long(event.op, took));
            });
            match builder.trouble() {
                Some(trouble) => Err(format!("{name}: {trouble}")),
                None => Ok(()),
            }
        };
        if pairs { pairing.take(event, count) } else { Some(event).into_iter().try_for_each(count) }
    })?;
    let paired = pairing.finish();
    let counts: BTreeMap<_, u64> = info.devices().into_iter().map(|(device, share)| (device, share.ios)).collect();
    // What lies below the only device that is below none has its place there.
    let mut tops = counts.keys().filter(|device| !paired.own.contains_key(device));
    let top = tops.next().copied().filter(|_| tops.next().is_none() && header.is_some());
    let pairs_said = paired.told(|device| stream.device(device));
    match reading.filter.device {
        Devices::Only if counts.len() > 1 && top.is_none() => {
            return Err(choose(&name, &stream, &counts, pairs_said.as_deref()));
        }
        Devices::Each if counts.len() > MOST_DISKS => return Err(choose(&name, &stream, &counts, None)),
        _ => {}
    }
    if let (Devices::One(wanted), true) = (&reading.filter.device, counts.is_empty()) {
        return Err(format!(
            "{name}: no I/O of device {wanted} is left: `blksched trace info` shows which devices it has"
        ));
    }
    let recording = builder.finish(stream.names()).map_err(|error| format!("{name}: {error}"))?;
    let fitness = info.fitness(stream.format(), stream.met());
    let top = top.filter(|_| reading.filter.device == Devices::Only);
    let device = counts.keys().next().filter(|_| counts.len() == 1).copied().or(top);
    let machine = |device| stream.machine().and_then(|machine| device_of(machine, device));
    let of = |(device, info): (_, Info)| DeviceOf {
        device,
        name: stream.device(device),
        machine: machine(device),
        fitness: info.fitness(stream.format(), stream.met()),
        took: took(&info),
    };
    let each = each.into_iter().filter(|(device, _)| counts.contains_key(device)).map(of).collect();
    let machine = device.and_then(machine);
    let top = top.filter(|_| counts.len() > 1);
    let counts = if is_each || top.is_some() { BTreeMap::new() } else { counts };
    let notes = notes(&stream, &counts).into_iter().chain(pairs_said).chain(info.doubts()).collect();
    Ok(Recorded { machine, header, recording, top, notes, fitness, took: took(&info), name, each })
}

/// Whether it can be replayed at all.
fn has_places(name: &str, stream: &Stream) -> Result<(), String> {
    let format = stream.format();
    if format.has_place() {
        return Ok(());
    }
    Err(format!("{name}: {} cannot be replayed: {}", format.title(), format.notes().join("; ")))
}

/// One of a machine's devices, with the machine's kernel as one more of its words.
fn device_of(machine: &Machine, device: (u32, u32)) -> Option<Device> {
    let mut device = machine.devices.get(&device)?.clone();
    if !machine.kernel.is_empty() {
        device.words.insert("kernel".to_owned(), machine.kernel.clone());
    }
    Some(device)
}

/// A trace of more devices would make a world of too many disks to look at.
const MOST_DISKS: usize = 16;

/// A recording, and what a user who replays it should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The first file's name.
    pub name: String,
    /// What was submitted.
    pub recording: Recording,
    /// The device above the others, if it has I/Os of devices below it that are no parts of its own.
    pub top: Option<(u32, u32)>,
    /// What is known of the device it was recorded on.
    pub machine: Option<Device>,
    /// All that its header says of the machine, if it has one.
    pub header: Option<Machine>,
    /// Whether it can support a verdict about queueing.
    pub fitness: Fitness,
    /// How long reads and writes took, as far as the trace tells.
    pub took: Vec<(Work, Took)>,
    /// Its origin, what it lacks, and what was assumed.
    pub notes: Vec<String>,
    /// Its devices one by one, if each becomes a disk ([`Devices::Each`]).
    pub each: Vec<DeviceOf>,
}

/// One of a recording's devices.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceOf {
    /// Its number.
    pub device: (u32, u32),
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub machine: Option<Device>,
    /// Whether its part can support a verdict about queueing on it.
    pub fitness: Fitness,
    /// How long reads and writes on it took, as far as the trace tells.
    pub took: Vec<(Work, Took)>,
}

/// How long I/Os of one direction took, from submission to completion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// The number of I/Os with a known latency.
    pub ios: u64,
    /// Their mean \[ns\].
    pub mean: f64,
    /// The 99th percentile \[ns\].
    pub p99: f64,
}

fn took(info: &Info) -> Vec<(Work, Took)> {
    let of = |(work, op): (Work, Op)| {
        let latency = info.took(op)?;
        let p99 = latency.percentile(99.0).as_ns() as f64;
        Some((work, Took { ios: latency.count(), mean: latency.mean(), p99 }))
    };
    [(Work::Read, Op::Read), (Work::Write, Op::Write)].into_iter().filter_map(of).collect()
}

fn notes(stream: &Stream, counts: &BTreeMap<(u32, u32), u64>) -> Vec<String> {
    let mut notes = stream.format().notes();
    let met = stream.met();
    let told = [
        (met.damaged, "damaged lines or records were skipped"),
        (met.without_kind, "rows do not say whether they read or write and were left out"),
        (met.late, "events came more than a second late and were given the moment of the one before"),
        (met.lost, "events were lost while it was recorded"),
        (met.cut_off, "files end inside a line, a record or a packed block: what was cut off is not read"),
    ];
    notes.extend(told.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    if counts.len() > 1 {
        notes.push(format!("the I/O of {} devices goes to one disk, as device=all says", counts.len()));
    }
    notes
}

fn choose(name: &str, stream: &Stream, counts: &BTreeMap<(u32, u32), u64>, paired: Option<&str>) -> String {
    let mut devices: Vec<_> = counts.iter().collect();
    devices.sort_by_key(|(_, ios)| std::cmp::Reverse(**ios));
    let said: Vec<String> =
        devices.iter().take(8).map(|(device, ios)| format!("{} ({ios} I/Os)", stream.device(**device))).collect();
    let more = devices.len().saturating_sub(8);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let busiest = stream.device(*devices[0].0);
    let each = match devices.len() {
        0..=MOST_DISKS => "device=each for a disk of each, or ".to_owned(),
        _ => String::new(),
    };
    format!(
        "{name}: the trace has {} devices: {}{more}; choose one, as in `{name}:device={busiest}`, or say \
         {each}device=all to put all of them on one disk{}",
        devices.len(),
        said.join(", "),
        paired.map_or_else(String::new, |paired| format!(" ({paired})"))
    )
}

/// Bytes in memory as the file that [`recording`] reads.
pub fn in_memory(name: &str, bytes: Vec<u8>) -> Named {
    (name.to_owned(), Box::new(Cursor::new(bytes)))
}

#[cfg(test)]
mod tests {
    use blksched::author::Waiter;
    use blksched::{Class, Durability, Hints, Op, Priority};
    use blksched_workloads::replay::TraceAction;

    use super::*;

    fn binary() -> Vec<Named> {
        vec![
            in_memory("0", include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0").to_vec()),
            in_memory("1", include_bytes!("../../../testdata/traces/mq-deadline.blktrace.1").to_vec()),
        ]
    }

    fn of(name: &str, bytes: &[u8]) -> Result<Recorded, String> {
        recording(vec![in_memory(name, bytes.to_vec())], &Reading::default())
    }

    #[test]
    fn the_binary_trace_and_blkparses_packed_text_of_it_are_the_same_recording() {
        let text = of("text", include_bytes!("../../../testdata/traces/mq-deadline.blkparse.txt.gz")).unwrap();
        let binary = recording(binary(), &Reading::default()).unwrap();
        assert!(binary.recording.ios() > 500, "{}", binary.recording.ios());
        assert_eq!(binary.recording, text.recording);
    }

    #[test]
    fn tracefs_tells_priorities_and_is_read_from_insertions_where_bios_are_missing() {
        let text = "# tracer: nop\n\
                    a-7 [001] d.... 12.000007: block_bio_queue: 8,0 WS 100 + 8 [cat]\n\
                    a-7 [001] d.... 12.000009: block_rq_insert: 8,0 WS 4096 () 100 + 8 rt,0,2 [cat]\n\
                    a-0 [001] d.... 12.000107: block_rq_complete: 8,0 WS () 100 + 8 rt,0,2 [0]\n";
        let recorded = of("text", text.as_bytes()).unwrap();
        let priority = Priority { class: Class::RealTime, level: 2 };
        let made = |time: u64, what: TraceAction| TraceEvent {
            time: 12_000_000_000 + time * 1000,
            what,
            device: (8, 0),
            pid: 7,
            op: Op::Write,
            start: 100,
            sectors: 8,
            waiter: Waiter::Sync,
            hints: Hints { req_sync: true, ..Hints::default() },
            durability: Durability::default(),
        };
        let events = vec![
            made(7, TraceAction::Queue),
            made(9, TraceAction::Request(priority)),
            made(107, TraceAction::Complete),
        ];
        assert_eq!(recorded.recording, Recording::of(events, &BTreeMap::from([(7, "cat".to_owned())])).unwrap());
        assert_eq!(recorded.notes, Vec::<String>::new());
        let without = of("text", text.replace("block_bio_queue", "block_other").as_bytes()).unwrap();
        assert_eq!(without.recording.ios(), 1);
        assert!(without.notes[0].contains("no block_bio_queue"), "{:?}", without.notes);
    }

    #[test]
    fn a_bio_that_passes_several_recorded_devices_is_one() {
        let text = "# blksched record 1\n# device 9,0 name=md0 stack=md-raid1:sda+sdb\n# device 8,0 name=sda\n\
                    # member 8,16 name=sdb\n# tracer: nop\n\
                    a-7 [001] d.... 12.000007: block_bio_queue: 9,0 WS 100 + 8 [a]\n\
                    a-7 [001] d.... 12.000008: block_bio_queue: 8,0 WS 2148 + 8 [a]\n";
        let recorded = of("text", text.as_bytes()).unwrap();
        assert_eq!((recorded.recording.ios(), recorded.machine.unwrap().word("name")), (1, Some("md0")));
        assert!(recorded.notes[0].starts_with("1 I/Os of devices below a recorded one"), "{:?}", recorded.notes);
        let mut of_member = Reading::default();
        of_member.filter.take("device", "8,0").unwrap();
        let member = recording(vec![in_memory("x", text.as_bytes().to_vec())], &of_member).unwrap();
        assert_eq!((member.recording.ios(), member.machine.unwrap().word("name")), (1, Some("sda")));
    }

    #[test]
    fn several_devices_are_chosen_among_or_laid_upon_each_other_by_name() {
        let text = b"7,R,0,4096,1000000\n8,W,4096,4096,1000500\n8,W,8192,4096,1001000\n";
        let error = of("x", text).unwrap_err();
        assert!(error.contains("has 2 devices: 8 (2 I/Os), 7 (1 I/Os); choose one, as in `x:device=8`"), "{error}");
        let with = |device: &str| {
            let mut reading = Reading::default();
            reading.filter.take("device", device).unwrap();
            recording(vec![in_memory("x", text.to_vec())], &reading)
        };
        assert_eq!(with("8").unwrap().recording.ios(), 2);
        let all = with("all").unwrap();
        assert_eq!(all.recording.ios(), 3);
        assert!(all.notes.iter().any(|note| note.contains("the I/O of 2 devices goes to one disk")), "{:?}", all.notes);
        assert!(with("9").unwrap_err().contains("no I/O of device 9 is left"));
    }

    #[test]
    fn what_runs_backward_is_put_in_order_within_a_second_and_counted_beyond() {
        let text =
            |late: &str| format!("5.0,0.1,W,1,0,512\n4.5,0.1,W,1,512,512\n9.0,0.1,W,1,0,512\n{late},0.1,W,1,512,512\n");
        let read = |late: &str| {
            let mut stream = Stream::open(vec![in_memory("x", text(late).into_bytes())], Reading::default()).unwrap();
            let mut times = Vec::new();
            while let Some(event) = stream.event().unwrap() {
                times.extend((event.what == TraceAction::Queue).then_some(event.time / 1_000_000));
            }
            (times, stream.met().late)
        };
        assert_eq!(read("8.5"), (vec![4500, 5000, 8500, 9000], 0));
        // The completion of the second has left the window by then: what comes at 2 s gets its time.
        let (times, late) = read("2.0");
        assert!(times.is_sorted() && late > 0, "{times:?} {late}");
    }

    #[test]
    fn a_file_is_not_read_beyond_the_end_of_what_is_wanted() {
        let row = |ms: u64| format!("7,W,{},4096,{}\n", 4096 * ms, 1_577_808_000_000_000 + 1000 * ms);
        // A long beginning, so that the damage is not seen when the format is looked for.
        let begins: String = (0..4000).map(row).collect();
        let until_a_second = |last: &[u64]| {
            let text = begins.clone() + &last.iter().copied().map(row).collect::<String>() + "broken\n";
            let mut reading = Reading::default();
            reading.filter.take("to", "1s").unwrap();
            recording(vec![in_memory("x", text.into_bytes())], &reading).map(|read| read.recording.ios())
        };
        assert_eq!(until_a_second(&[62_000, 64_000]), Ok(1000));
        // An I/O from before the end may still be complete then.
        assert!(until_a_second(&[59_000]).unwrap_err().starts_with("x:4002:"));
    }

    #[test]
    fn a_damaged_line_is_refused_with_its_place_or_passed_over_and_counted() {
        let text = b"7,R,0,4096,1000000\n".repeat(2000);
        let mut text = text.to_vec();
        text.extend(b"7,X,4096,4096,1000500\n7,R,4096,4096,1000500\n");
        let error = of("x", &text).unwrap_err();
        assert!(error.starts_with("x:2001:3: `X` is not read"), "{error}");
        let skipping = Reading { damage: Damage::Skipped, ..Reading::default() };
        let read = recording(vec![in_memory("x", text)], &skipping).unwrap();
        assert_eq!(read.recording.ios(), 2001);
        assert!(read.notes.contains(&"1 damaged lines or records were skipped".to_owned()), "{:?}", read.notes);
    }

    #[test]
    fn a_job_file_is_one_and_a_text_that_is_neither_is_told_so() {
        let told = |text: &[u8]| content("x", text).unwrap();
        assert_eq!(told(b"# a comment\n[global]\nrw=read\n"), Content::Jobs);
        assert_eq!(told(b"rw=read\n[a]\n"), Content::Jobs);
        assert_eq!(told(b""), Content::Jobs);
        assert_eq!(told(b"7,R,0,4096,1000000\n"), Content::Trace);
        assert!(matches!(told(b"[757.388 ms] disk2 op=wr lba=523480\n"), Content::Unknown(_)));
        assert!(matches!(told(&[0, 1, 2, 3]), Content::Unknown(_)));
    }

    #[test]
    fn fitness_says_what_a_trace_can_carry() {
        let fitness = |text: &str| {
            let mut stream = Stream::open(vec![in_memory("x", text.as_bytes().to_vec())], Reading::default()).unwrap();
            let info = Info::of(&mut stream).unwrap();
            info.fitness(stream.format(), stream.met())
        };
        let rows = |row: &dyn Fn(u64) -> String| (0..100).map(row).collect::<String>();
        let seconds = fitness(&rows(&|n| format!("{},{},8,1,7\n", 1_538_323_200 + n / 50, n * 8)));
        assert!(matches!(&seconds, Fitness::None(why) if why.contains("exact to 1s")), "{seconds}");
        let open = fitness(&rows(&|n| format!("7,W,{},4096,{}\n", n * 4096, 1_577_808_000_000_001 + n * 977)));
        assert!(matches!(&open, Fitness::OpenLoop(why) if why.contains("no completions")), "{open}");
        let good =
            fitness(&rows(&|n| format!("{},a,0,Read,{},4096,1234\n", 128_166_372_010_635_508 + n * 9771, n * 4096)));
        assert!(matches!(&good, Fitness::Good(_)), "{good}");
        let timeless = fitness("fio version 2 iolog\n/a read 0 4096\n/a read 4096 4096\n");
        assert!(matches!(&timeless, Fitness::None(why) if why.contains("no times")), "{timeless}");
    }
}
