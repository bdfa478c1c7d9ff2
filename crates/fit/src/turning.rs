//! A spinning drive, by what random reads tell: how the arm moves, and which queued command the firmware takes.
//!
//! **Rule** One read at a time shows the seek and the revolution; what a queue gains, and how unevenly its commands
//! wait, shows the choice: a firmware that knows where the platters are gains most, one that takes the nearest cylinder
//! less, and one that decides some commands ahead nothing until more are queued. Each of these is tried; the times of
//! the arm are refined.
//!
//! **Not told** by random reads: rates, zones, tracks, the look-ahead and the write cache. These are the class's.

use blksched_disks::QueueOrder;

use crate::cell::{CellFigures, LoadPattern, ResultGrid};
use crate::law::TurningLaw;
use crate::model::{DriveKind, DriveModel, Knowledge, us};

/// A single read of an SSD takes less \[us\], and one of a spinning drive more.
pub(crate) const SLOWEST_FLASH_US: f64 = 1_000.0;
/// A single read of a spinning drive takes less \[us\]: a seek over all of it, a revolution, and as much again.
pub(crate) const SLOWEST_TURNING_US: f64 = 60_000.0;
/// What a command takes beside seek and rotation \[us\]; as in the presets.
const COMMAND_US: f64 = 200.0;
/// The longest seek is as much longer than an average one, in data sheets 1.6 to 2.2 times.
const LONGEST: f64 = 1.75;
/// Where the shortest seek is looked for, in parts of an average one: a single-track seek of data sheets, and with the
/// time that a head takes to find its track.
const SHORTEST: [f64; 3] = [0.08, 0.2, 0.35];
/// Decided ahead.
const AHEAD: [u32; 7] = [0, 1, 2, 3, 4, 6, 8];
/// What drives turn at.
const SPEEDS: [u32; 4] = [5_400, 7_200, 10_000, 15_000];

impl ResultGrid {
    /// How long a single random read takes, if there is one \[us\].
    pub(crate) fn single_read(&self) -> Option<CellFigures> {
        let reads = self.cells.iter().filter(|cell| cell.load.pattern == LoadPattern::Read);
        reads.filter(|cell| cell.load.in_flight() == 1).find_map(|cell| cell.figures.read)
    }

    /// Whether this drive spins: no SSD takes so long for a single read.
    pub fn turns(&self) -> bool {
        self.single_read().is_some_and(|read| read.p50_us > SLOWEST_FLASH_US)
    }
}

impl DriveModel {
    /// The spinning drives in question, by the median of a single read.
    pub(crate) fn turning(grid: &ResultGrid, single: &CellFigures) -> Vec<DriveModel> {
        let mut models = Vec::new();
        for rpm in speeds(&grid.device) {
            let one = TurningLaw { rpm, order: QueueOrder::Arrival, ahead: 0 };
            let choosing = [QueueOrder::Seek, QueueOrder::Positioning];
            let laws = choosing.iter().flat_map(|&order| AHEAD.map(|ahead| TurningLaw { rpm, order, ahead }));
            let average = single.p50_us - one.revolution_us() / 2.0 - COMMAND_US;
            let (least, most) = Knowledge::SeekAverage.range();
            if average < least {
                continue;
            }
            let average = average.min(most);
            for (law, part) in core::iter::once(one).chain(laws).flat_map(|law| SHORTEST.map(|part| (law, part))) {
                let mut model = DriveModel::spinning(&grid.device, law);
                model.set(Knowledge::SeekAverage, average);
                model.set(Knowledge::SeekShortest, part * average);
                models.push(model);
            }
        }
        models
    }

