//! From `[[run]]` with its sweeps to the runs themselves.

use super::reader::{ExperimentError, Leaf, Located, Section, Source};
use super::scene::SceneSetting;

/// One run: its name and all its settings.
#[derive(Clone, Debug)]
pub(super) struct RunSpec {
    pub(super) name: Located<String>,
    pub(super) settings: Vec<SceneSetting>,
    /// The addresses of its sweeps, and those that the machine explains.
    pub(super) explained: Vec<String>,
}

/// Every run of a `[[run]]` table, with its settings added to those for all runs.
pub(super) fn runs(section: &Section<'_>, base: &[SceneSetting]) -> Result<Vec<RunSpec>, ExperimentError> {
    let name = section.needs_text("name")?;
    let mut settings = base.to_vec();
    for (address, values) in section.leaves_below("set")? {
        let [value] = &values[..] else {
            let problem = format!("`{}` has {} values: a list belongs in `sweep`", address.value, values.len());
            return Err(section.complain(&address.at, problem));
        };
        replace(&mut settings, &address, value);
    }
    let sweeps = section.leaves_below("sweep")?;
    if let Some((address, _)) = sweeps.iter().find(|(_, values)| values.is_empty()) {
        return Err(section.complain(&address.at, format!("`{}` takes no value at all", address.value)));
    }
    let mut runs = vec![RunSpec { name: name.clone(), settings, explained: Vec::new() }];
    for sweep in &sweeps {
        runs = runs.iter().flat_map(|run| vary(run, sweep)).collect();
    }
    runs.iter().try_for_each(|run| check_name(section.source(), run))?;
    Ok(runs)
}

fn vary(run: &RunSpec, (address, values): &Leaf) -> Vec<RunSpec> {
    let with = |value: &Located<String>| {
        let mut settings = run.settings.clone();
        replace(&mut settings, address, value);
        let name = run.name.value.replace(&format!("{{{}}}", address.value), &value.value);
        let explained = run.explained.iter().chain([&address.value]).cloned().collect();
        RunSpec { name: Located { value: name, at: run.name.at.clone() }, settings, explained }
    };
    values.iter().map(with).collect()
}

/// Replaces a setting: the last one counts.
pub(super) fn replace(settings: &mut Vec<SceneSetting>, address: &Located<String>, value: &Located<String>) {
    settings.retain(|setting| setting.address != address.value);
    settings.push(SceneSetting { address: address.value.clone(), value: value.value.clone(), at: value.at.clone() });
}

fn check_name(source: Source<'_>, run: &RunSpec) -> Result<(), ExperimentError> {
    match run.name.value.split_once('{') {
        None => Ok(()),
        Some((_, rest)) => {
            let word = rest.split('}').next().unwrap_or(rest);
            Err(source.complain(&run.name.at, format!("`{{{word}}}` in the run's name is not swept over")))
        }
    }
}
