//! A run that can be looked at, and continued.

use blksched::reasons::NoListener;
use blksched::{Instant, Span};
use blksched_measure::{Reasons, Series, Work};
use blksched_workloads::replay::Joint;

use crate::counted::work;
use crate::other_disks::{self, Quiet};
use crate::trial::{Trial, TrialError};
use crate::trial_observer::TrialObserver;
use crate::world::World;

/// A trial's worlds at a moment.
pub(crate) struct Underway {
    world: World<Reasons, TrialObserver>,
    others: Vec<Quiet>,
}

impl Underway {
    /// The trial at its beginning. Its limit is ignored.
    pub(crate) fn begin(trial: &Trial) -> Result<Underway, TrialError> {
        let mut joint = Joint::default();
        let observer = TrialObserver::new(&trial.plan, false);
        let world = trial.world((&trial.disk, &trial.plan), Reasons::of_shares(), observer, &mut joint)?;
        let others =
            trial.other_disks.iter().map(|other| trial.world((&other.disk, &other.plan), NoListener, (), &mut joint));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        Ok(Underway { world, others })
    }

    /// Continues until that time, or until all jobs have ended.
    pub(crate) fn advance(&mut self, until: Span) -> Result<(), TrialError> {
        Ok(other_disks::run(&mut self.world, &mut self.others, Instant::ZERO + until)?)
    }

    pub(crate) fn now(&self) -> Span {
        self.world.now().since(Instant::ZERO)
    }

    /// Whether all jobs have ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.world.is_finished()
    }

    /// Whether that job has ended.
    pub(crate) fn has_ended(&self, job: usize) -> bool {
        self.world.observer().exited(job).is_some()
    }

    /// One kind of that job's work by time.
    pub(crate) fn series(&self, job: usize, work: Work) -> &Series {
        &self.world.observer().series(job)[work as usize]
    }

    /// The simulated work so far.
    pub(crate) fn work(&self) -> u64 {
        work(self.world.completions(), self.world.observer().ios(), &self.world.host().report())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use blksched::Catalogue;
    use blksched_workloads::fio::JobFile;

    use super::*;
    use crate::surroundings::Surroundings;

    #[test]
    fn a_run_in_pieces_is_the_run_in_one() {
        let jobs = "[global]\nrw=randrw\nsize=64m\ntime_based\nruntime=1h\n[a]\nfsync=8\n[b]\nstartdelay=1\n";
        let disk = Arc::new(blksched_disks::load("hdd-7200-ideal").unwrap());
        let plan = JobFile::parse(jobs, "two.fio").unwrap().plan(disk.build(0).facts().sectors).unwrap();
        let trial = Trial {
            elevator: Catalogue::builtin().parse("bfq").unwrap(),
            knobs: Vec::new(),
            surroundings: Surroundings::default(),
            plan: Arc::new(plan),
            disk,
            seed: 1,
            limit: Span::from_secs(3),
            other_disks: Vec::new(),
            beside: Default::default(),
        };
        let whole = trial.simulate_for_shares().unwrap();
        let mut pieces = Underway::begin(&trial).unwrap();
        for ms in [1, 2, 700, 999, 1000, 1001, 2000, 3000] {
            pieces.advance(Span::from_ms(ms)).unwrap();
        }
        assert_eq!((pieces.world.hash(), pieces.now()), (whole.hash, whole.elapsed));
        assert_eq!(pieces.work(), whole.work);
        let ios = |job: usize, work: Work| pieces.series(job, work).total().ios;
        assert_eq!(ios(1, Work::Read), whole.jobs[1].record.work(Work::Read).ios);
        assert!(ios(0, Work::Sync) > 0 && !pieces.is_finished() && !pieces.has_ended(0));
    }
}
