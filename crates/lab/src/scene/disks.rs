//! Several disks in one run: which ones, and under which schedulers.
//!
//! **Rule** `--disk sda=hdd-7200,/mnt/usb=usb-stick` binds names of job files to descriptions; `sdb+/mnt/usb=usb-stick`
//! binds two names to one disk. Each device that a job names besides is a disk, too: two names are two disks, a
//! partition is its disk. A device without a description gets the one that is given for all, or else the preset that a
//! device of its name would get alone. Files in no directory that is bound are on the first disk.
//!
//! One disk's schedulers are compared: that of `--vary`; or else the one for which `--elevators` names several; or else
//! the first. The others keep theirs: what `--elevators` says (`sdb=bfq`), or their kernel's choice.

use std::sync::Arc;

use blksched::{Catalogue, Sector};
use blksched_disks::stack::{CryptSpec, StackedWord, stack_word};
use blksched_disks::{Attached, DiskSpec};
use blksched_simulate::BesideVolume;
use blksched_text::nearest;
use blksched_workloads::host::{DeviceLimits, HostKnobs, PAGE_BYTES};
use blksched_workloads::{DiskPlaces, is_device, whole_disk};

use super::contender::{Contender, contenders};
use super::default::kernel_default_of;
use super::which::BY_DEVICE;
use super::workload::Workload;
use crate::error::{Error, Expected, WordError};

/// A disk of a run of several that is not the one whose schedulers are compared.
#[derive(Clone, Debug)]
pub struct OtherStage {
    /// Its name.
    pub name: String,
    /// Its place among all, from 0.
    pub place: u16,
    /// The place of what jobs see above it, or its own among what they see.
    pub top: u16,
    /// Its first sector in the space that all disks make together.
    pub first: Sector,
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The name of its description as given.
    pub disk_name: String,
    /// How it is attached, if its name says it.
    pub attached: Option<Attached>,
    /// Why this disk, if the user did not name it.
    pub chosen: Option<String>,
    /// What is known of earlier predictions on this very disk, in words.
    pub validated: Option<String>,
    /// Whether the disk was to be without tails, and has none anyway.
    pub is_ideal_anyway: bool,
    /// Its scheduler.
    pub contender: Contender,
    /// Whether the user named the scheduler.
    pub is_named: bool,
}

/// What a stage knows of its disk's place among others; nothing if there is one only.
#[derive(Clone, Debug, Default)]
pub struct Among {
    /// Its name.
    pub name: String,
    /// Its place among all, from 0.
    pub place: u16,
    /// The place of what jobs see above it, or its own among what they see.
    pub top: u16,
    /// Its first sector in the space that all disks make together.
    pub first: Sector,
    /// Stacked devices above the disks.
    pub volumes: Vec<BesideVolume>,
    /// The names of stacked devices, each with the place of the first disk below it.
    pub above: Vec<(String, u16)>,
    /// What jobs see, in words, if any of it is stacked.
    pub shown: Option<String>,
    /// Where the disks come from, if the user did not say them.
    pub told: Option<String>,
    /// The others.
    pub others: Vec<OtherStage>,
    /// What may be dirty for single devices, by their first sector.
    pub dirty_limits: Vec<(Sector, DeviceLimits)>,
    /// Its schedulers, once it is known which of those named are its.
    pub elevators: Option<Vec<String>>,
}

impl Among {
    /// The disk's name, if it is below a stacked device.
    pub fn member(&self) -> Option<String> {
        let is_below = self.volumes.iter().any(|volume| volume.members.iter().any(|(first, _)| *first == self.first));
        is_below.then(|| self.name.clone())
    }

