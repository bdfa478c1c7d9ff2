//! Messages from other threads to a shard: its only input besides its clients. A wakeup (an eventfd) announces a
//! message.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::connection::Who;
use crate::tenant::Tenant;
use blksched_nbd::Session;
use rustix::event::{EventfdFlags, eventfd};

/// An order.
pub enum Order {
    /// Serve this client.
    Attach(Client),
    /// Answer this question.
    Ask(Question, Sender<Result<String, String>>),
    /// Have other tenants than before.
    Change(Change, Sender<Result<String, String>>),
    /// Serve what is under way, and end.
    Stop,
    /// Serve what is under way, and then nothing: these are the clients that another server can go on with, the
    /// tenants' numbers as their exports.
    HandOver(Sender<Vec<Client>>),
    /// It does not: go on with all of them.
    GoOn,
    /// It does: end, and leave them alone.
    Leave,
}

/// Another tenant, one less, or one of another size; tenants by their numbers.
pub enum Change {
    /// Another one; its number is the next.
    Add(Box<Tenant>),
    /// One less.
    Remove {
        /// Which.
        tenant: usize,
        /// What if it has clients?
        how: Leave,
    },
    /// Another size.
    Resize {
        /// Which.
        tenant: usize,
        /// Its size from now on \[bytes\].
        size: u64,
    },
}

/// May an export go that has clients?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// No.
    IfUnused,
    /// They are cut off.
    Hard,
}

/// A client whose handshake is over.
pub struct Client {
    /// Who it is.
    pub who: Who,
    /// Its socket.
    pub socket: OwnedFd,
    /// What was agreed on; its export is the shard's own number of the tenant.
    pub session: Session,
    /// What it sent beyond the handshake.
    pub ahead: Vec<u8>,
}

/// What `blksched ctl` may ask. Names are those of sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A value.
    Get(String),
    /// Change a value.
    Set(String, String),
    /// All names that begin like this, with their values.
    List(String),
    /// Everything that is counted, for this disk's name.
    Figures(String),
    /// Another export, as `--export` has it.
    Add(String),
    /// One export less.
    Remove(String, Leave),
    /// Another size of an export; none: its file's \[bytes\].
    Resize(String, Option<u64>),
}

/// The other threads' end.
#[derive(Clone)]
pub struct ControlHandle {
    sender: Sender<Order>,
    wakeup: Arc<OwnedFd>,
}

impl ControlHandle {
    /// A handle, and the shard's end of it.
    ///
    /// # Errors
    /// If there can be no more files.
    pub fn new() -> std::io::Result<(ControlHandle, Receiver<Order>, Arc<OwnedFd>)> {
        let (sender, receiver) = channel();
        let wakeup = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok((ControlHandle { sender, wakeup: wakeup.clone() }, receiver, wakeup))
    }

    /// Give an order; a shard that has ended hears nothing.
    pub fn order(&self, order: Order) {
        if self.sender.send(order).is_ok() {
            let _ = rustix::io::write(&self.wakeup, &1u64.to_ne_bytes());
        }
    }
}
