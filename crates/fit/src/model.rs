//! The mechanisms that a grid can tell: parameters with ranges, and the disk's TOML that they make.
//!
//! A grid of 4 KiB I/Os at random places shows what a single I/O takes and how that varies, how many the path carries
//! per second, whether completions are gathered, and whether writes pause. It does not show geometry: channels, page
//! and block sizes, the rate of long transfers; those are the class's, and [`DriveModel::unknown`] says so.

use blksched_disks::{Attached, DiskError, DiskSpec};

use crate::cell::{CellFigures, GridLoad, LoadPattern, ResultGrid};
use crate::law::TurningLaw;

/// One fitted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its place in [`Knowledge`].
    pub key: Knowledge,
    /// The value, in the key's unit.
    pub value: f64,
}

/// What a grid tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// `overhead.command` \[us\].
    Command,
    /// `flash.read`: the middle page \[us\].
    Read,
    /// How much longer the upper page takes \[us\]; the lower one takes a quarter of that less.
    Spread,
    /// `overhead.random_read`: what the path takes for one read \[us\].
    ReadLink,
    /// `overhead.random_write` \[us\].
    WriteLink,
    /// `stall.time`, for every 64 writes \[us\].
    Stall,
    /// `coalescing.time` \[us\].
    Coalescing,
    /// `flash.program` \[us\]; only mixtures show it.
    Program,
    /// What the host's process works for each I/O \[us\]; only one process at depth shows it.
    Submit,
    /// `seek.average` of a spinning drive \[us\].
    SeekAverage,
    /// `seek.min`: the shortest seek, with the time that the head takes to find its track \[us\].
    SeekShortest,
}

impl Knowledge {
    /// The key in the disk's file; empty for what is the host's.
    pub fn key(self) -> &'static str {
        match self {
            Knowledge::Command => "overhead.command",
            Knowledge::Read => "flash.read",
            Knowledge::Spread => "pages.times",
            Knowledge::ReadLink => "overhead.random_read",
            Knowledge::WriteLink => "overhead.random_write",
            Knowledge::Stall => "stall.time",
            Knowledge::Coalescing => "coalescing.time",
            Knowledge::Program => "flash.program",
            Knowledge::Submit => "",
            Knowledge::SeekAverage => "seek.average",
            Knowledge::SeekShortest => "seek.min",
        }
    }

    /// Between these a value is plausible; a fit that ends at one of them is an error of the model.
    pub fn range(self) -> (f64, f64) {
        match self {
            // A link's or a controller's share.
            Knowledge::Command => (1.0, 400.0),
            // 3D TLC and QLC, data sheets: 20 to 200 us; less where a controller's cache answers.
            Knowledge::Read => (1.0, 300.0),
            Knowledge::Spread => (0.1, 400.0),
            // 1.5 million to 5 000 per second.
            Knowledge::ReadLink | Knowledge::WriteLink => (0.5, 200.0),
            Knowledge::Stall => (1_000.0, 50_000.0),
            Knowledge::Coalescing => (10.0, 1_000.0),
            // TLC and QLC, data sheets: 0.4 to 3 ms.
            Knowledge::Program => (200.0, 5_000.0),
            Knowledge::Submit => (0.5, 100.0),
            // Data sheets: 3.4 ms at 15000 rpm, 12 to 14 ms in notebooks.
            Knowledge::SeekAverage => (2_000.0, 16_000.0),
            // 0.2 to 1.5 ms from track to track, and up to some milliseconds until the head follows its track.
            Knowledge::SeekShortest => (200.0, 6_000.0),
        }
    }
}

/// What stores the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveKind {
    /// Flash.
    Flash,
    /// Platters, with a firmware that chooses like this.
    Turning(TurningLaw),
}

/// What the values describe, and with which mechanisms.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveModel {
    /// Capacity \[GB\]; `None` if the drive's name does not have it.
    pub capacity_gb: Option<u32>,
    /// How it is attached.
    pub attached: Attached,
    /// The most commands at a time.
    pub depth: u32,
    /// What stores the data, with what is discrete about it.
    pub kind: DriveKind,
    /// The fitted values.
    pub parameters: Vec<Parameter>,
    /// What a read does that comes to a die that is programming; `None` if the results have no mixtures to tell.
    pub beside_programs: Option<ReadBesideProgram>,
}

