//! The length of a run: long enough for the disk and for rare events, and no longer.
//!
//! **Rule** A pilot under the default scheduler, with the first seed, is doubled in length until 30 s have passed since
//! every job began (`startdelay`) and left its `ramp_time`, which is longer than BFQ's weight raising of a new process,
//! and it has seen 100 of each kind of I/O of its jobs, including fsyncs; or until more would keep a person waiting; or
//! up to two minutes. Its cost is counted, not timed: requests (or I/Os, if memory serves them), and 64 KiB of data as
//! much as a request, since each page passes the page cache. A pilot in which a job has done nothing yet may cost eight
//! times as much. For jobs that end only by time, the first tenth of the run is warm-up, and completions in it do not
//! count.
//!
//! Jobs that wait for others whose `runtime` may end them make phases ([`Plan::phases`]): each phase needs the length
//! that the disk needs, and the run is shared among them, so that no job is left out of a run shorter than the file's.
//!
//! A run that is not repeated may cost more, so if all jobs end by themselves, it is not cut short: only two minutes,
//! or twenty times that cost, end it.

use std::sync::Arc;

use blksched::Span;
use blksched_measure::Work;
use blksched_workloads::Plan;

use crate::trial::{Findings, Trial, TrialError};

/// Work done fewer times says little about its tail.
const ENOUGH: u64 = 100;
/// A pilot that has cost as much as this many requests is not extended.
const MOST_REQUESTS: u64 = 100_000;
/// The same for jobs that all end by themselves, in a single run.
const MOST_REQUESTS_ONCE: u64 = 20 * MOST_REQUESTS;
/// The amount of data that costs as much as a request \[bytes\].
const AS_A_REQUEST: u64 = 64 << 10;
/// A pilot of this length is not extended either.
const LONGEST: Span = Span::from_secs(120);
/// The least length of a run, counted from when every job has begun; a pilot that costs too much ends earlier.
const LEAST: Span = Span::from_secs(30);
/// The length of the first pilot on a disk that does not spin, where much happens in little time.
const FLASH: Span = Span::from_ms(125);
/// A pilot in which a job has not begun may cost this many times as much.
const LATE: u64 = 8;

/// The length of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The time at which a run ends if its jobs have not.
    pub limit: Span,
    /// For jobs that end by time, what completes before this does not count; summed over all phases.
    pub warm_up: Span,
    /// What happens to phases that are longer than their share.
    pub phases: Phases,
}

/// What happens to a plan's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Each ends after its share of the run, so that the next one has its own.
    Share,
    /// They take as long as the file specifies.
    Whole,
}

/// What ends a run.
#[derive(Clone, Copy)]
enum RunEnds {
    /// Enough has been seen.
    Early,
    /// Its jobs have ended.
    ByItself,
}

impl Length {
    /// Longer than any favour that a scheduler has for what is new (BFQ's: 3 to 25 s), counted from when every job has
    /// begun.
    pub const MODES: Span = LEAST;

    /// Runs of this much simulated time.
    pub fn of(limit: Span) -> Length {
        Length { limit, warm_up: limit / 10, phases: Phases::Share }
    }

    /// The length that fits this trial, found by pilots, if it is run repeatedly.
    ///
    /// # Errors
    /// If the elevator has no such knob.
    pub fn fitting(trial: &Trial) -> Result<Length, TrialError> {
        Length::by_pilots(trial, RunEnds::Early)
    }

    /// The length that fits this trial, found by pilots, if it is run once.
    ///
    /// # Errors
    /// If the elevator has no such knob.
    pub fn fitting_once(trial: &Trial) -> Result<Length, TrialError> {
        let ends = if trial.plan.jobs.iter().all(|job| job.character.amount.is_some()) {
            RunEnds::ByItself
        } else {
            RunEnds::Early
        };
        Length::by_pilots(trial, ends)
    }

    fn by_pilots(trial: &Trial, ends: RunEnds) -> Result<Length, TrialError> {
        let count = u64::from(trial.plan.phases());
        let least = LEAST * count + trial.plan.all_count_from();
        let rotational = trial.disk.build(trial.seed).facts().rotational;
        let longest = LONGEST.max(least);
        let phases = match ends {
            RunEnds::Early => Phases::Share,
            RunEnds::ByItself => Phases::Whole,
        };
        // Where phases are cut, the end of the last one says nothing about the others.
        let may_finish = phases == Phases::Whole || trial.plan.phases() == 1;
        let mut limit = if rotational { LEAST * count / 8 } else { FLASH * count };
        loop {
            let length = Length { phases, ..Length::of(limit) };
            let pilot = Trial { limit, plan: Arc::new(length.cut(&trial.plan)), ..trial.clone() }.simulate()?;
            let enough = match ends {
                RunEnds::Early => limit >= least && saw_enough(&pilot) || cost(&pilot) >= most(&pilot),
                RunEnds::ByItself => cost(&pilot) >= MOST_REQUESTS_ONCE,
            };
            if enough || pilot.finished && may_finish || limit >= longest {
                // If jobs end earlier, their time is what counts; under another scheduler they may take longer.
                let warm_up = pilot.elapsed.min(limit) / 10;
                let phases = if pilot.finished { phases } else { Phases::Share };
                return Ok(Length { limit, warm_up, phases });
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
    /// `ramp_time`; a job with a ramp of its own keeps it.
    pub fn cut(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let warm_up = self.warm_up_of_phase(&plan);
        for job in &mut plan.jobs {
            let endless = job.character.order.is_some() && job.character.amount.is_none();
            if endless && job.report.ramp.is_zero() {
                job.report.ramp = warm_up;
            }
        }
        match self.phases {
            Phases::Share => plan.shorten_phases(self.limit / u64::from(plan.phases())),
            Phases::Whole => {}
        }
        plan
    }
}

/// Whether everything that was done at all was done often enough.
fn saw_enough(pilot: &Findings) -> bool {
    let often = |ios: u64| ios == 0 || ios >= ENOUGH;
    pilot.jobs.iter().all(|job| Work::ALL.into_iter().all(|work| often(job.record.work(work).ios)))
}

/// What a pilot may cost: more while a job has done nothing yet.
fn most(pilot: &Findings) -> u64 {
    let begun = |record: &blksched_measure::JobRecord| Work::ALL.into_iter().any(|work| record.work(work).ios > 0);
    let all_begun = pilot.jobs.iter().all(|job| begun(&job.record) || job.exited.is_some());
    if all_begun { MOST_REQUESTS } else { LATE * MOST_REQUESTS }
}

/// The cost of this run in requests.
fn cost(pilot: &Findings) -> u64 {
    let (mut ios, mut bytes) = (0, 0);
    for record in pilot.jobs.iter().map(|job| &job.record) {
        ios += Work::ALL.into_iter().map(|work| record.work(work).ios).sum::<u64>();
        bytes += Work::ALL.into_iter().map(|work| record.work(work).bytes).sum::<u64>();
    }
    pilot.requests.max(ios) + bytes / AS_A_REQUEST
}

#[cfg(test)]
mod tests {
    use blksched::Catalogue;
    use blksched_workloads::fio::JobFile;

    use super::*;
    use crate::trial::Surroundings;

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
        };
        Length::fitting(&trial).unwrap().limit
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
