//! `grids`: models fitted to at most eight cells of measured grids, and their errors on the others, by class of path.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use blksched::{Dir, Span};
use blksched_fit::matrix::{
    self, FittedMatrix, MatrixBounds, MatrixChoice, MatrixDrive, MatrixEffort, MatrixJudgement, fit_matrix,
};
use blksched_fit::{
    CellChoice, FigureBounds, GridJudgement, GridLoad, LoadPattern, PathHost, ResultGrid, RightShares, array, fit,
    other_grid, table,
};
use blksched_traces::unpack::unpacked;

use crate::Verdict;
use crate::shell;

/// Paths that are judged together.
struct PathClass {
    name: &'static str,
    /// Whether the results of a device on a path belong to it.
    has: fn(grid: &ResultGrid) -> bool,
    bounds: FigureBounds,
    /// Which cells count.
    counts: fn(GridLoad, Dir) -> bool,
    /// The aims \[%\]: rate, median, p99, p99.9.
    aims: [f64; 4],
}

fn all(_: GridLoad, _: Dir) -> bool {
    true
}

/// Pure writes of the one NVMe drive do not repeat themselves, and beyond 32 in flight it changes its pace.
fn shallow(load: GridLoad, _: Dir) -> bool {
    load.in_flight() <= 32 && load.pattern != LoadPattern::Write
}

fn shallow_reads(load: GridLoad, dir: Dir) -> bool {
    shallow(load, dir) && dir == Dir::Read
}

fn shallow_writes(load: GridLoad, dir: Dir) -> bool {
    shallow(load, dir) && dir == Dir::Write
}

fn is_array(grid: &ResultGrid) -> bool {
    grid.device.contains("raid")
}

/// An SSD whose path is one of these.
fn is_flash(grid: &ResultGrid, is_one: fn(path: &str) -> bool) -> bool {
    !grid.turns() && !is_array(grid) && is_one(&grid.path)
}

/// In the order of the table.
const CLASSES: [PathClass; 8] = [
    PathClass {
        name: "SATA SSD, SATA port or RAID controller",
        has: |grid| {
            is_flash(grid, |path| path.starts_with("sata300") || path == "hp-h420i" || path.starts_with("hp-p420i"))
        },
        bounds: FigureBounds::USUAL,
        counts: all,
        aims: [95.0, 85.0, 88.0, 90.0],
    },
    PathClass {
        name: "SATA SSD, HBA",
        has: |grid| is_flash(grid, |path| path == "ibm-m1015" || path == "hp-p420-hba"),
        bounds: FigureBounds([1.15, 1.2, 2.0, 2.0]),
        counts: all,
        aims: [80.0, 65.0, 70.0, 70.0],
    },
    PathClass {
        name: "SATA SSD, AHCI",
        has: |grid| is_flash(grid, |path| path == "ahci"),
        bounds: FigureBounds([1.15, 1.5, 2.0, 3.0]),
        counts: all,
        aims: [90.0, 70.0, 75.0, 85.0],
    },
    PathClass {
        name: "arrays of SATA SSDs",
        has: |grid| is_array(grid) && !grid.turns(),
        bounds: FigureBounds::USUAL,
        counts: all,
        aims: [80.0, 75.0, 80.0, 90.0],
    },
    PathClass {
        name: "NVMe, at most 32 in flight: reads",
        has: |grid| is_flash(grid, |path| path == "nvme"),
        bounds: FigureBounds([1.3, 1.5, 2.0, 2.0]),
        counts: shallow_reads,
        aims: [80.0, 65.0, 80.0, 85.0],
    },
    PathClass {
        name: "NVMe, at most 32 in flight: writes of mixtures",
        has: |grid| is_flash(grid, |path| path == "nvme"),
        bounds: FigureBounds([1.3, 1.2, 3.0, 3.0]),
        counts: shallow_writes,
        aims: [80.0, 70.0, 85.0, 85.0],
    },
    PathClass {
        name: "path not known",
        has: |grid| is_flash(grid, |path| path == "unknown"),
        bounds: FigureBounds::USUAL,
        counts: all,
        aims: [0.0; 4],
    },
    PathClass {
        name: "hard disks: random reads",
        has: |grid| grid.turns() && !is_array(grid),
        bounds: FigureBounds::USUAL,
        counts: all,
        // Nobody set one.
        aims: [0.0; 4],
    },
];

