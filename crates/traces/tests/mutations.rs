//! No trace panics, however its bytes are changed: either it is read, and reads back the same after being written, or
//! there is an error with a position.

use std::path::Path;

use blksched_traces::blktrace::{self, BlktraceEvent};
use blksched_traces::call_log::CallLog;
use blksched_traces::elevator_transcript::{ReadError, Transcript};
use blksched_traces::{blkparse, tracefs};
use proptest::prelude::*;

const BLKTRACE: &[u8] = include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0");
const TRACEFS: &str =
    "             fio-21457   [001] d..1.  2682.962213: block_rq_insert: 7,2 WS 4096 () 24704 + 8 be,0,4 [fio]
     kworker/1:1-57      [001] d..1.  2682.962219: block_rq_complete: 7,2 WS () 24704 + 8 none,0,0 [0]
";
const BLKPARSE: &str = "  7,4    1        1     0.000000000  2145  Q   R 0 + 128 [fio]
  7,4    0        1     0.000004992  2148  Q  WS 40176 + 16 [fio]
  7,4    0        9     0.000104992     0  C  WS 40176 + 16 [0]
";
const TRANSCRIPT: &str = include_str!("case.jsonl");
const CALLS: &str = include_str!("calls.jsonl");

fn mutate(bytes: &[u8], edits: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(at, byte, kind) in edits {
        let at = at % bytes.len().max(1);
        match kind % 4 {
            _ if bytes.is_empty() => bytes.push(byte),
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn has_a_place(error: &ReadError) -> bool {
    matches!(error, ReadError::Line { line, column, .. } if *line > 0 && *column > 0)
}

fn written(events: &[BlktraceEvent]) -> Vec<u8> {
    let mut bytes = Vec::new();
    events.iter().for_each(|event| event.write(&mut bytes).unwrap());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blktrace(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6)) {
        if let Ok(events) = blktrace::read(&mutate(&BLKTRACE[..4096], &edits)[..]) {
            let once = written(&events);
            let again = blktrace::read(&once[..]).unwrap();
            prop_assert_eq!((again.len(), written(&again)), (events.len(), once));
        }
    }

    #[test]
    fn tracefs(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6)) {
        let read = |bytes: &[u8]| tracefs::read(bytes, Path::new("trace"));
        match read(&mutate(TRACEFS.as_bytes(), &edits)) {
            Ok(lines) => {
                let mut text = Vec::new();
                tracefs::write(&lines, &mut text).unwrap();
                prop_assert_eq!(read(&text).unwrap(), lines);
            }
            Err(error) => prop_assert!(has_a_place(&error), "{}", error),
        }
    }

    #[test]
    fn blkparse(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6)) {
        let read = |bytes: &[u8]| blkparse::read(bytes, Path::new("trace"));
        match read(&mutate(BLKPARSE.as_bytes(), &edits)) {
            Ok(lines) => {
                let mut text = Vec::new();
                blkparse::write(&lines, &mut text).unwrap();
                prop_assert_eq!(read(&text).unwrap(), lines);
            }
            Err(error) => prop_assert!(has_a_place(&error), "{}", error),
        }
    }

    #[test]
    fn transcripts(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6)) {
        let read = |bytes: &[u8]| Transcript::read(bytes, Path::new("case"));
        match read(&mutate(TRANSCRIPT.as_bytes(), &edits)) {
            Ok(transcript) => {
                let mut text = Vec::new();
                transcript.write(&mut text).unwrap();
                prop_assert_eq!(read(&text).unwrap(), transcript);
            }
            Err(error) => prop_assert!(has_a_place(&error), "{}", error),
        }
    }

    #[test]
    fn call_logs(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6)) {
        let read = |bytes: &[u8]| CallLog::read(bytes, Path::new("calls"));
        match read(&mutate(CALLS.as_bytes(), &edits)) {
            Ok(log) => {
                let mut text = Vec::new();
                log.write(&mut text).unwrap();
                prop_assert_eq!(read(&text).unwrap(), log);
            }
            Err(error) => prop_assert!(has_a_place(&error), "{}", error),
        }
    }
}

#[test]
fn what_is_mutated_reads_whole() {
    assert!(blktrace::read(&BLKTRACE[..4096]).unwrap().len() > 40);
    assert_eq!(tracefs::read(TRACEFS.as_bytes(), Path::new("trace")).unwrap().len(), 2);
    assert_eq!(blkparse::read(BLKPARSE.as_bytes(), Path::new("trace")).unwrap().len(), 3);
    assert_eq!(Transcript::read(TRANSCRIPT.as_bytes(), Path::new("case")).unwrap().events.len(), 10);
    assert_eq!(CallLog::read(CALLS.as_bytes(), Path::new("calls")).unwrap().records.len(), 2);
}
