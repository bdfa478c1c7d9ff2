//! One server takes another's place without refusing any client: the old one hands over its listening sockets, serves
//! the requests in flight, and hands over its clients; then the new one begins. A client that connects meanwhile waits
//! in the sockets' queues, and a client connected without TLS continues on the same socket and notices nothing. If the
//! new server ends before it has begun, the old one continues.
//!
//! **Rule** The new one asks at the old one's control socket (`hand over`). The answer is a line for each socket, `ROLE
//! ADDRESS`, and an empty line, with the sockets themselves beside it (SCM_RIGHTS); then, for each client that is quiet
//! at the old one, a line of JSON and the received bytes that were not parsed, with its socket; then `yours?`: the old
//! one has closed its files. The new one opens them and everything else that it needs, and says `begun`. The old one's
//! next word decides: `yours`, and it ends, or `mine`, because it has waited too long and continues. An old server that
//! closes the connection without a word has ended.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use blksched_nbd::Framing;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::ServeError;

/// How long the server that asked may take to receive what it is given.
const TAKES: Duration = Duration::from_secs(10);
/// The question at the control socket.
pub const QUESTION: &str = "hand over";
/// The end of the answer.
const END: &str = "yours?\n";
/// The new server's answer to that.
const BEGUN: &str = "begun\n";
/// The old server's answer.
const YOURS: &str = "yours\n";
const MINE: &str = "mine\n";
/// The most sockets in one message (SCM_MAX_FD of Linux).
const MOST: usize = 253;

/// The purpose of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketRole {
    /// Clients of NBD.
    Nbd,
    /// `blksched ctl`.
    Control,
    /// Prometheus.
    Metrics,
}

impl SocketRole {
    const ALL: [(SocketRole, &str); 3] =
        [(SocketRole::Nbd, "nbd"), (SocketRole::Control, "control"), (SocketRole::Metrics, "metrics")];

    fn name(self) -> &'static str {
        SocketRole::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }
}

/// A socket that was handed over.
struct Handed {
    role: SocketRole,
    /// `unix:PATH` or `tcp:ADDRESS:PORT`.
    address: String,
    socket: OwnedFd,
}

/// A client that was connected.
pub struct HandedClient {
    /// The export's name.
    pub export: String,
    /// The agreed framing.
    pub framing: Framing,
    /// Whether it may ask for extents.
    pub allocation: bool,
    /// Where it comes from.
    pub peer: String,
    /// Whether a process before this one carries it through TLS.
    pub carried: bool,
    /// Bytes that it has sent and that were not processed.
    pub ahead: Vec<u8>,
    /// Its socket.
    pub socket: Arc<OwnedFd>,
}

/// What the previous server has handed over; empty if there was none.
#[derive(Default)]
pub struct Inherited {
    sockets: Vec<Handed>,
    clients: Vec<HandedClient>,
    /// The server that waits for us to begin.
    from: Option<UnixStream>,
    /// Whether there was a server.
    of_another: bool,
}

/// The name of a Unix socket.
pub fn of_path(path: &Path) -> String {
    format!("unix:{}", std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display())
}

/// Hands these over to the server that has asked on `socket`.
///
/// # Errors
/// If it has gone, or there are too many.
pub fn give(socket: &OwnedFd, sockets: &[(SocketRole, String, BorrowedFd<'_>)]) -> io::Result<()> {
    if sockets.len() > MOST {
        return Err(io::Error::other(format!("{} sockets: at most {MOST} can be handed over", sockets.len())));
    }
    let lines = sockets.iter().map(|(role, address, _)| format!("{} {address}\n", role.name()));
    let text = format!("ok\n{}\n", lines.collect::<String>());
    let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(|(_, _, fd)| *fd).collect();
    rustix::io::ioctl_fionbio(socket, false)?;
    // A server that receives nothing must not block us for ever.
    UnixStream::from(socket.try_clone()?).set_write_timeout(Some(TAKES))?;
    send(socket, text.as_bytes(), &fds)
}

/// Hands this client over to the server that has asked on `socket`.
///
/// # Errors
/// If it has gone.
pub fn pass(socket: &OwnedFd, client: &HandedClient) -> io::Result<()> {
    let HandedClient { export, framing, allocation, peer, carried, ahead, socket: own } = client;
    let framing = FRAMINGS.iter().find(|(one, _)| one == framing).map_or("", |(_, name)| name);
    let line = serde_json::json!({
        "export": export, "framing": framing, "allocation": allocation, "peer": peer, "ahead": ahead.len(),
        "carried": carried,
    });
    send(socket, &[format!("{line}\n").as_bytes(), ahead].concat(), &[own.as_fd()])
}

/// Framings by their names.
const FRAMINGS: [(Framing, &str); 3] =
    [(Framing::Simple, "simple"), (Framing::Structured, "structured"), (Framing::Extended, "extended")];

/// Sends all of it, with these attached to its first byte.
fn send(socket: &OwnedFd, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(fds));
    // A call with a timeout is not restarted automatically after an interruption (if this process was stopped).
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(text)], &mut beside, SendFlags::NOSIGNAL))?;
    UnixStream::from(socket.try_clone()?).write_all(&text[sent..])
}

