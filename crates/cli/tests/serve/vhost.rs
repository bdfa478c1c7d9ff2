//! `--vhost-user`: what a guest does is done, what it lies about is refused and reaches nobody's memory.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::guest::{
    BASE, DISCARD, EDGE, END, FLUSH, FLUSHES, Guest, INDIRECT, NAME, NEXT, READ, READ_ONLY, RingSetup, SHARED, Sent,
    WRITABLE, WRITE, ZEROES, shares, slot_at, stretch,
};
use crate::kit::{Folder, Numbers, Server, slow_disk};

const OK: u8 = 0;
const FAILED: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// A server with these arguments, and sockets for these exports' guests.
fn served(arguments: &[&str], exports: &[&str]) -> (Server, Vec<PathBuf>, Folder) {
    served_by(Server::start, arguments, exports)
}

/// The same, begun like that.
fn served_by(begin: fn(&[&str]) -> Server, arguments: &[&str], exports: &[&str]) -> (Server, Vec<PathBuf>, Folder) {
    let folder = Folder::new();
    let sockets: Vec<PathBuf> = exports.iter().map(|export| folder.path(export)).collect();
    let said: Vec<String> = exports
        .iter()
        .zip(&sockets)
        .map(|(export, path)| format!("--vhost-user={export}={}", path.display()))
        .collect();
    let arguments: Vec<&str> = arguments.iter().copied().chain(said.iter().map(String::as_str)).collect();
    (begin(&arguments), sockets, folder)
}

#[test]
fn a_guests_requests_are_done_on_every_queue_and_nbd_clients_see_them() {
    let (server, sockets, _folder) = served(&["--export", "a=mem:8M", "--export", "r=mem:1M,ro"], &["a", "r"]);
    let mut guest = Guest::connect(&sockets[0], 2);
    let space = guest.configuration();
    assert_eq!(space[..8], (8u64 << 20 >> 9).to_le_bytes(), "its capacity in sectors");
    assert_eq!(space[20..24], 512u32.to_le_bytes(), "its block");
    let mut model = vec![0u8; 8 << 20];
    let mut numbers = Numbers(7);
    for round in 0..200u64 {
        let (ring, sectors) = (numbers.below(2) as usize, 1 + numbers.below(32));
        let sector = numbers.below((8 << 11) - sectors);
        let place = (sector * 512) as usize..((sector + sectors) * 512) as usize;
        match numbers.below(8) {
            0 => {
                let said = stretch(sector, sectors as u32, (round % 2) as u32);
                assert_eq!(guest.ask(ring, ZEROES, 0, &said, 0).0, OK);
                model[place].fill(0);
            }
            1 => {
                assert_eq!(guest.ask(ring, DISCARD, 0, &stretch(sector, sectors as u32, 0), 0).0, OK);
                model[place].fill(0);
            }
            2 => assert_eq!(guest.ask(ring, FLUSH, 0, &[], 0).0, OK),
            3..6 => {
                let data: Vec<u8> = (0..sectors * 512).map(|nth| (nth as u8) ^ (round as u8)).collect();
                assert_eq!(guest.ask(ring, WRITE, sector, &data, 0).0, OK);
                model[place].copy_from_slice(&data);
            }
            _ => {
                let (status, data) = guest.ask(ring, READ, sector, &[], place.len());
                assert!(status == OK && data == model[place], "round {round}");
            }
        }
    }
    assert!(server.open("a").read(0, 8 << 20).unwrap() == model, "an NBD client sees the same");
    let name = guest.ask(0, NAME, 0, &[], 20).1;
    assert_eq!(name[..2], *b"a\0");
    assert_eq!(guest.ask(0, 99, 0, &[], 0).0, UNSUPPORTED);
    assert_eq!(guest.ask(0, READ, 8 << 11, &[], 512).0, FAILED, "behind the end");
    assert_eq!(guest.ask(0, WRITE, u64::MAX, &[1; 512], 0).0, FAILED);
    // Its monitor exits, and another one connects.
    drop(guest);
    let mut guest = Guest::connect(&sockets[0], 1);
    assert_eq!(guest.ask(0, READ, 0, &[], 4096).1, model[..4096]);
    // A read-only export reports that, and refuses writes.
    let mut reads = Guest::connect(&sockets[1], 1);
    assert!(reads.offered & READ_ONLY != 0 && guest.offered & READ_ONLY == 0 && guest.offered & FLUSHES != 0);
    assert_eq!((reads.ask(0, READ, 0, &[], 512).0, reads.ask(0, WRITE, 0, &[1; 512], 0).0), (OK, FAILED));
    // A new size is in the configuration at once, and may be used: no message of the monitor's says so.
    let said = server.ctl(&["export", "resize", "a", "9M"]).unwrap();
    assert!(said.contains("or their guest's monitor, connect again"), "{said}");
    assert_eq!(guest.configuration()[..8], (9u64 << 20 >> 9).to_le_bytes());
    assert_eq!(guest.ask(0, READ, 8 << 11, &[], 512), (OK, vec![0; 512]));
    // When an export is removed, its guest's requests fail, and the guest goes on.
    server.ctl(&["export", "remove", "a", "--hard"]).unwrap();
    assert_eq!(guest.ask(0, READ, 0, &[], 512).0, FAILED);
}

