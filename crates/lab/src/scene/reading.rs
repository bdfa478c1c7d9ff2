//! A recorded trace's files, one or one per CPU, and the settings after a colon:
//! `x.csv:columns=time@s,op,offset@512B,size@B,device=2,from=10s,timing=closed`.

use std::path::Path;
use std::sync::Arc;

use blksched_measure::Work;
use blksched_simulate::recording::{Begins, Damage, Devices, Format, KEYS, Reading, Recorded, Stream, Took, recording};
use blksched_text::{did_you_mean, nearest};
use blksched_traces::blkparse::Layout;
use blksched_traces::columns::Spec;
use blksched_traces::machine::{Device, Machine};
use blksched_traces::presets::{Preset, presets};
use blksched_workloads::replay::{PARAMETERS, Recording, Replay};

use super::trace::Trace;
use crate::error::{Error, Expected, WordError};
use crate::files::Files;

/// Parameters of how a trace is read, besides a filter's.
const READING: [&str; 8] =
    ["format", "columns", "line", "json", "blkparse_format", "separator", "skip_lines", "damage"];

impl Trace {
    /// Its events except plugs, one after the other, and the parameters that are not about reading.
    ///
    /// # Errors
    /// If a file cannot be opened, or a parameter is not understood.
    pub fn stream(&self, files: &dyn Files) -> Result<(Stream, String), Error> {
        let (reading, rest) = self.reading(files)?;
        let opened = files.open(&self.name).and_then(|parts| Stream::open(parts, reading));
        Ok((opened.map_err(Error::Input)?.without_plugs(), rest))
    }

    /// How it is to be read, and the parameters of its replay.
    fn reading(&self, files: &dyn Files) -> Result<(Reading, String), Error> {
        reading(&self.said, files).map_err(|error| error.within(format_args!("{}:{}", self.name, self.said)))
    }

    /// Whether only a part of it is wanted.
    ///
    /// # Errors
    /// If a parameter is not understood.
    pub fn is_filtered(&self, files: &dyn Files) -> Result<bool, Error> {
        Ok(!self.reading(files)?.0.filter.keeps_all())
    }

    /// Reads its files as one recording.
    pub(super) fn read(&self, files: &dyn Files) -> Result<Recording, Error> {
        Ok(self.recorded(files)?.0.recording)
    }

    fn recorded(&self, files: &dyn Files) -> Result<(Recorded, String), Error> {
        let (reading, rest) = self.reading(files)?;
        let recorded = files.open(&self.name).and_then(|parts| recording(parts, &reading));
        Ok((recorded.map_err(Error::Input)?, rest))
    }

    /// Whether each of its devices becomes a disk.
    pub(super) fn is_each(&self, files: &dyn Files) -> Result<bool, Error> {
        Ok(self.reading(files)?.0.filter.device == Devices::Each)
    }

    /// Loads the replay, and what to know about it.
    pub(super) fn load(&self, files: &dyn Files) -> Result<Loaded, Error> {
        if self.is_each(files)? {
            return Err(Error::Input(format!(
                "{}: device=each makes a disk of each device: compare, simulate and explain do that with one trace and \
                 nothing beside it; else choose one, as `blksched trace info` names them",
                self.name
            )));
        }
        let (recorded, rest) = self.recorded(files)?;
        let replay = self.replay(&rest, Arc::new(recorded.recording))?;
        let fitness = recorded.fitness.to_string();
        let notes = self.told(&fitness, &recorded.notes);
        let (machine, header, took) = (recorded.machine, recorded.header, recorded.took);
        let unranked = (!recorded.fitness.ranks()).then_some(fitness);
        let top = recorded.top;
        Ok(Loaded { replay, top, notes, machine, header, took, unranked, device: Vec::new() })
    }

    /// Loads each of its devices likewise.
    pub(super) fn load_each(&self, files: &dyn Files) -> Result<Vec<Loaded>, Error> {
        let (recorded, rest) = self.recorded(files)?;
        let whole = self.replay(&rest, Arc::new(recorded.recording))?;
        let each = recorded.each.into_iter().filter_map(|of| {
            let mut replay = whole.on(of.device)?;
            let given = of.machine.as_ref().and_then(|machine| machine.word("name")).map(str::to_owned);
            let device: Vec<String> = given.into_iter().chain([of.name]).collect();
            replay.name = format!("{} {}", whole.name, device[0]);
            let fitness = of.fitness.to_string();
            let notes = self.told(&fitness, &recorded.notes);
            let unranked = (!of.fitness.ranks()).then_some(fitness);
            let machine = of.machine;
            Some(Loaded { replay, top: None, notes, machine, header: None, took: of.took, unranked, device })
        });
        Ok(each.collect())
    }

    fn file_name(&self) -> String {
        Path::new(&self.name).file_name().map_or(self.name.clone(), |name| name.to_string_lossy().into_owned())
    }

    fn told(&self, fitness: &str, notes: &[String]) -> Vec<String> {
        let name = self.file_name();
        std::iter::once(fitness).chain(notes.iter().map(String::as_str)).map(|note| format!("{name}: {note}")).collect()
    }