impl Inherited {
    /// Asks the server at this control socket for its sockets and clients, and waits until it has released its files.
    /// Empty if there is none.
    ///
    /// # Errors
    /// If it refuses, or takes longer than `patience`.
    pub fn take(control: &Path, patience: Duration) -> Result<Inherited, ServeError> {
        let failed = || ServeError::system(format!("taking over from {}", control.display()));
        let mut stream = match UnixStream::connect(control) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                tracing::info!(control = %control.display(), "there is no server to take over from");
                return Ok(Inherited::default());
            }
            Err(error) => return Err(failed()(error)),
        };
        stream.set_read_timeout(Some(patience)).map_err(failed())?;
        stream.set_write_timeout(Some(patience)).map_err(failed())?;
        stream.write_all(format!("{QUESTION}\n").as_bytes()).map_err(failed())?;
        let mut hearing = Hearing::default();
        let whole = hearing.hear(&stream).map_err(failed())?;
        let said = |why: &str| ServeError::Config(format!("{}: its server {why}", control.display()));
        if let Some(why) = hearing.text.strip_prefix(b"error\n") {
            return Err(said(&format!("hands over nothing: {}", String::from_utf8_lossy(why).trim())));
        }
        if !hearing.has_list {
            return Err(said("gave an answer that makes no sense"));
        }
        let mut inherited = hearing.inherited;
        match whole {
            true => (inherited.from, inherited.of_another) = (Some(stream), true),
            false => tracing::warn!("the server before this one has ended in the middle of it"),
        }
        tracing::info!(sockets = inherited.sockets.len(), clients = inherited.clients.len(), "took over");
        Ok(inherited)
    }

    /// Whether it belongs to another server, as long as this one has not begun.
    pub fn is_of_another(&self) -> bool {
        self.of_another
    }

    /// Makes this server serve from now on, if the previous one lets it.
    ///
    /// # Errors
    /// If that one continues.
    pub fn begin(&mut self) -> Result<(), ServeError> {
        let Some(mut stream) = self.from.take() else { return Ok(()) };
        // If that fails, its last word may be there.
        let _ = stream.write_all(BEGUN.as_bytes());
        let mut word = String::new();
        match BufReader::new(stream).read_line(&mut word) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(ServeError::Config("taking over: the server before this one does not answer".to_owned()))
            }
            _ if word == MINE => Err(ServeError::Config(
                "taking over: this took too long; the server before this one continues".to_owned(),
            )),
            // Or it has ended.
            _ => Ok(()),
        }
    }

    fn find(&mut self, role: SocketRole, address: &str) -> Option<OwnedFd> {
        let at = self.sockets.iter().position(|handed| handed.role == role && handed.address == address)?;
        Some(self.sockets.swap_remove(at).socket)
    }

    /// The socket at this path, if it was handed over.
    pub fn unix(&mut self, role: SocketRole, path: &Path) -> Option<UnixListener> {
        self.find(role, &of_path(path)).map(UnixListener::from)
    }

    /// The socket at this address.
    pub fn tcp(&mut self, role: SocketRole, address: &std::net::SocketAddr) -> Option<TcpListener> {
        self.find(role, &format!("tcp:{address}")).map(TcpListener::from)
    }

    /// Closes what was not wanted, and removes it from the file system; returns the clients.
    pub fn close(self) -> Vec<HandedClient> {
        for Handed { address, socket, .. } in self.sockets {
            tracing::info!(address, "no longer listens there");
            drop(socket);
            if let Some(path) = address.strip_prefix("unix:") {
                let _ = std::fs::remove_file(path);
            }
        }
        self.clients
    }
}

