//! Traces of every format that can be replayed, as recordings: the one place that knows both.
//!
//! | format | what it tells beyond place, length and moment |
//! |---|---|
//! | blktrace's binary files, one per CPU, or blkparse's dump (`-d`) | completions, plugs, process names |
//! | blkparse's text | the same |
//! | tracefs's text with `block_bio_queue` and `block_rq_…` | completions, priorities (kernels since 6.7) |

use std::collections::BTreeMap;
use std::path::Path;

use blksched::{Class, Durability, Hints, Op, Priority, Waiter};
use blksched_traces::blktrace::{self, Action};
use blksched_traces::{blkparse, tracefs};
use blksched_workloads::replay::{Event, Recording, What};

/// How far into a text it is looked for events.
const LOOK_AT_LINES: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Blktrace,
    Blkparse,
    Tracefs,
}

fn format(bytes: &[u8]) -> Option<Format> {
    if blktrace::is_trace(bytes) {
        return Some(Format::Blktrace);
    }
    let lines = bytes.split(|&byte| byte == b'\n').take(LOOK_AT_LINES).filter_map(|line| str::from_utf8(line).ok());
    let told = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let kind = |line: &str| match () {
        () if blkparse::is_event(line) => Some(Format::Blkparse),
        () if tracefs::is_event(line) => Some(Format::Tracefs),
        () => None,
    };
    told.into_iter().find_map(kind)
}

/// Is this a trace that can be replayed, by its contents?
pub fn is_trace(bytes: &[u8]) -> bool {
    format(bytes).is_some()
}

/// The recording in a trace's files: several if there is one per CPU. Each has a name, for errors.
///
/// # Errors
/// If one is no trace or broken, or nobody submitted anything.
pub fn recording(files: &[(String, Vec<u8>)]) -> Result<Recording, String> {
    let (mut events, mut names) = (Vec::new(), BTreeMap::new());
    for (name, bytes) in files {
        let path = Path::new(name);
        match format(bytes) {
            Some(Format::Blktrace) => {
                let read = blktrace::read(&bytes[..]).map_err(|error| format!("{name}: {error}"))?;
                read.iter().for_each(|event| of_blktrace(event, &mut events, &mut names));
            }
            Some(Format::Blkparse) => {
                let read = blkparse::read(&bytes[..], path).map_err(|error| error.to_string())?;
                read.iter().for_each(|line| of_blkparse(line, &mut events, &mut names));
            }
            Some(Format::Tracefs) => {
                let read = tracefs::read(&bytes[..], path).map_err(|error| error.to_string())?;
                read.iter().for_each(|line| of_tracefs(line, &mut events, &mut names));
            }
            None => return Err(format!("{name}: no trace: expected blktrace's files, blkparse's text or tracefs's")),
        }
    }
    let name = files.first().map_or("", |(name, _)| name.as_str());
    Recording::of(events, &names).map_err(|error| format!("{name}: {error}"))
}

type Names = BTreeMap<u32, String>;

fn of_blktrace(event: &blktrace::Event, events: &mut Vec<Event>, names: &mut Names) {
    if event.action == Action::Note(0) {
        let name = event.payload.split(|&byte| byte == 0).next().unwrap_or_default();
        names.insert(event.pid, String::from_utf8_lossy(name).into_owned());
    }
    let what = match event.action {
        Action::Queue => What::Queue,
        Action::Complete => What::Complete,
        Action::Plug => What::Plug,
        Action::Unplug | Action::UnplugTimer => What::Unplug,
        _ => return,
    };
    let device = (event.device >> 20, event.device & 0xf_ffff);
    let sectors = event.bytes.div_ceil(512);
    events.extend(made(event.time, what, (device, event.pid), (&event.kind.letters(), event.sector, sectors)));
}

fn of_blkparse(line: &blkparse::Line, events: &mut Vec<Event>, names: &mut Names) {
    let what = match line.action.as_str() {
        "Q" => What::Queue,
        "C" => What::Complete,
        "P" => What::Plug,
        "U" | "UT" => What::Unplug,
        _ => return,
    };
    if what == What::Queue
        && let Some(name) = line.process()
    {
        names.entry(line.pid).or_insert_with(|| name.to_owned());
    }
    let (sector, sectors) = line.place().unwrap_or((0, 0));
    events.extend(made(line.time, what, (line.device, line.pid), (&line.rwbs, sector, sectors)));
}

fn of_tracefs(line: &tracefs::Line, events: &mut Vec<Event>, names: &mut Names) {
    let what = match (line.event, line.priority) {
        (tracefs::Event::BioQueue, _) => What::Queue,
        (tracefs::Event::Complete, _) => What::Complete,
        (tracefs::Event::Insert | tracefs::Event::Issue, Some(told)) => {
            let class = match told.class {
                "rt" => Class::RealTime,
                "be" => Class::BestEffort,
                "idle" => Class::Idle,
                _ => Class::None,
            };
            What::Request(Priority { class, level: told.level })
        }
        _ => return,
    };
    if what == What::Queue {
        names.entry(line.pid).or_insert_with(|| line.last.clone());
    }
    let place = (line.rwbs.as_str(), line.sector, line.sectors);
    events.extend(made(line.time_us.saturating_mul(1000), what, (line.device, line.pid), place));
}

