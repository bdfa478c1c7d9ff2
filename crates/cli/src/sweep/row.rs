//! The rows of one run: one per job and direction, in base units.

use blksched::tunables::{Tunables, Unit};
use blksched_measure::{AskedAndGiven, Direction, Work, fairness};
use blksched_simulate::Findings;
use blksched_workloads::Plan;
use blksched_workloads::host::HostKnobs;
use serde::{Deserialize, Serialize};

use blksched_lab::scene::Contender;

/// One run; its rows share everything except `parts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunRows {
    /// The hash of everything that decides it: 32 hexadecimal digits.
    pub(super) key: String,
    pub(super) workload: String,
    pub(super) disk: String,
    pub(super) scheduler: String,
    /// The changed knobs, as typed.
    pub(super) settings: String,
    /// The same as numbers of their control files.
    pub(super) knobs: Vec<(String, i64)>,
    pub(super) seed: u64,
    /// Why there is nothing else.
    pub(super) error: Option<String>,
    pub(super) run: Option<RunFacts>,
    pub(super) parts: Vec<JobPart>,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunFacts {
    pub(super) time_limit_ns: u64,
    pub(super) elapsed_ns: u64,
    pub(super) finished: bool,
    pub(super) requests: u64,
    pub(super) utilisation: f64,
    pub(super) seeking: f64,
    pub(super) fairness: Option<f64>,
    pub(super) trace_hash: String,
}

/// One job in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobPart {
    pub(super) job: String,
    pub(super) processes: u32,
    pub(super) stall_ns: u64,
    /// `None` if it did nothing.
    pub(super) done: Option<DoneWork>,
}

/// What it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DoneWork {
    pub(super) what: String,
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) bw: f64,
    pub(super) iops: f64,
    pub(super) mean_ns: Option<f64>,
    /// p50, p90, p99, p99.9; `None` if there are too few I/Os.
    pub(super) percentiles_ns: [Option<u64>; 4],
    pub(super) max_ns: Option<u64>,
}

/// The percentiles of a row.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

impl RunRows {
    /// A run that is still to be made.
    pub(crate) fn new(key: u128, workload: &str, disk: &str, contender: &Contender, seed: u64) -> RunRows {
        let built = contender.choice.build();
        let tunables = built.elevator.tunables();
        let unit = |name: &str| tunables.find(name).ok().map(|knob| knob.unit);
        let show =
            |(name, raw): &(String, i64)| format!("{name}={}", unit(name).map_or(raw.to_string(), |u| u.show(*raw)));
        let around = contender.around.settings().into_iter();
        let around = around.map(|(name, raw)| (name.to_owned(), in_sysfs(host_unit(name), raw)));
        let own = contender.knobs.iter().map(|(name, raw)| (name.clone(), in_sysfs(unit(name), *raw)));
        let shown: Vec<String> = contender.knobs.iter().map(show).chain(contender.around.shown()).collect();
        RunRows {
            key: format!("{key:032x}"),
            workload: workload.to_owned(),
            disk: disk.to_owned(),
            scheduler: contender.choice.to_string(),
            settings: shown.join(" "),
            knobs: own.chain(around).collect(),
            seed,
            error: None,
            run: None,
            parts: Vec::new(),
        }
    }

    /// The sort key of rows, which puts similar rows together.
    pub(super) fn place(&self) -> [String; 6] {
        let RunRows { workload, disk, scheduler, settings, seed, key, .. } = self.clone();
        [workload, disk, scheduler, settings, format!("{seed:020}"), key]
    }

    /// The changed knobs.
    pub(crate) fn knobs(&self) -> impl Iterator<Item = &str> {
        self.knobs.iter().map(|(name, _)| name.as_str())
    }

    /// Marks the run as failed.
    pub(crate) fn failed(mut self, why: String) -> RunRows {
        self.error = Some(why);
        self
    }