/// What the other side has sent so far.
#[derive(Default)]
struct Hearing {
    /// What is not parsed yet.
    text: Vec<u8>,
    /// Sockets that came with it, in order.
    sockets: VecDeque<OwnedFd>,
    inherited: Inherited,
    /// Whether it contains the list of the sockets.
    has_list: bool,
}

impl Hearing {
    /// Reads it to its end; false if the other side has ended before.
    fn hear(&mut self, stream: &UnixStream) -> io::Result<bool> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
            let mut beside = RecvAncillaryBuffer::new(&mut space);
            let into = &mut [IoSliceMut::new(&mut chunk)];
            let received = retry_on_intr(|| recvmsg(stream.as_fd(), into, &mut beside, RecvFlags::CMSG_CLOEXEC))?;
            for message in beside.drain() {
                if let RecvAncillaryMessage::ScmRights(fds) = message {
                    self.sockets.extend(fds);
                }
            }
            self.text.extend_from_slice(&chunk[..received.bytes]);
            match self.parse() {
                Some(true) => return Ok(true),
                _ if received.bytes == 0 => return Ok(false),
                _ => {}
            }
        }
    }

    /// Parses complete parts. True at the end; `None` if more must come.
    fn parse(&mut self) -> Option<bool> {
        if !self.has_list {
            self.list()?;
            self.has_list = true;
        }
        loop {
            if self.text.starts_with(END.as_bytes()) {
                return Some(true);
            }
            self.client()?;
        }
    }

    fn list(&mut self) -> Option<()> {
        let text = self.text.strip_prefix(b"ok\n")?;
        // An empty line means no sockets at all.
        let end = if text.starts_with(b"\n") { 0 } else { 1 + text.windows(2).position(|two| two == b"\n\n")? };
        let list = core::str::from_utf8(&text[..end]).ok()?;
        let mut sockets = Vec::new();
        for (line, at) in list.lines().zip(0..) {
            let (name, address) = line.split_once(' ')?;
            let (role, _) = SocketRole::ALL.into_iter().find(|(_, own)| *own == name)?;
            self.sockets.get(at)?;
            sockets.push((role, address.to_owned()));
        }
        let mut fds = self.sockets.drain(..sockets.len());
        let handed =
            sockets.into_iter().filter_map(|(role, address)| Some(Handed { role, address, socket: fds.next()? }));
        self.inherited.sockets = handed.collect();
        drop(fds);
        self.text.drain(..b"ok\n".len() + end + 1);
        Some(())
    }

    fn client(&mut self) -> Option<()> {
        let end = self.text.iter().position(|&byte| byte == b'\n')?;
        let said: serde_json::Value = serde_json::from_slice(&self.text[..end]).ok()?;
        let (name, length) = (said["framing"].as_str()?, usize::try_from(said["ahead"].as_u64()?).ok()?);
        let ahead = self.text.get(end + 1..)?.get(..length)?.to_vec();
        let framing = FRAMINGS.iter().find(|(_, own)| *own == name).map(|(framing, _)| *framing)?;
        let (export, peer) = (said["export"].as_str()?.to_owned(), said["peer"].as_str()?.to_owned());
        let (allocation, socket) = (said["allocation"].as_bool()?, Arc::new(self.sockets.pop_front()?));
        // A server of an older version hands over none.
        let carried = said["carried"].as_bool().unwrap_or(false);
        self.inherited.clients.push(HandedClient { export, framing, allocation, peer, carried, ahead, socket });
        self.text.drain(..end + 1 + length);
        Some(())
    }
}

