//! The costs of an I/O, from a TOML file: a built-in one, or a user's own.

use std::collections::BTreeMap;

use blksched::Span;
use blksched_text::did_you_mean;
use toml::de::DeTable;

use super::costs::{CpuCosts, LockScope, SchedulerCosts, Schedules};
use crate::experiment::reader::{ExperimentError, Section, Source, TextRange};

/// An error in such a file, with its place.
pub type CpuError = ExperimentError;

/// The built-in files, by name; the first is the default.
pub const CPU_PRESETS: [(&str, &str); 1] = [("epyc-6.18", include_str!("../../presets/cpu/epyc-6.18.toml"))];

/// Costs, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPreset {
    /// The name as given.
    pub name: String,
    /// A description of one line.
    pub description: String,
    /// The kernel that was measured.
    pub kernel: String,
    /// The costs.
    pub costs: CpuCosts,
}

const SPANS: [&str; 12] = [
    "process.submit",
    "process.reap",
    "process.switch",
    "interrupt.complete",
    "worker.run",
    "lock.handover",
    "mq-deadline.submit",
    "mq-deadline.complete",
    "kyber.submit",
    "kyber.complete",
    "bfq.submit",
    "bfq.complete",
];
const LOCKS: [&str; 3] = ["mq-deadline.lock", "kyber.lock", "bfq.lock"];
const SCOPES: [(&str, LockScope); 3] =
    [("none", LockScope::None), ("hardware-queue", LockScope::HardwareQueue), ("disk", LockScope::Disk)];

/// The greatest cost.
const MOST: Span = Span::from_ms(1);

impl CpuPreset {
    /// A built-in preset.
    ///
    /// # Errors
    /// If there is none of this name, with the nearest name.
    pub fn builtin(name: &str) -> Result<CpuPreset, String> {
        let names = || CPU_PRESETS.iter().map(|(name, _)| *name);
        let found = CPU_PRESETS.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| {
            let near = did_you_mean(name, names().chain(["off"]));
            let known: Vec<&str> = names().collect();
            format!("`{name}` is not a value of cpu: expected off, {}, or a TOML file{near}", known.join(", "))
        })?;
        CpuPreset::parse(name, text).map_err(|error| error.to_string())
    }

    /// The default.
    pub fn usual() -> CpuPreset {
        CpuPreset::builtin(CPU_PRESETS[0].0).expect("a test reads all that come with the program")
    }

    /// Reads such a file; `name` is for messages.
    ///
    /// # Errors
    /// The place, what was expected and the nearest valid word.
    pub fn parse(name: &str, text: &str) -> Result<CpuPreset, CpuError> {
        let source = Source { file: name, text };
        let document = source.parse()?;
        let table: &DeTable<'_> = document.get_ref();
        let top = Section::unjudged(source, "", table, 0..0);
        let mut spans: BTreeMap<&str, Span> = BTreeMap::new();
        let mut scopes: BTreeMap<&str, LockScope> = BTreeMap::new();
        for (key, values) in top.leaves_but(&["description", "kernel"])? {
            let [value] = &values[..] else {
                return Err(source.complain(&key.at, format!("`{}` is a list: expected one value", key.value)));
            };
            let known = SPANS.into_iter().chain(LOCKS).find(|known| *known == key.value);
            match known.ok_or_else(|| unknown(source, &key.at, &key.value))? {
                lock if LOCKS.contains(&lock) => scopes.insert(lock, scope(source, &value.at, &value.value)?).map(drop),
                cost => spans.insert(cost, span(source, &value.at, (cost, &value.value))?).map(drop),
            };
        }
        let missing = |key: &str| source.complain(&(0..0), format!("the file lacks the key `{key}`"));
        let cost = |key: &str| spans.get(key).copied().ok_or_else(|| missing(key));
        let reach = |key: &str| scopes.get(key).copied().ok_or_else(|| missing(key));
        let scheduler = |submit: &str, complete: &str, lock: &str| -> Result<SchedulerCosts, CpuError> {
            let (submit, complete, lock) = (cost(submit)?, cost(complete)?, reach(lock)?);
            Ok(SchedulerCosts { submit, complete, lock, schedules: Schedules::Yes })
        };
        let costs = CpuCosts {
            submit: cost("process.submit")?,
            reap: cost("process.reap")?,
            switch: cost("process.switch")?,
            interrupt: cost("interrupt.complete")?,
            worker: cost("worker.run")?,
            handover: cost("lock.handover")?,
            mq_deadline: scheduler("mq-deadline.submit", "mq-deadline.complete", "mq-deadline.lock")?,
            kyber: scheduler("kyber.submit", "kyber.complete", "kyber.lock")?,
            bfq: scheduler("bfq.submit", "bfq.complete", "bfq.lock")?,
        };
        let (description, kernel) = (top.needs_text("description")?.value, top.needs_text("kernel")?.value);
        Ok(CpuPreset { name: name.to_owned(), description, kernel, costs })
    }
}

