//! The runs of a range of the plan, on several threads: each takes the next run, which may require loading the next
//! workload.
//!
//! **Rule** A load is read once and laid out on each disk; it is dropped when the last of its runs has ended. At most
//! two are held. A failure marks its rows, and the rest continues.

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use blksched::Span;
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, Stage, Workload};
use blksched_simulate::Trial;
use twox_hash::xxhash3_128::Hasher;

use super::plan::SweepPlan;
use super::row::RunRows;
use crate::failure::Failure;
use crate::input::OnDisk;

/// The most results that wait to be written.
const WAITING: usize = 64;

/// One load on one disk.
struct RunGroup {
    scene: Scene,
    name: String,
    disk: String,
    /// What to run, or why it cannot be run.
    stage: Result<(Stage, Span), String>,
    /// The hash of everything that its runs have in common.
    digest: u128,
}

/// The next run, and what it needs.
struct NextRun {
    group: Arc<RunGroup>,
    contender: Contender,
    seed: u64,
    key: u128,
}

/// The position in the plan.
struct Cursor<'p> {
    plan: &'p SweepPlan,
    next: u64,
    end: u64,
    load: Option<(usize, Result<Arc<Workload>, String>)>,
    group: Option<(u64, Arc<RunGroup>)>,
}

/// Makes the runs from `from` up to `end` that `known` does not contain, on this many threads; `take` gets each result,
/// in the order in which runs end. Ends early if `stop` says so, or `take` fails.
pub(super) fn run(
    plan: &SweepPlan,
    (from, end): (u64, u64),
    threads: usize,
    known: impl Fn(u128) -> bool + Sync,
    stop: &AtomicBool,
    mut take: impl FnMut(Option<RunRows>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cursor = Mutex::new(Cursor { plan, next: from, end, load: None, group: None });
    let (results, arrive) = sync_channel::<Option<RunRows>>(WAITING);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (results, cursor, known) = (results.clone(), &cursor, &known);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let next = cursor.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(task) = next else { break };
                    let done = if known(task.key) { None } else { Some(task.run()) };
                    if results.send(done).is_err() {
                        break;
                    }
                }
            });
        }
        drop(results);
        let mut outcome = Ok(());
        // When writing fails, running workers must still be able to deliver their results.
        for result in arrive {
            if outcome.is_ok() {
                outcome = take(result);
                if outcome.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        outcome
    })
}

/// How long one run took.
pub(super) struct Pilot {
    /// The time to read its load and lay it out on the disk.
    pub(super) laid_out: Duration,
    /// The run itself.
    pub(super) ran: Duration,
}

/// How often a pilot is repeated: the first run finds the processor's caches empty. The shortest counts.
const PILOT_TIMES: u32 = 3;
/// A pilot that takes this long is not repeated.
const PILOT_LONG: Duration = Duration::from_millis(500);

/// Makes the `nth` run, if there is one, to see how long it takes.
pub(super) fn pilot(plan: &SweepPlan, nth: u64) -> Option<Pilot> {
    let began = Instant::now();
    let task = Cursor { plan, next: nth, end: nth + 1, load: None, group: None }.next()?;
    let laid_out = began.elapsed();
    let mut ran = Duration::MAX;
    for _ in 0..PILOT_TIMES {
        let began = Instant::now();
        task.run();
        ran = ran.min(began.elapsed());
        if ran > PILOT_LONG {
            break;
        }
    }
    Some(Pilot { laid_out, ran })
}

