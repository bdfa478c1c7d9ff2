//! A plan, and its nth run. A plan is not expanded: a million runs are a few lists.
//!
//! **Order** load, disk, scheduler with its knobs, seed; the last changes fastest.

use blksched::{Catalogue, Span};
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, HostSettings, contenders, stem};
use blksched_simulate::Starts;
use blksched_text::{did_you_mean, name_of_path, path_of_name};
use blksched_workloads::host::fs::FsMount;
use toml::de::{DeTable, DeValue};

use super::axis::{Axis, DRAWS, random};
use super::reader::{PlacedValue, SweepFile};
use crate::failure::Failure;
use crate::input::{traces, uri};
use crate::scene::{host, some_time};

/// A plan.
pub(crate) struct SweepPlan {
    /// The words of each load, as for `compare`.
    pub(super) loads: Vec<Vec<String>>,
    pub(super) disks: Vec<String>,
    families: Vec<Family>,
    seeds: Seeds,
    pub(super) time: Option<Span>,
    host: HostSettings,
    fs: Option<FsMount>,
    starts: Starts,
}

/// A scheduler and the knobs changed on it.
struct Family {
    base: Contender,
    axes: Vec<Axis>,
    /// The number of joint draws of all knobs, instead of every combination.
    draws: Option<u64>,
}

enum Seeds {
    From { first: u64, count: u64 },
    These(Vec<u64>),
}

impl Seeds {
    fn len(&self) -> u64 {
        match self {
            Seeds::From { count, .. } => *count,
            Seeds::These(seeds) => seeds.len() as u64,
        }
    }

    fn nth(&self, nth: u64) -> u64 {
        match self {
            Seeds::From { first, .. } => first.wrapping_add(nth),
            Seeds::These(seeds) => seeds[nth as usize],
        }
    }
}

impl Family {
    fn len(&self) -> Option<u64> {
        match self.draws {
            Some(draws) => Some(draws),
            None => self.axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(axis.len())),
        }
    }

    fn nth(&self, nth: u64) -> Contender {
        let mut rest = nth;
        let mut turned = Vec::with_capacity(self.axes.len());
        // The last knob changes fastest.
        for axis in self.axes.iter().rev() {
            let raw = match self.draws {
                Some(_) => axis.drawn(random(&axis.name, 1, nth)),
                None => {
                    let digit = rest % axis.len();
                    rest /= axis.len();
                    axis.nth(digit)
                }
            };
            turned.push((axis.name.clone(), raw));
        }
        turned.reverse();
        self.base.with(&turned)
    }
}

/// All keys of a plan.
const KEYS: [&str; 9] = ["loads", "disks", "schedulers", "knobs", "seeds", "time", "host", "fs", "starts"];
/// The most runs of a plan.
const MOST_RUNS: u64 = 1 << 40;

impl SweepPlan {
    /// Reads and checks a plan; traces are checked when they are run.
    pub(super) fn read(file: &str, text: &str, catalogue: &Catalogue) -> Result<SweepPlan, Failure> {
        let source = SweepFile { file, text };
        let document = source.parse()?;
        let (table, at) = (document.get_ref(), 0..0);
        source.only(table, &KEYS, "here")?;
        let mut loads = Vec::new();
        for value in source.list(table, at.clone(), "loads", r#"["reader-and-writer", "my.fio", "traces/*.gz"]"#)? {
            loads.extend(load(source, value)?);
        }
        let disks = source.list(table, at.clone(), "disks", r#"["hdd-7200", "my-disk.toml"]"#)?;
        let disk = |value: &PlacedValue<'_>| {
            let name = source.text("disks", value)?;
            blksched_disks::load(&name).map_err(|error| source.wrong(value.span(), error.to_string()))?;
            Ok(name)
        };
        let disks = disks.iter().map(disk).collect::<Result<_, Failure>>()?;
        let mut families = Vec::new();
        for value in source.list(table, at, "schedulers", r#"["mq-deadline", "bfq:slice_idle=0/8ms"]"#)? {
            let text = source.text("schedulers", value)?;
            let bases =
                contenders("schedulers", &[text], &[], catalogue).map_err(|why| located(source, value, why.into()))?;
            families.extend(bases.into_iter().map(|base| Family { base, axes: Vec::new(), draws: None }));
        }
        knobs(source, table, &mut families)?;
        let told = |key: &str| table.get(key).map(|value| source.scalar(value).map(|text| (text, value))).transpose();
        let time = told("time")?.map(|(text, value)| some_time(&text).map_err(|why| source.wrong(value.span(), why)));
        let host = told("host")?.map(|(text, value)| host(&text).map_err(|why| source.wrong(value.span(), why)));
        let fs = told("fs")?;
        let fs =
            fs.map(|(text, value)| FsMount::named(&text).map_err(|why| source.wrong(value.span(), why.to_string())));
        let starts = match told("starts")? {
            None => Starts::Drawn(0),
            Some((word, value)) => {
                Starts::named(&word).map_err(|why| source.wrong(value.span(), format!("starts: {why}")))?
            }
        };
        let seeds = seeds(source, table)?;
        let (time, host, fs) = (time.transpose()?, host.transpose()?.unwrap_or_default(), fs.transpose()?);
        let plan = SweepPlan { loads, disks, families, seeds, time, host, fs, starts };
        plan.checked_len().ok_or_else(|| source.wrong(0..0, format!("more than {MOST_RUNS} runs")))?;
        Ok(plan)
    }

