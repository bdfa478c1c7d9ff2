//! What this machine's stacked devices lie on, in sysfs.
//!
//! **Rule** `slaves` names the members; a partition counts as its disk. md says its level, chunk, layout and the order
//! of its members (`md/`). Of device mapper sysfs has the beginning of its uuid, which says who made it: `CRYPT` is
//! dm-crypt, `LVM` a logical volume. Whether a volume is striped, and dm-crypt's flags, are in the table (`dmsetup
//! table`) and not in sysfs: they are taken to be linear, and without flags.
//! **Origin** `admin-guide/md.rst` (sysfs interface), `ABI/testing/sysfs-block-dm`.

use std::path::Path;

use super::device::disk;

/// The device of this name, as [`Files::stack`](blksched_lab::Files::stack) wants it.
pub(crate) fn stack(blocks: &Path, name: &str) -> Option<Result<Vec<(String, String)>, String>> {
    let top = short(&disk(blocks, name)?)?;
    if slaves(blocks, &top).is_empty() {
        return None;
    }
    let (mut all, mut next) = (Vec::new(), vec![top]);
    while let Some(name) = next.pop() {
        if all.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let members = slaves(blocks, &name);
        if members.is_empty() {
            continue;
        }
        match word(blocks, &name, &members) {
            Ok(word) => all.push((name, word)),
            Err(why) => return Some(Err(why)),
        }
        next.extend(members.into_iter().rev());
    }
    Some(Ok(all))
}

/// The members in `md-raid1:sda+sdb,chunk=64k`.
pub(crate) fn members(word: &str) -> impl Iterator<Item = &str> {
    word.split(',').next().and_then(|word| word.split_once(':')).map_or("", |(_, members)| members).split('+')
}

