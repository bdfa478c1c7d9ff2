//! Kyber's latency targets on this load and this disk: what each pair of them gives to reads, and what it costs writes.
//!
//! **Rule** The targets tried are the present ones, half of, once and twice the time that a request of the direction
//! takes in the device (whatever is below that is always missed), and a second, which never is. One run of the first
//! seed each. A direction without requests has its present target only.

use blksched::{Dir, Span};
use blksched_measure::Work;
use blksched_simulate::Grid;

use crate::comparison::Comparison;
use crate::error::Error;
use crate::runs::measured::Measured;
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, Stage};
use crate::watch::Watch;

/// The knobs, reads first.
const KNOBS: [&str; 2] = ["read_lat_nsec", "write_lat_nsec"];
/// A target that is never missed \[ns\].
const NEVER: i64 = 1_000_000_000;
/// How long Kyber measures before it changes anything: in a shorter run no target has an effect.
const PERIOD: Span = Span::from_ms(100);

/// What Kyber's targets do.
#[derive(Clone, Debug)]
pub struct KyberTargets {
    /// How long a request takes in the device with the present targets, reads first \[ns\]; `None` if there is none.
    pub in_device: [Option<f64>; 2],
    /// By target of reads, then of writes.
    pub rows: Vec<TargetRow>,
    /// How long a run was.
    pub length: Span,
}

impl KyberTargets {
    /// Whether the runs were too short for any target to have an effect.
    pub fn is_too_short(&self) -> bool {
        self.length <= PERIOD
    }
}

/// One pair of targets.
#[derive(Clone, Debug)]
pub struct TargetRow {
    /// The targets, reads first \[ns\].
    pub targets: [i64; 2],
    /// Whether they are those in force.
    pub is_present: bool,
    /// What came of them, reads first; `None` for a direction that nobody uses.
    pub done: [Option<TargetFigures>; 2],
}

/// One direction under a pair of targets.
#[derive(Clone, Copy, Debug)]
pub struct TargetFigures {
    /// I/Os per second.
    pub iops: f64,
    /// From submission to completion \[ns\].
    pub mean: f64,
    /// Completion latency \[ns\]; NaN with too few I/Os.
    pub p99: f64,
}

impl TargetFigures {
    fn of(measured: &Measured, dir: Dir) -> Option<TargetFigures> {
        let work = if dir == Dir::Read { Work::Read } else { Work::Write };
        let iops: f64 = measured.jobs.iter().filter_map(|job| job.work(work)).map(|done| done.iops.mean()).sum();
        let total = measured.total(dir);
        (iops > 0.0).then(|| TargetFigures { iops, mean: total.mean.mean(), p99: total.p99.mean() })
    }
}

impl KyberTargets {
    /// What Kyber's targets do on this stage in runs of this length; `None` for another scheduler.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn of(
        comparison: &Comparison,
        (stage, limit): (&Stage, Span),
        base: &Contender,
        watch: &dyn Watch,
    ) -> Result<Option<KyberTargets>, Error> {
        let built = base.choice.build();
        let default = |name: &str| built.elevator.tunables().get(name);
        let set = |name: &str| base.knobs.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
        let present = KNOBS.map(|name| set(name).or_else(|| default(name)));
        let (true, [Some(read), Some(write)]) = (base.choice.entry.name == "kyber", present) else { return Ok(None) };
        let present = [read, write];
        let run = |rows: &[Contender]| -> Result<Vec<Measured>, Error> {
            let trials = rows.iter().map(|row| stage.trial(&comparison.scene, row, limit)).collect();
            let grid = Grid::new(trials, vec![comparison.scene.seed]);
            watch.begins(grid.len());
            let fold = |found| Outcome::of(&stage.plan, &found);
            let runs = grid.run(fold, || watch.step(), || watch.is_interrupted()).map_err(Error::input);
            watch.ends();
            Ok(rows
                .iter()
                .zip(runs?)
                .filter(|(_, runs)| !runs.is_empty())
                .map(|(row, runs)| Measured::of(row, &stage.plan, &runs))
                .collect())
        };
        let Some(now) = run(std::slice::from_ref(base))?.pop() else { return Ok(None) };
        let in_device = Dir::BOTH.map(|dir| TargetFigures::of(&now, dir).map(|_| now.total(dir).service));
        let tried = [0, 1].map(|nth| tried(present[nth], in_device[nth]));
        let pairs: Vec<[i64; 2]> =
            tried[0].iter().flat_map(|read| tried[1].iter().map(|write| [*read, *write])).collect();
        let with = |pair: &[i64; 2]| base.with(&[(KNOBS[0].to_owned(), pair[0]), (KNOBS[1].to_owned(), pair[1])]);
        let found = run(&pairs.iter().map(with).collect::<Vec<_>>())?;
        let row = |(targets, one): (&[i64; 2], &Measured)| TargetRow {
            targets: *targets,
            is_present: *targets == present,
            done: Dir::BOTH.map(|dir| TargetFigures::of(one, dir)),
        };
        Ok(Some(KyberTargets { in_device, rows: pairs.iter().zip(&found).map(row).collect(), length: limit }))
    }
}

