//! Shares of one slow disk, between clients that always have something to ask.
//!
//! The disk is a simulated one in real time, so slow that the server is idle nearly always, and a share is its part of
//! the disk's time: neither depends on how fast this machine is, as long as clients ask again in time. So these tests
//! are a program of their own and run one at a time: what they would take from each other is the processor.
//!
//! One of them is part of every run; the rest take eight seconds or more of real time each and are slow. What the
//! schedulers themselves owe each tenant is checked exactly, in simulated time, by `simulate`'s `tenants`. Each test
//! runs once: one that passes at the second try would say nothing.

#![cfg(all(feature = "serve", target_os = "linux"))]

use std::sync::{Mutex, MutexGuard, PoisonError};

use blksched_cli::load::{LoadOrder, LoadPlan, load};
use blksched_measure::jain;

use blksched::Span;

#[path = "serve/kit.rs"]
#[allow(dead_code, unused_imports, reason = "the other tests of the server use the rest")]
mod kit;

use kit::{Numbers, Server};

/// Waits until no other of these tests runs.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tenant's load.
#[derive(Clone, Copy)]
struct Demand {
    weight: u32,
    order: LoadOrder,
    reads: u32,
    block: u32,
    depth: u32,
    clients: u32,
}

const DEEP: Demand = Demand { weight: 100, order: LoadOrder::Random, reads: 100, block: 4096, depth: 16, clients: 1 };

/// The disk time that each tenant got while all of them asked \[µs\].
fn device_time(elevator: &[&str], demands: &[Demand]) -> Vec<f64> {
    shares("sata-2009", elevator, demands)
}

/// The same on any disk that executes one request at a time.
fn shares(model: &str, elevator: &[&str], demands: &[Demand]) -> Vec<f64> {
    shares_beside(model, elevator, demands, |_| {})
}

/// The same beside a load of the caller's.
fn shares_beside(model: &str, elevator: &[&str], demands: &[Demand], beside: impl FnOnce(&Server) + Send) -> Vec<f64> {
    let exports: Vec<String> =
        demands.iter().enumerate().map(|(at, demand)| format!("t{at}=mem:1G,weight={}", demand.weight)).collect();
    let mut arguments = vec!["--model", model, "--depth", "1"];
    arguments.extend(elevator);
    exports.iter().for_each(|export| arguments.extend(["--export", export.as_str()]));
    let server = Server::start(&arguments);
    let socket = server.control.with_file_name("s");
    std::thread::scope(|scope| {
        for (at, demand) in demands.iter().enumerate() {
            let Demand { order, reads, block, depth, clients, .. } = *demand;
            let uri = format!("nbd+unix:///t{at}?socket={}", socket.display()).parse().unwrap();
            let plan = LoadPlan { uri, order, reads, block, depth, clients, time: Span::from_secs(8), seed: 1 };
            scope.spawn(move || assert_eq!(load(&plan).unwrap().errors, 0));
        }
        scope.spawn(|| beside(&server));
        // Neither the beginning nor the end is measured: not every tenant asks then.
        let second = std::time::Duration::from_secs(1);
        std::thread::sleep(second);
        let before = times(&server, demands.len());
        std::thread::sleep(6 * second);
        times(&server, demands.len()).iter().zip(before).map(|(after, before)| after - before).collect()
    })
}

fn times(server: &Server, tenants: usize) -> Vec<f64> {
    let stat = |at: usize| server.ctl(&["get", &format!("tenants/t{at}/stat")]).unwrap();
    let time = |stat: String| stat.split("device_us=").nth(1).unwrap().trim().parse().unwrap();
    (0..tenants).map(|at| time(stat(at))).collect()
}

/// The server's defaults.
const DEFAULT: [&str; 0] = [];
/// Requests in the order of arrival.
const NOOP: [&str; 4] = ["--elevator", "noop", "--shares", "scheduler"];

