//! The one place that touches the machine: a queue's files in sysfs, its lines in files of control groups, and what
//! tracefs tells of its I/O.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blksched::{Instant, Span};
use blksched_lab::live::{LiveIo, LiveKind, LiveMachine, LiveTick, Place, group};
use blksched_traces::machine::Machine;
use blksched_traces::tracefs::{TracefsEvent, TracefsLine, events};

use super::counters::{Counters, stalled_us};
use super::groups::GroupTree;
use crate::record::tracefs::{Instance, drain};

/// The machine's pressure.
pub(super) const PRESSURE: &str = "/proc/pressure/io";
/// How often the kernel's buffers are emptied.
const EVERY: Duration = Duration::from_millis(50);
/// The buffer of each CPU \[MiB\]: two events for each I/O.
const BUFFER: u32 = 16;

/// Becomes true at a signal that asks for the end.
pub(super) fn signals() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // Where signals are not available, none can be noticed; the second process then gives everything back.
        let _ = signal_hook::flag::register(signal, flag.clone());
    }
    flag
}

/// The files of a disk's queue, or of several that always have the same settings, and their I/O if it is watched.
pub(super) struct QueueFiles {
    disks: Vec<PathBuf>,
    groups: GroupTree,
    began: std::time::Instant,
    eyes: Option<Eyes>,
}

/// What is known of the I/O.
struct Eyes {
    seen: SeenIos,
    stop: Arc<AtomicBool>,
    pressure: Option<(Instant, u64)>,
}

/// How the I/O is seen.
enum SeenIos {
    /// One by one, by the tracer.
    Traced(Box<TracedIos>),
    /// By counters.
    Counted(Box<Counters>),
}

/// The I/Os that the tracer tells.
struct TracedIos {
    /// Closed before the instance is removed, which cannot be while somebody reads it.
    pipe: File,
    instance: Instance,
    /// The end of a line that is not whole yet.
    rest: Vec<u8>,
    waiting: WaitingIos,
    done: Vec<LiveIo>,
}

/// The I/Os that are not done, by their device and their last sector's successor.
#[derive(Default)]
struct WaitingIos(BTreeMap<((u32, u32), u64), WaitingIo>);

struct WaitingIo {
    task: String,
    kind: LiveKind,
    bytes: u32,
    /// The tracer's time \[us\].
    at_us: u64,
    /// When we saw it.
    seen: Instant,
}

