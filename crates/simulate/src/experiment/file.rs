//! An experiment's file: `experiment.toml`, read and checked as a whole before anything runs.

use blksched::{Catalogue, Span};

use super::expand::{self, RunSpec};
use super::expression::{Expression, Misunderstood, fits};
use super::reader::{ExperimentError, Located, Place, Section, Source};
use super::scene::{Director, RESERVED, Setting, WorkloadSpec, kind};
use super::spec::{Experiment, Fit, Part, Row, Run, Sentence, Statistic, TableSpec};

const TOP: [&str; 16] = [
    "title",
    "source",
    "seeds",
    "first_seed",
    "until",
    "workload",
    "run",
    "table",
    "show",
    "why",
    "fit",
    "elevator",
    "knob",
    "disk",
    "queue",
    "host",
];
const RUN: [&str; 3] = ["name", "set", "sweep"];
const TABLE: [&str; 6] = ["title", "value", "unit", "statistic", "claimed", "rows"];
const ROW: [&str; 11] =
    ["label", "run", "value", "unit", "mail", "low", "high", "covers_mail", "each_seed", "claimed", "statistic"];

/// How long a run lasts if nothing is said.
const TIME: Span = Span::from_secs(60);

/// Reads the text of a file that the experiment names, or says why it cannot.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Experiment {
    /// Understand `text`. `file` is what complaints call it, `name` what the experiment is called; job files that it
    /// names are read through `files`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line, column, the offending word and the nearest valid one.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        catalogue: &Catalogue,
        files: Files<'_>,
    ) -> Result<Experiment, ExperimentError> {
        let source = Source { file, text };
        let document = source.parse()?;
        let keys: Vec<&str> = TOP.iter().copied().chain(["time"]).collect();
        let top = Section::open(source, "", document.get_ref(), 0..0, Some(&keys))?;
        let (workloads, base) = workloads(&top, files)?;
        let director = Director { source, catalogue, workloads: &workloads, time: TIME, read: files };
        let specs = run_specs(&top, &base)?;
        let until = top.texts("until")?;
        let runs = specs.iter().map(|spec| run(&director, spec, &until)).collect::<Result<Vec<_>, _>>()?;
        let reader = Rows { source, runs: &runs };
        Ok(Experiment {
            name: name.to_owned(),
            title: top.needs_text("title")?.value,
            source: top.needs_text("source")?.value,
            seeds: count(&top, "seeds", 7, 1..=10_000)? as u32,
            first_seed: count(&top, "first_seed", 1, 0..=u64::MAX)?,
            fits: fits_of(&top, &specs)?,
            tables: top.tables("table", Some(&TABLE))?.iter().map(|t| reader.table(t)).collect::<Result<_, _>>()?,
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
            Err(section.source.complain(&found.at, problem))
        }
    }
}

/// The workloads, and everything that is set for all runs.
fn workloads(top: &Section<'_>, files: Files<'_>) -> Result<(Vec<WorkloadSpec>, Vec<Setting>), ExperimentError> {
    const FROM: [&str; 3] = ["program", "builtin", "job"];
    let mut specs: Vec<WorkloadSpec> = Vec::new();
    let mut base = Vec::new();
    for key in RESERVED {
        for (address, values) in top.leaves(key)? {
            set(top.source, &mut base, &address, &values)?;
        }
    }
    for section in top.tables("workload", None)? {
        let said = FROM.iter().map(|from| Ok(section.text(from)?.map(|word| (*from, word))));
        let said: Vec<_> = said.collect::<Result<Vec<_>, ExperimentError>>()?.into_iter().flatten().collect();
        let [(from, word)] = &said[..] else {
            return Err(section.source.complain(section.at(), "a workload needs one of `program`, `builtin`, `job`"));
        };
        let name = section.text("name")?.unwrap_or_else(|| word.clone());
        let kind = kind(top.source, word, from, files)?;
        if *from != "program" && !specs.is_empty() {
            let problem = "a job file must be the first workload, and the only job file";
            return Err(top.source.complain(&word.at, problem));
        }
        let taken = |name: &str| RESERVED.contains(&name) || specs.iter().any(|other| other.name.value == name);
        if taken(&name.value) || name.value.contains(['.', '*', ' ']) {
            let problem =
                format!("a workload can not be called `{}`: the name is taken, or has a dot or a star", name.value);
            return Err(top.source.complain(&name.at, problem));
        }
        for (key, values) in section.leaves_but(&["name", "program", "builtin", "job"])? {
            let address = Located { value: format!("{}.{}", name.value, key.value), at: key.at };
            set(top.source, &mut base, &address, &values)?;
        }
        specs.push(WorkloadSpec { name, kind });
    }
    if specs.is_empty() {
        return Err(top.missing("workload"));
    }
    Ok((specs, base))
}

