//! The drives that a matrix can tell from each other, and their files.

use blksched_disks::{Attached, DiskError, DiskSpec};

use crate::model::{DriveModel, Knowledge, ReadBesideProgram, capacity, us};

/// What is fitted.
#[derive(Clone, Debug, PartialEq)]
pub enum MatrixDrive {
    /// Flash.
    Flash(FlashValues),
    /// Platters.
    Turning(DriveModel),
}

/// An SSD as reads beside a writer show it.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashValues {
    /// Capacity \[GB\]; `None` if the drive's name does not have it.
    pub capacity_gb: Option<u32>,
    /// How it is attached.
    pub attached: Attached,
    /// Dies, or planes, that read independently.
    pub dies: u32,
    /// So many commands are worked on at a time; `None` for all.
    pub window: Option<u32>,
    /// Whether the programs of a cell's pages differ.
    pub programs_differ: bool,
    /// What a read does at a die that programs.
    pub beside_programs: ReadBesideProgram,
    /// The fastest writes of the matrix \[bytes/s\].
    pub most_writes: f64,
    /// Every value of [`FlashValues::KEYS`].
    pub values: [f64; 6],
}

/// Of a mean program, what the programs of a cell's three pages take: the upper page of a cell takes four to seven
/// times as long as the lower one (Grupp et al., MICRO 2009). Of six such lists that with which the matrix of the one
/// SSD that we have came out nearest.
const PROGRAMS: [f64; 3] = [0.3, 0.7, 2.0];
/// What a lower page is read in, of a middle one.
const LOWER: f64 = 0.92;

impl FlashValues {
    /// The keys of the fitted values, their units, and the ranges in which they are plausible.
    pub const KEYS: [(&'static str, &'static str, (f64, f64)); 6] = [
        // As `Knowledge::range` has them.
        ("overhead.command", "us", (1.0, 400.0)),
        ("flash.read", "us", (10.0, 300.0)),
        // The upper page, of the middle one.
        ("pages.times", "times", (1.01, 3.0)),
        ("overhead.random_read", "us", (0.3, 200.0)),
        ("flash.program", "us", (200.0, 5_000.0)),
        // Of the dies' time, the programs of the fastest writes.
        ("flash.program_size", "busy", (0.05, 0.95)),
    ];

    /// What a program takes at a time \[KiB\]: the fastest writes keep the dies busy for their share.
    pub fn program_kib(&self) -> u64 {
        let [.., program_us, busy] = self.values;
        let bytes = self.most_writes * program_us / 1e6 / (f64::from(self.dies) * busy);
        ((bytes / 4096.0).round().clamp(4.0, 1024.0) as u64) * 4
    }

    /// The values that ended at an end of their range.
    fn at_limits(&self) -> Vec<String> {
        let ends = self
            .values
            .iter()
            .zip(FlashValues::KEYS)
            .filter(|(value, (_, _, (low, high)))| **value <= low * 1.001 || **value >= high * 0.999);
        ends.map(|(value, (key, unit, (low, high)))| {
            format!("{key} ended at {value:.1} {unit}, an end of its plausible range ({low} to {high})")
        })
        .collect()
    }

    fn toml(&self, description: &str) -> String {
        let [command, read, spread, link, program, busy] = self.values;
        let is_nvme = self.attached == Attached::Nvme;
        let (rate, duplex, depth) = if is_nvme { ("3.2GB/s", "full", 1_023) } else { ("540MB/s", "half", 31) };
        let times = [LOWER * read, read, spread * read].map(|time| format!("\"{}\"", us(time)));
        // Dies in channels that carry pages faster than the dies read them.
        let channels = (1..=8).rev().find(|channels| self.dies.is_multiple_of(*channels)).unwrap_or(1);
        format!(
            r#"# FIT: fitted to these loads. CLASS: what such results do not tell.
kind = "ssd"
description = "{description}"
attached = "{attached}"        # CLASS
capacity = "{capacity}GB"      # {capacity_is}
max_command = "2MiB"     # CLASS
depth = {depth}             # CLASS

[overhead]
command = "{command}"    # FIT
interval = "1us"         # CLASS
random_read = "{link}"   # FIT: what the path takes for one

[interface]
rate = "{rate}"        # CLASS
duplex = "{duplex}"          # CLASS

[flash]
channels = {channels}             # CLASS
dies = {dies}                 # FIT: with channels, how many read independently
page = "16KiB"           # CLASS
program_size = "{size}KiB" # {size_is}
read = "{read}"        # FIT
program = "{program}"    # {program_is}
channel_rate = "800MB/s" # CLASS

[pages]                  # FIT: three pages to a cell
state = "on"
times = [{times}]
{programs}
[interference]
state = "{beside}"{pad} # {beside_is}
suspend = "20us"         # CLASS
patience = 8             # CLASS

[buffer]
state = "on"             # CLASS
size = "32MiB"           # CLASS
power_loss = "kept"      # CLASS
{window}"#,
            attached = self.attached.word(),
            capacity = self.capacity_gb.unwrap_or(1_000),
            capacity_is = if self.capacity_gb.is_some() { "from the drive's name" } else { "CLASS" },
            command = us(command),
            window = self.window_toml(),
            link = us(link),
            dies = self.dies / channels,
            size = self.program_kib(),
            programs = self.programs_toml(program),
            beside = self.beside_programs.word(),
            pad = " ".repeat(10_usize.saturating_sub(self.beside_programs.word().len())),
            beside_is =
                self.of_writes("FIT: of both, to wait and to interrupt, what comes nearer beside writes".to_owned()),
            size_is =
                self.of_writes(format!("FIT: the fastest writes keep dies busy for {:.0} % of the time", 100.0 * busy)),
            program_is = self.of_writes("FIT: how long reads wait beside writes".to_owned()),
            read = us(read),
            program = us(program),
            times = times.join(", "),
        ) + &self.fits_toml()
    }