#[test]
fn tenants_share_a_disk_by_weight() {
    let _alone = alone();
    let times = device_time(&DEFAULT, &[Demand { weight: 200, ..DEEP }, DEEP]);
    let ratio = times[0] / times[1];
    println!("2:1 came out as {ratio:.2}");
    assert!((1.5..2.7).contains(&ratio), "{times:?}");
}

#[test]
#[ignore = "slow: by the wall clock, twice eight seconds"]
fn ten_connections_get_what_one_gets() {
    let _alone = alone();
    let times = device_time(&DEFAULT, &[DEEP, Demand { clients: 10, ..DEEP }]);
    let ratio = times[1] / times[0];
    println!("ten connections got {ratio:.2} of what one got");
    assert!((0.7..1.4).contains(&ratio), "{times:?}");
    // The control: a scheduler without groups shares by the number of requests.
    let times = device_time(&NOOP, &[DEEP, Demand { clients: 10, ..DEEP }]);
    assert!(times[1] / times[0] > 4.0, "{times:?}");
}

/// A stream, random reads one at a time and many at a time, and a writer.
fn mixed() -> [Demand; 4] {
    let stream = Demand { order: LoadOrder::Sequential, block: 65536, depth: 4, ..DEEP };
    [stream, Demand { depth: 1, ..DEEP }, Demand { depth: 32, ..DEEP }, Demand { reads: 0, ..DEEP }]
}

#[test]
#[ignore = "slow: by the wall clock, eight seconds"]
fn a_spinning_disk_is_shared_among_four_mixed_tenants() {
    let _alone = alone();
    let times = device_time(&DEFAULT, &mixed());
    let fair = jain(&times);
    println!("Jain's index of the disk's time: {fair:.3}");
    assert!(fair >= ALIKE, "{fair}: {times:?}");
}

/// A medium that takes 0.8 ms for any request.
const SLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/slow.toml");

/// Short slices: each tenant gets one within 32 ms.
const CFQ: [&str; 8] = [
    "--elevator",
    "cfq@4.20+groups",
    "--shares",
    "scheduler",
    "--set",
    "cfq.slice_sync=8ms",
    "--set",
    "cfq.target_latency=32ms",
];

/// The machine's own delays come out of the slices of tenants that send one request at a time, so the bounds are wide:
/// only a server that does not share breaks them. docs/serve.md has the figures of a release build on an idle
/// processor; a test of `simulate` has those of the scheduler itself, in simulated time.
const ALIKE: f64 = 0.8;

#[test]
#[ignore = "slow: by the wall clock, twice eight seconds"]
fn four_mixed_tenants_share_alike_where_without_a_scheduler_one_has_nearly_all() {
    let _alone = alone();
    let control = jain(&shares(SLOW, &NOOP, &mixed()));
    assert!(control < 0.6, "without a scheduler the deepest has nearly all: {control}");
    let times = shares(SLOW, &DEFAULT, &mixed());
    let fair = jain(&times);
    println!("Jain's index of the disk's time: {fair:.3} (noop: {control:.3})");
    assert!(fair >= ALIKE, "{fair}: {times:?}");
}

