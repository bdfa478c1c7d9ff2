//! What descriptions tell about a disk, each with the place where it stands.

use std::fmt;
use std::path::Path;

use blksched_traces::machine::Device;

/// Something that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<T> {
    /// What it says.
    pub value: T,
    /// Where: `smartctl.txt:5`, `lsblk.json: sda`.
    pub from: String,
}

/// Whether a disk turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turning {
    /// It is flash.
    No,
    /// It says so, but not how fast.
    Yes,
    /// So many times a minute.
    At(u32),
}

impl Turning {
    /// How often it turns a minute; `None` if it does not say, and 0 for flash.
    pub fn rpm(self) -> Option<u32> {
        match self {
            Turning::No => Some(0),
            Turning::Yes => None,
            Turning::At(rpm) => Some(rpm),
        }
    }
}

/// How it is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bus {
    /// Serial ATA; the fastest signal that the drive has \[Gbit/s\].
    Sata {
        /// `None` if not told.
        gbits: Option<f64>,
    },
    /// Parallel ATA.
    Ide,
    /// SAS, Fibre Channel, iSCSI, RAID controllers.
    Scsi,
    /// NVMe.
    Nvme,
    /// USB.
    Usb,
    /// SD cards and eMMC.
    Mmc,
    /// A virtual machine's.
    Virtio,
}

impl Bus {
    /// What is between the processor and the disk of this directory in sysfs, where symbolic links end; `None` if its
    /// path does not say. MEMORY of sysfs: the path names each part of the way.
    pub fn of_sysfs(disk: &Path) -> Option<Bus> {
        let parts: Vec<&str> = disk.iter().filter_map(|part| part.to_str()).collect();
        let any = |begin: &str| {
            let is_so = |part: &&str| {
                part.strip_prefix(begin).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            };
            parts.iter().any(is_so)
        };
        // A stick is a SCSI disk behind USB, and an SSD behind a bridge an ATA one: what is between counts.
        match () {
            () if any("usb") => Some(Bus::Usb),
            () if any("virtio") => Some(Bus::Virtio),
            () if any("nvme") => Some(Bus::Nvme),
            () if any("mmc") => Some(Bus::Mmc),
            () if any("ata") => Some(Bus::Sata { gbits: None }),
            () if any("ide") => Some(Bus::Ide),
            () if any("host") => Some(Bus::Scsi),
            () => None,
        }
    }
}

/// All that is known about a disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its model's name.
    pub model: Option<Fact<String>>,
    /// Whether it turns.
    pub turning: Option<Fact<Turning>>,
    /// How it is attached.
    pub bus: Option<Fact<Bus>>,
    /// Its length \[bytes\].
    pub bytes: Option<Fact<u64>>,
}

