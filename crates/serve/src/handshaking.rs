//! A client on the front thread: in its handshake, or with a question for `blksched ctl`. What it sends is read only
//! once what it was answered is sent, so that no client can make the server keep more than one answer.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use blksched_nbd::{Export, Handshake, Session, Step};
use rustix::io::Errno;

use crate::listen::Knock;

/// How much is read at a time \[bytes\].
const CHUNK: usize = 16 << 10;
/// The longest question \[bytes\].
const LONGEST_QUESTION: usize = 16 << 10;

/// One client.
pub struct Guest {
    /// Its socket, which does not block.
    pub socket: OwnedFd,
    /// Its user.
    pub uid: Option<u32>,
    /// Where it comes from.
    pub peer: Arc<str>,
    /// When it last said something; none: it has not said anything yet.
    pub heard_at: Option<Instant>,
    /// When it came.
    pub came_at: Instant,
    /// When it must be done.
    pub by: Instant,
    role: Role,
    input: Vec<u8>,
    output: Vec<u8>,
    end: Option<End>,
}

enum Role {
    Nbd(Handshake),
    Control,
    /// Of Prometheus.
    Metrics,
}

/// How it goes on once everything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The client has opened an export.
    Enter(Session),
    /// There is nothing more to say.
    Close,
}

/// What a guest does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for its socket.
    Wait,
    /// It has asked this.
    Asks(String),
    /// It is over with it.
    Ends(End),
}

impl Guest {
    /// An NBD client: it is greeted first.
    pub fn nbd(knock: Knock, by: Instant) -> Guest {
        let handshake = Handshake::new();
        let mut output = Vec::new();
        handshake.greet(&mut output);
        Guest::of(knock, by, Role::Nbd(handshake), output)
    }

    /// A client with a question.
    pub fn control(knock: Knock, by: Instant) -> Guest {
        Guest::of(knock, by, Role::Control, Vec::new())
    }

    /// Somebody who wants figures.
    pub fn metrics(knock: Knock, by: Instant) -> Guest {
        Guest::of(knock, by, Role::Metrics, Vec::new())
    }

    /// Does it want figures?
    pub fn wants_figures(&self) -> bool {
        matches!(self.role, Role::Metrics)
    }

    fn of(knock: Knock, by: Instant, role: Role, output: Vec<u8>) -> Guest {
        let Knock { socket, uid, peer } = knock;
        let came_at = Instant::now();
        Guest { socket, uid, peer, heard_at: None, came_at, by, role, input: Vec::new(), output, end: None }
    }

    /// Does it wait to send?
    pub fn sends(&self) -> bool {
        !self.output.is_empty()
    }

    /// What it has sent beyond its handshake.
    pub fn into_rest(self) -> (OwnedFd, Vec<u8>) {
        (self.socket, self.input)
    }

    /// The answer to its question.
    pub fn answer(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
        self.end = Some(End::Close);
    }

    /// Its socket is ready: go on.
    pub fn go_on(&mut self, exports: &[Export], may_open: &dyn Fn(usize) -> bool) -> Next {
        if !self.flush() {
            return if self.end == Some(End::Close) { Next::Ends(End::Close) } else { Next::Wait };
        }
        if let Some(end) = &self.end {
            return Next::Ends(end.clone());
        }
        match self.read() {
            Ok(true) => self.understand(exports, may_open),
            Ok(false) => Next::Wait,
            Err(()) => Next::Ends(End::Close),
        }
    }

    /// Understand what is there, as long as there is nothing to send.
    pub fn understand(&mut self, exports: &[Export], may_open: &dyn Fn(usize) -> bool) -> Next {
        loop {
            let Role::Nbd(handshake) = &mut self.role else { return self.question() };
            let (used, step) = handshake.receive(&self.input, exports, may_open, &mut self.output);
            self.input.drain(..used);
            self.end = match step {
                Step::More => None,
                Step::Enter(session) => Some(End::Enter(session)),
                Step::Close => Some(End::Close),
            };
            if !self.flush() {
                return Next::Wait;
            }
            match &self.end {
                Some(end) => return Next::Ends(end.clone()),
                None if used == 0 => return Next::Wait,
                None => {}
            }
        }
    }

    fn question(&mut self) -> Next {
        // HTTP's request ends with an empty line; to close before it has come might lose the answer.
        let whole = !self.wants_figures() || [&b"\r\n\r\n"[..], b"\n\n"].iter().any(|end| self.input.ends_with(end));
        match self.input.iter().position(|&byte| byte == b'\n').filter(|_| whole) {
            Some(at) => Next::Asks(String::from_utf8_lossy(&self.input[..at]).into_owned()),
            None if self.input.len() > LONGEST_QUESTION => Next::Ends(End::Close),
            None => Next::Wait,
        }
    }

    /// Send what there is; true if nothing is left.
    fn flush(&mut self) -> bool {
        while !self.output.is_empty() {
            match rustix::net::send(&self.socket, &self.output, rustix::net::SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => {
                    self.end = Some(End::Close);
                    self.output.clear();
                }
            }
        }
        true
    }

    /// Read once; false if nothing is there yet.
    fn read(&mut self) -> Result<bool, ()> {
        let mut chunk = [0; CHUNK];
        match rustix::io::read(&self.socket, &mut chunk) {
            Ok(0) => Err(()),
            Ok(count) => {
                self.input.extend_from_slice(&chunk[..count]);
                self.heard_at = Some(Instant::now());
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(_) => Err(()),
        }
    }
}
