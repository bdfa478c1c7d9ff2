//! `--host`: its memory and its processors, in one list of settings.

use blksched::Sector;
use blksched::tunables::Tunables;
use blksched_disks::{Attached, DiskSpec};
use blksched_simulate::RaceOdds;
use blksched_simulate::cpu::{CPU_PRESETS, CompletesOn, CpuPreset, DispatchIn, HostCpus};
use blksched_text::nearest;
use blksched_workloads::host::{DeviceLimits, HostKnobs, PAGE_BYTES};
use blksched_workloads::{DiskPlace, DiskPlaces};

use super::disks::disk_name;
use crate::error::{Error, Expected, WordError};

/// A file's text by its name: `None` if the name cannot be a file's.
type ReadText<'a> = &'a dyn Fn(&str) -> Option<Result<String, String>>;

/// The host's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// Its memory, for buffered I/O.
    pub memory: HostKnobs,
    /// What may be dirty for single disks.
    pub of_disks: Vec<DiskDirt>,
    /// The number of processors; of several, the first.
    pub cpus: u32,
    /// Several numbers of processors, on each of which a comparison runs; empty for one.
    pub cpu_counts: Vec<u32>,
    /// What I/O costs them; `None` for nothing.
    pub cpu: Option<CpuPreset>,
    /// How many hardware queues an NVMe drive or a virtual disk has, each with its own tags; `None` for those of an
    /// NVMe drive that share them, and for a virtual disk with one.
    pub hardware_queues: Option<u32>,
    /// Whether a SCSI host's queues share its tags (`host_tagset`).
    pub shares_tags: bool,
    /// Which task runs first among those that a completion wakes.
    pub odds: RaceOdds,
}

/// What may be dirty for one of several disks: its files in `/sys/class/bdi`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskDirt {
    /// The disk's name, as in `--disk`.
    pub disk: String,
    /// The most \[bytes\]; `None` for the host's setting.
    pub max_bytes: Option<u64>,
    /// Whether writers are slowed down there although memory is far below its limits; `None` for the host's setting.
    pub strict_limit: Option<bool>,
}

impl DiskDirt {
    const SETTINGS: [&str; 2] = ["max_bytes", "strict_limit"];

    fn set(&mut self, setting: &str, value: &str) -> Result<(), WordError> {
        if !DiskDirt::SETTINGS.contains(&setting) {
            let near = nearest(setting, DiskDirt::SETTINGS);
            let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!(
                "`{setting}` is not a setting of one disk ({}): expected max_bytes or strict_limit{meant}",
                self.disk
            );
            return Err(WordError::new(Expected::Setting, setting, message).near(near));
        }
        let mut knobs = HostKnobs::default();
        knobs.set_text(setting, value).map_err(|error| WordError::setting(&error, value))?;
        match setting {
            "max_bytes" => self.max_bytes = Some(knobs.max_bytes),
            _ => self.strict_limit = Some(knobs.strict_limit),
        }
        Ok(())
    }
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            memory: HostKnobs::default(),
            of_disks: Vec::new(),
            cpus: HostCpus::USUAL,
            cpu_counts: Vec::new(),
            cpu: Some(CpuPreset::usual()),
            hardware_queues: None,
            shares_tags: false,
            odds: RaceOdds::default(),
        }
    }
}

/// Settings of the processors.
const OWN: [&str; 9] = [
    "cpus",
    "cpu",
    "dispatch",
    "nr_hw_queues",
    "host_tagset",
    "rq_affinity",
    "irq_cpu",
    RaceOdds::NAMES[0],
    RaceOdds::NAMES[1],
];

/// Settings that are nothing without processors.
#[derive(Clone, Copy, Debug, Default)]
struct OfProcessors {
    dispatch: Option<DispatchIn>,
    rq_affinity: Option<u32>,
    irq_cpu: Option<u32>,
}

