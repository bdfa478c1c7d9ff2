//! A file that hangs does not keep the server: a FUSE daemon that was stopped, and one whose medium answers no more.

use std::io::Read;
use std::process::Command as Program;
use std::time::{Duration, Instant};

use blksched_nbd::{Command, Persist};

use crate::kit::{ENGINES, Server, status, tried, works};
use crate::medium::{Mounted, SLOT};

/// What hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hangs {
    /// The daemon: whatever is asked of the file system, in the disk's own thread too.
    Daemon,
    /// What it asks: data, but not the file's size.
    Medium,
}

/// The limit is a second (its rule is tested with told time); this is for a machine that is busy.
const SOON: Duration = Duration::from_secs(40);

#[test]
fn the_end_waits_for_no_file_that_hangs_and_what_was_flushed_is_there() {
    for engine in ENGINES {
        for hangs in [Hangs::Daemon, Hangs::Medium] {
            let Some(mounted) = Mounted::new() else { return };
            if !works(engine) {
                continue;
            }
            // On a busy machine the server may be told to end before it has the request, and then nothing is undone.
            let waits = [200, 1000, 5000, 30_000].map(Duration::from_millis);
            assert!(waits.into_iter().any(|wait| ends_beside(&mounted, engine, hangs, wait)), "{engine}, {hangs:?}");
        }
    }
}

/// Whether a server that was told to end so long after a request to what hangs had something undone; if so, checks what
/// is promised then.
fn ends_beside(mounted: &Mounted, engine: &str, hangs: Hangs, wait: Duration) -> bool {
    let case = format!("{engine}, {hangs:?}");
    let log = std::fs::File::create(mounted.folder.path("log")).unwrap();
    let exports =
        [format!("f={}", mounted.folder.text("disk")), format!("m={}", mounted.folder.file("m.img", 1 << 20))];
    let arguments = ["--export", &exports[0], "--export", &exports[1], "--engine", engine];
    let mut server = Server::logged(&arguments, log.into());
    let (mut client, mut other, mut idle) = (server.open("f"), server.open("m"), server.open("f"));
    client.write(0, &[7; SLOT as usize]).unwrap();
    client.flush().unwrap();
    let daemon = |signal: &str| {
        let pid = mounted.fuse.id().to_string();
        assert!(status(Program::new("kill").args([signal, &pid])).unwrap().success());
    };
    let held = match hangs {
        Hangs::Daemon => {
            daemon("-STOP");
            None
        }
        Hangs::Medium => Some(mounted.medium.lock().unwrap()),
    };
    client.send(Command::Write(Persist::Lazily), SLOT, SLOT, &[8; SLOT as usize]).unwrap();
    std::thread::sleep(wait);
    let told = Instant::now();
    server.signal("TERM");
    for (who, client) in [("the writer", &mut client), ("an idle one", &mut idle), ("another disk's", &mut other)] {
        let left = client.stream.read(&mut [0; 64]);
        assert!(
            left.as_ref().map_or_else(|why| why.kind() == std::io::ErrorKind::ConnectionReset, |&count| count == 0),
            "{case}: {who}: {left:?}"
        );
        println!("{case}: {who} was let go after {} ms", told.elapsed().as_millis());
    }
    assert!(told.elapsed() < SOON, "{case}");
    assert!(std::os::unix::net::UnixStream::connect(&server.control).is_err(), "{case}: its sockets are gone");
    // The process may be there for as long as the file hangs.
    // Its main thread, which lets go of them, may not have had the processor since it cut off the clients.
    let until = Instant::now() + SOON;
    loop {
        let (free, why) = tried(&["--export", &exports[1]]);
        if free {
            break;
        }
        assert!(Instant::now() < until, "{case}: the files of other disks are free: {why}");
        std::thread::sleep(Duration::from_millis(100));
    }
    // The kernel keeps the process as long as the daemon has its request.
    drop(held);
    daemon("-CONT");
    let code = server.child().end().code();
    let log = std::fs::read_to_string(mounted.folder.path("log")).unwrap();
    let undone = log.contains("ends with something undone") && log.contains("does not come back");
    assert_eq!(code, Some(if undone { 2 } else { 0 }), "{case}: {log}");
    assert_eq!(mounted.medium.lock().unwrap().stable[..SLOT as usize], [7; SLOT as usize], "{case}");
    undone
}