/// An event of whatever format; `None` if it is about no kind of I/O that a disk is asked for.
///
/// The letters are blkparse's: `F` for a flush before it, the kind, then `F` (FUA), `A` (ahead), `S` (sync), `M`
/// (metadata).
fn made(time: u64, what: What, whose: ((u32, u32), u32), of: (&str, u64, u32)) -> Option<Event> {
    let (letters, start, sectors) = of;
    let (preflush, rest) = match letters.strip_prefix('F') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, letters),
    };
    let op = match rest.chars().next() {
        _ if matches!(what, What::Plug | What::Unplug) => Op::Read,
        Some('F' | 'N' | 'W') if sectors == 0 && (preflush || rest.starts_with('F')) => Op::Flush,
        Some('R') if sectors > 0 => Op::Read,
        Some('W') if sectors > 0 => Op::Write,
        Some('D') if sectors > 0 => Op::Discard,
        _ => return None,
    };
    let flags = rest.get(1..).unwrap_or_default();
    let waits = matches!(op, Op::Read | Op::Flush) || flags.contains('S');
    let is_data = op == Op::Write;
    Some(Event {
        time,
        what,
        device: whose.0,
        pid: whose.1,
        op,
        start,
        sectors,
        waiter: if waits { Waiter::Sync } else { Waiter::Async },
        hints: Hints { meta: flags.contains('M'), req_sync: flags.contains('S'), ..Hints::default() },
        durability: Durability { preflush: preflush && is_data, fua: flags.contains('F') && is_data },
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut text).unwrap();
        text
    }

    fn binary() -> Vec<(String, Vec<u8>)> {
        vec![
            ("0".to_owned(), include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0").to_vec()),
            ("1".to_owned(), include_bytes!("../../../testdata/traces/mq-deadline.blktrace.1").to_vec()),
        ]
    }

    #[test]
    fn the_binary_trace_and_blkparses_text_of_it_are_the_same_recording() {
        let text = unpacked(include_bytes!("../../../testdata/traces/mq-deadline.blkparse.txt.gz"));
        let (binary, text) = (recording(&binary()).unwrap(), recording(&[("text".to_owned(), text)]).unwrap());
        assert!(binary.ios() > 500, "{}", binary.ios());
        assert_eq!(binary, text);
    }

    #[test]
    fn tracefs_tells_priorities() {
        let text = "# tracer: nop\n\
                    a-7 [001] d.... 12.000007: block_bio_queue: 8,0 WS 100 + 8 [cat]\n\
                    a-7 [001] d.... 12.000009: block_rq_insert: 8,0 WS 4096 () 100 + 8 rt,0,2 [cat]\n\
                    a-0 [001] d.... 12.000107: block_rq_complete: 8,0 WS () 100 + 8 rt,0,2 [0]\n";
        let recorded = recording(&[("text".to_owned(), text.as_bytes().to_vec())]).unwrap();
        let (whose, priority) = (((8, 0), 7), Priority { class: Class::RealTime, level: 2 });
        let of = |time: u64, what: What| made(time * 1000, what, whose, ("WS", 100, 8)).unwrap();
        let events = vec![of(7, What::Queue), of(9, What::Request(priority)), of(107, What::Complete)];
        assert_eq!(recorded, Recording::of(events, &BTreeMap::from([(7, "cat".to_owned())])).unwrap());
        let without = text.replace("block_bio_queue", "block_other");
        let error = recording(&[("text".to_owned(), without.into_bytes())]).unwrap_err();
        assert!(error.starts_with("text: the trace has no I/O"), "{error}");
    }

    #[test]
    fn job_files_are_no_traces_and_half_a_trace_is() {
        assert!(!is_trace(b"# a comment\n[global]\nrw=read\n"));
        assert!(!is_trace(b""));
        assert!(is_trace(&binary()[0].1[..100]));
        assert!(recording(&[("x".to_owned(), b"[a]\n".to_vec())]).unwrap_err().starts_with("x: no trace"));
    }

    #[test]
    fn letters_say_what_kind_of_io_it_is() {
        let of = |letters: &str, sectors| made(0, What::Queue, ((8, 0), 1), (letters, 0, sectors));
        let kind = |letters: &str, sectors| of(letters, sectors).map(|event| (event.op, event.waiter));
        assert_eq!(kind("RA", 8), Some((Op::Read, Waiter::Sync)));
        assert_eq!((kind("W", 8), kind("WS", 8)), (Some((Op::Write, Waiter::Async)), Some((Op::Write, Waiter::Sync))));
        assert_eq!((kind("FWS", 0), kind("FN", 0)), (Some((Op::Flush, Waiter::Sync)), Some((Op::Flush, Waiter::Sync))));
        assert_eq!((kind("D", 8), kind("N", 0), kind("R", 0)), (Some((Op::Discard, Waiter::Async)), None, None));
        let journal = of("FWFSM", 8).unwrap();
        assert_eq!(journal.durability, Durability { preflush: true, fua: true });
        assert!(journal.hints.meta);
    }
}
