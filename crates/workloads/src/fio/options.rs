//! Every option of fio's job-file language, described once.
//!
//! The parser, its errors, the listing of supported options and tidy's check that each has a test all read this
//! table. One entry per option: name, aliases, kind of value, category, a line of documentation, and its treatment
//! here: [`Support::Supported`], [`Support::Note`] (accepted; it cannot change a simulated result, for the reason
//! given) or [`Support::Later`] (refused for now).
//!
//! To support another option: give it a field in `settings.rs`, a [`Takes`] here, and a test `option_<name>_…` in
//! `tests/it/options.rs` in which flipping it changes the run.

use crate::fio::ddir::PerDdir;
use blksched::Span;
use blksched_text::nearest;
pub(super) use target::why_no_engine;

use super::settings::Settings;
use super::values::{self, Bare, LengthOrShare, ValueError};

mod ending;
mod engine;
mod files;
mod notes;
mod pattern;
mod process;
mod rate;
mod replay;
mod report;
mod target;
mod unsupported;
mod workload;
mod zones;

pub(crate) use files::MAX_FILES;
pub(crate) use process::MAX_PROCESSES;

/// The subject of an option, by which listings are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The job's name and description, and what happens to its results.
    Job,
    /// How long, how often, when.
    Time,
    /// Files and devices.
    Target,
    /// Directions, order, direct or buffered.
    Pattern,
    /// Blocks and sizes.
    Size,
    /// Engine and depth.
    Engine,
    /// Rates and think time.
    Rate,
    /// Processes, priorities, order of jobs.
    Process,
    /// Memory, verification, machine settings: the host's side.
    Host,
    /// Logs and reports.
    Report,
}

/// How an option is handled here.
#[derive(Clone, Copy)]
pub enum Support {
    /// It does what fio's manual says.
    Supported(Takes),
    /// Accepted with a printed note: it cannot change a simulated result, for this reason.
    Note(&'static str),
    /// Refused for now; what it would need.
    Later(&'static str),
}

/// The values that a supported option takes, and how each is stored.
#[derive(Clone, Copy)]
pub struct Takes(pub(crate) OptionKind);

impl Takes {
    /// Whether the option may stand without a value.
    pub(crate) fn nothing(self) -> bool {
        matches!(self.0, OptionKind::Flag(_) | OptionKind::OptionalText(_))
    }
}

/// An option that does what fio's manual says.
const fn supported_entry(
    name: &'static str,
    aliases: &'static [&'static str],
    category: Category,
    kind: OptionKind,
    doc: &'static str,
) -> OptionEntry {
    OptionEntry { name, aliases, category, doc, support: Support::Supported(Takes(kind)) }
}

type Set<T> = fn(&mut Settings, T);

#[derive(Clone, Copy)]
pub(crate) enum OptionKind {
    /// Nothing, `0` or `1`.
    Flag(Set<bool>),
    /// `0` or `1`.
    Bool(Set<bool>),
    Int {
        min: u64,
        max: u64,
        set: Set<u64>,
    },
    Bytes(Set<u64>),
    Extent(Set<LengthOrShare>),
    /// With a sign.
    Signed {
        min: i64,
        max: i64,
        set: Set<i64>,
    },
    PerDdir {
        min: u64,
        max: u64,
        set: Set<PerDdir<Option<u64>>>,
    },
    Time {
        bare: Bare,
        set: Set<Span>,
    },
    TimeRange(Set<(Span, Span)>),
    /// One of these words; the setter may still refuse one with a reason.
    Word {
        words: &'static [&'static str],
        set: fn(&mut Settings, &str) -> Result<(), &'static str>,
    },
    Text(Set<String>),
    /// An empty value means an empty text.
    OptionalText(Set<String>),
    /// A small language of its own.
    Own {
        form: &'static str,
        read: fn(&mut Settings, &str) -> Result<(), ValueError>,
    },
}

