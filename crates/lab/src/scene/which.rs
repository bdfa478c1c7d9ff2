//! Which disk is meant, where the user names none, or a device.
//!
//! **Rule** A device of this machine is the preset nearest to what the kernel says of it, as for `blksched disk guess`.
//! If the user names no disk, the first device that a job names decides; if it is not on this machine, its name does:
//! the kernel gives NVMe drives, SD cards, virtual and IDE disks names of their own, and `sd…` to all others. Without
//! any device it is [`DEFAULT_DISK`]. What was chosen is said. `virtio:nvme-ssd` is a disk attached in another way than
//! its description says, here to a virtual machine.

use blksched_disks::Attached;
use blksched_traces::machine::Device;

use super::settings::attached;
use super::workload::Workload;
use crate::error::Error;
use crate::files::Files;
use crate::guess::{Bus, Facts, nearest};

/// The word for the class of the device that the jobs name.
pub const BY_DEVICE: &str = "auto";
/// The disk if nothing is known.
const DEFAULT_DISK: &str = "hdd-7200";
/// What stands for a virtual disk, behind which may be anything.
const BEHIND_VIRTIO: &str = "nvme-ssd";

/// Names of devices of one kind, by their beginning: the preset, and how it is attached.
const NAMES: [(&str, &str, Option<Attached>); 5] = [
    ("nvme", "nvme-ssd", None),
    ("mmcblk", "sd-card", None),
    ("vd", BEHIND_VIRTIO, Some(Attached::Virtio)),
    ("xvd", "cloud-gp2", None),
    ("hd", "ide-2002", None),
];

/// The disk that is meant.
#[derive(Debug, PartialEq)]
pub(super) struct WhichDisk {
    /// Its name.
    pub(super) name: String,
    /// How it is attached, if not as its description says.
    pub(super) attached: Option<Attached>,
    /// Why this one, if the user did not name it.
    pub(super) note: Option<String>,
}

impl WhichDisk {
    /// The disk meant by this word, for this load.
    ///
    /// # Errors
    /// If it is a device that this machine does not have, or of which its kernel says too little.
    pub(super) fn of(asked: &str, workload: &Workload, files: &dyn Files) -> Result<WhichDisk, Error> {
        let devices = || workload.file.iter().flat_map(|file| file.devices());
        if asked != BY_DEVICE {
            return WhichDisk::named(asked, files);
        }
        match devices().next() {
            Some(device) => WhichDisk::by_device(device, files),
            None => Ok(WhichDisk::plain(DEFAULT_DISK)),
        }
    }

    fn plain(name: &str) -> WhichDisk {
        WhichDisk { name: name.to_owned(), attached: None, note: None }
    }

    /// `sda`, `/dev/sda`, or a preset or a file.
    fn named(asked: &str, files: &dyn Files) -> Result<WhichDisk, Error> {
        match files.device(asked) {
            Some(facts) => WhichDisk::here(asked, &facts).map_err(|why| Error::Input(format!("--disk {asked}: {why}"))),
            None if asked.starts_with("/dev/") => {
                let presets = "expected a disk of this machine, a preset (`blksched list disks`) or a TOML file";
                Err(Error::Input(format!("--disk {asked}: this machine has no such disk: {presets}")))
            }
            None => Ok(match asked.split_once(':').map(|(kind, name)| (attached(kind), name)) {
                Some((Ok(kind), name)) => WhichDisk { attached: Some(kind), ..WhichDisk::plain(name) },
                _ => WhichDisk::plain(asked),
            }),
        }
    }

    /// What this device is taken for.
    pub(super) fn by_device(device: &str, files: &dyn Files) -> Result<WhichDisk, Error> {
        if let Some(Ok(found)) = files.device(device).map(|facts| WhichDisk::here(device, &facts)) {
            return Ok(found);
        }
        let short = device.strip_prefix("/dev/").unwrap_or(device);
        let kind = NAMES.iter().find(|(begin, ..)| short.starts_with(begin));
        let not_here = format!("no --disk: {device} is no disk of this machine that tells what it is");
        let (name, attached, note) = match kind {
            Some((_, name, attached)) => (*name, *attached, format!("{not_here}; by its name, {name} stands for it")),
            None => {
                let other = "its name may be a hard disk's or an SSD's (--disk ssd)";
                (DEFAULT_DISK, None, format!("{not_here}; {DEFAULT_DISK} stands for it: {other}"))
            }
        };
        Ok(WhichDisk { name: name.to_owned(), attached, note: Some(note) })
    }

    /// A disk of which a recording's header tells.
    pub(super) fn recorded(device: &Device) -> WhichDisk {
        let name = device.word("name").unwrap_or_default();
        let found = WhichDisk::here(name, &Facts::of_recorded(device));
        // Its name decides if the header says too little.
        found.unwrap_or_else(|_| {
            let kind = NAMES.iter().find(|(begin, ..)| name.starts_with(begin));
            let (preset, attached) = kind.map_or((DEFAULT_DISK, None), |(_, preset, attached)| (*preset, *attached));
            WhichDisk { attached, ..WhichDisk::plain(preset) }
        })
    }

