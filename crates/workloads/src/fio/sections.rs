//! Stage 2: lines into jobs. Options are looked up, values read, `[global]` carried into the jobs below it.

use std::borrow::Cow;

use blksched_text::nearest;

use super::errors::{Note, Problem};
use super::host::Host;
use super::lines::{self, Line};
use super::options::{self, MAX_PROCESSES, OptionEntry, OptionKind, Support, Takes};
use super::place::{TextPlace, Word};
use super::settings::Settings;
use super::values::{self, KbBase, ValueError};

/// One job section with everything that applies to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobSection {
    /// The name in its brackets, after which files are named.
    pub name: String,
    pub place: TextPlace,
    pub settings: Settings,
    /// Its own options as written, without those of `[global]`.
    pub written: Vec<WrittenOption>,
}

/// An option and its value as written.
pub(crate) type WrittenOption = (String, String);

/// The result of the lines.
#[derive(Default)]
pub(crate) struct Sections {
    pub jobs: Vec<JobSection>,
    /// Options of `[global]` sections as written.
    pub globals: Vec<WrittenOption>,
    /// What `[global]` says at the end.
    pub defaults: Settings,
    pub notes: Vec<Note>,
    pub problems: Vec<Problem>,
}

/// Whose settings a line changes.
enum Current {
    Nothing,
    Global,
    Job,
}

/// A file with this many problems is not a job file; the rest of it is not read.
const MOST_PROBLEMS: usize = 1000;

/// Several `[global]` sections add up; each applies to the jobs below it.
/// `globals` is what applies before the first.
pub(crate) fn assemble(lines: &[Line<'_>], host: &Host, mut globals: Settings) -> Sections {
    let mut out = Sections::default();
    let mut current = Current::Nothing;
    for line in lines {
        if out.problems.len() >= MOST_PROBLEMS {
            break;
        }
        match line {
            // Already replaced by its lines.
            Line::Include(_) => {}
            Line::Section(name) if name.text == "global" => current = Current::Global,
            // One too many is enough for the check to refuse the file.
            Line::Section(_) if out.jobs.len() as u64 > MAX_PROCESSES => break,
            Line::Section(name) => {
                // As in fio (tried): a name set in [global] renames no job.
                let settings = Settings { name: None, ..globals.clone() };
                let (name, place) = (name.text.to_owned(), name.place.clone());
                out.jobs.push(JobSection { name, place, settings, written: Vec::new() });
                current = Current::Job;
            }
            Line::Own { key, .. } if !options::is_own(key.text) => out.problems.push(not_own(key)),
            Line::Setting { key, value } | Line::Own { key, value } => {
                let (settings, written) = match (&current, out.jobs.last_mut()) {
                    (Current::Nothing, _) | (Current::Job, None) => {
                        out.problems.push(outside(key));
                        continue;
                    }
                    (Current::Global, _) => (&mut globals, &mut out.globals),
                    (Current::Job, Some(job)) => (&mut job.settings, &mut job.written),
                };
                written.push((key.text.to_owned(), value.as_ref().map_or("", |value| value.text).to_owned()));
                match set(settings, key, value.as_ref(), host) {
                    Ok(note) => out.notes.extend(note),
                    Err(problem) => out.problems.push(problem),
                }
            }
        }
    }
    out.defaults = globals;
    out
}

fn outside(key: &Word<'_>) -> Problem {
    let title = format!("`{}` is outside any section", key.text);
    Problem::new(key.place.clone(), title, "expected [global] or [a job's name] above it")
}

/// A comment for this program contains something other than an option of its own.
fn not_own(key: &Word<'_>) -> Problem {
    let own = options::OWN.join(", ");
    let label = format!("expected an option that only blksched has: {own}");
    if options::is_option(key.text) {
        let title = format!("`{}` is an option of fio's, but is in a comment", key.text);
        return Problem::new(key.place.clone(), title, label)
            .help(format!("without `; {}` fio reads it too", lines::OWN));
    }
    let title = format!("`{}` is not an option of this program's own", key.text);
    Problem::new(key.place.clone(), title, label).did_you_mean(nearest(key.text, options::OWN.iter().copied()))
}

fn set(
    settings: &mut Settings,
    key: &Word<'_>,
    value: Option<&Word<'_>>,
    host: &Host,
) -> Result<Option<Note>, Problem> {
    let Some(option) = options::find(key.text) else { return Err(unknown(key)) };
    match option.support {
        Support::Note(why) => Ok(Some(Note { place: key.place.clone(), option: option.name, why: why.to_owned() })),
        Support::Later(needs) => Err(not_yet(option, key, needs)),
        Support::Supported(Takes(kind)) => {
            let text = value.map(|value| substitution(option, value, host)).transpose()?;
            if let Err(error) = kind.apply(settings, text.as_deref()) {
                settings.unreadable.insert(option.name);
                return Err(unreadable(option, key, value, error));
            }
            settings.said.insert(option.name, key.place.clone());
            let cut = text.as_deref().filter(|_| matches!(kind, OptionKind::Int { .. }));
            if let Some((text, whole)) = cut.and_then(|text| Some((text, values::whole_part(text)?))) {
                let why = format!("`{text}` is {whole}, as in fio, which does not read beyond the point");
                return Ok(Some(Note { place: key.place.clone(), option: option.name, why }));
            }
            let cut = match kind {
                OptionKind::Extent(_) => ':',
                OptionKind::Bool(_) => '/',
                _ => '\0',
            };
            if let Some((first, _)) = text.as_deref().and_then(|text| text.split_once(cut)) {
                let why = format!("only `{first}` counts, as in fio, which does not read beyond it");
                return Ok(Some(Note { place: key.place.clone(), option: option.name, why }));
            }
            let of_thousands = text.as_deref().filter(|text| kind.is_length() && values::is_of_thousands(text));
            let of_thousands = of_thousands.filter(|_| settings.kb_base == KbBase::Binary);
            Ok(of_thousands.map(|text| {
                let why = format!(
                    "`{text}` counts in thousands, as in fio unless kb_base=1000: without the `i` in powers of 1024"
                );
                Note { place: key.place.clone(), option: option.name, why }
            }))
        }
    }
}

fn unknown(key: &Word<'_>) -> Problem {
    Problem::new(key.place.clone(), format!("`{}` is not an option known here", key.text), "unknown option")
        .did_you_mean(options::nearest_accepted(key.text))
}

fn not_yet(option: &OptionEntry, key: &Word<'_>, needs: &str) -> Problem {
    let title = format!("`{}` is not supported yet", option.name);
    let problem = Problem::new(key.place.clone(), title, format!("{}: it needs {needs}", option.doc));
    if let Some(nearest) = options::nearest_supported(key.text) {
        return problem.help(format!("the nearest supported option is `{nearest}`"));
    }
    match options::supported_about(option.category) {
        kin if kin.is_empty() => problem,
        kin => problem.help(format!("supported options about the same thing: {}", kin.join(", "))),
    }
}

/// The value with `${VARIABLE}` and fio's words for the host replaced.
fn substitution<'a>(option: &OptionEntry, value: &Word<'a>, host: &Host) -> Result<Cow<'a, str>, Problem> {
    host.substitute(value.text).map_err(|name| {
        let title = format!("`{}`: the environment variable `{name}` is not set", option.name);
        Problem::new(value.place.clone(), title, "set it, or write the value itself")
    })
}

