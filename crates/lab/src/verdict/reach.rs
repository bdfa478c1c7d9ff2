//! What no scheduler can reach: I/O that ends in memory, and requests that wait inside the disk.

use std::sync::Arc;

use blksched::Dir;
use blksched_measure::Quantity;

use crate::runs::measured::Measured;

/// Why no scheduler has a say in most of a direction's time; `None` where they do.
pub fn beyond_reach(measured: &[Arc<Measured>], dir: Dir) -> Option<String> {
    in_memory(measured, dir).or_else(|| in_the_disk(measured, dir))
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
