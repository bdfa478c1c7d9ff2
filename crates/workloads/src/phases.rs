//! A job file's phases: jobs after a `stonewall` or a `wait_for` begin when those before them have ended.
//!
//! A job with a `runtime` may keep those after it waiting for all of it. A run that is shorter than the file's would
//! never reach them, so its time is shared among the phases, and each such job ends with its phase at the latest. A job
//! without one ends when it has done its amount, as the file says.

use blksched::{Instant, Span};

use crate::plan::{Origin, Plan};

impl Plan {
    /// The number of consecutive phases that a `runtime` may end; at least 1.
    ///
    /// ```
    /// let text = "[a]\nrw=read\nsize=1g\nruntime=20\n[b]\nstonewall\nrw=read\nsize=1g\n";
    /// let plan = blksched_workloads::fio::JobFile::parse(text, "two.fio").unwrap().plan(1 << 30).unwrap();
    /// assert_eq!(plan.phases(), 2);
    /// ```
    pub fn phases(&self) -> u32 {
        self.phase_of_each().into_iter().max().unwrap_or(0) + 1
    }

    /// Ends each job that has a `runtime`, and that others wait for, this long after it began at the latest.
    pub fn shorten_phases(&mut self, length: Span) {
        let awaited: Vec<bool> = (0..self.jobs.len()).map(|job| self.is_timed(job) && self.is_awaited(job)).collect();
        for (job, _) in awaited.into_iter().enumerate().filter(|(_, awaited)| *awaited) {
            // A ramp comes before the runtime; one that is longer than the phase leaves half a phase after it.
            let runtime = length.saturating_sub(self.jobs[job].report.ramp).max(length / 2);
            if let Origin::Job(scripted) = &mut self.origins[job] {
                scripted.shorten(runtime);
            }
        }
    }

    /// The time by which every process has begun and its I/Os count, as far as that is known before the run: start
    /// times, the latest `startdelay`, and `ramp_time` after it.
    ///
    /// ```
    /// use blksched_workloads::fio::JobFile;
    /// let text = "[a]\nrw=read\nsize=1g\n[b]\nrw=read\nsize=1g\nstartdelay=5\nramp_time=2\n";
    /// let plan = JobFile::parse(text, "two.fio").unwrap().plan(1 << 30).unwrap();
    /// assert_eq!(plan.all_count_from(), blksched::Span::from_secs(7));
    /// ```
    pub fn all_count_from(&self) -> Span {
        (0..self.jobs.len()).map(|job| self.counts_from(job)).max().unwrap_or(Span::ZERO)
    }

    /// The time from which the I/Os of the first process count, as far as that is known before the run.
    pub fn first_counts_from(&self) -> Span {
        (0..self.jobs.len()).map(|job| self.counts_from(job)).min().unwrap_or(Span::ZERO)
    }

    fn counts_from(&self, job: usize) -> Span {
        let begins = match self.origins.get(job) {
            Some(Origin::Job(scripted)) => scripted.latest_start(),
            _ => self.jobs[job].begins.map_or(Span::ZERO, |begins| begins.since(Instant::ZERO)),
        };
        begins + self.jobs[job].report.ramp
    }

    /// The processes that run at the same time, by their places in `jobs`: one set, unless some begin only when all
    /// those before them have ended.
    ///
    /// ```
    /// use blksched_workloads::fio::JobFile;
    /// let text = "[a]\nrw=read\nsize=1g\n[b]\nrw=read\nsize=1g\n[c]\nstonewall\nrw=read\nsize=1g\n";
    /// let plan = JobFile::parse(text, "three.fio").unwrap().plan(1 << 30).unwrap();
    /// assert_eq!(plan.together(), [vec![0, 1], vec![2]]);
    /// ```
    pub fn together(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for (job, nth) in self.behind_each(|_| true).into_iter().enumerate() {
            sets.resize(sets.len().max(nth as usize + 1), Vec::new());
            sets[nth as usize].push(job);
        }
        // Who waits for a part of those before it may run beside the others: they are no sets then.
        let waits = |later: &[usize], before: &[usize]| {
            later.iter().all(|job| before.iter().all(|before| self.waits_for(*job, *before)))
        };
        if sets.windows(2).all(|two| waits(&two[1], &two[0])) { sets } else { vec![(0..self.jobs.len()).collect()] }
    }

    /// How many phases that a `runtime` may end come before each process begins.
    fn phase_of_each(&self) -> Vec<u32> {
        self.behind_each(|job| self.is_timed(job))
    }

    /// How many jobs that count have to end, one after the other, before each process begins.
    fn behind_each(&self, counts: impl Fn(usize) -> bool) -> Vec<u32> {
        let mut phases: Vec<u32> = Vec::with_capacity(self.jobs.len());
        for job in 0..self.jobs.len() {
            let behind = |&before: &usize| phases[before] + u32::from(counts(before));
            let before = (0..job).filter(|before| self.waits_for(job, *before));
            phases.push(before.map(|before| behind(&before)).max().unwrap_or(0));
        }
        phases
    }

    fn is_awaited(&self, job: usize) -> bool {
        (job + 1..self.jobs.len()).any(|later| self.waits_for(later, job))
    }

    fn waits_for(&self, job: usize, before: usize) -> bool {
        let Some(Origin::Job(scripted)) = self.origins.get(job) else { return false };
        scripted.waits() && scripted.waits_for(self.jobs[before].submitter)
    }

    /// Whether its `runtime` ends it, unless something else does earlier.
    fn is_timed(&self, job: usize) -> bool {
        matches!(self.origins.get(job), Some(Origin::Job(scripted)) if scripted.runtime() < Span::MAX)
    }
}
