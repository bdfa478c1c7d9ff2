//! One server takes another's place without refusing anybody: the old one hands over the sockets at which it listens,
//! serves what is under way, and ends; the new one begins then. Who connects meanwhile waits in the sockets' queues,
//! and who is connected in plain goes on at the same socket and hears nothing of it.
//!
//! **Rule** The new one asks at the old one's control socket (`hand over`). The answer is a line for each socket, `ROLE
//! ADDRESS`, and an empty line, with the sockets themselves beside it (SCM_RIGHTS); then, for each client that is done
//! at the old one, a line of JSON and what came in and was not looked at, with its socket. The connection stays open
//! until the old one has ended: its end says that files, locks and memory are free.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use blksched_nbd::Framing;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::ServeError;

/// What is asked at the control socket.
pub const QUESTION: &str = "hand over";
/// The most sockets that one message carries (SCM_MAX_FD of Linux).
const MOST: usize = 253;

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Clients of NBD.
    Nbd,
    /// `blksched ctl`.
    Control,
    /// Prometheus.
    Metrics,
}

impl Role {
    const ALL: [(Role, &str); 3] = [(Role::Nbd, "nbd"), (Role::Control, "control"), (Role::Metrics, "metrics")];

    fn name(self) -> &'static str {
        Role::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }
}

/// A socket that was handed over.
struct Handed {
    role: Role,
    /// `unix:PATH` or `tcp:ADDRESS:PORT`.
    address: String,
    socket: OwnedFd,
}

/// A client that was connected.
pub struct HandedClient {
    /// The export's name.
    pub export: String,
    /// What was agreed on.
    pub framing: Framing,
    /// May it ask for extents?
    pub allocation: bool,
    /// Where it comes from.
    pub peer: String,
    /// What it has sent and nobody has looked at.
    pub ahead: Vec<u8>,
    /// Its socket.
    pub socket: OwnedFd,
}

/// What the server before this one has handed over; nothing if there was none.
#[derive(Default)]
pub struct Inherited {
    sockets: Vec<Handed>,
    clients: Vec<HandedClient>,
}

/// The name of a Unix socket.
pub fn of_path(path: &Path) -> String {
    format!("unix:{}", std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display())
}

/// Hand these over to who has asked on `socket`.
///
/// # Errors
/// If it has gone, or they are too many.
pub fn give(socket: &OwnedFd, sockets: &[(Role, String, BorrowedFd<'_>)]) -> io::Result<()> {
    if sockets.len() > MOST {
        return Err(io::Error::other(format!("{} sockets: at most {MOST} can be handed over", sockets.len())));
    }
    let lines = sockets.iter().map(|(role, address, _)| format!("{} {address}\n", role.name()));
    let text = format!("ok\n{}\n", lines.collect::<String>());
    let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(|(_, _, fd)| *fd).collect();
    rustix::io::ioctl_fionbio(socket, false)?;
    send(socket, text.as_bytes(), &fds)
}

/// Hand this client over to who has asked on `socket`.
///
/// # Errors
/// If it has gone.
pub fn pass(socket: &OwnedFd, client: &HandedClient) -> io::Result<()> {
    let HandedClient { export, framing, allocation, peer, ahead, socket: own } = client;
    let framing = FRAMINGS.iter().find(|(one, _)| one == framing).map_or("", |(_, name)| name);
    let line = serde_json::json!({
        "export": export, "framing": framing, "allocation": allocation, "peer": peer, "ahead": ahead.len(),
    });
    send(socket, &[format!("{line}\n").as_bytes(), ahead].concat(), &[own.as_fd()])
}

/// Framings by their names.
const FRAMINGS: [(Framing, &str); 3] =
    [(Framing::Simple, "simple"), (Framing::Structured, "structured"), (Framing::Extended, "extended")];

/// All of it, with these beside its first byte.
fn send(socket: &OwnedFd, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(fds));
    let sent = sendmsg(socket, &[IoSlice::new(text)], &mut beside, SendFlags::NOSIGNAL)?;
    UnixStream::from(socket.try_clone()?).write_all(&text[sent..])
}

impl Inherited {
    /// Ask the server at this control socket for its sockets, and wait until it has ended. Nothing, if none is there.
    ///
    /// # Errors
    /// If it refuses, or does not end within `patience`.
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
        stream.write_all(format!("{QUESTION}\n").as_bytes()).map_err(failed())?;
        let (text, sockets) = receive(&stream).map_err(failed())?;
        if let Some(why) = text.strip_prefix(b"error\n") {
            let why = String::from_utf8_lossy(why).trim().to_owned();
            return Err(ServeError::Config(format!("{}: its server hands nothing over: {why}", control.display())));
        }
        let inherited = Inherited::of(&text, sockets)
            .ok_or_else(|| ServeError::Config(format!("{}: its server's answer makes no sense", control.display())))?;
        tracing::info!(sockets = inherited.sockets.len(), clients = inherited.clients.len(), "took over");
        Ok(inherited)
    }

    fn of(text: &[u8], sockets: Vec<OwnedFd>) -> Option<Inherited> {
        let text = text.strip_prefix(b"ok\n")?;
        let end = text.windows(2).position(|two| two == b"\n\n")?;
        let (list, mut rest) = (core::str::from_utf8(&text[..end]).ok()?, &text[end + 2..]);
        let mut fds = sockets.into_iter();
        let mut inherited = Inherited::default();
        for line in list.lines() {
            let (name, address) = line.split_once(' ')?;
            let (role, _) = Role::ALL.into_iter().find(|(_, own)| *own == name)?;
            inherited.sockets.push(Handed { role, address: address.to_owned(), socket: fds.next()? });
        }
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == b'\n')?;
            let said: serde_json::Value = serde_json::from_slice(&rest[..end]).ok()?;
            let (name, length) = (said["framing"].as_str()?, usize::try_from(said["ahead"].as_u64()?).ok()?);
            let ahead = rest.get(end + 1..)?.get(..length)?.to_vec();
            rest = &rest[end + 1 + length..];
            inherited.clients.push(HandedClient {
                export: said["export"].as_str()?.to_owned(),
                framing: FRAMINGS.iter().find(|(_, own)| *own == name).map(|(framing, _)| *framing)?,
                allocation: said["allocation"].as_bool()?,
                peer: said["peer"].as_str()?.to_owned(),
                ahead,
                socket: fds.next()?,
            });
        }
        Some(inherited)
    }

    fn find(&mut self, role: Role, address: &str) -> Option<OwnedFd> {
        let at = self.sockets.iter().position(|handed| handed.role == role && handed.address == address)?;
        Some(self.sockets.swap_remove(at).socket)
    }

    /// The socket at this path, if it was handed over.
    pub fn unix(&mut self, role: Role, path: &Path) -> Option<UnixListener> {
        self.find(role, &of_path(path)).map(UnixListener::from)
    }

    /// The socket at this address.
    pub fn tcp(&mut self, role: Role, address: &std::net::SocketAddr) -> Option<TcpListener> {
        self.find(role, &format!("tcp:{address}")).map(TcpListener::from)
    }

    /// What nobody wanted is closed, and gone from the file system; answers the clients.
    pub fn close(self) -> Vec<HandedClient> {
        for Handed { address, socket, .. } in self.sockets {
            tracing::info!(address, "listens there no more");
            drop(socket);
            if let Some(path) = address.strip_prefix("unix:") {
                let _ = std::fs::remove_file(path);
            }
        }
        self.clients
    }
}

