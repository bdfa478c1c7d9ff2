//! Any bytes are a recording in one of the forms that people have (biosnoop, iosnoop, perf script, Android's systrace,
//! blkparse in a layout of its own, each perhaps packed), or refused. The first line may be a layout of blkparse's.

#![no_main]

use std::path::Path;

use blksched_simulate::recording::{Damage, Reading, in_memory, recording};
use blksched_traces::blkparse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for damage in [Damage::Refused, Damage::Skipped] {
        let mut reading = Reading { damage, ..Reading::default() };
        reading.filter.take("device", "all").expect("devices can be named so");
        if let Err(error) = recording(vec![in_memory("fuzz", bytes.to_vec())], &reading) {
            assert!(!error.is_empty());
        }
    }
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    if let Ok(layout) = blkparse::Layout::parse(&String::from_utf8_lossy(&bytes[..end])) {
        let rest = &bytes[end.saturating_add(1).min(bytes.len())..];
        blkparse::events_of(rest, Path::new("fuzz"), &layout).for_each(drop);
    }
});
