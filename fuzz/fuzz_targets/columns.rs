//! The first line describes the others: columns, a pattern, or keys of JSON. Every row is read, or has a line.

#![no_main]

use blksched_traces::columns::{RowReader, Spec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    let rest = &bytes[end.saturating_add(1).min(bytes.len())..];
    let own = [
        Spec::columns(&text, ",", 0),
        Spec::columns(&text, "blanks", 1),
        Spec::pattern(&text, 0),
        Spec::json(&text, 0),
    ];
    for spec in own.into_iter().flatten() {
        let mut rows = RowReader::new(rest, spec);
        while let Some(row) = rows.row().expect("memory can be read") {
            assert!(row.as_ref().is_ok_and(|row| row.bytes < u64::MAX) || row.is_err_and(|error| error.line > 0));
        }
    }
});