/// What a read does that comes to a die that is programming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBesideProgram {
    /// It interrupts the program.
    Suspends,
    /// It waits for the program's end.
    Waits,
}

impl ReadBesideProgram {
    /// Each.
    pub const BOTH: [ReadBesideProgram; 2] = [ReadBesideProgram::Waits, ReadBesideProgram::Suspends];

    /// The word of `interference.state`.
    pub fn word(self) -> &'static str {
        match self {
            ReadBesideProgram::Suspends => "suspend",
            ReadBesideProgram::Waits => "wait",
        }
    }
}

/// A drive of this kind programs so many writes at once: two consumer drives (docs/disks.md).
const STALL_EVERY: u32 = 64;
/// With fewer commands a controller that gathers completions does not: one RAID controller (docs/disks.md).
const COALESCING_FROM: u32 = 3;
/// With more in flight the path's own rate hides whether they were gathered.
const A_FEW: u32 = 8;
/// What a fit to the simulator's own results comes within (`tests/hidden.rs`: a command, a page and the work of a
/// process), and so such a value's plausible range. For the others it was not tried how near a fit comes.
const PLAUSIBLE: f64 = 1.12;
/// The same for a seek (`tests/hidden.rs`).
const PLAUSIBLE_SEEK: f64 = 1.1;
/// Blocks of 4 KiB that all dies program at a time, by the class's channels, dies and program sizes.
const NVME_AT_ONCE: u32 = 8 * 4 * 16;
const SATA_AT_ONCE: u32 = 8 * 8 * 4;
/// What a page takes to be read, and an upper page more, where no load shows it \[us\].
const READ_US: f64 = 60.0;
const LEAST_SPREAD_US: f64 = 0.1;
/// 4 KiB over SATA at 540 MB/s \[us\].
const CROSSING_US: f64 = 7.6;

/// What such results do not tell of a spinning drive.
const UNKNOWN_TURNING: [&str; 3] = [
    "rates, zones and tracks, and sequential I/O (the class's)",
    "the write cache, and reads beside writes: random writes and mixtures are neither fitted nor judged (the class's)",
    "the look-ahead, and how long the firmware lets a command wait (the class's)",
];

impl DriveModel {
    /// A first guess of every value, read off the figures of single cells.
    pub fn guess(grid: &ResultGrid, attached: Attached, used: &[GridLoad]) -> DriveModel {
        let has_mixes = used.iter().any(|load| matches!(load.pattern, LoadPattern::Mixed(_)));
        let is_nvme = attached == Attached::Nvme;
        let side = |load: &GridLoad, read: bool| {
            let figures = grid.cell(*load)?.figures;
            if read { figures.read } else { figures.write }
        };
        let single = |read: bool| used.iter().filter(|load| load.in_flight() == 1).find_map(|load| side(load, read));
        let fastest = |read: bool| used.iter().filter_map(|load| side(load, read)).map(|f| f.iops).reduce(f64::max);
        let mut parameters = Vec::new();
        let mut add = |key: Knowledge, value: f64| {
            let (low, high) = key.range();
            parameters.push(Parameter { key, value: value.clamp(low, high) });
        };
        let (read, write) = (single(true), single(false));
        let crossing = if is_nvme { 1.2 } else { CROSSING_US };
        let command = match (write, read) {
            (Some(write), Some(read)) => (write.p50_us - crossing).min(0.8 * read.p50_us),
            (Some(write), None) => write.p50_us - crossing,
            (None, read) => 0.15 * read.map_or(100.0, |read| read.p50_us),
        };
        let command = command.max(1.0);
        add(Knowledge::Command, command);
        if let Some(read) = read {
            add(Knowledge::Read, read.p50_us - command - crossing);
            add(Knowledge::Spread, read.p99_us - read.p50_us);
            add(Knowledge::ReadLink, 1e6 / fastest(true).unwrap_or(1e5));
        }
        if write.is_some() {
            add(Knowledge::WriteLink, 1e6 / fastest(false).unwrap_or(1e5));
        }
        if has_mixes {
            add(Knowledge::Program, 1_500.0);
        }
        let depth = if is_nvme { 1_023 } else { 31 };
        let kind = DriveKind::Flash;
        let beside_programs = has_mixes.then_some(ReadBesideProgram::Suspends);
        DriveModel { capacity_gb: capacity(&grid.device), attached, depth, kind, parameters, beside_programs }
    }

