//! The prober on our own models, in virtual time: it finds what the model is made of.

use core::ops::ControlFlow;

use blksched::Span;
use blksched_disks::load;
use blksched_disks::probe::{Modelled, Outcome, ProbeAccess, measure};

fn probed(preset: &str, access: ProbeAccess) -> Outcome {
    let mut target = Modelled::new(&load(preset).unwrap(), 3, access);
    let outcome = measure(&mut target, Span::from_secs(300), 1, &mut |_| ControlFlow::Continue(()));
    outcome.unwrap_or_else(|error| panic!("{preset}: {error}"))
}

#[test]
fn look() {
    for preset in ["sata-2009", "ide-2002", "sata-ssd"] {
        let outcome = probed(preset, ProbeAccess::Destroy);
        println!("{}\n{:?} {:?} {:?}", outcome.toml, outcome.error(), outcome.took, outcome.stopped);
    }
}
