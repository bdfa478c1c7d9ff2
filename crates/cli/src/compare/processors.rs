//! `compare --host cpus=1..64`: the same load on more and more processors, a curve for each scheduler.

use std::fmt::Write;

use blksched::{Catalogue, Dir};
use blksched_lab::runs::cpu::CpuMeasure;
use blksched_lab::runs::measured::Measured;
use blksched_lab::{Comparison, Curve, Scene};
use blksched_measure::{Cell, Column, Quantity, Table};
use serde_json::{Value, json};

#[cfg(feature = "pictures")]
mod page;

use super::arguments::CompareArguments;
use crate::failure::Failure;
use crate::input::in_turn;
use crate::output::{self, TableStyle};
use crate::progress::Followed;
use crate::quoted::quoted;

/// Runs the comparison on each of these numbers of processors; `scene` is that of the arguments with one of them.
pub(super) fn run(
    arguments: &CompareArguments,
    scene: &Scene,
    counts: &[u32],
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    fits(arguments)?;
    let single = [(true, "--host with several numbers of processors")];
    in_turn(scene, &single, false, |stage| {
        let comparison = Comparison { scene: scene.clone(), ..arguments.comparison() };
        if arguments.scene.parse_only {
            let stage = stage.under(&comparison.elevators, scene, catalogue)?;
            comparison.contenders(&stage, catalogue)?;
            return Ok(());
        }
        let curve = comparison.over_processors(counts, stage, catalogue, &Followed::new())?;
        let style = if arguments.markdown { TableStyle::Markdown } else { TableStyle::Text };
        #[cfg(feature = "pictures")]
        if let Some(file) = &arguments.pictures.report {
            page::write(file, &curve, &text(&curve, arguments.seeds, TableStyle::Text))?;
        }
        Ok(output::print(&match (arguments.csv, arguments.json) {
            (true, _) => csv(&curve),
            (_, true) => json(&curve, arguments.seeds),
            _ => text(&curve, arguments.seeds, style),
        })?)
    })
}

/// Whether the other options can be obeyed.
fn fits(arguments: &CompareArguments) -> Result<(), Failure> {
    let of_one_host = [
        (arguments.tune.is_some(), "--tune", "expected one number of processors"),
        (arguments.until_sure, "--until-sure", "--seeds runs more"),
        (arguments.why.is_some(), "--why", "expected one number of processors"),
        (arguments.emit.is_some(), "--emit", "expected one number of processors"),
        (arguments.sensitivity, "--sensitivity", "expected one number of processors"),
        (is_plot(arguments), "--plot", "--report draws them"),
        (is_parquet(arguments), "--parquet", "--csv has all figures"),
        (arguments.details, "--details", "--csv has all figures"),
        (arguments.wide, "--wide", "--csv has all figures"),
    ];
    match of_one_host.iter().find(|(is_said, ..)| *is_said) {
        Some((_, option, instead)) => Err(Failure::input(format!(
            "{option}: --host with several numbers of processors prints curves, and no verdict: {instead}"
        ))),
        None => Ok(()),
    }
}

/// Whether the figures are to be written as Parquet.
#[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "there is no such option"))]
fn is_parquet(arguments: &CompareArguments) -> bool {
    #[cfg(feature = "parquet")]
    let is_said = arguments.rows.parquet.is_some();
    #[cfg(not(feature = "parquet"))]
    let is_said = false;
    is_said
}

/// Whether a picture of a run is to be drawn.
#[cfg_attr(not(feature = "pictures"), expect(unused_variables, reason = "there is no such option"))]
fn is_plot(arguments: &CompareArguments) -> bool {
    #[cfg(feature = "pictures")]
    let is_said = arguments.pictures.plot.is_some();
    #[cfg(not(feature = "pictures"))]
    let is_said = false;
    is_said
}

/// The curves, and where each of them ends.
fn text(curve: &Curve, seeds: u32, style: TableStyle) -> String {
    let mut text = output::paragraph(&format!(
        "{} on {}, {seeds} seed{}; runs of at most {} of simulated time; the load is the same on every host",
        curve.stage.workload.name,
        curve.stage.on_what(),
        if seeds == 1 { "" } else { "s" },
        curve.limit
    ));
    text.push('\n');
    for table in tables(curve) {
        text += &(output::render(&table, style) + "\n");
    }
    (0..curve.points[0].measured.len()).for_each(|nth| text += &output::paragraph(&end(curve, nth)));
    text + &output::notes(&[WHERE_FROM.to_owned()])
}

/// What such curves were held against.
const WHERE_FROM: &str = "these hang on --host cpu=PRESET: icpe-10core was held against ICPE'24, ten processors \
                          (docs/processors.md: 83 of 88 rates within 15 %), epyc-6.18 never on more than two, and \
                          nothing beyond ten";

/// A figure with its title and its unit.
type CurveFigure<'a> = (&'a str, Quantity, &'a dyn Fn(&Measured) -> f64);

