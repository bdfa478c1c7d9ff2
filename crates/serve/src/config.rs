//! A server's configuration: its exports and disks, the scheduler, its addresses, its limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use blksched::{Choice, Priority, Span};
use blksched_disks::DiskSpec;

use crate::access::AccessRule;
use crate::caps::Limit;
use crate::engine::EngineKind;
use crate::policies::WrittenFiles;
use crate::reload::Reload;
use crate::ublk::UblkConfig;

/// How long the last sync of a server that ends may take.
const SYNC: Duration = Duration::from_secs(60);

/// A whole server.
pub struct ServerConfig {
    /// What it offers, in the order in which it is listed.
    pub exports: Vec<ExportConfig>,
    /// The scheduler of every disk.
    pub elevator: Choice,
    /// Its knobs that differ from their defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// Who keeps the tenants' shares.
    pub shares: Shares,
    /// What is written to the disks' `io.cost.qos` and `io.cost.model`.
    pub disk_files: WrittenFiles,
    /// How many requests a disk gets at a time.
    pub depth: u32,
    /// Disks that differ from that.
    pub disks: Vec<DiskConfig>,
    /// The largest request \[512-byte sectors\]; none: the scheduler's kernel's own.
    pub max_sectors: Option<u32>,
    /// How files are opened.
    pub caching: Caching,
    /// How I/O is done.
    pub engine: EngineKind,
    /// How much data each export may have under way \[bytes\].
    pub memory: usize,
    /// A disk of the simulator, in real time, in front of every back end: its errors and its slowness.
    pub model: Option<DiskSpec>,
    /// Where clients connect.
    pub listen: Vec<Listen>,
    /// Where a guest's monitor connects with vhost-user: the export, and the socket.
    pub vhost: Vec<(String, PathBuf)>,
    /// Which exports are block devices of this machine, too.
    pub ublk: Vec<UblkConfig>,
    /// Who the server is to clients with TLS, and who they must be; none: there is no TLS.
    pub tls: Option<TlsFiles>,
    /// Where `blksched ctl` connects.
    pub control: Option<PathBuf>,
    /// Where Prometheus asks.
    pub metrics: Option<Listen>,
    /// Who may open what; empty: every client everything.
    pub rules: Vec<AccessRule>,
    /// Where to record every decision.
    pub record: Option<PathBuf>,
    /// How long a client may take for its handshake, and how long a stop waits for clients.
    pub patience: Span,
    /// Is it the first, or does it take another server's place?
    pub arrival: Arrival,
    /// How to read all this again, at a SIGHUP.
    pub reload: Option<Reload>,
    /// A command to run, and to end with.
    pub run: Option<String>,
}

impl ServerConfig {
    /// What this disk is told.
    pub fn of_disk(&self, name: &str) -> DiskConfig {
        let own = self.disks.iter().find(|disk| disk.name == name).cloned();
        own.unwrap_or_else(|| DiskConfig {
            name: name.to_owned(),
            elevator: self.elevator.clone(),
            knobs: self.knobs.clone(),
            depth: self.depth,
        })
    }

    /// How long a stop may take: its clients', and what it makes stable after them.
    pub fn stop_patience(&self) -> Duration {
        Duration::from_nanos(self.patience.as_ns()) + SYNC
    }
}

/// What one disk is told.
#[derive(Clone, Debug)]
pub struct DiskConfig {
    /// Its name.
    pub name: String,
    /// Its scheduler.
    pub elevator: Choice,
    /// Its knobs that differ from their defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// How many requests it gets at a time.
    pub depth: u32,
}

/// How a server begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// With sockets of its own.
    #[default]
    First,
    /// With those of the server at its control socket, which then ends; if there is none, with its own.
    TakesOver,
}

/// Files of TLS, each as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Who signs clients' certificates; none: clients need no certificate.
    pub clients: Option<PathBuf>,
}

/// One export: a tenant.
#[derive(Clone, Debug)]
pub struct ExportConfig {
    /// Its name.
    pub name: String,
    /// What is behind it.
    pub source: ExportSource,
    /// The disk it is on; none: found out. Exports with the same disk share it.
    pub disk: Option<String>,
    /// For people.
    pub description: String,
    /// May it be written?
    pub access: Access,
    /// Are other programs kept from its file?
    pub locking: Locking,
    /// Its share.
    pub share: Share,
    /// What is written to its `io` files.
    pub files: WrittenFiles,
}

/// A tenant's part of its disk.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its share among the tenants of its disk, as a cgroup's weight.
    pub weight: u32,
    /// Its I/O priority.
    pub priority: Priority,
    /// A cap on bytes per second.
    pub bytes: Option<Limit>,
    /// A cap on operations per second.
    pub ops: Option<Limit>,
}

impl Default for Share {
    fn default() -> Share {
        Share { weight: 100, priority: Priority::default(), bytes: None, ops: None }
    }
}

/// May an export be written?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Yes.
    ReadWrite,
    /// No.
    ReadOnly,
}

/// Who keeps the shares of a disk's tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// The server, in front of any scheduler: by the device's time, measured.
    #[default]
    ByTime,
    /// The scheduler, by its groups, if it has any.
    ByScheduler,
}

impl Shares {
    /// As a user says it.
    pub const ALL: [(&str, Shares); 2] = [("time", Shares::ByTime), ("scheduler", Shares::ByScheduler)];
}

/// Are other programs kept from a file that is served?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locking {
    /// Those that look at locks are: other servers, and QEMU.
    #[default]
    On,
    /// No.
    Off,
}

/// What is behind an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportSource {
    /// A file or block device, or a range of it.
    File {
        /// Its path.
        path: PathBuf,
        /// Where the export begins in it \[bytes\].
        offset: u64,
        /// The export's size; none: up to the end \[bytes\].
        size: Option<u64>,
    },
    /// Memory, this many bytes of it.
    Memory(u64),
}

/// How files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Past the page cache where that is possible (O_DIRECT): the scheduler then sees what the disk does.
    #[default]
    Direct,
    /// Through the page cache.
    PageCache,
}

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP.
    Tcp(SocketAddr),
    /// The sockets that systemd has opened (`LISTEN_FDS`).
    Systemd,
}
