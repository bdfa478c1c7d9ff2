//! `nvme-tables`: published throughput and latency of the schedulers on an NVMe drive, beside what is predicted with a
//! preset of processors.
//!
//! The tables and the drive are in `testdata/nvme`; some rows are those that the preset's costs were fitted on, and all
//! others judge it. A cell is one run of the simulator.

use core::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use blksched::{Catalogue, Span};
use blksched_disks::DiskSpec;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

use crate::{Verdict, shell};

const FOLDER: &str = "testdata/nvme";
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// The kernel whose schedulers stand for those of the published 6.3.8.
const KERNEL: &str = "6.1";
/// Published shares of cycles that wait for a lock \[percent\]: fig 7's load at so many processes.
const LOCK_WAITS: [(&str, u32, f64); 4] =
    [("mq-deadline", 3, 18.0), ("mq-deadline", 10, 73.0), ("bfq", 3, 26.0), ("bfq", 10, 75.0)];

/// The arguments of the verb.
#[derive(clap::Args)]
pub struct Arguments {
    /// The preset of processors, or a TOML file of costs
    #[arg(long, default_value = "icpe-10core")]
    cpu: String,
    /// The drive [default: testdata/nvme/980-pro-reads.toml]
    #[arg(long)]
    disk: Option<PathBuf>,
    /// How long each cell runs, in milliseconds, after a fifth of it
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    ms: u64,
    /// Only these figures, separated by commas
    #[arg(long, value_delimiter = ',')]
    figures: Vec<String>,
    /// Write the tables to this page, between its marks: all of them, as predicted by default
    #[arg(long, conflicts_with_all = ["figures", "cpu", "disk", "ms"])]
    write: Option<PathBuf>,
    /// Draw each figure into this folder: what is predicted as lines, what was published as rings
    #[arg(long)]
    pictures: Option<PathBuf>,
}

/// A published cell.
#[derive(Clone, Debug)]
struct Cell {
    figure: String,
    n: u32,
    scheduler: String,
    /// Thousands of I/Os per second.
    rate: f64,
    /// \[us\]
    p99: f64,
    fitted: bool,
}

/// What is predicted for it.
#[derive(Clone, Copy, Debug)]
struct Predicted {
    rate: f64,
    p99: f64,
    /// The part of the processors' busy time that waits for a lock.
    waits: f64,
    /// The same with handovers.
    with_handovers: f64,
}

/// # Errors
/// If a file cannot be read or a run fails.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let cells = published()?;
    let wanted = |cell: &&Cell| arguments.figures.is_empty() || arguments.figures.contains(&cell.figure);
    let cells: Vec<Cell> = cells.iter().filter(wanted).cloned().collect();
    let scene = Scene::of(arguments)?;
    let predicted = scene.all(&cells)?;
    let page = page(&cells, &predicted);
    println!("{page}");
    if let Some(path) = &arguments.write {
        write_between_marks(path, &page)?;
    }
    if let Some(folder) = &arguments.pictures {
        draw(folder, &cells, &predicted)?;
    }
    Ok(Verdict::Good)
}

fn published() -> Result<Vec<Cell>> {
    let path = shell::root().join(FOLDER).join("icpe24.tsv");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let rows = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    rows.map(|(nth, line)| cell(line).with_context(|| format!("{}:{}: {line}", path.display(), nth + 1))).collect()
}

fn cell(line: &str) -> Result<Cell> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [figure, n, scheduler, rate, _, p99, part] = fields[..] else {
        return Err(anyhow!("{} columns instead of 7", fields.len()));
    };
    Ok(Cell {
        figure: figure.to_owned(),
        n: n.parse()?,
        scheduler: scheduler.to_owned(),
        rate: rate.parse()?,
        p99: p99.parse()?,
        fitted: part == "fitted",
    })
}

/// What all cells share.
struct Scene {
    disk: Arc<DiskSpec>,
    cpu: CpuPreset,
    ms: u64,
}