fn tables(curve: &Curve) -> Vec<Table> {
    let p99 = |dir: Dir| move |one: &Measured| one.total(dir).p99.mean();
    let figures: [CurveFigure<'_>; 5] = [
        ("I/Os a second", Quantity::Iops, &Measured::iops),
        ("p99 of reads", Quantity::Time, &p99(Dir::Read)),
        ("p99 of writes", Quantity::Time, &p99(Dir::Write)),
        ("processor seconds per 100,000 I/Os", Quantity::Ratio, &seconds),
        ("part of the time for which the scheduler's busiest lock is held", Quantity::Fraction, &held),
    ];
    let table = |(title, unit, figure): CurveFigure<'_>| {
        let first = &curve.points[0].measured;
        let named = |(nth, one): (usize, &std::sync::Arc<Measured>)| {
            Column::numbers(&format!("scheduler_{nth}"), &one.label(), unit)
        };
        let lead = Column::numbers("cpus", "processors", Quantity::Count);
        let mut table = Table::new(title, [lead].into_iter().chain(first.iter().enumerate().map(named)).collect());
        for point in &curve.points {
            let cells = point.measured.iter().map(|one| Cell::from(figure(one)));
            table.row([Cell::from(f64::from(point.cpus))].into_iter().chain(cells));
        }
        table
    };
    let says_something = |(.., figure): &CurveFigure<'_>| {
        curve.points.iter().flat_map(|point| &point.measured).any(|one| figure(one) > 0.0)
    };
    figures.into_iter().filter(says_something).map(table).collect()
}

fn seconds(one: &Measured) -> f64 {
    one.cpu.as_ref().map_or(f64::NAN, |cpu| cpu.seconds_per_100_000())
}

fn held(one: &Measured) -> f64 {
    one.cpu.as_ref().map_or(f64::NAN, |cpu| cpu.lock_held.mean().min(1.0))
}

/// For programs: `blksched/curve/1` (docs/schema.md).
fn json(curve: &Curve, seeds: u32) -> String {
    let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let of = |one: &Measured, part: fn(&CpuMeasure) -> f64| number(one.cpu.as_ref().map_or(f64::NAN, part));
    let figures = |one: &Measured| {
        json!({
            "scheduler": one.name, "settings": one.knobs.join(" "), "iops": number(one.iops()),
            "read_p99_ns": number(one.total(Dir::Read).p99.mean()),
            "write_p99_ns": number(one.total(Dir::Write).p99.mean()),
            "seconds_per_100_000_ios": number(seconds(one)),
            "busiest_processor": of(one, |cpu| cpu.busiest.mean()),
            "lock_held": of(one, |cpu| cpu.lock_held.mean()),
            "waiting_for_the_lock": of(one, |cpu| cpu.spun.mean()),
        })
    };
    let points = curve.points.iter().map(|point| {
        let all: Vec<Value> = point.measured.iter().map(|one| figures(one)).collect();
        json!({ "cpus": point.cpus, "schedulers": all })
    });
    let ends = (0..curve.points[0].measured.len()).map(|nth| {
        let (cpus, one) = curve.enough(nth);
        json!({ "scheduler": one.name, "settings": one.knobs.join(" "), "cpus": cpus, "says": end(curve, nth) })
    });
    let document = json!({
        "schema": "blksched/curve/1", "version": env!("CARGO_PKG_VERSION"), "workload": curve.stage.workload.name,
        "disk": curve.stage.disk.name, "seeds": seeds, "limit_ns": curve.limit.as_ns(), "held_against": WHERE_FROM,
        "points": points.collect::<Vec<_>>(), "enough": ends.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// From how many processors on more of them are of no use to a scheduler, and why.
fn end(curve: &Curve, nth: usize) -> String {
    let (cpus, one) = curve.enough(nth);
    let most = curve.points.last().map_or(cpus, |point| point.cpus);
    let rate = Quantity::Iops.show(one.iops());
    if cpus == most {
        return format!("{}: {rate} I/Os a second on {}, and still growing.", one.label(), processors(cpus));
    }
    let why = match (held(one), one.cpu.as_ref().map_or(0.0, |cpu| cpu.busiest.mean())) {
        (held, _) if held >= 0.9 => format!("its lock is held {} of the time", Quantity::Fraction.show(held)),
        (_, busiest) if busiest >= 0.9 => "one process is all that its busiest processor can do".to_owned(),
        _ => "the disk, or the load's depth, has no more".to_owned(),
    };
    format!(
        "{}: {rate} I/Os a second on {}, and at most a twentieth more on up to {most}: {why}.",
        one.label(),
        processors(cpus)
    )
}

fn processors(count: u32) -> String {
    if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") }
}

/// A row for each number of processors and scheduler, in base units.
fn csv(curve: &Curve) -> String {
    let mut text = "workload,disk,cpus,scheduler,settings,iops,read_p99_ns,write_p99_ns,seconds_per_100_000_ios,\
                    busiest_processor,lock_held,waiting_for_the_lock\n"
        .to_owned();
    let (load, disk) = (quoted(&curve.stage.workload.name), quoted(&curve.stage.disk.name));
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    for point in &curve.points {
        for one in &point.measured {
            let of = |part: fn(&CpuMeasure) -> f64| number(one.cpu.as_ref().map_or(f64::NAN, part));
            let line = writeln!(
                text,
                "{load},{disk},{},{},{},{},{},{},{},{},{},{}",
                point.cpus,
                quoted(&one.name),
                quoted(&one.knobs.join(" ")),
                number(one.iops()),
                number(one.total(Dir::Read).p99.mean()),
                number(one.total(Dir::Write).p99.mean()),
                number(seconds(one)),
                of(|cpu| cpu.busiest.mean()),
                of(|cpu| cpu.lock_held.mean()),
                of(|cpu| cpu.spun.mean()),
            );
            line.expect("memory takes any text");
        }
    }
    text
}
