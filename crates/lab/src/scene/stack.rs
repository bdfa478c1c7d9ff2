//! What the jobs of a run see: disks, and stacked devices above others.
//!
//! **Rule** `md-raid0:2xnvme-ssd` has disks of its own, called `md-raid0[0]`, `md-raid0[1]`, or `md0[0]` if it is bound
//! to a name; `md0=md-raid1:sda+sdb,sda=ssd,sdb=hdd-7200` is above disks that have names. No disk is below two devices,
//! none is below itself, and what is below one is no job's. The disks come in the order of what jobs see, members in
//! theirs; in the common space of sectors they lie behind everything that jobs see.

use std::sync::Arc;

use blksched::{Catalogue, Sector};
use blksched_disks::DiskError;
use blksched_disks::stack::{StackSpec, StackWord, StackedWord, stack_word};
use blksched_simulate::BesideVolume;
use blksched_workloads::replay::MemberSpan;
use blksched_workloads::{DiskPlaces, is_device};

use super::Scene;
use super::disks::{AskedDisk, OtherStage, disk_name, scheduler_of};
use super::found::FoundDisk;
use super::workload::Workload;
use crate::error::{Error, Expected, WordError};
use crate::files::Files;

/// A disk of the run.
pub(super) struct DiskBelow {
    pub(super) name: String,
    /// The place of what jobs see above it, or of itself.
    pub(super) top: u16,
    /// Its first sector in the common space.
    pub(super) first: Sector,
    pub(super) found: FoundDisk,
}

impl DiskBelow {
    /// Its name, and where it is.
    pub(super) fn span(&self, scene: &Scene) -> (String, MemberSpan) {
        (self.name.clone(), MemberSpan { first: self.first, sectors: self.found.sectors(scene) })
    }
}

/// All disks of a run, and what is above them.
pub(super) struct Laid {
    /// At least one.
    pub(super) leaves: Vec<DiskBelow>,
    pub(super) volumes: Vec<BesideVolume>,
    /// What jobs see.
    pub(super) places: DiskPlaces,
    /// The same in words, if any of it is stacked.
    pub(super) shown: Option<String>,
    /// The names of stacked devices, each with the first disk below it.
    pub(super) above: Vec<(String, u16)>,
}

impl OtherStage {
    /// A disk that is not the one whose schedulers are compared.
    pub(super) fn of(leaf: DiskBelow, place: u16, scene: &Scene, files: &dyn Files) -> Result<OtherStage, Error> {
        let DiskBelow { name, top, first, found } = leaf;
        let FoundDisk { disk, disk_name, attached, chosen, is_ideal_anyway } = found;
        let queues = scene.host.queues_with_tags(attached, &disk);
        Ok(OtherStage {
            name,
            place,
            top,
            first,
            contender: scheduler_of(None, attached, &disk, queues, &Catalogue::builtin())?,
            validated: files.validated(&disk_name),
            disk: Arc::new(disk),
            disk_name,
            attached,
            chosen,
            is_ideal_anyway,
            is_named: false,
        })
    }
}

/// A device and what is below it.
enum DeviceTree {
    Disk(String, Box<FoundDisk>),
    Stacked(StackSpec, Vec<DeviceTree>, u64),
}

impl DeviceTree {
    fn sectors(&self, scene: &Scene) -> u64 {
        match self {
            DeviceTree::Disk(_, found) => found.sectors(scene),
            DeviceTree::Stacked(.., sectors) => *sectors,
        }
    }
}

