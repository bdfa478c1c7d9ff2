//! What docs/tutorials.md tells a reader to type is understood, and runs. (Its figures are not held here.)

use std::path::PathBuf;
use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../../docs/tutorials.md");
const PG: &str = include_str!("../../../../docs/pg.fio");
const STICK: &str = include_str!("../../../../docs/stick.fio");

/// The commands of the page: those on lines of their own, and those between backquotes.
fn commands() -> Vec<String> {
    let lines = PAGE.lines().map(str::trim).filter(|line| line.starts_with("blksched "));
    let text = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted: Vec<String> = text.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let quoted = quoted.into_iter().filter(|words| words.starts_with("blksched "));
    lines.map(str::to_owned).chain(quoted).collect()
}

/// A line split as by a shell: quotes, a comment, and a redirection.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or(line).split(" > ").next().unwrap_or(line);
    let mut words = Vec::new();
    for (nth, part) in line.split('\'').enumerate() {
        match nth % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn run(folder: &PathBuf, words: &[String]) -> Output {
    blksched_testkit::output(Command::new(env!("CARGO_BIN_EXE_blksched")).args(words).current_dir(folder))
        .expect("the binary runs")
}

/// A directory with the files that a reader has at that point.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("blksched-tutorials-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("docs")).expect("a temporary folder");
    std::fs::write(folder.join("pg.fio"), PG).expect("a file");
    std::fs::write(folder.join("docs/pg.fio"), PG).expect("a file");
    std::fs::write(folder.join("stick.fio"), STICK).expect("a file");
    folder
}

#[test]
fn every_command_of_the_tutorials_runs() {
    let folder = folder();
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    for line in commands {
        let mut words = words(&line)[1..].to_vec();
        // The machine that runs this has no sda.
        words.iter_mut().filter(|word| *word == "sda").for_each(|word| *word = "model:A DISK".to_owned());
        if words[0] == "compare" {
            // Short, to be affordable; the result is not checked.
            if let Some(at) = words.iter().position(|word| word == "--time") {
                words.drain(at..at + 2);
            }
            let time = if words.iter().any(|word| word == "nvme-ssd") { "0.02" } else { "2" };
            words.extend(["--time", time, "--seeds", "1", "--threads", "1"].map(str::to_owned));
        }
        words.iter_mut().filter(|word| *word == "200").for_each(|word| *word = "60".to_owned());
        let output = run(&folder, &words);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {complaint}");
    }
    std::fs::remove_dir_all(folder).expect("it was ours");
}
