//! Any bytes are either a transcript, which then reads back as it was written, or an error that names a line.

#![no_main]

use std::path::Path;

use blksched_traces::elevator_transcript::{ReadError, Transcript};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz");
    match Transcript::read(bytes, path) {
        Ok(transcript) => {
            let mut written = Vec::new();
            transcript.write(&mut written).expect("memory takes everything");
            let again = Transcript::read(written.as_slice(), path).expect("what is written can be read");
            assert_eq!(again, transcript);
        }
        Err(ReadError::Line { line, column, .. }) => assert!(line > 0 && column > 0),
        // Bytes that are not text.
        Err(ReadError::Io { .. }) => {}
    }
});