    /// Where a value is from that only loads with writes tell.
    fn of_writes(&self, fitted: String) -> String {
        if self.most_writes > 0.0 { fitted } else { "CLASS: no load wrote".to_owned() }
    }

    fn programs_toml(&self, program: f64) -> String {
        if !self.programs_differ {
            return String::new();
        }
        let programs = PROGRAMS.map(|part| format!("\"{}\"", us(part * program)));
        format!("programs = [{}] # {}\n", programs.join(", "), self.of_writes("FIT: with flash.program".to_owned()))
    }

    fn window_toml(&self) -> String {
        let table = "[window]                 # FIT: so many commands are worked on at a time\nstate = \"on\"\n";
        self.window.map_or_else(String::new, |commands| format!("\n{table}commands = {commands}\n"))
    }

    /// Two values with their plausible ranges, for what a verdict hangs on.
    fn fits_toml(&self) -> String {
        let [command, _, _, _, program, _] = self.values;
        let line = |key: &str, low: f64, high: f64| format!("{key} = \"{} to {}\"\n", us(low), us(high));
        let mut lines = line("overhead.command", 0.88 * command, 1.12 * command);
        if self.most_writes > 0.0 {
            lines += &line("flash.program", 0.8 * program, 1.25 * program);
        }
        format!("\n# No fit to results of the simulator's own was tried: by judgement.\n[fit]\n{lines}")
    }
}

impl MatrixDrive {
    /// A first guess for flash: its dies, the part of a single read that they take, and a program \[us\].
    pub(super) fn flash(
        (device, attached): (&str, Attached),
        (single_us, most_reads, most_writes): (f64, f64, f64),
        dies: u32,
        (part, program_us, programs_differ, window): (f64, f64, bool, Option<u32>),
        beside_programs: ReadBesideProgram,
    ) -> MatrixDrive {
        let read = part * single_us;
        let link = 0.5 * 1e6 / most_reads;
        let mut values = [single_us - read, read, 1.25, link, program_us, 0.45];
        for (value, (_, _, (low, high))) in values.iter_mut().zip(FlashValues::KEYS) {
            *value = value.clamp(low, high);
        }
        let capacity_gb = capacity(device);
        MatrixDrive::Flash(FlashValues {
            capacity_gb,
            attached,
            dies,
            window,
            programs_differ,
            beside_programs,
            most_writes,
            values,
        })
    }

    /// The fitted values.
    pub(super) fn values(&self) -> Vec<f64> {
        match self {
            MatrixDrive::Flash(flash) => flash.values.to_vec(),
            MatrixDrive::Turning(model) => model.parameters.iter().map(|known| known.value).collect(),
        }
    }

    /// The same with other values, within their ranges.
    pub(super) fn with(&self, values: &[f64]) -> MatrixDrive {
        let mut drive = self.clone();
        match &mut drive {
            MatrixDrive::Flash(flash) => {
                for ((value, new), (_, _, (low, high))) in flash.values.iter_mut().zip(values).zip(FlashValues::KEYS) {
                    *value = new.clamp(low, high);
                }
            }
            MatrixDrive::Turning(model) => {
                let keys: Vec<Knowledge> = model.parameters.iter().map(|known| known.key).collect();
                keys.into_iter().zip(values).for_each(|(key, value)| model.set(key, *value));
            }
        }
        drive
    }

