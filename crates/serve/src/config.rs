//! A server's configuration: its exports and disks, the scheduler, its addresses, its limits.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blksched::{Choice, Class, Priority, Span};
use blksched_disks::stack::DiskOrStack;

use crate::access::AccessRule;
use crate::buffer::Budget;
use crate::caps::Limit;
use crate::ending::Ending;
use crate::engine::EngineKind;
use crate::policies::WrittenFiles;
use crate::pulse::SYNCS;
use crate::reload::Reload;
use crate::ublk::UblkConfig;

/// The configuration of a whole server.
pub struct ServerConfig {
    /// Its exports, in the order in which they are listed.
    pub exports: Vec<ExportConfig>,
    /// The scheduler of every disk.
    pub elevator: Choice,
    /// Knobs that differ from their defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// What keeps the tenants' shares.
    pub shares: Shares,
    /// What is written to the disks' `io.cost.qos` and `io.cost.model`.
    pub disk_files: WrittenFiles,
    /// The depth of a disk.
    pub depth: DepthChoice,
    /// Disks with other settings.
    pub disks: Vec<DiskConfig>,
    /// The largest request \[512-byte sectors\]; `None` for the default of the scheduler's kernel.
    pub max_sectors: Option<u32>,
    /// How files are opened.
    pub caching: Caching,
    /// How I/O is done.
    pub engine: EngineKind,
    /// How much data each export may have in flight \[bytes\].
    pub memory: usize,
    /// The same for all exports together.
    pub total_memory: TotalMemory,
    /// A disk of the simulator, in real time, in front of every back end: its errors and its slowness.
    pub model: Option<DiskOrStack>,
    /// Where clients connect.
    pub listen: Vec<Listen>,
    /// Where a guest's monitor connects by vhost-user: the export, and the socket.
    pub vhost: Vec<(String, PathBuf)>,
    /// Exports that are also block devices of this machine.
    pub ublk: Vec<UblkConfig>,
    /// The server's certificate for clients with TLS, and the authorities of theirs; `None` for no TLS.
    pub tls: Option<TlsFiles>,
    /// Where `blksched ctl` connects.
    pub control: Option<PathBuf>,
    /// Where Prometheus connects.
    pub metrics: Option<Listen>,
    /// Which client may open what; empty for no restriction.
    pub rules: Vec<AccessRule>,
    /// Where to record every decision.
    pub record: Option<PathBuf>,
    /// How long a client may take for its handshake, and how long a stop waits for clients.
    pub patience: Span,
    /// Whether it is the first server, or takes another's place.
    pub arrival: Arrival,
    /// How to read the configuration again, after a SIGHUP.
    pub reload: Option<Reload>,
    /// A command to run; the server ends with it.
    pub run: Option<String>,
    /// What else ends it.
    pub ending: Ending,
}

impl ServerConfig {
    /// The settings of this disk.
    pub fn of_disk(&self, name: &str) -> DiskConfig {
        let own = self.disks.iter().find(|disk| disk.name == name).cloned();
        own.unwrap_or_else(|| DiskConfig {
            name: name.to_owned(),
            elevator: self.elevator.clone(),
            knobs: self.knobs.clone(),
            depth: self.depth,
        })
    }

    /// How long a stop may take: for its clients, and for making data stable after them.
    pub fn stop_patience(&self) -> Duration {
        Duration::from_nanos(self.patience.as_ns()) + SYNCS
    }
}

/// A limit of the memory of all exports together.
#[derive(Clone)]
pub struct TotalMemory {
    pub(crate) limit: usize,
    pub(crate) budget: Arc<Budget>,
}

impl TotalMemory {
    /// This many bytes.
    pub fn of(limit: usize) -> TotalMemory {
        TotalMemory { limit, budget: Arc::new(Budget::new(limit)) }
    }
}

/// How many requests a disk gets at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthChoice {
    /// So many.
    Fixed(u32),
    /// As many as keep it busy, and hardly more: see `docs/serve.md`.
    Auto,
}

