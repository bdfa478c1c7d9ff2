//! A damaged experiment is refused in words or still makes sense, but never ends in a panic; and the one in the manual
//! works.

use blksched::Catalogue;
use blksched_simulate::experiment::{BUILTINS, Experiment, ExperimentError};

fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    let known = |name: &str| {
        let mut files = BUILTINS.iter().flat_map(|builtin| builtin.files).filter(|(file, _)| *file == name);
        files.next().map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("no file {name}"))
    };
    Experiment::parse("x", "x.toml", text, &Catalogue::builtin(), &known)
}

/// Checks that an error has a place within the text.
fn judge(text: &str) {
    if let Err(error) = parse(text) {
        assert!(error.line <= text.lines().count() + 1 && !error.problem.is_empty(), "{error}");
    }
}

#[test]
fn a_file_that_lacks_a_line_is_refused_or_makes_sense() {
    for builtin in BUILTINS {
        let lines: Vec<&str> = builtin.text.lines().collect();
        for missing in (0..lines.len()).step_by(3) {
            let text: Vec<&str> =
                lines.iter().enumerate().filter(|(nth, _)| *nth != missing).map(|(_, l)| *l).collect();
            judge(&text.join("\n"));
        }
    }
}

#[test]
fn numbers_and_sizes_at_the_ends_of_their_ranges_are_refused_or_make_sense() {
    let workloads = ["dd", "cat", "tree-readers", "tiobench"];
    for program in workloads {
        let known = blksched_workloads::programs::program(program).unwrap();
        for parameter in known.parameters {
            for value in ["0", "0B", "1B", "8PiB", "9007199254740992B", "18446744073709551615", "0ms", "100%", "-1", ""]
            {
                let text = format!(
                    "title = \"\"\nsource = \"\"\nelevator = \"noop\"\ndisk.preset = \"null\"\n[[workload]]\n\
                     name = \"w\"\nprogram = \"{program}\"\n{} = \"{value}\"\n[[run]]\nname = \"r\"\n",
                    parameter.name
                );
                judge(&text);
            }
        }
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused_or_makes_sense() {
    let text = BUILTINS[0].text;
    for end in (0..text.len()).step_by(7).filter(|&end| text.is_char_boundary(end)) {
        judge(&text[..end]);
    }
}

#[test]
fn the_manuals_example_works() {
    let manual = include_str!("../../../../docs/experiments.md");
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let experiment = parse(example).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((experiment.runs.len(), experiment.tables[0].rows.len(), experiment.whys.len()), (2, 3, 1));
}