fn set(
    source: Source<'_>,
    base: &mut Vec<Setting>,
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

fn run_specs(top: &Section<'_>, base: &[Setting]) -> Result<Vec<RunSpec>, ExperimentError> {
    let mut specs: Vec<RunSpec> = Vec::new();
    for section in top.tables("run", Some(&RUN))? {
        for spec in expand::runs(&section, base)? {
            if specs.iter().any(|other| other.name.value == spec.name.value) {
                let problem = format!("there are two runs called `{}`", spec.name.value);
                return Err(top.source.complain(&spec.name.at, problem));
            }
            specs.push(spec);
        }
    }
    if specs.is_empty() { Err(top.missing("run")) } else { Ok(specs) }
}

fn run(director: &Director<'_>, spec: &RunSpec, until: &[Located<String>]) -> Result<Run, ExperimentError> {
    let scene = director.scene(&spec.settings, &spec.name.at)?;
    let processes = scene.names().map_err(|problem| director.source.complain(&spec.name.at, problem))?;
    let mut awaited = Vec::new();
    for pattern in until {
        let before = awaited.len();
        awaited.extend((0..processes.len()).filter(|&nth| fits(&pattern.value, &processes[nth])));
        if awaited.len() == before {
            let problem = format!("`{}` is no process", pattern.value);
            return Err(director.source.unknown(
                &pattern.at,
                &problem,
                &pattern.value,
                processes.iter().map(String::as_str),
            ));
        }
    }
    Ok(Run { name: spec.name.value.clone(), scene, until: awaited, processes })
}

/// The fitted values; one that names a setting shows that setting's value.
fn fits_of(top: &Section<'_>, specs: &[RunSpec]) -> Result<Vec<Fit>, ExperimentError> {
    let fit = |section: &Section<'_>| {
        let (what, why) = (section.needs_text("what")?, section.needs_text("why")?);
        let settings = || specs.iter().flat_map(|spec| &spec.settings);
        let value = match section.text("value")? {
            Some(value) => value.value,
            None => match settings().find(|setting| setting.address == what.value) {
                Some(setting) => setting.value.clone(),
                None => {
                    let problem = format!("`{}` is set nowhere, and no `value` is given", what.value);
                    return Err(top.source.unknown(
                        &what.at,
                        &problem,
                        &what.value,
                        settings().map(|s| s.address.as_str()),
                    ));
                }
            },
        };
        Ok(Fit { what: what.value, value, why: why.value })
    };
    top.tables("fit", Some(&["what", "value", "why"]))?.iter().map(fit).collect()
}

/// Reads tables, rows and sentences, which name runs and processes.
struct Rows<'t> {
    source: Source<'t>,
    runs: &'t [Run],
}

