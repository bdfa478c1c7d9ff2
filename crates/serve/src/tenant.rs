//! A tenant: an export, its back end, its share of the disk, and its usage.

use std::collections::VecDeque;

use blksched::cgroup::files::{self, Written};
use blksched::{GroupId, Instant, Priority, Sector, Span};
use blksched_nbd::{BlockSize, Command, Errno, Export, Features, LARGEST_PAYLOAD, Request};

use crate::backend::{Backend, SECTOR};
use crate::buffer::Pool;
use crate::caps::Caps;
use crate::config::{Access, ExportConfig, Share};
use crate::health::Health;
use crate::latency::Latencies;
use crate::policies::WrittenFiles;
use crate::shard::Changes;

/// Whether a tenant is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantLife {
    /// It is served.
    Here,
    /// It takes no more clients.
    Leaving,
    /// Only its number is left.
    Gone,
}

/// One tenant of a disk.
pub struct Tenant {
    /// Whether it is still there.
    pub life: TenantLife,
    /// Its export, as clients see it.
    pub export: Export,
    /// Where its data is.
    pub backend: Backend,
    /// Where it begins among the disk's sectors.
    pub base: Sector,
    /// Its group for the scheduler.
    pub group: GroupId,
    /// Its share.
    pub share: Share,
    /// The texts written to its `io` files.
    pub files: WrittenFiles,
    /// Its caps, with their present levels.
    pub caps: Caps,
    /// Its writes, TRIMs and zeroes.
    pub changes: Changes,
    /// Pieces that wait for its caps.
    pub gate: VecDeque<u32>,
    /// Its memory.
    pub pool: Pool,
    /// Its connections that wait for memory, and hold none.
    pub line: VecDeque<usize>,
    /// When its file was last checked, and whether it was as long as the export.
    pub whole: (Instant, bool),
    /// What must be made stable.
    pub stability: Stability,
    /// What it has written since the device was last flushed \[bytes\].
    pub unflushed: u64,
    /// When its next flush may go, while others want the disk.
    pub flushes_from: Instant,
    /// Flushes that wait for that time.
    pub held_flushes: Vec<u32>,
    /// The number of its clients.
    pub connections: u32,
    /// The number of their requests in flight, including those that are not answered.
    pub outstanding: u32,
    /// Its statistics.
    pub used: TenantUse,
    /// What its operator should know of its device.
    pub health: Health,
}

/// What a flush has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stability {
    /// Something was written since the last sync began.
    pub unsynced: bool,
    /// Syncs in flight.
    pub syncing: u32,
    /// A sync of its device has failed: what was acknowledged may be lost, and no later sync can say otherwise.
    pub broken: bool,
}

impl Stability {
    /// At the start: what an earlier server left in the page cache is not stable either.
    pub const AT_START: Stability = Stability { unsynced: true, syncing: 0, broken: false };

    /// Whether everything that was replied to is stable.
    pub fn is_settled(self) -> bool {
        !self.unsynced && self.syncing == 0 && !self.broken
    }
}

/// The statistics of a tenant, or of a client, as far as they are known of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantUse {
    /// Reads done.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Writes done.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Flushes done.
    pub flushes: u64,
    /// Requests that failed in the back end.
    pub errors: u64,
    /// Its device time: when several commands are in the device, each has its part.
    pub in_device: Span,
    /// Bios that were cancelled, as they were no longer wanted.
    pub cancelled: u64,
    /// The latencies of its requests.
    pub latency: Latencies,
    /// The longest of its flushes, from when the device got it.
    pub longest_flush: Span,
}

impl TenantUse {
    /// Records an answered request with its latency.
    pub fn answered(&mut self, request: &Request, took: Span, error: Option<Errno>) {
        self.latency.record(request.command, took);
        match request.command {
            _ if error.is_some() => {}
            Command::Read => {
                self.reads += 1;
                self.bytes_read += request.length;
            }
            Command::Write(_) => {
                self.writes += 1;
                self.bytes_written += request.length;
            }
            Command::Flush => self.flushes += 1,
            _ => {}
        }
    }
}

impl Tenant {
    /// A tenant of a back end that is open.
    pub fn new(config: &ExportConfig, backend: Backend, base: Sector, group: GroupId, memory: usize) -> Tenant {
        let mut caps = Caps::default();
        caps.set_bytes(Instant::ZERO, config.share.bytes);
        caps.set_ops(Instant::ZERO, config.share.ops);
        Tenant {
            life: TenantLife::Here,
            export: export(config, &backend),
            backend,
            base,
            group,
            share: config.share,
            files: config.files.clone(),
            caps,
            changes: Changes::default(),
            gate: VecDeque::new(),
            pool: Pool::new(memory),
            line: VecDeque::new(),
            whole: (Instant::ZERO, true),
            stability: Stability::AT_START,
            unflushed: 0,
            flushes_from: Instant::ZERO,
            held_flushes: Vec::new(),
            connections: 0,
            outstanding: 0,
            used: TenantUse::default(),
            health: Health::new(Instant::ZERO),
        }
    }

    /// Whether something of it waits for its caps, or for its time.
    pub fn is_held_up(&self) -> bool {
        !self.gate.is_empty() || !self.held_flushes.is_empty()
    }

    /// When what is held up may continue.
    pub fn goes_on(&mut self, now: Instant) -> Option<Instant> {
        let gate = (!self.gate.is_empty()).then(|| self.caps.opens(now).unwrap_or(now));
        let flush = (!self.held_flushes.is_empty()).then_some(self.flushes_from);
        [gate, flush].into_iter().flatten().min()
    }

    /// Its I/O priority, as its `io.prio.class` makes it.
    pub fn priority(&self) -> Priority {
        let own = self.share.priority;
        match files::parse("io.prio.class", &self.files.read("io.prio.class")) {
            Ok(Written::PrioClass(policy)) => policy.apply(own),
            _ => own,
        }
    }

    /// Whether it may only be read.
    pub fn is_read_only(&self) -> bool {
        self.export.features.read_only
    }

    /// The sector of the disk at an offset of the export.
    pub fn sector(&self, offset: u64) -> Sector {
        Sector(self.base.0 + offset / SECTOR)
    }

    /// The offset of the export at a sector of the disk.
    pub fn offset(&self, sector: Sector) -> u64 {
        (sector.0 - self.base.0) * SECTOR
    }
}

/// The export as clients see it.
fn export(config: &ExportConfig, backend: &Backend) -> Export {
    let features = Features {
        read_only: config.access == Access::ReadOnly,
        rotational: backend.rotational,
        cache: backend.keeps_what_is_read(),
        ..Features::default()
    };
    Export {
        name: config.name.clone(),
        description: config.description.clone(),
        size: backend.size,
        features,
        block_size: BlockSize { minimum: 1, preferred: backend.block.max(4096), maximum: LARGEST_PAYLOAD },
    }
}