    /// What a user should know of stacked devices.
    pub(super) fn stack_note(&self) -> Option<String> {
        let shown = self.shown.as_ref()?;
        let fellows = 1 + self.others.iter().filter(|other| self.is_fellow(other)).count();
        let below = match (self.member(), fellows) {
            (Some(name), 1) => format!("schedulers are those of {name}"),
            (Some(name), disks) => format!("schedulers are those of {name} and the {} beside it", disks - 1),
            (None, _) => format!("schedulers are those of {}", self.name),
        };
        let crypts = self.volumes.iter().filter_map(|volume| volume.spec.crypt);
        let assumed = crypts.into_iter().any(|crypt| {
            let usual = CryptSpec::default();
            (crypt.encrypts, crypt.decrypts) == (usual.encrypts, usual.decrypts)
        });
        let speed = match assumed {
            true => {
                "; dm-crypt's speed is assumed (encrypt=1494,decrypt=1486 MiB/s: one machine's `cryptsetup benchmark`)"
            }
            false => "",
        };
        let known = "its bios compared with Linux 6.12, its times with nothing";
        Some(format!("stacked: {shown}: no scheduler above, {below}; {known}{speed}"))
    }

    /// The host's settings, with what was said of the only disk.
    pub(super) fn memory(&self, host: HostKnobs) -> HostKnobs {
        match self.dirty_limits.first().filter(|_| !self.is_several()) {
            Some((_, limits)) => {
                let max_bytes = limits.most.map_or(0, |pages| pages * PAGE_BYTES);
                HostKnobs { max_bytes, strict_limit: limits.is_strict, ..host }
            }
            None => host,
        }
    }

    /// Whether there is more than one disk alone.
    pub fn is_several(&self) -> bool {
        !self.others.is_empty() || !self.volumes.is_empty()
    }

    /// Whether another disk is below the same stacked device, so that both have the schedulers that are compared.
    pub fn is_fellow(&self, other: &OtherStage) -> bool {
        other.top == self.top
    }

    /// The names of all disks, in their order.
    pub fn names(&self) -> Vec<&str> {
        let mut all: Vec<(u16, &str)> = self.others.iter().map(|other| (other.place, other.name.as_str())).collect();
        all.push((self.place, &self.name));
        all.sort_unstable();
        all.into_iter().map(|(_, name)| name).collect()
    }

    /// What jobs call the first of the devices that they see: a disk, or a stacked device above several.
    pub(super) fn first_names(&self) -> Vec<&str> {
        let above: Vec<&str> =
            self.above.iter().filter(|(_, first)| *first == 0).map(|(name, _)| name.as_str()).collect();
        if above.is_empty() { self.names().into_iter().take(1).collect() } else { above }
    }

    /// For each disk, the place of what jobs see above it, or its own among what they see.
    pub(super) fn tops(&self) -> Vec<u16> {
        let mut all: Vec<(u16, u16)> = self.others.iter().map(|other| (other.place, other.top)).collect();
        all.push((self.place, self.top));
        all.sort_unstable();
        all.into_iter().map(|(_, top)| top).collect()
    }

    /// Each disk with its description, as in `sda=hdd-7200, sdb=usb-stick`; `None` if there is one only.
    pub fn described(&self, own: &str) -> Option<String> {
        if self.shown.is_some() || self.others.is_empty() {
            return self.shown.clone();
        }
        let mut all: Vec<(u16, String)> =
            self.others.iter().map(|other| (other.place, format!("{}={}", other.name, other.disk.name))).collect();
        all.push((self.place, format!("{}={own}", self.name)));
        all.sort_unstable();
        Some(all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", "))
    }
}

/// A disk that is asked for: its names in job files, and the word for its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskedDisk {
    pub(super) names: Vec<String>,
    /// [`BY_DEVICE`] if nothing was said.
    pub(super) word: String,
    /// The device that decides then.
    pub(super) device: Option<String>,
}

/// The disks of this load. A single one without a name is the usual case.
///
/// # Errors
/// A name that is bound twice, or that no job uses, with its column.
pub(super) fn asked(said: &str, workload: &Workload) -> Result<Vec<AskedDisk>, Error> {
    let used = workload.used();
    let bindings = bindings(said, &used);
    check(said, &bindings, &used, workload)?;
    let word = if bindings.is_empty() { said } else { BY_DEVICE };
    let mut all: Vec<AskedDisk> = bindings
        .iter()
        .map(|bound| AskedDisk {
            names: bound.names.iter().map(|(_, name)| disk_name(name).to_owned()).collect(),
            word: bound.word.to_owned(),
            device: None,
        })
        .collect();
    for device in used.iter().filter(|name| is_device(name)) {
        let is_known = |disk: &AskedDisk| disk.names.iter().any(|name| name == disk_name(device));
        if !all.iter().any(is_known) {
            let names = vec![whole_disk(device).to_owned()];
            all.push(AskedDisk { names, word: word.to_owned(), device: Some(device.clone()) });
        }
    }
    if all.len() > 1 || !bindings.is_empty() {
        return Ok(all);
    }
    Ok(vec![AskedDisk { names: Vec::new(), word: said.to_owned(), device: None }])
}

