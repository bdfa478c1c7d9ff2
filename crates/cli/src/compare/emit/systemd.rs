//! As a unit of systemd, which writes at every start.

use super::target::EmitTarget;
use super::writes::{EmitSetting, writes};

pub(super) fn unit(chosen: &EmitSetting, target: &EmitTarget) -> String {
    let device = target.device.as_deref().unwrap_or("DISK");
    let mut text = String::from(
        "# Put this into /etc/systemd/system/blksched-scheduler.service, then:\n\
         #   systemctl enable --now blksched-scheduler.service\n\
         # To undo it: `systemctl disable --now` of the same, which gives the kernel's own choice back, whose knobs \
         are \
         then\n# at their defaults; files of the queue other than nr_requests and wbt_lat_usec stay until a restart.\n\
         # It goes by the disk's name, which may be another disk's after a restart: `--emit udev` goes by its model.\n",
    );
    if target.device.is_none() {
        text += "# DISK stands for the disk's name, as in sda; `--on sda` fills it in.\n";
    }
    let write = |(file, value): &(String, String)| {
        format!("ExecStart=/bin/sh -c 'echo {value} > /sys/block/{device}/{file}'\n")
    };
    text += &format!(
        "\n[Unit]\nDescription={} for {device}, as blksched found it\n\
         ConditionPathExists=/sys/block/{device}/queue/scheduler\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n",
        chosen.label
    );
    text += &writes(chosen, target).iter().map(write).collect::<String>();
    text += &format!("ExecStop=/bin/sh -c 'echo {} > /sys/block/{device}/queue/scheduler'\n", target.kernel_default);
    text + "\n[Install]\nWantedBy=multi-user.target\n"
}