impl OfProcessors {
    /// Puts them into the host's costs.
    ///
    /// # Errors
    /// If there are none, or not that many.
    fn settle(self, host: &mut HostSettings) -> Result<(), WordError> {
        let OfProcessors { dispatch, rq_affinity, irq_cpu } = self;
        let said = [
            (host.hardware_queues.is_some(), "nr_hw_queues"),
            (dispatch.is_some(), "dispatch"),
            (rq_affinity.is_some(), "rq_affinity"),
            (irq_cpu.is_some(), "irq_cpu"),
        ];
        if host.shares_tags && host.hardware_queues.is_none() {
            let message = "host_tagset says what several hardware queues share: expected nr_hw_queues=N, too";
            return Err(WordError::new(Expected::Value, "1", message.to_owned()));
        }
        let cpus = host.cpus;
        let Some(preset) = &mut host.cpu else {
            let Some((_, name)) = said.into_iter().find(|(is_said, _)| *is_said) else { return Ok(()) };
            let message =
                format!("{name} needs processors, and cpu=off has none: expected a preset of cpu, or neither");
            return Err(WordError::new(Expected::Value, "off", message));
        };
        if let Some(irq) = irq_cpu.filter(|irq| *irq >= cpus) {
            let which = if host.cpu_counts.is_empty() { "" } else { ", which the smallest of all hosts has" };
            let message =
                format!("`{irq}` is not a value of irq_cpu: expected one of the processors 0 to {}{which}", cpus - 1);
            return Err(WordError::new(Expected::Value, &irq.to_string(), message));
        }
        preset.costs.dispatch = dispatch.unwrap_or(preset.costs.dispatch);
        preset.costs.completes = match (rq_affinity, irq_cpu) {
            (None, None) => CompletesOn::Submitter,
            (Some(2), irq) => CompletesOn::PassedOn(irq.unwrap_or(0)),
            (_, irq) => CompletesOn::Interrupted(irq.unwrap_or(0)),
        };
        Ok(())
    }
}

/// A number up to `most`.
fn up_to(name: &str, value: &str, most: u32) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("`{value}` is not a value of {name}: expected a number from 0 to {most}"))
}

/// Whether a value of `cpus` names several numbers.
fn is_several(text: &str) -> bool {
    text.contains('/') || text.contains("..")
}

