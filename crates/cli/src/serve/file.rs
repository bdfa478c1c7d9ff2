//! A configuration file: the options of `serve` as keys of a TOML file, and a table `[[export]]` for each export.
//!
//! Each key becomes the words of a command line, so that both are accepted and refused alike.

use std::path::Path;

use blksched_serve::ExportConfig;
use blksched_text::did_you_mean;
use blksched_text::document;
use clap::{ArgAction, CommandFactory, Parser};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ServeArguments;
use crate::args::{Arguments, Verb};
use crate::failure::Failure;

/// Options that only a command line can have.
const NOT_HERE: [&str; 6] = ["config", "check", "export", "disk", "take_over", "help"];

/// The file being read.
struct ServeFile<'t> {
    path: &'t Path,
    text: &'t str,
}

impl ServeFile<'_> {
    fn error(&self, at: usize, what: &str) -> Failure {
        let file = self.path.display().to_string();
        Failure::input(document::Source { file: &file, text: self.text }.complain(&(at..at), what))
    }
}

/// Reads a file as the arguments of `serve`.
pub(super) fn read(path: &Path) -> Result<ServeArguments, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    let source = ServeFile { path, text: &text };
    let parsed = DeTable::parse(&text)
        .map_err(|error| source.error(error.span().map_or(0, |span| span.start), error.message()))?;
    let mut words = vec!["blksched".to_owned(), "serve".to_owned()];
    let mut exports = 0;
    for (key, value) in parsed.get_ref() {
        let name: &str = key.get_ref();
        let own = match name {
            "export" => of_exports(&source, value)?,
            "disk" => of_disks(&source, value)?,
            _ => of_option(&source, name, key.span().start, value)?,
        };
        exports += if name == "export" { own.len() } else { 0 };
        words.extend(own);
    }
    if exports == 0 {
        return Err(source.error(0, "there is no [[export]]: expected at least one, with a name and a path"));
    }
    match Arguments::try_parse_from(&words) {
        Ok(Arguments { verb: Verb::Serve(arguments), .. }) => Ok(arguments),
        Ok(_) => unreachable!("the words begin with serve"),
        Err(error) => Err(source.error(0, &first_line(&error))),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// A key as an option; it is parsed at once, so that an error can name its line.
fn of_option(
    source: &ServeFile<'_>,
    name: &str,
    at: usize,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Failure> {
    let command = Arguments::command();
    let serve = command.find_subcommand("serve").expect("there is such a verb");
    let known = serve.get_arguments().filter_map(|argument| Some((argument.get_long()?.replace('-', "_"), argument)));
    let known: Vec<_> = known.filter(|(long, _)| !NOT_HERE.contains(&long.as_str())).collect();
    let Some((_, argument)) = known.iter().find(|(long, _)| long == name) else {
        let names = || known.iter().map(|(long, _)| long.as_str()).chain(["export", "disk"]);
        let near = did_you_mean(name, names());
        let all = names().collect::<Vec<_>>().join(", ");
        return Err(source.error(at, &format!("unknown key `{name}`{near}: expected one of {all}")));
    };
    let long = argument.get_long().unwrap_or_default();
    let is_switch = matches!(argument.get_action(), ArgAction::SetTrue);
    let words: Vec<String> = match value.get_ref() {
        DeValue::Boolean(said) if is_switch => said.then(|| format!("--{long}")).into_iter().collect(),
        _ if is_switch => return Err(source.error(value.span().start, &format!("{name}: expected true or false"))),
        DeValue::Array(items) if matches!(argument.get_action(), ArgAction::Append) => {
            let item = |item: &Spanned<DeValue<'_>>| Ok(format!("--{long}={}", plain(source, name, item)?));
            items.iter().map(item).collect::<Result<_, Failure>>()?
        }
        _ => vec![format!("--{long}={}", plain(source, name, value)?)],
    };
    let alone = ["blksched", "serve", "--export=x=mem:1M"].iter().map(|word| (*word).to_owned());
    match Arguments::try_parse_from(alone.chain(words.iter().cloned())) {
        Ok(_) => Ok(words),
        Err(error) => Err(source.error(value.span().start, &first_line(&error))),
    }
}

/// A text or a number.
fn plain(source: &ServeFile<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => Err(source.error(value.span().start, &format!("{name}: expected a string or a number"))),
    }
}

/// The tables `[[export]]`.
fn of_exports(source: &ServeFile<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Failure> {
    let expected = "expected [[export]] tables, each with a name and a path";
    let items = value.get_ref().as_array().ok_or_else(|| source.error(value.span().start, expected))?;
    items.iter().map(|item| of_export(source, item).map(|text| format!("--export={text}"))).collect()
}

/// The tables `[[disk]]`.
fn of_disks(source: &ServeFile<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Failure> {
    let expected = "expected [[disk]] tables, each with a name and what differs";
    let items = value.get_ref().as_array().ok_or_else(|| source.error(value.span().start, expected))?;
    let item = |item: &Spanned<DeValue<'_>>| {
        let at = item.span().start;
        let table = item.get_ref().as_table().ok_or_else(|| source.error(at, expected))?;
        let name = table.get("name").ok_or_else(|| source.error(at, "a disk without `name`"))?;
        let mut text = plain(source, "name", name)?;
        for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != "name") {
            text += &format!(",{}={}", key.get_ref(), plain(source, key.get_ref(), value)?);
        }
        Ok(format!("--disk={text}"))
    };
    items.iter().map(item).collect()
}

/// The entries of a table; one in a subtable (`io.max = …` without quotes) has its full name.
fn entries<'v, 't>(table: &'v DeTable<'t>) -> Vec<(Spanned<String>, &'v Spanned<DeValue<'t>>)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let name = |more: &str| Spanned::new(key.span(), format!("{}{more}", key.get_ref()));
        match value.get_ref() {
            DeValue::Table(below) => {
                found.extend(
                    entries(below).into_iter().map(|(own, value)| (name(&format!(".{}", own.get_ref())), value)),
                );
            }
            _ => found.push((name(""), value)),
        }
    }
    found
}

fn of_export(source: &ServeFile<'_>, item: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
    let at = item.span().start;
    let table = item.get_ref().as_table().ok_or_else(|| source.error(at, "expected an [[export]] table"))?;
    let needed = |key: &str| {
        let value = table.get(key).ok_or_else(|| source.error(at, &format!("an export without `{key}`")))?;
        plain(source, key, value)
    };
    let mut text = format!("{}={}", needed("name")?, needed("path")?);
    for (key, value) in entries(table) {
        let name = key.get_ref().as_str();
        if ["name", "path"].contains(&name) {
            continue;
        }
        let own = match value.get_ref() {
            DeValue::Boolean(true) => name.to_owned(),
            DeValue::Boolean(false) => continue,
            _ => format!("{name}={}", plain(source, name, value)?),
        };
        // Parsed by itself, so that an error can name its line.
        if let Err(error) = format!("x=/x,{own}").parse::<ExportConfig>()
            && !error.what.contains("needs its rate")
        {
            return Err(source.error(key.span().start, &error.what));
        }
        text += &format!(",{own}");
    }
    let understood = text.parse::<ExportConfig>();
    understood.map(|_| text).map_err(|error| source.error(at, &error.what))
}
