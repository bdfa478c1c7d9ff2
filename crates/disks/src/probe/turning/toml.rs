//! The results, as a disk's file: every value with its origin and spread.

use std::fmt::Write;

use super::super::ProbeError;
use super::super::fit::Fitted;
use super::super::session::Session;
use super::super::text::{NOT_SEEN, head, rate, time};
use super::super::value::Measured;
use super::TurningFindings;
use super::layout::Tracks;
use super::queue::NO_WAIT;

/// How far a seek may be from the usual curve, as a part of it.
const MISSED: f64 = 0.05;
/// A value with a greater spread is not used as a point of a curve.
const ROUGH: f64 = 0.03;
/// The usual skew of such disks \[revolutions\].
const USUAL_SKEW: f64 = 0.12;

impl TurningFindings {
    pub(super) fn text(&self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        let facts = session.facts();
        let rpm = (60e9 / self.period.value).round();
        let (outer, inner) = (self.rates.outer().value / 1e6, self.rates.inner().value / 1e6);
        let mut out = head("hdd", &format!("{rpm}rpm, {outer:.0} to {inner:.0} MB/s"), facts, stopped);
        let rpm_spread = self.period.spread / self.period.value * rpm;
        let _ = writeln!(out, "speed = \"{rpm}rpm\"   # MEASURED ±{rpm_spread:.1}rpm");
        self.places(&mut out, facts.sectors);
        self.times(&mut out);
        self.buffer(&mut out);
        self.write_cache(&mut out);
        self.queue(&mut out, facts.depth);
        out
    }

    fn places(&self, out: &mut String, sectors: u64) {
        self.zones(out);
        let heads = self.neighbours.and_then(|neighbours| neighbours.heads);
        let turn = |skew: Measured| format!("\"{:.6}rev\"   # MEASURED ±{:.6}", skew.value, skew.spread);
        let _ = writeln!(out, "\n[geometry]");
        match heads {
            Some(heads) => writeln!(out, "heads = {heads}   # MEASURED: by their boundaries").ok(),
            None => writeln!(out, "heads = 4   # FIT: cylinders cost what heads do, so nothing shows them").ok(),
        };
        // The file is refused if a skew does not cover its switch; since a drive reads on without losing a revolution,
        // it does.
        let floor = |skew: Measured, needed: Option<Measured>| {
            // Rounded up to six decimals.
            let needed = needed.map_or(0.0, |needed| (needed.value * 1e6 / self.period.value).ceil() / 1e6 + 1e-6);
            Measured::new(skew.value.max(needed), skew.spread)
        };
        let (head, shortest) = (self.head_switch(), self.shortest());
        let usual = Measured::new(USUAL_SKEW, 0.0);
        let (track_skew, cylinder_skew) = match &self.spot {
            Some(spot) => {
                let track = floor(spot.track_skew, head);
                let cylinder = floor(spot.cylinder_skew, shortest);
                (track, Measured::new(cylinder.value.max(track.value), cylinder.spread))
            }
            None => (usual, usual),
        };
        if self.rates.are_straight() {
            let said = |skew| match self.spot {
                Some(_) => turn(skew),
                None => format!("\"{USUAL_SKEW}rev\"   # {NOT_SEEN}"),
            };
            let _ = writeln!(out, "track_skew = {}\ncylinder_skew = {}", said(track_skew), said(cylinder_skew));
        }
        let tracks = Tracks { heads: heads.unwrap_or(4), track_skew, cylinder_skew };
        self.zone_by_zone(out, &tracks, sectors);
    }

    /// The number of cylinders from the first to the last, by the rates.
    fn stroke_cylinders(&self) -> f64 {
        let heads = self.neighbours.and_then(|neighbours| neighbours.heads).unwrap_or(4);
        let skew = self.spot.as_ref().map_or(0.0, |spot| spot.track_skew.value);
        self.rates.tracks(self.period.value * (1.0 + skew)) / f64::from(heads)
    }

    fn command(&self) -> f64 {
        self.electronics.map_or(0.0, |electronics| electronics.command.value)
    }

    fn head_switch(&self) -> Option<Measured> {
        self.neighbours.map(|neighbours| neighbours.head.less(self.command()))
    }

    fn shortest(&self) -> Option<Measured> {
        self.neighbours.map(|neighbours| neighbours.cylinder.less(self.command()))
    }

