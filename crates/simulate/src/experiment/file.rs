//! An experiment's file: `experiment.toml`, read and checked as a whole before anything runs.

use blksched::{Catalogue, Span};

use super::expand::{self, RunSpec};
use super::expression::fits;
use super::machine::Machine;
use super::reader::{ExperimentError, Located, Section, Source};
use super::rows::{Rows, TABLE};
use super::scene::{Director, RESERVED, SceneSetting, WorkloadSpec, kind};
use super::spec::{Experiment, ExperimentRun, FittedSetting};

const TOP: &[&str] = &[
    "title",
    "source",
    "machine",
    "seeds",
    "first_seed",
    "until",
    "workload",
    "run",
    "table",
    "show",
    "why",
    "fit",
    "given",
    "assumed",
    "elevator",
    "knob",
    "disk",
    "queue",
    "host",
    "time",
];
const RUN: &[&str] = &["name", "set", "sweep"];

/// The default length of a run.
const TIME: Span = Span::from_secs(60);

/// The default rate of a machine's timer interrupts [1/s]: 2.5's on a PC.
const TIMER: u32 = 1000;

/// Returns the text of a file that the experiment names, or the reason why it cannot.
pub type FileReader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Experiment {
    /// Parses `text`. `file` is its name in messages, `name` the experiment's; job files that it names are read through
    /// `files`.
    ///
    /// # Errors
    /// The first error, with its line, column, the offending word and the nearest valid one.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        catalogue: &Catalogue,
        files: FileReader<'_>,
    ) -> Result<Experiment, ExperimentError> {
        let source = Source { file, text };
        let document = source.parse()?;
        let top = Section::open(source, "", document.get_ref(), 0..0, TOP)?;
        let machine = Machine::of(&top, files)?;
        let (workloads, base) = workloads(&top, &machine, files)?;
        let director = Director { source, catalogue, workloads: &workloads, time: TIME, read: files };
        let mut specs = run_specs(&top, &base)?;
        specs.iter_mut().try_for_each(|spec| machine.settle(source, spec))?;
        let until = top.texts("until")?;
        let runs = specs.iter().map(|spec| run(&director, spec, &until)).collect::<Result<Vec<_>, _>>()?;
        let reader = Rows { source, runs: &runs };
        Ok(Experiment {
            name: name.to_owned(),
            title: top.needs_text("title")?.value,
            source: top.needs_text("source")?.value,
            seeds: count(&top, "seeds", 7, 1..=10_000)? as u32,
            first_seed: count(&top, "first_seed", 1, 0..=u64::MAX)?,
            timer: machine.hz.unwrap_or(TIMER),
            machine: machine.title.clone(),
            fits: reasons(&top, "fit", &specs, machine.fits)?,
            given: reasons(&top, "given", &specs, machine.given)?,
            assumed: reasons(&top, "assumed", &specs, machine.assumed)?,
            tables: top.sections("table", TABLE)?.iter().map(|t| reader.table(t)).collect::<Result<_, _>>()?,
            shows: reader.sentences(&top, "show")?,
            whys: reader.sentences(&top, "why")?,
            runs,
        })
    }
}

