//! The description of a machine that `blksched record` writes as comments at the beginning of a tracefs text.
//!
//! ```text
//! # blksched record 1
//! # kernel 6.18.44
//! # priorities recorded
//! # groups at the end
//! # mappings recorded
//! # device 8,0 name=sda scheduler=mq-deadline rotational=1 nr_requests=64 knobs=fifo_batch:16,front_merges:1
//! # device 9,0 name=md0 stack=md-raid1:sdb+sdc
//! # member 8,16 name=sdb scheduler=none rotational=0
//! ```
//!
//! `stack` is what a device lies on, in the words of `--disk`; what is below a device and was not recorded itself is a
//! member. Where mappings are recorded, too (`block_bio_remap`), the trace itself tells which I/Os below are parts of
//! others.
//!
//! A device's words are named after the files of its folder in sysfs: `queue/…`, `device/queue_depth`, `device/model`
//! (blanks as `_`), and `knobs` those of `queue/iosched`; `io_cost` is 1 where io.cost is on. Files that sysfs does not
//! have are left out. Behind the events are the tasks' [control groups](crate::groups).

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
    /// Whether what a bio is mapped from is recorded.
    pub mappings: bool,
    /// Its recorded devices, by major and minor.
    pub devices: BTreeMap<(u32, u32), Device>,
    /// Devices below those that were not recorded themselves.
    pub members: BTreeMap<(u32, u32), Device>,
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
        writeln!(f, "# priorities {}\n# groups at the end", told(self.priorities))?;
        if self.mappings {
            writeln!(f, "# mappings recorded")?;
        }
        let devices = self.devices.iter().map(|device| ("device", device));
        for (what, ((major, minor), device)) in devices.chain(self.members.iter().map(|member| ("member", member))) {
            write!(f, "# {what} {major},{minor}")?;
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
    /// A device, or a member of one, by its name.
    pub fn called(&self, name: &str) -> Option<(&(u32, u32), &Device)> {
        self.devices.iter().chain(&self.members).find(|(_, device)| device.word("name") == Some(name))
    }

    /// The stacked devices from this one down, each with what it lies on in the words of `--disk`; and the disks at the
    /// bottom. Nothing if it lies on none.
    pub fn stack_of(&self, device: &Device) -> (Vec<(String, String)>, Vec<String>) {
        let (mut stacked, mut disks) = (Vec::new(), Vec::new());
        let mut below: Vec<String> = device.word("name").map(str::to_owned).into_iter().collect();
        while let Some(name) = below.pop() {
            let is_known = stacked.iter().any(|(known, _)| *known == name) || disks.contains(&name);
            match self.called(&name).and_then(|(_, device)| device.word("stack")) {
                _ if is_known => {}
                Some(word) => {
                    stacked.push((name, word.to_owned()));
                    below.extend(members(word).into_iter().rev().map(str::to_owned));
                }
                None => disks.push(name),
            }
        }
        if stacked.is_empty() { Default::default() } else { (stacked, disks) }
    }

    /// Each stacked device that is described, with each device directly below it.
    pub fn directly_below(&self) -> Vec<((u32, u32), (u32, u32))> {
        let all = self.devices.iter().chain(&self.members);
        let pairs = all.flat_map(|(number, device)| {
            let below = device.word("stack").map(members).unwrap_or_default();
            below.into_iter().filter_map(|name| Some((*number, *self.called(name)?.0))).collect::<Vec<_>>()
        });
        pairs.collect()
    }

    /// Whether a recorded device lies on another.
    pub fn is_nested(&self) -> bool {
        let is_recorded = |below: &(u32, u32)| self.devices.contains_key(below);
        self.directly_below().iter().any(|(_, below)| is_recorded(below))
    }

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
                "mappings" => machine.mappings = rest.trim() == "recorded",
                "device" => machine.devices.extend(device(rest)),
                "member" => machine.members.extend(device(rest)),
                _ => {}
            }
        }
        Some(machine)
    }
}

/// The members in `md-raid1:sda+sdb,chunk=64k`.
fn members(word: &str) -> Vec<&str> {
    let members = word.split(',').next().and_then(|word| word.split_once(':')).map_or("", |(_, members)| members);
    members.split('+').filter(|member| !member.is_empty()).collect()
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
        let machine =
            Machine { kernel: "6.18.44".to_owned(), priorities: true, mappings: true, devices, ..Machine::default() };
        let text = format!("{machine}# tracer: nop\na-1 [0] d.... 1.000000: x: y\n");
        assert_eq!(Machine::read(&text), Some(machine.clone()));
        assert_eq!(machine.devices[&(8, 0)].number("nr_requests"), Some(64));
        assert_eq!(machine.devices[&(8, 0)].number("scheduler"), None);
    }

    #[test]
    fn what_lies_below_a_recorded_device_is_told_and_its_ios_are_the_same_ones() {
        let text = "# blksched record 1\n# device 253,0 name=dm-0 stack=crypt:md0\n# device 8,0 name=sda rotational=0\n\
                    # device 8,32 name=sdc\n# member 9,0 name=md0 stack=md-raid1:sda+sdb,priority=lost\n\
                    # member 8,16 name=sdb\n";
        let machine = Machine::read(text).unwrap();
        assert_eq!(Machine::read(&machine.to_string()), Some(machine.clone()));
        let (stacked, disks) = machine.stack_of(&machine.devices[&(253, 0)]);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(stacked, [pair("dm-0", "crypt:md0"), pair("md0", "md-raid1:sda+sdb,priority=lost")]);
        assert_eq!(disks, ["sda", "sdb"]);
        assert_eq!(machine.stack_of(&machine.devices[&(8, 32)]), Default::default());
        let pairs = [((253, 0), (9, 0)), ((9, 0), (8, 0)), ((9, 0), (8, 16))];
        assert_eq!(machine.directly_below(), pairs);
        assert!(machine.is_nested());
        let alone =
            Machine::read("# blksched record 1\n# device 9,0 name=md0 stack=linear:sda\n# member 8,0 name=sda\n");
        assert!(!alone.unwrap().is_nested(), "sda is not recorded itself");
        let circle = Machine::read("# blksched record 1\n# device 9,0 name=md0 stack=lvm:md0\n").unwrap();
        assert_eq!(circle.stack_of(&circle.devices[&(9, 0)]).1, Vec::<String>::new());
    }

    #[test]
    fn another_text_is_no_header_and_damage_is_passed_over() {
        assert_eq!(Machine::read("# tracer: nop\n"), None);
        let read = Machine::read("# blksched record 1\n# device x name=y\n# device 8,16 =\n# kernel\n").unwrap();
        assert_eq!((read.devices.len(), read.kernel.as_str()), (1, ""));
    }
}