/// `sda+/mnt/usb=hdd-7200`: the names with their columns, and the description.
#[derive(Debug, PartialEq)]
struct Binding<'t> {
    names: Vec<(usize, &'t str)>,
    word: &'t str,
}

/// All bindings of the text; none if it is one description.
fn bindings<'t>(said: &'t str, used: &[String]) -> Vec<Binding<'t>> {
    // The names that stand at `at` before `=`, and where the description before them begins.
    let starts = |at: usize, before: Option<usize>| {
        let rest = &said[at..];
        let end = rest.find(['=', ',', ':']).filter(|&end| rest[end..].starts_with('='))?;
        let names = &rest[..end];
        // A setting of the description before is no disk: `raid5:4xhdd-7200,failed=1,spare=2`.
        let described = before.map(|before| &said[before..at]);
        let is_member = |name: &str| is_member_of_any(name, said);
        let is_binding = !described.is_some_and(|word| word.contains(':'))
            || names.split('+').all(|name| is_disk_name(name, used) || is_member(name));
        (!names.is_empty() && is_binding).then_some((at, at + end))
    };
    let Some(first) = starts(0, None) else { return Vec::new() };
    let mut all: Vec<(usize, usize)> = vec![first];
    for (comma, _) in said.match_indices(',') {
        let before = all.last().map(|(_, equals)| equals + 1);
        all.extend(starts(comma + 1, before));
    }
    let ends = all[1..].iter().map(|(at, _)| at - 1).chain([said.len()]);
    let binding = |((at, equals), end): (&(usize, usize), usize)| {
        let mut column = *at;
        let name = |name: &'t str| {
            let here = column;
            column += name.len() + 1;
            (said[..here].chars().count() + 1, name)
        };
        Binding { names: said[*at..*equals].split('+').map(name).collect(), word: &said[equals + 1..end] }
    };
    all.iter().zip(ends).map(binding).collect()
}

/// The names that the text binds, as disks are called.
pub(super) fn bound_names(said: &str, used: &[String]) -> Vec<String> {
    let names = bindings(said, used).into_iter().flat_map(|bound| bound.names);
    names.map(|(_, name)| disk_name(name).to_owned()).collect()
}

/// Whether this name stands as a member in a description: `fast` in `md0=md-raid1:fast+slow`.
fn is_member_of_any(name: &str, said: &str) -> bool {
    said.split(',').any(|part| {
        let description = part.split_once('=').map_or(part, |(_, description)| description);
        let members = description.split_once(':').map_or("", |(_, members)| members);
        members.split(['+', ':']).any(|member| member == name)
    })
}

/// Whether this is what a disk is called: a directory, a device that a job names, or a name of the kernel's.
fn is_disk_name(name: &str, used: &[String]) -> bool {
    const KERNEL: [&str; 11] = ["sd", "nvme", "vd", "xvd", "hd", "mmcblk", "md", "dm-", "loop", "nbd", "zram"];
    name.starts_with('/')
        || used.iter().any(|file| is_device(file) && disk_name(file) == disk_name(name))
        || KERNEL.iter().any(|kind| name.starts_with(kind))
}

/// One name for each disk: a partition's is its disk's, and a directory's has no slash at its end.
pub(crate) fn disk_name(name: &str) -> &str {
    match name.starts_with('/') && !is_device(name) {
        true => name.trim_end_matches('/'),
        false => whole_disk(name),
    }
}