/// What to fit.
#[derive(clap::Args)]
pub struct Arguments {
    /// A table as `disk fit` reads it, grids or latency matrices, also as .csv.gz
    table: Option<PathBuf>,
    /// Only grids whose device and path, as in "crucial-250 on sata300", contain this, or matrices of such a device
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only this host, by its elevator; matrices have none to choose
    #[arg(long, value_name = "ELEVATOR")]
    host: Option<String>,
    /// Fit nothing: judge this disk by what a fit would not use (on a grid, --host is then needed)
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// Also print every cell that judges, measured and ours
    #[arg(long)]
    cells: bool,
}

/// Fits and judges grids, and prints the table of docs/disks.md.
///
/// # Errors
/// If the table cannot be read, or a grid not be simulated.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let Arguments { table: path, only, host, .. } = arguments;
    let named = |known: &PathHost| host.as_ref().is_none_or(|name| known.elevator == name);
    let hosts: Vec<PathHost> = PathHost::ALL.into_iter().filter(named).collect();
    if hosts.is_empty() {
        let known = PathHost::ALL.map(|known| known.elevator).join(", ");
        bail!("--host {}: expected one of {known}", host.as_deref().unwrap_or_default());
    }
    let ours = |name: &str| shell::root().join("testdata/grids").join(name);
    match path {
        Some(path) => one_table(path, &hosts, arguments)?,
        None => {
            one_table(&ours("cells.csv"), &hosts, arguments)?;
            // The one matrix that is kept here, unless something else is asked for.
            if only.is_none() && host.is_none() {
                one_table(&ours("latency-i3.csv"), &hosts, arguments)?;
            }
        }
    }
    Ok(Verdict::Good)
}

/// All grids, or all matrices, of a table.
fn one_table(path: &Path, hosts: &[PathHost], arguments: &Arguments) -> Result<()> {
    let Arguments { only, host, disk, .. } = arguments;
    let name = path.display().to_string();
    let mut opened = File::open(path).and_then(unpacked).with_context(|| name.clone())?;
    let header = String::from_utf8_lossy(opened.fill_buf()?).lines().next().unwrap_or_default().to_owned();
    if header.split(',').any(|column| column.trim() == "quantile") {
        if host.is_some() {
            bail!("--host: {name} has latency matrices, which are measured under none");
        }
        return matrices(&name, opened, arguments);
    }
    if disk.is_some() && host.is_none() {
        bail!(
            "--disk on a grid needs --host: expected one of {}",
            PathHost::ALL.map(|known| known.elevator).join(", ")
        );
    }
    let grids = table::read(&name, opened).map_err(|problem| anyhow!("{problem}"))?;
    if let Some(disk) = disk {
        let wanted = grids.iter().filter(|grid| only.as_ref().is_none_or(|only| grid.name().contains(only)));
        return judge(disk, hosts[0], wanted);
    }
    fit_grids(&grids, hosts, arguments)
}

/// Fits all grids that are wanted, and prints the table.
fn fit_grids(grids: &[ResultGrid], hosts: &[PathHost], Arguments { only, cells, .. }: &Arguments) -> Result<()> {
    let mut sums: Vec<(GridJudgement, usize)> = CLASSES.iter().map(|_| (GridJudgement::default(), 0)).collect();
    let wanted = |grid: &&ResultGrid| only.as_ref().is_none_or(|only| grid.name().contains(only));
    let wanted: Vec<&ResultGrid> = grids.iter().filter(wanted).collect();
    if wanted.is_empty() {
        let names: Vec<String> = grids.iter().map(ResultGrid::name).collect();
        bail!("no grid of that name: expected a part of one of {}", names.join(", "));
    }
    for grid in wanted {
        let classes = CLASSES.iter().enumerate().filter(|(_, class)| (class.has)(grid));
        let classes: Vec<(usize, &PathClass)> = classes.collect();
        match classes.is_empty() {
            true => println!("{}: of no class, left out", grid.name()),
            false => one(grid, grids, hosts, &classes, &mut sums, *cells)?,
        }
    }
    println!("\n| class | grids | cells | right if | model | from the same cells | another drive, same path | aim |");
    println!("|---|---|---|---|---|---|---|---|");
    for (class, (judged, count)) in CLASSES.iter().zip(&sums) {
        println!(
            "| {} | {count} | {} | {} | {} | {} | {} | {} |",
            class.name,
            judged.model.count,
            class.bounds,
            shown(&judged.model),
            shown(&judged.interpolated),
            shown(&judged.other),
            class.aims.map(|aim| format!("{aim:.0}")).join("/"),
        );
    }
    Ok(())
}

