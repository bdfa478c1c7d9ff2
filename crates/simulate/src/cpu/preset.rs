//! The costs of an I/O, from a TOML file: a built-in one, or a user's own.

use std::collections::BTreeMap;

use blksched::Span;
use blksched_text::did_you_mean;
use toml::de::DeTable;

use super::calls::{CallCosts, CompletesOn, UringCosts};
use super::costs::{CpuCosts, DispatchIn, FairClass, LockScope, SchedulerCosts, Schedules, TaskOrder};
use crate::experiment::reader::{ExperimentError, Section, Source, TextRange};

/// An error in such a file, with its place.
pub type CpuError = ExperimentError;

/// The built-in files, by name; the first is the default.
pub const CPU_PRESETS: [(&str, &str); 3] = [
    ("epyc-6.18", include_str!("../../presets/cpu/epyc-6.18.toml")),
    ("icpe-10core", include_str!("../../presets/cpu/icpe-10core.toml")),
    ("loop-6.18", include_str!("../../presets/cpu/loop-6.18.toml")),
];

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
/// Costs that a file may leave out, which are then 0.
const MORE_SPANS: [&str; 8] = [
    "process.switch_doubling",
    "process.wake",
    "process.wake_doubling",
    "worker.request",
    "mq-deadline.open",
    "kyber.open",
    "bfq.open",
    "interrupt.pass_on",
];
/// What io_uring's calls take, and those of one call for each I/O: each of the two whole, or left out.
const URING: [&str; 6] = [
    "io_uring.submit",
    "io_uring.reap",
    "io_uring.registerfiles",
    "io_uring.fixedbufs",
    "io_uring.iopoll",
    "io_uring.sqpoll",
];
const SYNC: [&str; 2] = ["psync.submit", "psync.reap"];
/// How often a lock is taken; 1 if a file leaves it out.
const ACQUISITIONS: [&str; 3] = ["mq-deadline.acquisitions", "kyber.acquisitions", "bfq.acquisitions"];
/// Who runs first; if a file leaves them out, work is done as it arrives.
const FAIR: [&str; 2] = ["fair.latency", "fair.wakeup"];
const LOCKS: [&str; 3] = ["mq-deadline.lock", "kyber.lock", "bfq.lock"];
const SCOPES: [(&str, LockScope); 3] =
    [("none", LockScope::None), ("hardware-queue", LockScope::HardwareQueue), ("disk", LockScope::Disk)];

/// The greatest cost, the greatest time of the fair class, and how often a lock may be taken.
const MOST: Span = Span::from_ms(1);
const MOST_FAIR: Span = Span::from_ms(100);
const MOST_ACQUISITIONS: u32 = 8;

/// Every key but `description` and `kernel`.
fn keys() -> impl Iterator<Item = &'static str> {
    let spans = SPANS.into_iter().chain(MORE_SPANS).chain(URING).chain(SYNC).chain(FAIR);
    spans.chain(ACQUISITIONS).chain(LOCKS).chain(["worker.dispatch"])
}

/// What a file says, by key.
#[derive(Default)]
struct Read<'a> {
    spans: BTreeMap<&'a str, Span>,
    scopes: BTreeMap<&'a str, LockScope>,
    counts: BTreeMap<&'a str, u32>,
    dispatch: DispatchIn,
}

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
        let mut read = Read::default();
        for (key, values) in top.leaves_but(&["description", "kernel"])? {
            let [value] = &values[..] else {
                return Err(source.complain(&key.at, format!("`{}` is a list: expected one value", key.value)));
            };
            let known = keys().find(|known| *known == key.value);
            let known = known.ok_or_else(|| unknown(source, &key.at, &key.value))?;
            read.take(source, known, (&value.at, &value.value))?;
        }
        let costs = read.costs().map_err(|key| source.complain(&(0..0), format!("the file lacks the key `{key}`")))?;
        let (description, kernel) = (top.needs_text("description")?.value, top.needs_text("kernel")?.value);
        Ok(CpuPreset { name: name.to_owned(), description, kernel, costs })
    }
}

impl<'a> Read<'a> {
    /// Reads one key's value.
    fn take(&mut self, source: Source<'_>, key: &'a str, (at, value): (&TextRange, &str)) -> Result<(), CpuError> {
        if LOCKS.contains(&key) {
            self.scopes.insert(key, scope(source, at, value)?);
        } else if ACQUISITIONS.contains(&key) {
            let count = value.parse().ok().filter(|count| (1..=MOST_ACQUISITIONS).contains(count));
            let expected =
                || format!("`{value}` is not a value of `{key}`: expected a number from 1 to {MOST_ACQUISITIONS}");
            self.counts.insert(key, count.ok_or_else(|| source.complain(at, expected()))?);
        } else if key == "worker.dispatch" {
            self.dispatch = DispatchIn::parse(value).map_err(|problem| source.complain(at, problem))?;
        } else {
            self.spans.insert(key, span(source, at, (key, value))?);
        }
        Ok(())
    }

