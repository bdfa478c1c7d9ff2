//! A captive command: `--run 'command $uri'` runs a client, and the server ends with it. If a signal ends the server
//! first, it ends the command (SIGTERM).

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};

use blksched_nbd::Uri;
use rustix::process::{Pid, Signal, kill_process};

/// What is passed to the command.
pub struct Shown<'s> {
    /// The exports' URIs.
    pub uris: &'s [Uri],
    /// Block devices, and their exports' names.
    pub devices: &'s [(PathBuf, &'s str)],
    /// The control socket.
    pub control: Option<&'s str>,
}

/// The running command.
pub struct Captive {
    exit: Receiver<u8>,
    /// Its process id, while it runs.
    process: Option<Pid>,
}

impl Captive {
    /// Runs `command` in a shell. In its environment: `uri` of the first export, `uri_NAME` of each, `unixsocket` if
    /// there is one, `ublk_NAME` of each that is a block device, `control` if there is one. When it has ended,
    /// `wakeup`'s other end becomes readable.
    ///
    /// # Errors
    /// If there is no shell.
    pub fn run(command: &str, shown: &Shown<'_>, wakeup: UnixStream) -> io::Result<Captive> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command);
        // Sockets passed by systemd were meant for this process.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
            shell.env_remove(name);
        }
        if let Some(first) = shown.uris.first() {
            shell.env("uri", first.to_string());
            if let blksched_nbd::Address::Unix { path } = &first.address {
                shell.env("unixsocket", path);
            }
        }
        for uri in shown.uris {
            shell.env(format!("uri_{}", uri.export), uri.to_string());
        }
        for (device, export) in shown.devices {
            shell.env(format!("ublk_{export}"), device);
        }
        if let Some(control) = shown.control {
            shell.env("control", control);
        }
        let mut child = shell.spawn()?;
        let process = Some(Pid::from_child(&child));
        let (done, exit) = channel();
        std::thread::Builder::new().name("captive".to_owned()).spawn(move || {
            // The code of a command ended by a signal, as in shells.
            let code = |status: ExitStatus| status.code().or(status.signal().map(|signal| 128 + signal));
            let status = child.wait().ok().and_then(code);
            let _ = done.send(status.map_or(128, |code| code as u8));
            let _ = rustix::io::write(&wakeup, &[1]);
        })?;
        Ok(Captive { exit, process })
    }

    /// Its exit code, if it has ended.
    pub fn ended(&mut self) -> Option<u8> {
        let code = self.exit.try_recv().ok()?;
        self.process = None;
        Some(code)
    }
}

impl Drop for Captive {
    fn drop(&mut self) {
        if let (None, Some(process)) = (self.ended(), self.process) {
            // It may just have ended.
            let _ = kill_process(process, Signal::TERM);
        }
    }
}