    /// The time of a seek over a part of the stroke.
    fn seek(&self, part: f64) -> Option<Measured> {
        let found = self.seeks.iter().find(|(measured, _)| (measured - part).abs() < 1e-6)?;
        Some(found.1.less(self.command()))
    }

    fn times(&self, out: &mut String) {
        let average = self.seek(1.0 / 3.0).unwrap_or(Measured::new(8_500_000.0, 0.0));
        let nearly = self.seek(0.98).unwrap_or(Measured::new(16_000_000.0, 0.0));
        let slope = (nearly.value - average.value) / (0.98 - 1.0 / 3.0);
        let full = Measured::new((nearly.value + 0.02 * slope).max(average.value), nearly.spread);
        let shortest = self.shortest().unwrap_or(Measured::new(500_000.0, 0.0));
        // The measurement is a seek of one cylinder; `min` is where the curve would begin.
        let root = (self.stroke_cylinders() / 3.0).max(2.0).sqrt();
        let least = (shortest.value - average.value / root) / (1.0 - 1.0 / root);
        let shortest = Measured::new(least.clamp(0.0, average.value), shortest.spread);
        let head = self.head_switch().unwrap_or(Measured::new(500_000.0, 0.0));
        let said = |seen: bool| if seen { "MEASURED" } else { NOT_SEEN };
        let _ = writeln!(out, "\n[seek]");
        let _ = writeln!(out, "min = {}", time(shortest, said(self.neighbours.is_some())));
        let _ = writeln!(out, "average = {}", time(average, said(self.seek(1.0 / 3.0).is_some())));
        let _ = writeln!(out, "max = {}", time(full, said(self.seek(0.98).is_some())));
        let _ = writeln!(out, "head_switch = {}", time(head, said(self.neighbours.is_some())));
        let _ = writeln!(out, "write_settle = {}", self.fitted("seek.write_settle", "\"0.7ms\""));
        for (part, took) in &self.seeks {
            let took = took.less(self.command());
            let _ = writeln!(out, "# {part:.3} of the stroke: {:.3}ms ±{:.3}", took.value / 1e6, took.spread / 1e6);
        }
        self.curve(out, [least.clamp(0.0, average.value), average.value, full.value]);
    }

    /// The measured points, if the usual curve through three of them does not fit another.
    fn curve(&self, out: &mut String, [least, average, full]: [f64; 3]) {
        let usual = |part: f64| match part * 3.0 {
            short if short < 1.0 => least + (average - least) * short.sqrt(),
            _ => average + (full - average) * (part * 3.0 - 1.0) / 2.0,
        };
        let took = |took: &Measured| took.less(self.command());
        let misses = |(part, measured): &(f64, Measured)| {
            let Measured { value, spread, .. } = took(measured);
            spread <= ROUGH * value && (value - usual(*part)).abs() > MISSED * value
        };
        let Some(shortest) = self.shortest().filter(|_| self.seeks.iter().any(misses)) else { return };
        let cylinders = self.stroke_cylinders();
        let mut points = vec![(1, shortest.value)];
        let measured = self.seeks.iter().map(|(part, measured)| ((part * cylinders) as u32, took(measured)));
        // The shortest of this many random angles is inaccurate for short seeks.
        let measured = measured.filter(|(_, took)| took.spread <= ROUGH * took.value);
        let measured = measured.map(|(distance, took)| (distance, took.value));
        for (distance, time) in measured.chain([(cylinders as u32, full)]) {
            if distance > points[points.len() - 1].0 {
                points.push((distance, time));
            }
        }
        let point = |(distance, time): &(u32, f64)| format!("\"{distance}cyl {}ns\"", time.max(0.0).round());
        let points: Vec<String> = points.iter().map(point).collect();
        let _ = writeln!(out, "# MEASURED: `min`, `average` and `max` alone miss a point by more than 5 %");
        let _ = writeln!(out, "curve = [{}]", points.join(", "));
    }