/// Each name once, and each used by a job, except that the first disk has whatever is nowhere else.
fn check(said: &str, bindings: &[Binding<'_>], used: &[String], workload: &Workload) -> Result<(), Error> {
    let wrong = |column: usize, word: &str, why: String| {
        WordError::new(Expected::Value, word, format!("--disk {said}: column {column}: {why}"))
    };
    let mut known: Vec<&str> = Vec::new();
    for (column, name) in bindings.iter().flat_map(|bound| &bound.names) {
        let disk = disk_name(name);
        if known.contains(&disk) {
            return Err(wrong(*column, name, format!("`{name}` has a disk already: expected each disk once")).into());
        }
        known.push(disk);
    }
    for bound in bindings {
        let (column, name) = bound.names[0];
        if bound.word.is_empty() {
            return Err(wrong(column, name, format!("`{name}` has no disk: expected NAME=DISK, as in sda=ssd")).into());
        }
    }
    if bindings.is_empty() {
        return Ok(());
    }
    let mut members: Vec<String> = Vec::new();
    for bound in bindings {
        members.extend(
            stack_word(bound.word)
                .transpose()
                .map_err(Error::Disk)?
                .iter()
                .flat_map(StackedWord::disks)
                .map(str::to_owned),
        );
    }
    let places = DiskPlaces::beside(
        bindings.iter().map(|bound| (bound.names.iter().map(|(_, name)| (*name).to_owned()).collect(), 8)).chain(
            // A device without a binding has a disk of its own, and is not on the first.
            used.iter().filter(|name| is_device(name)).map(|name| (vec![whole_disk(name).to_owned()], 8)),
        ),
    );
    let mut has_files = vec![workload.has_others(); places.all().len()];
    has_files[1..].fill(false);
    used.iter().for_each(|file| has_files[places.of_file(file)] = true);
    for (bound, has_files) in bindings.iter().zip(has_files) {
        if has_files
            || bound.names.iter().any(|(_, name)| members.iter().any(|member| disk_name(member) == disk_name(name)))
        {
            continue;
        }
        let (column, name) = bound.names[0];
        let devices: Vec<&str> =
            used.iter().map(|file| if is_device(file) { whole_disk(file) } else { file }).collect();
        let near = nearest(name, devices.iter().copied());
        let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let jobs = match &devices[..] {
            [] => "name no files".to_owned(),
            [first @ .., log] if first.len() > SHOWN => {
                format!("use {}, {} others and {log}", first[..SHOWN].join(", "), first.len() - SHOWN)
            }
            all => format!("use {}", all.join(", ")),
        };
        let error = wrong(column, name, format!("no job uses `{name}`{meant} (the jobs {jobs})")).near(near);
        return Err(error.into());
    }
    Ok(())
}

/// As many of a job's files are named.
const SHOWN: usize = 5;

/// A disk's place, and the schedulers named for it; `None` for those of no disk in particular.
type NamedFor = (Option<usize>, Vec<String>);

/// The names of a run's disks, by their places, and those of stacked devices with the first disk below each.
#[derive(Clone, Copy)]
pub(super) struct DiskNames<'a> {
    pub(super) disks: &'a [&'a str],
    /// For each disk, the place of what jobs see above it.
    pub(super) tops: &'a [u16],
    pub(super) above: &'a [(String, u16)],
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalledDisk {
    /// The disk at this place.
    Itself(usize),
    /// The members of the stacked device whose first disk is at this place.
    Members(usize),
}

/// The disk, or the device above disks, of this name.
///
/// # Errors
/// If none has it, with the nearest; `said` is the option as given.
fn called(name: &str, names: DiskNames<'_>, said: &str) -> Result<CalledDisk, Error> {
    let DiskNames { disks: names, above, .. } = names;
    let exact = names.iter().position(|known| *known == disk_name(name)).map(CalledDisk::Itself);
    let below = above.iter().find(|(known, _)| known == disk_name(name));
    let below = below.map(|(_, first)| CalledDisk::Members(usize::from(*first)));
    exact.or(below).ok_or_else(|| {
        let near = nearest(name, names.iter().copied().chain(above.iter().map(|(above, _)| above.as_str())));
        let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let has = match names.iter().all(|name| name.is_empty()) {
            true => "this run has one disk, without a name".to_owned(),
            false => format!("the disks of this run are {}", names.join(", ")),
        };
        let message = format!("{said}: no disk is called `{name}`{meant} ({has})");
        WordError::new(Expected::Value, name, message).near(near).into()
    })
}