/// Numbers of processors, ascending: `8`, `1/4/10`, or `1..64` in doublings, its end included.
///
/// # Errors
/// What was expected.
fn counts(text: &str) -> Result<Vec<u32>, String> {
    let several = |problem: String| format!("{problem}, a list as in 1/4/10, or doublings as in 1..64");
    if let Some((first, last)) = text.split_once("..") {
        let one = |count: &str| HostCpus::count(count).map_err(several);
        let (first, last) = (one(first)?, one(last.trim_start_matches('='))?);
        if first >= last {
            return Err(format!("`{text}` is not a value of cpus: expected the smaller number first, as in 1..64"));
        }
        let doublings = core::iter::successors(Some(first), |cpus| Some(cpus * 2)).take_while(|cpus| *cpus < last);
        return Ok(doublings.chain([last]).collect());
    }
    let mut counts = text.split('/').map(HostCpus::count).collect::<Result<Vec<_>, _>>().map_err(several)?;
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

impl HostSettings {
    /// Parses `memory=1g,cpus=8,cpu=off`; `read` gives the text of a file with a processor's costs, or `None` if the
    /// name is none of a file.
    ///
    /// # Errors
    /// The word that was not understood, what was expected, and the nearest.
    pub fn parse(text: &str, read: ReadText<'_>) -> Result<HostSettings, WordError> {
        let mut host = HostSettings::default();
        let mut own = OfProcessors::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = |message| WordError::new(Expected::Value, value.trim(), message);
            match (name.trim(), value.trim()) {
                ("cpus", value) => {
                    host.cpu_counts = counts(value).map_err(wrong)?;
                    host.cpus = host.cpu_counts[0];
                    host.cpu_counts.retain(|_| is_several(value));
                }
                ("cpu", "off") => host.cpu = None,
                ("cpu", value) => {
                    let presets = CPU_PRESETS.iter().map(|(name, _)| *name).chain(["off"]);
                    host.cpu = Some(preset(value, read).map_err(|why| wrong(why).near(nearest(value, presets)))?);
                }
                ("dispatch", value) => {
                    let words = DispatchIn::WORDS.map(|(word, _)| word);
                    own.dispatch =
                        Some(DispatchIn::parse(value).map_err(|why| wrong(why).near(nearest(value, words)))?);
                }
                ("nr_hw_queues", value) => {
                    let most = HostCpus::MOST;
                    let count = value.parse().ok().filter(|count| (1..=most).contains(count));
                    let message =
                        || format!("`{value}` is not a value of nr_hw_queues: expected a number from 1 to {most}");
                    host.hardware_queues = Some(count.ok_or_else(|| wrong(message()))?);
                }
                ("host_tagset", value) => host.shares_tags = up_to("host_tagset", value, 1).map_err(wrong)? == 1,
                ("rq_affinity", value) => own.rq_affinity = Some(up_to("rq_affinity", value, 2).map_err(wrong)?),
                ("irq_cpu", value) => own.irq_cpu = Some(up_to("irq_cpu", value, HostCpus::MOST - 1).map_err(wrong)?),
                (name, value) if name.contains(':') => host.of_disk(name, value)?,
                (name, value) if host.odds.set(name, value).map_err(wrong)? => {}
                (name, value) => {
                    if !HostKnobs::KNOBS.iter().any(|knob| knob.name == name) {
                        return Err(no_such_setting(name));
                    }
                    host.memory.set_text(name, value).map_err(|error| WordError::setting(&error, value))?;
                }
            }
        }
        own.settle(&mut host)?;
        Ok(host)
    }

    /// `sdb:max_bytes=64m`
    fn of_disk(&mut self, name: &str, value: &str) -> Result<(), WordError> {
        let (disk, setting) = name.rsplit_once(':').expect("it has a colon");
        let disk = disk_name(disk);
        if !self.of_disks.iter().any(|known| known.disk == disk) {
            self.of_disks.push(DiskDirt { disk: disk.to_owned(), ..DiskDirt::default() });
        }
        let mut known = self.of_disks.iter_mut().filter(|known| known.disk == disk);
        known.try_for_each(|known| known.set(setting, value))
    }

    /// What may be dirty for devices at these places, where no disk but these is below them.
    ///
    /// # Errors
    /// If something was said of a disk that is not there, with the nearest.
    pub(super) fn dirty_limits<'a>(
        &self,
        places: &DiskPlaces,
        disks: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<(Sector, DeviceLimits)>, Error> {
        let disks: Vec<&str> = disks.collect();
        let limits = |own: &DiskDirt| {
            let DiskDirt { disk, max_bytes, strict_limit } = own;
            let is_of = |place: &&DiskPlace| place.names.iter().any(|name| name == disk);
            // A disk that is alone has no name in its place.
            let alone = || places.all().first().filter(|_| places.is_one() && disks == [disk.as_str()]);
            let place =
                places.all().iter().find(is_of).or_else(alone).ok_or_else(|| no_such_disk(disk, places, &disks))?;
            let max_bytes = max_bytes.unwrap_or(self.memory.max_bytes);
            let most = (max_bytes > 0).then_some(max_bytes / PAGE_BYTES);
            let is_strict = strict_limit.unwrap_or(self.memory.strict_limit);
            Ok((place.first, DeviceLimits { most, is_strict }))
        };
        self.of_disks.iter().map(limits).collect()
    }

    /// That this is one host, for all that cannot run several.
    ///
    /// # Errors
    /// If it has several numbers of processors.
    pub fn is_one(&self) -> Result<(), Error> {
        if self.cpu_counts.is_empty() {
            return Ok(());
        }
        let counts: Vec<String> = self.cpu_counts.iter().map(u32::to_string).collect();
        let counts = counts.join("/");
        let message = format!(
            "--host cpus={counts}: expected one number of processors, as in cpus={}; `blksched compare` runs several, \
             one disk at a time",
            self.cpus
        );
        Err(WordError::new(Expected::Value, &counts, message).into())
    }

    /// Its processors; `None` if I/O costs them nothing.
    pub fn processors(&self) -> Option<HostCpus> {
        self.cpu.as_ref().map(|preset| HostCpus { cpus: self.cpus, costs: preset.costs })
    }

    /// How many hardware queues of such a disk have tags of their own, if it is known: one of them where they share the
    /// host's, as only SCSI hosts' do.
    pub fn queues_with_tags(&self, attached: Option<Attached>, disk: &DiskSpec) -> Option<u32> {
        let shares = self.shares_tags && attached.unwrap_or(disk.attached) == Attached::Scsi;
        self.hardware_queues.map(|queues| if shares { 1 } else { queues })
    }

    /// The name of the processor costs.
    pub fn cpu_name(&self) -> &str {
        self.cpu.as_ref().map_or("off", |preset| &preset.name)
    }
}

