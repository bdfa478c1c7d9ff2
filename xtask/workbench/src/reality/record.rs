//! A recording: `measured.tsv`, and in `settings.toml` the kernel and a hash of each disk model's current behaviour.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use blksched_simulate::reality::{Row, Set, read, write as table};

/// Rows of the measured jobs and disks replace the existing ones; the others stay.
///
/// # Errors
/// If a file cannot be read or written.
pub fn write(folder: &Path, set: &Set, rows: &[Row]) -> Result<()> {
    let path = folder.join("measured.tsv");
    let before = match fs::read_to_string(&path) {
        Ok(text) => read("measured.tsv", &text).map_err(anyhow::Error::msg)?,
        Err(_) => Vec::new(),
    };
    let measured = |row: &Row| {
        let place = (&row.setting, &row.job, &row.scheduler);
        rows.iter().any(|new| (&new.setting, &new.job, &new.scheduler) == place)
    };
    let mut all: Vec<Row> = before.into_iter().filter(|row| !measured(row)).chain(rows.iter().cloned()).collect();
    all.sort_by(|a, b| (&a.setting, &a.job, &a.scheduler).cmp(&(&b.setting, &b.job, &b.scheduler)));
    fs::write(&path, table(&all)).with_context(|| format!("writing {}", path.display()))?;
    let path = folder.join("settings.toml");
    let mut text = replaced(&fs::read_to_string(&path)?, "", "kernel", &set.kernel);
    for setting in &set.settings {
        let now = setting.model_now().map_err(anyhow::Error::msg)?;
        text = replaced(&text, &setting.name, "model", &now);
    }
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// The text with another value for a key of a table that has it; everything else is unchanged.
fn replaced(text: &str, table: &str, key: &str, value: &str) -> String {
    let mut here = table.is_empty();
    let line = |line: &str| {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            here = name == table;
        }
        let is_it = here && line.split('=').next().is_some_and(|word| word.trim() == key);
        if is_it { format!("{key} = \"{value}\"\n") } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_that_key_of_that_table_changes() {
        let text = "kernel = \"a\"\n[x]\nmodel = \"\"\n[y]\nmodel = \"1\"\ntags = 2\n";
        assert_eq!(replaced(text, "y", "model", "7"), text.replace("\"1\"", "\"7\""));
        assert_eq!(replaced(text, "", "kernel", "b"), text.replace("\"a\"", "\"b\""));
    }
}