    /// A spinning drive without fitted values.
    pub(crate) fn spinning(device: &str, law: TurningLaw) -> DriveModel {
        let (kind, parameters) = (DriveKind::Turning(law), Vec::new());
        let (capacity_gb, attached) = (capacity(device), Attached::Sata);
        DriveModel { capacity_gb, attached, depth: 31, kind, parameters, beside_programs: None }
    }

    /// The same with writes that pause, if any figure looks like it: a p99.9 beyond a millisecond and twenty medians.
    pub fn with_stall(&self, grid: &ResultGrid, used: &[GridLoad]) -> Option<DriveModel> {
        let writes = used.iter().filter_map(|load| Some((load.in_flight(), grid.cell(*load)?.figures.write?)));
        let writes: Vec<(u32, CellFigures)> = writes.collect();
        let is_suspect = |f: &CellFigures| f.p999_us > 20.0 * f.p50_us && f.p999_us > 1_000.0;
        if self.beside_programs.is_some() || !writes.iter().any(|(_, figures)| is_suspect(figures)) {
            return None;
        }
        let between = writes.iter().filter(|(n, _)| *n > 1).map(|(n, f)| f.p50_us / f64::from(*n)).reduce(f64::min)?;
        let fastest = writes.iter().map(|(_, f)| f.iops).reduce(f64::max)?;
        let link = between.min(1e6 / fastest);
        let deepest = writes.iter().max_by_key(|(n, _)| *n).map(|(_, f)| f.iops)?;
        let stall = f64::from(STALL_EVERY) * 1e6 / deepest;
        let mut model = self.clone();
        model.set(Knowledge::WriteLink, link);
        model.set(Knowledge::Stall, stall);
        Some(model)
    }

    /// The same with reads that wait for programs, if mixtures can tell. Where they do, a die's programs carry the
    /// writes at the rate of the fastest mixture.
    pub fn with_waiting(&self, grid: &ResultGrid, used: &[GridLoad]) -> Option<DriveModel> {
        self.beside_programs?;
        let writes = used.iter().filter_map(|load| Some(grid.cell(*load)?.figures.write?.iops));
        let fastest = writes.reduce(f64::max)?;
        let mut model = DriveModel { beside_programs: Some(ReadBesideProgram::Waits), ..self.clone() };
        let at_once = if self.is_nvme() { NVME_AT_ONCE } else { SATA_AT_ONCE };
        model.set(Knowledge::Program, f64::from(at_once) * 1e6 / fastest);
        Some(model)
    }

    /// The same with gathered completions, if a few in flight take much longer than one.
    pub fn with_coalescing(&self, grid: &ResultGrid, used: &[GridLoad]) -> Option<DriveModel> {
        let median = |load: &GridLoad| Some(grid.cell(*load)?.sides().next()?.1.p50_us);
        let single = used.iter().find(|load| load.in_flight() == 1)?;
        let few = used.iter().filter(|load| (COALESCING_FROM..=A_FEW).contains(&load.in_flight()));
        let longer = median(few.min_by_key(|load| load.in_flight())?)? - median(single)?;
        (longer > 30.0).then(|| {
            let mut model = self.clone();
            model.set(Knowledge::Coalescing, longer);
            model
        })
    }

