//! The report of each verb.

use blksched::{Catalogue, Span};
use blksched_measure::Table;
use blksched_report::{Against, Download, Grid, Published, PublishedRow, Report, ShownAnswer};
use blksched_simulate::Trial;
use blksched_traces::call_log::CallLog;

use super::answer::{facts, grid, jobs, made, pictured, verdict};
use super::{Pictures, collected, fill, slowest, watched};
use crate::compare::measured::Measured;
use crate::experiment::Answered;
use crate::explain::{Names, replay, unknown_disk};
use crate::failure::Failure;
use crate::input::{Contender, Stage};
use crate::scene::Scene;
use crate::trust;

/// The results of a comparison.
pub(crate) struct Compared<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) scene: &'a Scene,
    pub(crate) contenders: &'a [Contender],
    pub(crate) measured: &'a [Measured],
    pub(crate) heading: String,
    pub(crate) used: String,
    pub(crate) sentences: &'a [String],
    /// The name of the recommended scheduler.
    pub(crate) proposed: Option<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) notes: &'a [String],
    pub(crate) json: String,
    pub(crate) csv: String,
    /// The first seed, and the longest simulated time of a run.
    pub(crate) first: u64,
    pub(crate) limit: Span,
}

fn download(name: &str, media_type: &'static str, text: String) -> Download {
    Download { name: name.to_owned(), media_type, text }
}

pub(crate) fn compared(pictures: &Pictures, of: &Compared<'_>) -> Result<Vec<String>, Failure> {
    let Compared { stage, scene, contenders, measured, .. } = of;
    let names = Names::of(&stage.plan);
    let run = |one: &Contender| {
        let trial = Trial { seed: of.first, ..stage.trial(scene, one, of.limit) };
        watched(&trial, &one.name, &names)
    };
    let runs = contenders.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let seeds = measured.first().map_or(1, |first| first.jain.values().len());
    let mut answer = ShownAnswer {
        title: format!("{} on {}: {} schedulers", stage.workload.name, stage.disk.name, contenders.len()),
        heading: of.heading.clone(),
        proposed: of.proposed.clone(),
        tables: vec![jobs(measured)],
        trust: trust::sentences(&stage.disk_name, &stage.disk),
        facts: facts(stage, scene, (of.first, seeds)),
        pictured: pictured(stage, (of.first, seeds)),
        notes: of.notes.to_vec(),
        ..ShownAnswer::default()
    };
    answer.facts.extend(knobs(measured));
    answer.facts.push(("around the schedulers".to_owned(), of.used.clone()));
    answer.tables.extend(of.tables.iter().map(grid));
    verdict(&mut answer, of.sentences);
    let downloads = vec![
        download("compare.json", "application/json", of.json.clone()),
        download("compare.csv", "text/csv", of.csv.clone()),
    ];
    let proposed = contenders.iter().position(|one| Some(&one.name) == of.proposed.as_ref());
    pictures.write(Report { answer, runs, proposed, downloads, ..Report::default() })
}

/// The changed knobs of each scheduler.
fn knobs(measured: &[Measured]) -> Option<(String, String)> {
    let turned = measured.iter().filter(|one| !one.knobs.is_empty());
    let said: Vec<String> = turned.map(|one| format!("{}: {}", one.name, one.knobs.join(", "))).collect();
    let said = if said.is_empty() { "as the kernels have them".to_owned() } else { said.join("; ") };
    Some(("knobs".to_owned(), said))
}

pub(crate) fn simulated(
    pictures: &Pictures,
    (stage, scene, contender): (&Stage, &Scene, &Contender),
    trial: &Trial,
    measured: &Measured,
    json: String,
) -> Result<Vec<String>, Failure> {
    let run = watched(trial, &contender.name, &Names::of(&stage.plan))?;
    let answer = ShownAnswer {
        title: format!("{} on {} under {}", stage.workload.name, stage.disk.name, contender.name),
        tables: vec![jobs(std::slice::from_ref(measured))],
        trust: trust::sentences(&stage.disk_name, &stage.disk),
        facts: facts(stage, scene, (scene.seed, 1)),
        pictured: pictured(stage, (scene.seed, 1)),
        notes: stage.notes(),
        ..ShownAnswer::default()
    };
    let downloads = vec![download("simulate.json", "application/json", json)];
    pictures.write(Report { answer, runs: vec![run], downloads, ..Report::default() })
}

