//! What a neighbour does is noise to a tenant only as far as it is the neighbour's due: beside each kind of them, it
//! keeps its part of the disk's time, in simulated time.

use blksched::{Instant, Span};

use super::matrix::{Asks, SLOW, World, load};
use crate::config::Shares;

/// Of its due it has at least this part.
const KEEPS: f64 = 0.8;

/// A disk that works on four commands at a time, and takes so many.
fn four(depth: u32) -> String {
    SLOW.replace("depth = 1", &format!("depth = {depth}")).replace("channels = 1", "channels = 4")
}

/// The victim's part of the disk's time, and its reads a second, beside four connections of this kind.
fn beside(disk: &str, depth: u32, neighbour: Option<Asks>) -> (f64, u64) {
    const SECONDS: u64 = 8;
    let mut loads = vec![load(Asks::Reads, 1, 8)];
    loads.extend(neighbour.map(|asks| load(asks, 4, 8)));
    let mut world = World::with_depth(disk, depth, Shares::ByTime, &loads);
    world.ask_all();
    let at = |seconds: u64| Instant::ZERO + Span::from_secs(seconds);
    world.pass(at(1));
    let so_far = |world: &World| -> Vec<Span> {
        world.rig.shard.tenants.iter().take(loads.len()).map(|tenant| tenant.used.in_device).collect()
    };
    let (before, done) = (so_far(&world), world.had[0].done);
    world.pass(at(1 + SECONDS));
    let had: Vec<f64> =
        so_far(&world).iter().zip(before).map(|(after, before)| (*after - before).as_ns() as f64).collect();
    (had[0] / had.iter().sum::<f64>(), (world.had[0].done - done) / SECONDS)
}

#[test]
fn a_tenant_keeps_its_share_beside_every_kind_of_neighbour() {
    use Asks::*;
    let kinds = [
        ("reads", Reads),
        ("a stream", Stream),
        ("writes", Writes),
        ("zeroes", Zeroes),
        ("trims and writes of 1 MiB", Trims),
        ("writes through", Through),
        ("writes and flushes", Flushes),
    ];
    for (disk, depth) in [(SLOW.to_owned(), 1), (four(4), 4), (four(16), 16)] {
        let (_, alone) = beside(&disk, depth, None);
        for (name, asks) in kinds {
            let (share, rate) = beside(&disk, depth, Some(asks));
            println!("depth {depth}, {name}: {share:.3} of the time, {rate} of {alone} reads a second");
            assert!(share >= KEEPS * 0.5, "depth {depth}, {name}: {share:.3}");
            // Its reads cost beside others what they cost alone, so that the rate follows.
            assert!(rate as f64 >= KEEPS * 0.5 * alone as f64, "depth {depth}, {name}: {rate} of {alone}");
        }
    }
}
