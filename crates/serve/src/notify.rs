//! Notifications to systemd (sd_notify): that the server serves, reloads, stops. Without systemd none are sent.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// The state of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// Clients may connect.
    Ready,
    /// The configuration is read again.
    Reloading,
    /// No more clients are accepted.
    Stopping,
}

/// Tells systemd; whether it listens does not matter.
pub fn notify(state: ServerState) {
    let Some(address) = std::env::var("NOTIFY_SOCKET").ok().and_then(|path| address(&path)) else { return };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let text = match state {
        ServerState::Ready => "READY=1\n".to_owned(),
        ServerState::Reloading => {
            let now = clock_gettime(ClockId::Monotonic);
            format!("RELOADING=1\nMONOTONIC_USEC={}\n", now.tv_sec * 1_000_000 + now.tv_nsec / 1000)
        }
        ServerState::Stopping => "STOPPING=1\n".to_owned(),
    };
    let _ = socket.send_to_addr(text.as_bytes(), &address);
}

/// A path, or an abstract name after an `@`.
fn address(path: &str) -> Option<SocketAddr> {
    match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(path).ok(),
    }
}
