//! A drive and a host that are known, seen only through the results that the simulator gives for them.

use std::sync::Arc;

use blksched::author::PerDir;
use blksched::{Dir, Span};
use blksched_disks::{Attached, QueueOrder};
use blksched_fit::{
    CellChoice, CellFigures, DriveKind, DriveModel, FigureBounds, GridCell, GridJudgement, GridLoad, Knowledge,
    LoadPattern, Parameter, PathHost, ReadBesideProgram, ResultGrid, RunEffort, TurningLaw, fit, simulated,
};

/// Reads and writes of a drive with a slow link, behind an old kernel's deadline elevator.
fn hidden() -> DriveModel {
    let parameters = [
        (Knowledge::Command, 35.0),
        (Knowledge::Read, 70.0),
        (Knowledge::Spread, 45.0),
        (Knowledge::ReadLink, 19.0),
        (Knowledge::WriteLink, 22.0),
    ];
    DriveModel {
        capacity_gb: Some(480),
        attached: Attached::Sata,
        depth: 31,
        kind: DriveKind::Flash,
        parameters: parameters.map(|(key, value)| Parameter { key, value }).to_vec(),
        beside_programs: None,
    }
}

/// Mixtures on an NVMe drive whose reads do this beside programs.
fn mixtures(beside_programs: ReadBesideProgram) -> ResultGrid {
    let values = [(Knowledge::Command, 9.0), (Knowledge::Read, 55.0), (Knowledge::Spread, 16.0)];
    let more = [(Knowledge::ReadLink, 4.0), (Knowledge::WriteLink, 3.0), (Knowledge::Program, 1_200.0)];
    let parameters = values.into_iter().chain(more).map(|(key, value)| Parameter { key, value }).collect();
    let beside_programs = Some(beside_programs);
    let drive = DriveModel { attached: Attached::Nvme, depth: 1023, parameters, beside_programs, ..hidden() };
    let (disk, any) = (Arc::new(drive.disk().unwrap()), CellFigures { iops: 40_000.0, ..CellFigures::default() });
    let loads =
        [(LoadPattern::Read, 1), (LoadPattern::Mixed(50), 1), (LoadPattern::Mixed(5), 1), (LoadPattern::Mixed(5), 8)];
    let cell = |(pattern, depth)| {
        let load = GridLoad { pattern, bytes: 4096, depth, jobs: 1 };
        let write = (pattern != LoadPattern::Read).then_some(any);
        let cell = GridCell { load, figures: PerDir { read: Some(any), write } };
        let figures = simulated(&cell, &disk, Span::ZERO, PathHost::ALL[3], (RunEffort::TELL, OTHER_SEED)).unwrap();
        GridCell { load, figures }
    };
    let (device, path) = ("hidden-480".to_owned(), "nvme".to_owned());
    ResultGrid { device, path, attached: Some(Attached::Nvme), cells: loads.map(cell).to_vec(), left_out: 0 }
}

#[test]
fn reads_that_wait_for_programs_are_told_from_reads_that_interrupt_them() {
    for does in [ReadBesideProgram::Waits, ReadBesideProgram::Suspends] {
        let grid = mixtures(does);
        let fitted = fit(&grid, &CellChoice::of(&grid), &[PathHost::ALL[3]], &|_| ()).unwrap();
        assert_eq!(fitted.model.beside_programs, Some(does), "{:?}", fitted.model);
        let program = fitted.model.get(Knowledge::Program).unwrap();
        // What reads that interrupt it do not wait for, only the rate of deep writes tells.
        assert!(does == ReadBesideProgram::Suspends || (1_000.0..1_400.0).contains(&program), "{program}");
    }
}

/// Not the fit's: which pages are slow is drawn anew.
const OTHER_SEED: u64 = 7;

fn results(model: &DriveModel, host: PathHost) -> ResultGrid {
    let disk = Arc::new(model.disk().unwrap());
    let mut cells = Vec::new();
    for pattern in [LoadPattern::Read, LoadPattern::Write] {
        for (depth, jobs) in [(1, 1), (4, 1), (1, 8), (8, 2), (16, 4), (32, 4), (16, 16)] {
            let load = GridLoad { pattern, bytes: 4096, depth, jobs };
            let any = CellFigures { iops: 40_000.0, ..CellFigures::default() };
            let figures = match pattern {
                LoadPattern::Write => PerDir { read: None, write: Some(any) },
                _ => PerDir { read: Some(any), write: None },
            };
            let cell = GridCell { load, figures };
            let figures = simulated(&cell, &disk, Span::ZERO, host, (RunEffort::TELL, OTHER_SEED)).unwrap();
            cells.push(GridCell { load, figures });
        }
    }
    ResultGrid {
        device: "hidden-480".to_owned(),
        path: "sata".to_owned(),
        attached: Some(Attached::Sata),
        cells,
        left_out: 0,
    }
}

