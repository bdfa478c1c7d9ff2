//! Any bytes are either a job file, whose plan then emits I/O inside its disk, or errors with places. Never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| blksched_workloads::fio::fuzz_parse(bytes));
