//! Power cuts for real: a FUSE file system (nbdfuse) over a medium that forgets what was not flushed. The server is
//! killed, the medium forgets, and what was answered as stable must be there. Needs nbdfuse and leave to mount.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command as Program, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use blksched_nbd::{Command, Errno, Export, Handshake, HandshakeStep, Limits, Parsed, Persist, RequestReader, reply};

use crate::kit::{Client, Folder, Numbers, Process, Server, status};

const SLOTS: u64 = 64;
const SLOT: u64 = 4096;

/// A medium that knows what survives a power cut and what does not.
struct Medium {
    stable: Vec<u8>,
    present: Vec<u8>,
    /// Its next flush fails, and its cache is lost.
    fails: bool,
}

impl Medium {
    fn new() -> Arc<Mutex<Medium>> {
        let empty = vec![0; (SLOTS * SLOT) as usize];
        Arc::new(Mutex::new(Medium { stable: empty.clone(), present: empty, fails: false }))
    }

    fn does(&mut self, command: Command, offset: usize, length: usize, data: &[u8]) -> Result<Vec<u8>, Errno> {
        match command {
            Command::Read => return Ok(self.present[offset..offset + length].to_vec()),
            Command::Write(_) => self.present[offset..offset + length].copy_from_slice(data),
            Command::Flush if std::mem::take(&mut self.fails) => {
                self.power_cut();
                return Err(Errno::Io);
            }
            Command::Flush => self.stable.copy_from_slice(&self.present),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn power_cut(&mut self) {
        self.present.copy_from_slice(&self.stable);
    }
}

/// Serves the medium to one client; FUA is not a promise here, as with a FUSE daemon that ignores the flag.
fn serve_medium(mut stream: UnixStream, medium: &Mutex<Medium>) -> std::io::Result<()> {
    let mut export = Export::of("", SLOTS * SLOT);
    (export.features.fua, export.features.trim, export.features.write_zeroes) = (false, false, false);
    let mut handshake = Handshake::new();
    let (mut input, mut output) = (Vec::new(), Vec::new());
    handshake.greet(&mut output);
    let session = loop {
        stream.write_all(&output)?;
        output.clear();
        let (used, step) = handshake.receive(&input, std::slice::from_ref(&export), &|_| true, &mut output);
        input.drain(..used);
        match step {
            HandshakeStep::Enter(session) => break session,
            HandshakeStep::Close | HandshakeStep::Secure => return Ok(()),
            HandshakeStep::More if used == 0 && output.is_empty() => read_more(&mut stream, &mut input)?,
            HandshakeStep::More => {}
        }
    };
    stream.write_all(&output)?;
    let reader = RequestReader::new(session.framing, Limits::of(&export, session.allocation));
    loop {
        let (used, parsed) = reader.read(&input).map_err(std::io::Error::other)?;
        let (request, payload, errno) = match parsed {
            Parsed::More => {
                read_more(&mut stream, &mut input)?;
                continue;
            }
            Parsed::Request(request, payload) => (request, payload as usize, None),
            Parsed::Refused(request, payload, errno) => (request, payload as usize, Some(errno)),
        };
        while input.len() < used + payload {
            read_more(&mut stream, &mut input)?;
        }
        let mut out = Vec::new();
        match (errno, request.command) {
            (Some(errno), _) => reply::error(session.framing, &request, errno, &mut out),
            (None, Command::Disconnect) => return Ok(()),
            (None, command) => {
                let data = &input[used..used + payload];
                let done = medium.lock().unwrap().does(command, request.offset as usize, request.length as usize, data);
                match (command, &done) {
                    (_, Err(errno)) => reply::error(session.framing, &request, *errno, &mut out),
                    (Command::Read, _) => reply::data(session.framing, &request, &mut out),
                    _ => reply::done(session.framing, &request, &mut out),
                }
                out.extend_from_slice(&done.unwrap_or_default());
            }
        }
        input.drain(..used + payload);
        stream.write_all(&out)?;
    }
}

fn read_more(stream: &mut UnixStream, input: &mut Vec<u8>) -> std::io::Result<()> {
    let mut chunk = [0; 65536];
    match stream.read(&mut chunk)? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        count => {
            input.extend_from_slice(&chunk[..count]);
            Ok(())
        }
    }
}

/// The medium as a file.
struct Mounted {
    medium: Arc<Mutex<Medium>>,
    _fuse: Process,
    folder: Folder,
}

impl Mounted {
    fn new() -> Option<Mounted> {
        let (folder, medium) = (Folder::new(), Medium::new());
        let listener = UnixListener::bind(folder.path("medium")).unwrap();
        let shared = medium.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let medium = shared.clone();
                std::thread::spawn(move || serve_medium(stream, &medium));
            }
        });
        std::fs::write(folder.path("disk"), "").unwrap();
        let uri = format!("nbd+unix:///?socket={}", folder.text("medium"));
        let mut fuse = Program::new("nbdfuse");
        fuse.arg(folder.path("disk")).arg(uri).stderr(Stdio::null());
        let Ok(fuse) = Process::started(&mut fuse) else {
            println!("skipped: there is no nbdfuse here");
            return None;
        };
        let mounted = Mounted { medium, _fuse: fuse, folder };
        for _ in 0..500 {
            if std::fs::metadata(mounted.folder.path("disk")).is_ok_and(|meta| meta.len() == SLOTS * SLOT) {
                return Some(mounted);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        println!("skipped: this machine lets nobody mount a FUSE file system");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = status(Program::new("fusermount3").args(["-u", "-z"]).arg(self.folder.path("disk")));
    }
}

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