    /// The file of one.
    pub(crate) fn turning_toml(&self, law: TurningLaw, description: &str) -> String {
        let average = self.get(Knowledge::SeekAverage).unwrap_or(8_000.0);
        // A simplex may pass the average.
        let shortest = self.get(Knowledge::SeekShortest).unwrap_or(1_000.0).min(0.9 * average);
        let skew = (shortest / law.revolution_us() + 0.03).clamp(0.15, 0.95);
        let capacity_is = if self.capacity_gb.is_some() { "from the drive's name" } else { "CLASS" };
        format!(
            r#"# FIT: fitted to these loads. CLASS: what such results do not tell.
kind = "hdd"
description = "{description}"
attached = "{attached}"        # CLASS
capacity = "{capacity}GB"      # {capacity_is}
max_command = "32MiB"    # CLASS
speed = "{rpm}rpm"       # FIT, or from the drive's name

[zones]
count = 16               # CLASS
outer = "150MB/s"        # CLASS
inner = "75MB/s"         # CLASS

[geometry]
heads = 4                # CLASS
track_skew = "0.12rev"   # CLASS
cylinder_skew = "{skew:.2}rev" # FIT: covers seek.min

[seek]
min = "{shortest}"       # FIT: with the time that the head takes to find its track
average = "{average}"    # FIT
max = "{longest}"        # CLASS: {LONGEST} times the average
head_switch = "{switch}" # CLASS: covered by track_skew
write_settle = "0.8ms"   # CLASS

[overhead]
command = "{command}"    # CLASS
queued = "20us"          # CLASS
{CLASS}
[ncq]
order = "{order}"        # FIT
ahead = {ahead}          # FIT: commands decided ahead
depth = {depth}          # CLASS
age_limit = "4s"         # CLASS
sequential_limit = "30ms" # CLASS
sequential_wait = "0s"   # CLASS
"#,
            attached = self.attached.word(),
            capacity = self.capacity_gb.unwrap_or(500),
            rpm = law.rpm,
            shortest = us(shortest),
            average = us(average),
            longest = us(average * LONGEST),
            switch = us((0.1 * law.revolution_us()).min(shortest)),
            command = us(COMMAND_US),
            order = law.order_word(),
            ahead = law.ahead,
            depth = self.depth,
        )
    }

    /// Its law, if it spins.
    pub fn law(&self) -> Option<TurningLaw> {
        match self.kind {
            DriveKind::Turning(law) => Some(law),
            DriveKind::Flash => None,
        }
    }
}

/// The tables of what random reads do not show.
const CLASS: &str = r#"
[interface]
rate = "280MB/s"         # CLASS

[look_ahead]
state = "on"             # CLASS
segment = "512KiB"       # CLASS
segments = 8             # CLASS
hold = "256KiB"          # CLASS

[write_cache]
order = "position"       # CLASS
size = "4MiB"            # CLASS
extents = 64             # CLASS
chunk = "128KiB"         # CLASS
reach = 16               # CLASS
"#;

/// The speed that a drive's name tells, as in `7200` and `10k`, or else all.
fn speeds(device: &str) -> Vec<u32> {
    let name = device.to_lowercase();
    let words = name.split(|c: char| c.is_whitespace() || "-_/".contains(c));
    let mut told = words.filter_map(|word| {
        let word = word.trim_end_matches("rpm");
        SPEEDS.into_iter().find(|rpm| word == rpm.to_string() || word == format!("{}k", rpm / 1_000))
    });
    match told.next_back() {
        Some(rpm) => vec![rpm],
        None => SPEEDS.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drives_name_tells_its_speed_or_all_are_tried() {
        assert_eq!(speeds("raptor-73gb-10k"), [10_000]);
        assert_eq!(speeds("hgst-hts7210-100gb-7200"), [7_200]);
        assert_eq!(speeds("exos_7200rpm"), [7_200]);
        assert_eq!(speeds("st1000"), SPEEDS);
    }

    #[test]
    fn every_law_makes_a_drive_whose_single_read_takes_what_was_measured() {
        let grid = ResultGrid { device: "x-7200".to_owned(), ..ResultGrid::default() };
        let single = CellFigures { iops: 80.0, p50_us: 12_500.0, p99_us: 21_000.0, p999_us: 25_000.0 };
        let models = DriveModel::turning(&grid, &single);
        assert_eq!(models.len(), SHORTEST.len() * (1 + 2 * AHEAD.len()));
        for model in models {
            let disk = model.disk().unwrap();
            assert!(disk.description == "fitted" && model.law().unwrap().rpm == 7_200, "{model:?}");
            assert_eq!(model.at_limits(), [], "{model:?}");
        }
        assert_eq!(
            DriveModel::turning(&grid, &CellFigures { p50_us: 3_000.0, ..single }),
            [],
            "no drive of that speed"
        );
    }
}
