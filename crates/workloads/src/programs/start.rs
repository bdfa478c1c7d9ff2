//! A program to be started, as a user says it: `dd:size=1GiB,start=5s`.

use blksched::{Instant, Span, SubmitterId};
use blksched_text::nearest;

use super::settings::{Settings, SettingsError};
use super::{Launch, PROGRAMS, Program, ProgramProcess, program};

/// A program with its parameters, and when it begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its name in reports.
    pub name: String,
    /// The program.
    pub program: &'static Program,
    /// Its parameters.
    pub settings: Settings,
    /// When it is started.
    pub at: Instant,
}

/// A parameter that every program takes besides its own.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Its name.
    pub name: &'static str,
    /// The default.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// All of them.
pub const COMMON: [Common; 2] = [
    Common { name: "name", default: "the program's own", doc: "its name in reports" },
    Common { name: "start", default: "0s", doc: "when it begins" },
];

/// `PARAMETER=VALUE,…`, with the [`COMMON`] parameters parsed.
#[derive(Clone, Debug)]
pub(crate) struct ParametersSaid<'t> {
    pub name: Option<String>,
    pub at: Instant,
    pub own: Vec<(&'t str, &'t str)>,
}

impl<'t> ParametersSaid<'t> {
    pub(crate) fn read(text: &'t str) -> Result<ParametersSaid<'t>, String> {
        let mut read = ParametersSaid { name: None, at: Instant::ZERO, own: Vec::new() };
        let mut names: Vec<&str> = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (parameter, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{}` sets nothing: expected PARAMETER=VALUE, as in start=5s", part.trim()))?;
            if names.contains(&parameter.trim()) {
                return Err(format!("`{}` says `{}` again: expected each once", part.trim(), parameter.trim()));
            }
            names.push(parameter.trim());
            match (parameter.trim(), value.trim()) {
                ("name", "") => return Err("`name` is empty".to_owned()),
                ("name", said) => read.name = Some(said.to_owned()),
                ("start", said) => {
                    let start: Result<Span, _> = said.parse();
                    let wrong = |_| format!("`{said}` is not a value of `start`: expected a time, as in 5s");
                    read.at = Instant::ZERO + start.map_err(wrong)?;
                }
                own => read.own.push(own),
            }
        }
        Ok(read)
    }
}

impl Start {
    /// Parses `PROGRAM[:PARAMETER=VALUE,…]`. Besides the program's parameters there are [`COMMON`] ones.
    ///
    /// # Errors
    /// If there is no such program or parameter, or a value is not of its kind.
    pub fn parse(text: &str) -> Result<Start, SettingsError> {
        let (word, said) = text.split_once(':').unwrap_or((text, ""));
        let program = program(word).ok_or_else(|| {
            let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            let problem = format!("`{word}` is not a program: expected one of {}", known.join(", "));
            SettingsError { name: word.to_owned(), problem, nearest: nearest(word, known) }
        })?;
        let of_all = |problem| SettingsError { name: said.to_owned(), problem, nearest: None };
        let ParametersSaid { name, at, own } = ParametersSaid::read(said).map_err(of_all)?;
        let settings = Settings::of(program, own)?;
        Ok(Start { name: name.unwrap_or_else(|| word.to_owned()), program, settings, at })
    }

    /// Its processes in a run with this seed, numbered from `first`.
    ///
    /// # Errors
    /// If it does not fit on the disk, or its parameters contradict each other. That does not depend on the seed.
    pub fn processes(&self, first: SubmitterId, disk_sectors: u64, seed: u64) -> Result<Vec<ProgramProcess>, String> {
        let Start { name, settings, at, .. } = self;
        let processes = self.program.start(&Launch { name, settings, disk_sectors, first, at: *at, seed });
        processes.map_err(|problem| format!("{name}: {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_said_with_its_parameters_a_name_and_a_beginning() {
        let start = Start::parse("dd:size=1g, at=50%,name=far,start=5s").unwrap();
        assert_eq!((start.program.name, start.name.as_str()), ("dd", "far"));
        assert_eq!((start.settings.sectors("size"), start.at), (1 << 21, Instant::ZERO + Span::from_secs(5)));
        assert_eq!(Start::parse("cat").unwrap().name, "cat");
    }

    #[test]
    fn what_means_nothing_is_said_with_the_nearest_that_does() {
        for (text, expected) in [
            ("dd-raeder", "`dd-raeder` is not a program: expected one of cat, cp, dd, "),
            ("dd-raeder", "did you mean `dd-reader`?"),
            ("dd:siez=1g", "the program `dd` has no parameter `siez`: expected one of size, at,"),
            ("dd:siez=1g", "did you mean `size`?"),
            ("dd:size=far", "`far` is not a value of `size`: expected a size, as in 128KiB"),
            ("dd:size", "`size` sets nothing: expected PARAMETER=VALUE, as in start=5s"),
            ("dd:start=soon", "`soon` is not a value of `start`: expected a time, as in 5s"),
            ("dd:name=", "`name` is empty"),
            ("dd:size=1g,size=2g", "`size=2g` says `size` again"),
            ("dd:start=1s,start=2s", "`start=2s` says `start` again"),
        ] {
            let error = Start::parse(text).unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