impl Scene {
    fn of(arguments: &Arguments) -> Result<Scene> {
        let disk = arguments.disk.clone().unwrap_or_else(|| shell::root().join(FOLDER).join("980-pro-reads.toml"));
        let disk = blksched_disks::load(&disk.to_string_lossy()).map_err(|error| anyhow!("{error}"))?;
        let cpu = match CpuPreset::builtin(&arguments.cpu) {
            Ok(preset) => preset,
            Err(_) if fs::exists(&arguments.cpu).unwrap_or(false) => {
                CpuPreset::parse(&arguments.cpu, &fs::read_to_string(&arguments.cpu)?)
                    .map_err(|error| anyhow!("{error}"))?
            }
            Err(problem) => return Err(anyhow!("{problem}")),
        };
        Ok(Scene { disk: Arc::new(disk), cpu, ms: arguments.ms })
    }

    /// Every cell, on as many threads as there are processors.
    fn all(&self, cells: &[Cell]) -> Result<Vec<Predicted>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let parts: Vec<_> = (0..threads)
                .map(|nth| {
                    scope.spawn(move || cells.iter().skip(nth).step_by(threads).map(|cell| self.one(cell)).collect())
                })
                .collect();
            let mut parts = parts.into_iter().map(|part| part.join().expect("a run does not panic"));
            let parts: Vec<Vec<Predicted>> = parts.by_ref().collect::<Result<_>>()?;
            Ok((0..cells.len()).map(|nth| parts[nth % threads][nth / threads]).collect())
        })
    }

    fn one(&self, cell: &Cell) -> Result<Predicted> {
        let (jobs, depth, cpus) = match cell.figure.as_str() {
            "fig2" => (1, cell.n, 1),
            "fig3" => (cell.n, 1, 1),
            "fig5" => (cell.n, 1, 10),
            "fig7" => (cell.n, 128, 10),
            other => return Err(anyhow!("`{other}` is not a figure with a load")),
        };
        let text = format!(
            "[a]\nfilename=/dev/nvme0n1\nrw=randread\ndirect=1\nbs=4k\nnorandommap\nioengine=io_uring\n\
             iodepth={depth}\nnumjobs={jobs}\ngroup_reporting\ntime_based\nramp_time={}ms\nruntime=60\n",
            self.ms / 5
        );
        let sectors = self.disk.build(0).facts().sectors;
        let plan = JobFile::parse(&text, "load").map_err(|error| anyhow!("{error}"))?.plan(sectors);
        let plan = plan.map_err(|error| anyhow!("{error}"))?;
        let trial = Trial {
            elevator: Catalogue::builtin()
                .parse(&format!("{}@{KERNEL}", cell.scheduler))
                .map_err(|error| anyhow!("{error}"))?,
            knobs: Vec::new(),
            surroundings: Surroundings {
                cpus: Some(HostCpus { cpus, costs: self.cpu.costs }),
                ..Surroundings::default()
            },
            disk: self.disk.clone(),
            plan: Arc::new(plan),
            seed: 1,
            limit: Span::from_ms(self.ms + self.ms / 5),
            other_disks: Vec::new(),
            beside: Default::default(),
        };
        let found = trial.simulate_for_shares()?;
        let all: Vec<usize> = (0..found.jobs.len()).collect();
        let record = found.merged(&all);
        let reads = &record.read;
        let cpu = found.cpu.context("processors were asked for")?;
        let handovers = cpu.lock.moved as f64 * self.cpu.costs.handover.as_secs_f64();
        let (spun, busy) = (cpu.spun.as_secs_f64(), cpu.busy.as_secs_f64());
        Ok(Predicted {
            rate: reads.ios as f64 / self.ms as f64,
            p99: reads.clat.percentile(99.0).as_secs_f64() * 1e6,
            waits: spun / busy,
            with_handovers: (spun + handovers) / busy,
        })
    }
}

/// How many of these cells are within bounds.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cells: u32,
    rate_10: u32,
    rate_15: u32,
    p99: u32,
}

fn tally<'a>(cells: impl Iterator<Item = (&'a Cell, &'a Predicted)>) -> Tally {
    let mut tally = Tally::default();
    for (cell, ours) in cells {
        let off = (ours.rate / cell.rate - 1.0).abs();
        tally.cells += 1;
        tally.rate_10 += u32::from(off <= 0.10);
        tally.rate_15 += u32::from(off <= 0.15);
        tally.p99 += u32::from((ours.p99 / cell.p99).ln().abs() <= 1.5_f64.ln());
    }
    tally
}