    /// The values that ended at an end of their plausible range, in words: there the model is wrong.
    pub fn at_limits(&self) -> Vec<String> {
        let told = |known: crate::Parameter| {
            let (low, high) = known.key.range();
            let (key, value) = (known.key.key(), known.value);
            format!("{key} ended at {value:.1} us, an end of its plausible range ({low} to {high} us)")
        };
        match self {
            MatrixDrive::Flash(flash) => flash.at_limits(),
            MatrixDrive::Turning(model) => model.at_limits().into_iter().map(told).collect(),
        }
    }

    /// What a matrix does not tell, and the class has.
    pub fn unknown(&self) -> Vec<&'static str> {
        match self {
            MatrixDrive::Flash(flash) => {
                let beside = "how long reads wait beside writes: no load wrote";
                let beside = (flash.most_writes <= 0.0).then_some(beside);
                let rest = [
                    "what writes take: only reads were timed, beside one sequential writer at most",
                    "random writes, and the rate of long reads",
                    "how many dies share a channel, and the sizes of pages and blocks",
                    "flushes, discards and write-through",
                ];
                beside.into_iter().chain(rest).collect()
            }
            MatrixDrive::Turning(_) => vec![
                "rates, zones and tracks, and sequential reads",
                "how its write cache sorts random writes, and how long reads have to wait for them (the class's)",
                "the look-ahead, and how long the firmware lets a command wait (the class's)",
            ],
        }
    }

    /// The disk's file; each line of `about` becomes a comment at its beginning.
    pub fn toml(&self, description: &str, about: &[String]) -> String {
        match self {
            MatrixDrive::Flash(flash) => {
                about.iter().map(|line| format!("# {line}\n")).collect::<String>() + &flash.toml(description)
            }
            MatrixDrive::Turning(model) => model.toml(description, about),
        }
    }

    /// The disk.
    ///
    /// # Errors
    /// If the values make no disk; an error of ours.
    pub fn disk(&self) -> Result<DiskSpec, DiskError> {
        blksched_disks::parse("fitted.toml", &self.toml("fitted", &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: ReadBesideProgram = ReadBesideProgram::Waits;

    #[test]
    fn where_no_load_wrote_nothing_about_programs_is_called_fitted() {
        let of = |most_writes: f64| {
            let what = (0.6, 1_800.0, true, None);
            let drive = MatrixDrive::flash(("x", Attached::Nvme), (100.0, 400_000.0, most_writes), 48, what, WAITS);
            drive.disk().unwrap();
            (drive.toml("x", &[]), drive.unknown().join("; "))
        };
        let ((alone, unknown), (beside, _)) = (of(0.0), of(800e6));
        let labels = |text: &str| {
            let of_programs = text.lines().filter(|line| line.starts_with("program"));
            of_programs.map(|line| line.split_once("# ").unwrap().1[..4].trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((labels(&alone), labels(&beside)), (vec!["CLAS".to_owned(); 3], vec!["FIT:".to_owned(); 3]));
        assert!(!alone.contains("flash.program =") && beside.contains("flash.program ="), "{alone}");
        assert!(unknown.contains("how long reads wait beside writes: no load wrote"), "{unknown}");
    }

    #[test]
    fn every_guess_is_a_disk_whose_programs_carry_the_fastest_writes() {
        for dies in [16, 24, 48, 64] {
            for differ in [false, true] {
                let single = (100.0, 400_000.0, 800e6);
                let guess = (("x-1900gb", Attached::Nvme), single, dies, (0.6, 1_800.0, differ, Some(64)));
                let drive = MatrixDrive::flash(guess.0, guess.1, guess.2, guess.3, WAITS);
                let mut disk = drive.disk().unwrap();
                let ssd = disk.ssd_mut().unwrap();
                assert_eq!(ssd.flash.channels * ssd.flash.dies, dies);
                let carried = f64::from(dies) * ssd.flash.program_sectors as f64 * 512.0 / 1.8e-3;
                assert!((0.4..0.5).contains(&(800e6 / carried)), "{carried}");
                assert_eq!(ssd.tails.pages.unwrap().programs().len(), if differ { 3 } else { 0 });
                assert!(drive.at_limits().is_empty());
                assert_eq!(drive.with(&[1e9; 6]).at_limits().len(), 6);
            }
        }
        assert!((PROGRAMS.iter().sum::<f64>() - 3.0).abs() < 1e-9);
    }
}
