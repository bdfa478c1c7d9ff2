//! kill -9 at random moments under load: no acknowledged write is lost.

use std::time::Duration;

use blksched_nbd::{Command, Persist};

use crate::kit::{Folder, Numbers, Server};
use crate::stable::Loop;

/// Each slot is written repeatedly, each time with the next number in every sector.
const SLOTS: u64 = 64;
const SLOT: usize = 8192;

/// Unacknowledged writes, by slot: their data may be on the disk or not.
struct Load {
    acknowledged: Vec<u64>,
    attempted: Vec<u64>,
    /// How many were acknowledged.
    answers: u64,
}

fn data(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(SLOT / 8)
}

/// Writes until the server is killed.
fn write_until_killed(mut server: Server, load: &mut Load, numbers: &mut Numbers) {
    let mut client = server.open("f");
    let after = Duration::from_micros(500 + numbers.below(30_000));
    let pid = server.child().id();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        blksched_testkit::status(std::process::Command::new("kill").args(["-9", &pid.to_string()])).unwrap();
    });
    let mut in_flight: Vec<(u64, usize)> = Vec::new();
    loop {
        while in_flight.len() < 16 {
            let slot = numbers.below(SLOTS) as usize;
            // Concurrent writes to one place have no order.
            if in_flight.iter().any(|&(_, other)| other == slot) {
                continue;
            }
            load.attempted[slot] += 1;
            let data = data(load.attempted[slot]);
            match client.send(Command::Write(Persist::Lazily), (slot * SLOT) as u64, SLOT as u64, &data) {
                Ok(cookie) => in_flight.push((cookie, slot)),
                Err(_) => break,
            }
        }
        let Ok((cookie, answer)) = client.receive() else { break };
        answer.unwrap();
        load.answers += 1;
        let at = in_flight.iter().position(|&(own, _)| own == cookie).unwrap();
        let (_, slot) = in_flight.swap_remove(at);
        load.acknowledged[slot] = load.attempted[slot];
    }
    killer.join().unwrap();
    server.child().end();
}

#[test]
fn no_acknowledged_write_is_lost_when_the_server_is_killed() {
    let folder = Folder::new();
    kill(&folder.file("f.img", SLOTS * SLOT as u64), 15);
}

#[test]
#[ignore = "root: sixty kills beside a loop device"]
fn no_acknowledged_write_to_a_loop_device_is_lost_when_the_server_is_killed() {
    let folder = Folder::new();
    let Some(device) = Loop::over(&folder.file("f.img", SLOTS * SLOT as u64), &[]) else { return };
    kill(&device.device, 60);
}

/// Kills servers of this file or device, so many at least.
fn kill(file: &str, least: usize) {
    let export = format!("f={file}");
    let mut numbers = Numbers(2026);
    let mut load = Load { acknowledged: vec![0; SLOTS as usize], attempted: vec![0; SLOTS as usize], answers: 0 };
    let (mut between, mut kills) = (0, 0);
    // A disk model completes later than the file does, so that kills between the two are certain.
    while kills < least || (between == 0 && kills < least + 200) {
        let engine = ["io_uring", "threads"][kills % 2];
        let engine = if crate::kit::works(engine) { engine } else { "auto" };
        let server = Server::process(&["--export", &export, "--model", "nvme-ssd", "--engine", engine]);
        write_until_killed(server, &mut load, &mut numbers);
        kills += 1;
        between += u32::from(verify(file, &mut load));
    }
    let Load { answers, .. } = load;
    println!(
        "{kills} kills, {answers} acknowledged writes, {between} of them between a write's completion and its reply"
    );
    assert!(between > 0);
}

/// Checks that every acknowledged write is on the disk. True if an unacknowledged one is, too.
fn verify(file: &str, load: &mut Load) -> bool {
    let bytes = std::fs::read(file).unwrap();
    let mut unacknowledged = false;
    for slot in 0..SLOTS as usize {
        let here = &bytes[slot * SLOT..(slot + 1) * SLOT];
        for sector in here.chunks(512) {
            let number = u64::from_le_bytes(sector[..8].try_into().unwrap());
            assert_eq!(sector, &data(number)[..512], "slot {slot}: a torn sector");
            let (least, most) = (load.acknowledged[slot], load.attempted[slot]);
            assert!((least..=most).contains(&number), "slot {slot}: {number} is not within {least}..={most}");
        }
        let number = u64::from_le_bytes(here[..8].try_into().unwrap());
        unacknowledged |= number > load.acknowledged[slot];
        // The next round starts from the data on the disk.
        load.acknowledged[slot] = u64::from_le_bytes(here[SLOT - 512..SLOT - 504].try_into().unwrap()).min(number);
    }
    unacknowledged
}