/// The schedulers that were named, by the disk that they are for, the first of which are for no disk in particular; and
/// the disks that were named themselves, not by a device above them.
///
/// # Errors
/// A disk that is not in the run, and the nearest.
fn by_disk(elevators: &[String], names: DiskNames<'_>) -> Result<(Vec<NamedFor>, Vec<usize>), Error> {
    let mut all: Vec<(Option<CalledDisk>, Vec<String>)> = vec![(None, Vec::new())];
    for text in elevators {
        let Some((name, rest)) = text.split_once('=').filter(|(name, _)| !name.contains([':', '+', '@'])) else {
            all.last_mut().expect("it begins with one").1.push(text.clone());
            continue;
        };
        let disk = Some(called(name, names, &format!("scheduler {text}"))?);
        // The same disk again goes on where it was.
        let at = all.iter().position(|(known, _)| *known == disk);
        let (_, mut own) = at.map_or((disk, Vec::new()), |at| all.remove(at));
        own.push(rest.to_owned());
        all.push((disk, own));
    }
    let itself = |(disk, _): &(Option<CalledDisk>, _)| match disk {
        Some(CalledDisk::Itself(at)) => Some(*at),
        _ => None,
    };
    let named: Vec<usize> = all.iter().filter_map(itself).collect();
    let place = |disk: CalledDisk| match disk {
        CalledDisk::Itself(at) => Ok(at),
        CalledDisk::Members(first) => unnamed_member(first, names, &named),
    };
    let placed = all.into_iter().map(|(disk, own)| Ok((disk.map(place).transpose()?, own)));
    Ok((placed.collect::<Result<_, Error>>()?, named))
}

/// Of the disks below one device, the first that has no scheduler of its own: the others do as it does.
///
/// # Errors
/// If all of them have.
fn unnamed_member(first: usize, names: DiskNames<'_>, named: &[usize]) -> Result<usize, Error> {
    let fellows = (0..names.disks.len()).filter(|&at| names.tops[at] == names.tops[first]);
    fellows.clone().find(|at| !named.contains(at)).ok_or_else(|| {
        let called = fellows.map(|at| names.disks[at]).collect::<Vec<_>>().join(", ");
        let message = format!("--elevators: {called} have schedulers of their own: expected one member without");
        Error::Input(message)
    })
}

/// Which disk's schedulers are compared, and what each disk's are.
pub(super) struct Chosen {
    pub(super) varied: usize,
    /// By place.
    pub(super) elevators: Vec<Vec<String>>,
}

/// # Errors
/// A disk that is not in the run; or several schedulers for more than one disk.
pub(super) fn chosen(elevators: &[String], vary: Option<&str>, names: DiskNames<'_>) -> Result<Chosen, Error> {
    let vary = vary.map(|name| called(name, names, &format!("--vary {name}"))).transpose()?;
    let (mut by_disk, named) = by_disk(elevators, names)?;
    let vary = match vary {
        Some(CalledDisk::Members(first)) => {
            // Its schedulers may have been named already, for whichever member stands for all.
            let stands = |at: &usize| by_disk.iter().any(|(disk, own)| *disk == Some(*at) && own.len() > 1);
            let fellows = (0..names.disks.len()).filter(|&at| names.tops[at] == names.tops[first]);
            Some(fellows.clone().find(stands).unwrap_or(unnamed_member(first, names, &named).unwrap_or(first)))
        }
        Some(CalledDisk::Itself(at)) => Some(at),
        None => None,
    };
    // What is for no disk in particular is for the first device: for those of its members that have nothing of their
    // own.
    let usual = match names.above.iter().any(|(_, first)| *first == 0) {
        true => unnamed_member(0, names, &named).unwrap_or(0),
        false => 0,
    };
    let for_any =
        by_disk.iter().position(|(disk, _)| disk.is_none()).map(|at| by_disk.remove(at).1).unwrap_or_default();
    let several = by_disk.iter().filter(|(_, own)| own.len() > 1).filter_map(|(disk, _)| *disk).collect::<Vec<_>>();
    let alone = match &by_disk[..] {
        [(Some(only), _)] if for_any.is_empty() => Some(*only),
        _ => None,
    };
    let varied = vary.or(several.first().copied()).or(alone).unwrap_or(usual);
    if let Some(&other) = several.iter().find(|&&other| other != varied) {
        let message = format!(
            "--elevators: {} has several schedulers, and those of {} are compared: expected one, or --vary {}",
            names.disks[other], names.disks[varied], names.disks[other]
        );
        return Err(Error::Input(message));
    }
    if let (Some(first), Some(_)) = (for_any.first(), by_disk.iter().find(|(disk, _)| *disk == Some(varied))) {
        return Err(Error::Input(format!(
            "--elevators {first}: it is not said for which disk, and {0} has schedulers of its own: expected \
             {0}={first}",
            names.disks[varied]
        )));
    }
    let mut elevators = vec![Vec::new(); names.disks.len()];
    elevators[varied] = for_any;
    by_disk.into_iter().for_each(|(disk, own)| elevators[disk.unwrap_or(varied)].extend(own));
    // What another stacked device was given is for all its members.
    for at in (0..names.disks.len()).filter(|&at| names.tops[at] != names.tops[varied] && !named.contains(&at)) {
        elevators[at] = elevators[unnamed_member(at, names, &named)?].clone();
    }
    Ok(Chosen { varied, elevators })
}

