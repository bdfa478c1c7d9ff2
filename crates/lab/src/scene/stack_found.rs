//! What lies below a device, where the user did not say it: from a recording's header, from this machine's kernel, or
//! from a file.
//!
//! **Rule** A recording of a stacked device is replayed on one like it, unless `--disk` says otherwise. With
//! `--stack auto` each device that jobs name, or those that `--disk` names, are what this machine has of these names,
//! except those that `--disk` binds to something else.
//! `--disk array.toml` with a table `[stack]` is what stands there. Each becomes the words that the user might have
//! said, and is told as such.

use blksched_disks::stack::{stack_file, stack_word};
use blksched_workloads::whole_disk;

use super::disks::{bound_names, disk_name};
use super::which::{BY_DEVICE, WhichDisk};
use super::workload::Workload;
use super::{Scene, StackFrom};
use crate::error::Error;
use crate::files::Files;

/// The words for the disks, and where they come from if the user did not say them.
pub(super) struct DiskWords {
    pub(super) said: String,
    pub(super) told: Option<String>,
}

/// The disks of this load in words.
///
/// # Errors
/// If a file is not understood, or nothing of the load is stacked on this machine and it was to be looked for there.
pub(super) fn in_words(
    said: String,
    workload: &Workload,
    scene: &Scene,
    files: &dyn Files,
) -> Result<DiskWords, Error> {
    if said.ends_with(".toml")
        && !said.contains(['=', ':'])
        && let Ok(text) = files.text(&said)
        && let Some(words) = stack_file(&said, &text)
    {
        auto_finds_nothing_in(scene, &format!("{said} says what is stacked"))?;
        return Ok(DiskWords { said: words.map_err(Error::Disk)?, told: None });
    }
    if said == BY_DEVICE
        && let Some(words) = recorded(workload)
    {
        auto_finds_nothing_in(scene, "the recording says what was stacked where it was made")?;
        return Ok(words);
    }
    if scene.stack == StackFrom::Words {
        return Ok(DiskWords { said, told: None });
    }
    here(&said, workload, files)
}

/// Refuses `--stack auto` beside something else that says it.
fn auto_finds_nothing_in(scene: &Scene, what: &str) -> Result<(), Error> {
    match scene.stack {
        StackFrom::Words => Ok(()),
        _ => Err(Error::Input(format!("--stack auto: {what}: expected one of the two"))),
    }
}

/// Why a recorded stack is not one that is modelled, if so.
fn not_modelled(stacked: &[(String, String)]) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for (name, word) in stacked {
        if let Some(Err(error)) = stack_word(word) {
            return Some(error.to_string());
        }
        for member in members(word) {
            if known.contains(&member) {
                return Some(format!("{member} is in two places of {name}"));
            }
            known.push(member);
        }
    }
    None
}

/// What a recording's device lay on. What is not modelled is replayed on one disk, and told.
fn recorded(workload: &Workload) -> Option<DiskWords> {
    let (header, device) = (workload.header.as_ref()?, workload.machine.as_ref()?);
    let (stacked, disks) = header.stack_of(device);
    let top = &stacked.first()?.0;
    if let Some(why) = not_modelled(&stacked) {
        let told = format!("{top} was recorded as a stacked device, and is replayed on one disk (--disk): {why}");
        return Some(DiskWords { said: BY_DEVICE.to_owned(), told: Some(told) });
    }
    let disk = |name: &String| {
        let WhichDisk { name: preset, attached, .. } =
            header.called(name).map_or_else(|| WhichDisk::recorded(device), |(_, disk)| WhichDisk::recorded(disk));
        let attached = attached.map_or_else(String::new, |attached| format!("{}:", attached.word()));
        format!("{name}={attached}{preset}")
    };
    let all: Vec<String> =
        stacked.iter().map(|(name, word)| format!("{name}={word}")).chain(disks.iter().map(disk)).collect();
    let said = all.join(",");
    let told = format!(
        "{top} was recorded as a stacked device, and is replayed on one like it, with the nearest models as its disks: \
         --disk {said}"
    );
    Some(DiskWords { said, told: Some(told) })
}

/// What this machine's devices lie on. In `md0,dm-1,sda=ssd` the first are names of devices, and the rest says what
/// others are.
fn here(said: &str, workload: &Workload, files: &dyn Files) -> Result<DiskWords, Error> {
    let used: Vec<String> =
        workload.file.as_ref().map(|file| file.devices().map(str::to_owned).collect()).unwrap_or_default();
    let bound_at = said.find('=').map(|equals| said[..equals].rfind(',').map_or(0, |comma| comma + 1));
    let (named, bound) = said.split_at(bound_at.unwrap_or(said.len()));
    let known = bound_names(bound, &used);
    let is_bound = |name: &str| known.iter().any(|known| known == disk_name(name));
    let named = named.split(',').filter(|name| !name.is_empty() && *name != BY_DEVICE).map(str::to_owned);
    let mut tops: Vec<String> = named.collect();
    let each_is_there = !tops.is_empty();
    if tops.is_empty() {
        tops = used.into_iter().filter(|device| !is_bound(device)).collect();
    }
    let mut all: Vec<String> = Vec::new();
    let mut add = |name: &str, word: &str| {
        let binding = format!("{name}={word}");
        if !all.contains(&binding) && !is_bound(name) {
            all.push(binding);
        }
    };
    let mut nothing_below = None;
    for top in &tops {
        let Some(found) = files.stack(top) else {
            nothing_below = Some(top);
            continue;
        };
        let found = found.map_err(|why| Error::Input(format!("--stack auto: {top}: {why}")))?;
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        for (nth, (name, word)) in found.iter().enumerate() {
            // The first has the name by which jobs call it.
            add(if nth == 0 { whole_disk(top) } else { name }, word);
        }
        let disks = found.iter().flat_map(|(_, word)| members(word)).filter(|member| !names.contains(member));
        disks.for_each(|disk| add(disk, disk));
    }
    if all.is_empty() || (each_is_there && nothing_below.is_some()) {
        let what = match nothing_below {
            Some(top) if each_is_there => top.clone(),
            Some(_) => tops.join(", "),
            None if bound.is_empty() => "the load names no device".to_owned(),
            None => "the load names no device that --disk does not".to_owned(),
        };
        return Err(Error::Input(format!(
            "--stack auto: nothing is stacked on this machine: {what}: expected jobs on a volume or array, or its \
             name, as in --disk md0 --stack auto"
        )));
    }
    if !bound.is_empty() {
        all.push(bound.to_owned());
    }
    let said = all.join(",");
    let told = format!("as stacked on this machine: --disk {said}");
    Ok(DiskWords { said, told: Some(told) })
}

fn members(word: &str) -> impl Iterator<Item = &str> {
    let members = word.split(',').next().and_then(|word| word.split_once(':')).map_or("", |(_, members)| members);
    members.split('+')
}
