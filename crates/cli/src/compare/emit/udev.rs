//! As a udev rules file.

use super::target::{DiskKnown, EmitTarget};
use super::writes::{EmitSetting, writes};

pub(super) fn rules(chosen: &EmitSetting, target: &EmitTarget) -> String {
    let device = target.device.as_deref().unwrap_or("sda");
    let mut text = String::from("# Put this into /etc/udev/rules.d/60-io-scheduler.rules.");
    if target.known == DiskKnown::NotSaid {
        text += &format!(
            " It is for one disk: write its model in place of MODEL OF\n# YOUR DISK, as given in \
             /sys/block/{device}/device/model; until then the rule matches nothing. `--on {device}` fills it in.\n"
        );
    } else {
        text += "\n";
    }
    if let DiskKnown::Name(name) = &target.known {
        text += &format!(
            "# {name} reports neither model nor path, so the rule goes by that name: make sure that it keeps it.\n"
        );
    }
    text += &format!("# Now, without a restart (DISK={device}, say), and first what is there, for the undo:\n");
    text += "#   grep . /sys/block/$DISK/queue/iosched/*; # a scheduler forgets its knobs when another replaces it\n";
    for (file, value) in writes(chosen, target) {
        text += &format!("#   cat /sys/block/$DISK/{file}; echo {value} > /sys/block/$DISK/{file}\n");
    }
    text += "# To undo it, remove the file, and echo what each cat printed (of the scheduler, the name in brackets)\n";
    text += "# back into its file, the scheduler first, then its knobs; `--emit sysfs` does all that.\n";
    text += &format!("# By default, a kernel gives such a disk {}.\n\n", target.kernel_default);
    text + &rule(chosen, target)
}

fn rule(chosen: &EmitSetting, target: &EmitTarget) -> String {
    let sets = writes(chosen, target).into_iter().map(|(file, value)| format!("ATTR{{{file}}}=\"{value}\""));
    conditions(target).into_iter().chain(sets).collect::<Vec<_>>().join(", ") + "\n"
}

/// What tells the disk from all others. What `queue/rotational` says is not asked: the disk is known without it, and
/// USB sticks report what they like.
fn conditions(target: &EmitTarget) -> Vec<String> {
    let whose = match &target.known {
        DiskKnown::NotSaid => "ATTRS{model}==\"MODEL OF YOUR DISK\"".to_owned(),
        DiskKnown::Model(model) => format!("ATTRS{{model}}==\"{model}\""),
        DiskKnown::Path(path) => format!("ENV{{ID_PATH}}==\"{path}\""),
        DiskKnown::Name(name) => format!("KERNEL==\"{name}\""),
    };
    let disk = ["ACTION==\"add|change\"", "SUBSYSTEM==\"block\"", "ENV{DEVTYPE}==\"disk\""].map(str::to_owned);
    let bus = target.is_usb.then(|| "ENV{ID_BUS}==\"usb\"".to_owned());
    disk.into_iter().chain(bus).chain([whose]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stick_is_known_by_its_bus_and_never_by_what_it_says_of_turning() {
        let target = |known, is_usb| EmitTarget {
            known,
            device: None,
            has_queue_depth: true,
            is_usb,
            kernel_default: "mq-deadline",
        };
        let stick = conditions(&target(DiskKnown::Model("Ultra Fit".to_owned()), true)).join(", ");
        assert!(stick.ends_with(r#"ENV{DEVTYPE}=="disk", ENV{ID_BUS}=="usb", ATTRS{model}=="Ultra Fit""#), "{stick}");
        let inside = conditions(&target(DiskKnown::NotSaid, false)).join(", ");
        assert!(!inside.contains("ID_BUS") && !stick.contains("rotational"), "{inside}");
    }
}