#[test]
fn a_guest_is_told_as_often_as_it_wants_and_a_ring_stops_when_all_is_answered() {
    // Each request takes 20 ms, one after the other.
    let folder = Folder::new();
    let model = slow_disk(&folder, "20ms");
    let (_server, sockets, _sockets) = served(&["--export", "a=mem:8M", "--model", &model], &["a"]);
    let mut guest = Guest::connect(&sockets[0], 1);
    assert_eq!(guest.ask(0, READ, 0, &[], 512).0, OK);
    // The answer was seen, and its notification is on its way.
    let mut comes = || {
        std::thread::sleep(std::time::Duration::from_millis(1));
        guest.heard(0) == 1
    };
    assert!((0..60_000).any(|_| comes()), "the first answer's notification");
    guest.quiet(0, 8);
    (0..8).for_each(|slot| guest.begin(0, slot, READ, u64::from(slot) * 999, &[], 512));
    let answered = || {
        std::thread::sleep(std::time::Duration::from_millis(1));
        guest.unseen(0) == 8
    };
    assert!((0..60_000).any(|_| answered()), "{} of 8 are answered", guest.unseen(0));
    // Its notification is on its way, too.
    let told = (0..60_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        Some(guest.told(0)).filter(|told| *told > 0)
    });
    assert_eq!(told, Some(1), "eight answers, and it wanted to hear of the eighth");
    (0..8).for_each(|_| assert!(guest.ended(0).is_some()));
    // Of ten more some have been taken when the monitor stops the ring: the stop is answered once those are. How many
    // the server has found by then is its process's luck.
    (0..10).for_each(|slot| guest.begin(0, slot, READ, u64::from(slot) * 999, &[], 512));
    let first = || {
        std::thread::sleep(std::time::Duration::from_millis(1));
        guest.unseen(0) > 0
    };
    assert!((0..60_000).any(|_| first()), "the first of ten is answered");
    let base = guest.stop(0);
    assert_eq!(u32::from(guest.unseen(0)), base - 9, "what was taken is answered");
    assert!((10..=19).contains(&base), "{base}");
}

/// No place for a status, a head that is elsewhere or too short, a readable part after a writable one.
fn chains_that_lie(guest: &mut Guest) {
    let (at, end) = (slot_at(0, 1), BASE + SHARED);
    let (head, status) = ((BASE + at, 16, 0), (BASE + at + 0x20, 1, WRITABLE));
    let data = (BASE + at + 0x1000, 512, WRITABLE);
    let chains: [&[(u64, u32, u16)]; 8] = [
        &[head, (end, 1, WRITABLE)],
        &[head, data, (u64::MAX, 1, WRITABLE)],
        &[head],
        &[status],
        &[(end - 8, 16, 0), data, status],
        &[(BASE + at, 15, 0), data, status],
        &[data, head, status],
        &[head, (BASE + at + 0x1000, 0, WRITABLE)],
    ];
    for chain in chains {
        guest.chain(0, 3, chain);
        assert_eq!(guest.ended(0).map(|(head, _)| head), Some(3), "{chain:?}");
    }
}