/// The 99th percentile of the latency of a heavy tenant's requests, one at a time, beside a light one's bursts of 400.
fn beside_bursts(elevator: &[&str]) -> Span {
    let exports = ["--model", SLOW, "--depth", "1", "--export", "t0=mem:1G,weight=1000", "--export", "t1=mem:1G"];
    let server = Server::start(&[&exports[..], elevator].concat());
    let socket = server.control.with_file_name("s");
    let asks = |tenant: usize, depth: u32, time: Span| {
        let uri = format!("nbd+unix:///t{tenant}?socket={}", socket.display()).parse().unwrap();
        let plan =
            LoadPlan { uri, order: LoadOrder::Random, reads: 100, block: 4096, depth, clients: 1, time, seed: 1 };
        let found = load(&plan).unwrap();
        assert_eq!(found.errors, 0);
        found.latency.percentile(99.0)
    };
    std::thread::scope(|scope| {
        let steady = scope.spawn(|| asks(0, 1, Span::from_secs(6)));
        while !steady.is_finished() {
            asks(1, 400, Span::from_ms(100));
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        steady.join().unwrap()
    })
}

#[test]
#[ignore = "slow: by the wall clock, three times six seconds"]
fn bursts_of_a_light_tenant_leave_a_heavy_ones_waits_short() {
    let _alone = alone();
    // The control: in one queue with a burst, it waits for all of it, 0.32 s.
    let control = beside_bursts(&NOOP);
    assert!(control > Span::from_ms(200), "{control}");
    for elevator in [&DEFAULT[..], &CFQ] {
        let wait = beside_bursts(elevator);
        println!("{elevator:?}: 99 % within {wait}; without a scheduler {control}");
        // It is a fifth; what this machine adds to both leaves room.
        assert!(wait * 2 <= control, "{wait} of {control}");
    }
}

#[test]
#[ignore = "slow: by the wall clock, eight seconds"]
fn a_flood_of_a_light_tenant_does_not_ruin_a_heavy_one() {
    let _alone = alone();
    let steady = Demand { weight: 1000, depth: 4, ..DEEP };
    let flood = Demand { weight: 100, depth: 128, clients: 2, ..DEEP };
    let times = device_time(&DEFAULT, &[steady, flood]);
    let part = times[0] / (times[0] + times[1]);
    println!("1000 of 1100 came out as {part:.2}");
    assert!(part > 0.7, "{times:?}");
}

/// Writes a block and flushes, again and again, until the others have been measured.
fn flush_in_a_loop(server: &Server) {
    let (mut client, mut place) = (server.open("t3"), Numbers(1));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(8);
    let mut flushes = 0;
    while std::time::Instant::now() < end {
        assert_eq!(client.write(place.below(200_000) * 4096, &[7; 4096]), Ok(Vec::new()));
        assert_eq!(client.flush(), Ok(Vec::new()));
        flushes += 1;
    }
    println!("{flushes} flushes");
    client.leave();
}

#[test]
#[ignore = "slow: by the wall clock, eight seconds"]
fn a_tenant_that_flushes_in_a_loop_leaves_the_others_their_shares() {
    let _alone = alone();
    // The fourth tenant's export exists, but only the loop sends requests to it.
    let silent = Demand { clients: 0, ..DEEP };
    let times = shares_beside("sata-2009", &DEFAULT, &[DEEP, DEEP, DEEP, silent], flush_in_a_loop);
    let all: f64 = times.iter().sum();
    let least = times[..3].iter().fold(f64::MAX, |least, &time| least.min(time / all));
    println!("of a quarter of the disk's time the others had at least {:.0} %", 400.0 * least);
    assert!(least >= 0.8 * 0.25, "{times:?}");
    assert!(times[3] > 0.0, "the loop got nothing: {times:?}");
}

#[test]
#[ignore = "slow: by the wall clock, a quarter of a minute"]
fn four_sandboxes_one_of_them_noisy_share_a_disk_by_weight() {
    let _alone = alone();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/four-sandboxes.sh");
    let mut sh = std::process::Command::new("sh");
    let output = kit::output(sh.args([script, "6"]).env("BLKSCHED", kit::BLKSCHED)).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let had: Vec<f64> =
        text.lines().filter_map(|line| line.split_once(" had ")?.1.split(' ').next()?.parse().ok()).collect();
    println!("{text}");
    let [s1, s2, s3, s4] = had[..] else { panic!("{text}{}", String::from_utf8_lossy(&output.stderr)) };
    for (one, weight) in [(s2, 1.0), (s3, 2.0), (s4, 4.0)] {
        let ratio = one / s1 / weight;
        assert!((0.8..1.25).contains(&ratio), "{text}");
    }
}
