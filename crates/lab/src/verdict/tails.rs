//! What a 99th percentile rests on: how many I/Os, and whether the disk's model was held against a drive's there.

use blksched::Dir;
use blksched_disks::TailOf;
use blksched_disks::sheet::Truth;
use blksched_measure::Work;
use blksched_workloads::JobPlan;
use blksched_workloads::fio::OffsetOrder;

use crate::runs::measured::{JobMeasure, Measured};

/// One of the figures that are shown.
#[derive(Clone, Copy, Debug)]
pub struct TailFigure<'a> {
    /// The job, as measured under the default.
    pub job: &'a JobMeasure,
    /// What it waits for.
    pub work: Work,
    /// The job as planned; `None` if it is no job of fio's.
    pub plan: Option<&'a JobPlan>,
}

/// The size of the I/O that was compared with drives \[bytes\].
const COMPARED_BYTES: f64 = 4096.0;

impl TailFigure<'_> {
    /// Whether its I/O is as what was compared with drives: past the host's memory, at random places, of that size.
    fn is_like_compared(&self) -> bool {
        let is_random = |plan: &JobPlan| !plan.is_buffered && plan.character.order == Some(OffsetOrder::Random);
        let is_so_long = self.job.work(self.work).is_some_and(|done| {
            let bytes = done.bandwidth.mean() / done.iops.mean();
            (bytes - COMPARED_BYTES).abs() < COMPARED_BYTES / 100.0
        });
        self.plan.is_some_and(is_random) && is_so_long
    }
}

/// In one line, what these percentiles rest on; `None` if there is none. `in_flight` is how many I/Os all jobs keep
/// in flight at most. Errors are means over loads of 4 KiB at random places.
pub fn sentence(model: &Truth, base: &Measured, figures: &[TailFigure<'_>], in_flight: u32) -> Option<String> {
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
    let (mut held, mut never): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let works = [Work::Read, Work::Write, Work::Trim, Work::Sync];
    for work in works {
        let shown: Vec<_> = figures.iter().filter(|figure| figure.work == work).collect();
        if shown.is_empty() {
            continue;
        }
        let (of, words) = match (work, is_mixed) {
            (Work::Read, false) => (Some(TailOf::Reads), TailOf::Reads.word()),
            (Work::Read, true) => (Some(TailOf::ReadsBesideWrites), TailOf::ReadsBesideWrites.word()),
            (Work::Write, false) => (Some(TailOf::Writes), TailOf::Writes.word()),
            (Work::Write, true) => (Some(TailOf::WritesBesideReads), TailOf::WritesBesideReads.word()),
            (Work::Trim, _) => (None, "discards"),
            (Work::Sync, _) => (None, "syncs"),
        };
        match of.and_then(|of| model.p99_off(of, in_flight)) {
            Some(permille) if shown.iter().all(|figure| figure.is_like_compared()) => {
                held.push(format!("{words} ({} % off on average)", permille.div_ceil(10)));
            }
            Some(_) => never.push(format!("such {words}")),
            None => never.push(words.to_owned()),
        }
    }
    let compared = match (held.is_empty(), never.is_empty()) {
        (true, _) => "never compared with a drive's".to_owned(),
        (false, true) => format!("compared with a measured drive's: {}", held.join(", ")),
        (false, false) => {
            format!("compared with a measured drive's: {}; never: {}", held.join(", "), never.join(", "))
        }
    };
    Some(format!("p99 rests on {counted} I/Os a run; {compared}"))
}
