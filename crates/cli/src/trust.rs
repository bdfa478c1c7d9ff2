//! The accuracy of similar predictions so far.

use blksched_disks::DiskSpec;
use blksched_simulate::reality::so_far;

/// How well recorded runs on such a disk were predicted.
pub(crate) fn of_such(disk: &DiskSpec) -> String {
    format!("{} (docs/reality.md)", so_far::sentence(&disk.model))
}

/// The same, preceded by what `validate` found on this very disk: a sentence each.
pub(crate) fn sentences(said: &str, disk: &DiskSpec) -> Vec<String> {
    let own = own(said).map(|own| own[..1].to_uppercase() + &own[1..] + ".");
    own.into_iter().chain([format!("Such predictions so far: {}.", of_such(disk))]).collect()
}

#[cfg(target_os = "linux")]
fn own(said: &str) -> Option<String> {
    crate::validate::sentence(said)
}

#[cfg(not(target_os = "linux"))]
fn own(_said: &str) -> Option<String> {
    None
}
