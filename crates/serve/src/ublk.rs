//! A block device of this machine (`/dev/ublkb0`) for an export, without NBD: Linux's ublk driver hands each request of
//! the device to us, and here it becomes a request of NBD on a socket of the export's shard, one per queue, and is
//! checked, shared and counted there like all others.
//!
//! A device lives as long as its server: it is stopped before the shards, which writes back the kernel's cache of it.
//! If its server was killed, the block device is gone, but not its number: the next start reports it, and `blksched
//! ublk remove` removes it. The driver's interface is in `abi`, the unsafe part in `ring`, a queue's life in `queue`.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::ServeError;
use crate::assemble::Serving;
use crate::vhost::{GuestTarget, Numbers, ShownTarget, lock};

mod abi;
mod queue;
mod ring;

pub use abi::{DeviceState, Info};
use ring::ControlRing;

/// Where devices are created.
const CONTROL: &str = "/dev/ublk-control";
/// How long the driver may take to answer a command without I/O.
const SOON: Duration = Duration::from_secs(10);
/// How long a device may take to begin, when its partitions are read, and to write back cached data.
const LATE: Duration = Duration::from_secs(120);
/// How long its file may take to appear.
const APPEARS: Duration = Duration::from_secs(10);
/// The default number of queues, and of their depth.
const QUEUES: usize = 4;
const DEPTH: u16 = 64;

/// The block device for an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UblkConfig {
    /// The export's name.
    pub export: String,
    /// The number of queues; `None` for one per processor, up to four.
    pub queues: Option<u16>,
    /// The depth of each.
    pub depth: u16,
    /// The device's number; `None` for the first that is free.
    pub id: Option<u32>,
}

impl FromStr for UblkConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<UblkConfig, String> {
        let mut words = text.split(',');
        let export = words.next().unwrap_or_default().to_owned();
        let mut config = UblkConfig { export, queues: None, depth: DEPTH, id: None };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = |least: u32, most: u32| {
                let expected = || format!("{key}={value}: expected a number from {least} to {most}");
                value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(expected)
            };
            match key {
                "queues" => config.queues = Some(number(1, u32::from(abi::MOST_QUEUES))? as u16),
                "depth" => config.depth = number(1, 1024)? as u16,
                "id" => config.id = Some(number(0, 1 << 20)?),
                _ => {
                    let near = blksched_text::did_you_mean(key, ["queues", "depth", "id"]);
                    return Err(format!("no option is called `{key}`{near} (known: queues, depth, id)"));
                }
            }
        }
        Ok(config)
    }
}

/// The control device.
struct UblkDriver {
    ring: ControlRing,
}

impl UblkDriver {
    /// Opens a driver with the required features; the error says what is missing, and what to do.
    fn open() -> Result<UblkDriver, String> {
        let device = OpenOptions::new().read(true).write(true).open(CONTROL).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "no {CONTROL}: Linux's ublk driver is not loaded: `modprobe ublk_drv` (a kernel with \
                 CONFIG_BLK_DEV_UBLK, 6.5 or later)"
            ),
            io::ErrorKind::PermissionDenied => format!("{CONTROL}: {error}: only root can create block devices"),
            _ => format!("{CONTROL}: {error}"),
        })?;
        let ring = ControlRing::new(device.into()).map_err(|error| {
            format!("no io_uring for {CONTROL}: {error} (it needs Linux 6.5, and kernel.io_uring_disabled=0)")
        })?;
        let mut driver = UblkDriver { ring };
        let features = driver.ask(abi::Control::Features, 0, &[0; 8], 0, SOON);
        match features.ok().and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes) {
            Some(features) if features & abi::WISHES == abi::WISHES => Ok(driver),
            _ => {
                let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
                let release = release.trim();
                Err(format!(
                    "the ublk driver of Linux {release} cannot let a server copy the data of requests \
                     (UBLK_F_USER_COPY): it takes Linux 6.5 or later"
                ))
            }
        }
    }

    fn ask(&mut self, what: abi::Control, id: u32, said: &[u8], data: u64, by: Duration) -> Result<Vec<u8>, String> {
        let asked = self.ring.ask(what, id, said, data, by);
        asked.map_err(|error| match (error.raw_os_error(), what) {
            (Some(libc::EPERM), _) => format!("ublk: {}: {error}: it needs root (CAP_SYS_ADMIN)", what.name()),
            (Some(libc::EEXIST), abi::Control::Add) => {
                format!("ublk device {id} already exists: `blksched ublk list` says whose it is")
            }
            (Some(libc::ENODEV), abi::Control::Info | abi::Control::Delete) => format!("there is no ublk device {id}"),
            _ => format!("ublk: {}: {error}", what.name()),
        })
    }

    fn info(&mut self, id: u32) -> Result<Info, String> {
        let heard = self.ask(abi::Control::Info, id, &[0; abi::INFO], 0, SOON)?;
        heard.try_into().map(|bytes| Info::read(&bytes)).map_err(|_| "ublk: an answer of another length".to_owned())
    }
}

