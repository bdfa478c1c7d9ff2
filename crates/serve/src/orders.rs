//! Messages from other threads to a shard: its only input besides its clients. A wakeup (an eventfd) announces a
//! message.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::connection::Who;
use crate::origin::Place;
use crate::tenant::Tenant;
use blksched_nbd::Session;
use rustix::event::{EventfdFlags, eventfd};

/// An order.
pub enum Order {
    /// Serve this client.
    Attach(Client),
    /// Answer this question.
    Ask(Question, Sender<Result<String, String>>),
    /// Copy all counters.
    Copy(Sender<Box<dyn Figures>>),
    /// Change the tenants.
    Change(Change, Sender<Result<String, String>>),
    /// Complete what is in flight, and end.
    Stop,
    /// Complete what is in flight, and then pause: the answer is the clients that another server can continue with,
    /// with the tenants' numbers as their exports.
    HandOver(Sender<Vec<Client>>),
    /// The other server does not continue: resume all of them.
    GoOn,
    /// The other server continues: end, and leave them alone.
    Leave,
}

/// Adds, removes or resizes a tenant; tenants are given by their numbers.
pub enum Change {
    /// Add one; its number is the next.
    Add(Box<Tenant>),
    /// Remove one.
    Remove {
        /// The tenant.
        tenant: usize,
        /// What to do if it has clients.
        how: Leave,
    },
    /// Resize one.
    Resize {
        /// The tenant.
        tenant: usize,
        /// Its new size \[bytes\].
        size: u64,
    },
}

/// What to do with an export that has clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Keep it.
    IfUnused,
    /// Disconnect them.
    Hard,
}

/// A client after its handshake.
pub struct Client {
    /// Who it is.
    pub who: Who,
    /// Its socket.
    pub socket: Arc<OwnedFd>,
    /// The agreed session; its export is the shard's own number of the tenant.
    pub session: Session,
    /// Bytes that it sent beyond the handshake.
    pub ahead: Vec<u8>,
    /// Its place among the connections of its origin, if these are counted.
    pub place: Option<Place>,
}

/// A copy of a disk's counters.
pub trait Figures: Send {
    /// The samples, a line each, of a disk with this name.
    fn text(&self, disk: &str, shown: ClientsShown) -> String;
}

/// How clients are named, and how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientsShown {
    /// All of them, as the log names them.
    AsLogged,
    /// This many of each disk, those that had most of it; by their slots and origins, so that a client that reconnects
    /// makes no new series.
    Busiest(usize),
}

/// The questions of `blksched ctl`. Names are those of sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A value.
    Get(String),
    /// Change a value.
    Set(String, String),
    /// List all names that begin like this, with their values.
    List(String),
    /// All counters, under this disk's name.
    Figures(String),
    /// Add an export, in the syntax of `--export`.
    Add(String),
    /// Remove an export.
    Remove(String, Leave),
    /// Resize an export; `None` for its file's size \[bytes\].
    Resize(String, Option<u64>),
}

/// The other threads' end.
#[derive(Clone)]
pub struct ControlHandle {
    sender: Sender<Order>,
    wakeup: Arc<OwnedFd>,
    /// The sockets of the clients that it was given.
    clients: Arc<Mutex<Vec<Weak<OwnedFd>>>>,
}

impl ControlHandle {
    /// A handle, and the shard's end of it.
    ///
    /// # Errors
    /// If there can be no more files.
    pub fn new() -> std::io::Result<(ControlHandle, Receiver<Order>, Arc<OwnedFd>)> {
        let (sender, receiver) = channel();
        let wakeup = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok((ControlHandle { sender, wakeup: wakeup.clone(), clients: Arc::default() }, receiver, wakeup))
    }

    /// Gives an order; a shard that has ended ignores it.
    pub fn order(&self, order: Order) {
        if let Order::Attach(client) = &order {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            if clients.len() == clients.capacity() {
                clients.retain(|client| client.strong_count() > 0);
            }
            clients.push(Arc::downgrade(&client.socket));
        }
        if self.sender.send(order).is_ok() {
            let _ = rustix::io::write(&self.wakeup, &1u64.to_ne_bytes());
        }
    }

    /// Ends the connections of all its clients, whatever the shard is doing: it cannot be waited for.
    pub fn cut_off(&self) {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        for socket in clients.iter().filter_map(Weak::upgrade) {
            let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
        }
    }
}
