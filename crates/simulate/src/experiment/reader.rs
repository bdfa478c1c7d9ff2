//! Reads an experiment's TOML key by key, so that every complaint knows its line and column and the word that was
//! probably meant.

pub use blksched_text::document::Complaint as ExperimentError;
use blksched_text::document::describe;
pub(crate) use blksched_text::document::{Place, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something read, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) at: Place,
}

/// An address and the values that stand there, as a user would write them.
pub(crate) type Leaf = (Located<String>, Vec<Located<String>>);

/// One table of the document.
pub(crate) struct Section<'t> {
    pub(crate) source: Source<'t>,
    name: &'static str,
    table: &'t DeTable<'t>,
    at: Place,
}

impl<'t> Section<'t> {
    /// A table; `keys`, if given, are all that it may hold. `name` is empty for the document itself.
    pub(crate) fn open(
        source: Source<'t>,
        name: &'static str,
        table: &'t DeTable<'t>,
        at: Place,
        keys: Option<&[&str]>,
    ) -> Result<Section<'t>, ExperimentError> {
        for key in table.keys() {
            let word: &str = key.get_ref();
            if keys.is_some_and(|keys| !keys.contains(&word)) {
                let place = if name.is_empty() { String::new() } else { format!(" in `{name}`") };
                let problem = format!("unknown key `{word}`{place}");
                return Err(source.unknown(&key.span(), &problem, word, keys.unwrap_or_default().iter().copied()));
            }
        }
        Ok(Section { source, name, table, at })
    }

    /// The tables of the list `name` inside this one, in order: `[[name]]`, or inline.
    pub(crate) fn tables(
        &self,
        name: &'static str,
        keys: Option<&[&str]>,
    ) -> Result<Vec<Section<'t>>, ExperimentError> {
        let Some(value) = self.table.get(name) else { return Ok(Vec::new()) };
        let refuse = |found: &Spanned<DeValue<'_>>| {
            let problem =
                format!("`{name}` is {}: expected a list of tables, as in [[{name}]]", describe(found.get_ref()));
            self.source.complain(&found.span(), problem)
        };
        let DeValue::Array(items) = value.get_ref() else { return Err(refuse(value)) };
        let open = |item: &'t Spanned<DeValue<'t>>| match item.get_ref() {
            DeValue::Table(table) => Section::open(self.source, name, table, item.span(), keys),
            _ => Err(refuse(item)),
        };
        items.iter().map(open).collect()
    }

    /// Where the table stands.
    pub(crate) fn at(&self) -> &Place {
        &self.at
    }

    /// A text that may be missing.
    pub(crate) fn text(&self, key: &str) -> Result<Option<Located<String>>, ExperimentError> {
        self.read(key, "a text in quotes", |value| value.as_str().map(str::to_owned))
    }

    /// A text that must be there.
    pub(crate) fn needs_text(&self, key: &str) -> Result<Located<String>, ExperimentError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(crate) fn missing(&self, key: &str) -> ExperimentError {
        let place = if self.name.is_empty() { "the file".to_owned() } else { format!("`{}`", self.name) };
        self.source.complain(&self.at, format!("{place} lacks the key `{key}`"))
    }

    /// A number that may be missing.
    pub(crate) fn number(&self, key: &str) -> Result<Option<Located<f64>>, ExperimentError> {
        self.read(key, "a number", number)
    }

    /// A whole number.
    pub(crate) fn count(&self, key: &str) -> Result<Option<Located<u64>>, ExperimentError> {
        self.read(key, "a whole number", |value| {
            value.as_integer().and_then(|n| n.as_str().replace('_', "").parse().ok())
        })
    }

    /// `true` or `false`.
    pub(crate) fn truth(&self, key: &str) -> Result<Option<Located<bool>>, ExperimentError> {
        self.read(key, "true or false", |value| value.as_bool())
    }

    /// One text, or a list of them.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<Located<String>>, ExperimentError> {
        let text = |value: &Spanned<DeValue<'_>>| {
            let problem = || format!("{} is not a value for `{key}`: expected texts", describe(value.get_ref()));
            let word = value.get_ref().as_str().ok_or_else(|| self.source.complain(&value.span(), problem()))?;
            Ok(Located { value: word.to_owned(), at: value.span() })
        };
        match self.table.get(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref() {
                DeValue::Array(items) => items.iter().map(text).collect(),
                _ => Ok(vec![text(value)?]),
            },
        }
    }

    /// Every value at or below `key`, by its address (`knob.fifo_batch`), as a user would write it.
    pub(crate) fn leaves(&self, key: &str) -> Result<Vec<Leaf>, ExperimentError> {
        let mut found = Vec::new();
        if let Some((key, value)) = self.table.get_key_value(key) {
            self.collect(key.get_ref().to_string(), key.span(), value, &mut found)?;
        }
        Ok(found)
    }

    /// As [`Section::leaves`], of the table `key` without its own name.
    pub(crate) fn leaves_below(&self, key: &str) -> Result<Vec<Leaf>, ExperimentError> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value.get_ref() else {
            let problem = format!("`{key}` is {}: expected a table", describe(value.get_ref()));
            return Err(self.source.complain(&value.span(), problem));
        };
        let mut found = Vec::new();
        for (key, value) in table.iter() {
            self.collect(key.get_ref().to_string(), key.span(), value, &mut found)?;
        }
        Ok(found)
    }

    /// Every key of this table but these, by its address.
    pub(crate) fn leaves_but(&self, keys: &[&str]) -> Result<Vec<Leaf>, ExperimentError> {
        let mut found = Vec::new();
        for (key, value) in self.table.iter().filter(|(key, _)| !keys.contains(&key.get_ref().as_ref())) {
            self.collect(key.get_ref().to_string(), key.span(), value, &mut found)?;
        }
        Ok(found)
    }

    fn collect(
        &self,
        address: String,
        at: Place,
        value: &Spanned<DeValue<'_>>,
        found: &mut Vec<Leaf>,
    ) -> Result<(), ExperimentError> {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (key, inner) in table.iter() {
                    self.collect(format!("{address}.{}", key.get_ref()), key.span(), inner, found)?;
                }
                Ok(())
            }
            DeValue::Array(items) => {
                let values = items.iter().map(|item| self.scalar(item)).collect::<Result<_, _>>()?;
                found.push((Located { value: address, at }, values));
                Ok(())
            }
            _ => {
                found.push((Located { value: address, at }, vec![self.scalar(value)?]));
                Ok(())
            }
        }
    }

    fn scalar(&self, value: &Spanned<DeValue<'_>>) -> Result<Located<String>, ExperimentError> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().replace('_', ""),
            DeValue::Float(number) => number.as_str().replace('_', ""),
            other => {
                let problem = format!("{} is not a value: expected a number or a text", describe(other));
                return Err(self.source.complain(&value.span(), problem));
            }
        };
        Ok(Located { value: text, at: value.span() })
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<Located<T>>, ExperimentError> {
        let Some(found) = self.table.get(key) else { return Ok(None) };
        match read(found.get_ref()) {
            Some(value) => Ok(Some(Located { value, at: found.span() })),
            None => {
                let problem = format!("{} is not a value for `{key}`: expected {expected}", describe(found.get_ref()));
                Err(self.source.complain(&found.span(), problem))
            }
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().replace('_', "").parse().ok(),
        DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}
