//! `blksched compare`: one workload, many schedulers; the significant differences, and their reasons.

mod arguments;
mod brief;
mod csv;
pub(crate) mod emit;
mod extra;
mod heading;
pub(crate) mod json;
mod lines;
mod matrix;
mod memory_table;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod processors;
mod sample;
mod sensitivity;
mod tables;
mod validation;
mod why;

use blksched::Catalogue;
use blksched_lab::scene::{Contender, Stage, notes_on, notes_on_files, unthrottled};
use blksched_lab::{Compared, Scene};

use crate::failure::Failure;
use crate::input::in_turn;
use crate::output::{self, Paint, TableStyle};
#[cfg(feature = "pictures")]
use crate::pictures::Pictures;
use crate::progress::Followed;
#[cfg(feature = "pictures")]
use crate::report;
use crate::used;
pub(crate) use arguments::{CompareArguments, Emit, effort};
#[cfg(target_os = "linux")]
pub(crate) use brief::lines as brief_lines;
use heading::heading;
pub(crate) use matrix::{MatrixArguments, run as matrix};
pub(crate) use sensitivity::disk_table;

pub(crate) fn run(arguments: &CompareArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    if arguments.wide {
        output::be_wide();
    }
    let mut scene = arguments.scene.scene();
    let counts = std::mem::take(&mut scene.host.cpu_counts);
    if !counts.is_empty() {
        return processors::run(arguments, &scene, &counts, catalogue);
    }
    let single =
        [(arguments.csv, "--csv"), (arguments.emit.is_some(), "--emit"), (arguments.pictures.any(), "--report")];
    in_turn(&scene, &single, arguments.json, |stage| of(arguments, stage, catalogue))
}

/// Runs the comparison on one disk.
fn of(arguments: &CompareArguments, stage: Stage, catalogue: &Catalogue) -> Result<(), Failure> {
    let comparison = arguments.comparison();
    stage.is_alone_for(&[(arguments.why.is_some(), "--why")])?;
    let stage = stage.under(&comparison.elevators, &comparison.scene, catalogue)?;
    if let (false, Some(two)) = (arguments.scene.parse_only, &arguments.why) {
        let (stage, _) = stage.without_logs();
        return why::run(&comparison.scene, arguments.json, &stage, two, catalogue);
    }
    if arguments.scene.parse_only {
        let (stage, _) = stage.without_logs();
        return parsed(&comparison.scene, &stage, &comparison.contenders(&stage, catalogue)?);
    }
    if arguments.on.is_some() {
        // A disk that is not there is an error before anything is computed.
        emit::EmitTarget::of(arguments, &stage)?;
    }
    #[cfg_attr(not(feature = "pictures"), expect(unused_mut, reason = "pictures add notes"))]
    let mut compared = comparison.run(stage, catalogue, &Followed::new())?;
    #[cfg(feature = "pictures")]
    compared.verdict.notes.extend(pictured(&arguments.pictures, &compared)?);
    #[cfg(feature = "parquet")]
    if let Some(place) = arguments.rows.place()? {
        parquet::figures(&place, &compared.stage, &compared.measured, compared.first)?;
        parquet::contrasts(&place, &compared.measured, &compared.verdict.contrasts)?;
    }
    print(arguments, &compared)
}

/// Writes the report and the picture that were asked for.
#[cfg(feature = "pictures")]
pub(crate) fn pictured(pictures: &Pictures, compared: &Compared) -> Result<Vec<String>, Failure> {
    if !pictures.any() {
        return Ok(Vec::new());
    }
    let of = report::ComparedPage {
        compared,
        heading: heading(compared),
        used: used::line(&compared.used, compared.comparison.scene.host.cpu_name()),
        tables: extra::tables(compared).collect(),
        json: json::text(compared),
        csv: csv::text(compared),
    };
    report::compared(pictures, &of)
}

/// With `--parse-only`: prints what is known without a run.
fn parsed(scene: &Scene, stage: &Stage, contenders: &[Contender]) -> Result<(), Failure> {
    let deaf = unthrottled(contenders, scene.wbt_lat_usec);
    let files = notes_on_files(contenders, &stage.plan);
    let notes: Vec<String> = notes_on(contenders).chain(files).chain(stage.notes()).chain(deaf).collect();
    Ok(output::print(&output::notes(&notes))?)
}

fn print(arguments: &CompareArguments, compared: &Compared) -> Result<(), Failure> {
    let Compared { stage, verdict, .. } = compared;
    let text = match (arguments.json, arguments.csv, arguments.emit, &verdict.unranked) {
        (true, ..) => json::text(compared),
        (_, true, ..) => csv::text(compared),
        (_, _, Some(what), None) => {
            let target = emit::EmitTarget::of(arguments, stage)?;
            emit::text(what, &heading(compared), verdict, &target)
        }
        _ => {
            let style = if arguments.markdown { TableStyle::Markdown } else { TableStyle::Text };
            let is_whole = arguments.details || arguments.wide || arguments.sensitivity || arguments.tune.is_some();
            match is_whole {
                true => details(compared, style, arguments.wide, arguments.sensitivity),
                false => brief::page(compared, style),
            }
        }
    };
    Ok(output::print(&text)?)
}

/// A comparison's text, JSON and HTML.
#[cfg(feature = "sweep")]
pub(crate) fn rendered(compared: &Compared) -> (String, String, String) {
    (brief::page(compared, TableStyle::Text), json::text(compared), html(compared))
}

/// The tables, for a notebook.
#[cfg(feature = "sweep")]
fn html(compared: &Compared) -> String {
    let tables = tables::all(&compared.measured, compared.stage.plan.has_programs(), false);
    tables.iter().chain(&extra::worth(&compared.worth)).map(blksched_measure::Table::html).collect()
}

/// The answer, and everything that was found.
fn details(compared: &Compared, style: TableStyle, wide: bool, sensitivity: bool) -> String {
    let Compared { stage, measured, verdict, .. } = compared;
    let used = used::line(&compared.used, compared.comparison.scene.host.cpu_name());
    let mut text = output::paragraph(&heading(compared)) + &output::paragraph(&used) + "\n";
    text += &(brief::lines(&verdict.brief) + "\n");
    let tables = tables::all(measured, stage.plan.has_programs(), wide);
    let depends = verdict.hangs_on.as_ref().filter(|_| sensitivity).map(|it| sensitivity::table(it, None));
    for table in tables.into_iter().chain(extra::tables(compared)).chain(depends) {
        text += &output::render(&table, style);
        text += "\n";
    }
    text += &verdict.sentences.iter().map(|sentence| painted(sentence)).collect::<String>();
    if verdict.proposal.is_some() {
        text += "With --emit udev, tuned or sysfs this becomes a change to your system, and its undo.\n";
    }
    let truth = verdict.validation.model.sentence();
    text += &output::paragraph(&format!("Disk {}: {truth}.", stage.disk.name));
    let trust = verdict.validation.sentences().join(" ");
    text + &output::notes(&verdict.notes) + &output::notes(&verdict.remarks) + &output::paragraph(&trust)
}

/// A sentence of the verdict; the recommendation is highlighted.
fn painted(sentence: &str) -> String {
    let text = output::paragraph(sentence);
    match sentence.split(' ').next() {
        Some("Use") => output::paint(&text, Paint::Green),
        Some("Not") => output::paint(&text, Paint::Yellow),
        Some("Keep" | "Nothing" | "One") => output::paint(&text, Paint::Bold),
        _ => text,
    }
}
