//! Any text is a description of a disk (smartctl, hdparm, lsblk), a result of fio's, or a text around a job; or it is
//! refused by name. Never a panic.

#![no_main]

use blksched_lab::guess::{Source, guess};
use blksched_measure::Work;
use blksched_measure::fio_json::FioResult;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(result) = FioResult::read("fuzz.json", text) {
        for side in result.rows.iter().flat_map(|row| Work::ALL.map(|work| row.side(work))).flatten() {
            assert!(side.clat.is_none_or(|mean| mean > 0.0));
            assert!(side.percentile(50.0).is_none_or(|latency| !latency.is_nan()));
        }
    }
    blksched_cli::fuzz_inside(text);
    match Source::read("fuzz.txt", text) {
        Ok(source) => match guess(&[source], None) {
            Ok(guess) => assert!(blksched_disks::builtin(guess.preset).is_ok() && !guess.assumed.is_empty()),
            Err(why) => assert!(!why.is_empty()),
        },
        Err(why) => assert!(!why.is_empty()),
    }
});
