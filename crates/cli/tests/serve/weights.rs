//! One disk, three kinds of clients: an NBD client, a file of `blksched mount`, a guest by vhost-user. They get the
//! disk's time by weight, 1:2:4 and the other way round.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blksched_nbd::Command as Asked;

use crate::guest::{Guest, READ, SLOTS};
use crate::kit::{Folder, Numbers, Server, SetWhenDropped, slow_disk};
use crate::mount::Mounted;

/// The disk time that each got, in seconds.
fn got(server: &Server) -> Vec<f64> {
    let of = |export: &str| {
        let stat = server.ctl(&["get", &format!("tenants/{export}/stat")]).unwrap();
        let word = stat.split_whitespace().find_map(|word| word.strip_prefix("device_us=")).unwrap();
        word.parse::<f64>().unwrap() / 1e6
    };
    ["n", "f", "v"].map(of).to_vec()
}

#[test]
fn an_nbd_client_a_file_and_a_guest_share_a_disk_by_weight() {
    const SIZE: u64 = 64 << 20;
    let folder = Folder::new();
    let model = slow_disk(&folder, "10ms");
    for weights in [[100, 200, 400], [400, 200, 100]] {
        let exports = ["n", "f", "v"].iter().zip(weights);
        let mut arguments: Vec<String> = exports
            .flat_map(|(name, weight)| ["--export".to_owned(), format!("{name}=mem:64M,weight={weight}")])
            .collect();
        let socket = folder.path("v.sock");
        arguments.extend([
            "--model".to_owned(),
            model.clone(),
            "--depth=1".to_owned(),
            format!("--vhost-user=v={}", socket.display()),
        ]);
        let server = Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(mounted) = Mounted::new(&server, &["f"]) else { return };
        let stop = AtomicBool::new(false);
        let goes_on = || !stop.load(Ordering::Relaxed);
        let spent = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut client, mut numbers) = (server.open("n"), Numbers(1));
                let mut offset = || numbers.below(SIZE / 4096) * 4096;
                for _ in 0..16 {
                    client.send(Asked::Read, offset(), 4096, &[]).unwrap();
                }
                while goes_on() {
                    client.receive().unwrap().1.unwrap();
                    client.send(Asked::Read, offset(), 4096, &[]).unwrap();
                }
            });
            for seed in 0..8 {
                let file = mounted.file("f").unwrap();
                scope.spawn(move || {
                    let mut numbers = Numbers(11 + seed);
                    while goes_on() {
                        file.read_exact_at(&mut [0; 4096], numbers.below(SIZE / 4096) * 4096).unwrap();
                    }
                });
            }
            scope.spawn(|| {
                let (mut guest, mut numbers) = (Guest::connect(&socket, 1), Numbers(2));
                let mut sector = || numbers.below(SIZE / 4096) * 8;
                (0..SLOTS).for_each(|slot| guest.begin(0, slot, READ, sector(), &[], 4096));
                while goes_on() {
                    let (head, _) = guest.ended(0).unwrap();
                    guest.begin(0, head / 3, READ, sector(), &[], 4096);
                }
            });
            let _at_the_latest = SetWhenDropped(&stop);
            // All are in flight.
            std::thread::sleep(Duration::from_secs(2));
            let before = got(&server);
            std::thread::sleep(Duration::from_secs(20));
            let after = got(&server);
            stop.store(true, Ordering::Relaxed);
            before.iter().zip(&after).map(|(before, after)| after - before).collect::<Vec<f64>>()
        });
        let (all, claims) = (spent.iter().sum::<f64>(), weights.iter().sum::<i32>());
        println!("weights {weights:?}: {spent:.2?} s of the disk's time");
        assert!(all > 10.0, "the disk was busy: {spent:?}");
        for (own, weight) in spent.iter().zip(weights) {
            let due = all * f64::from(weight) / f64::from(claims);
            assert!((own / due - 1.0).abs() < 0.05, "weights {weights:?}: {spent:?}, due {due}");
        }
    }
}

/// Tenants with eight reads in flight each, on a disk of this service time for real: all are served, again and again.
fn many_tenants(tenants: usize, service: &str, rounds: u64) {
    let folder = Folder::new();
    let model = slow_disk(&folder, service);
    let exports: Vec<String> = (0..tenants).map(|nth| format!("--export=e{nth}=mem:1M")).collect();
    let arguments: Vec<&str> = exports.iter().map(String::as_str).chain(["--model", &model]).collect();
    let server = Server::start(&arguments);
    let mut clients: Vec<_> = (0..tenants).map(|nth| server.open(&format!("e{nth}"))).collect();
    let mut numbers = Numbers(5);
    let mut ask = |client: &mut crate::kit::Client| {
        client.send(Asked::Read, numbers.below(256) * 4096, 4096, &[]).unwrap();
    };
    clients.iter_mut().for_each(|client| (0..8).for_each(|_| ask(client)));
    for _ in 0..rounds {
        for client in &mut clients {
            assert_eq!(client.receive().unwrap().1.unwrap(), [0; 4096]);
            ask(client);
        }
    }
    // Each has asked for as much, and nobody can be further than what it had in flight.
    let reads = |nth: usize| {
        let stat = server.ctl(&["get", &format!("tenants/e{nth}/stat")]).unwrap();
        let word = stat.split_whitespace().find_map(|word| word.strip_prefix("rios=")).unwrap();
        word.parse::<u64>().unwrap()
    };
    for nth in (0..tenants).step_by((tenants / 16).max(1)) {
        assert!((rounds..=rounds + 8).contains(&reads(nth)), "{nth} has had {}", reads(nth));
    }
    assert!(clients.into_iter().all(|mut client| client.receive().is_ok()));
}

#[test]
fn sixty_four_tenants_are_served_for_real() {
    many_tenants(64, "200us", 4);
}

#[test]
#[ignore = "slow: 500 tenants on a disk of half a millisecond take some seconds for each round"]
fn five_hundred_tenants_are_served_for_real() {
    many_tenants(500, "500us", 20);
}