    fn replay(&self, said: &str, recording: Arc<Recording>) -> Result<Replay, Error> {
        let replay = Replay::of(&self.file_name(), said, recording);
        replay.map_err(|problem| Error::Input(format!("{}:{}: {problem}", self.name, self.said)))
    }
}

/// A trace, ready to be replayed.
pub(super) struct Loaded {
    pub(super) replay: Replay,
    /// The device above the others, if it has I/Os of those, too.
    pub(super) top: Option<(u32, u32)>,
    pub(super) notes: Vec<String>,
    /// What is known of the device it was recorded on.
    pub(super) machine: Option<Device>,
    /// What is known of all devices of its machine, if it is one trace of one device.
    pub(super) header: Option<Machine>,
    /// How long its I/Os took, as far as the trace tells.
    pub(super) took: Vec<(Work, Took)>,
    /// Why it cannot rank schedulers, if it cannot.
    pub(super) unranked: Option<String>,
    /// The device's name and its other name, if it is one of several.
    pub(super) device: Vec<String>,
}

/// The parameters, item by item: `key=value`, where a value may contain commas, and anything if it is quoted.
fn items(said: &str) -> Result<Vec<(String, String)>, String> {
    let (mut items, mut rest): (Vec<(String, String)>, &str) = (Vec::new(), said);
    while !rest.is_empty() {
        let quoted = rest.split_once('=').filter(|(key, value)| {
            key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && value.starts_with(['"', '\''])
        });
        if let Some((key, value)) = quoted {
            let quote = &value[..1];
            let (inside, behind) =
                value[1..].split_once(quote).ok_or_else(|| format!("`{key}=` has no {quote} at its end"))?;
            items.push((key.to_owned(), inside.to_owned()));
            rest = behind.strip_prefix(',').unwrap_or(behind);
            continue;
        }
        let (item, behind) = rest.split_once(',').unwrap_or((rest, ""));
        // A pattern that lost its quotes to the shell takes all the rest.
        if let Some(pattern) = rest.strip_prefix("line=") {
            items.push(("line".to_owned(), pattern.to_owned()));
            return Ok(items);
        }
        match (item.split_once('='), items.last_mut()) {
            (Some((key, value)), _) => items.push((key.trim().to_owned(), value.trim().to_owned())),
            (None, Some((_, before))) => {
                before.push(',');
                before.push_str(item.trim());
            }
            (None, None) => return Err(format!("`{item}` sets nothing: expected NAME=VALUE, as in device=8,0")),
        }
        rest = behind;
    }
    Ok(items)
}

/// How to read a trace, and the remaining parameters, which belong to the replay.
fn reading(said: &str, files: &dyn Files) -> Result<(Reading, String), Error> {
    let (mut reading, mut rest, mut told) = (Reading::default(), Vec::new(), FormatTold::default());
    for (key, value) in items(said).map_err(Error::Input)? {
        if reading.filter.take(&key, &value).map_err(Error::Input)? {
            continue;
        }
        match key.as_str() {
            "format" => told.format = Some(value),
            "columns" => told.columns = Some(value),
            "line" => told.line = Some(value),
            "json" => told.json = Some(value),
            "blkparse_format" => told.blkparse = Some(value),
            "separator" => told.separator = Some(value),
            "skip_lines" => {
                let lines = value.parse();
                told.skip = lines.map_err(|_| wrong_value(&key, &value, "a number", []))?;
            }
            "damage" => {
                reading.damage = match value.as_str() {
                    "refused" => Damage::Refused,
                    "skipped" => Damage::Skipped,
                    _ => return Err(wrong_value(&key, &value, "refused or skipped", ["refused", "skipped"])),
                }
            }
            _ if is_replays(&key) => rest.push(format!("{key}={value}")),
            _ => return Err(unknown(&key).into()),
        }
    }
    reading.format = told.format(files)?;
    reading.most_memory = files.trace_memory();
    Ok((reading, rest.join(",")))
}

fn is_replays(key: &str) -> bool {
    ["name", "start"].contains(&key) || PARAMETERS.iter().any(|parameter| parameter.name == key)
}

