//! `blksched matrix`: schedulers × disks × workloads, as one page and one CSV: the best scheduler, its gain, its price,
//! and where there is no difference.

use std::fmt::Write;
use std::path::PathBuf;

use blksched::Catalogue;
use blksched_lab::runs::measured::Availability;
use blksched_lab::scene::{BY_FILE, BY_WEIGHT, Stage, by_groups};
use blksched_lab::verdict::action::{self, Action, Challenger, Kept};
use blksched_lab::verdict::clones::{JobDifference, by_job};
use blksched_lab::verdict::contrast::times;
use blksched_lab::{Comparison, FitSearch, Scene, Watch};
use blksched_workloads::QUESTIONS;
use blksched_workloads::host::fs::{FsKind, FsMount};
use clap::Args;

use super::arguments::effort;
use crate::failure::Failure;
use crate::input::OnDisk;
use crate::output;
use crate::progress::Followed;
use crate::quoted::quoted;
use crate::scene::FileName;

/// Device classes: two generations of spinning disks, several behind one controller, flash behind SATA, NVMe, USB and
/// SD, a cloud's volume, and what a virtual machine sees of an NVMe drive.
const DISKS: [&str; 10] = [
    "ide-2002",
    "sata-2009",
    "hdd-7200",
    "raid5:4xhdd-7200",
    "sata-ssd",
    "nvme-ssd",
    "usb-stick",
    "sd-card",
    "cloud-gp3",
    "virtio:nvme-ssd",
];
/// Those of present kernels, and any other that is built in.
const SCHEDULERS: [&str; 5] = ["none", "mq-deadline", "kyber", "bfq", "adios"];
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  blksched matrix > matrix.md                       every question on every class of disk, in a few minutes
  blksched matrix --disks my-disk.toml --csv my.csv
  blksched matrix --workloads backup,scrub --seeds 20")]
pub(crate) struct MatrixArguments {
    /// The disks: presets or TOML files [default: ten classes]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = FileName)]
    disks: Vec<String>,
    /// The workloads [default: the ones most often asked about]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = FileName)]
    workloads: Vec<String>,
    /// The schedulers; each disk's default goes first [default: those of present kernels, adios where built in, and
    /// where a workload has groups, none+io.cost and the other controllers that it has settings for]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    elevators: Vec<String>,
    /// How many seeds to run each with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    seeds: u32,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How much may be simulated for a cell: 1 is about ten seconds of a processor for five seeds
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = effort)]
    effort: f64,
    /// How many threads run at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// The file system below the workloads' files: ext4, xfs, ext3, ext2, none (files are regions of the disk)
    /// [default: as the workload's own job file says, or ext4]
    #[arg(long, value_name = "NAME[:OPTION,…]", value_parser = FsMount::named)]
    fs: Option<FsMount>,
    /// Also write every candidate's ratio as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

const HEADER: &str =
    "workload,disk,default,scheduler,out_of_tree,times_better,low,high,p_corrected,recommended,forbidden,price\n";

/// One cell of the matrix.
struct Field {
    /// `bfq 2.10 times`; `=`; `choose: bfq`; `?` if nothing can be said.
    short: String,
    /// The whole verdict.
    long: String,
}

pub(crate) fn run(arguments: &MatrixArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let or = |said: &[String], usual: Vec<&str>| match said {
        [] => usual.into_iter().map(str::to_owned).collect(),
        said => said.to_vec(),
    };
    let built = |name: &&str| catalogue.entries().iter().any(|entry| entry.name == *name);
    let disks: Vec<String> = or(&arguments.disks, DISKS.to_vec());
    let workloads: Vec<String> = or(&arguments.workloads, QUESTIONS.to_vec());
    let schedulers: Vec<String> = or(&arguments.elevators, SCHEDULERS.into_iter().filter(built).collect());
    let mut csv = HEADER.to_owned();
    let mut page = head(arguments, &schedulers);
    let _ = writeln!(page, "| workload | {} |\n|---|{}", disks.join(" | "), "---|".repeat(disks.len()));
    let mut details = String::new();
    let followed = Followed::new();
    let mut left_out = 0;
    for workload in &workloads {
        let _ = write!(page, "| [{workload}](#{workload}) |");
        let _ = write!(details, "\n## {workload}\n\n| disk | verdict |\n|---|---|\n");
        for disk in &disks {
            let mut rows = String::new();
            let field = if followed.is_interrupted() {
                None
            } else {
                let field = field(arguments, catalogue, (workload, disk), &schedulers, (&mut rows, &followed));
                // A run cut short by an interrupt is left out.
                if followed.is_interrupted() { None } else { Some(field?) }
            };
            let Some(field) = field else {
                left_out += 1;
                page.push_str(" - |");
                continue;
            };
            csv += &rows;
            let _ = write!(page, " {} |", field.short);
            let _ = writeln!(details, "| {disk} | {} |", field.long.replace('|', "\\|"));
        }
        page.push('\n');
    }
    if left_out > 0 {
        let _ = writeln!(details, "\nInterrupted: {left_out} cells (`-`) were not run.");
    }
    if let Some(file) = &arguments.csv {
        let written = std::fs::write(file, csv);
        written.map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))?;
    }
    Ok(output::print(&(page + &details))?)
}

