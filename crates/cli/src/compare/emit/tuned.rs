//! As a profile for tuned, which restores the previous values itself when the profile is left (tuned 2.20: tried).

use super::target::{DiskKnown, EmitTarget};
use super::writes::{EmitSetting, writes};

pub(super) fn profile(chosen: &EmitSetting, target: &EmitTarget) -> String {
    let device = target.device.as_deref().unwrap_or("DISK");
    let mut text = String::from("# Put this into /etc/tuned/blksched/tuned.conf, then: tuned-adm profile blksched\n");
    text += "# To undo it: `tuned-adm profile` with the one that was active before; tuned restores what was there,\n";
    text += "# except knobs of its scheduler that were set by hand: a change of scheduler resets them.\n";
    if target.device.is_none() {
        text += "# DISK stands for the disk's name, as in sda; `--on sda` fills it in.\n";
    }
    text += "[main]\nsummary=Disk scheduler as blksched found it\n\n";
    let whose = match &target.known {
        DiskKnown::Path(path) => format!("devices_udev_regex=(ID_PATH={path})"),
        DiskKnown::Model(_) | DiskKnown::Name(_) | DiskKnown::NotSaid => format!("devices={device}"),
    };
    text += &format!("[disk]\n{whose}\nelevator={}\n", chosen.scheduler);
    let knobs: Vec<String> = writes(chosen, target)
        .iter()
        .skip(1)
        .map(|(file, value)| format!("/sys/block/{device}/{file}={value}\n"))
        .collect();
    if !knobs.is_empty() {
        text += &format!("\n[sysfs]\n{}", knobs.concat());
    }
    text
}
