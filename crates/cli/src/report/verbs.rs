//! The report of each verb.

use std::sync::Arc;

use blksched::Catalogue;
use blksched_lab::runs::measured::Measured;
use blksched_lab::scene::{Contender, Stage};
use blksched_lab::verdict::validation::predictions;
use blksched_lab::why::names::Names;
use blksched_lab::{Compared, Scene};
use blksched_measure::Table;
use blksched_report::{Against, Download, Grid, Published, PublishedRow, Report, ShownAnswer};
use blksched_simulate::Trial;
use blksched_traces::call_log::CallLog;

use super::answer::{facts, grid, jobs, made, pictured, verdict as verdict_in};
use super::{collected, fill, slowest, watched, write};
use crate::failure::Failure;
use crate::pictures::Pictures;
use crate::replayed::{replay, unknown_disk};

/// A comparison, with its renderings.
pub(crate) struct ComparedPage<'a> {
    pub(crate) compared: &'a Compared,
    pub(crate) heading: String,
    pub(crate) used: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) json: String,
    pub(crate) csv: String,
}

fn download(name: &str, media_type: &'static str, text: String) -> Download {
    Download { name: name.to_owned(), media_type, text }
}

pub(crate) fn compared(pictures: &Pictures, page: &ComparedPage<'_>) -> Result<Vec<String>, Failure> {
    let Compared { comparison, stage, contenders, measured, first, lasting, verdict, .. } = page.compared;
    let (scene, names) = (&comparison.scene, Names::of(&stage.plan));
    let run = |one: &Contender| {
        let trial = Trial { seed: *first, ..stage.trial(scene, one, lasting.length.limit) };
        watched(&trial, &one.name, &names)
    };
    let runs = contenders.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let seeds = measured.first().map_or(1, |first| first.jain.values().len());
    let proposed = verdict.proposal.as_ref().map(|proposal| proposal.measured.name.clone());
    let mut answer = ShownAnswer {
        title: format!("{} on {}: {} schedulers", stage.workload.name, stage.disk.name, contenders.len()),
        heading: page.heading.clone(),
        proposed: proposed.clone(),
        tables: vec![jobs(measured)],
        trust: verdict.validation.sentences(),
        facts: facts(stage, scene, (*first, seeds)),
        pictured: pictured(stage, (*first, seeds)),
        notes: [&verdict.notes[..], &verdict.remarks].concat(),
        ..ShownAnswer::default()
    };
    answer.facts.extend(knobs(measured));
    answer.facts.push(("around the schedulers".to_owned(), page.used.clone()));
    answer.tables.extend(page.tables.iter().map(grid));
    verdict_in(&mut answer, verdict);
    let downloads = vec![
        download("compare.json", "application/json", page.json.clone()),
        download("compare.csv", "text/csv", page.csv.clone()),
    ];
    let proposed = contenders.iter().position(|one| Some(&one.name) == proposed.as_ref());
    write(pictures, Report { answer, runs, proposed, downloads, ..Report::default() })
}

/// The changed knobs of each scheduler.
fn knobs(measured: &[Arc<Measured>]) -> Option<(String, String)> {
    let turned = measured.iter().filter(|one| !one.knobs.is_empty());
    let said: Vec<String> = turned.map(|one| format!("{}: {}", one.name, one.knobs.join(", "))).collect();
    let said = if said.is_empty() { "as the kernels have them".to_owned() } else { said.join("; ") };
    Some(("knobs".to_owned(), said))
}

pub(crate) fn simulated(
    pictures: &Pictures,
    (stage, scene, contender): (&Stage, &Scene, &Contender),
    trial: &Trial,
    measured: &Arc<Measured>,
    json: String,
) -> Result<Vec<String>, Failure> {
    let run = watched(trial, &contender.name, &Names::of(&stage.plan))?;
    let answer = ShownAnswer {
        title: format!("{} on {} under {}", stage.workload.name, stage.disk.name, contender.name),
        tables: vec![jobs(std::slice::from_ref(measured))],
        trust: predictions(stage),
        facts: facts(stage, scene, (scene.seed, 1)),
        pictured: pictured(stage, (scene.seed, 1)),
        notes: stage.notes(),
        ..ShownAnswer::default()
    };
    let downloads = vec![download("simulate.json", "application/json", json)];
    write(pictures, Report { answer, runs: vec![run], downloads, ..Report::default() })
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
        trust: predictions(stage),
        facts: facts(stage, scene, (scene.seed, 1)),
        pictured: pictured(stage, (scene.seed, 1)),
        notes: stage.notes(),
        ..ShownAnswer::default()
    };
    let downloads = vec![download("explain.json", "application/json", json)];
    write(pictures, Report { answer, runs: vec![run], downloads, ..Report::default() })
}

/// A server's recording, whose calls are made again.
#[cfg(feature = "serve")]
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
    write(pictures, Report { answer, runs: vec![run], downloads, ..Report::default() })
}

/// Published tables beside ours.
pub(crate) fn experiments(
    pictures: &Pictures,
    published: Vec<Published>,
    json: String,
) -> Result<Vec<String>, Failure> {
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
    write(pictures, Report { answer, published, downloads, ..Report::default() })
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
    write(pictures, Report { answer, published, downloads, ..Report::default() })
}
