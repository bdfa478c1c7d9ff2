//! From a configuration to running shards: opens back ends, finds disks, starts threads.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use blksched::reasons::NoListener;
use blksched::{Catalogue, Choice, GroupId, Limits, Plugging, QueueConfig, Sector};
use blksched_disks::Disk;
use blksched_nbd::Export;
use blksched_traces::calls::LoggedQueue;

use crate::ServeError;
use crate::backend::{Backend, SECTOR, Store};
use crate::buffer::{LARGEST, Pool};
use crate::claims::Claims;
use crate::config::{DepthChoice, DiskConfig, ExportConfig, ExportSource, ServerConfig, Shares};
use crate::engine;
use crate::layout::Layout;
use crate::orders::ControlHandle;
use crate::policies::{self, Setting};
use crate::pulse::Pulse;
use crate::record::{self, BlktraceFile, Log};
use crate::shard::{Parts, Shard};
use crate::tenant::Tenant;

/// The greatest depth of a disk.
const MOST_DEPTH: u32 = 1024;
/// The least maximal request: a reply of 32 MiB then has few enough pieces for one send \[sectors\].
const LEAST_MAX_SECTORS: u32 = 256;

/// A running shard.
pub struct Running {
    /// Its disk.
    pub name: String,
    /// The handle for orders.
    pub control: ControlHandle,
    /// Whether it still does something, once it was told to end.
    pub pulse: Arc<Pulse>,
    /// Its thread.
    pub thread: JoinHandle<Result<(), ServeError>>,
    /// The layout of its disk.
    pub layout: Layout,
    /// How many tenants it has ever had.
    pub tenants: usize,
}

/// Where an export is served.
#[derive(Clone, Copy, Debug)]
pub struct ServedAt {
    /// The shard's index.
    pub shard: usize,
    /// The tenant's index in the shard.
    pub tenant: usize,
}

/// All parts of a running server.
pub struct Serving {
    /// The exports, as clients see them, in the configuration's order.
    pub exports: Vec<Export>,
    /// Where each is served.
    pub places: Vec<ServedAt>,
    /// The shards.
    pub shards: Vec<Running>,
    /// Whether each of them is still there.
    pub open: Vec<bool>,
    /// Those that are being removed.
    pub leaving: Vec<usize>,
    /// The locks on their files.
    pub claims: Claims,
    /// For disks that are added later.
    pub catalogue: Catalogue,
}

/// A disk before it runs.
pub struct DiskPlan {
    name: String,
    tenants: Vec<Tenant>,
    layout: Layout,
    model: Option<Box<dyn Disk>>,
}

/// Opens everything and starts the shards.
///
/// # Errors
/// If an export cannot be opened, a knob or weight is invalid, or a thread cannot start.
pub fn assemble(config: &ServerConfig, catalogue: &Catalogue) -> Result<Serving, ServeError> {
    check(config)?;
    policies::check(config).map_err(ServeError::Config)?;
    let mut plans: Vec<DiskPlan> = Vec::new();
    let mut claims = Claims::default();
    let (mut exports, mut places) = (Vec::new(), Vec::new());
    for export in &config.exports {
        let failed = |why| ServeError::Config(format!("export {}: {why}", export.name));
        let backend = Backend::open(export, config.caching).map_err(failed)?;
        let disk = export.disk.clone().unwrap_or_else(|| backend.disk.clone());
        if let (ExportSource::File { path, .. }, Some(identity)) = (&export.source, backend.identity) {
            let claimed = claims.claim((&export.name, &disk), (path, identity), export.access, export.locking);
            claimed.map_err(failed)?;
        }
        let shard = plan_of(&mut plans, &disk, config);
        let tenant = plans[shard].add(export, backend, config).map_err(failed)?;
        exports.push(plans[shard].tenants[tenant].export.clone());
        places.push(ServedAt { shard, tenant });
    }
    check_disks(config, &plans)?;
    let shards = plans.into_iter().map(|plan| plan.start(config, catalogue)).collect::<Result<Vec<_>, _>>()?;
    let open = vec![true; exports.len()];
    Ok(Serving { exports, places, shards, open, leaving: Vec::new(), claims, catalogue: catalogue.clone() })
}