fn short(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

fn said(blocks: &Path, name: &str, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(blocks.join(name).join(file)).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The disks or devices directly below it; of an md array in its order.
fn slaves(blocks: &Path, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(blocks.join(name).join("slaves")).into_iter().flatten().flatten();
    let mut all: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    all.sort();
    // md/rd0 leads to md/dev-sda1.
    let place = |member: &String| {
        let leads = |nth: &usize| {
            let link = std::fs::read_link(blocks.join(name).join(format!("md/rd{nth}"))).ok();
            link.and_then(|link| short(&link)).is_some_and(|dev| dev.strip_prefix("dev-") == Some(member))
        };
        (0..64).find(leads).unwrap_or(usize::MAX)
    };
    all.sort_by_key(place);
    all.iter().map(|member| disk(blocks, member).and_then(|path| short(&path)).unwrap_or(member.clone())).collect()
}

/// The stripe cache of an array with parity, if it is not the usual one.
fn stripes(blocks: &Path, name: &str) -> String {
    let stripes = said(blocks, name, "md/stripe_cache_size").filter(|stripes| stripes != "256");
    stripes.map_or_else(String::new, |stripes| format!(",stripe_cache_size={stripes}"))
}

/// What it is, in the words of `--disk`.
fn word(blocks: &Path, name: &str, members: &[String]) -> Result<String, String> {
    let below = members.join("+");
    if let Some(level) = said(blocks, name, "md/level") {
        let chunk = said(blocks, name, "md/chunk_size").and_then(|bytes| bytes.parse::<u64>().ok());
        let chunk =
            chunk.filter(|bytes| *bytes > 0).map_or_else(String::new, |bytes| format!(",chunk={}k", bytes >> 10));
        return match level.as_str() {
            "linear" => Ok(format!("linear:{below}")),
            "raid0" => Ok(format!("md-raid0:{below}{chunk}")),
            "raid1" => Ok(format!("md-raid1:{below}")),
            // Two near copies, one far: MEMORY of md(4)'s layout numbers.
            "raid10" => match said(blocks, name, "md/layout").as_deref() {
                Some("258") | None => Ok(format!("md-raid10:{below}{chunk}")),
                Some(layout) => {
                    Err(format!("{name} is RAID 10 with layout {layout}: expected two near copies, layout 258"))
                }
            },
            // Left-symmetric: MEMORY of md's numbers.
            "raid5" | "raid6" => match said(blocks, name, "md/layout").as_deref() {
                Some("2") | None => Ok(format!("md-{level}:{below}{chunk}{}", stripes(blocks, name))),
                Some(layout) => {
                    Err(format!("{name} is {level} with layout {layout}: expected left-symmetric, layout 2"))
                }
            },
            "raid4" => Ok(format!("md-raid4:{below}{chunk}{}", stripes(blocks, name))),
            other => Err(format!("{name} is md {other}: expected linear, raid0, raid1, raid4, raid5, raid6 or raid10")),
        };
    }
    let made_by = said(blocks, name, "dm/uuid").unwrap_or_default();
    let alone = members.len() == 1;
    match made_by.split('-').next().unwrap_or_default() {
        "CRYPT" if alone => Ok(format!("crypt:{below}")),
        "LVM" => Ok(format!("lvm:{below}")),
        _ if name.starts_with("bcache") => Ok(format!("bcache:{below}")),
        "" if alone && said(blocks, name, "dm/name").is_some() => Ok(format!("linear:{below}")),
        made_by => Err(format!(
            "{name} is above {}, and sysfs does not say what it is{}: expected md, dm-crypt or LVM; say it by --disk",
            members.join(", "),
            if made_by.is_empty() { String::new() } else { format!(" (made by {made_by})") }
        )),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use blksched_testkit::Folder;

    use super::*;

    /// A machine with dm-0 (dm-crypt) on md0 (RAID 1) on sdb and a partition of sda, in that order; dm-1, a volume on
    /// sdc; md1, RAID 5; md2, RAID 4; and a device of nobody.
    pub(crate) fn sysfs() -> (Folder, PathBuf) {
        let root = Folder::new();
        let write = |file: &str, text: &str| {
            let path = root.path("devices").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let blocks = root.path("class/block");
        fs::create_dir_all(&blocks).unwrap();
        for (file, text) in [
            ("dm-0/dm/uuid", "CRYPT-LUKS2-0123-secret\n"),
            ("dm-1/dm/uuid", "LVM-abc\n"),
            ("dm-2/dm/uuid", "mpath-3600\n"),
            ("md0/md/level", "raid1\n"),
            ("md1/md/level", "raid5\n"),
            ("md1/md/chunk_size", "524288\n"),
            ("md1/md/layout", "2\n"),
            ("md1/md/stripe_cache_size", "1024\n"),
            ("md2/md/level", "raid4\n"),
            ("md2/md/chunk_size", "65536\n"),
            ("md2/md/layout", "0\n"),
            ("md2/md/stripe_cache_size", "256\n"),
            ("sda/dev", "8:0\n"),
            ("sda/sda2/partition", "2\n"),
            ("sdb/dev", "8:16\n"),
            ("sdc/dev", "8:32\n"),
        ] {
            write(file, text);
        }
        for disk in ["dm-0", "dm-1", "dm-2", "md0", "md1", "md2", "sda", "sdb", "sdc"] {
            symlink(root.path("devices").join(disk), blocks.join(disk)).unwrap();
        }
        symlink(root.path("devices/sda/sda2"), blocks.join("sda2")).unwrap();
        for (above, below) in [
            ("dm-0", "md0"),
            ("md0", "sda2"),
            ("md0", "sdb"),
            ("dm-1", "sdc"),
            ("dm-2", "sdc"),
            ("md1", "sda"),
            ("md1", "sdb"),
            ("md2", "sda"),
            ("md2", "sdb"),
            ("md2", "sdc"),
        ] {
            let slaves = root.path("devices").join(above).join("slaves");
            fs::create_dir_all(&slaves).unwrap();
            symlink(blocks.join(below), slaves.join(below)).unwrap();
        }
        symlink("dev-sdb", root.path("devices/md0/md/rd0")).unwrap();
        symlink("dev-sda2", root.path("devices/md0/md/rd1")).unwrap();
        (root, blocks)
    }

    #[test]
    fn what_lies_below_is_told_in_the_order_of_its_members() {
        let (_root, blocks) = sysfs();
        let of = |name: &str| {
            let found = stack(&blocks, name)?;
            Some(found.map(|all| all.iter().map(|(name, word)| format!("{name}={word}")).collect::<Vec<_>>().join(",")))
        };
        assert_eq!(of("dm-0"), Some(Ok("dm-0=crypt:md0,md0=md-raid1:sdb+sda".to_owned())));
        assert_eq!(of("dm-1"), Some(Ok("dm-1=lvm:sdc".to_owned())));
        assert_eq!(of("md1"), Some(Ok("md1=md-raid5:sda+sdb,chunk=512k,stripe_cache_size=1024".to_owned())));
        assert_eq!(of("md2"), Some(Ok("md2=md-raid4:sda+sdb+sdc,chunk=64k".to_owned())));
        assert_eq!((of("sda"), of("sda2"), of("sdz")), (None, None, None));
        let unknown = of("dm-2").unwrap().unwrap_err();
        assert!(unknown.contains("dm-2 is above sdc") && unknown.contains("made by mpath"), "{unknown}");
    }
}