/// The run's devices.
///
/// # Errors
/// A disk or a device that is not understood, a member used twice, a circle, or a member that jobs use, with its place.
pub(super) fn laid(asked: &[AskedDisk], workload: &Workload, scene: &Scene, files: &dyn Files) -> Result<Laid, Error> {
    let words = asked.iter().map(|asked| stack_word(&asked.word).transpose().map_err(Error::Disk));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let is_below = below(asked, &words)?;
    not_used(asked, &is_below, workload)?;
    let grower = Grower { asked, words: &words, workload, scene, files };
    let seen: Vec<usize> = (0..asked.len()).filter(|&nth| !is_below[nth]).collect();
    let trees = seen.iter().map(|&nth| grower.grow(nth)).collect::<Result<Vec<_>, _>>()?;
    let places = match &trees[..] {
        [alone] => DiskPlaces::alone(alone.sectors(scene)),
        _ => DiskPlaces::beside(
            seen.iter().zip(&trees).map(|(&nth, tree)| (asked[nth].names.clone(), tree.sectors(scene))),
        ),
    };
    let last = places.all().last().expect("a run has a disk");
    let mut laid = Laid {
        leaves: Vec::new(),
        volumes: Vec::new(),
        shown: words.iter().any(Option::is_some).then(|| shown(asked, &seen)),
        places: places.clone(),
        above: Vec::new(),
    };
    let mut next = last.first.0 + last.sectors;
    for ((top, place), tree) in (0_u16..).zip(places.all()).zip(trees) {
        let first = laid.leaves.len() as u16;
        if let (Some(stacked), asked) = (&words[seen[usize::from(top)]], &asked[seen[usize::from(top)]]) {
            let names = if asked.names.is_empty() { vec![stacked.kind.to_owned()] } else { asked.names.clone() };
            laid.above.extend(names.into_iter().map(|name| (name, first)));
        }
        laid.put(tree, top, Some(place.first), (&mut next, scene));
    }
    Ok(laid)
}

/// As in `md0=md-raid1:sda+sdb`, or `md-raid1:2xssd`.
fn shown(asked: &[AskedDisk], seen: &[usize]) -> String {
    let one = |&nth: &usize| match asked[nth].names.first() {
        Some(name) => format!("{name}={}", asked[nth].word),
        None => asked[nth].word.clone(),
    };
    seen.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Devices begin at multiples of this many sectors, so that no page lies on two.
const APART: u64 = 1 << 21;

impl Laid {
    /// Gives a device its place, at `first` or behind all others; returns where it is, and its length.
    fn put(
        &mut self,
        tree: DeviceTree,
        top: u16,
        first: Option<Sector>,
        (next, scene): (&mut u64, &Scene),
    ) -> (Sector, u64) {
        let sectors = tree.sectors(scene);
        let first = first.unwrap_or_else(|| {
            let first = next.next_multiple_of(APART);
            *next = first + sectors;
            Sector(first)
        });
        match tree {
            DeviceTree::Disk(name, found) => self.leaves.push(DiskBelow { name, top, first, found: *found }),
            DeviceTree::Stacked(spec, members, _) => {
                let members = members.into_iter().map(|member| self.put(member, top, None, (next, scene))).collect();
                self.volumes.push(BesideVolume { first, spec, members });
            }
        }
        (first, sectors)
    }
}

/// Which of the devices are below others.
fn below(asked: &[AskedDisk], words: &[Option<StackedWord>]) -> Result<Vec<bool>, Error> {
    let mut is_below = vec![false; asked.len()];
    let mut to_do: Vec<(usize, &StackedWord)> =
        words.iter().enumerate().filter_map(|(nth, word)| Some((nth, word.as_ref()?))).collect();
    to_do.reverse();
    while let Some((nth, stacked)) = to_do.pop() {
        for member in stacked.members.iter().rev() {
            if let StackWord::Stacked(inner) = member {
                to_do.push((nth, inner));
            }
        }
        for member in &stacked.members {
            let StackWord::Disk { word, column } = member else { continue };
            let Some(other) = called(asked, word) else { continue };
            if core::mem::replace(&mut is_below[other], true) {
                let why = format!("`{word}` is a member already: expected each disk once");
                return Err(wrong(&asked[nth].word, *column, word, why));
            }
        }
    }
    // Whatever is below something and reached from nothing that jobs see is below itself.
    let mut reached: Vec<bool> = is_below.iter().map(|below| !below).collect();
    let mut next: Vec<usize> = (0..asked.len()).filter(|&nth| reached[nth]).collect();
    while let Some(nth) = next.pop() {
        for other in words[nth].iter().flat_map(StackedWord::disks).filter_map(|word| called(asked, word)) {
            reached[other] = true;
            next.push(other);
        }
    }
    match reached.iter().position(|reached| !reached) {
        None => Ok(is_below),
        Some(nth) => {
            let name = asked[nth].names.first().map_or("", String::as_str);
            Err(wrong(&asked[nth].word, 1, name, format!("`{name}` is below itself: expected disks at the bottom")))
        }
    }
}

fn called(asked: &[AskedDisk], word: &str) -> Option<usize> {
    asked.iter().position(|disk| disk.names.iter().any(|name| name == disk_name(word)))
}

fn wrong(text: &str, column: usize, word: &str, why: String) -> Error {
    WordError::new(Expected::Value, word, format!("--disk: {text}:1:{column}: {why}")).into()
}

/// What is below a device is no job's: under Linux it is in use.
fn not_used(asked: &[AskedDisk], is_below: &[bool], workload: &Workload) -> Result<(), Error> {
    let used = workload.used();
    for file in used.iter().filter(|file| is_device(file)) {
        if let Some(nth) = called(asked, file).filter(|&nth| is_below[nth]) {
            let name = &asked[nth].names[0];
            let why = format!("{file} is a member of a stacked device: expected jobs on what is above {name}");
            return Err(wrong(&asked[nth].word, 1, file, why));
        }
    }
    Ok(())
}

/// Finds disks and puts devices above them.
struct Grower<'a> {
    asked: &'a [AskedDisk],
    words: &'a [Option<StackedWord>],
    workload: &'a Workload,
    scene: &'a Scene,
    files: &'a dyn Files,
}