/// Checks all of that without starting anything, and without locking any file: a server may be running with them.
///
/// # Errors
/// As at the start, except for what other programs have open.
pub fn try_exports(config: &ServerConfig) -> Result<(), ServeError> {
    check(config)?;
    policies::check(config).map_err(ServeError::Config)?;
    let mut plans: Vec<DiskPlan> = Vec::new();
    for export in &config.exports {
        let failed = |why| ServeError::Config(format!("export {}: {why}", export.name));
        let backend = Backend::open(export, config.caching).map_err(failed)?;
        let disk = export.disk.clone().unwrap_or_else(|| backend.disk.clone());
        let shard = plan_of(&mut plans, &disk, config);
        plans[shard].add(export, backend, config).map_err(failed)?;
    }
    check_disks(config, &plans)
}

/// The index of the plan of this disk.
fn plan_of(plans: &mut Vec<DiskPlan>, disk: &str, config: &ServerConfig) -> usize {
    plans.iter().position(|plan| plan.name == disk).unwrap_or_else(|| {
        plans.push(DiskPlan::of(disk, config));
        plans.len() - 1
    })
}

fn check(config: &ServerConfig) -> Result<(), ServeError> {
    let mut names: Vec<&str> = config.exports.iter().map(|export| export.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ServeError::Config(format!("two exports are called `{}`", pair[0])));
    }
    let of_rules = config.rules.iter().filter_map(|rule| rule.export());
    let of_guests = config.vhost.iter().map(|(export, _)| export.as_str());
    let of_devices = config.ublk.iter().map(|device| device.export.as_str());
    for name in of_rules.chain(of_guests).chain(of_devices) {
        if !names.contains(&name) {
            let near = blksched_text::did_you_mean(name, names.iter().copied());
            return Err(ServeError::Config(format!("no export is called `{name}`{near}")));
        }
    }
    Ok(())
}

/// Checks that each disk that the configuration names exists, and that all can start.
fn check_disks(config: &ServerConfig, plans: &[DiskPlan]) -> Result<(), ServeError> {
    let names = || plans.iter().map(|plan| plan.name.as_str());
    for DiskConfig { name, .. } in &config.disks {
        if !names().any(|known| known == name) {
            let (near, all) = (blksched_text::did_you_mean(name, names()), names().collect::<Vec<_>>().join(", "));
            let why = format!("--disk {name}: no export is on a disk of that name{near} (there are: {all})");
            return Err(ServeError::Config(why));
        }
    }
    plans.iter().try_for_each(|plan| plan.check(config))
}

impl DiskPlan {
    /// A disk without tenants.
    pub fn of(name: &str, config: &ServerConfig) -> DiskPlan {
        let model = config.model.as_ref().map(|spec| spec.build(1));
        let layout = Layout::new(model.as_ref().map(|model| model.facts().sectors));
        DiskPlan { name: name.to_owned(), tenants: Vec::new(), layout, model }
    }