/// A chain that loops, one that leads out of the table, tables that are elsewhere or inside themselves.
fn tables_that_lie(guest: &mut Guest) {
    let (at, end) = (slot_at(0, 1), BASE + SHARED);
    let table = BASE + 0x3000;
    let bad: [(u64, u32, u16, u16); 6] = [
        (BASE + at, 16, NEXT, 3),
        (BASE + at, 16, NEXT, 60_000),
        (end - 16, 32, INDIRECT, 0),
        (table, 17, INDIRECT, 0),
        (table, 16 * 60_000, INDIRECT, 0),
        (table, u32::MAX - 15, INDIRECT, 0),
    ];
    guest.describe(0x3000, 0, (table, 16, INDIRECT, 0));
    for descriptor in bad {
        guest.describe(0, 3, descriptor);
        guest.offer(0, 3);
        assert_eq!(guest.ended(0).map(|(head, _)| head), Some(3), "{descriptor:?}");
    }
}

#[test]
fn what_a_guest_lies_about_is_refused_and_nobodys_memory_is_touched() {
    let (server, sockets, _folder) = served(&["--export", "a=mem:1M", "--export", "b=mem:1M"], &["a", "b"]);
    let mut neighbour = Guest::connect(&sockets[1], 1);
    assert_eq!(neighbour.ask(0, WRITE, 0, &[7; 4096], 0).0, OK);
    let mut guest = Guest::connect(&sockets[0], 2);
    // The memory before and after its own in the same file is not the guest's to give.
    guest.memory.write_all_at(&vec![0x5a; EDGE as usize], 0).unwrap();
    guest.memory.write_all_at(&vec![0x5a; EDGE as usize], EDGE + SHARED).unwrap();
    assert_eq!(guest.ask(0, WRITE, 0, &[3; 4096], 0).0, OK);
    let (at, end) = (slot_at(0, 1), BASE + SHARED);
    let (head, status) = ((BASE + at, 16, 0), (BASE + at + 0x20, 1, WRITABLE));
    let asks = |guest: &Guest, kind: u32| guest.put(at, &[&kind.to_le_bytes()[..], &[0; 12]].concat());
    let places = [(end - 256, 512), (end, 512), (BASE - 512, 512), (BASE - 256, 512), (0, 512), (u64::MAX - 100, 512)];
    let long = [(BASE, u32::MAX), (BASE, SHARED as u32 + 1), (u64::MAX, u32::MAX)];
    for &(address, length) in places.iter().chain(&long) {
        for (kind, flags) in [(READ, WRITABLE), (WRITE, 0)] {
            asks(&guest, kind);
            guest.put(at + 0x20, &[0xff]);
            guest.chain(0, 3, &[head, (address, length, flags), status]);
            assert_eq!(guest.ended(0).map(|(head, _)| head), Some(3), "{address:#x}, {length}");
            // A chain of more than 4 GiB ends before the place of its status.
            let status = if length == u32::MAX { 0xff } else { FAILED };
            assert_eq!(guest.get(at + 0x20, 1), [status], "{address:#x}, {length}");
        }
    }
    asks(&guest, READ);
    chains_that_lie(&mut guest);
    tables_that_lie(&mut guest);
    // A head that is not a descriptor is dropped, or returned as it was.
    guest.offer(0, 40_000);
    // More than there can be.
    guest.put(0x4000 + 0x1000 + 2, &30_000u16.to_le_bytes());
    guest.offer(1, 0);
    // Afterwards the guest's valid requests are done, and nothing else was changed anywhere.
    let edges = |guest: &Guest| {
        let mut bytes = vec![0; EDGE as usize];
        guest.memory.read_exact_at(&mut bytes, 0).unwrap();
        let before = bytes.iter().all(|&byte| byte == 0x5a);
        guest.memory.read_exact_at(&mut bytes, EDGE + SHARED).unwrap();
        before && bytes.iter().all(|&byte| byte == 0x5a)
    };
    assert!(edges(&guest), "what lies beside the guest's memory is as it was");
    drop(guest);
    let mut guest = Guest::connect(&sockets[0], 1);
    let (status, read) = guest.ask(0, READ, 0, &[], 8192);
    assert!(status == OK && read[..4096] == [3; 4096] && read[4096..] == [0; 4096]);
    assert!(server.open("a").read(0, 1 << 20).unwrap()[4096..].iter().all(|&byte| byte == 0));
    assert_eq!(neighbour.ask(0, READ, 0, &[], 4096), (OK, vec![7; 4096]));
}