/// All settings are named: nobody knows them by heart.
fn no_such_setting(name: &str) -> WordError {
    let known: Vec<&str> = OWN.into_iter().chain(HostKnobs::KNOBS.iter().map(|knob| knob.name)).collect();
    let near = nearest(name, known.iter().copied());
    let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let message = format!("the host has no `{name}`: expected one of {}{meant}", known.join(", "));
    WordError::new(Expected::Setting, name, message).near(near)
}

fn no_such_disk(disk: &str, places: &DiskPlaces, disks: &[&str]) -> Error {
    let names: Vec<&str> = places.all().iter().flat_map(|place| &place.names).map(String::as_str).collect();
    let names = if names.is_empty() { disks.iter().copied().filter(|name| !name.is_empty()).collect() } else { names };
    let near = nearest(disk, names.iter().copied());
    let has = match (disks.contains(&disk), names.is_empty()) {
        (true, _) => format!("{disk} is below another device, whose memory it is: expected {}", names.join(", ")),
        (_, true) => "this run has one disk, without a name: expected max_bytes or strict_limit alone".to_owned(),
        _ => format!("no disk is called `{disk}`: expected one of {}", names.join(", ")),
    };
    let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    WordError::new(Expected::Value, disk, format!("--host {disk}: {has}{meant}")).near(near).into()
}

