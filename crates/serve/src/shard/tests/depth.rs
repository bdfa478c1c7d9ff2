//! A depth that is found, in simulated time: what a tenant with one request at a time waits for beside deep ones.

use blksched::{Instant, Span};

use super::matrix::{Asks, World, load};
use crate::config::Shares;

/// Reads a second of a tenant with one at a time, and of all others together, on a disk that works on four at a time
/// for 2 ms each; with this depth, or `auto`.
fn rates(depth: &str) -> (f64, f64) {
    const DISK: &str = "kind = \"fixed\"\ndescription = \"four at a time\"\ncapacity = \"1TB\"\n\
                        max_command = \"1MiB\"\ndepth = 256\nchannels = 4\nservice = \"2ms\"\n";
    let mut loads = vec![load(Asks::Reads, 1, 1)];
    loads.extend((0..4).map(|_| load(Asks::Reads, 1, 32)));
    let mut world = World::with_depth(DISK, 256, Shares::ByTime, &loads);
    world.rig.shard.set_for_tests("queue/depth", depth);
    world.ask_all();
    // It has found its depth by then.
    world.pass(Instant::ZERO + Span::from_secs(2));
    let before: Vec<u64> = world.had.iter().map(|had| had.done).collect();
    world.pass(Instant::ZERO + Span::from_secs(6));
    let done = |at: usize| (world.had[at].done - before[at]) as f64 / 4.0;
    (done(0), (1..5).map(done).sum())
}

#[test]
fn a_small_tenant_keeps_its_latency_beside_deep_ones_and_the_disk_stays_busy() {
    let (deep, found, knee) = (rates("64"), rates("auto"), rates("4"));
    let all = |(own, others): (f64, f64)| own + others;
    assert!(all(found) >= 0.97 * all(deep), "the disk is as busy: {found:?}, {deep:?}");
    assert!(found.0 >= 4.0 * deep.0, "{found:?} beside {deep:?} reads a second");
    assert!(found.0 >= 0.5 * knee.0, "{found:?} beside {knee:?} with the disk's own depth");
}