#[test]
fn the_host_and_the_values_are_found_and_predict_what_was_not_used() {
    let [noop, deadline, ..] = PathHost::ALL;
    let grid = results(&hidden(), deadline);
    let choice = CellChoice::of(&grid);
    assert_eq!((choice.used.len(), choice.judges.len()), (8, 6));
    let fitted = fit(&grid, &choice, &[noop, deadline], &|_| ()).unwrap();
    assert_eq!(fitted.host, deadline, "{:?}", fitted.hosts);
    for known in hidden().parameters {
        let found = fitted.model.get(known.key).unwrap();
        // A page's time and a command's are one sum for reads, which writes divide.
        let most = if known.key == Knowledge::Spread { 1.3 } else { 1.12 };
        let ratio = found / known.value;
        assert!(ratio.max(1.0 / ratio) < most, "{known:?}: {found}");
    }
    assert!(fitted.model.at_limits().is_empty());
    let any = |_: GridLoad, _: Dir| true;
    let judged = GridJudgement::of(&grid, &choice, &fitted, FigureBounds::USUAL, None, any).unwrap();
    assert_eq!((judged.model.count, judged.other.count), (6, 0));
    let right = judged.model.percent().unwrap();
    assert!(right.iter().all(|&share| share == 100.0), "{right:?}: {:?}", judged.rows);
    assert_ne!(judged.interpolated.percent().unwrap(), right, "a line between the cells is not as good");
}

#[test]
fn a_drive_that_pauses_and_a_controller_that_gathers_are_told_from_one_that_does_not() {
    let host = PathHost::ALL[0];
    let mut model = hidden();
    model.set(Knowledge::Stall, 8_000.0);
    model.set(Knowledge::Coalescing, 120.0);
    for (model, has) in [(model, true), (hidden(), false)] {
        let grid = results(&model, host);
        let choice = CellChoice::of(&grid);
        let fitted = fit(&grid, &choice, &[host], &|_| ()).unwrap();
        for key in [Knowledge::Stall, Knowledge::Coalescing] {
            assert_eq!(fitted.model.get(key).is_some(), has, "{key:?}: {:?}", fitted.model);
        }
        if let Some(stall) = fitted.model.get(Knowledge::Stall) {
            assert!((6_500.0..9_500.0).contains(&stall), "{stall}");
        }
    }
}

#[test]
fn a_spinning_drives_arm_and_its_firmwares_choice_are_found() {
    for (order, ahead) in [(QueueOrder::Seek, 3), (QueueOrder::Positioning, 0)] {
        let (law, host) = (TurningLaw { rpm: 7_200, order, ahead }, PathHost::ALL[0]);
        let parameters = [(Knowledge::SeekAverage, 9_300.0), (Knowledge::SeekShortest, 1_500.0)];
        let parameters = parameters.map(|(key, value)| Parameter { key, value }).to_vec();
        let hidden = DriveModel { capacity_gb: Some(500), kind: DriveKind::Turning(law), parameters, ..hidden() };
        let mut grid = results(&hidden, host);
        grid.device = "hidden-500gb-7200".to_owned();
        let choice = CellChoice::of(&grid);
        let reads = |load: &GridLoad| load.pattern == LoadPattern::Read;
        assert!(choice.used.iter().chain(&choice.judges).all(reads), "writes are not told");
        let fitted = fit(&grid, &choice, &[host], &|_| ()).unwrap();
        let found = fitted.model.law().unwrap();
        assert!(found.order == order && found.ahead.abs_diff(ahead) <= 1, "{found:?}");
        for (key, most) in [(Knowledge::SeekAverage, 1.1), (Knowledge::SeekShortest, 1.5)] {
            let ratio = fitted.model.get(key).unwrap() / hidden.get(key).unwrap();
            assert!(ratio.max(1.0 / ratio) < most, "{order:?}: {key:?} {ratio}");
        }
    }
}
