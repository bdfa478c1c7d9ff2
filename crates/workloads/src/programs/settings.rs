//! A program's parameters with all values: those given, and the defaults of the rest.

use core::fmt;
use core::ops::RangeInclusive;

use blksched::Span;
use blksched_text::nearest;

use super::Program;
use super::parameter::{DiskPlace, Parameter, ParameterValue};

/// The values of all parameters of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Vec<(&'static str, ParameterValue)>,
}

/// A setting that the program does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The parameter, or the unknown name.
    pub name: String,
    /// What is wrong, and what was expected.
    pub problem: String,
    /// The parameter that was probably meant.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        self.nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

impl core::error::Error for SettingsError {}

impl Settings {
    /// `program`'s parameters, some of them as given: names and values as a user writes them; the last one for a name
    /// applies.
    ///
    /// # Errors
    /// If it has no such parameter, or the value is not of its kind.
    pub fn of<'a>(
        program: &Program,
        said: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Settings, SettingsError> {
        Settings::read(&format!("the program `{}`", program.name), program.parameters, said)
    }

    /// The same for anything that has parameters; `whose` names it in messages.
    pub(crate) fn read<'a>(
        whose: &str,
        parameters: &[Parameter],
        said: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Settings, SettingsError> {
        let of_default = |p: &Parameter| (p.name, p.parse(p.default).expect("a test reads every default"));
        let mut values: Vec<_> = parameters.iter().map(of_default).collect();
        for (name, text) in said {
            let at = parameters.iter().position(|p| p.name == name).ok_or_else(|| unknown(whose, parameters, name))?;
            let problem = |problem| SettingsError { name: name.to_owned(), problem, nearest: None };
            values[at].1 = parameters[at].parse(text).map_err(problem)?;
        }
        Ok(Settings { values })
    }

    fn get(&self, name: &str) -> ParameterValue {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("the program has no parameter `{name}`")).1
    }

    /// A whole number.
    ///
    /// # Panics
    /// If the program has no such parameter of this kind; so do the others.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            ParameterValue::Count(count) => count,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A number of processes or the like, at least one.
    ///
    /// # Errors
    /// If there are none, or more than `most`.
    pub fn some(&self, name: &str, most: u32) -> Result<u32, String> {
        let count = self.count(name);
        let within = u32::try_from(count).ok().filter(|count| (1..=most).contains(count));
        within.ok_or_else(|| format!("`{count}` is out of range for `{name}`: expected 1 to {most}"))
    }

    /// A size in whole sectors, rounded up, that must be within these limits \[sectors\].
    ///
    /// # Errors
    /// If it is not.
    pub fn sectors_within(&self, name: &str, limits: RangeInclusive<u64>) -> Result<u64, String> {
        let sectors = self.sectors(name);
        let size = |sectors: u64| match sectors {
            kib if kib.is_multiple_of(2) => format!("{}KiB", kib / 2),
            odd => format!("{}B", odd * 512),
        };
        let (least, most) = (size(*limits.start()), size(*limits.end()));
        let within = limits.contains(&sectors).then_some(sectors);
        within.ok_or_else(|| format!("`{}` is out of range for `{name}`: expected {least} to {most}", size(sectors)))
    }

    /// A number.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            ParameterValue::Number(number) => number,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A size in whole sectors, rounded up.
    pub fn sectors(&self, name: &str) -> u64 {
        match self.get(name) {
            ParameterValue::Bytes(bytes) => bytes.div_ceil(512),
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A time.
    pub fn span(&self, name: &str) -> Span {
        match self.get(name) {
            ParameterValue::Time(span) => span,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A place.
    pub fn place(&self, name: &str) -> DiskPlace {
        match self.get(name) {
            ParameterValue::Place(place) => place,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A word.
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            ParameterValue::Word(word) => word,
            other => panic!("`{name}` is {other:?}"),
        }
    }
}

fn unknown(whose: &str, parameters: &[Parameter], name: &str) -> SettingsError {
    let names = || parameters.iter().map(|p| p.name);
    let known = names().collect::<Vec<_>>().join(", ");
    let problem = format!("{whose} has no parameter `{name}`: expected one of {known}");
    SettingsError { name: name.to_owned(), problem, nearest: nearest(name, names()) }
}

#[cfg(test)]
mod tests {
    use super::super::program;
    use super::*;

    #[test]
    fn what_is_not_said_is_as_by_default_and_a_wrong_word_gets_the_nearest() {
        let dd = program("dd").unwrap();
        let settings = Settings::of(dd, [("size", "64MiB")]).unwrap();
        assert_eq!(settings.sectors("size"), 131_072);
        let error = Settings::of(dd, [("siez", "64MiB")]).unwrap_err();
        assert_eq!((error.name.as_str(), error.nearest), ("siez", Some("size")));
        assert!(error.to_string().ends_with("did you mean `size`?"), "{error}");
    }
}