/// The place of a word within a value that stands in the text as it is; that of the value if it does not, or has
/// several.
fn place_within(value: &Word<'_>, word: &str) -> TextPlace {
    let mut place = value.place.clone();
    let mut found = value.text.match_indices(word).map(|(at, _)| at);
    if let (false, Some(at), None, true) =
        (word.is_empty(), found.next(), found.next(), place.range.len() == value.text.len())
    {
        place.range = place.range.start + at..place.range.start + at + word.len();
    }
    place
}

fn unreadable(option: &OptionEntry, key: &Word<'_>, value: Option<&Word<'_>>, error: ValueError) -> Problem {
    let expected = format!("expected {}", error.expected);
    match value.filter(|value| !value.text.is_empty()) {
        None => Problem::new(key.place.clone(), format!("`{}` needs a value", option.name), expected),
        Some(value) => {
            let title = format!("`{}` is not a value for `{}`", value.text, option.name);
            let why = (option.name == "ioengine").then(|| options::why_no_engine(value.text)).flatten();
            let (place, title) = match error.part {
                Some((word, title)) => (place_within(value, &word), title),
                None => (value.place.clone(), title),
            };
            let problem = Problem::new(place, title, expected).did_you_mean(error.nearest);
            if value.text.contains('$') {
                let help = format!("a shell would replace `{}`: write what stands for it", value.text);
                return Problem { nearest: None, ..problem }.help(help);
            }
            match why {
                Some(why) => problem.help(format!("`{}` is an engine of fio's, but {why}", value.text)),
                None => problem,
            }
        }
    }
}