/// Stories and the blame table, which say more than the jobs' figures.
pub(crate) fn explained(
    pictures: &Pictures,
    (stage, scene, contender): (&Stage, &Scene, &Contender),
    trial: &Trial,
    (stories, blame): (Vec<String>, &Table),
    json: String,
) -> Result<Vec<String>, Failure> {
    let run = watched(trial, &contender.name, &Names::of(&stage.plan))?;
    let answer = ShownAnswer {
        title: format!("{} on {} under {}: why it was late", stage.workload.name, stage.disk.name, contender.name),
        sentences: stories,
        tables: vec![grid(blame)],
        trust: trust::sentences(&stage.disk_name, &stage.disk),
        facts: facts(stage, scene, (scene.seed, 1)),
        pictured: pictured(stage, (scene.seed, 1)),
        notes: stage.notes(),
        ..ShownAnswer::default()
    };
    let downloads = vec![download("explain.json", "application/json", json)];
    pictures.write(Report { answer, runs: vec![run], downloads, ..Report::default() })
}

/// A server's recording, whose calls are made again.
pub(crate) fn recorded(
    pictures: &Pictures,
    (file, log, names): (&str, &CallLog, &Names),
    (stories, blame): (Vec<String>, &Table),
    json: String,
    catalogue: &Catalogue,
) -> Result<Vec<String>, Failure> {
    let (mut run, teller) =
        collected(unknown_disk(slowest()), names, |onlooker| replay(file, log, onlooker, catalogue))?;
    run.name = log.header.elevator.clone();
    run.disk_sectors = run.sent.iter().map(|sent| sent.sector + u64::from(sent.sectors)).max().unwrap_or(1);
    fill(&mut run, &teller, names);
    let answer = ShownAnswer {
        title: format!("{file}: what a server's queue did, under {}", run.name),
        sentences: stories,
        tables: vec![grid(blame)],
        facts: made(),
        ..ShownAnswer::default()
    };
    let downloads = vec![download("explain.json", "application/json", json)];
    pictures.write(Report { answer, runs: vec![run], downloads, ..Report::default() })
}

/// Published tables beside ours.
pub(crate) fn experiments(pictures: &Pictures, answered: &[Answered], json: String) -> Result<Vec<String>, Failure> {
    let published: Vec<Published> = answered.iter().map(Answered::published).collect();
    let rows = || published.iter().flat_map(|one| &one.rows);
    let inside = rows().filter(|row| row.inside == Some(true)).count();
    let bound = rows().filter(|row| row.inside.is_some()).count();
    let names: Vec<&str> = published.iter().map(|one| one.name.as_str()).collect();
    let answer = ShownAnswer {
        title: format!("Published and simulated: {}", names.join(", ")),
        heading: match bound {
            0 => "no row has a bound, so no published value is checked against ours".to_owned(),
            _ => format!("{inside} of {bound} rows with a bound lie within it"),
        },
        sentences: published.iter().flat_map(|one| one.why.iter().map(|why| format!("{}: {why}", one.name))).collect(),
        facts: made(),
        ..ShownAnswer::default()
    };
    let published = published.into_iter().map(|one| Published { why: Vec::new(), ..one }).collect();
    let downloads = vec![download("experiment.json", "application/json", json)];
    pictures.write(Report { answer, published, downloads, ..Report::default() })
}

/// Predicted beside measured.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) fn validated(
    pictures: &Pictures,
    (title, heading, sentences): (String, String, Vec<String>),
    (table, rows): (Grid, Vec<PublishedRow>),
    json: String,
) -> Result<Vec<String>, Failure> {
    let published = vec![Published {
        against: Against::Measured,
        name: title.clone(),
        source: "measured by fio on the disk (◇), predicted by the model (●); the bar is ±20 % of what was measured"
            .to_owned(),
        rows,
        why: Vec::new(),
    }];
    let answer =
        ShownAnswer { title, heading, sentences, tables: vec![table], facts: made(), ..ShownAnswer::default() };
    let downloads = vec![download("validate.json", "application/json", json)];
    pictures.write(Report { answer, published, downloads, ..Report::default() })
}
