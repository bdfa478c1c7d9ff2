//! What a disk is used for, and when its settings are not to be touched.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Where sysfs is.
const SYS: &str = "/sys";

fn folder(name: &str) -> PathBuf {
    Path::new(SYS).join("block").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The disk's folder and those of its partitions.
fn parts(sys: &Path, name: &str) -> Vec<PathBuf> {
    let own = sys.join("block").join(name);
    let partitions = names(&own).into_iter().map(|part| own.join(part)).filter(|part| part.join("partition").exists());
    std::iter::once(own.clone()).chain(partitions).collect()
}

/// The volumes and arrays that are above a disk or its partitions, however high.
fn above(sys: &Path, name: &str) -> Vec<String> {
    let mut found: Vec<String> = parts(sys, name).iter().flat_map(|part| names(&part.join("holders"))).collect();
    let mut at = 0;
    while at < found.len() {
        let higher = parts(sys, &found[at]).iter().flat_map(|part| names(&part.join("holders"))).collect::<Vec<_>>();
        higher.into_iter().for_each(|one| {
            if !found.contains(&one) {
                found.push(one)
            }
        });
        at += 1;
    }
    found
}

/// The disks that a volume or array lies on, however deep.
fn below(sys: &Path, name: &str) -> Vec<String> {
    let slaves = names(&sys.join("class/block").join(name).join("slaves"));
    if slaves.is_empty() {
        let own = sys.join("class/block").join(name).canonicalize().unwrap_or_default();
        let disk = if own.join("partition").exists() { own.parent() } else { Some(&*own) };
        return vec![
            disk.and_then(Path::file_name).map_or(name.to_owned(), |disk| disk.to_string_lossy().into_owned()),
        ];
    }
    let mut all: Vec<String> = slaves.iter().flat_map(|slave| below(sys, slave)).collect();
    all.sort();
    all.dedup();
    all
}

/// Refuses volumes and arrays, whose requests are scheduled below them, and some of an array's disks without the
/// others: its members must have the same setting at all times.
pub(super) fn refuse(disks: &[&str]) -> Result<(), Failure> {
    refuse_in(Path::new(SYS), disks)
}

fn refuse_in(sys: &Path, disks: &[&str]) -> Result<(), Failure> {
    for name in disks {
        if !names(&sys.join("block").join(name).join("slaves")).is_empty() {
            let members = below(sys, name).join(",");
            return Err(Failure::Input(format!(
                "{name} is a volume or array, and its requests are scheduled on the disks below it: expected those, \
                 as in `blksched trial {members}`"
            )));
        }
        for holder in above(sys, name) {
            let members = below(sys, &holder);
            if members.iter().any(|member| !disks.contains(&&**member)) {
                return Err(Failure::Input(format!(
                    "{name} is below {holder}, as are others: one of them under other settings than the rest would \
                     prove nothing: expected all of them, as in `blksched trial {}`",
                    members.join(",")
                )));
            }
        }
    }
    Ok(())
}

/// The schedulers that its kernel offers.
pub(super) fn schedulers(name: &str) -> Result<Vec<String>, Failure> {
    let file = folder(name).join("queue/scheduler");
    let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::Input(format!("{name} has no schedulers ({}): expected a disk that has", file.display()))
        }
        _ => Failure::Outside(format!("{}: {error}", file.display())),
    })?;
    Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

/// What would notice, in words.
pub(super) fn on_it(name: &str) -> String {
    let found = mounted_on(name);
    if found.is_empty() { "nothing that is mounted, and no swap".to_owned() } else { found.join(", ") }
}

/// Where the disk and its partitions are mounted, and what of it is swap.
pub(crate) fn mounted_on(name: &str) -> Vec<String> {
    let sys = Path::new(SYS);
    let higher = above(sys, name).into_iter().flat_map(|one| parts(sys, &one));
    let own: Vec<(String, String)> = parts(sys, name)
        .into_iter()
        .chain(higher)
        .filter_map(|part| {
            let device = part.file_name()?.to_string_lossy().into_owned();
            Some((format!("/dev/{device}"), fs::read_to_string(part.join("dev")).ok()?.trim().to_owned()))
        })
        .collect();
    let is_ours = |number: &str, path: &str| own.iter().any(|(device, dev)| device == path || dev == number);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut found: Vec<String> = mounts
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let source = words.iter().position(|word| *word == "-").and_then(|dash| words.get(dash + 2))?;
            is_ours(words.get(2)?, source).then(|| words.get(4).map(|at| (*at).to_owned())).flatten()
        })
        .collect();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = swaps.lines().filter_map(|line| line.split_whitespace().next()).filter(|path| is_ours("", path));
    found.extend(swaps.map(|path| format!("swap on {path}")));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use blksched_testkit::Folder;

    use super::*;

    /// A sysfs with sda (of it sda2 below dm-0, a volume on it alone) and sdb and sdc, which are md0 with dm-1 above.
    fn sysfs() -> Folder {
        let root = Folder::new();
        for folder in ["class/block", "block"] {
            fs::create_dir_all(root.path(folder)).unwrap();
        }
        for disk in ["sda", "sdb", "sdc", "dm-0", "dm-1", "md0"] {
            for inside in ["slaves", "holders"] {
                fs::create_dir_all(root.path("devices").join(disk).join(inside)).unwrap();
            }
            for link in ["class/block", "block"] {
                symlink(root.path("devices").join(disk), root.path(link).join(disk)).unwrap();
            }
        }
        let part = root.path("devices/sda/sda2");
        fs::create_dir_all(part.join("holders")).unwrap();
        fs::write(part.join("partition"), "2\n").unwrap();
        symlink(&part, root.path("class/block/sda2")).unwrap();
        for (above, below) in [("dm-0", "sda/sda2"), ("md0", "sdb"), ("md0", "sdc"), ("dm-1", "md0")] {
            let name = below.rsplit('/').next().unwrap();
            symlink(root.path("devices").join(below), root.path("devices").join(above).join("slaves").join(name))
                .unwrap();
            symlink(root.path("devices").join(above), root.path("devices").join(below).join("holders").join(above))
                .unwrap();
        }
        root
    }

    #[test]
    fn a_volume_on_one_disk_is_no_obstacle_and_an_array_needs_all_its_members() {
        let root = sysfs();
        let refused = |disks: &[&str]| match refuse_in(&root, disks) {
            Ok(()) => None,
            Err(Failure::Input(why)) => Some(why),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(refused(&["sda"]), None, "LVM or dm-crypt on one disk");
        assert_eq!(refused(&["sdb", "sdc"]), None);
        assert!(refused(&["sdb"]).unwrap().contains("sdb is below md0, as are others"));
        assert!(refused(&["sdb"]).unwrap().contains("`blksched trial sdb,sdc`"));
        assert!(refused(&["dm-1"]).unwrap().contains("expected those, as in `blksched trial sdb,sdc`"));
        assert!(refused(&["dm-0"]).unwrap().contains("`blksched trial sda`"));
        assert_eq!(
            (above(&root, "sdc"), below(&root, "dm-1")),
            (vec!["md0".into(), "dm-1".into()], vec!["sdb".into(), "sdc".into()])
        );
    }
}