#[test]
fn memory_beyond_its_file_or_taken_back_ends_its_guest_and_no_other() {
    let (server, sockets, _folder) = served(&["--export", "a=mem:1M", "--export", "b=mem:1M"], &["a", "b"]);
    let mut neighbour = Guest::connect(&sockets[1], 1);
    for (length, offset, size, good) in [
        (EDGE, 0, EDGE, true),
        (EDGE - 1, 0, EDGE, false),
        (EDGE, 0, 16 * EDGE, false),
        (EDGE, 64 * EDGE, EDGE, false),
        (EDGE, u64::MAX - EDGE + 1, EDGE, false),
        (0, 0, EDGE, false),
    ] {
        assert_eq!(shares(&sockets[0], length, offset, size), good, "{size} bytes from {offset} on of {length}");
        assert_eq!(neighbour.ask(0, READ, 0, &[], 512).0, OK);
    }
    let mut guest = Guest::connect(&sockets[0], 1);
    assert_eq!(guest.ask(0, WRITE, 0, &[3; 4096], 0).0, OK);
    guest.memory.set_len(EDGE).unwrap();
    guest.kick(0);
    let is_cut_off = |guest: &mut Guest| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !guest.is_served()
    };
    assert!((0..6000).any(|_| is_cut_off(&mut guest)));
    assert_eq!(neighbour.ask(0, READ, 0, &[], 512).0, OK);
    // The next monitor is served, and finds what was written.
    let mut guest = Guest::connect(&sockets[0], 1);
    assert_eq!(guest.ask(0, READ, 0, &[], 4096), (OK, vec![3; 4096]));
    assert_eq!(server.open("b").read(0, 512), Ok(vec![0; 512]));
}

#[test]
fn monitors_that_come_and_go_or_talk_nonsense_leave_nothing_behind() {
    let exports = ["--export", "a=mem:1M", "--export", "b=mem:1M"];
    // Only its own files are counted.
    let (mut server, sockets, _folder) = served_by(Server::process, &exports, &["a", "b"]);
    let mut neighbour = Guest::connect(&sockets[1], 1);
    drop(Guest::connect(&sockets[0], 8));
    let number = server.child().id();
    let files = || std::fs::read_dir(format!("/proc/{number}/fd")).unwrap().count();
    let at_rest = |most: usize| {
        (0..3000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            files() <= most
        })
    };
    // The listener and its thread, and what the neighbour has.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let before = files();
    for _ in 0..20 {
        drop(Guest::connect(&sockets[0], 8));
        drop(std::os::unix::net::UnixStream::connect(&sockets[0]).unwrap());
    }
    assert!(at_rest(before), "{} files, and {before} before", files());
    // Any message of the protocol, with any content and no files.
    let mut numbers = Numbers(11);
    for _ in 0..20 {
        let mut stream = std::os::unix::net::UnixStream::connect(&sockets[0]).unwrap();
        for _ in 0..10 {
            let (request, length) = (1 + numbers.below(45) as u32, numbers.below(300) as u32);
            let said = if numbers.below(4) == 0 { numbers.below(5000) as u32 } else { length };
            let mut message = [request, 1 | (numbers.below(2) as u32) << 3, said].map(u32::to_le_bytes).concat();
            message.extend((0..length).map(|_| numbers.below(256) as u8));
            if stream.write_all(&message).is_err() {
                break;
            }
        }
    }
    assert!(at_rest(before), "{} files, and {before} before", files());
    assert_eq!(neighbour.ask(0, READ, 0, &[], 512).0, OK);
    let mut guest = Guest::connect(&sockets[0], 2);
    assert_eq!(guest.ask(1, READ, 0, &[], 512).0, OK);
}

