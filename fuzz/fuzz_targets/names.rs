//! Any text is either an elevator's name, which then reads back as it prints, or an error with a column; and either a
//! knob's value within its range, or an error.

#![no_main]

use blksched::Catalogue;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let catalogue = Catalogue::builtin();
    match catalogue.parse(text) {
        Ok(choice) => assert_eq!(catalogue.parse(&choice.to_string()).unwrap().to_string(), choice.to_string()),
        Err(error) => assert!(error.column > 0 && error.column <= text.len() + 2),
    }
    for knob in catalogue.entries().iter().flat_map(|entry| entry.knobs) {
        if let Ok(raw) = knob.parse(text) {
            assert!((knob.min..=knob.max).contains(&raw));
        }
    }
});
