//! Any text is either an experiment or an error with a place in it. Nothing runs, and no file is read beside it.

#![no_main]

use blksched::Catalogue;
use blksched_simulate::experiment::Experiment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let no_file = |name: &str| Err(format!("no file {name}"));
    if let Err(error) = Experiment::parse("fuzz", "fuzz.toml", text, &Catalogue::builtin(), &no_file) {
        assert!(error.to_string().starts_with("fuzz.toml:"), "{error}");
        assert!(error.line > 0 && error.line <= text.lines().count() + 1 && !error.problem.is_empty(), "{error}");
    }
});
