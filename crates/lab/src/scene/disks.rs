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
    /// The others.
    pub others: Vec<OtherStage>,
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
        Some(format!("stacked: {shown}: no scheduler above, {below}; never compared with a real one{speed}"))
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
    let used = workload.file.as_ref().map(|file| file.file_names()).unwrap_or_default();
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
    let starts = |at: usize| {
        let rest = &said[at..];
        let end = rest.find(['=', ',', ':']).filter(|&end| rest[end..].starts_with('='))?;
        let names = &rest[..end];
        // A setting of the description before is no disk: `raid5:4xhdd-7200,failed=1`.
        let has_settings = || said[..at].rsplit('=').next().is_some_and(|word| word.contains(':'));
        let is_binding = at == 0 || !has_settings() || names.split('+').all(|name| is_disk_name(name, used));
        (!names.is_empty() && is_binding).then_some((at, at + end))
    };
    let Some(first) = starts(0) else { return Vec::new() };
    let others = said.match_indices(',').filter_map(|(comma, _)| starts(comma + 1));
    let all: Vec<(usize, usize)> = [first].into_iter().chain(others).collect();
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

/// Whether this is what a disk is called: a directory, a device that a job names, or a name of the kernel's.
fn is_disk_name(name: &str, used: &[String]) -> bool {
    const KERNEL: [&str; 11] = ["sd", "nvme", "vd", "xvd", "hd", "mmcblk", "md", "dm-", "loop", "nbd", "zram"];
    name.starts_with('/')
        || used.iter().any(|file| is_device(file) && disk_name(file) == disk_name(name))
        || KERNEL.iter().any(|kind| name.starts_with(kind))
}

/// One name for each disk: a partition's is its disk's, and a directory's has no slash at its end.
pub(super) fn disk_name(name: &str) -> &str {
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
        let jobs = if devices.is_empty() { "name no files".to_owned() } else { format!("use {}", devices.join(", ")) };
        let error = wrong(column, name, format!("no job uses `{name}`{meant} (the jobs {jobs})")).near(near);
        return Err(error.into());
    }
    Ok(())
}

/// A disk's place, and the schedulers named for it; `None` for those of no disk in particular.
type NamedFor = (Option<usize>, Vec<String>);

/// The names of a run's disks, by their places, and those of stacked devices with the first disk below each.
#[derive(Clone, Copy)]
pub(super) struct DiskNames<'a> {
    pub(super) disks: &'a [&'a str],
    pub(super) above: &'a [(String, u16)],
}

/// The place of the disk of this name.
///
/// # Errors
/// If no disk has it, with the nearest; `said` is the option as given.
fn called(name: &str, names: DiskNames<'_>, said: &str) -> Result<usize, Error> {
    let DiskNames { disks: names, above } = names;
    let exact = names.iter().position(|known| *known == disk_name(name));
    // A stacked device's name stands for its first disk, whose fellows do as it does.
    let below = above.iter().find(|(known, _)| known == disk_name(name)).map(|(_, first)| usize::from(*first));
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

/// The schedulers that were named, by the disk that they are for; the first is for no disk in particular.
///
/// # Errors
/// A disk that is not in the run, and the nearest.
fn by_disk(elevators: &[String], names: DiskNames<'_>) -> Result<Vec<NamedFor>, Error> {
    let mut all: Vec<NamedFor> = vec![(None, Vec::new())];
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
    Ok(all)
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
    let mut by_disk = by_disk(elevators, names)?;
    let names = names.disks;
    let for_any =
        by_disk.iter().position(|(disk, _)| disk.is_none()).map(|at| by_disk.remove(at).1).unwrap_or_default();
    let several = by_disk.iter().filter(|(_, own)| own.len() > 1).filter_map(|(disk, _)| *disk).collect::<Vec<_>>();
    let alone = match &by_disk[..] {
        [(Some(only), _)] if for_any.is_empty() => Some(*only),
        _ => None,
    };
    let varied = vary.or(several.first().copied()).or(alone).unwrap_or(0);
    if let Some(&other) = several.iter().find(|&&other| other != varied) {
        let message = format!(
            "--elevators: {} has several schedulers, and those of {} are compared: expected one, or --vary {}",
            names[other], names[varied], names[other]
        );
        return Err(Error::Input(message));
    }
    if let (Some(first), Some(_)) = (for_any.first(), by_disk.iter().find(|(disk, _)| *disk == Some(varied))) {
        return Err(Error::Input(format!(
            "--elevators {first}: it is not said for which disk, and {0} has schedulers of its own: expected \
             {0}={first}",
            names[varied]
        )));
    }
    let mut elevators = vec![Vec::new(); names.len()];
    elevators[varied] = for_any;
    by_disk.into_iter().for_each(|(disk, own)| elevators[disk.unwrap_or(varied)].extend(own));
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
        let joined = bound("sda=ssd,sdb+/mnt/usb=usb-stick,x=y");
        assert_eq!(joined[1], (vec![(9, "sdb"), (13, "/mnt/usb")], "usb-stick"));
        assert_eq!(joined[2], (vec![(32, "x")], "y"), "an error names it");
    }

    fn choose(elevators: &str, vary: Option<&str>) -> Result<(usize, Vec<String>), String> {
        let elevators: Vec<String> = elevators.split(',').filter(|e| !e.is_empty()).map(str::to_owned).collect();
        let chosen = chosen(&elevators, vary, DiskNames { disks: &["sda", "sdb"], above: &[] })
            .map_err(|error| error.to_string())?;
        Ok((chosen.varied, chosen.elevators.iter().map(|own| own.join(" ")).collect()))
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