/// Tells the server that asked on this socket that it may continue with what it was given; whether it does. Then none
/// of it is ours.
pub fn yours(socket: &OwnedFd) -> bool {
    retry_on_intr(|| rustix::net::send(socket, YOURS.as_bytes(), SendFlags::NOSIGNAL)).is_ok()
}

/// Tells it that it was too late. It may be gone.
pub fn mine(socket: OwnedFd) {
    let _ = rustix::net::send(&socket, MINE.as_bytes(), SendFlags::NOSIGNAL);
}

/// It was given everything: whether it has begun. `None` if it has ended.
pub fn has_begun(socket: &OwnedFd, heard: &mut Vec<u8>) -> Option<bool> {
    let mut chunk = [0; 64];
    match rustix::net::recv(socket, &mut chunk, RecvFlags::DONTWAIT) {
        Ok((0, _)) => None,
        Ok((count, _)) => {
            heard.extend_from_slice(&chunk[..count]);
            Some(heard.starts_with(BEGUN.as_bytes()))
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Some(false),
        Err(_) => None,
    }
}

/// Tells it that this was all, and that our files are released.
///
/// # Errors
/// If it has gone.
pub fn end(socket: &OwnedFd) -> io::Result<()> {
    UnixStream::from(socket.try_clone()?).write_all(END.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_clients_are_handed_over_with_what_they_are() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        let ours = OwnedFd::from(ours);
        give(&ours, &[(SocketRole::Nbd, format!("tcp:{address}"), tcp.as_fd())]).unwrap();
        let mut others = Vec::new();
        for (nth, (framing, _)) in FRAMINGS.into_iter().enumerate() {
            let (own, other) = UnixStream::pair().unwrap();
            let (export, peer) = (format!("a \"{nth}\"\n"), "unix:pid=1".to_owned());
            let ahead = vec![b'\n'; nth * 1000];
            others.push(other);
            let (allocation, carried, socket) = (nth > 0, nth > 1, Arc::new(own.into()));
            let client = HandedClient { export, framing, allocation, peer, carried, ahead, socket };
            pass(&ours, &client).unwrap();
        }
        end(&ours).unwrap();
        let mut hearing = Hearing::default();
        assert!(hearing.hear(&theirs).unwrap() && hearing.sockets.is_empty());
        let mut inherited = hearing.inherited;
        assert!(inherited.tcp(SocketRole::Metrics, &address).is_none(), "of another role");
        let again = inherited.tcp(SocketRole::Nbd, &address).unwrap();
        assert_eq!(again.local_addr().unwrap(), address);
        assert!(inherited.tcp(SocketRole::Nbd, &address).is_none(), "once only");
        for (nth, (client, mut other)) in inherited.close().into_iter().zip(others).enumerate() {
            assert_eq!((client.export, client.framing), (format!("a \"{nth}\"\n"), FRAMINGS[nth].0));
            assert_eq!((client.allocation, client.carried), (nth > 0, nth > 1));
            assert_eq!(client.ahead.len(), nth * 1000);
            rustix::io::write(&client.socket, &[nth as u8]).unwrap();
            let mut byte = [9];
            io::Read::read_exact(&mut other, &mut byte).unwrap();
            assert_eq!(byte, [nth as u8], "each has its own socket");
        }
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused() {
        let parsed = |text: &str, sockets: VecDeque<OwnedFd>| {
            let mut hearing = Hearing { text: text.as_bytes().to_vec(), sockets, ..Hearing::default() };
            (hearing.parse(), hearing.has_list)
        };
        for text in ["", "no\n\n", "ok\nnbd tcp:127.0.0.1:1\n\n"] {
            assert_eq!(parsed(text, VecDeque::new()), (None, false), "{text}");
        }
        let (ours, _) = UnixStream::pair().unwrap();
        let sockets = VecDeque::from([ours.into()]);
        assert_eq!(parsed("ok\ncellar tcp:127.0.0.1:1\n\n", sockets), (None, false));
        for text in ["ok\n\n", "ok\n\n{}\n", "ok\n\nyours"] {
            assert_eq!(parsed(text, VecDeque::new()), (None, true), "{text}");
        }
        assert_eq!(parsed("ok\n\nyours?\n", VecDeque::new()), (Some(true), true));
    }
}