fn wrong_value<const N: usize>(key: &str, value: &str, expected: &str, known: [&'static str; N]) -> Error {
    let message = format!("`{value}` is not a value of `{key}`: expected {expected}");
    WordError::new(Expected::Value, value, message).near(nearest(value, known)).into()
}

fn unknown(key: &str) -> WordError {
    let replays = PARAMETERS.iter().map(|parameter| parameter.name).chain(["name", "start"]);
    let all: Vec<&str> = READING.into_iter().chain(KEYS).chain(replays).collect();
    let near = did_you_mean(key, all.iter().copied());
    let message = format!("a trace has no `{key}`: expected one of {}{}", all.join(", "), near);
    WordError::new(Expected::Setting, key, message).near(nearest(key, all))
}

/// The parameters of the format.
#[derive(Default)]
struct FormatTold {
    format: Option<String>,
    columns: Option<String>,
    line: Option<String>,
    json: Option<String>,
    /// The format of `blkparse -f`.
    blkparse: Option<String>,
    separator: Option<String>,
    skip: usize,
}

impl FormatTold {
    fn format(self, files: &dyn Files) -> Result<Option<Format>, Error> {
        let separator = self.separator.as_deref().unwrap_or(",");
        let all = [&self.format, &self.columns, &self.line, &self.json, &self.blkparse];
        if all.into_iter().flatten().count() > 1 {
            return Err(Error::input(
                "`format`, `columns`, `line`, `json` and `blkparse_format` exclude each other: expected one of them",
            ));
        }
        if let Some(format) = &self.blkparse {
            // Which events begin an I/O is seen when the file is opened.
            let layout = Layout::parse(format).map_err(Error::Input)?;
            return Ok(Some(Format::BlkparseAs(Begins::Queue, Box::new(layout))));
        }
        if let Some(json) = &self.json {
            let spec = Spec::json(json, self.skip).map_err(Error::input)?;
            return Ok(Some(Format::Text(Box::new(Preset::described(json, spec)))));
        }
        let spec = match (&self.format, &self.columns, &self.line) {
            (None, None, None) if self.separator.is_some() => {
                return Err(Error::input("`separator` needs `columns`, which is missing"));
            }
            (None, None, None) => return Ok(None),
            (Some(name), None, None) => return named(name, files).map(Some),
            (None, Some(columns), None) => Spec::columns(columns, separator, self.skip),
            (None, None, Some(line)) => Spec::pattern(line, self.skip),
            _ => unreachable!("only one of them was given"),
        };
        let described = self.columns.or(self.line).unwrap_or_default();
        let preset = Preset::described(&described, spec.map_err(Error::input)?);
        Ok(Some(Format::Text(Box::new(preset))))
    }
}

/// A format by its name, or by its description in a TOML file.
fn named(name: &str, files: &dyn Files) -> Result<Format, Error> {
    if let Some(preset) = presets().into_iter().find(|preset| preset.name == name) {
        return Ok(Format::Text(Box::new(preset)));
    }
    if name.ends_with(".toml") {
        let text = files.text(name).map_err(|error| Error::Input(format!("{name}: {error}")))?;
        let preset = Preset::read(name, &text).map_err(|error| Error::Input(format!("{name}: {error}")))?;
        return Ok(Format::Text(Box::new(preset)));
    }
    let names: Vec<String> = presets().into_iter().map(|preset| preset.name).collect();
    let known = || names.iter().map(String::as_str);
    let near = did_you_mean(name, known());
    let message = format!("`{name}` is not a format: expected one of {}, or a TOML file{}", names.join(", "), near);
    Err(WordError::new(Expected::Value, name, message).near(nearest(name, known())).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::NoFiles;

    fn said(text: &str) -> Vec<(String, String)> {
        items(text).unwrap()
    }

    #[test]
    fn a_value_holds_commas_and_in_quotes_anything() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            said("columns=time,op,offset,size,device=8,0"),
            [pair("columns", "time,op,offset,size"), pair("device", "8,0")]
        );
        assert_eq!(
            said("line='{op} a=b,{offset} {size}',from=1s"),
            [pair("line", "{op} a=b,{offset} {size}"), pair("from", "1s")]
        );
        assert_eq!(said("from=1s,line={op} op=x, {offset}"), [pair("from", "1s"), pair("line", "{op} op=x, {offset}")]);
        assert!(items("line='x").unwrap_err().contains("no ' at its end"));
        assert!(items("8,0").unwrap_err().contains("sets nothing"));
    }

    #[test]
    fn reading_and_replay_are_told_apart() {
        let (read, rest) = reading("device=8,0,timing=closed,damage=skipped,scale=2", &NoFiles).unwrap();
        assert_eq!(
            (read.filter.device, read.damage, rest.as_str()),
            (Devices::One("8,0".to_owned()), Damage::Skipped, "timing=closed,scale=2")
        );
        let wrong = |said: &str| reading(said, &NoFiles).unwrap_err().to_string();
        assert!(wrong("colums=time").contains("did you mean `columns`?"));
        assert!(wrong("format=mrs").contains("did you mean `msr`?"));
        for (said, word, near) in
            [("colums=time", "colums", "columns"), ("format=mrs", "mrs", "msr"), ("damage=skiped", "skiped", "skipped")]
        {
            let error = Trace::of("x.csv", said).reading(&NoFiles).unwrap_err();
            assert_eq!((error.word(), error.nearest()), (Some(word), Some(near)));
            assert!(error.to_string().starts_with(&format!("x.csv:{said}: ")), "{error}");
        }
        assert!(wrong("separator=;").contains("needs `columns`"));
        assert!(wrong("format=msr,columns=op,offset,size").contains("exclude each other"));
        assert!(wrong("damage=no").contains("expected refused or skipped"));
        assert!(wrong("skip_lines=x").contains("expected a number"));
    }
}
