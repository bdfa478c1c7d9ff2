//! `--host`: its memory and its processors, in one list of settings.

use blksched::tunables::Tunables;
use blksched_simulate::RaceOdds;
use blksched_simulate::cpu::{CPU_PRESETS, CpuPreset, DispatchIn, HostCpus};
use blksched_text::nearest;
use blksched_workloads::host::HostKnobs;

use crate::error::{Expected, WordError};

/// A file's text by its name: `None` if the name cannot be a file's.
type ReadText<'a> = &'a dyn Fn(&str) -> Option<Result<String, String>>;

/// The host's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// Its memory, for buffered I/O.
    pub memory: HostKnobs,
    /// The number of processors.
    pub cpus: u32,
    /// What I/O costs them; `None` for nothing.
    pub cpu: Option<CpuPreset>,
    /// How many hardware queues an NVMe drive or a virtual disk has, each with its own tags; `None` for those of an
    /// NVMe drive that share them, and for a virtual disk with one.
    pub hardware_queues: Option<u32>,
    /// Which task runs first among those that a completion wakes.
    pub odds: RaceOdds,
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            memory: HostKnobs::default(),
            cpus: HostCpus::USUAL,
            cpu: Some(CpuPreset::usual()),
            hardware_queues: None,
            odds: RaceOdds::default(),
        }
    }
}

/// Settings of the processors.
const OWN: [&str; 6] = ["cpus", "cpu", "dispatch", "nr_hw_queues", RaceOdds::NAMES[0], RaceOdds::NAMES[1]];

impl HostSettings {
    /// Parses `memory=1g,cpus=8,cpu=off`; `read` gives the text of a file with a processor's costs, or `None` if the
    /// name is none of a file.
    ///
    /// # Errors
    /// The word that was not understood, what was expected, and the nearest.
    pub fn parse(text: &str, read: ReadText<'_>) -> Result<HostSettings, WordError> {
        let mut host = HostSettings::default();
        let mut dispatch = None;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = |message| WordError::new(Expected::Value, value.trim(), message);
            match (name.trim(), value.trim()) {
                ("cpus", value) => host.cpus = HostCpus::count(value).map_err(wrong)?,
                ("cpu", "off") => host.cpu = None,
                ("cpu", value) => {
                    let presets = CPU_PRESETS.iter().map(|(name, _)| *name).chain(["off"]);
                    host.cpu = Some(preset(value, read).map_err(|why| wrong(why).near(nearest(value, presets)))?);
                }
                ("dispatch", value) => {
                    let words = DispatchIn::WORDS.map(|(word, _)| word);
                    dispatch = Some(DispatchIn::parse(value).map_err(|why| wrong(why).near(nearest(value, words)))?);
                }
                ("nr_hw_queues", value) => {
                    let most = HostCpus::MOST;
                    let count = value.parse().ok().filter(|count| (1..=most).contains(count));
                    let message =
                        || format!("`{value}` is not a value of nr_hw_queues: expected a number from 1 to {most}");
                    host.hardware_queues = Some(count.ok_or_else(|| wrong(message()))?);
                }
                (name, value) if host.odds.set(name, value).map_err(wrong)? => {}
                (name, value) => {
                    let known = HostKnobs::KNOBS.iter().map(|knob| knob.name).chain(OWN);
                    let is_known = HostKnobs::KNOBS.iter().any(|knob| knob.name == name);
                    if let Some(near) = nearest(name, known).filter(|near| !is_known && OWN.contains(near)) {
                        let message = format!("the host has no `{name}`; did you mean `{near}`?");
                        return Err(WordError::new(Expected::Setting, name, message).near(Some(near)));
                    }
                    host.memory.set_text(name, value).map_err(|error| WordError::setting(&error, value))?;
                }
            }
        }
        if host.hardware_queues.is_some() && host.cpu.is_none() {
            let message = "nr_hw_queues needs processors, and cpu=off has none: expected a preset of cpu, or neither";
            return Err(WordError::new(Expected::Value, "off", message.to_owned()));
        }
        if let Some(dispatch) = dispatch {
            let message = || "dispatch needs processors, and cpu=off has none: expected a preset of cpu, or neither";
            let preset = host.cpu.as_mut().ok_or_else(|| WordError::new(Expected::Value, "off", message()))?;
            preset.costs.dispatch = dispatch;
        }
        Ok(host)
    }

    /// Its processors; `None` if I/O costs them nothing.
    pub fn processors(&self) -> Option<HostCpus> {
        self.cpu.as_ref().map(|preset| HostCpus { cpus: self.cpus, costs: preset.costs })
    }

    /// The name of the processor costs.
    pub fn cpu_name(&self) -> &str {
        self.cpu.as_ref().map_or("off", |preset| &preset.name)
    }
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
        assert_eq!(parse("worker_first=2").unwrap().odds.worker_first, 2);
        let dispatch = |text: &str| parse(text).unwrap().cpu.map(|preset| preset.costs.dispatch);
        assert_eq!(dispatch(""), Some(DispatchIn::Charged));
        assert_eq!(dispatch("dispatch=worker,cpu=epyc-6.18"), Some(DispatchIn::Worker), "whatever the order");
        assert_eq!(dispatch("cpu=icpe-10core"), Some(DispatchIn::Submitter));
        assert_eq!(HostSettings::default().processors().unwrap().cpus, HostCpus::USUAL);
    }

    #[test]
    fn wrong_words_are_told_with_the_nearest() {
        let error = |text: &str| parse(text).unwrap_err().message;
        assert!(error("cpuss=4").contains("did you mean `cpus`?"), "{}", error("cpuss=4"));
        assert!(error("dirty_ration=4").contains("did you mean `dirty_ratio`?"));
        assert!(error("cpus=0").contains("expected a number from 1 to 64"));
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
        assert!(error("dispatch=worcker").contains("expected charged, submitter or worker"));
        assert!(error("cpu=gone.toml").starts_with("gone.toml: "), "{}", error("cpu=gone.toml"));
    }
}
