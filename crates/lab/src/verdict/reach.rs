//! What no scheduler can reach: I/O that ends in memory, and requests that wait inside the disk.

use std::sync::Arc;

use blksched::{Dir, Span};
use blksched_measure::Quantity;
use blksched_workloads::host::HostKnobs;
use blksched_workloads::{IoCharacter, JobPlan, Syncs};

use crate::runs::measured::Measured;
use crate::scene::some_time;

/// Why no scheduler has a say in most of a direction's time; `None` where they do.
pub fn beyond_reach(measured: &[Arc<Measured>], dir: Dir) -> Option<String> {
    in_memory(measured, dir).or_else(|| in_the_disk(measured, dir))
}

/// Writers that would fill the memory in their time, but not in that of the runs.
pub struct NotFull {
    /// What to say of it, without a full stop.
    text: String,
    /// Whether there is no other job, so that nothing at all has waited for the disk.
    is_all: bool,
}

impl NotFull {
    /// Why schedulers do not differ, if it is because of this.
    pub fn why(&self) -> Option<&str> {
        self.is_all.then_some(&self.text)
    }

    /// What to say beside a verdict on others.
    pub fn note(&self) -> Option<String> {
        (!self.is_all).then(|| self.text.clone())
    }
}

/// That the runs ended before writers had filled the memory, though their time would have sufficed: until then no write
/// waits for the disk. `None` if some did, or if they end earlier.
pub fn memory_not_full(measured: &[Arc<Measured>], jobs: &[JobPlan], host: &HostKnobs, ran: Span) -> Option<NotFull> {
    let fills = |job: &&JobPlan| {
        let IoCharacter { writes, paced, syncs, syncs_on_close, amount, .. } = job.character;
        // Small files that are synced as they are closed leave nothing dirty behind.
        job.is_buffered && writes && !paced && syncs == Syncs::Never && amount.is_none() && !syncs_on_close
    };
    let mut writers: Vec<&JobPlan> = jobs.iter().filter(fills).collect();
    let mut left: f64 = 0.0;
    for one in measured {
        let memory = one.memory.as_ref().filter(|memory| memory.throttled.mean() == 0.0)?;
        left = left.max(memory.left.mean());
    }
    // Writers are held back from the middle between the two limits on (balance_dirty_pages).
    let limits = host.dirty_limits();
    let held_back = (limits.background + limits.limit) as f64 / 2.0;
    let full = ran.as_secs_f64() * held_back / left.max(1.0);
    let runtime = |job: &JobPlan| {
        let said = job.options.iter().rev().find(|(name, _)| name == "runtime");
        said.and_then(|(_, text)| some_time(text).ok()).map_or(f64::INFINITY, Span::as_secs_f64)
    };
    writers.retain(|job| runtime(job) > full);
    let first = writers.first()?;
    let name = match writers.iter().filter(|job| job.name == first.name).count() {
        1 => first.name.clone(),
        several => format!("{} ×{several}", first.name),
    };
    let longer = Span::from_secs((4.0 * full).ceil().min(1e6) as u64);
    let text = format!(
        "in {ran} {name} fills only part of the memory that may be dirty, and no write waits for the disk; it is full \
         after about {}: --time {longer} covers that",
        Quantity::Time.show(full * 1e9)
    );
    let is_all = writers.len() == jobs.iter().filter(|job| job.report.shown).count();
    (full > ran.as_secs_f64()).then_some(NotFull { text, is_all })
}

/// Requests queued inside the device are beyond every scheduler. The note appears if, under any scheduler, a request
/// spends most of its time inside the disk although the disk had others to choose from.
fn in_the_disk(measured: &[Arc<Measured>], dir: Dir) -> Option<String> {
    const MOST: f64 = 0.75;
    // The jobs' times are of all disks, and what a disk holds is of one.
    if measured.iter().any(|m| m.disk.is_some()) {
        return None;
    }
    let parts: Vec<f64> = measured.iter().map(|m| m.total(dir)).map(|t| t.service / t.mean.mean()).collect();
    let least = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let shared = measured.iter().all(|m| m.in_disk > 2.0);
    // An unknown latency compares as false.
    let said = least >= MOST && shared && measured.first()?.total(dir).mean.mean() > 0.0;
    let spends = if least < 0.995 { format!("at least {}", Quantity::Fraction.show(least)) } else { "all".to_owned() };
    let held = measured.iter().map(|m| m.in_disk.round() as u64).min().unwrap_or(0);
    said.then(|| {
        format!(
            "Under every scheduler a {dir} spends {spends} of its time inside the disk, where the disk chooses among \
             {held} commands and no scheduler has a say; --depth limits how many the disk holds."
        )
    })
}

/// Memory hides the disk: the note appears if, under any scheduler, nearly every call of a direction ends without the
/// disk.
fn in_memory(measured: &[Arc<Measured>], dir: Dir) -> Option<String> {
    const LEAST: f64 = 0.95;
    let hits = |m: &Arc<Measured>| m.memory.as_ref().map_or(0.0, |memory| memory.hits.spread().mean);
    let free = |m: &Measured| {
        let memory = m.memory.as_ref()?;
        (memory.room.mean().is_finite() && memory.dirtied.mean() > 0.0).then(|| memory.throttled.mean())
    };
    match dir {
        Dir::Read => {
            let least = measured.iter().map(hits).fold(f64::INFINITY, f64::min);
            (least >= LEAST).then(|| {
                format!(
                    "Under every scheduler {} of what is read comes from memory, which no scheduler influences; \
                     --host memory=… reduces that, direct=1 bypasses it.",
                    if least < 0.9995 {
                        format!("at least {}", Quantity::Fraction.show(least))
                    } else {
                        "all".to_owned()
                    }
                )
            })
        }
        // A job that syncs does wait for the disk.
        Dir::Write if measured.iter().any(|m| m.syncs()) => None,
        Dir::Write => measured.iter().all(|m| free(m) == Some(0.0)).then(|| {
            "Under every scheduler no write waits for the disk: all fit below the dirty limit (--host dirty_ratio=…), \
             and what they cost the disk comes later, or falls on others."
                .to_owned()
        }),
    }
}
