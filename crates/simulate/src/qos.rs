//! A tuned `io.cost.qos` for a disk: how fast io.cost's clock may run before commands queue up in the device.
//!
//! **Rule** io.cost's model is the disk's own six figures, at 10, 20 … 120 % of them. At each, four jobs of depth 64
//! flood the disk with reads, then with writes, of 4 KiB at random; the measure is the mean time of a request once
//! io.cost has admitted it. `max` is the highest rate at which neither direction takes more than twice as long as at 10
//! %: beyond that the device queues, and no controller can reorder requests there. `min` is half of `max` (the clock
//! slows down that far when targets are missed), `rlat` and `wlat` are those bounds, at `rpct=wpct=95`.
//!
//! The rule is ours. resctl-bench tunes by the same kind of search, over vrate, but observes a memory-bound service on
//! a real machine for hours; the results here are not claimed to be the same.

use std::sync::Arc;

use blksched::author::PerDir;
use blksched::{Choice, Dir, Span};
use blksched_disks::sheet::six_figures;
use blksched_disks::{DiskSpec, SixFigures};
use blksched_workloads::fio::JobFile;

use crate::surroundings::Surroundings;
use crate::trial::Trial;

/// The rates to try \[% of the model\]; the others are compared with the first.
const RATES: [u64; 12] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120];
/// The device queues where I/O takes more than this many times as long.
const KNEE: u64 = 2;
/// The number of I/Os at full speed that characterises a rate …
const ENOUGH: u64 = 4_000;
/// … but no run is shorter than this.
const SHORTEST: Span = Span::from_ms(100);
/// A figure that no disk has: the model takes no time for it.
const ENDLESS: u64 = 1 << 40;

/// One rate's measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The rate \[% of the model\].
    pub percent: u64,
    /// What a request takes on average after io.cost.
    pub took: PerDir<Span>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedQos {
    /// Every rate.
    pub points: Vec<Point>,
    /// Twice what I/Os take at the lowest rate.
    pub bounds: PerDir<Span>,
    /// The highest rate at which both bounds hold \[%\].
    pub max: u64,
}

/// Searches for the qos.
///
/// # Errors
/// If the disk takes no time, and there is nothing to tune.
pub fn tuned_qos(disk: &Arc<DiskSpec>, none: &Choice) -> Result<TunedQos, String> {
    let figures = six_figures(disk).to_array();
    if figures.iter().any(|&figure| figure == 0 || figure >= ENDLESS) {
        return Err("this disk has rates without an end, or none: io.cost has nothing to count there".to_owned());
    }
    let point = |percent| -> Result<Point, String> {
        let [read, write] = Dir::BOTH.map(|dir| flood(disk, none, &figures, percent, dir));
        Ok(Point { percent, took: PerDir { read: read?, write: write? } })
    };
    let points = RATES.map(point).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(judged(points))
}

/// Applies the rule to the measurements.
fn judged(points: Vec<Point>) -> TunedQos {
    let bounds = PerDir::from_fn(|dir| points[0].took[dir] * KNEE);
    let holds = |point: &&Point| Dir::BOTH.iter().all(|&dir| point.took[dir] <= bounds[dir]);
    let max = points.iter().take_while(holds).last().map_or(RATES[0], |point| point.percent);
    TunedQos { points, bounds, max }
}

/// Floods the disk in one direction under the model at this much of its rate; returns what a request takes.
fn flood(disk: &Arc<DiskSpec>, none: &Choice, figures: &[u64; 6], percent: u64, dir: Dir) -> Result<Span, String> {
    let model = SixFigures::NAMES.iter().zip(figures);
    let model: String = model.map(|(name, figure)| format!(" {name}={}", (figure * percent / 100).max(1))).collect();
    let (rw, rate) = if dir == Dir::Read { ("randread", figures[2]) } else { ("randwrite", figures[5]) };
    let limit = Span::from_ns(ENOUGH * 1_000_000_000 / rate).max(SHORTEST);
    let text = format!(
        "[flood]\ndirect=1\nioengine=libaio\nfilename=/dev/disk\nbs=4k\niodepth=64\nnumjobs=4\nrw={rw}\ncgroup=flood\n\
         cgroup_files=io.cost.model: ctrl=user model=linear{model}, \
         io.cost.qos: enable=1 ctrl=user rlat=1 wlat=1 min=100.00 max=100.00\n"
    );
    let file = JobFile::parse(&text, "flood").map_err(|errors| errors.to_string())?;
    let plan = file.plan(disk.build(1).facts().sectors).map_err(|errors| errors.to_string())?;
    let trial = Trial {
        elevator: none.clone(),
        knobs: Vec::new(),
        surroundings: Surroundings { wbt_latency: Some(Span::ZERO), ..Surroundings::default() },
        disk: disk.clone(),
        plan: Arc::new(plan),
        seed: 1,
        limit,
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().map_err(|error| error.to_string())?;
    let all = found.merged(&(0..found.jobs.len()).collect::<Vec<_>>());
    let all = if dir == Dir::Read { all.read } else { all.write };
    Ok(Span::from_ns((all.waiting.mean() + all.service.mean()) as u64))
}

impl TunedQos {
    /// The text for `io.cost.qos`.
    pub fn text(&self) -> String {
        let us = |dir: Dir| self.bounds[dir].as_ns().div_ceil(1000).max(1);
        format!(
            "enable=1 ctrl=user rpct=95.00 rlat={} wpct=95.00 wlat={} min={}.00 max={}.00",
            us(Dir::Read),
            us(Dir::Write),
            self.max / 2,
            self.max
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(percent: u64, read_us: u64, write_us: u64) -> Point {
        let took = PerDir { read: Span::from_us(read_us), write: Span::from_us(write_us) };
        Point { percent, took }
    }

    #[test]
    fn the_clock_runs_as_fast_as_both_directions_stay_within_twice_what_they_take_at_rest() {
        let found = judged(vec![point(10, 50, 10), point(50, 60, 12), point(80, 100, 20), point(90, 90, 21)]);
        assert_eq!(found.max, 80);
        assert_eq!(found.text(), "enable=1 ctrl=user rpct=95.00 rlat=100 wpct=95.00 wlat=20 min=40.00 max=80.00");
        assert_eq!(judged(vec![point(10, 50, 10), point(50, 101, 10), point(60, 50, 10)]).max, 10, "no gap is jumped");
    }

    #[test]
    fn a_disk_in_order_of_arrival_queues_at_its_own_rate_and_not_before() {
        // 0.8 ms per request, one after the other, 64 in the disk: 1250 a second.
        let deep = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tenants/deep.toml");
        let disk = Arc::new(blksched_disks::load(deep).unwrap());
        let none = blksched::Catalogue::builtin().parse("none").unwrap();
        let found = tuned_qos(&disk, &none).unwrap();
        assert_eq!(found.max, 100, "{found:?}");
        let (slow, full) = (found.points[0], found.points[11]);
        assert!((slow.took.read.as_ms_f64() / 0.8 - 1.0).abs() < 0.01, "{slow:?}: nobody waits for anybody");
        assert!(full.took.read > Span::from_ms(20), "{full:?}: the device is full beyond its own rate");
        assert!(
            tuned_qos(&Arc::new(blksched_disks::load("null").unwrap()), &none).unwrap_err().contains("without an end")
        );
    }
}
