//! Any text is a description of a disk (smartctl, hdparm, lsblk), a result of fio's, or a text around a job; or it is
//! refused by name. Never a panic.

#![no_main]

use blksched_lab::guess::{Source, guess};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    blksched_measure::fio_json::fuzz(text.as_bytes());
    blksched_cli::fuzz_inside(text);
    match Source::read("fuzz.txt", text) {
        Ok(source) => match guess(&[source], None) {
            Ok(guess) => assert!(blksched_disks::builtin(guess.preset).is_ok() && !guess.assumed.is_empty()),
            Err(why) => assert!(!why.is_empty()),
        },
        Err(why) => assert!(!why.is_empty()),
    }
});