    fn buffer(&self, out: &mut String) {
        let _ = writeln!(out, "\n[overhead]");
        match self.electronics {
            Some(electronics) => {
                let queued =
                    Measured::new(electronics.queued.value.min(electronics.command.value), electronics.queued.spread);
                let _ = writeln!(out, "command = {}", time(electronics.command, "MEASURED"));
                let _ = writeln!(out, "queued = {}", time(queued, "MEASURED"));
                let _ = writeln!(out, "\n[interface]\nrate = {}", rate(electronics.rate));
            }
            None => {
                let _ = writeln!(out, "command = \"0.1ms\"   # {NOT_SEEN}\nqueued = \"20us\"   # {NOT_SEEN}");
                let _ = writeln!(out, "\n[interface]\nrate = \"250MB/s\"   # {NOT_SEEN}");
            }
        }
        let Some(ahead) = self.ahead else { return };
        let sectors = ahead.segment.value.round() as u64 / 8 * 8;
        let (kib, spread) = (sectors / 2, ahead.segment.spread / 2.0);
        let segments = ahead.segments.value.clamp(1.0, 64.0);
        let _ = writeln!(out, "\n[look_ahead]\nstate = \"on\"   # MEASURED");
        let _ = writeln!(out, "segment = \"{kib}KiB\"   # MEASURED ±{spread:.0}KiB");
        let _ = writeln!(out, "segments = {segments}   # MEASURED ±1");
        let usual = format!("\"{}KiB\"", 256.min(kib));
        let _ = writeln!(out, "hold = {}", self.fitted("look_ahead.hold", &usual));
    }

    fn fitted(&self, key: &str, usual: &str) -> String {
        Fitted::said(&self.fitted, key, usual)
    }

    fn write_cache(&self, out: &mut String) {
        let Some((writes, size)) = self.writes.as_ref().and_then(|writes| Some((writes, writes.size?))) else {
            if let Some(writes) = &self.writes {
                let alone = writes.alone.value / 1e6;
                let _ = writeln!(out, "\n# No write cache: MEASURED, a random write takes {alone:.2}ms");
            } else {
                let _ = writeln!(out, "\n# Write cache: not measured (reads only); none in this model");
            }
            return;
        };
        // Where the extents run out first, the room is only known to be at least this.
        let kib = (size.value / 2.0).round().max(4.0) as u64;
        let _ = writeln!(out, "\n[write_cache]");
        let _ = writeln!(out, "order = {}", self.fitted("write_cache.order", "\"position\""));
        let note = if writes.one_limit { ", or more: its pieces end first" } else { "" };
        let _ = writeln!(out, "size = \"{kib}KiB\"   # MEASURED ±{:.0}KiB{note}", size.spread / 2.0);
        let extents = writes.extents.value.round().clamp(1.0, 65_536.0);
        let _ = writeln!(out, "extents = {extents}   # MEASURED ±{:.0}", writes.extents.spread);
        let _ = writeln!(out, "chunk = \"128KiB\"   # FIT: insensitive");
        let _ = writeln!(out, "reach = {}", self.fitted("write_cache.reach", "16"));
        for key in ["idle", "dirty_limit", "share", "turn"] {
            let name = format!("write_cache.{key}");
            if self.fitted.iter().any(|fitted| fitted.key == name) {
                let _ = writeln!(out, "{key} = {}", self.fitted(&name, ""));
            }
        }
    }

    fn queue(&self, out: &mut String, depth: u32) {
        let Some(queue) = self.queue else { return };
        let order = if queue.reorders() { "positioning" } else { "arrival" };
        let _ = writeln!(out, "\n[ncq]");
        let _ = writeln!(
            out,
            "order = \"{order}\"   # MEASURED: {:.0} random reads/s one by one, {:.0} at once",
            queue.alone, queue.deep
        );
        let _ = writeln!(out, "depth = {}   # READ: what the host sends at most", depth.min(256));
        // It waits this long before it is read.
        let age = queue.near.less(1e9 / queue.alone.max(1.0));
        let age = Measured::new(age.value.max(1e6), age.spread);
        let _ = writeln!(out, "age_limit = {}", time(age, "MEASURED"));
        if self.fitted.iter().any(|fitted| fitted.key == "ncq.sequential_limit") {
            let _ = writeln!(out, "sequential_limit = {}", self.fitted("ncq.sequential_limit", ""));
        }
        match queue.behind.value > self.period.value * NO_WAIT {
            true => writeln!(out, "sequential_wait = {}", time(queue.behind, "MEASURED")).ok(),
            false => {
                writeln!(out, "sequential_wait = \"0s\"   # MEASURED: a far read right behind a stream does not wait")
                    .ok()
            }
        };
        let (wait, spread) = (queue.stream.value / 1e6, queue.stream.spread / 1e6);
        let _ = writeln!(out, "# A far read beside a stream waits {wait:.1}ms ±{spread:.1}");
    }
}
