//! A client on the front thread: in its handshake, or with a command of `blksched ctl`. Its input is read only once the
//! previous answer has been sent, so that no client can make the server keep more than one answer.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use blksched_nbd::{Export, Handshake, HandshakeStep, Session};
use rustix::io::Errno;
use rustls::ServerConnection;

use crate::listen::NewClient;
use crate::tls::{self, Received, Tls};
use crate::{AUDIT, log_limit, origin};

/// How much is read at once \[bytes\].
const CHUNK: usize = 16 << 10;
/// The longest question \[bytes\].
const LONGEST_QUESTION: usize = 16 << 10;

/// How many there were.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// One client.
pub struct HandshakingClient {
    /// Its socket, which does not block.
    pub socket: OwnedFd,
    /// Its user, if known.
    pub uid: Option<u32>,
    /// Where it comes from.
    pub peer: Arc<str>,
    /// The same, as far as limits are concerned.
    pub origin: String,
    /// When it last sent something; `None` if it has not sent anything yet.
    pub heard_at: Option<Instant>,
    /// When it connected.
    pub came_at: Instant,
    /// When its handshake must be complete.
    pub by: Instant,
    /// Its number among all that ever had one.
    pub number: u64,
    /// When its question was asked, if it waits for the answer.
    pub asked_at: Option<Instant>,
    secure: Secure,
    role: Role,
    input: Vec<u8>,
    output: Vec<u8>,
    end: Option<End>,
}

/// The state of a client's TLS.
enum Secure {
    /// None, or not yet.
    Plain,
    /// It begins as soon as everything is sent.
    Soon,
    /// It has begun.
    Tls(Box<ServerConnection>),
}

enum Role {
    Nbd(Handshake),
    Control,
    /// A client that asks for metrics.
    Metrics,
}

/// How it continues once everything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The client has opened an export.
    Enter(Session),
    /// There is nothing more to send.
    Close,
}

/// What a client in its handshake does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for its socket.
    Wait,
    /// Its next [`read`](HandshakingClient::read) is a step of its TLS handshake, which takes long.
    Shakes,
    /// It has asked this.
    Asks(String),
    /// It ends like this.
    Ends(End),
}

impl HandshakingClient {
    /// An NBD client, which is greeted first.
    pub fn nbd(accepted: NewClient, by: Instant, tls: blksched_nbd::Tls) -> HandshakingClient {
        let handshake = Handshake::with(tls);
        let mut output = Vec::new();
        handshake.greet(&mut output);
        HandshakingClient::of(accepted, by, Role::Nbd(handshake), output)
    }

    /// A client with a question.
    pub fn control(accepted: NewClient, by: Instant) -> HandshakingClient {
        HandshakingClient::of(accepted, by, Role::Control, Vec::new())
    }

    /// A client that asks for metrics.
    pub fn metrics(accepted: NewClient, by: Instant) -> HandshakingClient {
        HandshakingClient::of(accepted, by, Role::Metrics, Vec::new())
    }

    /// Whether it has a question, and is no NBD client.
    pub fn is_asker(&self) -> bool {
        !matches!(self.role, Role::Nbd(_))
    }

    /// Whether it asks for metrics.
    pub fn wants_figures(&self) -> bool {
        matches!(self.role, Role::Metrics)
    }

    fn of(accepted: NewClient, by: Instant, role: Role, output: Vec<u8>) -> HandshakingClient {
        let NewClient { socket, uid, peer } = accepted;
        let came_at = Instant::now();
        HandshakingClient {
            socket,
            uid,
            origin: origin::of(&peer),
            peer,
            heard_at: None,
            came_at,
            by,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            asked_at: None,
            secure: Secure::Plain,
            role,
            input: Vec::new(),
            output,
            end: None,
        }
    }

    /// Whether it waits to send.
    pub fn sends(&self) -> bool {
        !self.output.is_empty() || matches!(&self.secure, Secure::Tls(session) if session.wants_write())
    }

    /// Its socket, what it has sent beyond its handshake, and its TLS.
    pub fn into_rest(self) -> (OwnedFd, Vec<u8>, Option<Box<ServerConnection>>) {
        let session = match self.secure {
            Secure::Tls(session) => Some(session),
            Secure::Plain | Secure::Soon => None,
        };
        (self.socket, self.input, session)
    }

    /// The names of its certificate.
    pub fn names(&self) -> Vec<String> {
        match &self.secure {
            Secure::Tls(session) if !session.is_handshaking() => tls::names(session),
            _ => Vec::new(),
        }
    }

    /// Everything to be sent in plain has been sent: begins TLS, if it is next.
    fn begins_tls(&mut self, tls: Option<&Tls>) -> Result<(), ()> {
        if matches!(self.secure, Secure::Soon) {
            let session = tls.and_then(|tls| tls.session().ok()).ok_or(())?;
            self.secure = Secure::Tls(Box::new(session));
        }
        Ok(())
    }

