//! The `io` files of tenants, in simulated time: caps, classes, shares and targets are kept, and the control without
//! the file does not keep them.

use blksched::Span;

use super::matrix::{Asks, Load, SLOW, World, load};
use crate::config::Shares;
use crate::policies::{Setting, WrittenFiles};

/// Twelve seconds of a disk that takes 2 ms per request.
const SECONDS: f64 = 12.0;
const PLAIN: Setting = Setting { shares: Shares::ByScheduler, sleeps: false, cost: false };
const SLEEPS: Setting = Setting { sleeps: true, ..PLAIN };
const COST: Setting = Setting { cost: true, ..SLEEPS };

fn run(elevator: &str, setting: Setting, loads: &[Load], of_tenants: &[(usize, &str, &str)]) -> World {
    let mut of_disk = WrittenFiles::default();
    if setting.cost {
        // Its own figures: 500 requests of 4 KiB a second.
        let model = "rbps=1000000000 rseqiops=500 rrandiops=500 wbps=1000000000 wseqiops=500 wrandiops=500";
        of_disk.write("io.cost.qos", "enable=1 min=50.00 max=100.00");
        of_disk.write("io.cost.model", model);
    }
    let mut world = World::with_files(SLOW, elevator, setting, loads, &of_disk, of_tenants);
    world.run();
    world
}

fn done(world: &World) -> Vec<f64> {
    world.had.iter().map(|had| had.done as f64).collect()
}

const DEEP: Load = load(Asks::Reads, 1, 32);

#[test]
fn io_max_caps_a_tenant_within_2_per_cent_and_others_have_the_rest() {
    let loads = [DEEP, load(Asks::Writes, 2, 8), DEEP];
    let files = [(0, "io.max", "riops=50"), (1, "io.max", "wbps=204800")];
    for (elevator, setting) in [("mq-deadline", PLAIN), ("none", SLEEPS)] {
        let done = done(&run(elevator, setting, &loads, &files));
        assert!((done[0] / SECONDS / 50.0 - 1.0).abs() < 0.02, "{elevator}: {done:?}, and 50/s were allowed");
        assert!((done[1] / SECONDS / 50.0 - 1.0).abs() < 0.02, "{elevator}: {done:?}, and 50/s were allowed");
        assert!(done.iter().sum::<f64>() / SECONDS > 0.98 * 500.0, "{elevator}: {done:?}: the disk is not left idle");
    }
    let control = done(&run("mq-deadline", PLAIN, &loads, &[]));
    assert!(control[0] / SECONDS > 100.0, "{control:?}");
}

#[test]
fn io_prio_class_is_what_the_scheduler_goes_by() {
    let idle = done(&run("mq-deadline", PLAIN, &[DEEP, DEEP], &[(0, "io.prio.class", "idle")]));
    assert!(idle[0] < 0.05 * idle[1], "{idle:?}");
    let promoted = done(&run("mq-deadline", PLAIN, &[DEEP, DEEP], &[(0, "io.prio.class", "promote-to-rt")]));
    assert!(promoted[1] < 0.05 * promoted[0], "{promoted:?}");
    let control = done(&run("mq-deadline", PLAIN, &[DEEP, DEEP], &[(0, "io.prio.class", "no-change")]));
    let sum: f64 = control.iter().sum();
    assert!(control.iter().all(|own| own / sum > 0.4), "{control:?}");
}

#[test]
fn io_weight_shares_within_5_per_cent_under_io_cost() {
    let weights = [(0, "io.weight", "100"), (1, "io.weight", "300")];
    let found = done(&run("none", COST, &[DEEP, DEEP], &weights));
    assert!((found[1] / found[0] / 3.0 - 1.0).abs() < 0.05, "{found:?}");
    assert!(found.iter().sum::<f64>() / SECONDS > 0.95 * 500.0, "{found:?}: the disk is used");
    let control = done(&run("none", SLEEPS, &[DEEP, DEEP], &[]));
    assert!((control[1] / control[0] - 1.0).abs() < 0.05, "{control:?}");
}

#[test]
fn io_latency_holds_a_flood_back_for_a_target_of_10_ms() {
    let loads = [load(Asks::Reads, 1, 1), load(Asks::Reads, 4, 16)];
    let p75 = |files: &[(usize, &str, &str)]| {
        let mut world = run("none", SLEEPS, &loads, files);
        world.had[0].waited.sort_unstable();
        (world.had[0].waited[world.had[0].waited.len() * 3 / 4], done(&world).iter().sum::<f64>())
    };
    let (before, all) = p75(&[]);
    let (after, still) = p75(&[(0, "io.latency", "target=10000")]);
    assert!(before > Span::from_ms(60), "{before}");
    assert!(after < Span::from_ms(15), "{after} under a target of 10 ms, {before} without");
    assert!(still > 0.95 * all, "the disk is used: {still} of {all}");
}