impl Facts {
    /// What a recording's header says of its disk. A recording of before headers had a path is judged by the disk's
    /// name, which says of NVMe drives, cards and virtual disks what they are.
    pub fn of_recorded(device: &Device) -> Facts {
        let fact = |word: &str| format!("the recording's header: {word}");
        let name = device.word("name").unwrap_or_default();
        let by_name = || {
            let kinds = [
                ("nvme", Bus::Nvme),
                ("mmcblk", Bus::Mmc),
                ("vd", Bus::Virtio),
                ("xvd", Bus::Virtio),
                ("hd", Bus::Ide),
            ];
            kinds.into_iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, bus)| bus)
        };
        let by_path = device.word("path").and_then(|path| Bus::of_sysfs(Path::new(path)));
        let bus = by_path.map(|bus| (bus, "path")).or_else(|| by_name().map(|bus| (bus, "name")));
        let turning = match device.word("rotational") {
            Some("0") => Some(Turning::No),
            Some("1") => Some(Turning::Yes),
            _ => None,
        };
        let sectors = device.word("size").and_then(|size| size.parse::<u64>().ok());
        Facts {
            model: device.word("model").map(|model| Fact { value: model.replace('_', " "), from: fact("model") }),
            turning: turning.map(|value| Fact { value, from: fact("rotational") }),
            bus: bus.map(|(value, word)| Fact { value, from: fact(word) }),
            bytes: sectors.map(|sectors| Fact { value: sectors.saturating_mul(512), from: fact("size") }),
        }
    }

    /// Adds what others tell where these do not.
    pub(super) fn add(&mut self, more: &Facts) {
        // A drive behind a USB bridge speaks of SATA; what is between it and the host is USB.
        let behind_usb = more.bus.as_ref().is_some_and(|bus| bus.value == Bus::Usb);
        if behind_usb || self.bus.is_none() {
            self.bus = more.bus.clone().or(self.bus.take());
        }
        let exact = more.turning.as_ref().is_some_and(|turning| matches!(turning.value, Turning::At(_)));
        let vague = self.turning.as_ref().is_none_or(|turning| turning.value == Turning::Yes);
        if self.turning.is_none() || (exact && vague) {
            self.turning = more.turning.clone().or(self.turning.take());
        }
        self.model = self.model.take().or_else(|| more.model.clone());
        self.bytes = self.bytes.take().or_else(|| more.bytes.clone());
    }

    /// Each as a row: what it is about, what it says, where it stands.
    pub fn rows(&self) -> Vec<[String; 3]> {
        let row = |about: &str, fact: Option<(String, &String)>| {
            fact.map(|(value, from)| [about.to_owned(), value, from.clone()])
        };
        [
            row("model", self.model.as_ref().map(|fact| (fact.value.clone(), &fact.from))),
            row("kind", self.turning.as_ref().map(|fact| (fact.value.to_string(), &fact.from))),
            row("attached by", self.bus.as_ref().map(|fact| (fact.value.to_string(), &fact.from))),
            row("length", self.bytes.as_ref().map(|fact| (length(fact.value), &fact.from))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// "2.00 TB", as drives are sold.
pub(super) fn length(bytes: u64) -> String {
    let bytes = bytes as f64;
    match () {
        () if bytes >= 1e12 => format!("{:.2} TB", bytes / 1e12),
        () if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        () => format!("{:.1} MB", bytes / 1e6),
    }
}

/// Whether two names are one model's: the kernel cuts names after 16 letters and some programs write `_` for blanks.
pub(super) fn alike(one: &str, other: &str) -> bool {
    const KEPT: usize = 14;
    let plain = |name: &str| -> Vec<char> {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let (one, other) = (plain(one), plain(other));
    let common = one.len().min(other.len());
    one == other || (common >= KEPT.min(one.len().max(other.len())) && one[..common] == other[..common])
}

impl fmt::Display for Turning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Turning::No => f.write_str("flash"),
            Turning::Yes => f.write_str("says that it turns"),
            Turning::At(rpm) => write!(f, "turns at {rpm} rpm"),
        }
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bus::Sata { gbits: Some(gbits) } => write!(f, "SATA, {gbits:.1} Gbit/s"),
            Bus::Sata { gbits: None } => f.write_str("SATA"),
            Bus::Ide => f.write_str("parallel ATA"),
            Bus::Scsi => f.write_str("SCSI or SAS"),
            Bus::Nvme => f.write_str("NVMe"),
            Bus::Usb => f.write_str("USB"),
            Bus::Mmc => f.write_str("SD or eMMC"),
            Bus::Virtio => f.write_str("virtio"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_where_one_was_cut_off() {
        assert!(alike("ST2000DM001-1CH164", "ST2000DM001-1CH1") && alike("WDC WD40EFRX-68N32N0", "WDC_WD40EFRX-68N"));
        assert!(alike("X", "x") && !alike("ST2000DM001-1CH164", "ST2000") && !alike("WDC WD40", "WDC WD30"));
    }

    #[test]
    fn what_lies_between_is_the_bus_and_what_turns_says_how_fast() {
        let fact = |value| Some(Fact { value, from: "x".to_owned() });
        let turning = |value| Some(Fact { value, from: "x".to_owned() });
        let mut facts =
            Facts { bus: fact(Bus::Sata { gbits: None }), turning: turning(Turning::Yes), ..Facts::default() };
        facts.add(&Facts { bus: fact(Bus::Usb), turning: turning(Turning::At(5400)), ..Facts::default() });
        assert_eq!((facts.bus.unwrap().value, facts.turning.unwrap().value), (Bus::Usb, Turning::At(5400)));
    }

    #[test]
    fn lengths_are_those_on_the_label() {
        assert_eq!([2_000_398_934_016, 15_938_355_200, 512_000].map(length), ["2.00 TB", "15.9 GB", "0.5 MB"]);
    }

    fn recorded(words: &[(&str, &str)]) -> Facts {
        let words = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Facts::of_recorded(&Device { words, ..Device::default() })
    }

    #[test]
    fn a_recorded_disk_is_known_by_its_path_or_else_by_its_name() {
        let path = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
        let sata = recorded(&[("name", "sda"), ("path", path), ("rotational", "1"), ("model", "WDC_WD40")]);
        assert_eq!(sata.bus.unwrap().value, Bus::Sata { gbits: None });
        assert_eq!((sata.turning.unwrap().value, sata.model.unwrap().value.as_str()), (Turning::Yes, "WDC WD40"));
        let nvme = recorded(&[("name", "nvme0n1"), ("rotational", "0"), ("size", "1000")]);
        assert_eq!((nvme.bus.unwrap().value, nvme.bytes.unwrap().value), (Bus::Nvme, 512_000));
        assert_eq!(recorded(&[("name", "sda")]), Facts::default());
        assert_eq!(recorded(&[]), Facts::default());
    }
}