/// One option.
#[derive(Clone, Copy)]
pub struct OptionEntry {
    /// Its main name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Its subject.
    pub category: Category,
    /// What it does, in one line.
    pub doc: &'static str,
    /// How it is handled here.
    pub support: Support,
}

const TABLES: &[&[OptionEntry]] = &[
    workload::OPTIONS,
    pattern::OPTIONS,
    engine::OPTIONS,
    target::OPTIONS,
    files::OPTIONS,
    rate::OPTIONS,
    ending::OPTIONS,
    process::OPTIONS,
    zones::OPTIONS,
    replay::OPTIONS,
    report::OPTIONS,
    notes::OPTIONS,
    unsupported::OPTIONS,
];

/// Every option.
pub fn all_options() -> impl Iterator<Item = &'static OptionEntry> {
    TABLES.iter().copied().flatten()
}

/// Options that do what fio's manual says, by name; each has a test `option_<name>_…`.
pub fn supported_options() -> Vec<&'static OptionEntry> {
    let mut options: Vec<_> = supported().collect();
    options.sort_by_key(|o| o.name);
    options
}

/// Whether fio has an option of this name, supported or not.
pub fn is_option(name: &str) -> bool {
    find(name).is_some()
}

/// Options that fio does not have: in a job file they are in comments (`; blksched: NAME=VALUE`), so that fio accepts
/// the file.
pub const OWN: &[&str] = &["cgroup_files", "cgroup_files_if_asked", "fs"];

/// Whether it is an option that fio does not have.
pub fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// The option with this main name or alias. Case matters, as in fio.
pub(crate) fn find(name: &str) -> Option<&'static OptionEntry> {
    all_options().find(|o| o.name == name || o.aliases.contains(&name))
}

/// The names of options of which this is the beginning, as fio's command line takes them; none if it is a name itself.
pub(crate) fn beginning_with(name: &str) -> Vec<&'static str> {
    match find(name) {
        Some(_) => Vec::new(),
        None => all_options().flat_map(names_of).filter(|other| other.starts_with(name)).collect(),
    }
}

/// Longer words are not misspelt options, and comparing them would take long.
const LONGEST_NAME: usize = 64;

/// The supported option whose name is near `name`, by edits or else by a beginning that is at least half of it; most
/// words that are not near are best left alone.
pub(crate) fn nearest_supported(name: &str) -> Option<&'static str> {
    let common = |other: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let alike = |other: &&str| common(other) >= 4 && 2 * common(other) >= name.len() && name.len() <= LONGEST_NAME;
    let begin_alike = || supported().flat_map(names_of).filter(alike);
    nearest_of(supported(), name).or_else(|| begin_alike().max_by_key(|other| common(other)))
}

/// The same among all that a job file may contain: those accepted with a note count if they are near by edits.
pub(crate) fn nearest_accepted(name: &str) -> Option<&'static str> {
    let accepted = all_options().filter(|o| !matches!(o.support, Support::Later(_)));
    nearest_of(accepted, name).or_else(|| nearest_supported(name))
}

/// The one of these that is nearest to `name` by edits.
fn nearest_of(options: impl Iterator<Item = &'static OptionEntry>, name: &str) -> Option<&'static str> {
    // Two letters are near any two others.
    let names = options.flat_map(names_of).filter(|other| other.len() > 2 || other.eq_ignore_ascii_case(name));
    if name.len() <= LONGEST_NAME { nearest(&name.to_ascii_lowercase(), names) } else { None }
}

fn names_of(option: &'static OptionEntry) -> impl Iterator<Item = &'static str> {
    core::iter::once(option.name).chain(option.aliases.iter().copied())
}

/// The supported options with the same subject.
pub(crate) fn supported_about(category: Category) -> Vec<&'static str> {
    supported().filter(|o| o.category == category).map(|o| o.name).collect()
}

fn supported() -> impl Iterator<Item = &'static OptionEntry> {
    all_options().filter(|o| matches!(o.support, Support::Supported(_)))
}

