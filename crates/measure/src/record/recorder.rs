//! Fed by the driver with every submission and completion; keeps each job's record.
//!
//! Nothing is kept per I/O in flight (a completion carries its times), so that nothing allocates meanwhile.

use blksched::{Instant, Op, Priority, Sector, Span, SubmitterId, Tag};
use rustc_hash::FxHashMap; // tidy: never iterated

use super::rate::Windows;
use super::{Engine, Job, JobId, JobLog, JobRecord, Priorities, Shown, Tally, Work};

/// A finished I/O, as the queue delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its submitter.
    pub submitter: SubmitterId,
    /// Its tag.
    pub tag: Tag,
    /// What it did.
    pub op: Op,
    /// Where it began.
    pub start: Sector,
    /// How much it transferred.
    pub bytes: u64,
    /// Its priority.
    pub priority: Priority,
    /// When it was submitted.
    pub submitted_at: Instant,
    /// When its request was queued (which is earlier than the submission, if it joined a request already there).
    pub queued_at: Instant,
    /// When its submission was over: its submitter may have slept for a request slot.
    pub accepted_at: Instant,
    /// When the device got its request.
    pub issued_at: Instant,
    /// When it was complete; this is before it is reported here if its job looks for completions later.
    pub finished_at: Instant,
}

#[derive(Clone, Debug)]
struct Running {
    /// Boxed, so that it can be handed on without a copy when the run is over.
    record: Box<JobRecord>,
    started: Option<Instant>,
    windows: Windows,
    in_flight: u32,
    /// The time since which something has been in flight and nothing has completed.
    quiet_since: Instant,
}

/// Keeps the record of every job.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    jobs: Vec<Running>,
    owners: FxHashMap<SubmitterId, JobId>,
    /// The last submitter looked up, and its job.
    last: Option<(SubmitterId, JobId)>,
    strangers: u64,
}

impl Recorder {
    /// A recorder without jobs.
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// A recorder with room for that many jobs and no more.
    pub fn of_jobs(count: usize) -> Recorder {
        Recorder { jobs: Vec::with_capacity(count), ..Recorder::default() }
    }

    /// Adds a record of `job`.
    pub fn add_job(&mut self, job: Job) -> JobId {
        self.jobs.push(Running {
            record: Box::new(JobRecord::new(job)),
            started: None,
            windows: Windows::default(),
            in_flight: 0,
            quiet_since: Instant::ZERO,
        });
        JobId(self.jobs.len() - 1)
    }