    /// The same with a host whose process works for each I/O.
    pub fn with_submit(&self, grid: &ResultGrid, used: &[GridLoad]) -> Option<DriveModel> {
        let deep = used.iter().filter(|load| load.jobs == 1 && load.depth > 1);
        let fastest = deep.filter_map(|load| grid.cell(*load)).map(crate::GridCell::iops).reduce(f64::max)?;
        let mut model = self.clone();
        model.set(Knowledge::Submit, 0.9e6 / fastest);
        Some(model)
    }

    /// A value, if the model has it.
    pub fn get(&self, key: Knowledge) -> Option<f64> {
        self.parameters.iter().find(|known| known.key == key).map(|known| known.value)
    }

    /// Sets a value, within its range.
    pub fn set(&mut self, key: Knowledge, value: f64) {
        let (low, high) = key.range();
        let value = value.clamp(low, high);
        match self.parameters.iter_mut().find(|known| known.key == key) {
            Some(known) => known.value = value,
            None => self.parameters.push(Parameter { key, value }),
        }
    }

    /// The values that ended at an end of their range: there the model is wrong.
    pub fn at_limits(&self) -> Vec<Parameter> {
        let is_at_limit = |known: &&Parameter| {
            let (low, high) = known.key.range();
            known.value <= low * 1.001 || known.value >= high * 0.999
        };
        self.parameters.iter().filter(is_at_limit).copied().collect()
    }

