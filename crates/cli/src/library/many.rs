//! One load on one disk under many schedulers, knobs and seeds, as a table in memory, as `sweep` does with files.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use blksched::Catalogue;
use blksched::author::Entry;
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, Stage, contenders};
use blksched_simulate::Trial;

use super::Error;
use crate::input::OnDisk;
use crate::sweep::{RunRows, SweepColumns, digest_of, key_of};

/// One simulation: `bfq:slice_idle=0`, and a seed.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The scheduler as `--elevators` takes it.
    pub elevator: String,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// Simulates the scene under each of `specs`, on all cores. The rows are in the order of `specs`, whichever finishes
/// first.
///
/// # Errors
/// If the input is not understood, or `stop` became true.
pub fn many(scene: &Scene, specs: &[Spec], own: &[Entry], stop: &AtomicBool) -> Result<RecordBatch, Error> {
    let catalogue = Catalogue::builtin().with(own);
    let one = |spec: &Spec| -> Result<Contender, Error> {
        let mut found = contenders("elevator", std::slice::from_ref(&spec.elevator), &[], &catalogue)?;
        Ok(found.remove(0))
    };
    let cells = specs.iter().map(|spec| Ok((one(spec)?, spec.seed))).collect::<Result<Vec<_>, Error>>()?;
    let Some((first, _)) = cells.first() else {
        return Err(Error::of_text("nothing to run: the grid is empty", true));
    };
    let stage = Stage::load(scene, &OnDisk)?;
    stage.is_alone_for(&[(true, "a grid of runs")])?;
    let length = stage.length(scene, first, 1.0)?;
    let stage = stage.cut(length, scene).for_rows();
    let digest = digest_of(&stage);
    let (slots, next) = (Mutex::new(vec![None; cells.len()]), AtomicUsize::new(0));
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some((contender, seed)) = cells.get(nth).filter(|_| !stop.load(Ordering::Relaxed)) else { break };
            let trial = Trial { seed: *seed, ..stage.trial(scene, contender, length.limit) };
            let key = key_of(digest, contender, &trial);
            let rows = RunRows::new(key, &stage.workload.name, &stage.disk.name, contender, *seed);
            let rows = match trial.simulate_for_shares() {
                Ok(findings) => rows.found(&stage.plan, length.limit.as_ns(), &findings),
                Err(error) => rows.failed(error.to_string()),
            };
            if let Ok(mut slots) = slots.lock() {
                slots[nth] = Some(rows);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(cells.len());
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // A panic in the caller's own elevator is passed on to the caller.
        for thread in all {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let rows: Option<Vec<RunRows>> = slots.into_inner().unwrap_or_default().into_iter().collect();
    let rows = rows.ok_or_else(|| Error::of_text("interrupted", false))?;
    let mut knobs: Vec<String> = rows.iter().flat_map(|run| run.knobs().map(str::to_owned)).collect();
    knobs.sort_unstable();
    knobs.dedup();
    SweepColumns::new(knobs).batch(&rows).map_err(|error| Error::of_text(&error.to_string(), false))
}
