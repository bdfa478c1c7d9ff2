//! Power cuts for real: a FUSE file system (nbdfuse) over a medium that forgets what was not flushed. The server is
//! killed, the medium forgets, and what was answered as stable must be there.

use std::process::Command as Program;
use std::time::Duration;

use blksched_nbd::{Command, Persist};

use crate::kit::{Client, Numbers, Server, status};
use crate::medium::{Medium, Mounted, SLOT, SLOTS};
use crate::stable::Loop;

/// What the client knows of each slot: the last number sent, the last answered, the last answered as stable.
#[derive(Clone, Copy, Default)]
struct Slot {
    sent: u32,
    answered: u32,
    stable: u32,
}

enum Asked {
    Write(usize, u32, Persist),
    Flush(Vec<u32>),
}

/// Writes until the server is killed, and counts what was acknowledged.
fn write_until_killed(mut client: Client, slots: &mut [Slot], numbers: &mut Numbers, found: &mut Found) {
    let mut in_flight: Vec<(u64, Asked)> = Vec::new();
    loop {
        while in_flight.len() < 8 {
            let at = numbers.below(SLOTS) as usize;
            let (command, asked) = match numbers.below(6) {
                0 => (Command::Flush, Asked::Flush(slots.iter().map(|slot| slot.answered).collect())),
                _ if in_flight.iter().any(|(_, asked)| matches!(asked, Asked::Write(own, ..) if *own == at)) => {
                    continue;
                }
                kind => {
                    let persist = if kind < 3 { Persist::First } else { Persist::Lazily };
                    slots[at].sent += 1;
                    (Command::Write(persist), Asked::Write(at, slots[at].sent, persist))
                }
            };
            let sent = match &asked {
                Asked::Flush(_) => client.send(command, 0, 0, &[]),
                Asked::Write(at, number, _) => {
                    let data = number.to_le_bytes().repeat(SLOT as usize / 4);
                    client.send(command, *at as u64 * SLOT, SLOT, &data)
                }
            };
            let Ok(cookie) = sent else { return };
            in_flight.push((cookie, asked));
        }
        let Ok((cookie, answer)) = client.receive() else { return };
        answer.unwrap();
        let at = in_flight.iter().position(|&(own, _)| own == cookie).unwrap();
        let (_, asked) = in_flight.swap_remove(at);
        found.acknowledged += 1;
        found.promises += u32::from(!matches!(asked, Asked::Write(.., Persist::Lazily)));
        match asked {
            Asked::Write(at, number, persist) => {
                slots[at].answered = number;
                if persist == Persist::First {
                    slots[at].stable = number;
                }
            }
            Asked::Flush(covered) => {
                slots.iter_mut().zip(covered).for_each(|(slot, number)| slot.stable = slot.stable.max(number));
            }
        }
    }
}

/// A server of this file or device until it is killed.
fn life(path: &str, nth: u32, slots: &mut [Slot], numbers: &mut Numbers, found: &mut Found) {
    let engine = ["auto", "threads"][nth as usize % 2];
    let mut server = Server::process(&["--export", &format!("f={path}"), "--engine", engine]);
    let client = server.open("f");
    let (pid, after) = (server.child().id().to_string(), Duration::from_millis(20 + numbers.below(300)));
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        status(Program::new("kill").args(["-9", &pid])).unwrap();
    });
    write_until_killed(client, slots, numbers, found);
    killer.join().unwrap();
}

/// What power cuts left.
#[derive(Debug, Default)]
struct Found {
    acknowledged: u32,
    /// How many of them were flushes or writes through.
    promises: u32,
    /// Writes that the medium had, and that were not answered.
    unanswered: u32,
    /// Slots of which the medium lost a write, since nothing had made it stable.
    lost: u32,
}

impl Found {
    /// Compares what survives of a medium with what the client was told.
    fn compare(&mut self, medium: &Medium, slots: &mut [Slot], cut: u32) {
        let number = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at * SLOT as usize..][..4].try_into().unwrap());
        for (at, slot) in slots.iter_mut().enumerate() {
            self.unanswered += u32::from(number(&medium.present, at) > slot.answered);
            let found = number(&medium.stable, at);
            assert!(found >= slot.stable, "cut {cut}, slot {at}: {} was stable, and {found} is there", slot.stable);
            self.lost += u32::from(found < number(&medium.present, at));
            // The next round begins with what was found.
            *slot = Slot { sent: slot.sent, answered: found, stable: found };
        }
    }
}