    /// What no such results tell, and what the model assumes there.
    pub fn unknown(&self) -> Vec<&'static str> {
        if self.law().is_some() {
            return UNKNOWN_TURNING.to_vec();
        }
        let mut unknown = vec![
            "the rate of long transfers, and sequential I/O (the interface of the class)",
            "channels, dies, page and block sizes (the class's)",
            "what the drive went through before, and how it would do in another state",
            "flushes, discards and write-through",
        ];
        match self.beside_programs.is_some() {
            true => unknown.push("pauses of writes and gathered completions: not looked for where there are mixtures"),
            false => unknown.push("reads beside writes: no mixed cell; a guess (programs are suspended for reads)"),
        }
        if self.get(Knowledge::Read).is_none() {
            unknown.push("what a single read takes: no such load; the class's");
        }
        if self.get(Knowledge::WriteLink).is_none() {
            unknown.push("writes: no such load; the class's");
        }
        unknown
    }

    /// The disk's file; each line of `about` becomes a comment at its beginning.
    pub fn toml(&self, description: &str, about: &[String]) -> String {
        let about: String = about.iter().map(|line| format!("# {line}\n")).collect();
        let drive = match self.kind {
            DriveKind::Flash => self.path_toml(description) + &self.flash_toml() + &self.tails_toml(),
            DriveKind::Turning(law) => self.turning_toml(law, description),
        };
        about + &drive + &self.fits_toml()
    }

    /// FIT if this was fitted, and else what the class has.
    fn label(&self, key: Knowledge) -> &'static str {
        if self.get(key).is_some() { "FIT" } else { "CLASS" }
    }

    /// The fitted values with their plausible ranges, for what a verdict hangs on.
    fn fits_toml(&self) -> String {
        let low_page =
            (self.value(Knowledge::Read, READ_US) - self.value(Knowledge::Spread, LEAST_SPREAD_US) / 4.0).max(0.1);
        let high_page = self.value(Knowledge::Read, READ_US) + self.value(Knowledge::Spread, LEAST_SPREAD_US);
        let line = |known: &Parameter| {
            // A list has no ends of one value, the host's value is not in the file, and of the others it is not known.
            let plausible = match known.key {
                Knowledge::Command | Knowledge::Read => PLAUSIBLE,
                Knowledge::SeekAverage => PLAUSIBLE_SEEK,
                _ => return None,
            };
            let (mut low, mut high) = (known.value / plausible, known.value * plausible);
            if known.key == Knowledge::Read {
                (low, high) = (low.max(low_page), high.min(high_page));
            }
            Some(format!("{} = \"{} to {}\"\n", known.key.key(), us(low), us(high)))
        };
        let lines: String = self.parameters.iter().filter_map(line).collect();
        format!(
            "\n# A fit to the simulator's own results comes within 12 % of these; for the others it was not tried.\n\
             [fit]\n{lines}"
        )
    }

    fn is_nvme(&self) -> bool {
        self.attached == Attached::Nvme
    }

    fn value(&self, key: Knowledge, usual: f64) -> f64 {
        self.get(key).unwrap_or(usual)
    }

    /// What is in front of the flash.
    fn path_toml(&self, description: &str) -> String {
        let (rate, duplex) = if self.is_nvme() { ("3.5GB/s", "full") } else { ("540MB/s", "half") };
        let link = |key: Knowledge| {
            let name = key.key().trim_start_matches("overhead.");
            let line = |link| format!("{name} = \"{}\" # FIT: what the path takes for one\n", us(link));
            self.get(key).map_or_else(String::new, line)
        };
        format!(
            r#"# FIT: fitted to these loads. CLASS: what such results do not tell.
kind = "ssd"
description = "{description}"
attached = "{attached}"        # CLASS
capacity = "{capacity}GB"      # {capacity_is}
max_command = "2MiB"     # CLASS
depth = {depth}               # CLASS

[overhead]
command = "{command}"     # FIT
interval = "1us"         # CLASS
{read_link}{write_link}
[interface]
rate = "{rate}"        # CLASS
duplex = "{duplex}"          # CLASS
"#,
            attached = self.attached.word(),
            capacity = self.capacity_gb.unwrap_or(480),
            capacity_is = if self.capacity_gb.is_some() { "from the drive's name" } else { "CLASS" },
            depth = self.depth,
            command = us(self.value(Knowledge::Command, 10.0)),
            read_link = link(Knowledge::ReadLink),
            write_link = link(Knowledge::WriteLink),
        )
    }

    fn flash_toml(&self) -> String {
        let (read, spread) = (self.value(Knowledge::Read, READ_US), self.value(Knowledge::Spread, LEAST_SPREAD_US));
        let times = [(read - spread / 4.0).max(0.1), read, read + spread].map(|time| format!("\"{}\"", us(time)));
        let (dies, program_size) = if self.is_nvme() { (4, "64KiB") } else { (8, "16KiB") };
        format!(
            r#"
[flash]
channels = 8             # CLASS
dies = {dies}                 # CLASS
page = "16KiB"           # CLASS
program_size = "{program_size}"   # CLASS
read = "{read}"        # {read_is}
program = "{program}"    # {program_is}
channel_rate = "800MB/s" # CLASS

[pages]                  # {spread_is}: three pages to a cell
state = "on"
times = [{times}]

[interference]
state = "{state}"        # {state_is}
suspend = "20us"         # CLASS
patience = 8             # CLASS

[buffer]
state = "on"             # CLASS
size = "32MiB"           # CLASS
power_loss = "lost"      # CLASS
"#,
            read = us(read),
            read_is = self.label(Knowledge::Read),
            spread_is = self.label(Knowledge::Spread),
            program = us(self.value(Knowledge::Program, 500.0)),
            program_is = self.label(Knowledge::Program),
            state = self.beside_programs.unwrap_or(ReadBesideProgram::Suspends).word(),
            state_is = if self.beside_programs.is_some() { "FIT" } else { "CLASS" },
            times = times.join(", "),
        )
    }

    fn tails_toml(&self) -> String {
        let mut text = String::new();
        if let Some(stall) = self.get(Knowledge::Stall) {
            let (every, time) = (STALL_EVERY, us(stall));
            text += &format!(
                "\n[stall]\nstate = \"on\"\nevery = {every}   # two consumer drives\ntime = \"{time}\"      # FIT\n"
            );
        }
        if let Some(time) = self.get(Knowledge::Coalescing) {
            let (from, time) = (COALESCING_FROM, us(time));
            let rest =
                format!("from = {from}   # one RAID controller\nmost = 64   # CLASS\ntime = \"{time}\"      # FIT\n");
            text += &format!("\n[coalescing]\nstate = \"on\"\n{rest}");
        }
        text
    }

    /// The disk.
    ///
    /// # Errors
    /// If the values make no disk; an error of ours.
    pub fn disk(&self) -> Result<DiskSpec, DiskError> {
        blksched_disks::parse("fitted.toml", &self.toml("fitted", &[]))
    }
}