impl OptionEntry {
    /// What it takes, in words (`bytes`, `time [s]`, `0 or 1`), or why it has no effect here, or what it would need.
    pub fn status(&self) -> String {
        match self.support {
            Support::Supported(Takes(kind)) => kind.describe(),
            Support::Note(why) => format!("no effect: {why}"),
            Support::Later(needs) => format!("not yet: it needs {needs}"),
        }
    }
}

impl OptionKind {
    fn describe(self) -> String {
        match self {
            OptionKind::Flag(_) => "nothing, 0 or 1".to_owned(),
            OptionKind::Bool(_) => "0 or 1".to_owned(),
            OptionKind::Int { min, max, .. } if max >= u64::MAX / 2 => format!("{min} or more"),
            OptionKind::Int { min, max, .. } => format!("{min} to {max}"),
            OptionKind::Signed { min, max, .. } => format!("{min} to {max}"),
            OptionKind::Own { form, .. } => form.to_owned(),
            OptionKind::Bytes(_) => "bytes".to_owned(),
            OptionKind::Extent(_) => "bytes or %".to_owned(),
            OptionKind::PerDdir { .. } => "number[,number]".to_owned(),
            OptionKind::Time { bare: Bare::Seconds, .. } => "time [s]".to_owned(),
            OptionKind::Time { bare: Bare::Microseconds, .. } => "time [us]".to_owned(),
            OptionKind::TimeRange(_) => "time or time-time [s]".to_owned(),
            OptionKind::Word { words, .. } => words.join("|"),
            OptionKind::Text(_) => "text".to_owned(),
            OptionKind::OptionalText(_) => "nothing or text".to_owned(),
        }
    }

    /// Whether it takes lengths in bytes, alone.
    pub fn is_length(self) -> bool {
        matches!(self, OptionKind::Bytes(_) | OptionKind::Extent(_) | OptionKind::PerDdir { .. })
    }

    /// Parses `text` and stores it in `settings`; a flag may have no text.
    pub fn apply(self, settings: &mut Settings, text: Option<&str>) -> Result<(), ValueError> {
        if let (OptionKind::Flag(set), None) = (self, text) {
            set(settings, true);
            return Ok(());
        }
        if let OptionKind::OptionalText(set) = self {
            set(settings, text.unwrap_or_default().to_owned());
            return Ok(());
        }
        let Some(text) = text else { return values::expected(format!("`=` and a value: {}", self.describe())) };
        let base = settings.kb_base;
        match self {
            OptionKind::Flag(set) => set(settings, values::flag(text)?),
            OptionKind::Bool(set) => set(settings, values::boolean(text)?),
            OptionKind::Int { min, max, set } => set(settings, values::int(text, min, max, base)?),
            OptionKind::Signed { min, max, set } => set(settings, values::signed(text, min, max)?),
            OptionKind::Bytes(set) => set(settings, values::bytes(text, base)?),
            OptionKind::Extent(set) => set(settings, values::extent(text, base)?),
            OptionKind::PerDdir { min, max, set } => set(settings, values::per_dir(text, min, max, base)?),
            OptionKind::Own { read, .. } => read(settings, text)?,
            OptionKind::Time { bare, set } => set(settings, values::time(text, bare)?),
            OptionKind::TimeRange(set) => set(settings, values::time_range(text)?),
            OptionKind::Word { words, set } => {
                set(settings, values::word(text, words)?).or_else(values::expected)?;
            }
            OptionKind::Text(set) | OptionKind::OptionalText(set) => set(settings, text.to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_options_share_a_name() {
        let mut names: Vec<&str> = all_options().flat_map(|o| [&[o.name], o.aliases].concat()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_option_says_what_it_does() {
        assert!(all_options().all(|option| !option.doc.is_empty()));
    }
}
