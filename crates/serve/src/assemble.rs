//! From a configuration to running shards: back ends are opened, disks found, threads started.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use blksched::{Catalogue, Choice, GroupId, Limits, Plugging, QueueConfig, Sector, Silence};
use blksched_conformance::calls::LoggedQueue;
use blksched_nbd::Export;

use crate::ServeError;
use crate::backend::{Backend, Identity, SECTOR, Store};
use crate::buffer::{LARGEST, Pool};
use crate::claims::Claims;
use crate::config::{ExportConfig, ServerConfig, Source};
use crate::engine;
use crate::orders::Desk;
use crate::policies::{self, Setting};
use crate::record::{self, Log, Trace};
use crate::shard::{Parts, Shard};
use crate::tenant::Tenant;

/// Between two back ends on one disk, so that nothing merges across them \[sectors\].
const GAP: u64 = 2048;
/// Requests of at least so much: a reply of 32 MiB then has few enough pieces for one send \[sectors\].
const LEAST_MAX_SECTORS: u32 = 256;

/// A shard that runs.
pub struct Running {
    /// Its disk.
    pub name: String,
    /// Where orders are given.
    pub desk: Desk,
    /// Its thread.
    pub thread: JoinHandle<Result<(), ServeError>>,
}

/// Where an export is served.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// By which shard.
    pub shard: usize,
    /// As which of its tenants.
    pub tenant: usize,
}

/// Everything that serves.
pub struct House {
    /// The exports, as clients see them, in the configuration's order.
    pub exports: Vec<Export>,
    /// Where each is served.
    pub places: Vec<Place>,
    /// The shards.
    pub shards: Vec<Running>,
    /// The locks on their files.
    #[expect(dead_code, reason = "kept for its locks alone")]
    pub claims: Claims,
}

/// A disk before it runs.
struct Plan {
    name: String,
    tenants: Vec<Tenant>,
    /// Where the next back end begins.
    next: u64,
    /// Where each file begins.
    files: BTreeMap<Identity, Sector>,
}

/// Open everything and start the shards.
///
/// # Errors
/// If an export cannot be opened, a knob or weight does not fit, or a thread cannot start.
pub fn assemble(config: &ServerConfig, catalogue: &Catalogue) -> Result<House, ServeError> {
    check(config)?;
    policies::check(config).map_err(ServeError::Config)?;
    let mut plans: Vec<Plan> = Vec::new();
    let mut claims = Claims::default();
    let (mut exports, mut places) = (Vec::new(), Vec::new());
    for export in &config.exports {
        let failed = |why| ServeError::Config(format!("export {}: {why}", export.name));
        let backend = Backend::open(export, config.caching).map_err(failed)?;
        let disk = export.disk.clone().unwrap_or_else(|| backend.disk.clone());
        if let (Source::File { path, .. }, Some(identity)) = (&export.source, backend.identity) {
            let claimed = claims.claim((&export.name, &disk), (path, identity), export.access, export.locking);
            claimed.map_err(failed)?;
        }
        let shard = plans.iter().position(|plan| plan.name == disk).unwrap_or_else(|| {
            plans.push(Plan { name: disk, tenants: Vec::new(), next: 0, files: BTreeMap::new() });
            plans.len() - 1
        });
        let tenant = plans[shard].add(export, backend, config.memory).map_err(failed)?;
        exports.push(plans[shard].tenants[tenant].export.clone());
        places.push(Place { shard, tenant });
    }
    let shards = plans.into_iter().map(|plan| plan.start(config, catalogue)).collect::<Result<Vec<_>, _>>()?;
    Ok(House { exports, places, shards, claims })
}

fn check(config: &ServerConfig) -> Result<(), ServeError> {
    let mut names: Vec<&str> = config.exports.iter().map(|export| export.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ServeError::Config(format!("two exports are called `{}`", pair[0])));
    }
    for rule in &config.rules {
        if let Some(name) = rule.export().filter(|name| !names.contains(name)) {
            let near = blksched::nearest(name, names.iter().copied()).map(|near| format!("; the nearest is `{near}`"));
            return Err(ServeError::Config(format!("no export is called `{name}`{}", near.unwrap_or_default())));
        }
    }
    Ok(())
}