/// A time as a disk's file takes it.
pub(crate) fn us(us: f64) -> String {
    format!("{}ns", (us * 1e3).round().max(0.0) as u64)
}

/// The capacity that a drive's name tells \[GB\]: a number with its unit, or else the last one that looks like one.
pub(crate) fn capacity(device: &str) -> Option<u32> {
    let name = device.to_lowercase();
    let words = || name.split(|c: char| c.is_whitespace() || "-_/".contains(c));
    let plausible = |gb: f64| (32.0..=100_000.0).contains(&gb).then(|| gb.round() as u32);
    let with_unit = |word: &str| {
        let (digits, times) = match (word.strip_suffix("tb"), word.strip_suffix("gb")) {
            (Some(digits), _) => (digits, 1_000.0),
            (None, digits) => (digits?, 1.0),
        };
        plausible(digits.parse::<f64>().ok()? * times)
    };
    let bare = |word: &str| plausible(f64::from(word.parse::<u32>().ok()?));
    words().filter_map(with_unit).next_back().or_else(|| words().filter_map(bare).next_back())
}

#[cfg(test)]
mod tests {
    use blksched::Dir;

    use super::*;

    #[test]
    fn a_drives_name_tells_its_capacity() {
        let named =
            ["intel-d3-s4610-480", "sabrent-rocket4plus-2tb-4096", "MX500 1TB", "sm883 3.84TB", "hts7210-100gb-7200"];
        assert_eq!(named.map(capacity), [Some(480), Some(2_000), Some(1_000), Some(3_840), Some(100)]);
        assert_eq!(["floppy", "results", "x-7"].map(capacity), [None; 3]);
    }

    #[test]
    fn every_mechanism_makes_a_disk_whose_single_read_takes_what_was_measured() {
        let mut grid = ResultGrid { device: "a-480".to_owned(), path: "sata".to_owned(), ..ResultGrid::default() };
        let load = |pattern, depth| GridLoad { pattern, bytes: 4096, depth, jobs: 1 };
        let figures = |iops, p50_us, p99_us, p999_us| CellFigures { iops, p50_us, p99_us, p999_us };
        grid.add(load(LoadPattern::Read, 1), Dir::Read, figures(8_000.0, 100.0, 140.0, 180.0));
        grid.add(load(LoadPattern::Read, 4), Dir::Read, figures(20_000.0, 180.0, 300.0, 400.0));
        grid.add(load(LoadPattern::Write, 1), Dir::Write, figures(15_000.0, 40.0, 60.0, 8_000.0));
        grid.add(load(LoadPattern::Write, 4), Dir::Write, figures(7_000.0, 70.0, 8_000.0, 9_000.0));
        let used: Vec<GridLoad> = grid.cells.iter().map(|cell| cell.load).collect();
        let plain = DriveModel::guess(&grid, Attached::Sata, &used);
        let stalls = plain.with_stall(&grid, &used).unwrap();
        let all = stalls.with_coalescing(&grid, &used).unwrap();
        assert_eq!(all.get(Knowledge::Coalescing), Some(80.0));
        assert!((all.get(Knowledge::Stall).unwrap() - 64.0 * 1e6 / 7_000.0).abs() < 1.0, "the rate of many in flight");
        let disk = all.disk().unwrap();
        assert!(disk.has_tails() && disk.middleware.coalescing.is_some());
        assert_eq!(all.at_limits(), []);
        let fits: Vec<String> = disk.fitted().into_iter().map(|fit| fit.key).collect();
        assert_eq!(fits, ["flash.read", "overhead.command"], "of the others it was not tried how near a fit comes");
        let mut limited = all.clone();
        limited.set(Knowledge::Read, 1e9);
        assert_eq!(limited.at_limits(), [Parameter { key: Knowledge::Read, value: 300.0 }]);
    }
}
