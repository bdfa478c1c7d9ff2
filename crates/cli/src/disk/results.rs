//! `blksched disk fit` from benchmark results: a table, fio's JSON, or diskplorer's latency matrices.

mod matrices;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use blksched::Dir;
use blksched_disks::{Attached, QueueOrder, TailOf};
use blksched_fit::matrix::LatencyMatrix;
use blksched_fit::{
    CellChoice, FigureBounds, FitStep, Fitted, GridJudgement, GridLoad, LoadPattern, PathHost, ResultGrid, RightShares,
    TurningLaw, fio_json, fit, matrix, other_grid, table,
};
use blksched_measure::fio_json::FioResult;
use blksched_traces::unpack;

use crate::failure::Failure;
use crate::output::warn;

/// What was measured.
pub(super) enum BenchmarkResults {
    /// Depths and numbers of processes.
    Grids(Vec<ResultGrid>),
    /// Reads beside a writer.
    Matrices(Vec<LatencyMatrix>),
}

/// The results in these files; `None` if the first is no result.
pub(super) fn results(paths: &[PathBuf]) -> Result<Option<BenchmarkResults>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(outputs_in(path)?),
            false => files.push(path.clone()),
        }
    }
    let Some(first) = files.first() else {
        return Err(Failure::Input(format!("{}: no .json file in it", paths[0].display())));
    };
    match content(first)? {
        ResultContent::Other => Ok(None),
        ResultContent::Table => {
            let mut all = Vec::new();
            for file in &files {
                table::add(&mut all, &file.display().to_string(), open(file)?).map_err(Failure::Input)?;
            }
            Ok(Some(BenchmarkResults::Grids(all)))
        }
        ResultContent::Matrix => {
            let mut all = Vec::new();
            for file in &files {
                matrix::add_table(&mut all, &file.display().to_string(), open(file)?).map_err(Failure::Input)?;
            }
            Ok(Some(BenchmarkResults::Matrices(all)))
        }
        ResultContent::FioJson => {
            let folder = paths[0].file_stem().and_then(OsStr::to_str).unwrap_or("disk");
            if let Some(matrix) = diskplorers(folder, &files)? {
                return Ok(Some(BenchmarkResults::Matrices(vec![matrix])));
            }
            let mut grid = ResultGrid { device: folder.to_owned(), ..ResultGrid::default() };
            for file in &files {
                let name = file.display().to_string();
                let mut text = String::new();
                open(file)?.read_to_string(&mut text).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
                fio_json::add(&mut grid, &name, &text).map_err(Failure::Input)?;
            }
            match grid.cells.is_empty() {
                true => Err(Failure::Input(format!("{}: no randread, randwrite or randrw in it", paths[0].display()))),
                false => Ok(Some(BenchmarkResults::Grids(vec![grid]))),
            }
        }
    }
}

/// diskplorer's matrix in these outputs of fio; `None` if the first has none.
fn diskplorers(device: &str, files: &[PathBuf]) -> Result<Option<LatencyMatrix>, Failure> {
    let mut all = LatencyMatrix::new(device);
    for (at, file) in files.iter().enumerate() {
        let name = file.display().to_string();
        let mut text = String::new();
        open(file)?.read_to_string(&mut text).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
        let result = FioResult::read(&name, &text).map_err(Failure::Input)?;
        match matrix::is_matrix(&result) {
            true => matrix::add_fio(&mut all, &name, &result).map_err(Failure::Input)?,
            false if at == 0 => return Ok(None),
            false => return Err(Failure::Input(format!("{name}: no job(r_idx=…,w_idx=…): expected diskplorer's"))),
        }
    }
    Ok(Some(all))
}

/// What a file is, by its beginning.
enum ResultContent {
    Table,
    Matrix,
    FioJson,
    Other,
}

fn content(path: &Path) -> Result<ResultContent, Failure> {
    let mut beginning = Vec::new();
    let read = open(path)?.take(64 << 10).read_to_end(&mut beginning);
    read.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    let text = String::from_utf8_lossy(&beginning);
    let head = text.lines().next().unwrap_or_default();
    let has = |column: &str| head.split(',').any(|word| word.trim() == column);
    Ok(match () {
        () if text.contains("\"fio version\"") => ResultContent::FioJson,
        () if has("iodepth") => ResultContent::Table,
        () if ["r_idx", "w_idx", "quantile"].into_iter().any(has) => ResultContent::Matrix,
        () => ResultContent::Other,
    })
}

fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    let opened = File::open(path).and_then(unpack::unpacked);
    opened.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// The JSON files in a folder and in those within it, in the order of their names.
fn outputs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(outputs_in(&path)?),
            false if path.extension().is_some_and(|end| end == "json") => files.push(path),
            false => {}
        }
    }
    Ok(files)
}

/// The one grid that was asked for.
fn asked<'a>(grids: &'a [ResultGrid], asked: Option<&str>) -> Result<&'a ResultGrid, Failure> {
    let name = |grid: &ResultGrid| match grid.path.is_empty() {
        true => grid.device.clone(),
        false => format!("{}/{}", grid.device, grid.path),
    };
    let names = || grids.iter().map(name).collect::<Vec<_>>();
    let Some(asked) = asked else {
        let [only] = grids else {
            return Err(Failure::Input(format!("several drives: give --device, one of {}", names().join(", "))));
        };
        return Ok(only);
    };
    let is_it = |grid: &&ResultGrid| name(grid) == asked || grid.device == asked;
    match &grids.iter().filter(is_it).collect::<Vec<_>>()[..] {
        [only] => Ok(only),
        [] => {
            let names = names();
            let nearest = blksched_text::did_you_mean(asked, names.iter().map(String::as_str));
            Err(Failure::Input(format!("no drive {asked} in it: expected one of {}{nearest}", names.join(", "))))
        }
        several => {
            let names: Vec<String> = several.iter().map(|grid| name(grid)).collect();
            Err(Failure::Input(format!(
                "{asked} is there on several paths: give --device, one of {}",
                names.join(", ")
            )))
        }
    }
}

/// Fits a drive, tells how far the model is off, and returns the disk's file.
pub(super) fn disk(
    results: &BenchmarkResults,
    device: Option<&str>,
    attached: Option<Attached>,
) -> Result<String, Failure> {
    match results {
        BenchmarkResults::Grids(grids) => of_grid(grids, device, attached),
        BenchmarkResults::Matrices(matrices) => matrices::disk(matrices, device, attached),
    }
}

fn of_grid(grids: &[ResultGrid], device: Option<&str>, attached: Option<Attached>) -> Result<String, Failure> {
    let mut grid = asked(grids, device)?.clone();
    grid.attached = attached.or(grid.attached);
    let grid = &grid;
    let choice = CellChoice::of(grid);
    let told = |told: FitStep| match told {
        FitStep::Comparing(count) => warn(&format!("comparing {count} combinations of host and mechanisms")),
        FitStep::Refining(host) => warn(&format!("refining the values under {}", host.elevator)),
    };
    let fitted = fit(grid, &choice, &PathHost::ALL, &told).map_err(|why| {
        let how = if why.ends_with("expected nvme or sata") { " (--attached says it)" } else { "" };
        Failure::Input(why + how)
    })?;
    let any = |_: GridLoad, _: Dir| true;
    let judged = GridJudgement::of(grid, &choice, &fitted, FigureBounds::USUAL, other_grid(grids, grid, &choice), any);
    let judged = judged.map_err(Failure::Input)?;
    tell(grid, &choice, &fitted, &judged);
    let description = format!("{}: fitted to {} of {} loads", grid.name(), choice.used.len(), grid.cells.len());
    let description = description.replace(['"', '\\'], " ");
    Ok(fitted.model.toml(&description, &about(&choice, &fitted)) + &validated(&judged, fitted.host))
}

/// What the file says at its beginning.
fn about(choice: &CellChoice, fitted: &Fitted) -> Vec<String> {
    let used: Vec<String> = choice.used.iter().map(ToString::to_string).collect();
    let mut about = vec![
        format!("Fitted to: {}", used.join(", ")),
        format!("under {}: the host of the results, not of yours", fitted.host),
    ];
    if !fitted.submit().is_zero() {
        about.push(format!(
            "whose process works {} for each I/O (process.submit in a file for --host cpu=)",
            fitted.submit()
        ));
    }
    about
}

