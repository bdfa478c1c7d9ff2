//! A fair NBD server: Linux's disk schedulers between many clients and one real disk.
//!
//! An export is a tenant; tenants on one disk share it by weight. Each disk has a *shard*: one thread that owns an
//! io_uring, its clients' sockets and the block queue with its elevator ([`shard`](Shard)). The *front* thread accepts
//! clients, performs their handshakes, answers `blksched ctl`, and hands each client to the shard of its export. The
//! data path does not cross threads.
//!
//! On systems other than Linux this crate is empty.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what starts programs here is no test")]

mod access;
mod answers;
mod assemble;
mod backend;
mod buffer;
mod caps;
mod captive;
mod claims;
pub mod client;
mod config;
mod connection;
mod control;
mod ending;
mod engine;
mod export_spec;
mod exports;
mod figures;
mod front;
mod hand_over;
mod handshaking;
mod health;
mod latency;
mod layout;
mod listen;
mod log_limit;
mod memory;
mod memory_back;
mod metrics;
pub mod mount;
mod notify;
mod orders;
mod origin;
mod policies;
mod pulse;
mod record;
mod reload;
mod shard;
mod tenant;
mod tls;
mod turns;
mod tx_queue;
mod ublk;
mod vhost;

/// The target of the events that say who came, who left, who was turned away, and who changed what.
pub const AUDIT: &str = "blksched_serve::audit";

pub use access::{AccessRule, RuleError, may_open};
pub use caps::Limit;
pub use config::{
    Access, Arrival, Caching, DepthChoice, DiskConfig, ExportConfig, ExportSource, Listen, Locking, ServerConfig,
    Share, Shares, TlsFiles, TotalMemory,
};
pub use control::{AskError, ask};
pub use ending::{Ending, StopSwitch};
pub use engine::EngineKind;
pub use export_spec::SpecError;
pub use orders::{Leave, Question};
pub use policies::{WrittenFiles, check as check_policies};
pub use reload::Reload;
pub use shard::Shard;
pub use ublk::{DeviceState as UblkState, Info as UblkInfo, UblkConfig, UblkDevice, remove_ublk, ublk_devices};
#[cfg(feature = "hostile")]
pub use vhost::hostile;

use blksched::Catalogue;

/// Why a server could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration is impossible.
    #[error("{0}")]
    Config(String),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl ServeError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ServeError {
        let what = what.into();
        move |source| ServeError::System { what, source }
    }
}

/// Checks that the exports of a configuration can be served: their names, files, ranges and disks. Nothing is started
/// or locked, so it may be asked while a server has them.
///
/// # Errors
/// The first export that cannot, and why.
pub fn check_exports(config: &ServerConfig) -> Result<(), ServeError> {
    assemble::try_exports(config)
}

/// Checks the files of TLS.
///
/// # Errors
/// Which file is wrong, and why.
pub fn check_tls(files: &TlsFiles) -> Result<(), ServeError> {
    tls::Tls::open(files).map(drop)
}

/// Serves until told to stop ([`ServerConfig::ending`], the end of the captive command); returns the exit code.
/// Messages for a person are passed to `say`, a line at a time.
///
/// # Errors
/// If the server cannot start, or a disk's thread fails.
pub fn serve(config: ServerConfig, catalogue: &Catalogue, say: &mut dyn FnMut(&str)) -> Result<u8, ServeError> {
    if let Some(note) = config.elevator.note() {
        tracing::warn!("{note}");
    }
    let inherited = match (config.arrival, &config.control) {
        (Arrival::TakesOver, Some(control)) => hand_over::Inherited::take(control, config.stop_patience())?,
        _ => hand_over::Inherited::default(),
    };
    let serving = assemble::assemble(&config, catalogue)?;
    front::Front::open(&config, inherited, serving, say)?.run(config, say)
}