/// The scheduler of a disk whose schedulers are not compared.
pub(super) fn scheduler_of(
    named: Option<&String>,
    attached: Option<Attached>,
    disk: &DiskSpec,
    hardware_queues: Option<u32>,
    catalogue: &Catalogue,
) -> Result<Contender, Error> {
    let default = || kernel_default_of(attached, disk, hardware_queues).to_owned();
    let mut all = contenders("--elevators", &[named.cloned().unwrap_or_else(default)], &[], catalogue)?;
    match all.len() {
        1 => Ok(all.remove(0)),
        several => Err(Error::Input(format!("--elevators: {several} schedulers for one disk: expected one"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(said: &str) -> Vec<(Vec<(usize, &str)>, &str)> {
        let used = ["/dev/fast".to_owned()];
        bindings(said, &used).into_iter().map(|bound| (bound.names, bound.word)).collect()
    }

    #[test]
    fn names_are_bound_and_settings_of_a_description_are_not_names() {
        assert_eq!(bound("hdd-7200"), []);
        assert_eq!(bound("raid5:4xhdd-7200,failed=1"), []);
        assert_eq!(bound("iocost:rbps=1,rseqiops=2"), []);
        assert_eq!(bound("sda=hdd-7200"), [(vec![(1, "sda")], "hdd-7200")]);
        let two = bound("sda=raid5:4xhdd-7200,failed=1,fast=nvme-ssd");
        assert_eq!(two, [(vec![(1, "sda")], "raid5:4xhdd-7200,failed=1"), (vec![(31, "fast")], "nvme-ssd")]);
        let settings = bound("md0=crypt:nvme-ssd,encrypt=900,decrypt=800,no_read_workqueue,hop=2us");
        let whole = "crypt:nvme-ssd,encrypt=900,decrypt=800,no_read_workqueue,hop=2us";
        assert_eq!(settings, [(vec![(1, "md0")], whole)]);
        let members = bound("top=md-raid1:quick+slow,priority=lost,quick=ssd,slow=raid5:4xhdd-7200,failed=1");
        let names: Vec<_> = members.iter().map(|(names, word)| (names[0].1, *word)).collect();
        let slow = ("slow", "raid5:4xhdd-7200,failed=1");
        assert_eq!(names, [("top", "md-raid1:quick+slow,priority=lost"), ("quick", "ssd"), slow]);
        let joined = bound("sda=ssd,sdb+/mnt/usb=usb-stick,x=y");
        assert_eq!(joined[1], (vec![(9, "sdb"), (13, "/mnt/usb")], "usb-stick"));
        assert_eq!(joined[2], (vec![(32, "x")], "y"), "an error names it");
    }

    fn choose(elevators: &str, vary: Option<&str>) -> Result<(usize, Vec<String>), String> {
        let elevators: Vec<String> = elevators.split(',').filter(|e| !e.is_empty()).map(str::to_owned).collect();
        let names = DiskNames { disks: &["sda", "sdb"], tops: &[0, 1], above: &[] };
        chosen_of(&elevators, vary, names)
    }

    fn chosen_of(
        elevators: &[String],
        vary: Option<&str>,
        names: DiskNames<'_>,
    ) -> Result<(usize, Vec<String>), String> {
        let chosen = chosen(elevators, vary, names).map_err(|error| error.to_string())?;
        Ok((chosen.varied, chosen.elevators.iter().map(|own| own.join(" ")).collect()))
    }

    #[test]
    fn what_a_member_is_given_is_not_the_other_members() {
        let choose = |elevators: &str, vary: Option<&str>| {
            let elevators: Vec<String> = elevators.split(',').filter(|e| !e.is_empty()).map(str::to_owned).collect();
            let names =
                DiskNames { disks: &["md0[0]", "md0[1]", "sdc"], tops: &[0, 0, 1], above: &[("md0".to_owned(), 0)] };
            chosen_of(&elevators, vary, names)
        };
        let ok = |varied: usize, own: [&str; 3]| Ok((varied, own.map(str::to_owned).to_vec()));
        assert_eq!(choose("md0=bfq,kyber", None), ok(0, ["bfq kyber", "", ""]));
        for text in ["md0[0]=none,md0=bfq,kyber", "md0=bfq,kyber,md0[0]=none", "bfq,kyber,md0[0]=none"] {
            assert_eq!(choose(text, None), ok(1, ["none", "bfq kyber", ""]), "{text}");
        }
        assert_eq!(choose("md0[0]=none,md0=bfq,kyber", Some("md0")), ok(1, ["none", "bfq kyber", ""]));
        assert_eq!(choose("md0[0]=none,sdc=bfq", Some("md0")), ok(1, ["none", "", "bfq"]));
        assert_eq!(choose("md0[1]=bfq,none", Some("md0")), ok(1, ["", "bfq none", ""]));
        assert_eq!(choose("md0=kyber,sdc=bfq,none", None), ok(2, ["kyber", "kyber", "bfq none"]));
        let all = choose("md0[0]=none,md0[1]=bfq,md0=kyber", None).unwrap_err();
        assert!(all.contains("md0[0], md0[1] have schedulers of their own: expected one member without"), "{all}");
    }

    #[test]
    fn one_disks_schedulers_are_compared_and_the_others_keep_theirs() {
        let ok = |varied: usize, sda: &str, sdb: &str| Ok((varied, vec![sda.to_owned(), sdb.to_owned()]));
        assert_eq!(choose("", None), ok(0, "", ""));
        assert_eq!(choose("bfq,none", None), ok(0, "bfq none", ""));
        assert_eq!(choose("bfq,none", Some("sdb")), ok(1, "", "bfq none"));
        assert_eq!(choose("sda=bfq,mq-deadline", None), ok(0, "bfq mq-deadline", ""));
        assert_eq!(
            choose("sda=none,sdb=bfq,mq-deadline:fifo_batch=1", None),
            ok(1, "none", "bfq mq-deadline:fifo_batch=1")
        );
        assert_eq!(choose("bfq,none,sdb=kyber", None), ok(0, "bfq none", "kyber"));
        assert_eq!(choose("sdb=bfq", None), ok(1, "", "bfq"));
        assert_eq!(choose("sdb=bfq", Some("/dev/sda")), ok(0, "", "bfq"));
    }

    #[test]
    fn several_schedulers_for_two_disks_or_for_a_disk_that_is_not_there_are_errors() {
        let two = choose("sda=bfq,none,sdb=bfq,none", None).unwrap_err();
        assert!(two.contains("sdb has several schedulers, and those of sda are compared"), "{two}");
        let other = choose("sdc=bfq", None).unwrap_err();
        assert!(other.contains("no disk is called `sdc`; did you mean `sda`?"), "{other}");
        let vary = choose("", Some("sdx")).unwrap_err();
        assert!(vary.starts_with("--vary sdx: no disk is called `sdx`"), "{vary}");
    }
}