    /// A disk of this machine.
    fn here(device: &str, facts: &Facts) -> Result<WhichDisk, String> {
        let what: Vec<String> = facts.rows().into_iter().map(|[about, value, _]| format!("{about} {value}")).collect();
        let what = what.join(", ");
        if facts.bus.as_ref().is_some_and(|bus| bus.value == Bus::Virtio) {
            let note = format!(
                "{device} is a virtual disk ({what}), behind which may be anything: {BEHIND_VIRTIO} stands for it \
                 (`blksched disk measure {device}` makes a model of it)"
            );
            return Ok(WhichDisk {
                name: BEHIND_VIRTIO.to_owned(),
                attached: Some(Attached::Virtio),
                note: Some(note),
            });
        }
        let (name, assumed) = nearest(facts)?;
        let assumed: Vec<String> = assumed.into_iter().map(|line| format!("; {line}")).collect();
        let note = format!("{device} ({what}): {name} is the nearest model{}", assumed.concat());
        Ok(WhichDisk { name: name.to_owned(), attached: None, note: Some(note) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::NoFiles;
    use crate::guess::{Fact, Turning};
    use crate::scene::Scene;

    /// A machine with an SSD `sda`, a virtual disk `vda` and a disk `dm-0` of which nothing is known.
    struct Machine;

    impl Files for Machine {
        fn device(&self, name: &str) -> Option<Facts> {
            let fact = |value| Some(Fact { value, from: "x".to_owned() });
            let turning = |value| Some(Fact { value, from: "x".to_owned() });
            match name.strip_prefix("/dev/").unwrap_or(name) {
                "sda" => Some(Facts {
                    bus: fact(Bus::Sata { gbits: None }),
                    turning: turning(Turning::No),
                    ..Facts::default()
                }),
                "vda" => Some(Facts { bus: fact(Bus::Virtio), ..Facts::default() }),
                "dm-0" => Some(Facts::default()),
                _ => None,
            }
        }
    }

    fn of(asked: &str, filename: &str, files: &dyn Files) -> Result<WhichDisk, String> {
        let text = format!("[a]\nrw=read\nsize=1m\n{filename}");
        let workload = Workload::load(&Scene::of_jobs("my.fio", &text, asked), &NoFiles).unwrap();
        WhichDisk::of(asked, &workload, files).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_disk_the_first_device_of_a_job_decides() {
        let name =
            |filename: &str| of(BY_DEVICE, filename, &Machine).map(|which| (which.name, which.attached)).unwrap();
        assert_eq!(name("filename=/dev/sda\n"), ("sata-ssd".to_owned(), None));
        assert_eq!(name("filename=/dev/vda\n"), ("nvme-ssd".to_owned(), Some(Attached::Virtio)));
        assert_eq!(name("filename=/dev/nvme0n1\n"), ("nvme-ssd".to_owned(), None));
        assert_eq!(name("filename=/dev/mmcblk0p1\n"), ("sd-card".to_owned(), None));
        assert_eq!(name("filename=/dev/vdb\n"), ("nvme-ssd".to_owned(), Some(Attached::Virtio)));
        assert_eq!(name("filename=/dev/sdb:/dev/nvme0n1\n").0, "hdd-7200");
        assert_eq!(name("filename=/dev/dm-0\n").0, "hdd-7200", "the kernel says nothing of it");
        assert_eq!(of(BY_DEVICE, "", &Machine), Ok(WhichDisk::plain("hdd-7200")));
    }

    #[test]
    fn what_was_chosen_is_said() {
        let note = |asked: &str, filename: &str| of(asked, filename, &Machine).unwrap().note;
        let here = note("sda", "").unwrap();
        assert_eq!(here, "sda (kind flash, attached by SATA): sata-ssd is the nearest model");
        assert_eq!(note(BY_DEVICE, "filename=/dev/sda\n").unwrap(), format!("/dev/{here}"));
        let elsewhere = note(BY_DEVICE, "filename=/dev/sdz\n").unwrap();
        assert!(
            elsewhere.contains("/dev/sdz is no disk of this machine") && elsewhere.contains("--disk ssd"),
            "{elsewhere}"
        );
        assert_eq!(note("nvme-ssd", "filename=/dev/sda\n"), None, "it was named");
    }

    #[test]
    fn a_disk_may_be_attached_in_another_way() {
        let of = |asked: &str| of(asked, "", &Machine).map(|which| (which.name, which.attached)).unwrap();
        assert_eq!(of("virtio:sata-ssd"), ("sata-ssd".to_owned(), Some(Attached::Virtio)));
        assert_eq!(of("raid5:4xhdd-7200"), ("raid5:4xhdd-7200".to_owned(), None));
    }

    #[test]
    fn a_device_that_is_not_here_or_unknown_is_no_disk() {
        let missing = of("/dev/sdz", "", &Machine).unwrap_err();
        assert!(missing.starts_with("--disk /dev/sdz: this machine has no such disk"), "{missing}");
        let silent = of("/dev/dm-0", "", &Machine).unwrap_err();
        assert!(silent.starts_with("--disk /dev/dm-0: no file says whether the disk turns"), "{silent}");
    }
}
