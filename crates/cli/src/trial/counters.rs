//! What is counted where the tracer is denied: the disks' counters, those of control groups, and PSI.
//!
//! **Source** the kernel's Documentation/block/stat.rst, Documentation/admin-guide/cgroup-v2.rst ("io.stat") and
//! Documentation/accounting/psi.rst.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use blksched::Span;
use blksched_lab::live::{LiveCount, LiveKind, LiveStall};

use super::groups::GroupTree;

/// What the machine's counters said last.
pub(super) struct Counters {
    disks: Vec<PathBuf>,
    /// The disks' numbers, as in io.stat.
    numbers: Vec<String>,
    groups: GroupTree,
    /// The machine's own file of PSI.
    pressure: PathBuf,
    last: CountedSoFar,
}

/// One look at all of them.
#[derive(Default)]
struct CountedSoFar {
    disks: [DiskCounter; 2],
    /// Of all groups, since one that has others below it may have none at the next look.
    groups: BTreeMap<String, [GroupCounter; 2]>,
    /// Those without others below them: the figures of the rest are sums of theirs.
    last: BTreeSet<String>,
    /// `some` and `full` so far \[us\], of the machine (`None`) and of each group.
    stalled: BTreeMap<Option<String>, [u64; 2]>,
}

/// Reads or writes of all disks so far, as in `/sys/block/DISK/stat`: requests, sectors, and milliseconds that they
/// took, all together.
type DiskCounter = [u64; 3];

/// Reads or writes of a group on all disks so far, as in io.stat: bios and bytes.
type GroupCounter = [u64; 2];

const KINDS: [LiveKind; 2] = [LiveKind::Read, LiveKind::Write];

impl Counters {
    /// Of these disks (their folders in sysfs), from now on.
    pub fn of(disks: &[PathBuf], groups: GroupTree, pressure: &Path) -> Result<Counters, String> {
        let number = |disk: &PathBuf| fs::read_to_string(disk.join("dev")).map(|text| text.trim().to_owned());
        let numbers = disks.iter().filter_map(|disk| number(disk).ok()).collect();
        let (disks, pressure) = (disks.to_vec(), pressure.to_owned());
        let mut counters = Counters { disks, numbers, groups, pressure, last: CountedSoFar::default() };
        counters.last = counters.read()?;
        Ok(counters)
    }

    /// What has been done, and how long processes waited, since the last look.
    pub fn look(&mut self) -> Result<(Vec<LiveCount>, Vec<LiveStall>), String> {
        let now = self.read()?;
        let before = std::mem::replace(&mut self.last, now);
        Ok(self.last.since(&before))
    }

    fn read(&self) -> Result<CountedSoFar, String> {
        let mut counted = CountedSoFar::default();
        for disk in &self.disks {
            let path = disk.join("stat");
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let one = disk_counters(&text).ok_or_else(|| format!("{}: not as documented: {text}", path.display()))?;
            counted.disks.as_flattened_mut().iter_mut().zip(one.as_flattened()).for_each(|(sum, one)| *sum += one);
        }
        let stalled = |file: &Path| fs::read_to_string(file).ok().and_then(|text| stalled_us(&text));
        counted.stalled.extend(stalled(&self.pressure).map(|us| (None, us)));
        for (group, folder, is_last) in self.groups.with_file("io.stat") {
            let text = fs::read_to_string(folder.join("io.stat")).unwrap_or_default();
            counted.stalled.extend(stalled(&folder.join("io.pressure")).map(|us| (Some(group.clone()), us)));
            counted.last.extend(is_last.then(|| group.clone()));
            counted.groups.insert(group, group_counters(&text, &self.numbers));
        }
        Ok(counted)
    }
}