fn count(
    section: &Section<'_>,
    key: &str,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, ExperimentError> {
    match section.count(key)? {
        None => Ok(default),
        Some(found) if range.contains(&found.value) => Ok(found.value),
        Some(found) => {
            let problem = format!("`{key}` is {}: expected {} to {}", found.value, range.start(), range.end());
            Err(section.complain(&found.at, problem))
        }
    }
}

/// The workloads, and the settings for all runs.
fn workloads(
    top: &Section<'_>,
    machine: &Machine,
    files: FileReader<'_>,
) -> Result<(Vec<WorkloadSpec>, Vec<SceneSetting>), ExperimentError> {
    const FROM: [&str; 3] = ["program", "builtin", "job"];
    let mut specs: Vec<WorkloadSpec> = Vec::new();
    let mut base = machine.settings.clone();
    for key in RESERVED {
        for (address, values) in top.leaves(key)? {
            set(top.source(), &mut base, &address, &values)?;
        }
    }
    for (table, at) in top.tables("workload")? {
        let section = Section::unjudged(top.source(), "workload", table, at);
        let said = FROM.iter().map(|from| Ok(section.text(from)?.map(|word| (*from, word))));
        let said: Vec<_> = said.collect::<Result<Vec<_>, ExperimentError>>()?.into_iter().flatten().collect();
        let [(from, word)] = &said[..] else {
            return Err(section.complain(section.at(), "a workload needs one of `program`, `builtin`, `job`"));
        };
        let name = section.text("name")?.unwrap_or_else(|| word.clone());
        let kind = kind(top.source(), word, from, files)?;
        if *from != "program" && !specs.is_empty() {
            let problem = "a job file must be the first workload, and the only job file";
            return Err(top.complain(&word.at, problem));
        }
        let taken = |name: &str| RESERVED.contains(&name) || specs.iter().any(|other| other.name.value == name);
        if taken(&name.value) || name.value.contains(['.', '*', ' ']) {
            let problem =
                format!("a workload cannot be called `{}`: the name is taken, or has a dot or a star", name.value);
            return Err(top.complain(&name.at, problem));
        }
        for (key, values) in section.leaves_but(&["name", "program", "builtin", "job"])? {
            let address = Located { value: format!("{}.{}", name.value, key.value), at: key.at };
            set(top.source(), &mut base, &address, &values)?;
        }
        specs.push(WorkloadSpec { name, kind });
    }
    if specs.is_empty() {
        return Err(top.missing("the key `workload`"));
    }
    Ok((specs, base))
}

fn set(
    source: Source<'_>,
    base: &mut Vec<SceneSetting>,
    address: &Located<String>,
    values: &[Located<String>],
) -> Result<(), ExperimentError> {
    let [value] = values else {
        return Err(
            source.complain(&address.at, format!("`{}` is a list: a list belongs in a run's `sweep`", address.value))
        );
    };
    expand::replace(base, address, value);
    Ok(())
}

fn run_specs(top: &Section<'_>, base: &[SceneSetting]) -> Result<Vec<RunSpec>, ExperimentError> {
    let mut specs: Vec<RunSpec> = Vec::new();
    for section in top.sections("run", RUN)? {
        for spec in expand::runs(&section, base)? {
            if specs.iter().any(|other| other.name.value == spec.name.value) {
                let problem = format!("there are two runs called `{}`", spec.name.value);
                return Err(top.complain(&spec.name.at, problem));
            }
            specs.push(spec);
        }
    }
    if specs.is_empty() { Err(top.missing("the key `run`")) } else { Ok(specs) }
}

fn run(director: &Director<'_>, spec: &RunSpec, until: &[Located<String>]) -> Result<ExperimentRun, ExperimentError> {
    let scene = director.scene(&spec.settings, &spec.name.at)?;
    let processes = scene.names().map_err(|problem| director.source.complain(&spec.name.at, problem))?;
    let mut awaited = Vec::new();
    for pattern in until {
        let before = awaited.len();
        awaited.extend((0..processes.len()).filter(|&nth| fits(&pattern.value, &processes[nth])));
        if awaited.len() == before {
            let problem = format!("`{}` is not a process", pattern.value);
            return Err(director.source.unknown(
                &pattern.at,
                &problem,
                &pattern.value,
                processes.iter().map(String::as_str),
            ));
        }
    }
    let setting = |setting: &SceneSetting| (setting.address.clone(), setting.value.clone());
    let settings = spec.settings.iter().map(setting).collect();
    Ok(ExperimentRun {
        name: spec.name.value.clone(),
        scene,
        until: awaited,
        processes,
        settings,
        explained: spec.explained.clone(),
    })
}

/// Values and the reasons for them: the machine's, then those of the list `name`. One that names a setting shows that
/// setting's value.
fn reasons(
    top: &Section<'_>,
    name: &'static str,
    specs: &[RunSpec],
    of_machine: Vec<FittedSetting>,
) -> Result<Vec<FittedSetting>, ExperimentError> {
    let settings = || specs.iter().flat_map(|spec| &spec.settings);
    let value_of = |what: &str| settings().find(|setting| setting.address == what).map(|setting| setting.value.clone());
    let reason = |section: &Section<'_>| {
        let (what, why) = (section.needs_text("what")?, section.needs_text("why")?);
        let value = match section.text("value")? {
            Some(value) => value.value,
            None => value_of(&what.value).ok_or_else(|| {
                let problem = format!("`{}` is set nowhere, and no `value` is given", what.value);
                let known: std::collections::BTreeSet<&str> = settings().map(|s| s.address.as_str()).collect();
                top.source().unknown(&what.at, &problem, &what.value, known)
            })?,
        };
        Ok(FittedSetting { what: what.value, value, why: why.value })
    };
    of_machine.into_iter().map(Ok).chain(top.sections(name, &["what", "value", "why"])?.iter().map(reason)).collect()
}
