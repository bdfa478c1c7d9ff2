//! Any bytes are, to each reader of traces, either a trace, which then reads back as it was written, or an error with a
//! place.

#![no_main]

use std::path::Path;

use blksched_traces::blktrace::{self, BlktraceError, Event};
use blksched_traces::call_log::CallLog;
use blksched_traces::elevator_transcript::ReadError;
use blksched_traces::{blkparse, tracefs};
use libfuzzer_sys::fuzz_target;

fn written(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    events.iter().for_each(|event| event.write(&mut bytes).expect("memory takes everything"));
    bytes
}

fn has_a_place(error: &ReadError) -> bool {
    matches!(error, ReadError::Line { line, column, .. } if *line > 0 && *column > 0)
}

fuzz_target!(|bytes: &[u8]| {
    match blktrace::read(bytes) {
        Ok(events) => {
            // An event brings its category's bit, so only what was written once is written the same again.
            let once = written(&events);
            let again = blktrace::read(once.as_slice()).expect("what is written can be read");
            assert_eq!((again.len(), written(&again)), (events.len(), once));
        }
        Err(error) => assert!(matches!(error, BlktraceError::Magic { event, .. } if event > 0), "{error}"),
    }
    let path = Path::new("fuzz");
    match tracefs::read(bytes, path) {
        Ok(lines) => {
            let mut text = Vec::new();
            tracefs::write(&lines, &mut text).expect("memory takes everything");
            let again = tracefs::read(text.as_slice(), path).expect("what is written can be read");
            assert_eq!(again, lines);
        }
        Err(error) => assert!(has_a_place(&error), "{error}"),
    }
    match blkparse::read(bytes, path) {
        Ok(lines) => {
            let mut text = Vec::new();
            blkparse::write(&lines, &mut text).expect("memory takes everything");
            let again = blkparse::read(text.as_slice(), path).expect("what is written can be read");
            assert_eq!(again, lines);
        }
        Err(error) => assert!(has_a_place(&error), "{error}"),
    }
    match CallLog::read(bytes, path) {
        Ok(log) => {
            let mut text = Vec::new();
            log.write(&mut text).expect("memory takes everything");
            assert_eq!(CallLog::read(text.as_slice(), path).expect("what is written can be read"), log);
        }
        Err(error) => assert!(has_a_place(&error), "{error}"),
    }
});