/// A block device.
pub struct BlockDevice {
    config: UblkConfig,
    info: Info,
    driver: UblkDriver,
    shown: ShownTarget,
    queues: Vec<JoinHandle<()>>,
}

impl BlockDevice {
    /// Adds the device: it has a number, and nothing else is visible yet.
    ///
    /// # Errors
    /// If that fails: with what is missing.
    pub fn open(config: &UblkConfig, serving: &Serving) -> Result<BlockDevice, ServeError> {
        let said = |why: String| ServeError::Config(format!("--ublk {}: {why}", config.export));
        let mut driver = UblkDriver::open().map_err(said)?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get().min(QUEUES));
        let wish = Info {
            queues: config.queues.unwrap_or(processors as u16),
            depth: config.depth,
            state: DeviceState::Dead,
            id: config.id.unwrap_or(abi::ANY),
            process: None,
            features: abi::WISHES,
        };
        let added = driver.ask(abi::Control::Add, wish.id, &wish.bytes(), 0, SOON).map_err(said)?;
        let info = Info::read(added.as_slice().try_into().map_err(|_| said("an answer of another length".into()))?);
        let shown = ShownTarget::default();
        let mut device = BlockDevice { config: config.clone(), info, driver, shown, queues: Vec::new() };
        device.show(serving);
        let target = lock(&device.shown).clone();
        let target = target.ok_or_else(|| said(format!("no export is called `{}`", config.export)))?;
        let parameters = abi::parameters(&target.export);
        device.driver.ask(abi::Control::Parameters, info.id, &parameters, 0, SOON).map_err(said)?;
        Ok(device)
    }

    /// Its block device appears; I/O of its users may arrive before this returns.
    ///
    /// # Errors
    /// If it does not.
    pub fn begin(&mut self, numbers: &Numbers) -> Result<(), ServeError> {
        self.appear(numbers).map_err(|why| ServeError::Config(format!("--ublk {}: {why}", self.config.export)))
    }

    fn appear(&mut self, numbers: &Numbers) -> Result<(), String> {
        let Info { id, queues, depth, .. } = self.info;
        let device = Arc::new(character_device(id)?);
        let ready = (0..queues).map(|queue| self.start_queue(queue, depth, &device, numbers));
        let ready: Vec<Receiver<Result<(), String>>> =
            ready.collect::<io::Result<_>>().map_err(|error| format!("starting a thread: {error}"))?;
        for one in ready {
            one.recv().map_err(|_| "a queue's thread has ended".to_owned())??;
        }
        let own = u64::from(std::process::id());
        self.driver.ask(abi::Control::Start, id, &[], own, LATE)?;
        tracing::info!(device = id, queues, depth, export = self.config.export, "ublk: a block device is ready");
        Ok(())
    }

    fn start_queue(
        &mut self,
        queue: u16,
        depth: u16,
        device: &Arc<OwnedFd>,
        numbers: &Numbers,
    ) -> io::Result<Receiver<Result<(), String>>> {
        let (sender, ready) = channel();
        let (device, shown, numbers) = (device.clone(), self.shown.clone(), numbers.clone());
        let begin = queue::Begin { device, id: self.info.id, queue, depth, shown, numbers };
        let name = format!("ublk-{}-{queue}", self.info.id);
        let thread = std::thread::Builder::new().name(name).spawn(move || queue::live(begin, &sender))?;
        self.queues.push(thread);
        Ok(ready)
    }

    /// Exports may have been added, removed or resized.
    pub fn show(&self, serving: &Serving) {
        *lock(&self.shown) = GuestTarget::find(&self.config.export, serving);
    }

    /// The block device, and the export's name.
    pub fn path(&self) -> (PathBuf, &str) {
        (block_device(self.info.id), &self.config.export)
    }

    /// A line for people.
    pub fn says(&self) -> String {
        let (path, export) = self.path();
        format!("ublk: {}  ({export})", path.display())
    }

    /// Cached data is written back, and the device is removed.
    fn end(&mut self) -> Result<(), String> {
        let id = self.info.id;
        if !self.queues.is_empty() {
            self.driver.ask(abi::Control::Stop, id, &[], 0, LATE)?;
        }
        let until = Instant::now() + SOON;
        while self.queues.iter().any(|queue| !queue.is_finished()) {
            if Instant::now() > until {
                return Err(format!("ublk: the queues of device {id} do not end"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // While a file system on it is mounted, it stays.
        self.driver.ask(abi::Control::Delete, id, &[], 0, SOON).map(drop)
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        if let Err(why) = self.end() {
            let id = self.info.id;
            tracing::error!(device = id, why, "ublk: a device is left: `blksched ublk remove {id}`");
        }
    }
}

/// The file of a device's server, which udev may take a moment to create.
fn character_device(id: u32) -> Result<OwnedFd, String> {
    let path = PathBuf::from(format!("/dev/ublkc{id}"));
    let until = Instant::now() + APPEARS;
    loop {
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => return Ok(file.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
}

fn block_device(id: u32) -> PathBuf {
    PathBuf::from(format!("/dev/ublkb{id}"))
}

/// A device of this machine, of this server or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UblkDevice {
    /// Its number.
    pub id: u32,
    /// The driver's information about it.
    pub info: Info,
    /// Whether its server's process runs.
    pub served: bool,
}

impl UblkDevice {
    /// Its block device.
    pub fn path(&self) -> PathBuf {
        block_device(self.id)
    }
}

/// All ublk devices of this machine.
///
/// # Errors
/// If there is no driver, or it does not answer.
pub fn ublk_devices() -> Result<Vec<UblkDevice>, String> {
    let mut driver = UblkDriver::open()?;
    let mut found: Vec<UblkDevice> =
        numbers_of(Path::new("/dev")).into_iter().filter_map(|id| driver.look(id).ok()).collect();
    found.sort_by_key(|device| device.id);
    Ok(found)
}

impl UblkDriver {
    fn look(&mut self, id: u32) -> Result<UblkDevice, String> {
        let info = self.info(id)?;
        let runs = |process: i32| Path::new(&format!("/proc/{process}")).exists();
        Ok(UblkDevice { id, info, served: info.process.is_some_and(runs) })
    }
}

/// The numbers of the devices in this directory.
fn numbers_of(directory: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_prefix("ublkc")?.parse().ok()).collect()
}

/// Removes a device left behind by a server.
///
/// # Errors
/// If there is none, or its server runs.
pub fn remove_ublk(id: u32) -> Result<(), String> {
    let mut driver = UblkDriver::open()?;
    let device = driver.look(id)?;
    if let (true, Some(process)) = (device.served, device.info.process) {
        return Err(format!("ublk device {id} is served by process {process}: end it, and the device disappears"));
    }
    if device.info.state != DeviceState::Dead {
        driver.ask(abi::Control::Stop, id, &[], 0, LATE)?;
    }
    driver.ask(abi::Control::Delete, id, &[], 0, LATE).map(drop)
}

/// Reports devices whose server is gone, with the command that removes them. The driver does not know which exports
/// they were.
pub fn tell_of_left() {
    for UblkDevice { id, .. } in ublk_devices().into_iter().flatten().filter(|device| !device.served) {
        tracing::warn!(device = id, "ublk: its server is gone: `blksched ublk remove {id}` removes it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_device_is_understood_or_named() {
        let config: UblkConfig = "a".parse().unwrap();
        assert_eq!(config, UblkConfig { export: "a".into(), queues: None, depth: 64, id: None });
        let config: UblkConfig = "a,queues=2,depth=8,id=3".parse().unwrap();
        assert_eq!(config, UblkConfig { export: "a".into(), queues: Some(2), depth: 8, id: Some(3) });
        for (text, why) in [
            ("a,queue=2", "no option is called `queue`; did you mean `queues`? (known: queues, depth, id)"),
            ("a,x", "no option is called `x` (known: queues, depth, id)"),
            ("a,queues=0", "queues=0: expected a number from 1 to 64"),
            ("a,depth=2000", "depth=2000: expected a number from 1 to 1024"),
            ("a,id=-1", "id=-1: expected"),
        ] {
            let said = text.parse::<UblkConfig>().unwrap_err();
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn without_the_driver_it_says_what_is_missing() {
        if Path::new(CONTROL).exists() {
            return;
        }
        let why = ublk_devices().unwrap_err();
        assert!(why.contains("modprobe ublk_drv") && why.contains("CONFIG_BLK_DEV_UBLK"), "{why}");
    }

    #[test]
    fn devices_are_found_by_their_files() {
        let folder = std::env::temp_dir().join(format!("blksched-ublk-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        ["ublkc0", "ublkc12", "ublkb0", "ublk-control"].iter().for_each(|name| {
            std::fs::write(folder.join(name), "").unwrap();
        });
        let mut found = numbers_of(&folder);
        found.sort_unstable();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [0, 12]);
    }
}