impl Grower<'_> {
    /// A device that was asked for, and what is below it.
    fn grow(&self, nth: usize) -> Result<DeviceTree, Error> {
        let (asked, name) = (&self.asked[nth], self.asked[nth].names.first());
        match &self.words[nth] {
            None => {
                let found = FoundDisk::of(asked, self.workload, self.scene, self.files)?;
                Ok(DeviceTree::Disk(name.cloned().unwrap_or_default(), Box::new(found)))
            }
            Some(stacked) => self.stack(stacked, name.map_or(stacked.kind, String::as_str), &mut 0),
        }
    }

    /// A member that looks like a device's name, of which nobody said what it is.
    fn unbound(&self, word: &str, column: usize, error: Error) -> Error {
        let is_unknown = matches!(&error, Error::Disk(DiskError::UnknownDisk { .. }));
        let text = self.asked.iter().map(|asked| &asked.word).find(|text| text.contains(word));
        let (true, true, Some(text)) = (is_unknown, is_device_name(word), text) else { return error };
        let why = format!(
            "nothing says what `{word}` is: expected {word}=DISK behind it, or a preset or a file in its place"
        );
        wrong(text, column, word, why)
    }

    /// A stacked device; `called` is the name of the one above all, and `count` numbers the disks below it.
    fn stack(&self, stacked: &StackedWord, called: &str, count: &mut u32) -> Result<DeviceTree, Error> {
        let mut member = |member: &StackWord| match member {
            StackWord::Stacked(inner) => self.stack(inner, called, count),
            StackWord::Disk { word, column } => match self::called(self.asked, word) {
                Some(nth) => self.grow(nth),
                None => {
                    let name = format!("{called}[{count}]");
                    *count += 1;
                    let asked = AskedDisk { names: vec![name.clone()], word: word.clone(), device: None };
                    let found = FoundDisk::of(&asked, self.workload, self.scene, self.files);
                    let found = found.map_err(|error| self.unbound(word, *column, error))?;
                    Ok(DeviceTree::Disk(name, Box::new(found)))
                }
            },
        };
        let members = stacked.members.iter().map(&mut member).collect::<Result<Vec<_>, _>>()?;
        let lengths: Vec<u64> = members.iter().map(|member| member.sectors(self.scene)).collect();
        let sectors = stacked.spec.above(&lengths).sectors();
        if sectors == 0 {
            let why = format!("its members are too small for a {}", stacked.kind);
            return Err(Error::Input(format!("--disk {}: {why}", stacked.kind)));
        }
        Ok(DeviceTree::Stacked(stacked.spec, members, sectors))
    }
}

/// Whether a word looks like a device's name, such as sdb, nvme1n1 or dm-0.
fn is_device_name(word: &str) -> bool {
    let rest = |start: &str| word.strip_prefix(start).filter(|rest| !rest.is_empty());
    let letters = |rest: &str| {
        let disk = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        // Of a partition's number three digits are the most.
        rest.len() - disk.len() <= 3 && (1..=2).contains(&disk.len()) && disk.bytes().all(|b| b.is_ascii_lowercase())
    };
    let numbers = |rest: &str| {
        let starts = rest.starts_with(|c: char| c.is_ascii_digit());
        starts && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'n' || byte == b'p')
    };
    let is_lettered = ["sd", "hd", "vd", "xvd"].into_iter().filter_map(rest).any(letters);
    is_lettered || ["nvme", "mmcblk", "md", "dm-", "loop"].into_iter().filter_map(rest).any(numbers)
}
