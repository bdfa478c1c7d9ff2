//! What a disk is used for, and when its settings are not to be touched.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

fn folder(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The disk's folder and those of its partitions.
fn parts(name: &str) -> Vec<PathBuf> {
    let own = folder(name);
    let partitions = names(&own).into_iter().map(|part| own.join(part)).filter(|part| part.join("partition").exists());
    std::iter::once(own.clone()).chain(partitions).collect()
}

/// Refuses volumes and arrays, and disks below them: their members must have the same setting at all times.
pub(super) fn refuse(name: &str) -> Result<(), Failure> {
    let slaves = names(&folder(name).join("slaves"));
    if !slaves.is_empty() {
        return Err(Failure::Input(format!(
            "{name} is a volume or array over {}, and its requests are scheduled there: expected a disk by itself",
            slaves.join(", ")
        )));
    }
    let holders: Vec<String> = parts(name).iter().flat_map(|part| names(&part.join("holders"))).collect();
    if !holders.is_empty() {
        return Err(Failure::Input(format!(
            "{name} is below {}: one of its disks under other settings than the rest would prove nothing: expected a \
             disk by itself",
            holders.join(", ")
        )));
    }
    Ok(())
}

/// The schedulers that its kernel offers.
pub(super) fn schedulers(name: &str) -> Result<Vec<String>, Failure> {
    let file = folder(name).join("queue/scheduler");
    let text = fs::read_to_string(&file).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))?;
    Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

/// What would notice, in words.
pub(super) fn on_it(name: &str) -> String {
    let found = mounted_on(name);
    if found.is_empty() { "nothing that is mounted, and no swap".to_owned() } else { found.join(", ") }
}

/// Where the disk and its partitions are mounted, and what of it is swap.
pub(crate) fn mounted_on(name: &str) -> Vec<String> {
    let own: Vec<(String, String)> = parts(name)
        .iter()
        .filter_map(|part| {
            let device = part.file_name()?.to_string_lossy().into_owned();
            Some((format!("/dev/{device}"), fs::read_to_string(part.join("dev")).ok()?.trim().to_owned()))
        })
        .collect();
    let is_ours = |number: &str, path: &str| own.iter().any(|(device, dev)| device == path || dev == number);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut found: Vec<String> = mounts
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let source = words.iter().position(|word| *word == "-").and_then(|dash| words.get(dash + 2))?;
            is_ours(words.get(2)?, source).then(|| words.get(4).map(|at| (*at).to_owned())).flatten()
        })
        .collect();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = swaps.lines().filter_map(|line| line.split_whitespace().next()).filter(|path| is_ours("", path));
    found.extend(swaps.map(|path| format!("swap on {path}")));
    found.dedup();
    found
}