    /// All costs of an interface; `None` if the file has none of them.
    ///
    /// # Errors
    /// The first key that is missing beside others.
    fn whole<const N: usize>(&self, keys: [&'static str; N]) -> Result<Option<[Span; N]>, &'static str> {
        if !keys.iter().any(|key| self.spans.contains_key(key)) {
            return Ok(None);
        }
        let mut all = [Span::ZERO; N];
        for (span, key) in all.iter_mut().zip(keys) {
            *span = self.spans.get(key).copied().ok_or(key)?;
        }
        Ok(Some(all))
    }

    /// All of it.
    ///
    /// # Errors
    /// The first key that is missing.
    fn costs(&self) -> Result<CpuCosts, &'static str> {
        let cost = |key: &'static str| self.spans.get(key).copied().ok_or(key);
        let more = |key: &str| self.spans.get(key).copied().unwrap_or_default();
        let [mq_deadline, kyber, bfq] = [0, 1, 2].map(|nth| -> Result<SchedulerCosts, &'static str> {
            Ok(SchedulerCosts {
                submit: cost(SPANS[6 + 2 * nth])?,
                complete: cost(SPANS[7 + 2 * nth])?,
                open: more(MORE_SPANS[4 + nth]),
                acquisitions: self.counts.get(ACQUISITIONS[nth]).copied().unwrap_or(1),
                lock: self.scopes.get(LOCKS[nth]).copied().ok_or(LOCKS[nth])?,
                schedules: Schedules::Yes,
            })
        });
        let turns = match FAIR.iter().any(|key| self.spans.contains_key(key)) {
            true => TaskOrder::ConsumedTime(FairClass { latency: cost(FAIR[0])?, wakeup: cost(FAIR[1])? }),
            false => TaskOrder::Arrival,
        };
        Ok(CpuCosts {
            uring: self.whole(URING)?.map(|[submit, reap, registered, fixed, poll, ring]| UringCosts {
                calls: CallCosts { submit, reap },
                registered,
                fixed,
                poll,
                ring,
            }),
            sync: self.whole(SYNC)?.map(|[submit, reap]| CallCosts { submit, reap }),
            completes: CompletesOn::default(),
            submit: cost("process.submit")?,
            reap: cost("process.reap")?,
            switch: cost("process.switch")?,
            switch_doubling: more("process.switch_doubling"),
            wake: more("process.wake"),
            wake_doubling: more("process.wake_doubling"),
            turns,
            interrupt: cost("interrupt.complete")?,
            pass_on: more("interrupt.pass_on"),
            worker: cost("worker.run")?,
            worker_request: more("worker.request"),
            dispatch: self.dispatch,
            handover: cost("lock.handover")?,
            mq_deadline: mq_deadline?,
            kyber: kyber?,
            bfq: bfq?,
        })
    }
}

fn unknown(source: Source<'_>, at: &TextRange, word: &str) -> CpuError {
    source.unknown(at, &format!("unknown key `{word}`"), word, keys())
}

fn span(source: Source<'_>, at: &TextRange, (key, value): (&str, &str)) -> Result<Span, CpuError> {
    let most = if FAIR.contains(&key) { MOST_FAIR } else { MOST };
    let span = value.parse::<Span>().ok().filter(|span| *span <= most);
    let problem = || format!("`{value}` is not a value of `{key}`: expected a time up to {most}, as in 1.5us or 300ns");
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
            for line in text.lines().filter(|line| {
                let is_words = ["#", "description", "kernel"].iter().any(|word| line.starts_with(word));
                line.contains(" = ") && !is_words
            }) {
                let known = ["MEASURED", "FIT", "READ", "MEMORY"].iter().any(|word| line.contains(word));
                assert!(known, "{name}: {line}: MEASURED, FIT, READ or MEMORY?");
            }
        }
        let icpe = CpuPreset::builtin("icpe-10core").unwrap().costs;
        assert_eq!((icpe.mq_deadline.acquisitions, icpe.dispatch), (2, DispatchIn::Submitter));
        assert!(matches!(icpe.turns, TaskOrder::ConsumedTime(_)), "{:?}", icpe.turns);
        let usual = CpuPreset::usual().costs;
        assert_eq!((usual.turns, usual.dispatch, usual.bfq.acquisitions), (TaskOrder::Arrival, DispatchIn::Charged, 1));
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
        let many = error("lock = \"disk\"", "acquisitions = 9\nlock = \"disk\"");
        assert!(many.contains("expected a number from 1 to 8"), "{many}");
        for (count, good) in [(0, false), (1, true), (8, true), (9, false)] {
            let text = text.replacen("lock = \"disk\"", &format!("acquisitions = {count}\nlock = \"disk\""), 1);
            assert_eq!(CpuPreset::parse("mine.toml", &text).is_ok(), good, "{count}");
        }
        assert!(error("[lock]", "[fair]\nlatency = \"6ms\"\n[lock]").contains("lacks the key `fair.wakeup`"));
        assert!(error("[lock]", "[fair]\nlatency = \"101ms\"\n[lock]").contains("expected a time up to 100ms"));
        assert!(error("[worker]", "[worker]\ndispatch = \"nobody\"").contains("expected charged, submitter or worker"));
        let gone = CpuPreset::parse("mine.toml", "description = \"x\"\nkernel = \"6.1\"\n").unwrap_err().to_string();
        assert!(gone.contains("lacks the key `process.submit`"), "{gone}");
        assert!(CpuPreset::builtin("epic-6.18").unwrap_err().contains("did you mean `epyc-6.18`?"));
    }
}