/// The targets of one direction that are tried, ascending.
fn tried(present: i64, in_device: Option<f64>) -> Vec<i64> {
    let Some(ns) = in_device.filter(|ns| *ns > 0.0) else { return vec![present] };
    let mut tried: Vec<i64> = [0.5, 1.0, 2.0].map(|times| rounded(ns * times)).to_vec();
    tried.extend([present, NEVER]);
    tried.sort_unstable();
    tried.dedup();
    tried
}

/// With two digits.
fn rounded(ns: f64) -> i64 {
    let unit = 10_f64.powi((ns.max(1.0).log10().floor() as i32 - 1).max(0));
    ((ns / unit).round() * unit) as i64
}

#[cfg(test)]
mod tests {
    use blksched::Catalogue;

    use super::*;
    use crate::files::NoFiles;
    use crate::scene::{Scene, contenders};

    #[test]
    fn targets_stand_around_what_a_request_takes_in_the_device() {
        assert_eq!(tried(2_000_000, Some(87_654.0)), [44_000, 88_000, 180_000, 2_000_000, NEVER]);
        assert_eq!(tried(2_000_000, None), [2_000_000]);
        assert_eq!((rounded(3.4), rounded(996.0)), (3, 1000));
    }

    fn targets(jobs: &str, name: &str) -> Option<KyberTargets> {
        let disk = "iocost:rbps=2706339840,rseqiops=786432,rrandiops=786432,wbps=1063126016,wseqiops=135560,\
                    wrandiops=130734";
        let scene = Scene { time: "400ms".parse().ok(), ..Scene::of_jobs("a.fio", jobs, disk) };
        let comparison = Comparison::of(scene, 1);
        let (stage, _) = Stage::load(&comparison.scene, &NoFiles).unwrap().without_logs();
        let base = contenders("", &[name.to_owned()], &[], &Catalogue::builtin()).unwrap().remove(0);
        let limit = Span::from_ms(400);
        KyberTargets::of(&comparison, (&stage, limit), &base, &()).unwrap()
    }

    const BOTH: &str = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nbs=4k\nioengine=libaio\ntime_based\nruntime=60\n\
                        [r]\nrw=randread\niodepth=8\n[w]\nrw=randwrite\niodepth=128\n";

    #[test]
    fn a_target_that_writes_always_miss_frees_the_reader_and_one_that_nobody_misses_does_nothing() {
        let found = targets(BOTH, "kyber@6.1").unwrap();
        assert!(found.rows.iter().filter(|row| row.is_present).count() == 1 && found.rows.len() >= 16);
        let read = |read: i64, write: i64| {
            let row = found.rows.iter().find(|row| row.targets == [read, write]).expect("it was tried");
            row.done[0].expect("somebody reads").mean
        };
        let least = found.rows[0].targets[0];
        // ICPE'24's tables 2 to 4 say so of other depths: 147 us for 531 us one at a time, 583 us for 940 us at 128.
        assert!(read(least, NEVER) < 0.5 * read(NEVER, NEVER), "{} and {}", read(least, NEVER), read(NEVER, NEVER));
        assert!(!found.is_too_short() && KyberTargets { length: PERIOD, ..found }.is_too_short());
        assert!(targets(BOTH, "mq-deadline").is_none());
        let reads = "[r]\nfilename=/dev/nvme0n1\ndirect=1\nrw=randread\nbs=4k\ntime_based\nruntime=60\n";
        let found = targets(reads, "kyber@6.1").unwrap();
        assert!(found.in_device[1].is_none() && found.rows.iter().all(|row| row.done[1].is_none()));
    }
}
