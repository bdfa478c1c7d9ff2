//! The length of a run: long enough to contain what is judged, and no longer.
//!
//! **Rule** A pilot under the default scheduler, with the first seed, goes on until
//!
//! 1. every job has begun (start times, `startdelay`), has left its `ramp_time`, and has done some of its work after
//!    it, an fsync too if it makes any; or has ended;
//! 2. 30 s have passed since every job began to count, longer than any time-out or favour of a scheduler: BFQ favours
//!    what is new for 3 to 25 s, mq-deadline serves a lower class after 10 s;
//! 3. every job has done each kind of its work 100 times, fsyncs too;
//! 4. what is due to its beginning ends in its first half, by [MSER-5](blksched_measure::mser5);
//!
//! or until two minutes have passed since every job began to count. If that costs too much, it suffices that every job
//! has done something 100 times or has ended; if that costs [twice as much](DEAR), 1 suffices; and if even that
//! costs [too much](LATE), the runs do not contain every job, and the caller has to say so. The cost is counted, not
//! timed ([`Findings::work`]), so that the length is the same on every machine.
//!
//! A recorded trace is judged whole: the pilot goes on until it has ended, up to an hour, unless that costs too much;
//! then the caller replays [windows](blksched_workloads::replay::Windows) of all of it. A process of it that begins
//! late is not waited for.
//!
//! The warm-up is the longest beginning of a job that ends only by time, at least a twentieth of what the job with the
//! least time was seen (FIT: nothing begins in the middle of its work); completions of each job in its first so much
//! time do not count, also if others begin later. Whether the other schedulers, too, have come to rest is seen in the
//! runs themselves: their halves must agree, or they are [doubled](Length::doubled) by the caller.
//!
//! Jobs that wait for others whose `runtime` may end them make phases ([`Plan::phases`]): each phase needs the length
//! that a run needs, and the run is shared among them, so that no job is left out of a run shorter than the file's. A
//! tenth of each is warm-up.
//!
//! A run that is not repeated may cost more, so if all jobs end by themselves, it is not cut short: only two minutes,
//! or a great cost, end it.

mod pilot;

use std::sync::Arc;

use blksched::Span;
use blksched_measure::Work;
use blksched_workloads::Plan;

use crate::trial::{Findings, Trial, TrialError};
use pilot::Pilot;

/// Work done fewer times says little about its tail.
const ENOUGH: u64 = 100;
/// The simulated work of a pilot beyond which it goes on only for jobs that have not begun.
const MOST_WORK: u64 = 150_000;
/// The same for jobs that all end by themselves, in a single run.
const MOST_WORK_ONCE: u64 = 20 * MOST_WORK;
/// A pilot in which a job has done little may cost this many times as much.
const DEAR: u64 = 2;
/// A pilot in which a job has not begun may cost this many times as much.
const LATE: u64 = 8;
/// No pilot is longer once all jobs have begun.
const LONGEST: Span = Span::from_secs(120);
/// No pilot of a trace is longer.
const LONGEST_TRACE: Span = Span::from_secs(3600);
/// The length of a run once all jobs have begun, if it does not cost too much; of each phase, if there are several.
const LEAST: Span = Span::from_secs(30);
/// The part of a run that is warm-up at least: nothing begins in the middle of its work.
const LEAST_WARM_UP: u64 = 20;
/// Under another scheduler, or with another seed, jobs that end by themselves may take this many times as long.
const SLOWER: u64 = 4;

/// The length of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The time at which a run ends if its jobs have not.
    pub limit: Span,
    /// For jobs that end by time, what completes before this does not count; summed over all phases.
    pub warm_up: Span,
    /// Shorter runs may not contain every job.
    pub least: Span,
    /// What happens to phases that are longer than their share.
    pub phases: Phases,
    /// What completes in this much time after a job began does not count, whether the job ends by time or not.
    pub settle: Span,
}

/// What happens to a plan's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Each ends after its share of the run, so that the next one has its own.
    Share,
    /// They take as long as the file specifies.
    Whole,
}

impl Length {
    /// Longer than any time-out or favour that a scheduler has (BFQ favours what is new for 3 to 25 s), counted from
    /// when every job has begun.
    pub const MODES: Span = LEAST;

    /// Runs of this much simulated time.
    pub fn of(limit: Span) -> Length {
        Length { limit, warm_up: limit / 10, least: limit, phases: Phases::Share, settle: Span::ZERO }
    }

    /// The same twice as long, with a warm-up in proportion.
    pub fn doubled(self) -> Length {
        Length { limit: self.limit * 2, warm_up: self.warm_up * 2, ..self }
    }

    /// This part of it (0 to 1), but no less than contains every job.
    pub fn shortened(self, part: f64) -> Length {
        let of = |span: Span, part: f64| Span::from_ns((span.as_ns() as f64 * part) as u64);
        let limit = round(of(self.limit, part)).max(self.least.min(self.limit));
        let part = limit.as_secs_f64() / self.limit.as_secs_f64().max(f64::MIN_POSITIVE);
        Length { limit, warm_up: of(self.warm_up, part), ..self }
    }

    /// The length that fits this trial, found by a pilot, if it is run repeatedly. `effort` multiplies what a run may
    /// cost.
    ///
    /// # Errors
    /// If the elevator has no such knob, or time stands still.
    pub fn fitting(trial: &Trial, effort: f64) -> Result<Length, TrialError> {
        let most = (MOST_WORK as f64 * effort) as u64;
        match trial.plan.phases() {
            1 => Ok(Pilot::of(trial, most)?.length()?),
            phases => Length::of_phases(trial, most, u64::from(phases)),
        }
    }