impl CountedSoFar {
    fn since(&self, before: &CountedSoFar) -> (Vec<LiveCount>, Vec<LiveStall>) {
        let of_disks = KINDS.into_iter().zip(self.disks.iter().zip(&before.disks)).map(|(kind, (now, before))| {
            let [ios, sectors, ms] = [0, 1, 2].map(|at| now[at].saturating_sub(before[at]));
            LiveCount { whose: None, kind, ios, bytes: sectors * 512, waited: Some(Span::from_ms(ms)) }
        });
        let is_last = |whose: &String| self.last.contains(whose);
        let of_groups = self.groups.iter().filter(|(group, _)| is_last(group)).flat_map(|(group, now)| {
            // A group that is new has counted from nothing.
            let before = before.groups.get(group).copied().unwrap_or_default();
            KINDS.into_iter().zip(now.iter().zip(before)).map(|(kind, (now, before))| {
                let [ios, bytes] = [0, 1].map(|at| now[at].saturating_sub(before[at]));
                LiveCount { whose: Some(group.clone()), kind, ios, bytes, waited: None }
            })
        });
        let told = self.stalled.iter().filter(|(whose, _)| whose.as_ref().is_none_or(is_last));
        let stalls = told.map(|(whose, now)| {
            let before = before.stalled.get(whose).unwrap_or(now);
            let [some, full] = [0, 1].map(|at| Span::from_us(now[at].saturating_sub(before[at])));
            LiveStall { whose: whose.clone(), some, full }
        });
        (of_disks.chain(of_groups).collect(), stalls.collect())
    }
}

fn disk_counters(text: &str) -> Option<[DiskCounter; 2]> {
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let of = |first: usize| Some([*numbers.get(first)?, *numbers.get(first + 2)?, *numbers.get(first + 3)?]);
    Some([of(0)?, of(4)?])
}

/// The lines of these disks in a file io.stat, added up; a disk without a line has done nothing there.
fn group_counters(text: &str, numbers: &[String]) -> [GroupCounter; 2] {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let words =
        lines.filter(|(number, _)| numbers.iter().any(|own| own == number)).flat_map(|(_, said)| said.split(' '));
    let mut counters = [[0; 2]; 2];
    for (word, number) in words.filter_map(|word| word.split_once('=')) {
        let Ok(number) = number.parse::<u64>() else { continue };
        match word {
            "rios" => counters[0][0] += number,
            "rbytes" => counters[0][1] += number,
            "wios" => counters[1][0] += number,
            "wbytes" => counters[1][1] += number,
            _ => {}
        }
    }
    counters
}

/// The totals of `some` and `full` in a file of PSI \[us\].
pub(super) fn stalled_us(text: &str) -> Option<[u64; 2]> {
    let total = |word: &str| {
        let line = text.lines().find(|line| line.split(' ').next() == Some(word))?;
        line.split_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
    };
    Some([total("some")?, total("full")?])
}

#[cfg(test)]
mod tests {
    use blksched_testkit::Folder;

    use super::*;

    const NO_TIME: &str = "avg10=0.00 avg60=0.00 avg300=0.00";

    fn psi(some: u64, full: u64) -> String {
        format!("some {NO_TIME} total={some}\nfull {NO_TIME} total={full}\n")
    }

    fn write(root: &Folder, file: &str, text: &str) {
        fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
        fs::write(root.path(file), text).unwrap();
    }

    fn stat(reads: &str, writes: &str) -> String {
        format!("{reads} {writes} 0 500 700 3 0 24 0 10 4\n")
    }

    /// Two disks of an array; a service and one below a slice; a slice that has their sums; and the root's own.
    fn machine() -> (Folder, Counters) {
        let root = Folder::new();
        for (disk, number) in [("sda", "8:0\n"), ("sdb", "8:16\n")] {
            write(&root, &format!("sys/{disk}/dev"), number);
            write(&root, &format!("sys/{disk}/stat"), &stat("100 5 800 1000", "10 0 160 50"));
        }
        write(&root, "groups/io.stat", "8:0 rbytes=9 wbytes=9 rios=9 wios=9\n");
        write(&root, "groups/system.slice/io.stat", "8:0 rbytes=9 wbytes=9 rios=9 wios=9\n");
        let own = "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n8:32 rbytes=7 wbytes=7 rios=7 wios=7\n";
        write(&root, "groups/system.slice/db.service/io.stat", own);
        write(&root, "groups/system.slice/db.service/io.pressure", &psi(1_000, 0));
        write(&root, "groups/web/io.stat", "");
        write(&root, "groups/web/no-controller/cgroup.procs", "");
        write(&root, "pressure", &psi(5_000, 2_000));
        let disks = ["sda", "sdb"].map(|disk| root.path("sys").join(disk));
        let counters = Counters::of(&disks, GroupTree::at(&root.path("groups")), &root.path("pressure")).unwrap();
        (root, counters)
    }