/// Fits and judges latency matrices, or judges a disk on them.
fn matrices(name: &str, from: impl Read, Arguments { only, disk, cells, .. }: &Arguments) -> Result<()> {
    let mut all = Vec::new();
    matrix::add_table(&mut all, name, from).map_err(|problem| anyhow!("{problem}"))?;
    let names: Vec<String> = all.iter().map(|matrix| matrix.device.clone()).collect();
    all.retain(|matrix| only.as_ref().is_none_or(|only| matrix.device.contains(only)));
    if all.is_empty() {
        bail!("no matrix of that device: expected a part of one of {}", names.join(", "));
    }
    println!(
        "| matrix | drive | off on its loads | p50 within 1.3, p95 within 1.5 | of | the loads used | at the end |"
    );
    println!("|---|---|---|---|---|---|---|");
    for matrix in &all {
        let choice = MatrixChoice::of(matrix);
        let (spec, drive, error) = match disk {
            Some(disk) => (blksched_disks::load(disk)?, disk.clone(), "-".to_owned()),
            None => {
                let fitted = fit_matrix(matrix, &choice, MatrixEffort::TRY, &|_| ());
                let FittedMatrix { drive, error, .. } = fitted.map_err(|problem| anyhow!("{problem}"))?;
                let told = match &drive {
                    MatrixDrive::Flash(flash) => {
                        let beside = flash.beside_programs.word();
                        format!("{} dies, {:?}, {beside}, {:.1?}", flash.dies, flash.window, flash.values)
                    }
                    MatrixDrive::Turning(model) => format!("{:?}", model.law()),
                };
                (drive.disk()?, told, format!("{error:.2}"))
            }
        };
        let judged = MatrixJudgement::of(matrix, &choice, &Arc::new(spec), MatrixBounds::USUAL, MatrixEffort::TELL);
        let judged = judged.map_err(|problem| anyhow!("{problem}"))?;
        let share = |shares: matrix::MatrixShares| {
            shares.percent().map_or_else(|| "-".to_owned(), |[p50, p95]| format!("{p50:.0}/{p95:.0}"))
        };
        println!(
            "| {} | {drive} | {error} | {} | {:?} | {} | {:?} of {:?} | (mean errors {:.3?})",
            matrix.device,
            share(judged.model),
            judged.model.count,
            share(judged.between),
            judged.at_ceiling.right,
            judged.at_ceiling.count,
            judged.mean_error,
        );
        for (cell, ours) in judged.rows.iter().filter(|_| *cells) {
            println!(
                "    {:?}: {:?} {ours:.0?}",
                cell.place,
                cell.figures.map(|figure| figure.map(|figure| figure.us))
            );
        }
    }
    Ok(())
}

/// How far a disk is off on the cells that a fit to each of these grids would not use.
fn judge<'a>(disk: &str, host: PathHost, grids: impl Iterator<Item = &'a ResultGrid>) -> Result<()> {
    let spec = Arc::new(blksched_disks::load(disk)?);
    for grid in grids {
        let (choice, host) = (CellChoice::of(grid), (&spec, Span::ZERO, host));
        for class in CLASSES.iter().filter(|class| (class.has)(grid)) {
            let judged = GridJudgement::of_disk(grid, &choice, host, class.bounds, None, class.counts);
            let judged = judged.map_err(|problem| anyhow!("{problem}"))?;
            let errors = judged.mean_errors().map(|errors| errors.map(|error| format!("{:.1}", 100.0 * (error - 1.0))));
            println!(
                "{disk} on {}, {}: {} of {} cells right ({}), off by {} % (mean of rate, p50, p99, p99.9)",
                grid.name(),
                class.name,
                shown(&judged.model),
                judged.model.count,
                class.bounds,
                errors.unwrap_or_default().join("/")
            );
        }
    }
    Ok(())
}

