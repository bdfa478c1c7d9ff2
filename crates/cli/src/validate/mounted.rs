//! The file system that a path is on, as `/proc/self/mountinfo` has it.

use std::path::{Path, PathBuf};

use blksched_workloads::host::fs::FsMount;

/// A path's file system.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mounted {
    pub fs: FsMount,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// A line of `mountinfo`.
#[derive(Clone, Debug)]
struct Line {
    place: PathBuf,
    kind: String,
    /// The file system's own options.
    options: String,
}

impl Line {
    /// `36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/root rw,errors=continue`.
    fn parse(line: &str) -> Option<Line> {
        let (mount, fs) = line.split_once(" - ")?;
        let place = mount.split(' ').nth(4)?;
        let mut fs = fs.split(' ');
        let (kind, _, options) = (fs.next()?, fs.next()?, fs.next().unwrap_or_default());
        Some(Line { place: PathBuf::from(unescaped(place)), kind: kind.to_owned(), options: unescaped(options) })
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Blanks and the like are written as `\040`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => whole = whole + &char::from(byte).to_string() + &part[3..],
            None => whole = whole + "\\" + part,
        }
    }
    whole
}

/// The file system of an absolute path.
///
/// # Errors
/// That it is none that is modelled, or cannot be seen from here.
pub(super) fn of(path: &Path, mountinfo: &str) -> Result<Mounted, String> {
    let lines: Vec<Line> = mountinfo.lines().filter_map(Line::parse).collect();
    let mut notes = Vec::new();
    let mut path = path.to_path_buf();
    // An overlay may be on an overlay.
    for _ in 0..4 {
        // Of several on one place the last is on top.
        let fits = lines.iter().enumerate().filter(|(_, line)| path.starts_with(&line.place));
        let on_top = fits.max_by_key(|(nth, line)| (line.place.components().count(), *nth));
        let (_, line) = on_top.ok_or_else(|| format!("{}: no mount has it", path.display()))?;
        if line.kind != "overlay" {
            return modelled(&path, line, notes);
        }
        let upper = line.option("upperdir").map(PathBuf::from);
        let upper = upper.filter(|upper| upper.is_absolute() && !is_within(upper, line));
        let upper = upper.ok_or_else(|| {
            let place = line.place.display();
            format!("{place} is an overlay whose upper layer cannot be seen from here; say what it is on with --fs")
        })?;
        notes.push(format!("{} is an overlay, which writes to {}", line.place.display(), upper.display()));
        path = upper;
    }
    Err(format!("{}: overlays on overlays; say what they are on with --fs", path.display()))
}

/// Whether a path of the upper layer is only known in another name space: it would lie in the overlay itself.
fn is_within(upper: &Path, overlay: &Line) -> bool {
    upper.starts_with(&overlay.place) && (overlay.place != Path::new("/") || !upper.exists())
}

fn modelled(path: &Path, line: &Line, mut notes: Vec<String>) -> Result<Mounted, String> {
    let mut fs = FsMount::named(&line.kind).map_err(|_| {
        let (place, kind) = (line.place.display(), &line.kind);
        format!("{place} is {kind}, which is not modelled: ext4, xfs, ext3 and ext2 are, and raw devices (--on /dev/…)")
    })?;
    let mut taken = String::new();
    let journals_data = line.option("data") == Some("journal");
    let is_idle = |option: &&str| IDLE.contains(option) || journals_data && OF_DATA_JOURNAL.contains(option);
    for option in line.options.split(',').filter(|option| !is_idle(option)) {
        let with = if taken.is_empty() { option.to_owned() } else { format!("{taken},{option}") };
        match FsMount::named(&format!("{}:{with}", line.kind)) {
            Ok(mount) => (fs, taken) = (mount, with),
            Err(wrong) if wrong.why.contains("not modelled") => notes.push(wrong.why),
            // Others are of no consequence for data: names of users, quotas, error handling.
            Err(_) => notes.extend(log_disk(option).map(on_one_disk)),
        }
    }
    if let Some(disk) = fs.options.log_disk.take() {
        notes.push(on_one_disk(disk.as_str()));
    }
    let on = line.place.display();
    notes.push(format!("{} is on {fs}, mounted on {on}; predicted on a fresh one of Linux 6.18", path.display()));
    Ok(Mounted { fs, notes })
}

/// The disk that an option names for the log, by whatever path.
fn log_disk(option: &str) -> Option<&str> {
    let (name, disk) = option.split_once('=')?;
    ["journal_dev", "journal_path", "logdev"].contains(&name).then_some(disk)
}

fn on_one_disk(disk: &str) -> String {
    format!("its log is on {disk}, and is predicted on the same disk as its files")
}

/// What `data=journal` implies, and the kernel prints.
const OF_DATA_JOURNAL: [&str; 2] = ["nodelalloc", "nodioread_nolock"];

/// Defaults that the kernel prints.
const IDLE: [&str; 4] = ["logbufs=8", "discard", "stripe=0", "sunit=0"];

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro,commit=30,stripe=32
40 22 259:3 / /srv/my\\040data rw,noatime - xfs /dev/nvme0n1p3 rw,attr2,inode64,logbufs=8,logbsize=64k,noquota
41 22 0:30 /@ /home rw - btrfs /dev/sdb rw,ssd
42 22 0:31 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/srv/my\\040data/up,workdir=/w
45 22 259:5 / /web rw,noatime - ext4 /dev/sde rw,journal_path=/dev/mapper/fast-log
44 22 259:4 / /mail rw,noatime - ext4 /dev/sdc rw,nodioread_nolock,nodelalloc,data=journal,journal_path=/dev/sdd
43 22 0:32 / /inside rw - overlay overlay rw,lowerdir=/l,upperdir=/inside/up,workdir=/w
";

    fn on(path: &str) -> Result<String, String> {
        of(Path::new(path), MOUNTS).map(|mounted| mounted.fs.to_string())
    }

    #[test]
    fn the_longest_mount_has_the_path_and_its_options_count() {
        assert_eq!(on("/var/lib/db").as_deref(), Ok("ext4:commit=30"));
        assert_eq!(on("/srv/my data/db").as_deref(), Ok("xfs:logbsize=64k"));
        assert_eq!(on("/srv/other").as_deref(), Ok("ext4:commit=30"));
        let notes = of(Path::new("/var"), MOUNTS).unwrap().notes;
        assert!(notes[0].contains("`stripe=32` of ext4 is not modelled"), "{notes:?}");
        assert_eq!(on("/mail/in").as_deref(), Ok("ext4:data=journal"));
        let notes = of(Path::new("/mail"), MOUNTS).unwrap().notes;
        assert!(notes[0].contains("its log is on sdd") && notes.len() == 2, "{notes:?}");
        let notes = of(Path::new("/web"), MOUNTS).unwrap().notes;
        assert!(notes[0].contains("its log is on /dev/mapper/fast-log") && notes.len() == 2, "{notes:?}");
    }

    #[test]
    fn an_overlay_writes_to_the_file_system_below_and_what_is_not_modelled_says_so() {
        assert_eq!(on("/merged/db").as_deref(), Ok("xfs:logbsize=64k"));
        assert!(on("/inside/db").unwrap_err().contains("cannot be seen from here; say what it is on with --fs"));
        assert!(on("/home/me").unwrap_err().contains("/home is btrfs, which is not modelled: ext4, xfs, ext3 and"));
    }
}
