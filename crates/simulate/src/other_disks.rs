//! Disks beside a trial's own: separate worlds under one clock.
//!
//! **Rule** The world with the earliest event proceeds; among equals the trial's own, then the others in order.
//! Processes with I/Os on several disks are [shared](blksched_workloads::replay::Joint): the other worlds see their
//! changes at the same moment.
//! **Left out** Anything else that disks share: each world has the host's processors and memory to itself.

use std::sync::Arc;

use blksched::reasons::NoListener;
use blksched::{Instant, Listener};
use blksched_disks::DiskSpec;
use blksched_workloads::Plan;

use crate::world::{Observer, StandsStill, World};

/// A disk beside the trial's, with its part of the workload. Elevator, knobs and surroundings are the trial's.
#[derive(Clone, Debug)]
pub struct OtherDisk {
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The workload's part there.
    pub plan: Arc<Plan>,
}

/// A world without observers.
pub(crate) type Quiet = World<NoListener, ()>;

/// Runs all of them until `end`, or until nothing more happens in `main`.
///
/// # Errors
/// If time stands still in one.
pub(crate) fn run<L: Listener, O: Observer>(
    main: &mut World<L, O>,
    others: &mut [Quiet],
    end: Instant,
) -> Result<(), StandsStill> {
    if others.is_empty() {
        return main.run_until(end);
    }
    while !main.is_finished() {
        let others_next = others.iter_mut().enumerate().filter_map(|(nth, other)| {
            let next = if other.is_finished() { None } else { other.upcoming() };
            next.map(|at| (at, nth))
        });
        let (mine, theirs) = (main.upcoming(), others_next.min());
        match (mine, theirs) {
            (Some(at), _) if at <= end && theirs.is_none_or(|(their, _)| at <= their) => main.run_until(at)?,
            (_, Some((at, nth))) if at <= end => others[nth].run_until(at)?,
            // Nothing more happens before the end.
            _ => return main.run_until(end),
        }
        main.look_again();
        others.iter_mut().for_each(World::look_again);
    }
    Ok(())
}
