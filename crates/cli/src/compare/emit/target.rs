//! Which disk of a system is meant: one, never every disk of a kind.

use std::path::Path;

use blksched_lab::Files;
use blksched_lab::guess::Bus;
use blksched_lab::scene::Stage;

use crate::compare::arguments::CompareArguments;
use crate::failure::Failure;
use crate::input::OnDisk;

/// How the file identifies the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiskKnown {
    /// Not given: to be filled in where the file is installed.
    NotSaid,
    /// By its model, as in `/sys/block/NAME/device/model`.
    Model(String),
    /// By where it is plugged in, as in udev's `ID_PATH`.
    Path(String),
    /// By its name alone, which may belong to another disk after a restart: it has neither model nor path.
    Name(String),
}

pub(crate) struct EmitTarget {
    pub(super) known: DiskKnown,
    /// Its current name, such as `sda`.
    pub(super) device: Option<String>,
    /// Whether it has a `device/queue_depth`.
    pub(super) has_queue_depth: bool,
    /// Whether it is behind USB, where what calls itself a model is often several disks' name.
    pub(super) is_usb: bool,
    /// The scheduler that a kernel chooses for such a disk.
    pub(super) kernel_default: &'static str,
}

impl EmitTarget {
    pub(crate) fn of(arguments: &CompareArguments, stage: &Stage) -> Result<EmitTarget, Failure> {
        let kernel_default = stage.kernel_default(&arguments.scene.scene());
        let (known, device) = match arguments.on.as_deref() {
            None => (DiskKnown::NotSaid, None),
            Some(said) => known(said, Path::new("/sys/block"), Path::new("/run/udev/data")).map_err(Failure::Input)?,
        };
        let has_queue_depth = arguments.scene.attached.unwrap_or(stage.disk.attached).has_queue_depth();
        let here = device.as_deref().and_then(|name| OnDisk.device(name));
        let is_usb = match here.and_then(|facts| facts.bus) {
            Some(bus) => bus.value == Bus::Usb,
            None => stage.disk.name == "usb-stick",
        };
        Ok(EmitTarget { known, device, has_queue_depth, is_usb, kernel_default })
    }
}

impl EmitTarget {
    /// A disk of this machine, by its name in /sys/block.
    pub(crate) fn of_disk(name: &str, kernel_default: &'static str) -> Result<EmitTarget, Failure> {
        let block = Path::new("/sys/block");
        let (known, device) = known(name, block, Path::new("/run/udev/data")).map_err(Failure::Input)?;
        let is_usb = OnDisk.device(name).and_then(|facts| facts.bus).is_some_and(|bus| bus.value == Bus::Usb);
        let has_queue_depth = block.join(name).join("device/queue_depth").exists();
        Ok(EmitTarget { known, device, has_queue_depth, is_usb, kernel_default })
    }
}

/// Parses `sda`, `/dev/sda`, `model:TEXT` or `path:TEXT`. A disk of this machine is identified by its model, else by
/// its path, else by its name.
fn known(said: &str, sys_block: &Path, udev: &Path) -> Result<(DiskKnown, Option<String>), String> {
    let wrong =
        || format!("--on {said}: expected a disk's name, as in sda, or model:TEXT, or path:TEXT without quotes");
    if let Some(model) = said.strip_prefix("model:") {
        return if plain(model) { Ok((DiskKnown::Model(model.to_owned()), None)) } else { Err(wrong()) };
    }
    if let Some(path) = said.strip_prefix("path:") {
        return if plain(path) { Ok((DiskKnown::Path(path.to_owned()), None)) } else { Err(wrong()) };
    }
    let name = said.strip_prefix("/dev/").unwrap_or(said);
    if !plain(name) || name.contains('/') {
        return Err(wrong());
    }
    let disk = sys_block.join(name);
    if !disk.is_dir() {
        let what = "there is no such disk; for a disk of another machine, give model:TEXT or path:TEXT";
        return Err(format!("--on {said}: {}: {what}", disk.display()));
    }
    let known = model(&disk).map(DiskKnown::Model).or_else(|| place(&disk, udev).map(DiskKnown::Path));
    Ok((known.unwrap_or_else(|| DiskKnown::Name(name.to_owned())), Some(name.to_owned())))
}

/// The model that a SCSI or NVMe driver reports; virtio and loop report none.
fn model(disk: &Path) -> Option<String> {
    let model = std::fs::read_to_string(disk.join("device/model")).ok()?;
    Some(model.trim().to_owned()).filter(|model| plain(model))
}

/// The path that udev recorded.
fn place(disk: &Path, udev: &Path) -> Option<String> {
    let number = std::fs::read_to_string(disk.join("dev")).ok()?;
    let found = std::fs::read_to_string(udev.join(format!("b{}", number.trim()))).ok()?;
    let path = found.lines().find_map(|line| line.strip_prefix("E:ID_PATH="))?;
    Some(path.to_owned()).filter(|path| plain(path))
}

/// Whether it can stand between a rule's quotes.
fn plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(['"', '\n', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_by_its_model_or_its_place() {
        let root = std::env::temp_dir().join(format!("blksched-sys-{}", std::process::id()));
        std::fs::create_dir_all(root.join("sdx/device")).unwrap();
        std::fs::write(root.join("sdx/device/model"), "WDC WD40EFRX-68N\n").unwrap();
        let model = DiskKnown::Model("WDC WD40EFRX-68N".to_owned());
        let udev = root.join("udev");
        let known = |said: &str, root: &Path| super::known(said, root, &udev);
        assert_eq!(known("/dev/sdx", &root), Ok((model.clone(), Some("sdx".to_owned()))));
        assert_eq!(known("model:WDC WD40EFRX-68N", &root), Ok((model, None)));
        assert_eq!(
            known("path:pci-0000:00:17.0-ata-1", &root).unwrap().0,
            DiskKnown::Path("pci-0000:00:17.0-ata-1".into())
        );
        assert!(known("sdy", &root).unwrap_err().contains("give model:TEXT"));
        assert!(known("model:a\"b", &root).is_err() && known("../x", &root).is_err());
        // A virtual disk reports no model; udev knows its path, or nothing.
        std::fs::create_dir_all(root.join("vdx")).unwrap();
        std::fs::write(root.join("vdx/dev"), "254:16\n").unwrap();
        let named = (DiskKnown::Name("vdx".to_owned()), Some("vdx".to_owned()));
        assert_eq!(known("vdx", &root), Ok(named));
        std::fs::create_dir_all(&udev).unwrap();
        std::fs::write(udev.join("b254:16"), "S:disk/by-path/x\nE:ID_PATH=pci-0000:00:04.0\n").unwrap();
        assert_eq!(known("vdx", &root).unwrap().0, DiskKnown::Path("pci-0000:00:04.0".to_owned()));
        std::fs::remove_dir_all(root).unwrap();
    }
}