    /// Adds the run's results.
    pub(crate) fn found(mut self, plan: &Plan, time_limit_ns: u64, run: &Findings) -> RunRows {
        let shares: Vec<AskedAndGiven> = run.jobs.iter().map(|job| job.share).collect();
        self.run = Some(RunFacts {
            time_limit_ns,
            elapsed_ns: run.elapsed.as_ns(),
            finished: run.finished,
            requests: run.requests,
            utilisation: run.disk.busy,
            seeking: run.disk.seeking,
            fairness: fairness(&shares, &plan.together()),
            trace_hash: run.hash.to_string(),
        });
        let shown = |row: &u32| plan.jobs.iter().any(|job| job.row == *row && job.report.shown);
        for row in (0..plan.rows()).filter(shown) {
            let members = plan.members(row);
            // A single process is taken as it is; several are merged.
            let merged = (members.len() > 1).then(|| run.merged(&members));
            let record = merged.as_ref().unwrap_or(&run.jobs[members[0]].record);
            let part = |done| JobPart {
                job: record.job.name.clone(),
                processes: members.len() as u32,
                stall_ns: record.stall.as_ns(),
                done,
            };
            let before = self.parts.len();
            for work in Work::ALL.into_iter().filter(|work| record.work(*work).ios > 0) {
                let (bw, iops) = (record.bandwidth(work), record.iops(work));
                self.parts.push(part(Some(DoneWork::of(work, record.work(work), bw, iops))));
            }
            if self.parts.len() == before {
                self.parts.push(part(None));
            }
        }
        self
    }
}

impl DoneWork {
    fn of(work: Work, direction: &Direction, bw: f64, iops: f64) -> DoneWork {
        let clat = &direction.clat;
        let any = !clat.is_empty();
        // There are too few I/Os if less than one lies beyond the percentile, as in `compare`.
        let enough = |percent: f64| clat.count() as f64 * (100.0 - percent) >= 99.999;
        DoneWork {
            what: work.name().to_owned(),
            ios: direction.ios,
            bytes: direction.bytes,
            bw,
            iops,
            mean_ns: any.then(|| clat.mean()),
            percentiles_ns: PERCENTILES.map(|p| (any && enough(p)).then(|| clat.percentile(p).as_ns())),
            max_ns: any.then(|| clat.max().as_ns()),
        }
    }
}

fn in_sysfs(unit: Option<Unit>, raw: i64) -> i64 {
    unit.map_or(raw, |unit| unit.in_sysfs(raw))
}

fn host_unit(name: &str) -> Option<Unit> {
    HostKnobs::default().find(name).ok().map(|knob| knob.unit)
}

#[cfg(test)]
mod tests {
    use blksched::{Catalogue, Span};

    use super::*;
    use blksched_lab::scene::{Stage, contenders};
    use blksched_lab::{NoFiles, Scene};

    #[test]
    fn what_is_not_measured_for_rows_changes_none() {
        let loads = ["reader-and-writer", "beside-a-backup", "four-streams", "dd:size=4m"];
        for (load, disk) in loads.iter().flat_map(|load| ["hdd-7200", "sata-ssd"].map(|disk| (load, disk))) {
            let scene = Scene { jobs: vec![(*load).to_owned()], ..Scene::of("", disk, 3) };
            let stage = Stage::load(&scene, &NoFiles).unwrap();
            let contender = &contenders("", &["bfq".to_owned()], &[], &Catalogue::builtin()).unwrap()[0];
            let limit = Span::from_secs(1);
            let whole = stage.trial(&scene, contender, limit).simulate().unwrap();
            let rows =
                |run: &Findings, plan: &Plan| RunRows::new(0, load, disk, contender, 3).found(plan, limit.as_ns(), run);
            let told = rows(&whole, &stage.plan);
            assert!(told.run.as_ref().unwrap().requests > 0 && !told.parts.is_empty());
            let stage = stage.for_rows();
            let brief = stage.trial(&scene, contender, limit).simulate_for_shares().unwrap();
            assert_eq!(rows(&brief, &stage.plan), told, "{load} on {disk}");
            assert!(brief.reasons.disk().iter().next().is_none(), "time was divided by what it was for");
        }
    }
}