    /// The length that fits this trial, found by pilots, if it is run once.
    ///
    /// # Errors
    /// As [`Length::fitting`].
    pub fn fitting_once(trial: &Trial) -> Result<Length, TrialError> {
        if trial.plan.jobs.iter().any(|job| job.character.amount.is_none()) {
            return Length::fitting(trial, 1.0);
        }
        let mut limit = LEAST / 8;
        loop {
            let length = Length { phases: Phases::Whole, ..Length::of(limit) };
            let pilot = Trial { limit, plan: Arc::new(length.cut(&trial.plan)), ..trial.clone() };
            let pilot = pilot.simulate_for_shares()?;
            if pilot.finished || pilot.work >= MOST_WORK_ONCE || limit >= LONGEST {
                let phases = if pilot.finished { Phases::Whole } else { Phases::Share };
                return Ok(Length { warm_up: pilot.elapsed.min(limit) / 10, phases, ..Length::of(limit) });
            }
            limit = (limit * 2).min(LONGEST);
        }
    }

    /// A pilot begins anew when it is extended, since its phases are then longer.
    fn of_phases(trial: &Trial, most: u64, phases: u64) -> Result<Length, TrialError> {
        let least = LEAST * phases + trial.plan.all_count_from();
        let longest = LONGEST.max(least);
        let mut limit = least / 64;
        loop {
            let length = Length::of(limit);
            let pilot = Trial { limit, plan: Arc::new(length.cut(&trial.plan)), ..trial.clone() };
            let pilot = pilot.simulate_for_shares()?;
            // A job that has not begun would be missing from every run: it is waited for at a higher price.
            let most = if has_every_job(&pilot) { most } else { LATE * most };
            if limit >= least && saw_enough(&pilot) || limit >= longest || pilot.work >= most {
                return Ok(length);
            }
            limit = (limit * 2).min(if limit < least { least } else { longest });
        }
    }

    /// The length of the warm-up of each phase of this plan.
    pub fn warm_up_of_phase(&self, plan: &Plan) -> Span {
        match self.phases {
            Phases::Share => self.warm_up / u64::from(plan.phases()),
            Phases::Whole => self.warm_up,
        }
    }

    /// The plan with its phases cut to what the run has time for, and the warm-up of each cut off, as by fio's
    /// `ramp_time`; a job with a ramp of its own keeps it. No job's is shorter than what is to
    /// [settle](Length::settle).
    pub fn cut(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let warm_up = self.warm_up_of_phase(&plan);
        for job in &mut plan.jobs {
            let endless = job.character.order.is_some() && job.character.amount.is_none();
            if endless && job.report.ramp.is_zero() {
                job.report.ramp = warm_up;
            }
            job.report.ramp = job.report.ramp.max(self.settle);
        }
        match self.phases {
            Phases::Share => plan.shorten_phases(self.limit / u64::from(plan.phases())),
            Phases::Whole => {}
        }
        plan
    }
}

/// Two digits suffice.
fn round(span: Span) -> Span {
    let ns = span.as_ns();
    let unit = 10_u64.pow(ns.max(1).ilog10().saturating_sub(1));
    Span::from_ns(ns.div_ceil(unit) * unit)
}

/// Whether everything that was done at all was done often enough.
fn saw_enough(pilot: &Findings) -> bool {
    let often = |ios: u64| ios == 0 || ios >= ENOUGH;
    pilot.jobs.iter().all(|job| Work::ALL.into_iter().all(|work| often(job.record.work(work).ios)))
}

/// Whether every job has done something, or has ended.
fn has_every_job(pilot: &Findings) -> bool {
    let some = |record: &blksched_measure::JobRecord| Work::ALL.into_iter().any(|work| record.work(work).ios > 0);
    pilot.jobs.iter().all(|job| some(&job.record) || job.exited.is_some())
}

#[cfg(test)]
mod tests {
    use blksched::Catalogue;
    use blksched_workloads::fio::JobFile;

    use super::*;
    use crate::surroundings::Surroundings;

    /// The length of runs of a reader that waits for each block, and of another with these options besides.
    fn length(disk: &str, other: &str) -> Span {
        let jobs = "[global]\nrw=randread\nbs=4k\nsize=256m\ndirect=1\ntime_based\nruntime=1h\n[a]\n[b]\n";
        let disk = Arc::new(blksched_disks::load(disk).unwrap());
        let file = JobFile::parse(&format!("{jobs}{other}"), "two.fio").unwrap();
        let trial = Trial {
            elevator: Catalogue::builtin().parse("none").unwrap(),
            knobs: Vec::new(),
            surroundings: Surroundings::default(),
            plan: Arc::new(file.plan(disk.build(0).facts().sectors).unwrap()),
            disk,
            seed: 1,
            limit: Span::MAX,
            other_disks: Vec::new(),
            beside: Default::default(),
        };
        Length::fitting(&trial, 1.0).unwrap().limit
    }

    #[test]
    fn runs_contain_every_jobs_first_half_minute() {
        assert_eq!(length("hdd-7200", ""), Span::from_secs(30));
        assert_eq!(length("hdd-7200", "startdelay=40\n"), Span::from_secs(70));
        assert_eq!(length("hdd-7200", "startdelay=40\nramp_time=5\n"), Span::from_secs(75));
        assert_eq!(length("hdd-7200", "startdelay=200\n"), Span::from_secs(230), "beyond two minutes too");
    }

    #[test]
    fn where_half_a_minute_costs_too_much_runs_end_when_every_job_has_begun() {
        let (at_once, late) =
            (length("sata-ssd", "iodepth=32\nioengine=libaio\n"), length("sata-ssd", "startdelay=12\n"));
        assert!(at_once < Span::from_secs(30), "{at_once}");
        assert!(late > Span::from_secs(12), "{late}");
    }
}
