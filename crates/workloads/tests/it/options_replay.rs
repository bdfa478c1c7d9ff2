//! Options about replaying a trace: each flipped.

use crate::common;

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::{Durability, Hints, Op};
use blksched_workloads::fio::JobFile;
use blksched_workloads::replay::{Recording, TraceAction, TraceEvent};

const KIB: u64 = 1024;

/// A read of 4 KiB at 64 KiB, 10 ms later a write after it by another process, then a flush and a trim at once.
fn trace() -> Recording {
    let event = |time_ms: u64, pid, op, start, sectors| TraceEvent {
        time: 1_000_000 * time_ms,
        what: TraceAction::Queue,
        device: (8, 0),
        pid,
        op,
        start,
        sectors,
        waiter: Waiter::Sync,
        hints: Hints::default(),
        durability: Durability::default(),
    };
    let events = vec![
        event(100, 1, Op::Read, 128, 8),
        event(110, 2, Op::Write, 136, 8),
        event(110, 2, Op::Flush, 0, 0),
        event(110, 1, Op::Discard, 1024, 16),
    ];
    Recording::of(events, &BTreeMap::new()).unwrap()
}

fn file(options: &str) -> JobFile {
    let text = format!("[a]\ndirect=1\nread_iolog=x.bin\n{}\n", options.replace(' ', "\n"));
    let mut file = JobFile::parse(&text, "test.fio").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file.traces(), ["x.bin"]);
    file.give_trace("x.bin", Ok(trace()));
    file
}

/// What was submitted: time \[ms\], operation, place \[KiB\] and length \[KiB\].
fn replayed(options: &str) -> Vec<(u64, Op, u64, u64)> {
    let plan = file(options).plan(common::DISK_SECTORS).unwrap_or_else(|e| panic!("{e}"));
    let run = common::run_plan(&plan, 1);
    let seen = |s: &common::Submitted| (s.at.as_ns() / 1_000_000, s.op, s.offset / KIB, s.length / KIB);
    run.submitted.iter().map(seen).collect()
}

#[test]
fn option_read_iolog_replays_a_trace_in_its_order_onto_the_whole_disk() {
    let expected = [(0, Op::Read, 64, 4), (10, Op::Write, 68, 4), (11, Op::Flush, 0, 0), (12, Op::Discard, 512, 8)];
    assert_eq!(replayed(""), expected);
    assert_eq!(replayed("ioengine=libaio iodepth=4")[3].0, 11, "a flush is waited for");
}

#[test]
fn option_read_iolog_is_refused_if_it_cannot_be_read() {
    let with = |options: &str| JobFile::parse(&format!("[a]\ndirect=1\nread_iolog=x.bin\n{options}\n"), "test.fio");
    let error = with("").unwrap().plan(1 << 20).unwrap_err().to_string();
    assert!(error.contains("`x.bin` cannot be replayed") && error.contains("no trace is read here"), "{error}");
    let mut file = with("rw=randread").unwrap();
    file.give_trace("x.bin", Err("x.bin: no trace".to_owned()));
    assert!(file.plan(1 << 20).unwrap_err().to_string().contains("x.bin: no trace"));
    file.give_trace("x.bin", Ok(trace()));
    let error = file.plan(500).unwrap_err().to_string();
    assert!(error.contains("replay_scale=3 would make it fit"), "{error}");
    let notes = file.plan(1 << 20).unwrap().notes;
    assert!(notes[0].why.starts_with("x.bin: 4 I/Os of 2 processes in 0.010s, as one process"), "{}", notes[0].why);
    assert_eq!(notes.last().map(|note| note.option), Some("rw"));
    let nothing = JobFile::parse("[a]\ndirect=1\nsize=4k\nread_iolog=\n", "test.fio");
    assert!(nothing.is_err() || nothing.unwrap().plan(1 << 20).is_err(), "no trace is no pattern either");
}

/// As fio does (tried): what a pattern would need is left out.
#[test]
fn option_read_iolog_goes_before_places_and_amounts() {
    let plain = replayed("");
    for option in
        ["filename=/dev/sdb", "nrfiles=4", "filesize=1m", "offset=1m", "offset_increment=4k", "io_size=4k", "loops=3"]
    {
        assert_eq!(replayed(option), plain, "{option}");
        let file = file(option);
        let notes = file.notes();
        let word = option.split('=').next().unwrap();
        assert!(notes.iter().any(|note| note.option == word && note.why.contains("its own places")), "{notes:?}");
    }
    assert_eq!(replayed("time_based runtime=1"), plain);
}

#[test]
fn option_replay_no_stall_leaves_the_pauses_out() {
    assert_eq!(replayed("replay_no_stall=1").iter().map(|io| io.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn option_replay_time_scale_is_the_rate_in_percent() {
    assert_eq!((replayed("replay_time_scale=200")[1].0, replayed("replay_time_scale=50")[1].0), (5, 20));
}

#[test]
fn option_replay_scale_divides_places() {
    let places: Vec<u64> = replayed("replay_scale=4").iter().map(|io| io.2).collect();
    assert_eq!(places, [16, 17, 0, 128]);
}

#[test]
fn option_replay_align_rounds_places_down() {
    let places: Vec<u64> = replayed("replay_align=8k").iter().map(|io| io.2).collect();
    assert_eq!(places, [64, 64, 0, 512]);
}

#[test]
fn option_replay_skip_leaves_kinds_out() {
    let kinds = |options: &str| replayed(options).iter().map(|io| io.1).collect::<Vec<_>>();
    assert_eq!(kinds("replay_skip=write,sync"), [Op::Read, Op::Discard]);
    assert_eq!(kinds("replay_skip=trim"), [Op::Read, Op::Write, Op::Flush]);
}