fn tell(grid: &ResultGrid, choice: &CellChoice, fitted: &Fitted, judged: &GridJudgement) {
    let used = choice.used.iter().map(ToString::to_string).collect::<Vec<_>>();
    warn(&format!("used {} of {} loads: {}", used.len(), grid.cells.len(), used.join(", ")));
    if grid.left_out > 0 {
        warn(&format!("{} rows are not of random I/Os: not used", grid.left_out));
    }
    let hosts = fitted.hosts.iter().map(|(host, error)| format!("{} {error:.2}", host.elevator));
    warn(&format!(
        "the host: {}; mean error by host, as a factor: {}",
        fitted.host,
        hosts.collect::<Vec<_>>().join(", ")
    ));
    if !fitted.submit().is_zero() {
        let how = "process.submit in a file for --host cpu=";
        warn(&format!("its process works {} for each I/O: {how}", fitted.submit()));
    }
    if let Some(law) = fitted.model.law() {
        let TurningLaw { rpm, order, ahead } = law;
        let takes = match order {
            QueueOrder::Arrival => "takes commands in order of arrival".to_owned(),
            QueueOrder::Seek => format!("takes the nearest cylinder, {ahead} commands ahead"),
            QueueOrder::Positioning => format!("takes what can begin soonest, {ahead} commands ahead"),
        };
        warn(&format!("a spinning drive of {rpm} rpm, whose firmware {takes}"));
    }
    for known in fitted.model.at_limits() {
        let (low, high) = known.key.range();
        warn(&format!(
            "{} ended at {:.1} us, an end of its plausible range ({low} to {high} us): there the model is wrong",
            known.key.key(),
            known.value
        ));
    }
    for unknown in fitted.model.unknown() {
        warn(&format!("the results cannot tell {unknown}"));
    }
    let Some(model) = shown(&judged.model) else { return warn("no load was left to judge the model") };
    let within = FigureBounds::USUAL;
    warn(&format!("of {} results that the fit did not use, this share is right ({within}):", judged.model.count));
    warn(&format!("  {:<32} {model}", "this model"));
    for (name, shares) in
        [("a line between the loads used", &judged.interpolated), ("another drive on this path", &judged.other)]
    {
        if let Some(text) = shown(shares) {
            warn(&format!("  {name:<32} {text} (of {})", shares.count));
        }
    }
}

fn shown(shares: &RightShares) -> Option<String> {
    let [iops, p50, p99, p999] = shares.percent()?;
    Some(format!("iops {iops:.0} %, p50 {p50:.0} %, p99 {p99:.0} %, p99.9 {p999:.0} %"))
}

/// What the file says of its own error: the mean of two figures' errors on what the fit did not use.
fn validated(judged: &GridJudgement, host: PathHost) -> String {
    let Some([_, p50, p99, _]) = judged.mean_errors() else { return String::new() };
    let tails: BTreeSet<TailOf> = judged.rows.iter().map(|(load, dir, ..)| tail_of(load.pattern, *dir)).collect();
    let tails: Vec<String> = tails.into_iter().map(|of| format!("\"{}\"", of.word())).collect();
    let one = |what: &str, factor: f64| {
        format!(
            "\n[[validated]]\nagainst = \"{what} of {} results that the fit did not use, under {} (mean)\"\n\
             error = \"{:.1}%\"\n",
            judged.model.count,
            host.elevator,
            100.0 * (factor - 1.0)
        )
    };
    one("p50", p50) + &one("p99", p99) + &format!("p99_of = [{}]\n", tails.join(", "))
}

/// The I/O of a load in this direction.
fn tail_of(pattern: LoadPattern, dir: Dir) -> TailOf {
    match (pattern, dir) {
        (LoadPattern::Mixed(_), Dir::Read) => TailOf::ReadsBesideWrites,
        (LoadPattern::Mixed(_), Dir::Write) => TailOf::WritesBesideReads,
        (LoadPattern::Read | LoadPattern::Write, Dir::Read) => TailOf::Reads,
        (LoadPattern::Read | LoadPattern::Write, Dir::Write) => TailOf::Writes,
    }
}
