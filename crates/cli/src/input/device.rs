//! What this machine's kernel says of a disk, in sysfs.

use std::path::{Path, PathBuf};

use blksched_lab::guess::{Bus, Fact, Facts, Turning};

/// What `blocks` (`/sys/class/block`) says of the disk of this name: `sda`, `/dev/sda1`, a link to one of them. `None`
/// if there is no such block device.
pub(super) fn facts(blocks: &Path, name: &str) -> Option<Facts> {
    let disk = disk(blocks, name)?;
    let text = |file: &str| {
        let path = disk.join(file);
        let text = std::fs::read_to_string(&path).ok()?.trim().to_owned();
        (!text.is_empty()).then(|| Fact { value: text, from: path.display().to_string() })
    };
    let number = |file: &str| {
        let Fact { value, from } = text(file)?;
        Some(Fact { value: value.parse::<u64>().ok()?, from })
    };
    let turning = number("queue/rotational");
    let sectors = number("size");
    Some(Facts {
        model: text("device/model").or_else(|| text("device/name")),
        turning: turning
            .map(|Fact { value, from }| Fact { value: if value == 0 { Turning::No } else { Turning::Yes }, from }),
        bus: Bus::of_sysfs(&disk).map(|value| Fact { value, from: disk.display().to_string() }),
        bytes: sectors.map(|Fact { value, from }| Fact { value: value.saturating_mul(512), from }),
    })
}

/// The whole disk's directory, where symbolic links end; a partition's is in its disk's.
pub(super) fn disk(blocks: &Path, name: &str) -> Option<PathBuf> {
    let name = match name.strip_prefix("/dev/") {
        // A link, as in /dev/disk/by-id.
        Some(short) => {
            let target = Path::new(name).canonicalize().ok();
            let target = target.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            target.unwrap_or(short).to_owned()
        }
        None => name.to_owned(),
    };
    if name.contains('/') || name.is_empty() {
        return None;
    }
    let found = blocks.join(name).canonicalize().ok()?;
    let is_part = found.join("partition").exists();
    if is_part { found.parent().map(Path::to_owned) } else { Some(found) }
}

#[cfg(test)]
mod tests {
    use blksched_testkit::Folder;

    use super::*;

    /// A directory like /sys with these disks, each a path below `devices` and its files; and its `class/block`.
    fn sysfs(disks: &[(&str, &[(&str, &str)])]) -> (Folder, PathBuf) {
        let root = Folder::new();
        let blocks = root.path("class/block");
        std::fs::create_dir_all(&blocks).unwrap();
        for (path, files) in disks {
            let disk = root.path("devices").join(path);
            std::fs::create_dir_all(&disk).unwrap();
            for (file, text) in *files {
                let file = disk.join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            std::os::unix::fs::symlink(&disk, blocks.join(disk.file_name().unwrap())).unwrap();
        }
        (root, blocks)
    }

    #[test]
    fn a_disk_is_known_by_its_place_and_its_files() {
        let ssd: &[(&str, &str)] =
            &[("queue/rotational", "0\n"), ("device/model", "Samsung SSD 860 \n"), ("size", "976773168\n")];
        let (_root, blocks) = sysfs(&[
            ("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda", ssd),
            ("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda/sda1", &[("partition", "1\n")]),
            (
                "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb",
                &[("queue/rotational", "1")],
            ),
            ("pci0000:00/0000:00:04.0/virtio1/block/vda", &[("size", "x")]),
            ("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", &[]),
            ("platform/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0", &[("device/name", "SD32G\n")]),
            ("virtual/block/loop0", &[]),
        ]);
        let of = |name: &str| facts(&blocks, name).unwrap();
        let sda = of("sda");
        assert_eq!(sda.model.as_ref().unwrap().value, "Samsung SSD 860");
        assert_eq!(
            (sda.turning.as_ref().unwrap().value, sda.bytes.as_ref().unwrap().value),
            (Turning::No, 500_107_862_016)
        );
        assert_eq!(of("sda1"), sda, "a partition is its disk's");
        let bus = |name: &str| of(name).bus.map(|bus| bus.value);
        assert_eq!(bus("sda"), Some(Bus::Sata { gbits: None }));
        assert_eq!((bus("sdb"), of("sdb").turning.unwrap().value), (Some(Bus::Usb), Turning::Yes));
        assert_eq!((bus("vda"), of("vda").bytes), (Some(Bus::Virtio), None));
        assert_eq!((bus("nvme0n1"), bus("mmcblk0"), bus("loop0")), (Some(Bus::Nvme), Some(Bus::Mmc), None));
        assert_eq!(of("mmcblk0").model.unwrap().value, "SD32G");
        assert_eq!((facts(&blocks, "sdz"), facts(&blocks, ""), facts(&blocks, "../block/sda")), (None, None, None));
    }
}