/// Setups of a ring that make no sense: its size and start, its places in memory, the memory itself, the files.
fn impossible_setups() -> Vec<RingSetup> {
    let good = RingSetup::default;
    let [table, used, ready] = good().at;
    let mut all: Vec<RingSetup> = [0, 3, 2048, 65_535, 65_536 + 64].map(|places| RingSetup { places, ..good() }).into();
    all.extend([1, 65_535, 65_536].map(|base| RingSetup { base, ..good() }));
    all.extend([8, 255, u32::MAX].map(|ring| RingSetup { ring, ..good() }));
    all.extend([0, 2, 65, 30_000, 65_535].map(|ready| RingSetup { ready, ..good() }));
    // Not aligned; partly or wholly elsewhere; at the end of all addresses; over each other.
    all.extend(
        [
            [table + 1, used, ready],
            [table, used + 2, ready],
            [table, used, ready + 1],
            [END - 16, used, ready],
            [table, END - 4, ready],
            [table, used, END - 2],
            [END, used, ready],
            [0, 0, 0],
            [u64::MAX - 15, u64::MAX - 3, u64::MAX - 1],
            [table, table, ready],
            [table, ready, ready],
            [table, used, used],
        ]
        .map(|at| RingSetup { at, ..good() }),
    );
    let [region] = good().regions[..] else { unreachable!() };
    let [_, length, monitors, from] = region;
    let behind = [BASE + length, length, monitors + length, from];
    all.extend(
        [
            vec![],
            vec![region, region],
            vec![region, [BASE + length / 2, length, monitors + length, from]],
            vec![region, [BASE + length, length, monitors + length / 2, from]],
            vec![behind],
            vec![[u64::MAX - 4095, length, monitors, from]],
            vec![[BASE, length, u64::MAX - 4095, from]],
            vec![[BASE, 4097, monitors, from + 1]],
            (0..9).map(|nth| [BASE + nth * length, length, monitors + nth * length, from]).collect(),
        ]
        .map(|regions| RingSetup { regions, ..good() }),
    );
    let files = [Sent::Memory, Sent::Empty, Sent::Folder, Sent::Null, Sent::Pipe, Sent::Nothing];
    all.extend(files.map(|kick| RingSetup { kick, ..good() }));
    all.extend(files.map(|call| RingSetup { call, ..good() }));
    let memories = [Sent::Event, Sent::Empty, Sent::Folder, Sent::Null, Sent::Pipe, Sent::Nothing];
    all.extend(memories.map(|shared| RingSetup { shared, ..good() }));
    all
}

#[test]
fn a_ring_whose_setup_makes_no_sense_harms_nobody_and_leaves_nothing() {
    let exports = ["--export", "a=mem:1M", "--export", "b=mem:1M"];
    let (mut server, sockets, _folder) = served_by(Server::process, &exports, &["a", "b"]);
    let mut neighbour = Guest::connect(&sockets[1], 1);
    assert_eq!(neighbour.ask(0, WRITE, 0, &[7; 512], 0).0, OK);
    drop(Guest::connect(&sockets[0], 1));
    let number = server.child().id();
    let files = || std::fs::read_dir(format!("/proc/{number}/fd")).unwrap().count();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let before = files();
    let setups = impossible_setups();
    assert!(setups.len() >= 39);
    for setup in setups {
        setup.say(&sockets[0]);
        assert_eq!(neighbour.ask(0, READ, 0, &[], 512), (OK, vec![7; 512]), "after {setup:?}");
    }
    let at_rest = || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        files() <= before
    };
    assert!((0..3000).any(|_| at_rest()), "{} files, and {before} before", files());
    let mut guest = Guest::connect(&sockets[0], 2);
    assert_eq!(guest.ask(1, READ, 0, &[], 512), (OK, vec![0; 512]));
}

#[test]
fn a_socket_of_no_export_is_refused_with_the_nearest() {
    let (good, text) =
        crate::kit::tried(&["--export", "data=mem:1M", "--export", "b=mem:1M", "--vhost-user", "dat=/tmp/x"]);
    assert!(!good && text.contains("expected EXPORT=PATH") && text.contains("did you mean `data`?"), "{text}");
}
