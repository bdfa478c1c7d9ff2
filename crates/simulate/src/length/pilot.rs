//! A pilot that goes on until it has seen enough.

use blksched::{Instant, Span};
use blksched_measure::{Beginning, Series, Work, mser5};
use blksched_workloads::{JobPlan, Plan, Syncs};

use super::{DEAR, ENOUGH, LATE, LEAST, LEAST_WARM_UP, LONGEST, LONGEST_TRACE, Length, Phases, SLOWER, round};
use crate::trial::{Trial, TrialError};
use crate::underway::Underway;

/// What the pilot has seen is looked at after an eighth more of it, and not more often than this.
const SHORTEST_STEP: Span = Span::from_ms(1);

/// A run under the default scheduler.
pub(super) struct Pilot<'a> {
    plan: &'a Plan,
    /// Which processes replay a recording.
    replayed: Vec<bool>,
    underway: Underway,
    /// The length that shows everything, and the greatest.
    least: Span,
    longest: Span,
    /// The simulated work that it may cost.
    most: u64,
    /// Until when it has been run, unless its jobs have ended earlier.
    now: Span,
    /// When every job had done something; and when it had cost what it should.
    contains: Option<Span>,
    spent: Option<Span>,
}

impl<'a> Pilot<'a> {
    pub(super) fn of(trial: &'a Trial, most: u64) -> Result<Pilot<'a>, TrialError> {
        let count_from = trial.plan.all_count_from();
        let replayed = trial.plan.replayed();
        let is_trace = replayed.iter().any(|&replayed| replayed);
        let (least, longest) = match is_trace {
            true => (LONGEST_TRACE, LONGEST_TRACE),
            false => (count_from + LEAST, count_from + LONGEST),
        };
        let underway = Underway::begin(trial)?;
        Ok(Pilot {
            plan: &trial.plan,
            replayed,
            underway,
            least,
            longest,
            most,
            now: Span::ZERO,
            contains: None,
            spent: None,
        })
    }

    /// Runs it for as long as it needs; runs of that length fit.
    pub(super) fn length(mut self) -> Result<Length, TrialError> {
        let mut next = self.least;
        loop {
            let affords_more = self.advance(next)?;
            if self.underway.is_finished() {
                let took = self.underway.now();
                return Ok(self.settled((took * SLOWER).max(LEAST)));
            }
            let is_enough = self.saw_enough() && self.warm_up().is_some();
            if is_enough || !affords_more || next >= self.longest {
                return Ok(self.settled(self.now));
            }
            next = (next * 2).min(self.longest);
        }
    }

    fn settled(&self, limit: Span) -> Length {
        // Without every job no run says anything, so none need be longer than usual.
        let limit = if self.contains.is_some() { limit } else { self.spent.unwrap_or(limit) };
        // If jobs end earlier, their time is what counts.
        let ran = self.underway.now().min(limit);
        let seen = |job: &JobPlan| self.first(job).map(|first| ran.saturating_sub(first.since(Instant::ZERO)));
        let shortest = self.endless().filter_map(seen).min().unwrap_or(ran);
        let warm_up = self.warm_up().unwrap_or(shortest / 2).max(shortest / LEAST_WARM_UP).min(shortest / 2);
        // After it began, a job gets as long again.
        let least = self.contains.map_or(Span::ZERO, |contains| contains * 2).min(limit);
        Length {
            limit: round(limit),
            warm_up: round(warm_up.min(limit / 2)),
            least: round(least),
            phases: Phases::Share,
            settle: Span::ZERO,
        }
    }

    /// Continues until that time; `false` if it has cost what it may before.
    fn advance(&mut self, until: Span) -> Result<bool, TrialError> {
        while self.now < until && !self.underway.is_finished() {
            self.now = (self.now + (self.now / 8).max(SHORTEST_STEP)).min(until);
            self.underway.advance(self.now)?;
            let (work, most) = (self.underway.work(), self.most);
            if self.contains.is_none() && self.has_every_job() {
                self.contains = Some(self.now);
            }
            if work >= most {
                self.spent.get_or_insert(self.now);
            }
            let is_dear = work >= DEAR * most && self.contains.is_some() || work >= LATE * most;
            if is_dear || work >= most && self.contains.is_some() && self.has_some_of_every_job() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How often that job has done this, its own ramp left out.
    fn seen(&self, job: &JobPlan, work: Work) -> u64 {
        let series = self.underway.series(job.submitter.0 as usize, work);
        match series.first() {
            Some(first) if !job.report.ramp.is_zero() => series.between(first + job.report.ramp, Instant::NEVER).ios,
            _ => series.total().ios,
        }
    }

    /// When that job's first work was done.
    fn first(&self, job: &JobPlan) -> Option<Instant> {
        Work::ALL.into_iter().filter_map(|work| self.underway.series(job.submitter.0 as usize, work).first()).min()
    }

    /// Whether it has ended, or nobody waits for what it does.
    fn has_ended(&self, job: &JobPlan) -> bool {
        let nth = job.submitter.0 as usize;
        self.underway.has_ended(nth) || self.replayed[nth]
    }

    /// Whether every job has done some of its work, and has waited for a sync if it does that, or has ended.
    fn has_every_job(&self) -> bool {
        let some = |job: &JobPlan| {
            let syncs = job.character.syncs != Syncs::Calls || self.seen(job, Work::Sync) > 0;
            syncs && Work::ALL.into_iter().any(|work| self.seen(job, work) > 0)
        };
        self.plan.jobs.iter().all(|job| self.has_ended(job) || some(job))
    }

    /// Whether every job has done some kind of its work often enough to say something, or has ended.
    fn has_some_of_every_job(&self) -> bool {
        let some = |job: &JobPlan| Work::ALL.into_iter().any(|work| self.seen(job, work) >= ENOUGH);
        self.plan.jobs.iter().all(|job| self.has_ended(job) || some(job))
    }

    /// Whether every job has done each kind of its work often enough, or has ended.
    fn saw_enough(&self) -> bool {
        let often = |job: &JobPlan, work: Work| {
            let seen = self.seen(job, work);
            seen >= ENOUGH || seen == 0 && !(work == Work::Sync && job.character.syncs == Syncs::Calls)
        };
        let is_seen = |job: &JobPlan| Work::ALL.into_iter().all(|work| often(job, work));
        self.has_every_job() && self.plan.jobs.iter().all(|job| self.has_ended(job) || is_seen(job))
    }

    /// The jobs that end only by time: they have a warm-up.
    fn endless(&self) -> impl Iterator<Item = &JobPlan> {
        let is_endless = |job: &&JobPlan| job.character.order.is_some() && job.character.amount.is_none();
        self.plan.jobs.iter().filter(is_endless)
    }

    /// The longest beginning of a job that ends only by time; `None` if one is not over in the first half.
    fn warm_up(&self) -> Option<Span> {
        let count_from = Instant::ZERO + self.plan.all_count_from();
        let mut longest = Span::ZERO;
        for job in self.endless() {
            for work in Work::ALL {
                let series = self.underway.series(job.submitter.0 as usize, work);
                longest = longest.max(beginning(series, (count_from, self.underway.now()), job.character.paced)?);
            }
        }
        Some(longest)
    }
}

/// The length of a job's beginning, from its first completion on, once all jobs count: by its rate, or, if the job sets
/// that itself, by its latency. `None` if it is not over in the first half. That a job gets nothing any more is not
/// seen here, but by the halves of the runs.
fn beginning(series: &Series, (count_from, now): (Instant, Span), is_paced: bool) -> Option<Span> {
    let Some(first) = series.first() else { return Some(Span::ZERO) };
    let first = first.max(count_from);
    // The last stretch is not over.
    let last = Instant::ZERO + now.saturating_sub(series.length());
    let stretches = series.stretches(first, last);
    let kept: Vec<usize> = (0..stretches.len()).filter(|&nth| !is_paced || stretches[nth].ios > 0).collect();
    let value = |&nth: &usize| if is_paced { stretches[nth].mean() } else { stretches[nth].ios as f64 };
    let values: Vec<f64> = kept.iter().map(value).collect();
    match mser5(&values) {
        Beginning::TooFew => Some(Span::ZERO),
        Beginning::Ends(cut) => Some(series.length() * kept[cut] as u64),
        Beginning::NotOver => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    /// A completion each millisecond, of this latency.
    fn series(count: u64, latency_us: impl Fn(u64) -> u64) -> Series {
        let mut series = Series::default();
        (1..=count).for_each(|ms| series.completed(at(ms), 4096, Span::from_us(latency_us(ms))));
        series
    }

    #[test]
    fn a_paced_jobs_beginning_is_seen_by_its_latency() {
        let slow_at_first = series(10_000, |ms| if ms < 3000 { 900 } else { 100 + ms % 7 });
        let cut = beginning(&slow_at_first, (Instant::ZERO, Span::from_secs(10)), true).unwrap();
        assert!((2900..3400).contains(&(cut.as_ns() / 1_000_000)), "{cut}");
        assert_eq!(
            beginning(&slow_at_first, (Instant::ZERO, Span::from_secs(10)), false),
            Some(Span::ZERO),
            "its rate is the same"
        );
        assert_eq!(
            beginning(&slow_at_first, (Instant::ZERO, Span::from_secs(5)), true),
            None,
            "most of it is the beginning"
        );
    }

    #[test]
    fn a_length_has_two_digits_and_is_not_shortened() {
        let rounded = [0, 7, 30_000_000_000, 40_428_202_746, 99_900_000].map(|ns| round(Span::from_ns(ns)).as_ns());
        assert_eq!(rounded, [0, 7, 30_000_000_000, 41_000_000_000, 100_000_000]);
    }

    #[test]
    fn what_was_hardly_seen_has_no_beginning() {
        assert_eq!(beginning(&Series::default(), (Instant::ZERO, Span::from_secs(1)), true), Some(Span::ZERO));
        assert_eq!(beginning(&series(3, |_| 5), (Instant::ZERO, Span::from_secs(1)), true), Some(Span::ZERO));
    }
}
