//! The memory of this machine, for the prediction.

use std::fs;

use blksched::tunables::Tunables;
use blksched_workloads::host::HostKnobs;

use super::disk::JobTarget;

/// Its size, its dirty limits, and how far files of this disk are read ahead, as far as they are told and in the
/// ranges of the host's settings; the defaults otherwise.
pub(super) fn of(target: &JobTarget) -> HostKnobs {
    told(&|file| fs::read_to_string(file).unwrap_or_default(), target.number("read_ahead_kb"))
}

fn told(said: &dyn Fn(&str) -> String, read_ahead_kb: Option<u32>) -> HostKnobs {
    let kib = said("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let mut knobs = HostKnobs::default();
    knobs.memory = kib.map_or(knobs.memory, |kib| (kib << 10).clamp(64 << 20, 64 << 30));
    // What does not fit stays at its default.
    let mut set = |knob: &str, value: &str| drop(knobs.set_text(knob, value));
    let knobs_of_vm = [
        "dirty_background_ratio",
        "dirty_background_bytes",
        "dirty_ratio",
        "dirty_bytes",
        "dirty_expire_centisecs",
        "dirty_writeback_centisecs",
    ];
    for knob in knobs_of_vm {
        set(knob, said(&format!("/proc/sys/vm/{knob}")).trim());
    }
    if let Some(kib) = read_ahead_kb {
        set("read_ahead_kb", &kib.to_string());
    }
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_tells_of_its_memory_is_what_is_predicted_with() {
        let said = |file: &str| {
            let text = match file {
                "/proc/meminfo" => "MemTotal:        2097152 kB\nMemFree: 1 kB\n",
                "/proc/sys/vm/dirty_bytes" => "1048576\n",
                "/proc/sys/vm/dirty_ratio" => "0\n",
                "/proc/sys/vm/dirty_expire_centisecs" => "500\n",
                _ => "",
            };
            text.to_owned()
        };
        let knobs = told(&said, Some(4096));
        assert_eq!((knobs.memory_mib(), knobs.dirty_bytes, knobs.read_ahead_kb), (2048, 1 << 20, 4096));
        assert_eq!(knobs.dirty_expire_centisecs, blksched::Span::from_secs(5));
        let usual = HostKnobs::default();
        assert_eq!(told(&|_| String::new(), None), usual, "nothing is told");
        assert_eq!(told(&|_| String::new(), Some(1 << 20)).read_ahead_kb, usual.read_ahead_kb, "out of range");
    }
}