fn unknown(source: Source<'_>, at: &TextRange, word: &str) -> CpuError {
    source.unknown(at, &format!("unknown key `{word}`"), word, SPANS.into_iter().chain(LOCKS))
}

fn span(source: Source<'_>, at: &TextRange, (key, value): (&str, &str)) -> Result<Span, CpuError> {
    let span = value.parse::<Span>().ok().filter(|span| *span <= MOST);
    let problem = || format!("`{value}` is not a value of `{key}`: expected a time up to {MOST}, as in 1.5us or 300ns");
    span.ok_or_else(|| source.complain(at, problem()))
}

fn scope(source: Source<'_>, at: &TextRange, value: &str) -> Result<LockScope, CpuError> {
    let found = SCOPES.into_iter().find(|(word, _)| *word == value).map(|(_, scope)| scope);
    let problem = format!("`{value}` is not a lock");
    found.ok_or_else(|| source.unknown(at, &problem, value, SCOPES.map(|(word, _)| word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_read_and_every_number_says_where_it_comes_from() {
        for (name, text) in CPU_PRESETS {
            let preset = CpuPreset::parse(name, text).unwrap();
            assert!(preset.costs.submit > Span::ZERO && preset.costs.bfq.submit > preset.costs.kyber.submit, "{name}");
            for line in text.lines().filter(|line| line.contains(" = \"") && !line.starts_with(['d', 'k'])) {
                let known = ["MEASURED", "FIT", "READ", "MEMORY"].iter().any(|word| line.contains(word));
                assert!(known, "{name}: {line}: MEASURED, FIT, READ or MEMORY?");
            }
        }
        let usual = CpuPreset::usual().costs;
        assert_eq!((usual.of("adios"), usual.known("adios")), (usual.of("mq-deadline"), None));
        assert_eq!(usual.of("none"), SchedulerCosts::default());
    }

    #[test]
    fn broken_files_are_told_with_place_and_nearest_word() {
        let (_, text) = CPU_PRESETS[0];
        let error = |from: &str, to: &str| {
            assert!(text.contains(from));
            CpuPreset::parse("mine.toml", &text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(error("submit = ", "sumbit = ").contains("did you mean `process.submit`?"));
        assert!(
            error("lock = \"hardware-queue\"", "lock = \"hardware-queeu\"").contains("did you mean `hardware-queue`?")
        );
        let wrong = error("reap = \"", "reap = \"soon");
        assert!(wrong.starts_with("mine.toml:") && wrong.contains("expected a time up to"), "{wrong}");
        let gone = CpuPreset::parse("mine.toml", "description = \"x\"\nkernel = \"6.1\"\n").unwrap_err().to_string();
        assert!(gone.contains("lacks the key `process.submit`"), "{gone}");
        assert!(CpuPreset::builtin("epic-6.18").unwrap_err().contains("did you mean `epyc-6.18`?"));
    }
}
