//! Any bytes are, to each reader of traces, either a trace, which then reads back as it was written, or an error with a
//! place.

#![no_main]

use std::path::Path;

use blksched_simulate::recording::{Damage, Reading, in_memory, recording};
use blksched_traces::blktrace::{self, BlktraceError, BlktraceEvent};
use blksched_traces::call_log::CallLog;
use blksched_traces::columns::{RowReader, Spec};
use blksched_traces::elevator_transcript::ReadError;
use blksched_traces::{blkparse, presets, tracefs, vscsi};
use libfuzzer_sys::fuzz_target;

fn written(events: &[BlktraceEvent]) -> Vec<u8> {
    let mut bytes = Vec::new();
    events.iter().for_each(|event| event.write(&mut bytes).expect("memory takes everything"));
    bytes
}

fn has_a_place(error: &ReadError) -> bool {
    matches!(error, ReadError::Line { line, column, .. } if *line > 0 && *column > 0)
}

/// Every description of columns reads any bytes to their end.
fn rows(bytes: &[u8]) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let own = [Spec::columns(&text, ",", 0), Spec::pattern(&text, 0), Spec::json(&text, 0)];
    let built_in = presets::presets().into_iter().map(|preset| preset.spec);
    for spec in built_in.chain(own.into_iter().flatten()) {
        let mut rows = RowReader::new(bytes, spec);
        while let Some(row) = rows.row().expect("memory can be read") {
            assert!(row.as_ref().is_ok_and(|row| row.bytes < u64::MAX) || row.is_err_and(|error| error.line > 0));
        }
    }
    if let Ok(layout) = blkparse::Layout::parse(&text) {
        let events = blkparse::events_of(bytes, Path::new("fuzz"), &layout);
        assert!(events.filter_map(Result::err).all(|error| has_a_place(&error)));
    }
    if let Some(version) = vscsi::Version::of(bytes) {
        assert!(vscsi::Records::new(bytes, version).all(|record| record.is_ok()));
    }
}

/// They are a recording or refused, for any choice of devices, with damage skipped or not.
fn recorded(bytes: &[u8]) {
    for (device, damage) in [("all", Damage::Refused), ("all", Damage::Skipped), ("each", Damage::Skipped)] {
        let mut reading = Reading { damage, ..Reading::default() };
        reading.filter.take("device", device).expect("devices can be named so");
        if let Err(error) = recording(vec![in_memory("fuzz", bytes.to_vec())], &reading) {
            assert!(!error.is_empty());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    rows(bytes);
    recorded(bytes);
    match blktrace::read(bytes) {
        Ok(events) => {
            // An event gets its category's bit, so only what was written once is written identically again.
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
