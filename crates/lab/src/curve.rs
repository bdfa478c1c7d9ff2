//! The same load on more or fewer processors: a curve for each scheduler, and what more of them would do for one.
//!
//! **Rule** The length of runs is found on the most processors, where most is done, and is the same everywhere; so are
//! the seeds. A load does not grow with its host: processes that do not fill the processors leave some of them idle.

use std::sync::Arc;

use blksched::{Catalogue, Span};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::runs::Runs;
use crate::runs::measured::Measured;
use crate::scene::Stage;
use crate::verdict::processors::Beyond;
use crate::watch::Watch;

/// A load under some schedulers on several numbers of processors.
#[non_exhaustive]
pub struct Curve {
    /// The load on its disk.
    pub stage: Stage,
    /// How long each run was at most.
    pub limit: Span,
    /// By the number of processors, which grows.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// The least number of processors with which the `nth` scheduler does what it can do at most, but for a twentieth,
    /// and what was measured there.
    ///
    /// # Panics
    /// If there is no such scheduler.
    pub fn enough(&self, nth: usize) -> (u32, &Measured) {
        let most = self.points.iter().map(|point| point.measured[nth].iops()).fold(0.0, f64::max);
        let enough = self.points.iter().find(|point| point.measured[nth].iops() >= 0.95 * most);
        let enough = enough.or(self.points.last()).expect("a curve has a point");
        (enough.cpus, &enough.measured[nth])
    }
}

/// One number of processors.
pub struct CurvePoint {
    /// The number.
    pub cpus: u32,
    /// What was measured of each scheduler, in the order of the question.
    pub measured: Vec<Arc<Measured>>,
}

impl Measured {
    /// I/Os per second of all jobs, syncs left out: the mean over the seeds.
    pub fn iops(&self) -> f64 {
        let works = self.jobs.iter().flat_map(|job| &job.work);
        works.filter(|(work, _)| *work != blksched_measure::Work::Sync).map(|(_, done)| done.iops.mean()).sum()
    }
}

impl Comparison {
    /// The load on hosts with so many processors each, all else alike.
    ///
    /// # Errors
    /// A word that was not understood; that I/O costs no processor time; that a run stands still; or that it was
    /// interrupted before the first seed.
    pub fn over_processors(
        &self,
        counts: &[u32],
        stage: Stage,
        catalogue: &Catalogue,
        watch: &dyn Watch,
    ) -> Result<Curve, Error> {
        if self.scene.host.cpu.is_none() {
            let message = "--host cpus with several numbers needs what I/O costs, and cpu=off has none";
            return Err(Error::Input(message.to_owned()));
        }
        let on = |cpus: u32| {
            let mut question = self.clone();
            question.scene.host.cpus = cpus;
            question
        };
        let most = on(counts.iter().copied().max().unwrap_or(self.scene.host.cpus));
        let (stage, _) = stage.under(&self.elevators, &self.scene, catalogue)?.without_logs();
        let contenders = self.contenders(&stage, catalogue)?;
        let length = stage.length(&most.scene, &contenders[0], self.effort / counts.len() as f64)?;
        let length = stage.settled(length, &most.scene, &contenders);
        let length = self.settling(length, stage.plan.phases());
        let stage = stage.cut(length, &most.scene);
        let mut points = Vec::new();
        for &cpus in counts {
            let question = on(cpus);
            let mut runs = Runs::new(&question, &stage, &contenders, (length.limit, self.scene.seed), watch);
            runs.more(self.seeds, self.goal.as_deref())?;
            points.push(CurvePoint { cpus, measured: runs.measured() });
            if watch.is_interrupted() {
                break;
            }
        }
        Ok(Curve { stage, limit: length.limit, points })
    }
}

/// What more processors would do for a comparison's schedulers: one run of the first seed.
pub(crate) struct MoreProcessors<'a>(pub(crate) &'a Runs<'a>);

impl Beyond for MoreProcessors<'_> {
    fn there_are(&self) -> (u32, usize) {
        let Runs { comparison, stage, .. } = self.0;
        (comparison.scene.host.cpus, stage.plan.jobs.len())
    }

    fn rate(&self, nth: usize, cpus: u32) -> Option<f64> {
        let Runs { comparison, stage, contenders, limit, first, done, .. } = self.0;
        let mut scene = comparison.scene.clone();
        (scene.host.cpus, scene.seed) = (cpus, *first);
        let there = stage.trial(&scene, &contenders[nth], *limit).simulate_for_shares().ok()?;
        let here = done[nth].first()?;
        let rate = |requests: u64, elapsed: Span| requests as f64 / elapsed.as_secs_f64();
        let times = rate(there.requests, there.elapsed) / rate(here.requests, here.elapsed);
        times.is_finite().then_some(times)
    }
}