/// Cuts the power this many times.
fn cut(mounted: &Mounted, cuts: u32) -> Found {
    let mut numbers = Numbers(7);
    let mut slots = [Slot::default(); SLOTS as usize];
    let mut found = Found::default();
    for nth in 0..cuts {
        life(&mounted.folder.text("disk"), nth, &mut slots, &mut numbers, &mut found);
        let mut medium = mounted.medium.lock().unwrap();
        found.compare(&medium, &mut slots, nth);
        medium.power_cut();
    }
    println!("{cuts} cuts: {found:?}");
    found
}

#[test]
fn ten_thousand_operations_on_a_fuse_file_that_were_answered_as_stable_survive_power_cuts() {
    let Some(mounted) = Mounted::new() else { return };
    let (mut acknowledged, mut unanswered) = (0, 0);
    while acknowledged < 10_000 || unanswered == 0 {
        let found = cut(&mounted, 4);
        (acknowledged, unanswered) = (acknowledged + found.acknowledged, unanswered + found.unanswered);
        // The next ones begin with an empty medium.
        *mounted.medium.lock().unwrap() = Medium::empty();
    }
    println!("in all {acknowledged} acknowledged, {unanswered} writes done and not yet answered");
}

#[test]
#[ignore = "root: thirty power cuts of a loop device over a FUSE file, half a minute"]
fn what_was_answered_as_stable_on_a_loop_device_survives_power_cuts() {
    const CUTS: u32 = 30;
    let mut numbers = Numbers(41);
    let mut slots = [Slot::default(); SLOTS as usize];
    let (mut found, mut left) = (Found::default(), Medium::empty());
    let mut nth = 0;
    // A cut that loses nothing proves nothing.
    while nth < CUTS || (found.lost == 0 && nth < 10 * CUTS) {
        let Some(mounted) = Mounted::of(left) else { return };
        let Some(device) = Loop::over(&mounted.folder.text("disk"), &[]) else { return };
        life(&device.device, nth, &mut slots, &mut numbers, &mut found);
        let survives = {
            // Before the device is taken away, which would flush it.
            let mut medium = mounted.medium.lock().unwrap();
            medium.off = true;
            found.compare(&medium, &mut slots, nth);
            medium.stable.clone()
        };
        left = Medium { stable: survives.clone(), present: survives, ..Medium::empty() };
        nth += 1;
    }
    println!("{nth} cuts: {found:?}");
    assert!(found.lost > 0, "{found:?}");
}

#[test]
fn what_a_failed_flush_of_one_export_has_lost_is_told_to_the_others_of_its_file() {
    let Some(mounted) = Mounted::new() else { return };
    let disk = mounted.folder.text("disk");
    let half = SLOTS * SLOT / 2;
    let exports = [format!("a={disk},size={half}"), format!("b={disk},offset={half}")];
    let log = std::fs::File::create(mounted.folder.path("log")).unwrap();
    let server = Server::logged(&["--export", &exports[0], "--export", &exports[1]], log.into());
    let (mut a, mut b) = (server.open("a"), server.open("b"));
    for client in [&mut a, &mut b] {
        client.write(0, &[7; 4096]).unwrap();
    }
    mounted.medium.lock().unwrap().fails = true;
    assert!(a.flush().is_err());
    // The medium works again, but b's block is gone.
    assert_eq!(mounted.medium.lock().unwrap().present[half as usize..][..4], [0; 4]);
    let told = [b.flush().is_err(), b.command(Command::Trim(Persist::First), 0, 4096).is_err(), a.flush().is_err()];
    assert_eq!(told, [true; 3]);
    assert!(server.open("b").flush().is_err(), "a new client");
    for export in ["a", "b"] {
        let health = server.ctl(&["get", &format!("tenants/{export}/health")]).unwrap();
        assert!(health.starts_with("state=broken ") && health.contains("last_error=sync:5"), "{export}: {health}");
    }
    let log = std::fs::read_to_string(mounted.folder.path("log")).unwrap();
    assert!(log.contains("ERROR") && log.contains("a sync failed") && log.contains("b"), "{log}");
}
