//! The disks of a run, side by side in one space of sectors, and which of them a file is on.
//!
//! **Rule** A device is the disk of its name; a partition is its disk. A file is on the disk with the longest directory
//! that it is below, or else on the first.

use blksched::Sector;

/// One disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskPlace {
    /// What job files call it: a device's name without `/dev/`, or a directory.
    pub names: Vec<String>,
    /// Its first sector in the common space.
    pub first: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
}

impl DiskPlace {
    /// The name by which it is shown.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }
}

/// The disks begin at multiples of this many sectors, so that no page lies on two.
const APART: u64 = 1 << 21;

/// All disks of a run; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskPlaces(Vec<DiskPlace>);

impl DiskPlaces {
    /// One disk of this length, which is meant by every name.
    pub fn alone(sectors: u64) -> DiskPlaces {
        DiskPlaces(vec![DiskPlace { names: Vec::new(), first: Sector(0), sectors }])
    }

    /// These disks, by their names and their lengths \[512-byte sectors\], one behind the other.
    ///
    /// ```
    /// use blksched_workloads::DiskPlaces;
    ///
    /// let named = |name: &str, sectors| (vec![name.to_owned()], sectors);
    /// let disks = DiskPlaces::beside([named("sda", 3000), named("/mnt/usb", 2000)]);
    /// assert_eq!(disks.of_file("/dev/sda3"), 0);
    /// assert_eq!(disks.of_file("/mnt/usb/film"), 1);
    /// assert_eq!(disks.all()[1].first.0, 1 << 21);
    /// ```
    ///
    /// # Panics
    /// If there are none, or they are together longer than sectors can be counted.
    pub fn beside(disks: impl IntoIterator<Item = (Vec<String>, u64)>) -> DiskPlaces {
        let mut next = 0_u64;
        let place = |(names, sectors): (Vec<String>, u64)| {
            let first = Sector(next);
            next = next.checked_add(sectors).expect("sectors can be counted").next_multiple_of(APART);
            DiskPlace { names, first, sectors }
        };
        let all: Vec<DiskPlace> = disks.into_iter().map(place).collect();
        assert!(!all.is_empty(), "a run has a disk");
        DiskPlaces(all)
    }

    /// All of them, in their order.
    pub fn all(&self) -> &[DiskPlace] {
        &self.0
    }

    /// Whether there is one only.
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// The place of a file's, or a device's, disk among them.
    pub fn of_file(&self, name: &str) -> usize {
        let fits = |place: &DiskPlace| place.names.iter().filter_map(|own| fits(own, name)).max();
        let best = self.0.iter().enumerate().filter_map(|(nth, place)| Some((fits(place)?, nth)));
        best.max_by_key(|&(length, nth)| (length, core::cmp::Reverse(nth))).map_or(0, |(_, nth)| nth)
    }
}

/// How closely a disk's name fits a file's: the length of what agrees.
fn fits(own: &str, file: &str) -> Option<usize> {
    if own.starts_with('/') && !own.starts_with("/dev/") {
        let directory = own.trim_end_matches('/');
        let rest = file.strip_prefix(directory)?;
        return (rest.is_empty() || rest.starts_with('/')).then_some(directory.len() + 1);
    }
    let device = file.strip_prefix("/dev/")?;
    let own = own.strip_prefix("/dev/").unwrap_or(own);
    (device == own || whole_disk(device) == own).then_some(own.len())
}

/// Whether a file's name is a device's. Files below /dev/shm are in memory on Linux, but are simulated as files.
pub fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/")
}

/// The disk of a partition, by the kernel's names; another name is itself. `/dev/` in front is left out.
///
/// ```
/// use blksched_workloads::whole_disk;
///
/// let names = ["/dev/sda1", "nvme0n1p2", "mmcblk0p1", "nvme0n1", "md0", "dm-3", "disk/by-id/ata-x-part1"];
/// let disks = names.map(whole_disk);
/// assert_eq!(disks, ["sda", "nvme0n1", "mmcblk0", "nvme0n1", "md0", "dm-3", "disk/by-id/ata-x-part1"]);
/// ```
pub fn whole_disk(device: &str) -> &str {
    let device = device.strip_prefix("/dev/").unwrap_or(device);
    let without = device.trim_end_matches(|c: char| c.is_ascii_digit());
    if without.len() == device.len() {
        return device;
    }
    let is_letters = |kind: &str| {
        without.strip_prefix(kind).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_lowercase()))
    };
    if ["sd", "vd", "xvd", "hd"].into_iter().any(is_letters) {
        return without;
    }
    let before = without.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    let numbered = ["nvme", "mmcblk", "md", "loop", "nbd", "zram"];
    before.filter(|disk| numbered.into_iter().any(|kind| disk.starts_with(kind))).unwrap_or(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_directory_has_the_file_and_what_is_in_none_is_on_the_first() {
        let named = |names: &[&str]| (names.iter().map(|&name| name.to_owned()).collect(), 1 << 21);
        let disks = DiskPlaces::beside([named(&["sda"]), named(&["/mnt"]), named(&["sdc", "/mnt/usb/"])]);
        let of = |name: &str| disks.of_file(name);
        assert_eq!(["/mnt/a", "/mnt/usb/a", "/mnt/usbs/a", "/mn", "a", "/mnt/usb"].map(of), [1, 2, 1, 0, 0, 2]);
        assert_eq!(["/dev/sda", "/dev/sda12", "/dev/sdc", "/dev/sdc1", "/dev/sdcc"].map(of), [0, 0, 2, 2, 0]);
    }

    #[test]
    fn disks_lie_apart_whatever_their_lengths() {
        let disks = DiskPlaces::beside([1, APART, APART + 1].map(|sectors| (Vec::new(), sectors)));
        let firsts: Vec<u64> = disks.all().iter().map(|place| place.first.0).collect();
        assert_eq!(firsts, [0, APART, 2 * APART]);
    }
}