/// A preset by its name, or a file.
fn preset(name: &str, read: ReadText<'_>) -> Result<CpuPreset, String> {
    if CPU_PRESETS.iter().any(|(known, _)| *known == name) {
        return CpuPreset::builtin(name);
    }
    let Some(text) = read(name) else { return CpuPreset::builtin(name) };
    let text = text.map_err(|error| format!("{name}: {error}"))?;
    CpuPreset::parse(name, &text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HostSettings, WordError> {
        HostSettings::parse(text, &|name| name.ends_with(".toml").then(|| Err("no such file".to_owned())))
    }

    #[test]
    fn memory_and_processors_stand_in_one_list() {
        let host = parse("cpus=8, memory=1g,cpu=off").unwrap();
        assert_eq!((host.cpus, host.cpu_name(), host.memory.memory_mib()), (8, "off", 1024));
        assert_eq!((host.processors(), parse("").unwrap()), (None, HostSettings::default()));
        let of_disks = parse("sdb:max_bytes=64m,sdb1:strict_limit=1,/mnt/usb/:max_bytes=0").unwrap().of_disks;
        let of = |disk: &str, max_bytes, strict_limit| DiskDirt { disk: disk.to_owned(), max_bytes, strict_limit };
        assert_eq!(of_disks, [of("sdb", Some(64 << 20), Some(true)), of("/mnt/usb", Some(0), None)]);
        assert_eq!(parse("worker_first=2").unwrap().odds.worker_first, 2);
        let dispatch = |text: &str| parse(text).unwrap().cpu.map(|preset| preset.costs.dispatch);
        assert_eq!(dispatch(""), Some(DispatchIn::Charged));
        assert_eq!(dispatch("dispatch=worker,cpu=epyc-6.18"), Some(DispatchIn::Worker), "whatever the order");
        assert_eq!(dispatch("cpu=icpe-10core"), Some(DispatchIn::Submitter));
        let completes = |text: &str| parse(text).unwrap().cpu.map(|preset| preset.costs.completes);
        assert_eq!(
            (completes(""), completes("rq_affinity=2,irq_cpu=3")),
            (Some(CompletesOn::Submitter), Some(CompletesOn::PassedOn(3)))
        );
        assert_eq!(completes("irq_cpu=3"), Some(CompletesOn::Interrupted(3)), "rq_affinity is 1 by default");
        assert_eq!(completes("rq_affinity=0"), Some(CompletesOn::Interrupted(0)));
        assert_eq!(HostSettings::default().processors().unwrap().cpus, HostCpus::USUAL);
    }

    #[test]
    fn several_numbers_of_processors_are_doublings_or_listed_and_one_host_has_one() {
        let several = |text: &str| parse(text).unwrap().cpu_counts;
        assert_eq!(several("cpus=1..64"), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(several("cpus=1..10"), [1, 2, 4, 8, 10]);
        assert_eq!(several("cpus=10/2/2"), [2, 10]);
        assert_eq!((several("cpus=8"), parse("cpus=4/2").unwrap().cpus), (vec![], 2));
        assert!(parse("cpus=8").unwrap().is_one().is_ok());
        let error = parse("cpus=2..4").unwrap().is_one().unwrap_err();
        assert!(error.to_string().contains("cpus=2/4: expected one number of processors, as in cpus=2"), "{error}");
    }

    #[test]
    fn wrong_words_are_told_with_the_nearest() {
        let error = |text: &str| parse(text).unwrap_err().message;
        assert!(error("cpuss=4").contains("did you mean `cpus`?"), "{}", error("cpuss=4"));
        assert!(error("dirty_ration=4").contains("did you mean `dirty_ratio`?"));
        let unknown = parse("foo=3").unwrap_err();
        assert!(
            unknown.message.starts_with("the host has no `foo`: expected one of cpus, cpu,"),
            "{}",
            unknown.message
        );
        assert!(unknown.message.ends_with("call, copy_kib, name"), "it has no nearest: {}", unknown.message);
        assert!(error("cpus=0").contains("expected a number from 1 to 64"));
        assert!(error("cpus=1..65").contains("`65` is not a value of cpus: expected a number from 1 to 64"));
        let forms = "`x` is not a value of cpus: expected a number from 1 to 64, a list as in 1/4/10, or doublings as";
        assert!(error("cpus=1..x").contains(forms) && error("cpus=x..8").contains(forms), "{}", error("cpus=1..x"));
        assert!(error("cpus=8..2").contains("the smaller number first, as in 1..64"));
        assert!(error("cpus=1/").contains("`` is not a value of cpus"));
        assert!(error("cpu=epyc").contains("expected off, epyc-6.18"), "{}", error("cpu=epyc"));
        assert!(error("worker_frist=4").contains("did you mean `worker_first`?"));
        assert!(error("worker_first=120").contains("expected a number from 0 to 100"));
        assert_eq!(parse("nr_hw_queues=64").unwrap().hardware_queues, Some(64));
        assert_eq!(
            (parse("nr_hw_queues=1").unwrap().hardware_queues, parse("").unwrap().hardware_queues),
            (Some(1), None)
        );
        assert!(error("nr_hw_queues=0").contains("expected a number from 1 to 64"));
        assert!(error("nr_hw_queues=65").contains("expected a number from 1 to 64"));
        assert!(error("nr_hw_queues=4,cpu=off").contains("needs processors"));
        assert!(error("cpu=off,dispatch=worker").contains("dispatch needs processors"));
        assert!(error("rq_affinity=3").contains("expected a number from 0 to 2"));
        assert!(error("rq_afinity=2").contains("did you mean `rq_affinity`?"));
        assert!(error("cpus=4,irq_cpu=4").contains("expected one of the processors 0 to 3"));
        assert!(error("host_tagset=1").contains("expected nr_hw_queues=N, too"));
        assert!(error("dispatch=worcker").contains("expected charged, submitter or worker"));
        assert!(error("sdb:max_byte=1m").contains("did you mean `max_bytes`?"), "{}", error("sdb:max_byte=1m"));
        assert!(error("sdb:dirty_bytes=1m").contains("is not a setting of one disk (sdb)"));
        assert!(error("sdb:max_bytes=lots").contains("expected 0..=64g"), "{}", error("sdb:max_bytes=lots"));
        let too_far = error("cpus=1..64,irq_cpu=5");
        assert!(
            too_far.contains("expected one of the processors 0 to 0, which the smallest of all hosts"),
            "{too_far}"
        );
        assert!(error("cpu=gone.toml").starts_with("gone.toml: "), "{}", error("cpu=gone.toml"));
    }
}