impl Cursor<'_> {
    fn next(&mut self) -> Option<NextRun> {
        if self.next >= self.end {
            return None;
        }
        let (group, nth) = (self.next / self.plan.per_group(), self.next % self.plan.per_group());
        self.next += 1;
        let (contender, seed) = self.plan.cell(nth);
        let group = self.group(group);
        let key = group.key(&contender, seed);
        Some(NextRun { group, contender, seed, key })
    }

    fn group(&mut self, nth: u64) -> Arc<RunGroup> {
        if let Some((_, group)) = self.group.as_ref().filter(|(known, _)| *known == nth) {
            return group.clone();
        }
        let (load, disk) = self.plan.group(nth);
        let scene = self.plan.scene(nth);
        if self.load.as_ref().is_none_or(|(known, _)| *known != load) {
            // Frees the previous one first.
            (self.group, self.load) = (None, None);
            let loaded = guarded(|| Workload::load(&scene, &OnDisk).map_err(|why| Failure::from(why).text()));
            self.load = Some((load, loaded.map(Arc::new)));
        }
        let (_, loaded) = self.load.as_ref().expect("it was loaded just now");
        let stage = loaded.clone().and_then(|load| guarded(|| self.plan.stage(load, &scene).map_err(|why| why.text())));
        let name = scene.jobs.join(" ");
        let digest = digest(&name, &stage);
        let group = Arc::new(RunGroup { scene, name, disk: self.plan.disks[disk].clone(), stage, digest });
        self.group = Some((nth, group.clone()));
        group
    }
}

impl SweepPlan {
    /// The load on the scene's disk, and the length of its runs.
    pub(super) fn stage(&self, load: Arc<Workload>, scene: &Scene) -> Result<(Stage, Span), Failure> {
        let stage = Stage::of(load, scene, &OnDisk)?;
        let length = stage.length(scene, &self.cell(0).0, 1.0)?;
        Ok((stage.cut(length, scene).for_rows(), length.limit))
    }
}

impl RunGroup {
    fn trial(&self, stage: &Stage, limit: Span, contender: &Contender, seed: u64) -> Trial {
        Trial { seed, ..stage.trial(&self.scene, contender, limit) }
    }

    fn key(&self, contender: &Contender, seed: u64) -> u128 {
        let around = match &self.stage {
            Ok((stage, limit)) => surroundings(&self.trial(stage, *limit, contender, seed)),
            Err(_) => format!("{:?}", contender.around),
        };
        key(self.digest, contender, &around, seed)
    }
}

fn surroundings(trial: &Trial) -> String {
    format!("{:?} {:?}", trial.surroundings, trial.limit)
}

/// A hash of everything that decides a run: version, load, disk, surroundings, scheduler, knobs, length, seed.
fn key(digest: u128, contender: &Contender, around: &str, seed: u64) -> u128 {
    hashed(format_args!("{digest:032x} {} {:?} {around} {seed}", contender.choice, contender.knobs))
}

/// The key of a plan's run; `stage` is laid out for rows.
pub(crate) fn key_of(digest: u128, contender: &Contender, trial: &Trial) -> u128 {
    key(digest, contender, &surroundings(trial), trial.seed)
}

impl NextRun {
    fn run(&self) -> RunRows {
        let NextRun { group, contender, seed, key } = self;
        let rows = RunRows::new(*key, &group.name, &group.disk, contender, *seed);
        let (stage, limit) = match &group.stage {
            Ok(stage) => stage,
            Err(why) => return rows.failed(why.clone()),
        };
        let trial = group.trial(stage, *limit, contender, *seed);
        match guarded(|| trial.simulate_for_shares().map_err(|error| error.to_string())) {
            Ok(findings) => rows.found(&stage.plan, limit.as_ns(), &findings),
            Err(why) => rows.failed(why),
        }
    }
}

/// Turns a panic of our own into an error of that run.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("panicked: {}", said.unwrap_or_default()))
    })
}

/// A hash of the load as laid out on the disk, and of the disk; of a group that cannot run, of its name and the reason.
fn digest(name: &str, stage: &Result<(Stage, Span), String>) -> u128 {
    match stage {
        Ok((stage, _)) => digest_of(stage),
        Err(why) => hashed(format_args!("{VERSION} {name} {why}")),
    }
}

/// A hash of what all runs of a load on a disk have in common, for [`key_of`].
pub(crate) fn digest_of(stage: &Stage) -> u128 {
    hashed(format_args!("{VERSION} {:?} {:?} {:?}", stage.plan, stage.disk, stage.among))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn hashed(text: fmt::Arguments<'_>) -> u128 {
    let mut hash = Hashed::new();
    hash.write_fmt(text).expect("a hash takes any text");
    hash.0.finish_128()
}

/// A hash that text can be written to.
struct Hashed(Hasher);

impl Hashed {
    fn new() -> Hashed {
        Hashed(Hasher::new())
    }
}

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