    /// The answer to its question.
    pub fn answer(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
        self.asked_at = None;
        self.end = Some(End::Close);
    }

    /// Whether it is in its TLS handshake.
    fn is_shaking(&self) -> bool {
        matches!(&self.secure, Secure::Tls(session) if session.is_handshaking())
    }

    /// Its socket is ready: continues.
    pub fn go_on(&mut self, exports: &[Export], may_open: &dyn Fn(usize) -> bool, tls: Option<&Tls>) -> Next {
        // An answer is sent to its end, however long it is, as long as the client takes it.
        if !self.flush() {
            return Next::Wait;
        }
        if let Some(end) = &self.end {
            return Next::Ends(end.clone());
        }
        if self.begins_tls(tls).is_err() {
            return Next::Ends(End::Close);
        }
        if self.is_shaking() {
            return Next::Shakes;
        }
        let read = self.read();
        self.after(read, exports, may_open, tls)
    }

    /// Its socket was read.
    pub fn after(
        &mut self,
        read: Result<bool, ()>,
        exports: &[Export],
        may_open: &dyn Fn(usize) -> bool,
        tls: Option<&Tls>,
    ) -> Next {
        match read {
            Ok(true) => self.parse(exports, may_open, tls),
            Ok(false) => Next::Wait,
            Err(()) => Next::Ends(End::Close),
        }
    }

    /// Parses what has arrived, as long as there is nothing to send.
    fn parse(&mut self, exports: &[Export], may_open: &dyn Fn(usize) -> bool, tls: Option<&Tls>) -> Next {
        loop {
            let Role::Nbd(handshake) = &mut self.role else { return self.question() };
            let (used, step) = handshake.receive(&self.input, exports, may_open, &mut self.output);
            self.input.drain(..used);
            self.end = match step {
                HandshakeStep::More => None,
                HandshakeStep::Enter(session) => Some(End::Enter(session)),
                HandshakeStep::Close => Some(End::Close),
                HandshakeStep::Secure => {
                    self.secure = Secure::Soon;
                    None
                }
            };
            if !self.flush() {
                return Next::Wait;
            }
            if self.begins_tls(tls).is_err() {
                return Next::Ends(End::Close);
            }
            match &self.end {
                Some(end) => return Next::Ends(end.clone()),
                None if used == 0 => return Next::Wait,
                None => {}
            }
        }
    }

    fn question(&mut self) -> Next {
        // An HTTP request ends with an empty line; closing before it has arrived might lose the answer.
        let whole = !self.wants_figures() || [&b"\r\n\r\n"[..], b"\n\n"].iter().any(|end| self.input.ends_with(end));
        match self.input.iter().position(|&byte| byte == b'\n').filter(|_| whole) {
            Some(at) => Next::Asks(String::from_utf8_lossy(&self.input[..at]).into_owned()),
            None if self.input.len() > LONGEST_QUESTION => Next::Ends(End::Close),
            None => Next::Wait,
        }
    }

    /// Sends what is there; true if nothing is left.
    fn flush(&mut self) -> bool {
        if let Secure::Tls(session) = &mut self.secure {
            session.set_buffer_limit(None);
            let written = session.writer().write_all(&self.output);
            self.output.clear();
            return match written.and_then(|()| tls::send(session, &self.socket)) {
                Ok(all) => all,
                Err(_) => {
                    self.end = Some(End::Close);
                    true
                }
            };
        }
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

    /// Reads once; false if nothing has arrived yet.
    ///
    /// # Errors
    /// If nothing comes any more.
    pub fn read(&mut self) -> Result<bool, ()> {
        if matches!(self.secure, Secure::Tls(_)) {
            return self.read_tls();
        }
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

    /// The same through TLS, possibly its own handshake.
    fn read_tls(&mut self) -> Result<bool, ()> {
        let Secure::Tls(session) = &mut self.secure else { return Ok(false) };
        let received = tls::receive(session, &self.socket).map_err(|error| {
            if log_limit::admits(&self.peer) {
                tracing::warn!(target: AUDIT, peer = %self.peer, %error, "no TLS with this client");
            }
        })?;
        let mut chunk = [0; CHUNK];
        let before = self.input.len();
        while let Ok(count @ 1..) = session.reader().read(&mut chunk) {
            self.input.extend_from_slice(&chunk[..count]);
        }
        tls::send(session, &self.socket).map_err(drop)?;
        match received {
            Received::Nothing => {}
            Received::Some => self.heard_at = Some(Instant::now()),
            Received::Last | Received::End => return Err(()),
        }
        Ok(self.input.len() > before)
    }
}
