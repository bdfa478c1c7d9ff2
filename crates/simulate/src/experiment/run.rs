//! Running an experiment: one simulation per run and seed, and the judgement over all of them.

use blksched::{BlockQueue, Instant, Span};

use super::asked::Asked;
use super::expression::fits;
use super::outcome::{Ear, Keeps, OutcomeObserver, ProcessOutcome, RunOutcome, submitter};
use super::result::{ExperimentAnswer, answer};
use super::spec::{Experiment, ExperimentRun};
use crate::cpu::place;
use crate::story::works;
use crate::trial::queue_config;
use crate::world::World;

/// How often to check whether the awaited processes have exited. Exits themselves are recorded to the nanosecond.
const LOOK_EVERY: Span = Span::from_ms(100);

impl ExperimentRun {
    /// Simulates the run with this seed, to its end.
    ///
    /// # Errors
    /// If a workload does not fit on the disk, or a knob's value is refused.
    pub fn simulate(&self, seed: u64) -> Result<RunOutcome, String> {
        self.simulate_asked(seed, &Asked::everything())
    }

    /// Simulates as much of the run with this seed as is asked.
    ///
    /// # Errors
    /// As [`ExperimentRun::simulate`].
    pub fn simulate_asked(&self, seed: u64, asked: &Asked) -> Result<RunOutcome, String> {
        let scene = &self.scene;
        let disk = scene.disk.build(seed);
        let built = scene.elevator.build();
        let config = queue_config(&built, &scene.surroundings, &disk.facts(), scene.disk.attached);
        let mut queue = BlockQueue::with_listener(config, built.elevator, Ear::that(asked.reasons, asked.seconds));
        scene.surroundings.throttle(&mut queue, &config, &disk.facts(), scene.disk.attached);
        for (knob, raw) in &scene.knobs {
            queue.set(Instant::ZERO, knob, *raw).map_err(|error| error.to_string())?;
        }
        crate::groups::make(&mut queue, &scene.elevator, &scene.disk, scene.groups());
        let actors = scene.actors(seed)?;
        let (mut sources, mut observer) = (Vec::new(), OutcomeObserver::default());
        let allowed: Vec<_> = actors.iter().map(|actor| actor.cpus_allowed).collect();
        for actor in actors {
            observer.processes.push(ProcessOutcome::new(actor.name, actor.start));
            sources.push(actor.source);
        }
        let world = World::new(queue, disk, sources, observer);
        let world = match asked.reasons {
            Keeps::All => world.with_work_hook(|ear: &mut Ear, stint| works(&mut ear.reasons, stint)),
            Keeps::Counts | Keeps::Nothing => world,
        };
        let write_back = scene.surroundings.write_back(&scene.elevator);
        let mut world = world.with_host(scene.surroundings.host, write_back, config.limits.max_sectors);
        world = world.with_direct_writes_in_background(scene.direct_in_background);
        world = scene.surroundings.race(world, &scene.elevator, (config.wakes, seed));
        if let Some(cpus) = scene.surroundings.cpus_under(&scene.elevator.build()) {
            let places = place(cpus.cpus as usize, &allowed, seed);
            let (scheduler, queues) = scene.surroundings.on_cpus(&cpus, &scene.elevator, scene.disk.attached);
            world = world.with_cpus(&cpus, scheduler, queues, &places);
        }
        let end = Instant::ZERO + scene.time;
        let is_over =
            |now: Instant, seen: &OutcomeObserver| seen.have_exited(&self.until) || asked.is_enough(now, seen);
        while world.now() < end && !world.is_finished() && !is_over(world.now(), world.observer_mut()) {
            world.run_until((world.now() + LOOK_EVERY).min(end)).map_err(|error| error.to_string())?;
        }
        Ok(outcome(world))
    }
}

fn outcome(mut world: World<Ear, OutcomeObserver>) -> RunOutcome {
    let now = world.now();
    let mut ear = world.queue().listener().clone();
    if ear.keeps == Keeps::All {
        ear.reasons.settle(now);
    }
    let mut processes = core::mem::take(world.observer_mut()).processes;
    let ledger = world.disk().ledger();
    for (nth, process) in processes.iter_mut().enumerate() {
        process.activity = ledger.of(submitter(nth));
        process.served = ear.reasons.turns().served(submitter(nth));
    }
    for time in ear.reasons.submitters() {
        if let Some(process) = processes.get_mut(time.submitter.0 as usize) {
            process.share = time.share;
        }
    }
    // Under a scheduler without slices: what a process was given of the disk's time.
    if ear.reasons.turns().began == 0 {
        processes.iter_mut().for_each(|process| process.served = process.share.given);
    }
    let Ear { reasons, tally, timeline, .. } = ear;
    let (elapsed, hash, cpu) = (now.since(Instant::ZERO), world.hash(), world.cpu_report());
    RunOutcome { processes, timeline, reasons, tally, elapsed, hash, cpu }
}

impl Experiment {
    /// All simulations needed with this many seeds: the number of the run, and the seed.
    pub fn simulations(&self, seeds: u32) -> Vec<(usize, u64)> {
        let all = |run| (0..u64::from(seeds)).map(move |nth| (run, self.first_seed.wrapping_add(nth)));
        (0..self.runs.len()).flat_map(all).collect()
    }

    /// The results, from the outcomes of [`Experiment::simulations`] in that order.
    pub fn answer(&self, outcomes: &[RunOutcome]) -> ExperimentAnswer {
        answer(self, outcomes)
    }

    /// One seed's outcomes of the runs that match `pattern`.
    pub(super) fn of_seed<'a>(
        &self,
        outcomes: &'a [RunOutcome],
        seeds: usize,
        nth: usize,
        pattern: &str,
    ) -> Vec<&'a RunOutcome> {
        let runs = self.runs.iter().enumerate().filter(|(_, run)| fits(pattern, &run.name));
        runs.map(|(run, _)| &outcomes[run * seeds + nth]).collect()
    }
}