/// Pairs of schedulers of one figure and number of processes that differ by 10 % or more, and of them those that are
/// predicted the other way round.
fn orders(cells: &[Cell], predicted: &[Predicted]) -> (u32, Vec<String>) {
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (a, ours) in cells.iter().zip(predicted) {
        for (b, theirs) in cells.iter().zip(predicted) {
            if (&a.figure, a.n) == (&b.figure, b.n) && a.rate >= 1.1 * b.rate {
                pairs += 1;
                if ours.rate <= theirs.rate {
                    wrong.push(format!("{} at {}: {} above {}", a.figure, a.n, a.scheduler, b.scheduler));
                }
            }
        }
    }
    (pairs, wrong)
}

/// What was aimed at when the mechanisms were asked for, and what is reached; nothing for a part of the figures.
fn aims(cells: &[Cell], predicted: &[Predicted]) -> String {
    let all = || cells.iter().zip(predicted);
    let of = |wanted: &dyn Fn(&Cell) -> bool| tally(all().filter(|(cell, _)| wanted(cell)));
    let (fitted, kept) = (of(&|cell| cell.fitted), of(&|cell| !cell.fitted));
    if (fitted.cells, kept.cells) != (52, 88) {
        return String::new();
    }
    let fig3 = of(&|cell| !cell.fitted && cell.figure == "fig3");
    let waits = LOCK_WAITS.into_iter().filter(|(scheduler, n, published)| {
        let here = |cell: &Cell| cell.figure == "fig7" && cell.n == *n && cell.scheduler == *scheduler;
        all().any(|(cell, ours)| here(cell) && (100.0 * ours.waits - published).abs() <= 8.0)
    });
    let (kept_cells, ours): (Vec<Cell>, Vec<Predicted>) =
        all().filter(|(cell, _)| !cell.fitted).map(|(cell, ours)| (cell.clone(), *ours)).unzip();
    let part = |n: u32| 100.0 * f64::from(n) / f64::from(kept.cells);
    let rows = [
        ("fitted rates within 10 %: all", format!("{} of {}", fitted.rate_10, fitted.cells)),
        ("of the 88 others, rates within 15 %: 92 %", format!("{:.0} %", part(kept.rate_15))),
        ("… within 10 %: 80 %", format!("{:.0} %", part(kept.rate_10))),
        ("… p99 within a factor of 1.5: 90 %", format!("{:.0} %", part(kept.p99))),
        ("… of fig3's 28: 24", fig3.p99.to_string()),
        ("orders that are wrong: none", orders(&kept_cells, &ours).1.len().to_string()),
        ("lock waits within 8 points: 4", waits.count().to_string()),
    ];
    let rows = rows.map(|(aim, reached)| format!("| {aim} | {reached} |\n")).concat();
    format!("| aim | reached |\n|---|---|\n{rows}\n")
}

fn page(cells: &[Cell], predicted: &[Predicted]) -> String {
    let mut page = aims(cells, predicted);
    page += "| cells | IOPS within 10 % | within 15 % | p99 within a factor of 1.5 |\n|---|---|---|---|\n";
    let all = || cells.iter().zip(predicted);
    let mut row = |name: &str, tally: Tally| {
        let Tally { cells, rate_10, rate_15, p99 } = tally;
        writeln!(page, "| {name} | {rate_10} of {cells} | {rate_15} of {cells} | {p99} of {cells} |")
            .expect("a string");
    };
    row("fitted", tally(all().filter(|(cell, _)| cell.fitted)));
    for figure in ["fig3", "fig5", "fig7"] {
        row(&format!("kept: {figure}"), tally(all().filter(|(cell, _)| !cell.fitted && cell.figure == figure)));
    }
    row("kept: all", tally(all().filter(|(cell, _)| !cell.fitted)));
    let kept: Vec<(Cell, Predicted)> =
        all().filter(|(cell, _)| !cell.fitted).map(|(cell, ours)| (cell.clone(), *ours)).collect();
    let (kept, ours): (Vec<Cell>, Vec<Predicted>) = kept.into_iter().unzip();
    let (pairs, wrong) = orders(&kept, &ours);
    let named = if wrong.is_empty() { String::new() } else { format!(": {}", wrong.join("; ")) };
    writeln!(
        page,
        "\nOrders of schedulers that differ by 10 % or more, kept rows: {} of {pairs} wrong{named}.\n",
        wrong.len()
    )
    .expect("a string");
    page += "| share of busy time that waits for a lock, fig7 (used to choose the split of BFQ's cost) \
             | published | predicted | with handovers |\n";
    page += "|---|---|---|---|\n";
    for (scheduler, n, published) in LOCK_WAITS {
        let found = all().find(|(cell, _)| cell.figure == "fig7" && cell.n == n && cell.scheduler == scheduler);
        if let Some((_, ours)) = found {
            let (waits, with) = (100.0 * ours.waits, 100.0 * ours.with_handovers);
            writeln!(page, "| {scheduler}, {n} processes | {published:.0} % | {waits:.0} % | {with:.0} % |")
                .expect("a string");
        }
    }
    for figure in ["fig2", "fig3", "fig5", "fig7"] {
        figure_table(&mut page, figure, &all().filter(|(cell, _)| cell.figure == figure).collect::<Vec<_>>());
    }
    page
}