    /// Assigns what `submitter` does to `job`'s record. I/O of a submitter that belongs to no job (such as write-back)
    /// is not recorded.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn owns(&mut self, job: JobId, submitter: SubmitterId) {
        assert!(job.0 < self.jobs.len(), "{job:?} was never added");
        self.owners.insert(submitter, job);
        self.last = None;
    }

    /// `job` begins now; without this, its first submission begins it.
    pub fn started(&mut self, job: JobId, now: Instant) {
        self.jobs[job.0].started.get_or_insert(now);
    }

    /// `submitter` submits an I/O.
    pub fn submitted(&mut self, now: Instant, submitter: SubmitterId, op: Op) {
        let Some(job) = self.owner(submitter) else { return self.strangers += 1 };
        self.submitted_of(now, job, op);
    }

    /// A submitter of `job` submits an I/O.
    pub fn submitted_of(&mut self, now: Instant, job: JobId, op: Op) {
        let running = &mut self.jobs[job.0];
        let started = *running.started.get_or_insert(now);
        if let Some(plan) = running.record.job.report.log.take() {
            running.record.log = Some(Box::new(JobLog::new(plan, started)));
        }
        running.leave_ramp(now);
        if running.in_flight == 0 {
            running.quiet_since = now;
        }
        running.in_flight += 1;
        if Work::from(op) != Work::Sync {
            running.record.depths.record(running.in_flight);
        }
    }

    /// An I/O is complete.
    ///
    /// # Panics
    /// If its submitter belongs to a job that has nothing in flight.
    pub fn completed(&mut self, now: Instant, done: &Completion) {
        if let Some(job) = self.owner(done.submitter) {
            self.completed_of(now, job, done);
        }
    }

    /// An I/O of a submitter of `job` is complete.
    ///
    /// # Panics
    /// If the job has nothing in flight.
    pub fn completed_of(&mut self, now: Instant, job: JobId, done: &Completion) {
        let running = &mut self.jobs[job.0];
        assert!(running.in_flight > 0, "{:?} completed unsubmitted", done.tag);
        running.leave_ramp(now);
        running.close_windows(now);
        running.note_stall(now);
        running.in_flight -= 1;
        running.quiet_since = now;
        running.record.complete(now, done);
    }

    #[inline]
    fn owner(&mut self, submitter: SubmitterId) -> Option<JobId> {
        if let Some((who, job)) = self.last
            && who == submitter
        {
            return Some(job);
        }
        self.last = self.owners.get(&submitter).map(|&job| (submitter, job));
        self.last.map(|(_, job)| job)
    }

    /// `job` ends now: its runtime is complete.
    pub fn ended(&mut self, job: JobId, now: Instant) {
        let running = &mut self.jobs[job.0];
        running.leave_ramp(now);
        running.close_windows(now);
        running.note_stall(now);
        let runtime = running.started.map_or(Span::ZERO, |started| now.since(started));
        running.record.runtime = runtime;
        running.record.job_runtime = runtime;
        running.record.ended = now;
    }

    /// A job's record so far. Runtime and rates are complete once the job has [ended](Recorder::ended).
    pub fn record(&self, job: JobId) -> &JobRecord {
        &self.jobs[job.0].record
    }

    /// What a job has done so far, by [`Work`]; nothing while its ramp lasts.
    pub fn tallies(&self, job: JobId) -> [Tally; 4] {
        let record = self.record(job);
        if !record.job.report.ramp.is_zero() {
            return Default::default();
        }
        Work::ALL.map(|work| Tally::of(record.work(work)))
    }

    /// Every job's record, in the order in which they were added.
    pub fn into_records(self) -> impl ExactSizeIterator<Item = Box<JobRecord>> {
        self.jobs.into_iter().map(|running| running.record)
    }

    /// How many submissions came from submitters that no job owns.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }
}

impl Running {
    /// Drops what was before the ramp's end.
    #[inline]
    fn leave_ramp(&mut self, now: Instant) {
        if !self.record.job.report.ramp.is_zero() {
            self.leave(self.record.job.report.ramp, now);
        }
    }

    fn leave(&mut self, ramp: Span, now: Instant) {
        let Some(started) = self.started.filter(|started| now >= *started + ramp) else { return };
        let mut job = core::mem::take(&mut self.record.job);
        job.report.ramp = Span::ZERO;
        let log = self.record.log.take().map(|log| Box::new(log.starting(started + ramp)));
        *self.record = JobRecord { log, ..JobRecord::new(job) };
        self.windows = Windows::default();
        self.started = Some(started + ramp);
    }

    fn note_stall(&mut self, now: Instant) {
        if self.in_flight > 0 {
            self.record.stall = self.record.stall.max(now.since(self.quiet_since));
        }
    }

    /// Completions before `now` go into the windows that have passed by then.
    fn close_windows(&mut self, now: Instant) {
        let Some(started) = self.started.filter(|_| self.record.job.report.samples != Shown::Nothing) else { return };
        let passed = self.windows.passed(started, now);
        if passed == 0 {
            return;
        }
        for work in Work::ALL {
            self.record.work_mut(work).rate.close(passed);
        }
    }
}

impl JobRecord {
    fn complete(&mut self, now: Instant, done: &Completion) {
        let submitted = done.submitted_at;
        // It may have joined a request that was queued before it was submitted.
        let queued = done.queued_at.max(submitted);
        let accepted = match self.job.engine {
            Engine::Blocking => submitted,
            Engine::Queueing => done.accepted_at.max(submitted),
        };
        let (work, queueing) = (Work::from(done.op), self.job.engine == Engine::Queueing);
        let (slat, clat, lat) = (accepted.since(submitted), now.since(accepted), now.since(submitted));
        self.note_latencies(work, queueing.then_some(slat), clat, lat);
        if let Some(log) = &mut self.log {
            log.completed(now, done, (queueing.then_some(slat), clat, lat));
        }
        if self.job.report.priorities == Priorities::Apart && work != Work::Sync {
            self.work_mut(work).by_priority.entry(done.priority).or_default().record(clat);
        }
        let direction = self.work_mut(work);
        direction.ios += 1;
        direction.bytes += done.bytes;
        direction.waiting.record(done.issued_at.since(queued).as_ns());
        direction.service.record(done.finished_at.since(done.issued_at.max(queued)).as_ns());
        direction.rate.completed(done.bytes);
    }

