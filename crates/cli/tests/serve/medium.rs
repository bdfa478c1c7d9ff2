//! A medium that forgets what was not flushed, as a file: an NBD server in this process behind nbdfuse. Needs nbdfuse
//! and leave to mount.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command as Program, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use blksched_nbd::{Command, Errno, Export, Handshake, HandshakeStep, Limits, Parsed, RequestReader, reply};

use crate::kit::{Folder, Process, status};

pub const SLOTS: u64 = 64;
pub const SLOT: u64 = 4096;

/// A medium that knows what survives a power cut and what does not.
pub struct Medium {
    pub stable: Vec<u8>,
    pub present: Vec<u8>,
    /// Its next flush fails, and its cache is lost.
    pub fails: bool,
    /// There is no power: whatever is asked fails.
    pub off: bool,
}

impl Medium {
    pub fn empty() -> Medium {
        let empty = vec![0; (SLOTS * SLOT) as usize];
        Medium { stable: empty.clone(), present: empty, fails: false, off: false }
    }

    fn does(&mut self, command: Command, offset: usize, length: usize, data: &[u8]) -> Result<Vec<u8>, Errno> {
        match command {
            _ if self.off => return Err(Errno::Io),
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

    pub fn power_cut(&mut self) {
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
pub struct Mounted {
    /// While a test holds this lock, nothing that is asked of the medium comes back.
    pub medium: Arc<Mutex<Medium>>,
    pub fuse: Process,
    pub folder: Folder,
}

impl Mounted {
    /// An empty one.
    pub fn new() -> Option<Mounted> {
        Mounted::of(Medium::empty())
    }

    /// This one.
    pub fn of(medium: Medium) -> Option<Mounted> {
        let (folder, medium) = (Folder::new(), Arc::new(Mutex::new(medium)));
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
        let mounted = Mounted { medium, fuse, folder };
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
        let disk = self.folder.path("disk");
        let unmounted = status(Program::new("fusermount3").args(["-u", "-z"]).arg(&disk));
        if !unmounted.is_ok_and(|status| status.success()) {
            // Without that program only root can have mounted it.
            let _ = status(Program::new("umount").arg("-l").arg(&disk).stderr(Stdio::null()));
        }
    }
}