    fn checked_len(&self) -> Option<u64> {
        let settings = self.families.iter().try_fold(0_u64, |sum, family| sum.checked_add(family.len()?))?;
        let groups = (self.loads.len() as u64).checked_mul(self.disks.len() as u64)?;
        let runs = settings.checked_mul(self.seeds.len())?.checked_mul(groups)?;
        (runs <= MOST_RUNS).then_some(runs)
    }

    /// The number of runs.
    pub(super) fn len(&self) -> u64 {
        self.groups() * self.per_group()
    }

    /// The number of groups: loads times disks.
    pub(super) fn groups(&self) -> u64 {
        (self.loads.len() * self.disks.len()) as u64
    }

    /// The number of schedulers with their knobs.
    pub(super) fn settings(&self) -> u64 {
        self.families.iter().filter_map(Family::len).sum()
    }

    pub(super) fn seeds(&self) -> u64 {
        self.seeds.len()
    }

    /// The number of runs of one load on one disk.
    pub(super) fn per_group(&self) -> u64 {
        self.settings() * self.seeds.len()
    }

    /// The load and the disk of a group.
    pub(super) fn group(&self, group: u64) -> (usize, usize) {
        let disks = self.disks.len() as u64;
        ((group / disks) as usize, (group % disks) as usize)
    }

    /// The scheduler and the seed of the nth run of a group.
    pub(super) fn cell(&self, nth: u64) -> (Contender, u64) {
        let (mut setting, seed) = (nth / self.seeds.len(), nth % self.seeds.len());
        for family in &self.families {
            let len = family.len().unwrap_or(0);
            if setting < len {
                return (family.nth(setting), self.seeds.nth(seed));
            }
            setting -= len;
        }
        unreachable!("the run is one of the plan's")
    }

    /// What all runs of a group have in common.
    pub(super) fn scene(&self, group: u64) -> Scene {
        let (load, disk) = self.group(group);
        let mut scene = Scene::of("", &self.disks[disk], self.seeds.nth(0));
        scene.jobs.clone_from(&self.loads[load]);
        scene.time = self.time;
        scene.host = self.host.clone();
        scene.fs = self.fs;
        scene.starts = self.starts;
        scene
    }