    fn count(whose: &str, kind: LiveKind, ios: u64, bytes: u64) -> LiveCount {
        LiveCount { whose: Some(whose.to_owned()), kind, ios, bytes, waited: None }
    }

    #[test]
    fn differences_are_what_the_disks_and_the_groups_without_others_below_them_did() {
        let (root, mut counters) = machine();
        write(&root, "sys/sda/stat", &stat("150 9 1200 1250", "12 0 176 58"));
        let own = "8:0 rbytes=12288 wbytes=512 rios=3 wios=1 dbytes=0 dios=0\n8:16 rbytes=4096 wbytes=0 rios=1 wios=0\n\
                   8:32 rbytes=99 wbytes=99 rios=99 wios=99\n";
        write(&root, "groups/system.slice/db.service/io.stat", own);
        write(&root, "groups/system.slice/db.service/io.pressure", &psi(1_600, 100));
        write(&root, "groups/new/io.stat", "8:16 rbytes=0 wbytes=8192 rios=0 wios=2\n");
        write(&root, "pressure", &psi(5_900, 2_500));
        let (counts, stalls) = counters.look().unwrap();
        let (db, read, wrote) = ("system.slice/db.service", LiveKind::Read, LiveKind::Write);
        let of_disks = |kind, ios, bytes, ms| {
            let waited = Some(Span::from_ms(ms));
            LiveCount { whose: None, kind, ios, bytes, waited }
        };
        let of_groups = [
            count("new", read, 0, 0),
            count("new", wrote, 2, 8192),
            count(db, read, 3, 12_288),
            count(db, wrote, 1, 512),
            count("web", read, 0, 0),
            count("web", wrote, 0, 0),
        ];
        let all = [&[of_disks(read, 50, 400 * 512, 250), of_disks(wrote, 2, 16 * 512, 8)][..], &of_groups].concat();
        assert_eq!(counts, all);
        let stall = |whose: Option<&str>, some, full| {
            let (some, full) = (Span::from_us(some), Span::from_us(full));
            LiveStall { whose: whose.map(str::to_owned), some, full }
        };
        assert_eq!(stalls, [stall(None, 900, 500), stall(Some(db), 600, 100)]);
        // A group that has ended, and counters that begin anew.
        fs::remove_dir_all(root.path("groups/system.slice/db.service")).unwrap();
        write(&root, "sys/sda/stat", &stat("1 0 8 1", "0 0 0 0"));
        let (counts, _) = counters.look().unwrap();
        assert!(counts.iter().all(|count| count.ios == 0 && count.whose.as_deref() != Some(db)), "{counts:?}");
    }

    #[test]
    fn a_machine_without_groups_or_pressure_has_its_disks_counters() {
        let (root, _) = machine();
        let none = GroupTree::below(&root.path("elsewhere"));
        let mut counters = Counters::of(&[root.path("sys/sda")], none, &root.path("nothing")).unwrap();
        let (counts, stalls) = counters.look().unwrap();
        assert_eq!((counts.len(), stalls.len()), (2, 0));
        write(&root, "sys/sda/stat", "1 2 3 x");
        assert!(counters.look().unwrap_err().contains("not as documented"));
    }

    #[test]
    fn pressure_is_read_as_the_kernel_writes_it() {
        assert_eq!(stalled_us(&psi(1_980_592_653, 603_354_828)), Some([1_980_592_653, 603_354_828]));
        assert_eq!((stalled_us("some total=1\n"), stalled_us("")), (None, None));
    }
}