impl Plan {
    /// Another tenant of this disk; answers its number. Ranges of one file lie as in the file, all of which has its
    /// place from its first range on.
    fn add(&mut self, export: &ExportConfig, backend: Backend, memory: usize) -> Result<usize, String> {
        let number = self.tenants.len();
        let (first, offset) = match &export.source {
            Source::File { offset, .. } => {
                let identity = backend.identity.expect("a file has one");
                (self.files.entry(identity).or_insert(Sector(self.next)).0, *offset)
            }
            Source::Memory(_) => (self.next, 0),
        };
        self.next = self.next.max(first + backend.whole.div_ceil(SECTOR) + GAP).next_multiple_of(GAP);
        let tenant = Tenant::new(export, backend, Sector(first + offset / SECTOR), GroupId(number as u32 + 1), memory);
        if let Some(other) = self
            .tenants
            .iter()
            .find(|other| other.overlaps(&tenant) && !(other.is_read_only() || tenant.is_read_only()))
        {
            let other = &other.export.name;
            return Err(format!("it overlaps export {other}, and both may be written: one of them must be `ro`"));
        }
        self.tenants.push(tenant);
        Ok(number)
    }

    fn start(self, config: &ServerConfig, catalogue: &Catalogue) -> Result<Running, ServeError> {
        let Plan { name, tenants, next, .. } = self;
        let model = config.model.as_ref().map(|spec| spec.build(1));
        let mut queue = queue_config(config, &tenants);
        if let Some(facts) = model.as_ref().map(|model| model.facts()) {
            if facts.sectors < next {
                let why = format!("disk {name}: the model has {} sectors, and {next} are served", facts.sectors);
                return Err(ServeError::Config(why));
            }
            if facts.max_sectors < LEAST_MAX_SECTORS {
                let (has, least) = (facts.max_sectors / 2, LEAST_MAX_SECTORS / 2);
                let why =
                    format!("disk {name}: the model's commands are of at most {has} KiB; at least {least} are needed");
                return Err(ServeError::Config(why));
            }
            if facts.depth < queue.depth {
                tracing::info!(
                    disk = name,
                    asked = queue.depth,
                    depth = facts.depth,
                    "the model takes no more at a time"
                );
            }
            queue.depth = queue.depth.min(facts.depth);
            queue.limits.max_sectors = queue.limits.max_sectors.min(facts.max_sectors);
            queue.limits.rotational = facts.rotational;
        }
        let largest_piece = largest_piece(config, &queue)?;
        let trace = config.record.as_deref().map(|directory| Trace::begin(directory, &name)).transpose()?;
        let log = config.record.as_deref().map(|directory| Log::begin(directory, &name)).transpose()?;
        let (desk, orders, bell) = Desk::new().map_err(ServeError::system("making an eventfd"))?;
        let (setting, disk_files) = (Setting::of(config), config.disk_files.clone());
        let (elevator, knobs) = (config.elevator.clone(), config.knobs.clone());
        let (catalogue, kind, patience, disk) = (catalogue.clone(), config.engine, config.patience, name.clone());
        let (ready, started) = channel();
        // An io_uring belongs to the thread that makes it.
        let life = move || {
            let engine = engine::make(kind, 1024).map_err(ServeError::system("starting the I/O engine"))?;
            let queue_log = logged_queue(queue, &elevator, log);
            let what = format!("disk {disk}");
            let mut shard = Shard::new(Parts {
                queue: queue_log,
                elevator,
                catalogue,
                tenants,
                setting,
                engine,
                model,
                largest_piece,
                trace,
                orders,
                bell,
                patience,
            });
            shard.set_knobs(&knobs).map_err(ServeError::Config)?;
            shard.write_files(&disk_files).map_err(ServeError::Config)?;
            let _ = ready.send(());
            drop(ready);
            shard.run().map_err(ServeError::system(what))
        };
        let thread = std::thread::Builder::new().name(format!("shard-{name}")).spawn(life);
        let thread = thread.map_err(ServeError::system("starting a thread"))?;
        if started.recv().is_ok() {
            return Ok(Running { name, desk, thread });
        }
        match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(ServeError::Config(format!("disk {name} did not start"))),
        }
    }
}

/// The largest piece of a request \[bytes\]. The memory must hold the largest request in such pieces.
fn largest_piece(config: &ServerConfig, queue: &QueueConfig) -> Result<usize, ServeError> {
    let largest_piece = (queue.limits.max_sectors as usize * SECTOR as usize).min(LARGEST);
    let needed = Pool::needed(largest_piece, blksched_nbd::LARGEST_PAYLOAD as usize);
    if config.memory < needed {
        let (kib, mib) = (largest_piece >> 10, needed >> 20);
        let why =
            format!("in pieces of {kib} KiB the largest request takes {mib} MiB: expected --memory {mib}M or more");
        return Err(ServeError::Config(why));
    }
    Ok(largest_piece)
}