    /// Records those latencies that are reported.
    fn note_latencies(&mut self, work: Work, slat: Option<Span>, clat: Span, lat: Span) {
        let (slats, clats, lats) = (self.job.report.slat, self.job.report.clat, self.job.report.lat);
        let direction = self.work_mut(work);
        if let Some(slat) = slat.filter(|_| slats != Shown::Nothing) {
            direction.slat.record(slat.as_ns());
            (slats == Shown::Percentiles).then(|| direction.slats.get_or_insert_default().record(slat));
        }
        if lats != Shown::Nothing {
            direction.lat.record(lat.as_ns());
            (lats == Shown::Percentiles).then(|| direction.lats.get_or_insert_default().record(lat));
        }
        if clats == Shown::Nothing {
            return;
        }
        direction.clat.record(clat);
        if work != Work::Sync {
            self.latencies.record(clat.as_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: SubmitterId = SubmitterId(3);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    fn recorder(engine: Engine) -> (Recorder, JobId) {
        let mut recorder = Recorder::new();
        let job = recorder.add_job(Job { name: "j".into(), depth: 4, engine, ..Job::default() });
        recorder.owns(job, WHO);
        (recorder, job)
    }

    fn read(tag: u64, submitted_us: u64, queued_us: u64, issued_us: u64) -> Completion {
        let (submitted_at, queued_at, issued_at) = (at(submitted_us), at(queued_us), at(issued_us));
        Completion {
            submitter: WHO,
            tag: Tag(tag),
            op: Op::Read,
            start: Sector(0),
            bytes: 4096,
            priority: Priority::default(),
            submitted_at,
            queued_at,
            accepted_at: queued_at,
            issued_at,
            finished_at: at(100),
        }
    }

    /// Submitted at 10 µs, slept until 15, issued at 40, done at 100.
    fn one_that_slept(engine: Engine) -> JobRecord {
        let (mut recorder, job) = recorder(engine);
        recorder.submitted(at(10), WHO, Op::Read);
        recorder.completed(at(100), &read(1, 10, 15, 40));
        recorder.ended(job, at(1010));
        *recorder.into_records().next().unwrap()
    }

    #[test]
    fn a_queueing_submission_that_slept_has_submission_latency() {
        let record = one_that_slept(Engine::Queueing);
        assert_eq!((record.read.slat.max(), record.read.clat.max()), (5_000, Span::from_us(85)));
        assert_eq!(record.read.lat.max(), 90_000);
        assert_eq!((record.read.waiting.max(), record.read.service.max()), (25_000, 60_000));
    }

    #[test]
    fn a_blocking_one_has_it_in_its_completion_latency() {
        let record = one_that_slept(Engine::Blocking);
        assert_eq!((record.read.slat.count(), record.read.clat.max()), (0, Span::from_us(90)));
    }

    #[test]
    fn bandwidth_and_iops_are_over_the_runtime() {
        let record = one_that_slept(Engine::Queueing);
        assert_eq!(record.runtime, Span::from_ms(1));
        assert_eq!((record.bandwidth(Work::Read), record.iops(Work::Read)), (4_096_000.0, 1000.0));
        assert_eq!(record.bandwidth(Work::Write), 0.0);
    }

    #[test]
    fn what_completes_in_the_ramp_does_not_count_unless_the_job_ends_in_it() {
        let run = |ramp: Span| {
            let (mut recorder, job) = recorder(Engine::Queueing);
            recorder.jobs[job.0].record.job.report.ramp = ramp;
            for (tag, us) in [(1, 0), (2, 400)] {
                recorder.submitted(at(us), WHO, Op::Read);
                recorder.completed(at(us + 300), &read(tag, us, us, us + 1));
            }
            recorder.ended(job, at(1000));
            let record = recorder.into_records().next().unwrap();
            (record.read.ios, record.runtime, record.latencies.total())
        };
        assert_eq!(run(Span::ZERO), (2, Span::from_us(1000), 2));
        assert_eq!(run(Span::from_us(600)), (1, Span::from_us(400), 1));
        assert_eq!(run(Span::from_us(5000)), (2, Span::from_us(1000), 2));
    }

    #[test]
    fn a_stall_lasts_while_something_is_in_flight_and_nothing_completes() {
        let (mut recorder, job) = recorder(Engine::Queueing);
        for (tag, us) in [(1, 0), (2, 0)] {
            recorder.submitted(at(us), WHO, Op::Read);
            recorder.completed(at(30), &read(tag, us, us, us + 1));
        }
        recorder.submitted(at(500), WHO, Op::Read);
        recorder.completed(at(540), &read(3, 500, 500, 501));
        assert_eq!(recorder.record(job).stall, Span::from_us(40));
        recorder.submitted(at(600), WHO, Op::Read);
        recorder.ended(job, at(700));
        assert_eq!(recorder.record(job).stall, Span::from_us(100));
    }

    #[test]
    fn joining_an_older_request_does_not_lengthen_the_latency() {
        let (mut recorder, job) = recorder(Engine::Queueing);
        recorder.submitted(at(50), WHO, Op::Read);
        recorder.completed(at(100), &read(1, 50, 15, 60));
        let read = &recorder.record(job).read;
        assert_eq!((read.slat.max(), read.clat.max(), read.waiting.max()), (0, Span::from_us(50), 10_000));
    }

    #[test]
    fn the_depth_of_a_submission_includes_itself() {
        let (mut recorder, job) = recorder(Engine::Queueing);
        for tag in 0..4 {
            recorder.submitted(at(tag), WHO, Op::Read);
        }
        recorder.completed(at(10), &read(0, 0, 0, 1));
        recorder.submitted(at(11), WHO, Op::Read);
        assert_eq!(recorder.record(job).depths.counts(), [1, 2, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn rates_are_sampled_every_half_second_from_the_start() {
        let (mut recorder, job) = recorder(Engine::Queueing);
        recorder.started(job, at(0));
        for (tag, ms) in [(1, 100), (2, 499), (3, 1700)] {
            recorder.submitted(at(ms * 1000 - 10), WHO, Op::Read);
            recorder.completed(at(ms * 1000), &read(tag, ms * 1000 - 10, ms * 1000 - 10, ms * 1000 - 5));
        }
        recorder.ended(job, at(2_400_000));
        let iops = recorder.record(job).read.rate.iops();
        assert_eq!((iops.samples, iops.min, iops.max, iops.mean), (4, 0, 4, 1.5));
    }

    #[test]
    fn flushes_are_kept_apart_and_strangers_left_out() {
        let (mut recorder, job) = recorder(Engine::Blocking);
        recorder.submitted(at(0), WHO, Op::Flush);
        recorder.completed(at(9), &Completion { op: Op::Flush, bytes: 0, ..read(1, 0, 0, 2) });
        recorder.submitted(at(0), SubmitterId(99), Op::Write);
        recorder.completed(at(9), &Completion { submitter: SubmitterId(99), ..read(1, 0, 0, 2) });
        let record = recorder.record(job);
        assert_eq!((record.sync.ios, record.write.ios, record.read.ios), (1, 0, 0));
        assert_eq!((record.depths.total(), record.latencies.total()), (0, 0));
        assert_eq!(recorder.strangers(), 1);
    }

    #[test]
    fn group_reporting_sums_and_takes_the_longest_runtime() {
        let mut sum = one_that_slept(Engine::Queueing);
        let mut other = one_that_slept(Engine::Queueing);
        other.runtime = Span::from_ms(3);
        other.job_runtime = Span::from_ms(3);
        sum.merge(&other);
        assert_eq!((sum.read.ios, sum.read.bytes, sum.jobs), (2, 8192, 2));
        assert_eq!((sum.runtime, sum.job_runtime), (Span::from_ms(3), Span::from_ms(4)));
        assert_eq!(sum.latencies.total(), 2);
    }

    #[test]
    #[should_panic(expected = "completed unsubmitted")]
    fn a_completion_without_a_submission_is_a_mistake_of_the_driver() {
        recorder(Engine::Blocking).0.completed(at(1), &read(7, 0, 0, 0));
    }
}
