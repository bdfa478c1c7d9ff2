//! Any messages of a guest's monitor, with any files: its connection ends when it leaves, and nothing else does.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|messages: Vec<(u8, u8, u8, &[u8])>| blksched_serve::hostile::monitor_says(&messages));