/// The queue in front of these tenants.
fn queue_config(config: &ServerConfig, tenants: &[Tenant]) -> QueueConfig {
    let preset = config.elevator.preset;
    let max_sectors = config.max_sectors.unwrap_or(preset.max_sectors);
    let in_memory = |tenant: &Tenant| matches!(tenant.backend.store, Store::Memory(_));
    QueueConfig {
        limits: Limits {
            max_sectors: max_sectors.clamp(LEAST_MAX_SECTORS, (LARGEST as u64 / SECTOR) as u32),
            rotational: tenants.iter().any(|tenant| tenant.backend.rotational),
            // A flush makes the page cache stable, or the disk's.
            volatile_cache: !tenants.iter().all(in_memory),
            fua: true,
            ..Limits::default()
        },
        depth: config.depth,
        // Requests that arrive together are handed over together: that is the plug.
        plugging: Plugging::Never,
        slots: Setting::of(config).slots(preset.slots.nr_requests()),
        ..QueueConfig::default()
    }
}

/// A queue that is logged if there is a log.
fn logged_queue(config: QueueConfig, elevator: &Choice, log: Option<Log>) -> LoggedQueue {
    let Some(mut log) = log else { return LoggedQueue::new(config, elevator, Silence, None) };
    // The header is the queue's own; it is there before the first call.
    let unlogged = LoggedQueue::new(config, elevator, Silence, None);
    log.line(&record::header(&unlogged));
    LoggedQueue::new(config, elevator, Silence, Some(Box::new(move |record| log.line(&record.to_json()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Access, Locking, Share};

    /// An export of a file of this size.
    fn export(name: &str, path: &std::path::Path, offset: u64, size: u64, access: Access) -> ExportConfig {
        let source = Source::File { path: path.to_owned(), offset, size: Some(size) };
        ExportConfig {
            name: name.to_owned(),
            source,
            disk: None,
            description: String::new(),
            access,
            locking: Locking::On,
            share: Share::default(),
            files: crate::policies::Files::default(),
        }
    }

    /// Plans with these exports of files of 64 MiB; the first that is refused says why.
    fn plan(exports: &[(&str, u64, u64, Access)]) -> Result<Plan, String> {
        let folder = std::env::temp_dir().join(format!("blksched-plan-{:?}", std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut plan = Plan { name: "disk".to_owned(), tenants: Vec::new(), next: 0, files: BTreeMap::new() };
        let added = exports.iter().enumerate().try_for_each(|(at, &(file, offset, size, access))| {
            let path = folder.join(file);
            std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
            let export = export(&at.to_string(), &path, offset, size, access);
            let backend = Backend::open(&export, crate::config::Caching::PageCache).unwrap();
            plan.add(&export, backend, 40 << 20).map(drop)
        });
        std::fs::remove_dir_all(&folder).unwrap();
        added.map(|()| plan)
    }

    #[test]
    fn a_later_range_of_a_file_does_not_lie_where_another_file_is() {
        let write = Access::ReadWrite;
        let plan =
            plan(&[("f", 0, 1 << 20, write), ("g", 0, 64 << 20, write), ("f", 8 << 20, 1 << 20, write)]).unwrap();
        let [first, other, later] = &plan.tenants[..] else { panic!("three exports are three tenants") };
        assert!(!later.overlaps(other) && !later.overlaps(first));
        assert_eq!(later.base.0 - first.base.0, (8 << 20) / SECTOR, "ranges of one file lie as in the file");
    }

    #[test]
    fn ranges_that_overlap_may_not_both_be_written() {
        let (write, read) = (Access::ReadWrite, Access::ReadOnly);
        let refused = |other: Access| plan(&[("f", 0, 2 << 20, write), ("f", 1 << 20, 2 << 20, other)]).err();
        assert_eq!(refused(read), None);
        assert!(refused(write).is_some_and(|why| why.contains("overlaps export 0")));
        assert!(plan(&[("f", 0, 1 << 20, write), ("f", 1 << 20, 1 << 20, write)]).is_ok(), "neighbours do not overlap");
    }
}