    /// Every knob that it changes, sorted: each is a column.
    pub(super) fn knobs(&self) -> Vec<String> {
        let of = |family: &Family| {
            let around = family.base.around.settings().into_iter().map(|(name, _)| name.to_owned());
            let own = family.base.knobs.iter().map(|(name, _)| name.clone());
            own.chain(around).chain(family.axes.iter().map(|axis| axis.name.clone())).collect::<Vec<_>>()
        };
        let mut names: Vec<String> = self.families.iter().flat_map(of).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Adds its place to an error of `contenders`.
fn located(source: SweepFile<'_>, value: &PlacedValue<'_>, why: Failure) -> Failure {
    match why {
        Failure::Input(text) => source.wrong(value.span(), text),
        other => other,
    }
}

/// Reads `[knobs.NAME]`, which applies to every scheduler of that name, or to that exact specification.
fn knobs(source: SweepFile<'_>, table: &DeTable<'_>, families: &mut [Family]) -> Result<(), Failure> {
    let Some(value) = table.get("knobs") else { return Ok(()) };
    let DeValue::Table(all) = value.get_ref() else {
        return Err(source.wrong(value.span(), "`knobs` is not a table: expected [knobs.SCHEDULER]"));
    };
    for (target, value) in all.iter() {
        let name: &str = target.get_ref();
        let DeValue::Table(table) = value.get_ref() else {
            return Err(source.wrong(value.span(), format!("expected a table, as in [knobs.{name}]")));
        };
        let is_meant =
            |family: &Family| name == family.base.choice.entry.name || name == family.base.choice.to_string();
        if !families.iter().any(is_meant) {
            let known: Vec<String> = families.iter().map(|family| family.base.choice.to_string()).collect();
            let near = did_you_mean(name, known.iter().map(String::as_str));
            let problem = format!("`{name}` is none of the plan's schedulers ({})", known.join(", "));
            return Err(source.wrong(target.span(), problem + &near));
        }
        let draws = table.get(DRAWS).map(|value| source.count(DRAWS, value)).transpose()?;
        if draws == Some(0) {
            return Err(source.wrong(value.span(), "`draws` = 0: expected one at least"));
        }
        for family in families.iter_mut().filter(|family| is_meant(family)) {
            for (knob, value) in table.iter().filter(|(knob, _)| knob.get_ref() != DRAWS) {
                let name: &str = knob.get_ref();
                if !family.base.knows(name) {
                    // The error that lists the knobs.
                    let problem = family.base.clone().turn(name, "0").err().map_or_else(String::new, |why| why.message);
                    return Err(source.wrong(knob.span(), problem));
                }
                family.axes.push(Axis::read(source, &family.base, name, value, draws.is_some())?);
            }
            family.draws = draws;
        }
    }
    Ok(())
}

/// Reads `seeds = 50`, `seeds = [1, 7]` or `seeds = { first = 100, count = 50 }`; one seed by default.
fn seeds(source: SweepFile<'_>, table: &DeTable<'_>) -> Result<Seeds, Failure> {
    let Some(value) = table.get("seeds") else { return Ok(Seeds::From { first: 1, count: 1 }) };
    let seeds = match value.get_ref() {
        DeValue::Array(items) => {
            Seeds::These(items.iter().map(|item| source.count("seeds", item)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            source.only(table, &["first", "count"], "in `seeds`")?;
            let number = |key: &str| table.get(key).map_or(Ok(1), |value| source.count(key, value));
            Seeds::From { first: number("first")?, count: number("count")? }
        }
        _ => Seeds::From { first: 1, count: source.count("seeds", value)? },
    };
    if seeds.len() == 0 { Err(source.wrong(value.span(), "no seed: expected one at least")) } else { Ok(seeds) }
}

/// The loads of one item: a text of words, or a list of them; a file pattern yields a load for each file.
fn load(source: SweepFile<'_>, value: &PlacedValue<'_>) -> Result<Vec<Vec<String>>, Failure> {
    let words: Vec<String> = match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| source.text("loads", item)).collect::<Result<_, _>>()?,
        _ => {
            let text = source.text("loads", value)?;
            let whole = path_of_name(&text).exists();
            if whole { vec![text] } else { text.split_whitespace().map(str::to_owned).collect() }
        }
    };
    match &words[..] {
        [] => Err(source.wrong(value.span(), "a load without a word")),
        [word] if is_pattern(word) => matches(word).map_err(|problem| source.wrong(value.span(), problem)),
        _ => Ok(vec![words]),
    }
}

fn is_pattern(word: &str) -> bool {
    let named = if uri::is_uri(word) { uri::split(word).0 } else { word };
    named.contains(['*', '?', '[']) && !path_of_name(word).exists()
}

/// The files of a pattern, each with the parameters after the colon; those of one trace are one load.
fn matches(word: &str) -> Result<Vec<Vec<String>>, String> {
    let word = &*uri::local(word)?;
    let (pattern, said) = if uri::is_uri(word) { uri::split(word) } else { word.split_once(':').unwrap_or((word, "")) };
    let names = if uri::is_uri(word) { uri::matches(pattern)? } else { files(pattern)? };
    let mut loads: Vec<Vec<String>> = Vec::new();
    for name in names {
        let is_one = if uri::is_uri(&name) { traces::is_per_cpu(&name) } else { traces::is_one(&name) };
        let stem = if is_one { stem(&name).unwrap_or(&name).to_owned() } else { name };
        let load = vec![if said.is_empty() { stem } else { format!("{stem}:{said}") }];
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    if loads.is_empty() { Err(format!("`{pattern}` matches nothing")) } else { Ok(loads) }
}

fn files(pattern: &str) -> Result<Vec<String>, String> {
    let paths = glob::glob(pattern).map_err(|error| format!("`{pattern}`: {error}"))?;
    let named = |path: glob::GlobResult| path.map(|path| name_of_path(path.as_os_str()));
    paths.map(|path| named(path).map_err(|error| error.to_string())).collect()
}
