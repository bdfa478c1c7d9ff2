//! The sockets that listen for clients.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blksched_nbd::{Address, Tls, Trust, Uri};
use nix::sys::socket::{UnixCredentials, getsockopt, sockopt::PeerCredentials};

use crate::ServeError;
use crate::config::Listen;
use crate::hand_over::{self, Inherited, SocketRole};

/// A listening socket.
pub enum Door {
    /// A Unix socket, with the path to remove at the end if this process created it.
    Unix(UnixListener, Option<PathBuf>),
    /// TCP.
    Tcp(TcpListener),
}

/// An accepted client.
pub struct NewClient {
    /// Its socket, which does not block.
    pub socket: OwnedFd,
    /// Its user, if known.
    pub uid: Option<u32>,
    /// Where it comes from, for the log.
    pub peer: Arc<str>,
}

impl Door {
    /// Opens the sockets of one address, or takes over those that were handed over.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open(listen: &Listen, role: SocketRole, inherited: &mut Inherited) -> Result<Vec<Door>, ServeError> {
        match listen {
            Listen::Unix(path) => {
                let listener = inherited.unix(role, path).map_or_else(|| bind_unix(path), Ok);
                let listener = listener.map_err(ServeError::system(path.display().to_string()))?;
                Ok(vec![Door::Unix(listener, Some(path.clone()))])
            }
            Listen::Tcp(address) => {
                let listener = inherited.tcp(role, address).map_or_else(|| TcpListener::bind(address), Ok);
                let listener = listener.map_err(ServeError::system(address.to_string()))?;
                listener.set_nonblocking(true).map_err(ServeError::system(address.to_string()))?;
                Ok(vec![Door::Tcp(listener)])
            }
            Listen::Systemd => from_systemd(),
        }
    }

    /// The next client, if one waits.
    ///
    /// # Errors
    /// If it has gone already, or there can be no more files.
    pub fn accept(&self) -> io::Result<Option<NewClient>> {
        let accepted = match self {
            Door::Unix(listener, _) => listener.accept().and_then(|(stream, _)| NewClient::unix(stream)),
            Door::Tcp(listener) => listener.accept().and_then(|(stream, address)| NewClient::tcp(stream, address)),
        };
        match accepted {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The TLS mode of clients at this socket, if the server has TLS: then TCP requires it.
    pub fn tls(&self, there: bool) -> Tls {
        match self {
            _ if !there => Tls::Absent,
            Door::Unix(..) => Tls::Offered,
            Door::Tcp(_) => Tls::Required,
        }
    }

    /// The URI of an export at this socket.
    pub fn uri(&self, export: &str, tls: Tls) -> Option<Uri> {
        let address = match self {
            Door::Unix(listener, path) => {
                let local = listener.local_addr().ok();
                let path = path.clone().or_else(|| local?.as_pathname().map(Path::to_owned))?;
                let path = std::path::absolute(path).ok()?;
                Address::Unix { path: path.to_str()?.to_owned() }
            }
            Door::Tcp(listener) => {
                let local = listener.local_addr().ok()?;
                let (host, port) = (local.ip().to_string(), local.port());
                match tls {
                    Tls::Required => Address::Tls { host, port, trust: Trust::default() },
                    _ => Address::Tcp { host, port },
                }
            }
        };
        Some(Uri { address, export: export.to_owned() })
    }

    /// Its name, for the next server; `None` if it is not ours to hand over.
    pub fn address(&self) -> Option<String> {
        match self {
            Door::Unix(_, path) => path.as_deref().map(hand_over::of_path),
            Door::Tcp(listener) => listener.local_addr().ok().map(|address| format!("tcp:{address}")),
        }
    }

    /// It belongs to the next server: it stays in the file system.
    pub fn leave(&mut self) {
        if let Door::Unix(_, path) = self {
            *path = None;
        }
    }

    /// The descriptor to wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Door::Unix(listener, _) => listener.as_fd(),
            Door::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Door::Unix(_, Some(path)) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl NewClient {
    /// A client on a Unix socket, whose user the kernel knows.
    pub fn unix(stream: UnixStream) -> io::Result<NewClient> {
        stream.set_nonblocking(true)?;
        let credentials = peer_of(&stream);
        let uid = credentials.map(|peer| peer.uid());
        let peer =
            credentials.map_or_else(|| "unix".to_owned(), |peer| format!("unix:pid={},uid={}", peer.pid(), peer.uid()));
        Ok(NewClient { socket: stream.into(), uid, peer: peer.into() })
    }

    fn tcp(stream: TcpStream, address: SocketAddr) -> io::Result<NewClient> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(NewClient { socket: stream.into(), uid: None, peer: format!("tcp:{address}").into() })
    }
}

/// The process at the other end of a Unix socket. Its number is 0 if it is outside of this one's PID namespace (a
/// container's), which rustix cannot represent.
pub fn peer_of(socket: &impl AsFd) -> Option<UnixCredentials> {
    // On a socket that is no Unix socket, the kernel says that the user is -1.
    getsockopt(socket, PeerCredentials).ok().filter(|peer| peer.uid() != u32::MAX)
}

/// A Unix socket at `path`. One left behind by a server that has ended is replaced.
pub fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            _ => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there already")),
        }
    }
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn from_systemd() -> Result<Vec<Door>, ServeError> {
    let mut passed = listenfd::ListenFd::from_env();
    let mut doors = Vec::new();
    for at in 0..passed.len() {
        let failed = || ServeError::system(format!("socket {at} from systemd"));
        if let Ok(Some(listener)) = passed.take_unix_listener(at) {
            listener.set_nonblocking(true).map_err(failed())?;
            doors.push(Door::Unix(listener, None));
            continue;
        }
        let Some(listener) = passed.take_tcp_listener(at).map_err(failed())? else { continue };
        listener.set_nonblocking(true).map_err(failed())?;
        doors.push(Door::Tcp(listener));
    }
    if doors.is_empty() {
        return Err(ServeError::Config("systemd passed no sockets (LISTEN_FDS is not set)".to_owned()));
    }
    Ok(doors)
}
