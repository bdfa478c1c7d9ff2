//! vhost-user-blk: a guest's disk without NBD. The guest's requests are in memory that its monitor (QEMU, Cloud
//! Hypervisor) shares; here they become NBD requests on a socket of the export's shard, one per queue, and are checked,
//! shared and counted there like all others.
//!
//! A socket serves one export, and one guest at a time. The protocol with the monitor and the mapping of its memory are
//! rust-vmm's (`vhost-user-backend`); requests are in `ask`, a queue's path to the shard and back in `lane`, and the
//! guest's view of the device in `device`.

use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blksched_nbd::Export;
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::ServeError;
use crate::assemble::Serving;
use crate::listen::bind_unix;
use crate::log_limit;
use crate::orders::ControlHandle;

mod ask;
mod device;
mod guarded;
#[cfg(any(test, feature = "hostile"))]
pub mod hostile;
mod lane;

use device::VhostDevice;

/// The counter of clients.
pub type Numbers = Arc<AtomicU64>;

/// Where a guest's requests go.
#[derive(Clone)]
pub struct GuestTarget {
    /// The shard.
    pub control: ControlHandle,
    /// The tenant's number in the shard.
    pub tenant: usize,
    /// The export.
    pub export: Export,
}

impl GuestTarget {
    /// Where this export's requests go now.
    pub fn find(export: &str, serving: &Serving) -> Option<GuestTarget> {
        let at = serving.find(export)?;
        let place = serving.places[at];
        let control = serving.shards[place.shard].control.clone();
        Some(GuestTarget { control, tenant: place.tenant, export: serving.exports[at].clone() })
    }
}

/// Shared between the front and the endpoint's thread; `None` while there is no such export.
pub type ShownTarget = Arc<Mutex<Option<GuestTarget>>>;

/// A socket where a guest's monitor connects.
pub struct Endpoint {
    path: PathBuf,
    export: String,
    shown: ShownTarget,
    /// The listener, before the thread has it.
    listener: Option<UnixListener>,
    /// Whether another server has its place.
    away: Cell<bool>,
}

impl Endpoint {
    /// Opens it: only its owner may connect, until the socket's mode or owner is changed.
    ///
    /// # Errors
    /// If there can be no such socket.
    pub fn open(path: &Path, export: &str, serving: &Serving) -> Result<Endpoint, ServeError> {
        let failed = || ServeError::system(path.display().to_string());
        let listener = bind_unix(path).map_err(failed())?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed())?;
        listener.set_nonblocking(false).map_err(failed())?;
        let (path, export, shown) = (path.to_owned(), export.to_owned(), ShownTarget::default());
        let endpoint = Endpoint { path, export, shown, listener: Some(listener), away: Cell::new(false) };
        endpoint.show(serving);
        Ok(endpoint)
    }

    /// Starts accepting guests.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn begin(&mut self, numbers: &Numbers) -> Result<(), ServeError> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let (shown, numbers, path) = (self.shown.clone(), numbers.clone(), self.path.display().to_string());
        let failed = ServeError::system(path.clone());
        let life = move || live(listener, &shown, &numbers, &path);
        std::thread::Builder::new().name(format!("vhost-{}", self.export)).spawn(life).map_err(failed)?;
        Ok(())
    }

    /// Exports may have been added, removed or resized.
    pub fn show(&self, serving: &Serving) {
        *lock(&self.shown) = GuestTarget::find(&self.export, serving);
    }

    /// Lets another server open its own here, until this one [comes back](Endpoint::come_back).
    pub fn step_aside(&self) {
        if let Err(error) = std::fs::rename(&self.path, self.aside()) {
            tracing::warn!(path = %self.path.display(), %error, "vhost-user: stays where it is");
        }
        self.away.set(true);
    }

    /// The other server has not opened it, or is gone.
    pub fn come_back(&self) {
        if let Err(error) = std::fs::rename(self.aside(), &self.path) {
            tracing::warn!(path = %self.path.display(), %error, "vhost-user: clients can no longer connect");
        }
        self.away.set(false);
    }

    fn aside(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".before");
        name.into()
    }

    /// A line for people.
    pub fn says(&self) -> String {
        format!("vhost-user: {}  ({})", self.path.display(), self.export)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(if self.away.get() { self.aside() } else { self.path.clone() });
    }
}

/// Serves one guest after the other, until the server ends.
fn live(listener: UnixListener, shown: &ShownTarget, numbers: &Numbers, path: &str) {
    let mut listener = Listener::from(listener);
    loop {
        if let Err(error) = one_guest(&mut listener, shown, numbers, path) {
            if log_limit::admits(path) {
                tracing::warn!(path, error, "vhost-user: cut off");
            }
            // Whatever is wrong must not keep a processor busy.
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn one_guest(listener: &mut Listener, shown: &ShownTarget, numbers: &Numbers, path: &str) -> Result<(), String> {
    let device = Arc::new(VhostDevice::new(shown.clone(), numbers.clone(), path.into()));
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::<()>::new());
    let name = format!("vhost-user {path}");
    let mut daemon = VhostUserDaemon::new(name, device.clone(), memory).map_err(|error| error.to_string())?;
    daemon.start(listener).map_err(|error| error.to_string())?;
    device.begin(daemon.shutdown_handle());
    let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
    if log_limit::admits(path) {
        tracing::info!(client = number, path, "vhost-user: a monitor has connected");
    }
    let ended = daemon.wait();
    // What it waits for must not keep the queues' threads from ending.
    device.close();
    drop(daemon);
    // A queue may have opened its path while it was told to end.
    device.close();
    if log_limit::admits(path) {
        tracing::info!(client = number, path, "vhost-user: left");
    }
    if device.lost_its_memory() {
        return Err("its monitor took back memory that it had shared".to_owned());
    }
    use vhost::vhost_user::Error::{Disconnected, PartialMessage};
    use vhost_user_backend::Error::HandleRequest;
    match ended {
        Ok(()) | Err(HandleRequest(Disconnected | PartialMessage)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// A thread that panicked leaves nothing half done behind these locks.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
