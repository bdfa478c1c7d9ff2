//! The results of earlier validations, kept for `compare`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use blksched_simulate::reality::Judged;
use blksched_workloads::host::fs::{FsKind, FsMount};

use super::arguments::ValidateArguments;

/// The file, in the folder of what is remembered.
fn file() -> Option<PathBuf> {
    Some(crate::state::folder()?.join("validated.jsonl"))
}

/// The model as it was named; for a file, its absolute path, so that it is the same from every directory.
fn model(disk: &str) -> String {
    fs::canonicalize(disk).map_or_else(|_| disk.to_owned(), |path| path.display().to_string())
}

/// Adds a line: what speaks for or against the model of the disk. On a file system that is only what does not depend on
/// it (`raw`); the other errors are kept under another name. `is_raw`: whether no disk is a file.
pub(super) fn remember(
    arguments: &ValidateArguments,
    (fs, is_raw): (FsMount, bool),
    (judged, raw): (&Judged, &Judged),
) -> Result<(), String> {
    if judged.errors.is_empty() {
        return Ok(());
    }
    let file = file().ok_or("there is nowhere to remember this: neither XDG_STATE_HOME nor HOME is set")?;
    let common = (model(&arguments.disk), &arguments.on, &arguments.job);
    let line = match fs == FsKind::None && is_raw {
        true => json!({
            "disk": common.0, "on": common.1, "job": common.2, "errors": judged.errors, "right": judged.right(),
            "verdicts": judged.verdicts.len(),
        }),
        false => json!({
            "disk": common.0, "on": common.1, "job": common.2, "errors": raw.errors, "fs": fs.to_string(),
            "errors_on_files": judged.errors,
        }),
    };
    let kept = || -> std::io::Result<()> {
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        writeln!(OpenOptions::new().create(true).append(true).open(&file)?, "{line}")
    };
    kept().map_err(|error| format!("not remembered: {}: {error}", file.display()))
}

/// A prediction with a greater error is useless.
pub(super) const USABLE: f64 = 0.5;

/// How good predictions on this disk have been.
pub(crate) fn sentence(disk: &str) -> Option<String> {
    let lines = fs::read_to_string(file()?).ok()?;
    said(&lines, &model(disk))
}

fn said(lines: &str, disk: &str) -> Option<String> {
    let values: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let own: Vec<&Value> = values.iter().filter(|value| value["disk"] == disk).collect();
    let mut errors: Vec<f64> =
        own.iter().filter_map(|value| value["errors"].as_array()).flatten().filter_map(Value::as_f64).collect();
    errors.sort_by(f64::total_cmp);
    let nine = (errors.len() * 9).div_ceil(10);
    let most = *errors.get(nine.checked_sub(1)?)?;
    let cases = errors.len();
    let sum = |what: &str| own.iter().filter_map(|value| value[what].as_u64()).sum::<u64>();
    let (right, verdicts) = (sum("right"), sum("verdicts"));
    let verdict =
        if verdicts > 0 { format!(", and the verdict right in {right} of {verdicts} jobs") } else { String::new() };
    let figures = match errors.iter().filter(|error| **error <= USABLE).count() {
        _ if most <= USABLE => format!("have been within {:.0} % in {nine} of {cases} cases", most * 100.0),
        near => format!(
            "were off by more than half in {} of {cases} cases: this model is not that disk, so measure it (blksched \
             disk measure) before going by any figure here",
            cases - near
        ),
    };
    Some(format!("predictions on this disk {figures}{verdict} (blksched validate)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_cases_of_ten_are_spoken_of_and_other_disks_left_out() {
        let line = |disk: &str, errors: &str| {
            format!("{{\"disk\":\"{disk}\",\"errors\":[{errors}],\"right\":1,\"verdicts\":2}}\n")
        };
        let lines =
            line("a", "0.01,0.02,0.03,0.04,0.05") + &line("b", "9") + "broken\n" + &line("a", "0.06,0.07,0.08,0.12,3");
        let expected = "predictions on this disk have been within 12 % in 9 of 10 cases, and the verdict right in 2 \
                        of 4 jobs (blksched validate)";
        assert_eq!(said(&lines, "a").as_deref(), Some(expected));
        assert_eq!(said(&lines, "c"), None);
        let off = said(&line("a", "0.1,29.15,28"), "a").unwrap();
        assert!(off.starts_with("predictions on this disk were off by more than half in 2 of 3 cases: "), "{off}");
    }
}