    /// Adds a tenant to this disk; returns its number.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn add(&mut self, export: &ExportConfig, backend: Backend, config: &ServerConfig) -> Result<usize, String> {
        let number = self.tenants.len();
        let base = self.layout.add(export, &backend)?;
        self.tenants.push(tenant(export, backend, base, number, config));
        Ok(number)
    }

    /// A tenant's export, as clients see it.
    pub fn export(&self, tenant: usize) -> &Export {
        &self.tenants[tenant].export
    }

    /// Checks what its settings need of each other: at the start, and for an export that is added later.
    fn check(&self, config: &ServerConfig) -> Result<(), ServeError> {
        let finds_depth = config.of_disk(&self.name).depth == DepthChoice::Auto;
        match finds_depth && config.shares == Shares::ByScheduler {
            true => Err(ServeError::Config(format!("disk {}: {}", self.name, DepthChoice::NEEDS_TURNS))),
            false => Ok(()),
        }
    }

    /// Starts its thread.
    ///
    /// # Errors
    /// If it cannot start, or the disk's model does not fit.
    pub fn start(self, config: &ServerConfig, catalogue: &Catalogue) -> Result<Running, ServeError> {
        self.check(config)?;
        let DiskPlan { name, tenants, layout, model } = self;
        let count = tenants.len();
        let DiskConfig { elevator, knobs, depth: wanted, .. } = config.of_disk(&name);
        let mut depth = if let DepthChoice::Fixed(depth) = wanted { depth } else { MOST_DEPTH };
        let mut queue = queue_config(config, &elevator, depth, &tenants);
        if let Some(facts) = model.as_ref().map(|model| model.facts()) {
            if facts.max_sectors < LEAST_MAX_SECTORS {
                let (has, least) = (facts.max_sectors / 2, LEAST_MAX_SECTORS / 2);
                let why =
                    format!("disk {name}: the model's commands are of at most {has} KiB; at least {least} are needed");
                return Err(ServeError::Config(why));
            }
            if facts.depth < depth && wanted != DepthChoice::Auto {
                tracing::info!(disk = name, asked = depth, depth = facts.depth, "the model takes no more at a time");
            }
            depth = depth.min(facts.depth);
            queue.depth = queue.depth.min(facts.depth);
            queue.limits.max_sectors = queue.limits.max_sectors.min(facts.max_sectors);
            queue.limits.rotational = facts.rotational;
        }
        let largest_piece = largest_piece(config, &queue)?;
        let trace = config.record.as_deref().map(|directory| BlktraceFile::begin(directory, &name)).transpose()?;
        let log = config.record.as_deref().map(|directory| Log::begin(directory, &name)).transpose()?;
        let (control, orders, wakeup) = ControlHandle::new().map_err(ServeError::system("making an eventfd"))?;
        let pulse: Arc<Pulse> = Arc::default();
        let (setting, disk_files, told) = (Setting::of(config), config.disk_files.clone(), pulse.clone());
        let (catalogue, kind, patience, disk) = (catalogue.clone(), config.engine, config.patience, name.clone());
        let (ready, started) = channel();
        // An io_uring belongs to the thread that creates it.
        let life = move || {
            let engine = engine::make(kind, 1024).map_err(ServeError::system("starting the I/O engine"))?;
            let queue_log = logged_queue(queue, &elevator, log);
            let what = format!("disk {disk}");
            let mut shard = Shard::new(Parts {
                queue: queue_log,
                elevator,
                catalogue,
                depth,
                tenants,
                setting,
                engine,
                model,
                largest_piece,
                trace,
                orders,
                wakeup,
                patience,
                pulse: told,
            });
            if wanted == DepthChoice::Auto {
                shard.find_depth(depth);
            }
            shard.set_knobs(&knobs).map_err(ServeError::Config)?;
            shard.write_files(&disk_files).map_err(ServeError::Config)?;
            let _ = ready.send(());
            drop(ready);
            shard.run().map_err(ServeError::system(what))
        };
        let thread = std::thread::Builder::new().name(format!("shard-{name}")).spawn(life);
        let thread = thread.map_err(ServeError::system("starting a thread"))?;
        if started.recv().is_ok() {
            return Ok(Running { name, control, pulse, thread, layout, tenants: count });
        }
        match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(ServeError::Config(format!("disk {name} did not start"))),
        }
    }
}

/// A disk's tenant with this number.
pub fn tenant(export: &ExportConfig, backend: Backend, base: Sector, number: usize, config: &ServerConfig) -> Tenant {
    let mut tenant = Tenant::new(export, backend, base, GroupId(number as u32 + 1), config.memory);
    tenant.pool.share(config.total_memory.budget.clone());
    tenant
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

/// The queue in front of these tenants, for the greatest depth that the device may ever be given.
fn queue_config(config: &ServerConfig, elevator: &Choice, depth: u32, tenants: &[Tenant]) -> QueueConfig {
    let preset = elevator.preset;
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
        depth: most_depth(config.shares, depth),
        // Requests that arrive together are submitted together: that is the plug.
        plugging: Plugging::Never,
        slots: Setting::of(config).slots(preset.slots.nr_requests()),
        ..QueueConfig::default()
    }
}

/// The depth to which a disk that begins with `depth` can be raised. Old schedulers, and io.cost, treat a disk that
/// takes one request at a time as another kind of disk: where they keep the shares, such a disk stays as it is.
fn most_depth(shares: Shares, depth: u32) -> u32 {
    if shares == Shares::ByScheduler && depth == 1 { 1 } else { MOST_DEPTH }
}

/// A queue with a log, if one is wanted.
fn logged_queue(config: QueueConfig, elevator: &Choice, log: Option<Log>) -> LoggedQueue {
    let Some(mut log) = log else { return LoggedQueue::new(config, elevator, NoListener, None) };
    // The header is the queue's own; it is written before the first call.
    let unlogged = LoggedQueue::new(config, elevator, NoListener, None);
    log.line(&record::header(&unlogged));
    LoggedQueue::new(config, elevator, NoListener, Some(Box::new(move |record| log.line(&record.to_json()))))
}