/// Published and predicted of one figure: thousands of I/Os per second, and p99.
fn figure_table(page: &mut String, figure: &str, cells: &[(&Cell, &Predicted)]) {
    if cells.is_empty() {
        return;
    }
    write!(page, "\n| {figure}: kIOPS, p99 us; published → predicted |").expect("a string");
    SCHEDULERS.iter().for_each(|scheduler| write!(page, " {scheduler} |").expect("a string"));
    page.push_str("\n|---|---|---|---|---|\n");
    for row in cells.chunks(SCHEDULERS.len()) {
        let (first, _) = row[0];
        let part = if first.fitted { ", fitted" } else { "" };
        write!(page, "| {}{part} |", first.n).expect("a string");
        for (cell, ours) in row {
            let off = if (ours.rate / cell.rate - 1.0).abs() > 0.15 { " (!)" } else { "" };
            let late = if (ours.p99 / cell.p99).ln().abs() > 1.5_f64.ln() { " (!)" } else { "" };
            write!(page, " {:.1} → {:.1}{off}, {:.0} → {:.0}{late} |", cell.rate, ours.rate, cell.p99, ours.p99)
                .expect("a string");
        }
        page.push('\n');
    }
}

/// A picture of each figure.
fn draw(folder: &std::path::Path, cells: &[Cell], predicted: &[Predicted]) -> Result<()> {
    let titles = [
        ("fig2", "one process of depth n on one core", "depth"),
        ("fig3", "n processes of depth 1 on one core", "processes"),
        ("fig5", "n processes of depth 1 on ten cores", "processes"),
        ("fig7", "n processes of depth 128 on ten cores", "processes"),
    ];
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (figure, load, across) in titles {
        let of = |scheduler: &str| {
            let here = || {
                let all = cells.iter().zip(predicted);
                all.filter(|(cell, _)| cell.figure == figure && cell.scheduler == scheduler)
            };
            blksched_report::CurveLine {
                name: scheduler.to_owned(),
                ours: here().map(|(cell, ours)| (f64::from(cell.n), ours.rate)).collect(),
                published: here().map(|(cell, _)| (f64::from(cell.n), cell.rate)).collect(),
            }
        };
        if !cells.iter().any(|cell| cell.figure == figure) {
            continue;
        }
        let title = format!("{figure}, {load}: thousands of reads a second");
        let svg = blksched_report::curves(&title, across, &SCHEDULERS.map(of)).map_err(|error| anyhow!(error))?;
        let path = folder.join(format!("{figure}.svg"));
        fs::write(&path, svg).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

const BEGIN: &str = "<!-- published and predicted: written by `cargo xtask nvme-tables --write` -->\n";
const END: &str = "<!-- end of published and predicted -->";

fn write_between_marks(path: &std::path::Path, page: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let (before, rest) =
        text.split_once(BEGIN).with_context(|| format!("{}: no `{}`", path.display(), BEGIN.trim()))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{}: no `{END}`", path.display()))?;
    fs::write(path, format!("{before}{BEGIN}{page}{END}{after}")).with_context(|| path.display().to_string())
}
