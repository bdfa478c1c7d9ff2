//! The description of a machine that `blksched record` writes as comments at the beginning of a tracefs text.
//!
//! ```text
//! # blksched record 1
//! # kernel 6.18.44
//! # priorities recorded
//! # groups not recorded
//! # device 8,0 name=sda scheduler=mq-deadline rotational=1 nr_requests=64 knobs=fifo_batch:16,front_merges:1
//! ```
//!
//! A device's words are named after the files of its folder in sysfs: `queue/…`, `device/queue_depth`, `device/model`
//! (blanks as `_`), and `knobs` those of `queue/iosched`. Files that sysfs does not have are left out.

use std::collections::BTreeMap;
use std::fmt;

/// The first line.
const FIRST: &str = "# blksched record 1";

/// A recorded machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// `uname -r`.
    pub kernel: String,
    /// Whether requests have their priority recorded.
    pub priorities: bool,
    /// Its recorded devices, by major and minor.
    pub devices: BTreeMap<(u32, u32), Device>,
}

/// A device: the contents of its files in sysfs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The contents by file.
    pub words: BTreeMap<String, String>,
    /// The scheduler's knobs.
    pub knobs: BTreeMap<String, String>,
}

impl Device {
    /// The contents of one of its files.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// The same as a number.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.word(name)?.parse().ok()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |whether| if whether { "recorded" } else { "not recorded" };
        writeln!(f, "{FIRST}\n# kernel {}", self.kernel)?;
        writeln!(f, "# priorities {}\n# groups not recorded", told(self.priorities))?;
        for ((major, minor), device) in &self.devices {
            write!(f, "# device {major},{minor}")?;
            for (name, value) in &device.words {
                write!(f, " {name}={}", value.replace(char::is_whitespace, "_"))?;
            }
            if !device.knobs.is_empty() {
                let knobs: Vec<String> = device.knobs.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                write!(f, " knobs={}", knobs.join(","))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Machine {
    /// Reads the description at a text's beginning; `None` if there is none. Unknown lines are skipped, since a later
    /// version may have more.
    pub fn read(beginning: &str) -> Option<Machine> {
        let mut lines = beginning.lines().skip_while(|line| line.is_empty());
        if lines.next()?.trim_end() != FIRST {
            return None;
        }
        let mut machine = Machine::default();
        for line in lines.map_while(|line| line.strip_prefix("# ")) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "kernel" => machine.kernel = rest.trim().to_owned(),
                "priorities" => machine.priorities = rest.trim() == "recorded",
                "device" => machine.devices.extend(device(rest)),
                _ => {}
            }
        }
        Some(machine)
    }
}

fn device(text: &str) -> Option<((u32, u32), Device)> {
    let mut words = text.split_whitespace();
    let (major, minor) = words.next()?.split_once(',')?;
    let mut device = Device::default();
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        if name == "knobs" {
            let knobs = value.split(',').filter_map(|knob| knob.split_once(':'));
            device.knobs = knobs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        } else {
            device.words.insert(name.to_owned(), value.to_owned());
        }
    }
    Some(((major.parse().ok()?, minor.parse().ok()?), device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let words = pairs(&[("name", "sda"), ("scheduler", "mq-deadline"), ("nr_requests", "64")]);
        let device = Device { words, knobs: pairs(&[("fifo_batch", "16"), ("read_expire", "500")]) };
        let devices = BTreeMap::from([((8, 0), device)]);
        let machine = Machine { kernel: "6.18.44".to_owned(), priorities: true, devices };
        let text = format!("{machine}# tracer: nop\na-1 [0] d.... 1.000000: x: y\n");
        assert_eq!(Machine::read(&text), Some(machine.clone()));
        assert_eq!(machine.devices[&(8, 0)].number("nr_requests"), Some(64));
        assert_eq!(machine.devices[&(8, 0)].number("scheduler"), None);
    }

    #[test]
    fn another_text_is_no_header_and_damage_is_passed_over() {
        assert_eq!(Machine::read("# tracer: nop\n"), None);
        let read = Machine::read("# blksched record 1\n# device x name=y\n# device 8,16 =\n# kernel\n").unwrap();
        assert_eq!((read.devices.len(), read.kernel.as_str()), (1, ""));
    }
}