/// All that is said until the other side has ended, and the sockets that came with it, in order.
fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let (mut text, mut sockets) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 64 << 10];
    loop {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut chunk)];
        let received = recvmsg(stream.as_fd(), into, &mut beside, RecvFlags::CMSG_CLOEXEC)?;
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                sockets.extend(fds);
            }
        }
        if received.bytes == 0 {
            return Ok((text, sockets));
        }
        text.extend_from_slice(&chunk[..received.bytes]);
    }
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
        give(&ours, &[(Role::Nbd, format!("tcp:{address}"), tcp.as_fd())]).unwrap();
        let mut others = Vec::new();
        for (nth, (framing, _)) in FRAMINGS.into_iter().enumerate() {
            let (own, other) = UnixStream::pair().unwrap();
            let (export, peer) = (format!("a \"{nth}\"\n"), "unix:pid=1".to_owned());
            let ahead = vec![b'\n'; nth * 1000];
            others.push(other);
            let client = HandedClient { export, framing, allocation: nth > 0, peer, ahead, socket: own.into() };
            pass(&ours, &client).unwrap();
        }
        drop(ours);
        let (text, received) = receive(&theirs).unwrap();
        assert_eq!(received.len(), 4);
        let mut inherited = Inherited::of(&text, received).unwrap();
        assert!(inherited.tcp(Role::Metrics, &address).is_none(), "of another role");
        let again = inherited.tcp(Role::Nbd, &address).unwrap();
        assert_eq!(again.local_addr().unwrap(), address);
        assert!(inherited.tcp(Role::Nbd, &address).is_none(), "once only");
        for (nth, (client, mut other)) in inherited.close().into_iter().zip(others).enumerate() {
            assert_eq!((client.export, client.framing), (format!("a \"{nth}\"\n"), FRAMINGS[nth].0));
            assert_eq!((client.allocation, client.ahead.len()), (nth > 0, nth * 1000));
            UnixStream::from(client.socket).write_all(&[nth as u8]).unwrap();
            let mut byte = [9];
            io::Read::read_exact(&mut other, &mut byte).unwrap();
            assert_eq!(byte, [nth as u8], "each has its own socket");
        }
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused() {
        for text in ["", "no\n\n", "ok\nnbd tcp:127.0.0.1:1\n\n", "ok\n\n\n{}\n"] {
            assert!(Inherited::of(text.as_bytes(), Vec::new()).is_none(), "{text}");
        }
        let (ours, _) = UnixStream::pair().unwrap();
        assert!(Inherited::of(b"ok\ncellar tcp:127.0.0.1:1\n\n", vec![ours.into()]).is_none());
    }
}
