//! What a 99th percentile rests on: how many I/Os, and whether the disk's model was held against a drive's there.

use blksched::Dir;
use blksched_disks::TailOf;
use blksched_disks::sheet::Truth;
use blksched_measure::Work;

use crate::runs::measured::{JobMeasure, Measured};

/// One of the figures that are shown.
#[derive(Clone, Copy, Debug)]
pub struct TailFigure<'a> {
    /// The job, as measured under the default.
    pub job: &'a JobMeasure,
    /// What it waits for.
    pub work: Work,
}

/// In one line, what these percentiles rest on; `None` if there is none. Errors are means of I/O of 4 KiB at random.
pub fn sentence(model: &Truth, base: &Measured, figures: &[TailFigure<'_>]) -> Option<String> {
    let ios = |figure: &TailFigure<'_>| Some(figure.job.work(figure.work)?.ios.mean());
    let counts: Vec<f64> = figures.iter().filter_map(ios).collect();
    let least = counts.iter().copied().reduce(f64::min)?;
    let most = counts.iter().copied().fold(least, f64::max);
    let counted = match (least.round() as u64, most.round() as u64) {
        (least, most) if least == most => format!("{least}"),
        (least, most) => format!("{least} to {most}"),
    };
    let does = |dir: Dir| base.total(dir).bandwidth.mean() > 0.0;
    let is_mixed = does(Dir::Read) && does(Dir::Write);
    let (mut held, mut never): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    let works = [Work::Read, Work::Write, Work::Trim, Work::Sync];
    for work in works.into_iter().filter(|work| figures.iter().any(|figure| figure.work == *work)) {
        let (of, words) = match (work, is_mixed) {
            (Work::Read, false) => (Some(TailOf::Reads), TailOf::Reads.word()),
            (Work::Read, true) => (Some(TailOf::ReadsBesideWrites), TailOf::ReadsBesideWrites.word()),
            (Work::Write, false) => (Some(TailOf::Writes), TailOf::Writes.word()),
            (Work::Write, true) => (Some(TailOf::WritesBesideReads), TailOf::WritesBesideReads.word()),
            (Work::Trim, _) => (None, "discards"),
            (Work::Sync, _) => (None, "syncs"),
        };
        match of.and_then(|of| model.p99_off(of)) {
            Some(permille) => held.push(format!("{words} {} % off", permille.div_ceil(10))),
            None => never.push(words),
        }
    }
    let compared = match (held.is_empty(), never.is_empty()) {
        (true, _) => "never compared with a drive's".to_owned(),
        (false, true) => format!("beside a drive's: {}", held.join(", ")),
        (false, false) => format!("beside a drive's: {}; {} never compared", held.join(", "), never.join(", ")),
    };
    Some(format!("p99 rests on {counted} I/Os a run; {compared}"))
}
