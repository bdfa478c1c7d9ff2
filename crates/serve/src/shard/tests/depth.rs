//! A depth that is found, in simulated time: what a tenant with one request at a time waits for beside deep ones.

use blksched::{Instant, Span};

use super::matrix::{Asks, Load, World, load};
use crate::config::Shares;

/// A disk that works on so many at a time, this long each \[ms\].
#[derive(Clone, Copy, Debug)]
struct Channels(u32, u32);

/// What the others do beside a tenant with one at a time.
#[derive(Clone, Copy, Debug)]
enum Beside {
    /// Four of them read, 32 at a time.
    Deep,
    /// They write as well, and stream.
    Mixed,
    /// Each second three of them ask for 20 reads at once, and one reads 32 at a time.
    Bursts,
    /// All of them burst.
    OnlyBursts,
}

/// Requests a second of a tenant with one read at a time, and of all others together; with this depth, or `auto`.
fn rates(disk: Channels, beside: Beside, depth: &str) -> (f64, f64) {
    let Channels(channels, ms) = disk;
    let disk = format!(
        "kind = \"fixed\"\ndescription = \"some at a time\"\ncapacity = \"1TB\"\nmax_command = \"1MiB\"\n\
         depth = 256\nchannels = {channels}\nservice = \"{ms}ms\"\n"
    );
    let deep = load(Asks::Reads, 1, 32);
    let others = match beside {
        Beside::Deep => [deep; 4],
        Beside::Mixed => [deep, load(Asks::Writes, 1, 32), load(Asks::Stream, 1, 8), load(Asks::Writes, 4, 4)],
        Beside::Bursts => {
            [deep, load(Asks::Bursts(20), 1, 1), load(Asks::Bursts(20), 1, 1), load(Asks::Bursts(20), 1, 1)]
        }
        Beside::OnlyBursts => [load(Asks::Bursts(40), 1, 1); 4],
    };
    let loads: Vec<Load> = std::iter::once(load(Asks::Reads, 1, 1)).chain(others).collect();
    let mut world = World::with_depth(&disk, 256, Shares::ByTime, &loads);
    world.rig.shard.set_for_tests("queue/depth", depth);
    let mut before = Vec::new();
    for second in 0..SECONDS {
        // It has found its depth by then.
        if second == SECONDS / 2 {
            before = world.had.iter().map(|had| had.done).collect();
        }
        world.ask_all();
        world.burst();
        world.pass(Instant::ZERO + Span::from_secs(second + 1));
    }
    let done = |at: usize| (world.had[at].done - before[at]) as f64 / (SECONDS / 2) as f64;
    (done(0), (1..5).map(done).sum())
}

/// How long a load is.
const SECONDS: u64 = 12;

/// On disks with few channels and many.
fn holds_the_small_one(beside: Beside) {
    for disk in [Channels(1, 4), Channels(4, 8), Channels(8, 16)] {
        let Channels(channels, ms) = disk;
        let [deep, sixteen, found, knee] =
            ["64", "16", "auto", &channels.to_string()].map(|depth| rates(disk, beside, depth));
        println!("{disk:?}, {beside:?}: 64 {deep:.0?}, 16 {sixteen:.0?}, auto {found:.0?}, knee {knee:.0?}");
        let all = |(own, others): (f64, f64)| own + others;
        assert!(all(found) >= 0.95 * all(deep), "{disk:?}, {beside:?}: as busy: {found:?}, {deep:?}");
        // Its reads wait for five more commands than at the knee: four may wait in the disk, and it moves by one.
        let more = 5.0 * f64::from(ms) / 1000.0 / f64::from(channels);
        assert!(1.0 / found.0 <= 1.0 / knee.0 + more, "{disk:?}, {beside:?}: {found:?} beside {knee:?} at the knee");
        // Where others only burst, it is alone most of the time.
        let alone = matches!(beside, Beside::OnlyBursts) || channels > 4;
        assert!(alone || found.0 >= 1.5 * sixteen.0, "{disk:?}, {beside:?}: {found:?} beside {sixteen:?} at 16");
    }
}

#[test]
fn a_small_tenant_keeps_its_latency_beside_deep_ones_and_the_disk_stays_busy() {
    holds_the_small_one(Beside::Deep);
}

#[test]
fn a_small_tenant_keeps_its_latency_beside_writers_and_a_stream() {
    holds_the_small_one(Beside::Mixed);
}

#[test]
fn a_small_tenant_keeps_its_latency_beside_bursts() {
    holds_the_small_one(Beside::Bursts);
    holds_the_small_one(Beside::OnlyBursts);
}
