//! Keeps the records of a trial's jobs, each as its job requests.

use blksched::{Command, Instant, Op};
use blksched_measure::{
    Completion, Engine, FIO_PERCENTILES, Job, JobId, JobRecord, LogColumns, LogPlan, OnError, Priorities, Recorder,
    ReportWishes, Series, Shown, Unified, Work,
};
use blksched_workloads::{JobPlan, Plan, fio};

use crate::changes::{Change, Changes};
use crate::story::{Happening, SharedOnlooker};
use crate::world::Observer;

/// The observer of a trial.
#[derive(Default)]
pub(crate) struct TrialObserver {
    recorder: Recorder,
    /// When each source exited.
    exited: Vec<Option<Instant>>,
    /// What each source did by time, by [`Work`], also before its ramp's end.
    series: Vec<[Series; 4]>,
    /// When they came and went, and what they had done by then.
    changes: Changes,
    /// The commands that the disk got; `None` unless they are wanted.
    pub(crate) issued: Option<Vec<Command>>,
    /// The observer, if there is one.
    pub(crate) onlooker: Option<SharedOnlooker>,
}

/// One job's results.
pub(crate) struct Finished {
    pub(crate) record: Box<JobRecord>,
    /// When it submitted its first I/O, if it did.
    pub(crate) came: Option<Instant>,
    pub(crate) exited: Option<Instant>,
    pub(crate) series: Box<[Series; 4]>,
}

impl TrialObserver {
    pub(crate) fn new(plan: &Plan, is_told: bool) -> TrialObserver {
        let mut recorder = Recorder::of_jobs(plan.jobs.len());
        for job in &plan.jobs {
            let engine = if job.depth > 1 { Engine::Queueing } else { Engine::Blocking };
            let (name, group, depth, report) = (job.name.clone(), job.group, job.depth, report(job));
            let id = recorder.add_job(Job { name, group, depth, engine, report });
            recorder.owns(id, job.submitter);
            job.begins.into_iter().for_each(|begins| recorder.started(id, begins));
        }
        let (exited, series) = (vec![None; plan.jobs.len()], vec![<[Series; 4]>::default(); plan.jobs.len()]);
        let changes = Changes::of(plan.jobs.len());
        TrialObserver { recorder, exited, series, changes, issued: is_told.then(Vec::new), onlooker: None }
    }

    /// The same with an observer.
    pub(crate) fn before(self, onlooker: Option<SharedOnlooker>) -> TrialObserver {
        TrialObserver { onlooker, ..self }
    }

    /// When that source exited, if it has.
    pub(crate) fn exited(&self, source: usize) -> Option<Instant> {
        self.exited[source]
    }

    /// What that source did by time, by [`Work`].
    pub(crate) fn series(&self, source: usize) -> &[Series; 4] {
        &self.series[source]
    }

    /// How many I/Os all sources have completed.
    pub(crate) fn ios(&self) -> u64 {
        let all = self.series.iter().flatten();
        all.map(|series| series.total().ios).sum()
    }

    /// Every job's record, when it came and exited, if it did, and what it did by time; and where jobs came and went.
    pub(crate) fn finish(mut self, end: Instant) -> (impl Iterator<Item = Finished>, Vec<Change>) {
        for (job, exited) in self.exited.iter().enumerate() {
            // Its rate is counted up to the end of the run, not to its last completion.
            if exited.is_none() {
                self.recorder.ended(JobId(job), end);
            }
        }
        let (came, changes) = self.changes.into_parts();
        let rest = came.into_iter().zip(self.exited).zip(self.series);
        let finished = |(record, ((came, exited), series))| Finished { record, came, exited, series: Box::new(series) };
        (self.recorder.into_records().zip(rest).map(finished), changes)
    }
}

impl Observer for TrialObserver {
    fn submitted(&mut self, now: Instant, source: usize, op: Op, _bytes: u64) {
        self.recorder.submitted_of(now, JobId(source), op);
        if self.changes.awaits(source) {
            self.changes.comes(now, source, &self.recorder);
        }
    }

    fn completed(&mut self, now: Instant, source: usize, done: &Completion) {
        let series = &mut self.series[source][Work::from(done.op) as usize];
        series.completed(now, done.bytes, now.since(done.submitted_at));
        self.recorder.completed_of(now, JobId(source), done);
    }

    fn issued(&mut self, command: &Command) {
        self.issued.iter_mut().for_each(|issued| issued.push(*command));
    }

    fn happens(&mut self, now: Instant, what: Happening) {
        if let Some(onlooker) = &self.onlooker {
            onlooker.borrow_mut().sees(now, &what);
        }
    }

    fn is_watching(&self) -> bool {
        self.onlooker.is_some()
    }

    fn exited(&mut self, now: Instant, source: usize) {
        self.exited[source] = Some(now);
        self.recorder.ended(JobId(source), now);
        self.changes.goes(now, &self.recorder);
    }
}

/// What to measure for a job file's job.
fn report(job: &JobPlan) -> ReportWishes {
    let said = &job.report;
    let shown = |latency: fio::Latency| match (latency.measured, latency.percentiles) {
        (false, _) => Shown::Nothing,
        (true, false) => Shown::Summary,
        (true, true) => Shown::Percentiles,
    };
    ReportWishes {
        ramp: said.ramp,
        slat: shown(said.slat),
        clat: shown(said.clat),
        lat: shown(said.lat),
        samples: if said.samples { Shown::Summary } else { Shown::Nothing },
        percentiles: if said.percentiles.is_empty() { FIO_PERCENTILES.to_vec() } else { said.percentiles.clone() },
        log: said.logs.any().then(|| log(&said.logs)),
        unified: match said.unified {
            fio::Unified::Apart => Unified::Apart,
            fio::Unified::Mixed => Unified::Mixed,
            fio::Unified::Both => Unified::Both,
        },
        priorities: if said.by_priority { Priorities::Apart } else { Priorities::Together },
        on_error: if said.counts_errors { OnError::Counts } else { OnError::Ends },
        description: job.description.clone(),
        latency_target: said.latency_target,
    }
}

fn log(logs: &fio::Logs) -> LogPlan {
    LogPlan {
        window: logs.window,
        value: match logs.value {
            fio::LogValue::Mean => blksched_measure::LogValue::Mean,
            fio::LogValue::Greatest => blksched_measure::LogValue::Greatest,
        },
        columns: LogColumns { offset: logs.offset, prio: logs.prio },
    }
}