impl WaitingIos {
    /// A line of the trace, read at `now`: the I/Os that it ends.
    ///
    /// An I/O ends with the request that covers its last sector, so that a merged one ends with its request, and a
    /// split one with its last part.
    fn take(&mut self, line: TracefsLine, now: Instant) -> Vec<LiveIo> {
        let (first, end) = (line.sector, line.sector + u64::from(line.sectors));
        match line.event {
            TracefsEvent::BioQueue => {
                let kind = kind_of(&line.rwbs).filter(|_| line.sectors > 0);
                // A kernel's worker has a name that nobody chose.
                let task = if line.task.starts_with("kworker/") { "kworker".to_owned() } else { line.task };
                let io = |kind| WaitingIo { task, kind, bytes: line.sectors * 512, at_us: line.time_us, seen: now };
                self.0.extend(kind.map(io).map(|io| ((line.device, end), io)));
                Vec::new()
            }
            TracefsEvent::Complete if line.sectors > 0 && kind_of(&line.rwbs).is_some() => {
                let device = line.device;
                let ends: Vec<_> = self.0.range((device, first + 1)..=(device, end)).map(|(end, _)| *end).collect();
                let done = |io: WaitingIo| {
                    let waited = Span::from_us(line.time_us.saturating_sub(io.at_us));
                    LiveIo { task: io.task, kind: io.kind, bytes: io.bytes, waited }
                };
                ends.iter().filter_map(|end| self.0.remove(end)).map(done).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What blkparse's letters mean; `None` for flushes and discards.
fn kind_of(rwbs: &str) -> Option<LiveKind> {
    match rwbs.trim_start_matches('F').as_bytes() {
        [b'R', ..] => Some(LiveKind::Read),
        [b'W', rest @ ..] if rest.contains(&b'S') => Some(LiveKind::SyncWrite),
        [b'W', ..] => Some(LiveKind::Write),
        _ => None,
    }
}

impl QueueFiles {
    /// Of this disk, or of several, separated by commas.
    pub fn of(disks: &str) -> QueueFiles {
        let disks = disks.split(',').map(|disk| Path::new("/sys/block").join(disk)).collect();
        QueueFiles { disks, groups: GroupTree::here(), began: std::time::Instant::now(), eyes: None }
    }

    /// The same, and its I/O is watched from now on: by the tracer, or if that is denied by counters.
    pub fn watched(mut self, machine: &Machine) -> Result<QueueFiles, String> {
        let seen = match crate::record::tracefs::available() {
            Ok(()) => SeenIos::Traced(Box::new(TracedIos::of(machine)?)),
            Err(_) => SeenIos::Counted(Box::new(Counters::of(&self.disks, GroupTree::here(), Path::new(PRESSURE))?)),
        };
        self.eyes = Some(Eyes { seen, stop: signals(), pressure: None });
        Ok(self)
    }

    /// What is to be said of the way in which I/O is seen here, if it is only counted.
    ///
    /// # Errors
    /// If it is not even counted.
    pub fn only_counted(&self) -> Result<Option<String>, String> {
        let Err(why) = crate::record::tracefs::available() else { return Ok(None) };
        let is_off = |disk: &PathBuf| fs::read_to_string(disk.join("queue/iostats")).is_ok_and(|on| on.trim() == "0");
        if self.disks.iter().any(is_off) {
            return Err(format!("{why}; and the disk counts nothing (queue/iostats is 0)"));
        }
        Ok(Some(format!(
            "No tracing ({why}): counters are compared: means and rates of all processes together, no p99; each \
             control group's I/Os and KiB/s (io.stat), and the pressure (PSI), where this machine has them."
        )))
    }

    /// How many events did not fit into the kernel's buffers.
    pub fn lost(&self) -> u64 {
        match self.eyes.as_ref().map(|eyes| &eyes.seen) {
            Some(SeenIos::Traced(traced)) => traced.instance.lost(),
            _ => 0,
        }
    }

    /// The file of each disk, and in a group's file the number of the disk's line. An absolute path, which the memory's
    /// files have, stands by itself.
    fn paths(&self, place: &Place) -> Result<Vec<(PathBuf, Option<String>)>, String> {
        if let Place::Group { group, file } = place {
            let path = self.groups.path(group, file)?;
            let line = |disk: &PathBuf| {
                let number = disk.join("dev");
                let text = fs::read_to_string(&number).map_err(|error| format!("{}: {error}", number.display()))?;
                Ok((path.clone(), Some(text.trim().to_owned())))
            };
            return self.disks.iter().map(line).collect();
        }
        let mut paths: Vec<PathBuf> = self.disks.iter().map(|disk| disk.join("queue").join(place.path())).collect();
        paths.dedup();
        Ok(paths.into_iter().map(|path| (path, None)).collect())
    }

    fn time(&self) -> Instant {
        Instant::ZERO + Span::from(self.began.elapsed())
    }

    /// Reads what the tracer has.
    fn look(&mut self) -> Result<(), String> {
        // Read first: what was seen before and is not in flight now is done, even if its event was lost.
        let is_idle = self.disks.iter().all(|disk| {
            let in_flight = fs::read_to_string(disk.join("inflight"));
            in_flight.is_ok_and(|text| text.split_whitespace().all(|number| number == "0"))
        });
        let now = self.time();
        match self.eyes.as_mut().map(|eyes| &mut eyes.seen) {
            Some(SeenIos::Traced(traced)) => traced.look(is_idle, now),
            _ => Ok(()),
        }
    }
}

impl TracedIos {
    /// From now on.
    fn of(machine: &Machine) -> Result<TracedIos, String> {
        let instance = Instance::open(BUFFER, machine, &["block_bio_queue", "block_rq_complete"])?;
        let pipe = instance.pipe()?;
        instance.turn(true)?;
        Ok(TracedIos { pipe, instance, rest: Vec::new(), waiting: WaitingIos::default(), done: Vec::new() })
    }

    /// Reads what the tracer has; `is_idle`: whether nothing was in flight before that.
    fn look(&mut self, is_idle: bool, now: Instant) -> Result<(), String> {
        drain(&mut self.pipe, &mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        // A line in which events were lost is none of ours.
        for line in events(&lines[..], Path::new("trace_pipe")).flatten() {
            self.done.extend(self.waiting.take(line, now));
        }
        if is_idle {
            self.waiting.0.retain(|_, io| io.seen >= now);
        }
        Ok(())
    }
}

impl LiveMachine for QueueFiles {
    fn read(&mut self, place: &Place) -> Result<String, String> {
        let read = |(path, number): (PathBuf, Option<String>)| {
            value(&path, place, number.as_deref()).map(|value| (path, value))
        };
        let mut values = self.paths(place)?.into_iter().map(read);
        let (first, value) = values.next().ok_or("no disk")??;
        for other in values {
            let (path, other) = other?;
            if other != value {
                return Err(format!("{} reads {value}, and {} {other}", first.display(), path.display()));
            }
        }
        Ok(value)
    }

    fn write(&mut self, place: &Place, value: &str) -> Result<(), String> {
        // What was submitted before the change is known to be so.
        self.look()?;
        // One that fails does not keep the others from it.
        let write = |(path, number): &(PathBuf, Option<String>)| {
            let line = number.as_ref().map_or_else(|| value.to_owned(), |number| format!("{number} {value}"));
            fs::write(path, &line).map_err(|error| format!("{} = {line}: {error}", path.display()))
        };
        let failed: Vec<String> = self.paths(place)?.iter().filter_map(|path| write(path).err()).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }

    fn is_gone(&mut self, place: &Place) -> bool {
        matches!(place, Place::Group { group, .. } if self.groups.is_gone(group))
    }

    fn knobs(&mut self) -> Vec<String> {
        let first = self.disks.first().map(|disk| disk.join("queue/iosched"));
        let entries = first.map(fs::read_dir).into_iter().flatten().flatten().flatten();
        let writable =
            entries.filter(|entry| entry.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o200 != 0));
        writable.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn weighted(&mut self) -> Result<Vec<Place>, String> {
        let numbers = self.disks.iter().filter_map(|disk| fs::read_to_string(disk.join("dev")).ok());
        self.groups.bfqs_weights(&numbers.map(|number| number.trim().to_owned()).collect::<Vec<_>>())
    }

    fn now(&mut self) -> Instant {
        self.time()
    }

    fn watch(&mut self, span: Span) -> Result<LiveTick, String> {
        let end = self.time() + span;
        let is_stopped = |eyes: &Option<Eyes>| eyes.as_ref().is_none_or(|eyes| eyes.stop.load(Ordering::Relaxed));
        while self.time() < end && !is_stopped(&self.eyes) {
            std::thread::sleep(EVERY.min(Duration::from_nanos(end.since(self.time()).as_ns())));
            self.look()?;
        }
        let (now, stop) = (self.time(), is_stopped(&self.eyes));
        let Some(eyes) = &mut self.eyes else { return Err("the disk is not watched".to_owned()) };
        let full = fs::read_to_string(PRESSURE).ok().and_then(|text| stalled_us(&text)).map(|[_, full]| full);
        let before = std::mem::replace(&mut eyes.pressure, full.map(|full| (now, full)));
        let psi_full = before.zip(full).map(|((at, before), full)| {
            full.saturating_sub(before) as f64 / (now.since(at).as_ns().max(1) as f64 / 1e3)
        });
        let mut tick = LiveTick { psi_full, stop, ..LiveTick::default() };
        match &mut eyes.seen {
            SeenIos::Traced(traced) => {
                tick.oldest = traced.waiting.0.values().map(|io| io.seen).min();
                tick.done = std::mem::take(&mut traced.done);
            }
            SeenIos::Counted(counters) => {
                (tick.counted, tick.stalled) = counters.look()?;
            }
        }
        Ok(tick)
    }
}

/// What a file reads; of the schedulers the one that is chosen, of a group's file the disk's line.
fn value(path: &Path, place: &Place, number: Option<&str>) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = text.trim();
    if let (Place::Group { file, .. }, Some(number)) = (place, number) {
        return Ok(group::of_disk(file, text, number));
    }
    if *place != Place::Scheduler {
        return Ok(text.to_owned());
    }
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned).ok_or_else(|| format!("{}: `{text}`: none is chosen", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(lines: &str) -> Vec<(String, &'static str, u64)> {
        let mut waiting = WaitingIos::default();
        let taken =
            events(lines.as_bytes(), Path::new("t")).flat_map(|line| waiting.take(line.unwrap(), Instant::ZERO));
        taken.map(|io| (io.task, io.kind.name(), io.waited.as_ns() / 1000)).collect()
    }

    #[test]
    fn an_io_ends_with_the_request_that_covers_its_last_sector() {
        let text = "\
              db-12      [000] d..1.     1.000000: block_bio_queue: 8,0 R 100 + 8 [db]
              db-12      [000] d..1.     1.000100: block_bio_queue: 8,0 R 108 + 8 [db]
             log-13      [001] d..1.     1.000200: block_bio_queue: 8,0 WS 500 + 16 [log]
     kworker/0:1-14      [001] d..1.     1.000300: block_bio_queue: 8,0 W 900 + 8 [kworker/0:1]
          <idle>-0       [000] d.h1.     1.001000: block_rq_complete: 8,0 R () 100 + 16 none,0,0 [0]
          <idle>-0       [000] d.h1.     1.002000: block_rq_complete: 8,0 WS () 500 + 8 none,0,0 [0]
          <idle>-0       [000] d.h1.     1.003000: block_rq_complete: 8,0 WS () 508 + 8 none,0,0 [0]
          <idle>-0       [000] d.h1.     1.004300: block_rq_complete: 8,0 W () 900 + 8 none,0,0 [0]
";
        let of = |task: &str, kind, us| (task.to_owned(), kind, us);
        let log = [of("log", "sync-write", 2800), of("kworker", "write", 4000)];
        assert_eq!(ends(text), [[of("db", "read", 1000), of("db", "read", 900)], log].concat());
    }

    #[test]
    fn letters_are_kinds_and_flushes_and_discards_are_none() {
        let kinds =
            ["R", "RA", "W", "WS", "WSM", "FWFS", "FF", "DS", "N"].map(|rwbs| kind_of(rwbs).map(LiveKind::name));
        let (read, write, sync) = (Some("read"), Some("write"), Some("sync-write"));
        assert_eq!(kinds, [read, read, write, sync, sync, sync, None, None, None]);
    }

    #[test]
    fn a_groups_file_is_read_and_written_for_the_disk_alone() {
        let root = blksched_testkit::Folder::new();
        for (file, text) in [
            ("sys/sda/dev", "8:0\n"),
            ("sys/sdb/dev", "8:16\n"),
            ("groups/cgroup.controllers", "io\n"),
            ("groups/web/cgroup.controllers", "io\n"),
            ("groups/web/io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max\n8:32 rbps=5 wbps=5 riops=5 wiops=5\n"),
        ] {
            fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
            fs::write(root.path(file), text).unwrap();
        }
        let of = |disks: &[&str]| QueueFiles {
            disks: disks.iter().map(|disk| root.path("sys").join(disk)).collect(),
            groups: GroupTree::at(&root.path("groups")),
            began: std::time::Instant::now(),
            eyes: None,
        };
        let (max, latency) = (Place::of_path("web/io.max"), Place::of_path("web/io.latency"));
        assert_eq!(of(&["sda"]).read(&max).unwrap(), "rbps=1000 wbps=max riops=max wiops=max");
        assert_eq!(of(&["sdb"]).read(&max).unwrap(), "rbps=max wbps=max riops=max wiops=max");
        assert!(of(&["sda", "sdb"]).read(&max).unwrap_err().contains("rbps=1000"), "an array's members differ");
        assert!(of(&["sda"]).read(&latency).unwrap_err().contains("this kernel has no such file"));
        // What the kernel would take as one line.
        of(&["sdb"]).write(&max, "rbps=7 wbps=max riops=max wiops=max").unwrap();
        assert_eq!(
            fs::read_to_string(root.path("groups/web/io.max")).unwrap(),
            "8:16 rbps=7 wbps=max riops=max wiops=max"
        );
        assert!(!of(&["sda"]).is_gone(&max));
        fs::remove_dir_all(root.path("groups/web")).unwrap();
        assert!(of(&["sda"]).is_gone(&max) && !of(&["sda"]).is_gone(&Place::Scheduler));
    }
}