/// Writes until the server is killed; returns how much was acknowledged.
fn write_until_killed(mut client: Client, slots: &mut [Slot], numbers: &mut Numbers) -> u32 {
    let mut in_flight: Vec<(u64, Asked)> = Vec::new();
    let mut acknowledged = 0;
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
            let Ok(cookie) = sent else { return acknowledged };
            in_flight.push((cookie, asked));
        }
        let Ok((cookie, answer)) = client.receive() else { return acknowledged };
        answer.unwrap();
        acknowledged += 1;
        let at = in_flight.iter().position(|&(own, _)| own == cookie).unwrap();
        match in_flight.swap_remove(at).1 {
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

/// Cuts the power this many times; returns how many writes were acknowledged, and how many unacknowledged ones the
/// medium had.
fn cut(mounted: &Mounted, cuts: u32) -> (u32, u32) {
    let mut numbers = Numbers(7);
    let mut slots = [Slot::default(); SLOTS as usize];
    let (mut acknowledged, mut unanswered) = (0, 0);
    let export = format!("f={}", mounted.folder.text("disk"));
    for nth in 0..cuts {
        let mut server = Server::process(&["--export", &export, "--engine", ["auto", "threads"][nth as usize % 2]]);
        let client = server.open("f");
        let (pid, after) = (server.child().id().to_string(), Duration::from_millis(20 + numbers.below(300)));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(after);
            status(Program::new("kill").args(["-9", &pid])).unwrap();
        });
        acknowledged += write_until_killed(client, &mut slots, &mut numbers);
        killer.join().unwrap();
        drop(server);
        let mut medium = mounted.medium.lock().unwrap();
        let number = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at * SLOT as usize..][..4].try_into().unwrap());
        for (at, slot) in slots.iter_mut().enumerate() {
            unanswered += u32::from(number(&medium.present, at) > slot.answered);
            let found = number(&medium.stable, at);
            assert!(found >= slot.stable, "cut {nth}, slot {at}: {} was stable, and {found} is there", slot.stable);
            // The next round begins with what was found.
            *slot = Slot { sent: slot.sent, answered: found, stable: found };
        }
        medium.power_cut();
    }
    println!("{cuts} cuts, {acknowledged} acknowledged, {unanswered} writes done and not yet answered");
    (acknowledged, unanswered)
}

#[test]
fn ten_thousand_operations_on_a_fuse_file_that_were_answered_as_stable_survive_power_cuts() {
    let Some(mounted) = Mounted::new() else { return };
    let (mut acknowledged, mut unanswered) = (0, 0);
    while acknowledged < 10_000 || unanswered == 0 {
        let (more, done) = cut(&mounted, 4);
        (acknowledged, unanswered) = (acknowledged + more, unanswered + done);
        // The next ones begin with an empty medium.
        let empty = vec![0; (SLOTS * SLOT) as usize];
        *mounted.medium.lock().unwrap() = Medium { stable: empty.clone(), present: empty, fails: false };
    }
    println!("in all {acknowledged} acknowledged, {unanswered} writes done and not yet answered");
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
