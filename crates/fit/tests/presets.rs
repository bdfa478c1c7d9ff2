//! The presets that are measured drives, on cells of their grids, and one on published charts.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use blksched::{Catalogue, Dir, Span};
use blksched_disks::load;
use blksched_fit::matrix::{self, MatrixBounds, MatrixChoice, MatrixEffort, MatrixJudgement, MatrixPlace};
use blksched_fit::{CellChoice, FigureBounds, GridJudgement, GridLoad, PathHost, ResultGrid, table};
use blksched_simulate::{Starts, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

fn data(name: &str) -> String {
    format!("{}/../../testdata/grids/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn grids() -> Vec<ResultGrid> {
    let path = data("cells.csv");
    table::read(&path, BufReader::new(File::open(&path).unwrap())).unwrap()
}

/// All cells that are kept here, most of which the presets were fitted to: that a change of a model does not spoil
/// them. How far they are off on others is in their files, by the whole grids.
fn everything(grid: &ResultGrid) -> CellChoice {
    let choice = CellChoice::of(grid);
    CellChoice { judges: choice.used.into_iter().chain(choice.judges).collect(), used: Vec::new() }
}

#[test]
fn presets_that_were_measured_still_give_their_drives_cells() {
    let any = |_: GridLoad, _: Dir| true;
    for (preset, device, path, elevator, least) in [
        ("hdd-raptor-10k", "raptor-73gb-10k", "unknown", "deadline@4.20", [100.0, 85.0, 100.0, 100.0]),
        ("hdd-travelstar-7k100", "hgst-hts7210-100gb-7200", "hp-h420i", "noop@4.20", [100.0, 100.0, 100.0, 85.0]),
        ("sata-ssd-s4610", "intel-d3-s4610-480", "sata300", "deadline@4.20", [85.0, 85.0, 85.0, 85.0]),
        ("sata-ssd-crucial-250", "crucial-250", "sata300", "deadline@4.20", [90.0, 85.0, 85.0, 85.0]),
    ] {
        let host = PathHost::ALL.into_iter().find(|host| host.elevator == elevator).unwrap();
        let grids = grids();
        let grid = grids.iter().find(|grid| grid.device == device && grid.path == path).unwrap();
        let disk = (&Arc::new(load(preset).unwrap()), Span::ZERO, host);
        let judged = GridJudgement::of_disk(grid, &everything(grid), disk, FigureBounds::USUAL, None, any).unwrap();
        let right = judged.model.percent().unwrap();
        println!("{preset}: {right:?} % of {} cells, off by {:?}", judged.model.count, judged.mean_errors());
        assert!(
            right.iter().zip(least).all(|(right, least)| *right >= least),
            "{preset}: {right:?}: {:?}",
            judged.rows
        );
        // Another drive's model does not do that.
        let null = (
            &Arc::new(load(if preset.starts_with("hdd") { "hdd-7200-ideal" } else { "sata-ssd-ideal" }).unwrap()),
            Span::ZERO,
            host,
        );
        let null = GridJudgement::of_disk(grid, &everything(grid), null, FigureBounds::USUAL, None, any).unwrap();
        let sum = |of: &GridJudgement| of.model.percent().unwrap().iter().sum::<f64>();
        assert!(sum(&null) < sum(&judged) - 80.0, "{preset}: {:?}", null.model.percent());
    }
}

#[test]
fn a_cloud_drive_answers_reads_beside_a_writer_as_it_was_measured() {
    let mut all = Vec::new();
    let path = data("latency-i3.csv");
    matrix::add_table(&mut all, &path, File::open(&path).unwrap()).unwrap();
    let whole = MatrixChoice::of(&all[0]);
    // Every fourth of either rate, and every fifth without writes; none of the eight loads of the fit.
    let some = |at: &&MatrixPlace| at.reads % 4 == 2 && at.writes % 4 == 2 || at.reads % 5 == 3 && at.writes == 0;
    let judges: Vec<MatrixPlace> = whole.judges.iter().filter(some).copied().collect();
    assert!(judges.len() >= 12, "{judges:?}");
    let choice = MatrixChoice { used: whole.used, judges };
    let right = |disk: &str| {
        let disk = Arc::new(load(disk).unwrap());
        let bounds = MatrixBounds::USUAL;
        let judged = MatrixJudgement::of(&all[0], &choice, &disk, bounds, MatrixEffort::TRY).unwrap();
        println!("{}: {:?}, off by {:?}", disk.name, judged.model, judged.mean_error);
        judged.model
    };
    let (ours, null) = (right("nvme-cloud-i3"), right("nvme-ssd-ideal"));
    // 69 % of all of either.
    assert!((0..2).all(|at| ours.right[at] * 5 >= ours.count[at] * 3), "{ours:?}");
    assert!(null.right[0] + null.right[1] <= (ours.right[0] + ours.right[1]) / 2, "{null:?}");
}

/// Median and p95 of random reads \[ms\] that come at random, so many per second.
fn reads_at(disk: &str, per_second: u32) -> [f64; 2] {
    let text = format!(
        "[r]\ndirect=1\nioengine=io_uring\nfilename=/dev/disk\nrw=randread\nbs=512\niodepth=1000\nnumjobs=3\n\
         rate_iops={}\nrate_process=poisson\ntime_based\nramp_time=5s\nruntime=30s\n",
        (f64::from(per_second) / 3.0).round()
    );
    let file = JobFile::parse(&text, "charts").unwrap();
    let disk = Arc::new(load(disk).unwrap());
    let plan = file.plan(disk.build(1).facts().sectors).unwrap();
    let plan = Arc::new(plan);
    let run = |seed| {
        let trial = Trial {
            elevator: Catalogue::builtin().parse("mq-deadline").unwrap(),
            knobs: Vec::new(),
            surroundings: Surroundings { starts: Starts::Drawn(0), ..Surroundings::default() },
            disk: disk.clone(),
            plan: plan.clone(),
            seed,
            limit: Span::from_secs(60),
            other_disks: Vec::new(),
            beside: Default::default(),
        };
        let found = trial.simulate_for_shares().unwrap();
        let all = found.merged(&(0..found.jobs.len()).collect::<Vec<_>>());
        [50.0, 95.0].map(|percent| all.read.clat.percentile(percent).as_ns() as f64 / 1e6)
    };
    let runs: Vec<[f64; 2]> = (1..=SEEDS).map(run).collect();
    [0, 1].map(|at| runs.iter().map(|run| run[at]).sum::<f64>() / SEEDS as f64)
}

/// Runs of half a minute, as the charts', that are averaged.
const SEEDS: u64 = 5;

#[test]
fn a_7200_rpm_disk_answers_as_its_charts_say_at_any_rate_of_reads() {
    let table = std::fs::read_to_string(data("dt01aca200.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        table.lines().skip(1).map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let off = |disk: &str| {
        let (mut right, mut logs) = ([0, 0], 0.0);
        for row in &rows {
            let [p50, p95] = reads_at(disk, row[0] as u32);
            let ratios = [p50 / row[1], p95 / row[2]].map(|ratio| ratio.max(1.0 / ratio));
            right = [right[0] + u32::from(ratios[0] <= 1.3), right[1] + u32::from(ratios[1] <= 1.5)];
            logs += ratios[0].ln() + ratios[1].ln();
        }
        println!(
            "{disk}: {right:?} of {}, off by a factor of {:.3}",
            rows.len(),
            (logs / 2.0 / rows.len() as f64).exp()
        );
        right
    };
    let [p50, p95] = off("hdd-dt01aca200");
    assert!(p50 >= 16 && p95 >= 18, "{p50}, {p95}");
    // A firmware that knows where the platters are would keep far more reads.
    assert!(off("hdd-7200-ideal").iter().sum::<u32>() < 25);
}