impl Rows<'_> {
    fn table(&self, section: &Section<'_>) -> Result<TableSpec, ExperimentError> {
        let title = section.needs_text("title")?.value;
        let rows = section.tables("rows", Some(&ROW))?;
        if rows.is_empty() {
            return Err(section.missing("rows"));
        }
        let rows = rows.iter().map(|row| self.row(section, row)).collect::<Result<_, _>>()?;
        Ok(TableSpec { title, rows })
    }

    fn row(&self, table: &Section<'_>, row: &Section<'_>) -> Result<Row, ExperimentError> {
        let text =
            |key: &str| -> Result<Option<Located<String>>, ExperimentError> { Ok(row.text(key)?.or(table.text(key)?)) };
        let number = |key: &str| -> Result<Option<f64>, ExperimentError> { Ok(row.number(key)?.map(|n| n.value)) };
        let truth = |key: &str| -> Result<Option<bool>, ExperimentError> { Ok(row.truth(key)?.map(|t| t.value)) };
        let value = text("value")?.ok_or_else(|| row.missing("value"))?;
        let run = row.text("run")?;
        let expression = self.expression(&value.value, &value.at, run.as_ref())?;
        let label = row.text("label")?.or_else(|| run.clone()).ok_or_else(|| row.missing("label"))?.value;
        let covers_mail = truth("covers_mail")?.unwrap_or(false);
        let (mail, low, high) = (number("mail")?, number("low")?, number("high")?);
        if low.zip(high).is_some_and(|(low, high)| low > high) {
            return Err(self.source.complain(row.at(), "`low` is more than `high`"));
        }
        if covers_mail && mail.is_none() {
            return Err(self.source.complain(row.at(), "`covers_mail` needs the mail's number, `mail = …`"));
        }
        let bounded = low.is_some() || high.is_some() || covers_mail;
        let of_table = table.truth("claimed")?.map(|claimed| claimed.value);
        let claimed = truth("claimed")?.or(of_table).unwrap_or(bounded);
        if claimed && !bounded {
            return Err(self.source.complain(row.at(), "a row that is claimed needs `low`, `high` or `covers_mail`"));
        }
        let statistic = match text("statistic")? {
            None => Statistic::Mean,
            Some(word) => Statistic::ALL.into_iter().find(|known| known.name() == word.value).ok_or_else(|| {
                let problem = format!("`{}` is no statistic", word.value);
                self.source.unknown(&word.at, &problem, &word.value, Statistic::ALL.map(Statistic::name))
            })?,
        };
        let each_seed = truth("each_seed")?.unwrap_or(false);
        let run = run.map(|run| run.value).unwrap_or_default();
        let unit = text("unit")?.map(|unit| unit.value).unwrap_or_default();
        Ok(Row { label, run, expression, unit, mail, low, high, covers_mail, each_seed, claimed, statistic })
    }

    /// Every `[[why]]`, or every `[[show]]`.
    fn sentences(&self, top: &Section<'_>, name: &'static str) -> Result<Vec<Sentence>, ExperimentError> {
        top.tables(name, Some(&["run", "say"]))?.iter().map(|section| self.sentence(section)).collect()
    }

    fn sentence(&self, section: &Section<'_>) -> Result<Sentence, ExperimentError> {
        let (run, say) = (section.text("run")?, section.needs_text("say")?);
        let mut sentence =
            Sentence { run: run.as_ref().map(|run| run.value.clone()).unwrap_or_default(), parts: Vec::new() };
        let mut rest = say.value.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((inside, after)) = behind.split_once('}') else {
                return Err(self.source.complain(&say.at, format!("`{{{behind}` is never closed with `}}`")));
            };
            let (expression, places) = match inside.rsplit_once(":.") {
                Some((expression, digits)) => {
                    let places = digits.parse::<usize>().ok().filter(|&places| places <= 9);
                    let problem = || format!("`:.{digits}` in `{{{inside}}}` is no number of places: expected 0 to 9");
                    (expression, Some(places.ok_or_else(|| self.source.complain(&say.at, problem()))?))
                }
                None => (inside, None),
            };
            let expression = self.expression(expression, &say.at, run.as_ref())?;
            sentence.parts.extend([Part::Words(before.to_owned()), Part::Number(expression, places)]);
            rest = after;
        }
        sentence.parts.push(Part::Words(rest.to_owned()));
        Ok(sentence)
    }

    /// An expression whose every run and process exists.
    fn expression(&self, text: &str, at: &Place, run: Option<&Located<String>>) -> Result<Expression, ExperimentError> {
        let expression = Expression::parse(text).map_err(|error| self.misunderstood(text, at, error))?;
        let named = expression.runs().into_iter().map(|name| (name, at));
        for (pattern, at) in named.chain(run.map(|run| (run.value.as_str(), &run.at))) {
            if !self.runs.iter().any(|run| fits(pattern, &run.name)) {
                let known = self.runs.iter().map(|run| run.name.as_str());
                return Err(self.source.unknown(at, &format!("`{pattern}` is no run"), pattern, known));
            }
        }
        if run.is_none() && !expression.names_every_run() {
            return Err(self.source.complain(at, format!("`{text}` does not say of which run: `run = …` or `…@run`")));
        }
        for pattern in expression.processes() {
            let processes = || self.runs.iter().flat_map(|run| &run.processes);
            if !processes().any(|name| fits(pattern, name)) {
                let mut known: Vec<&str> = processes().map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                return Err(self.source.unknown(at, &format!("`{pattern}` is no process"), pattern, known));
            }
        }
        Ok(expression)
    }

    fn misunderstood(&self, text: &str, at: &Place, error: Misunderstood) -> ExperimentError {
        let problem = format!("in `{text}`: {}", error.problem);
        if error.known.is_empty() {
            return self.source.complain(at, problem);
        }
        self.source.unknown(at, &problem, &error.word, error.known)
    }
}