fn head(arguments: &MatrixArguments, schedulers: &[String]) -> String {
    format!(
        "# Which scheduler for which load on which disk\n\n\
         Generated by `blksched matrix` {version}; do not edit. {seeds} seeds from {seed}; schedulers:\n\
         {schedulers}.\n\n\
         Each cell compares the schedulers with the kernel's own choice for that disk (`mq-deadline` for one\n\
         hardware queue, `none` for many). `=`: no scheduler is proven to be 5 % better on the figures that each\n\
         job's role calls for (Holm's correction over the candidates), or none that is better can be recommended.\n\
         `choose`: a scheduler helps some jobs and harms others. `?`: the runs do not say.\n\
         Simulated, on models of disks: [disks.md](disks.md) says what each was validated against.\n\
         Files are {files}. `blksched list WORKLOAD` prints a job\n\
         file, `blksched compare WORKLOAD --disk DISK{flag} --elevators A,B,…` the whole comparison behind a cell.\n\
         {besides}\n",
        besides = besides(arguments),
        files = files(arguments.fs),
        flag = arguments.fs.map(|fs| format!(" --fs {fs}")).unwrap_or_default(),
        version = env!("CARGO_PKG_VERSION"),
        seeds = arguments.seeds,
        seed = arguments.seed,
        schedulers = schedulers.join(", "),
    )
}

/// Where the workloads' files are.
fn files(fs: Option<FsMount>) -> String {
    match fs {
        Some(fs) if fs == FsKind::None => "regions of the disk, without a file system".to_owned(),
        Some(fs) => format!("on {fs}"),
        None => "on ext4, unless the workload's own job file says otherwise".to_owned(),
    }
}

/// What the cells also contain, unless the schedulers were named.
fn besides(arguments: &MatrixArguments) -> String {
    let told = format!(
        "For a workload in control groups (vm-host, backup), {BY_WEIGHT} is run as well: no scheduler, and the\n\
         controller that keeps their weights; and {by_file}, with the caps, targets\n\
         and classes that the job file has for them. A scheduler that needs a patched kernel (adios) is never\n\
         recommended; where it would be better than the default, the verdict mentions it as *out of tree*.\n",
        by_file = BY_FILE.join(", "),
    );
    if arguments.elevators.is_empty() { told } else { String::new() }
}

fn field(
    arguments: &MatrixArguments,
    catalogue: &Catalogue,
    (workload, disk): (&str, &str),
    schedulers: &[String],
    (csv, followed): (&mut String, &Followed),
) -> Result<Field, Failure> {
    let scene = Scene { fs: arguments.fs, ..Scene::of(workload, disk, arguments.seed) };
    let (stage, _) = Stage::load(&scene, &OnDisk)?.without_logs();
    let default = stage.kernel_default(&scene).to_owned();
    let mut elevators = vec![default.clone()];
    elevators.extend(schedulers.iter().filter(|name| **name != default).cloned());
    if arguments.elevators.is_empty() {
        elevators.extend(by_groups(&stage.plan));
    }
    let (threads, effort) = (arguments.threads, arguments.effort);
    let question = Comparison { elevators, threads, effort, ..Comparison::of(scene, arguments.seeds) };
    let question = Comparison { fits: FitSearch::None, ..question };
    let compared = question.run(stage, catalogue, followed)?;
    let Some(action) = compared.action() else {
        return Ok(Field { short: "?".to_owned(), long: compared.verdict.advice().to_owned() });
    };
    let (measured, verdict) = (&compared.measured, &compared.verdict);
    let others = (&*measured[0], &measured[1..]);
    let out_of_tree = action::candidates(others, &verdict.contrasts, &verdict.goal, 1, Availability::OutOfTree);
    for candidate in action.candidates.iter().chain(&out_of_tree) {
        row(csv, (workload, disk), &action, candidate);
    }
    let mut short = match action.chosen() {
        Some(chosen) => format!("**{}** {}", chosen.scheduler.label(), times(chosen.score.ratio)),
        None if action.kept() == Some(Kept::DefaultInTwoModes) => "?".to_owned(),
        None => action.dear().map_or("=".to_owned(), |dear| format!("choose: {}", dear.scheduler.label())),
    };
    let mut long = action.sentences();
    for better in
        out_of_tree.iter().filter(|candidate| candidate.is_better() && action.objections(candidate).is_empty())
    {
        let (name, how_much) = (better.scheduler.label(), action.how_much(better));
        let _ = write!(short, " (*{name} {}*)", times(better.score.ratio));
        long.push(format!("Out of tree: {name} is {how_much}."));
    }
    Ok(Field { short, long: long.join(" ") })
}

fn row(csv: &mut String, (workload, disk): (&str, &str), action: &Action, candidate: &Challenger) {
    let chosen = action.chosen().is_some_and(|chosen| std::ptr::eq(chosen, candidate));
    let price: Vec<String> =
        by_job(candidate.costs.iter(), &action.default.jobs).iter().map(JobDifference::with_job).collect();
    let _ = writeln!(
        csv,
        "{},{},{},{},{},{:.4},{:.4},{:.4},{:.5},{chosen},{},{}",
        quoted(workload),
        quoted(disk),
        quoted(&action.default.label()),
        quoted(&candidate.scheduler.label()),
        candidate.scheduler.availability == Availability::OutOfTree,
        candidate.score.ratio,
        candidate.score.low,
        candidate.score.high,
        candidate.p,
        quoted(&action.objections(candidate).join("; ")),
        quoted(&price.join("; ")),
    );
}