impl DepthChoice {
    /// What a disk may be given.
    pub const RANGE: core::ops::RangeInclusive<u32> = 1..=1024;
    /// Why a disk cannot find its depth.
    pub const NEEDS_TURNS: &str =
        "`depth auto` works only with the shares `time`; with the shares `scheduler` give a number";
}

impl fmt::Display for DepthChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DepthChoice::Fixed(depth) => depth.fmt(f),
            DepthChoice::Auto => f.write_str("auto"),
        }
    }
}

impl std::str::FromStr for DepthChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DepthChoice, String> {
        let number = || text.parse().ok().filter(|depth| DepthChoice::RANGE.contains(depth)).map(DepthChoice::Fixed);
        let depth = if text == "auto" { Some(DepthChoice::Auto) } else { number() };
        let (least, most) = (DepthChoice::RANGE.start(), DepthChoice::RANGE.end());
        depth.ok_or_else(|| format!("expected {least}..={most} or auto, not `{text}`"))
    }
}

/// The settings of one disk.
#[derive(Clone, Debug)]
pub struct DiskConfig {
    /// Its name.
    pub name: String,
    /// Its scheduler.
    pub elevator: Choice,
    /// Knobs that differ from their defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// Its depth.
    pub depth: DepthChoice,
}

/// How a server begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// With sockets of its own.
    #[default]
    First,
    /// With the sockets of the server at its control socket, which then ends; if there is none, with its own.
    TakesOver,
}

/// Files of TLS, each as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients' certificates; `None` if clients need no certificate.
    pub clients: Option<PathBuf>,
    /// Lists of revoked certificates of clients; `None` for no check.
    pub revoked: Option<PathBuf>,
}

/// One export: a tenant.
#[derive(Clone, Debug)]
pub struct ExportConfig {
    /// Its name.
    pub name: String,
    /// Where its data is.
    pub source: ExportSource,
    /// Its disk; `None` to find it out. Exports with the same disk share it.
    pub disk: Option<String>,
    /// For people.
    pub description: String,
    /// Whether it may be written.
    pub access: Access,
    /// Whether its file is locked against other programs.
    pub locking: Locking,
    /// Its share.
    pub share: Share,
    /// What is written to its `io` files.
    pub files: WrittenFiles,
}

/// A tenant's part of its disk.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Its share among the tenants of its disk, like a cgroup's weight.
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

/// A priority with another class. As with ionice, a class without a level has level 4.
pub fn with_class(old: Priority, class: Class) -> Priority {
    match (old.class, class) {
        (_, Class::None) => Priority::default(),
        (Class::None, _) => Priority { class, level: Priority::NORMAL.level },
        _ => Priority { class, ..old },
    }
}

/// A priority with another level. As with ionice, a level without a class is one of best effort.
pub fn with_level(old: Priority, level: u8) -> Priority {
    match old.class {
        Class::None => Priority { level, ..Priority::NORMAL },
        class => Priority { class, level },
    }
}

/// Whether an export may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Yes.
    ReadWrite,
    /// No.
    ReadOnly,
}

/// What keeps the shares of a disk's tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// The server, in front of any scheduler: by measured device time.
    #[default]
    ByTime,
    /// The scheduler, by its groups, if it has any.
    ByScheduler,
}

impl Shares {
    /// The words in options.
    pub const ALL: [(&str, Shares); 2] = [("time", Shares::ByTime), ("scheduler", Shares::ByScheduler)];
}

/// Whether a served file is locked against other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locking {
    /// Yes, against those that check locks: other servers, and QEMU.
    #[default]
    On,
    /// No.
    Off,
}

/// Where an export's data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportSource {
    /// A file or block device, or a range of it.
    File {
        /// Its path.
        path: PathBuf,
        /// Where the export begins in it \[bytes\].
        offset: u64,
        /// The export's size; `None` for up to the end \[bytes\].
        size: Option<u64>,
    },
    /// Memory, this many bytes of it.
    Memory(u64),
}

/// How files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Bypassing the page cache where possible (O_DIRECT): the scheduler then sees what the disk does.
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
    /// The sockets opened by systemd (`LISTEN_FDS`).
    Systemd,
}
