//! Bytes become a script, and every elevator of the catalogue must keep every law while it is played.

#![no_main]

use blksched::author::Elevator;
use blksched::Catalogue;
use blksched_conformance::driver::Script;
use blksched_conformance::laws;
use libfuzzer_sys::fuzz_target;

/// Longer scripts find nothing that shorter ones do not, and are slower \[bytes\].
const LONGEST: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    let script = Script::from_bytes(&bytes[..bytes.len().min(LONGEST)]);
    let catalogue = Catalogue::builtin();
    let tree = "deadline@2.5.45+order=tree".to_owned();
    for name in catalogue.eras().into_iter().chain([tree]) {
        let choice = catalogue.parse(&name).expect("the catalogue understands its own names");
        let make = || -> Box<dyn Elevator> { choice.build().elevator };
        if let Err(violation) = laws::check(&make, (choice.entry.bound)(&choice), &script) {
            panic!("{name}: {violation}\n{script:#?}");
        }
    }
});
