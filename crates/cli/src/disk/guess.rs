//! `blksched disk guess`: the preset nearest to a disk of which only descriptions are at hand.

use std::fs::File;
use std::path::PathBuf;

use blksched_lab::guess::{Guess, Source, guess};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{bytes_of, text_of};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct GuessArguments {
    /// What `smartctl -i` (or `-a`, `-j`), `hdparm -I` or `lsblk -J` printed; several are about one disk
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Which disk of lsblk's is meant, such as sda
    #[arg(long, value_name = "DISK")]
    of: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &GuessArguments) -> Result<(), Failure> {
    let read = |file: &PathBuf| {
        let name = file.display().to_string();
        let text = text_of(&name, File::open(file).and_then(bytes_of))?;
        Source::read(&name, &text).map_err(Failure::Input)
    };
    let sources = arguments.files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let name = arguments.of.as_deref().map(|name| name.strip_prefix("/dev/").unwrap_or(name));
    let guess = guess(&sources, name).map_err(Failure::Input)?;
    Ok(output::print(&if arguments.json { json(&guess) } else { text(&guess) })?)
}

/// The same for machines; lengths in bytes, speeds of rotation in revolutions per minute.
fn json(guess: &Guess) -> String {
    let Guess { preset, facts, assumed } = guess;
    let read: serde_json::Map<String, Value> = facts
        .rows()
        .iter()
        .map(|[about, value, from]| ((*about).to_owned(), json!({ "value": value, "from": from })))
        .collect();
    let value = json!({
        "schema": "blksched/disk-guess/1",
        "version": env!("CARGO_PKG_VERSION"),
        "disk": preset,
        "bytes": facts.bytes.as_ref().map(|fact| fact.value),
        "rpm": facts.turning.as_ref().and_then(|fact| fact.value.rpm()),
        "read": read,
        "assumed": assumed,
    });
    serde_json::to_string_pretty(&value).expect("every key is a string") + "\n"
}

fn text(guess: &Guess) -> String {
    let Guess { preset, facts, assumed } = guess;
    let drive = blksched_disks::stands_for(preset).unwrap_or(preset);
    let described = blksched_disks::preset_descriptions().find(|(name, _)| *name == drive).map_or("", |found| found.1);
    let mut text = output::paragraph(&format!("{preset} is the nearest model: {described}"));
    text += "\nread:\n";
    let rows = facts.rows();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [widest(0), widest(1)];
    for [about, value, from] in &rows {
        text += &format!("  {about:0$}  {value:1$}  {from}\n", widths[0], widths[1]);
    }
    text += "\nassumed:\n";
    for line in assumed {
        text += &output::paragraph(&format!("* {line}"));
    }
    text + &format!("\nnext: blksched compare my.fio --disk {preset}\n")
}
