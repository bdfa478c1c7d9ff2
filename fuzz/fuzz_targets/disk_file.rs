//! Any text is either a disk, which can then be built, or an error that names the file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match blksched_disks::parse("fuzz.toml", text) {
        Ok(spec) => assert!(spec.build(1).facts().depth > 0),
        Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
    }
});
