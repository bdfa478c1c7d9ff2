//! The words of any command line, one on each line, are understood or refused: fio's options, programs, `--set`,
//! elevators' names, the host's parameters. Nothing runs, and no file is read.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| blksched_cli::fuzz_arguments(text));