/// Fits one grid and adds its judgement to its classes.
fn one(
    grid: &ResultGrid,
    grids: &[ResultGrid],
    hosts: &[PathHost],
    classes: &[(usize, &PathClass)],
    sums: &mut [(GridJudgement, usize)],
    cells: bool,
) -> Result<()> {
    let choice = CellChoice::of(grid);
    let other = other_grid(grids, grid, &choice);
    let fitted = match fit(grid, &choice, hosts, &|_| ()) {
        Ok(fitted) => fitted,
        Err(why) => {
            println!("not fitted: {why}");
            return Ok(());
        }
    };
    let values = fitted.model.parameters.iter().map(|known| format!("{:?} {:.1} us", known.key, known.value));
    println!("{}: {}, error on its cells {:.3}", grid.name(), fitted.host.elevator, fitted.error);
    println!("    {}", values.collect::<Vec<_>>().join(", "));
    if let Some(law) = fitted.model.law() {
        println!("    {law:?}");
    }
    let ranked = fitted.hosts.iter().map(|(host, error)| format!("{} {error:.2}", host.elevator));
    println!("    hosts: {}", ranked.collect::<Vec<_>>().join(", "));
    from_members(grid, grids, hosts, classes)?;
    for &(at, class) in classes {
        let judged = GridJudgement::of(grid, &choice, &fitted, class.bounds, other, class.counts);
        let judged = judged.map_err(|problem| anyhow!("{problem}"))?;
        println!(
            "    {} ({} cells): model {}, from the same cells {}, another drive {}",
            class.name,
            judged.model.count,
            shown(&judged.model),
            shown(&judged.interpolated),
            shown(&judged.other)
        );
        for (load, dir, measured, ours) in judged.rows.iter().filter(|_| cells) {
            let pairs = measured.values().into_iter().zip(ours.values());
            let pairs = pairs.map(|(measured, ours)| format!("{measured:.0}/{ours:.0}"));
            println!("        {load} {dir:?}: {}", pairs.collect::<Vec<_>>().join("  "));
        }
        let (sum, count) = &mut sums[at];
        sum.model = sum.model.and(judged.model);
        sum.interpolated = sum.interpolated.and(judged.interpolated);
        sum.other = sum.other.and(judged.other);
        *count += 1;
    }
    Ok(())
}

/// An array whose member was measured alone on the same path: what follows from that one's fit.
fn from_members(
    grid: &ResultGrid,
    grids: &[ResultGrid],
    hosts: &[PathHost],
    classes: &[(usize, &PathClass)],
) -> Result<()> {
    let Some((name, count)) = array::members(&grid.device) else { return Ok(()) };
    let Some(member) = grids.iter().find(|member| member.device == name && member.path == grid.path) else {
        return Ok(());
    };
    let fitted = fit(member, &CellChoice::of(member), hosts, &|_| ()).map_err(|problem| anyhow!("{problem}"))?;
    let disk = Arc::new(array::striped(&fitted.model, count)?);
    for (_, class) in classes {
        let (host, choice) = ((&disk, fitted.submit(), fitted.host), CellChoice::of(grid));
        let judged = GridJudgement::of_disk(grid, &choice, host, class.bounds, None, class.counts);
        let judged = judged.map_err(|problem| anyhow!("{problem}"))?;
        println!("    from {count} of {}, no load of the array used: {}", member.name(), shown(&judged.model));
        for dir in Dir::BOTH {
            let of_dir = GridJudgement::of_disk(grid, &choice, host, class.bounds, None, |_, one| one == dir);
            println!("        {dir}s: {}", shown(&of_dir.map_err(|problem| anyhow!("{problem}"))?.model));
        }
    }
    Ok(())
}

fn shown(shares: &RightShares) -> String {
    match shares.percent() {
        Some(percent) => percent.map(|percent| format!("{percent:.0}")).join("/"),
        None => "-".to_owned(),
    }
}
