//! A verdict as a change to one disk of a system: a udev rule, a tuned profile, or a script; each with its undo.

mod sysfs;
mod systemd;
mod target;
mod tuned;
mod udev;
mod writes;

pub(crate) use target::EmitTarget;
use writes::{EmitSetting, QUEUE_DEPTH};

use blksched_lab::Verdict;
use blksched_lab::live::{LiveArm, Place, group};
use blksched_lab::verdict::brief::Advice;

use super::arguments::Emit;

/// The file's text.
pub(super) fn text(what: Emit, heading: &str, verdict: &Verdict, target: &EmitTarget) -> String {
    let name = what.word();
    let mut evidence = format!("# Made by `blksched compare --emit {name}`: simulated, on one model of a disk.\n#\n");
    let lines = verdict.brief.lines.iter().map(|(_, line)| line.as_str());
    for line in [heading.trim()].into_iter().chain(lines) {
        evidence += &comment(line);
    }
    let Some(chosen) = verdict.proposal.as_ref().map(|proposal| EmitSetting::of(&proposal.measured)) else {
        if verdict.brief.advice == Advice::Choose {
            return evidence + "#\n# Nothing is changed before that choice.\n";
        }
        return evidence + "#\n# So there is nothing to change.\n";
    };
    if chosen.has(QUEUE_DEPTH) && !target.has_queue_depth {
        evidence += &comment(
            "Such a disk has no queue_depth in sysfs, which only disks driven as SCSI have: that part is left out.",
        );
    }
    evidence += &beyond_sysfs(&chosen.label).map_or(String::new(), comment);
    evidence += "#\n";
    file(what, &evidence, &chosen, target)
}

/// The file's text for a setting that a trial has proven, or for none.
pub(crate) fn of_trial(what: Emit, evidence: &[String], proven: Option<&LiveArm>, target: &EmitTarget) -> String {
    let mut text =
        format!("# Made by `blksched trial --emit {}`: measured on this disk under its own load.\n#\n", what.word());
    text += &evidence.iter().map(|line| comment(line)).collect::<String>();
    let memory =
        proven.into_iter().flat_map(|arm| &arm.settings).filter(|(place, _)| matches!(place, Place::Memory(_)));
    for (place, value) in memory {
        text += &comment(&format!(
            "{} = {value} was part of it, for all disks together: `sysctl vm.{}={value}`, and a file in /etc/sysctl.d.",
            place.path(),
            place.name()
        ));
    }
    for (place, value) in proven.into_iter().flat_map(LiveArm::groups) {
        let disk = target.device.as_deref().unwrap_or("DISK");
        text += &of_group(place, value, disk).map_or(String::new(), |said| comment(&said));
    }
    match proven {
        Some(arm) => file(what, &(text + "#\n"), &EmitSetting::of_arm(arm), target),
        None => text + "#\n# So there is nothing to change.\n",
    }
}

fn file(what: Emit, evidence: &str, chosen: &EmitSetting, target: &EmitTarget) -> String {
    match what {
        Emit::Udev => evidence.to_owned() + &udev::rules(chosen, target),
        Emit::Tuned => evidence.to_owned() + &tuned::profile(chosen, target),
        Emit::Sysfs => format!("#!/bin/sh\n{evidence}{}", sysfs::script(chosen, target)),
        Emit::Systemd => evidence.to_owned() + &systemd::unit(chosen, target),
    }
}

/// What writes a group's file for a disk, how systemd does, and what takes it back.
fn of_group(place: &Place, value: &str, disk: &str) -> Option<String> {
    let Place::Group { group: name, file } = place else { return None };
    let systemd = match file.as_str() {
        "io.weight" => "IODeviceWeight=",
        "io.max" => "IOReadBandwidthMax=, IOWriteBandwidthMax=, IOReadIOPSMax= and IOWriteIOPSMax=",
        "io.latency" => "IODeviceLatencyTargetSec=",
        _ => "",
    };
    let systemd = match systemd {
        "" => String::new(),
        words => format!(" In a unit of systemd's that is {words}; what is written by hand is lost with the group."),
    };
    let write = |value: &str| {
        format!("`echo \"$(cat /sys/block/{disk}/dev) {value}\" > /sys/fs/cgroup/{}`", Place::path(place))
    };
    let of = if name.is_empty() { String::new() } else { format!(" of the group {name}") };
    Some(format!(
        "{file}{of} was part of it, which this does not write: {}; undone by {}, unless it had another value before.\
         {systemd}",
        write(value),
        write(group::default_of(file))
    ))
}

/// A note about what a scheduler of this name needs that is not a file below the disk's directory.
fn beyond_sysfs(label: &str) -> Option<&'static str> {
    if label.contains("+io.cost") {
        return Some(
            "The verdict rests on io.cost, which this does not switch on: `blksched disk iocost DISK --qos` prints \
             what /sys/fs/cgroup/io.cost.model and io.cost.qos take; weights are the groups' io.weight.",
        );
    }
    ["+io.max", "+io.latency", "+io.prio.class"].iter().any(|asked| label.contains(asked)).then_some(
        "The verdict rests on the groups' files, to which this does not write: the load's cgroup_files_if_asked says \
         what each takes below /sys/fs/cgroup, behind the disk's MAJ:MIN; its percentages are of what `blksched disk \
         iocost DISK` prints, those of io.latency of what one read of 4 KiB takes.",
    )
}

/// A comment, wrapped at words.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + 1 + word.chars().count() > 118 {
            lines.push(format!("#   {word}"));
        } else {
            *last += &format!(" {word}");
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_for_a_disk_cannot_do_is_said() {
        assert!(beyond_sysfs("none+io.cost").is_some_and(|said| said.contains("io.cost.qos")));
        assert!(beyond_sysfs("none+io.max").is_some_and(|said| said.contains("cgroup_files_if_asked")));
        assert_eq!(beyond_sysfs("bfq"), None);
    }

    #[test]
    fn a_groups_file_is_a_comment_with_its_undo() {
        let place = Place::of_path("system.slice/backup.service/io.max");
        let said = of_group(&place, "wbps=20971520", "sda").unwrap();
        assert!(said.contains("/dev) wbps=20971520\" > /sys/fs/cgroup/system.slice/backup.service/io.max`"), "{said}");
        assert!(said.contains("undone by") && said.contains("wiops=max") && said.contains("IOWriteBandwidthMax="));
        assert!(of_group(&Place::of_path("io.cost.qos"), "enable=1", "sda").unwrap().contains("enable=0 ctrl=auto"));
        assert_eq!(of_group(&Place::Scheduler, "bfq", "sda"), None);
    }

    #[test]
    fn a_comment_breaks_between_words_and_every_line_is_one() {
        let text = comment(&"word ".repeat(60));
        assert!(text.lines().all(|line| line.starts_with("# ") && line.len() <= 118), "{text}");
        assert_eq!(text.matches("word").count(), 60);
    }
}
