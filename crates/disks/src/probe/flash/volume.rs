//! **What for**: devices without visible dies: a loop device, a disk behind a network, a cloud volume. Every command
//! costs the same except for its data, with several at a time, or with a limited number per second.
//!
//! **Rule**: the latency of single commands is linear in size, with another line for writes if these may be measured
//! and differ; the spread of its quantiles is modelled as a random delay. The effect of depth is either a number of
//! commands at a time, or a cap on commands and one on bytes per second: a burst after a pause shows the credits beyond
//! a cap. Of these two and the SSD model, the one that comes nearest to the mixtures is kept.

use std::fmt::Write;

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session};
use super::super::target::ProbeAccess;
use super::super::text::{NOT_SEEN, rate, rates, time, times};
use super::super::value::{Measured, median};
use super::FlashFindings;

/// The most that counts as one command \[bytes\]; it does not show, since bytes are capped too.
const UNIT: f64 = 262_144.0;

/// What a volume shows beyond what every flash disk does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume {
    /// The size of large commands \[sectors\].
    sectors: u32,
    read: Alone,
    /// `None` if nothing may be written.
    write: Option<Alone>,
    /// How many commands a burst after a rest completes beyond its eventual rate.
    beyond: Measured,
}

/// What single commands of one kind take.
#[derive(Clone, Copy, Debug)]
struct Alone {
    /// 4 KiB \[ns\].
    small: LatencyEnds,
    /// The same of large commands after a rest \[ns\].
    large: LatencyEnds,
}

/// The ends of the quickest and the beginning of the slowest twentieth of some latencies \[ns\].
#[derive(Clone, Copy, Debug)]
struct LatencyEnds {
    quick: f64,
    slow: f64,
}

impl LatencyEnds {
    fn of(latencies: &mut [f64]) -> LatencyEnds {
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
        LatencyEnds { quick: at(0.05), slow: at(0.95) }
    }

    /// The mean of a uniformly distributed delay, more accurate than a median.
    fn middle(self) -> f64 {
        f64::midpoint(self.quick, self.slow)
    }
}

/// How a volume is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumeLimit {
    /// This many commands at a time.
    Channels,
    /// This many commands, and bytes, per second; ten times as fast while there are credits.
    Caps,
    /// The same, but never faster: or with credits that outlast the measurement.
    Paced,
}

impl VolumeLimit {
    pub(super) const ALL: [VolumeLimit; 3] = [VolumeLimit::Channels, VolumeLimit::Caps, VolumeLimit::Paced];

    /// The rate at which credits are spent, relative to that at which they come; `None` if there are none.
    fn burst(self) -> Option<f64> {
        match self {
            VolumeLimit::Channels => None,
            VolumeLimit::Caps => Some(10.0),
            VolumeLimit::Paced => Some(1.0),
        }
    }
}

/// Measures a volume; `most` is the rate of deep commands of 4 KiB [1/s].
pub(super) fn volume(session: &mut Session<'_>, most: f64) -> Result<Volume, ProbeError> {
    session.stage("a volume's delay and bursts")?;
    let sectors = 2048.min(session.facts().max_sectors);
    let read = alone(session, Op::Read, sectors)?;
    let beyond = beyond(session, most, read.small.middle())?;
    let write = match session.facts().access {
        ProbeAccess::Destroy => Some(alone(session, Op::Write, sectors)?),
        ProbeAccess::ReadOnly => None,
    };
    Ok(Volume { sectors, read, write, beyond })
}

fn alone(session: &mut Session<'_>, op: Op, sectors: u32) -> Result<Alone, ProbeError> {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for nth in 0..session.scaled(400) {
        let place = session.place(8);
        small.push(session.one(op, place, 8)?.latency());
        if nth % 2 == 0 {
            session.rest(Span::from_ms(20));
            let place = session.place(sectors);
            large.push(session.one(op, place, sectors)?.latency());
            session.rest(Span::from_ms(20));
        }
    }
    Ok(Alone { small: LatencyEnds::of(&mut small), large: LatencyEnds::of(&mut large) })
}

/// How many commands more than `most` per second allow have completed in the second half of a burst, each `alone` late.
fn beyond(session: &mut Session<'_>, most: f64, alone: f64) -> Result<Measured, ProbeError> {
    let mut bursts = Vec::new();
    for _ in 0..3 {
        session.rest(Span::from_secs(3));
        let count = 4 * session.facts().depth.clamp(64, 512);
        let steps: Vec<ProbeStep> =
            (0..count).map(|_| ProbeStep { op: Op::Read, start: session.place(8), sectors: 8 }).collect();
        let reads = session.closed_loop(session.facts().depth, steps)?;
        let mut ends: Vec<f64> = reads.iter().map(|read| read.ended.since(reads[0].begun).as_ns() as f64).collect();
        ends.sort_by(f64::total_cmp);
        let second_half = ends.iter().enumerate().skip(ends.len() / 2);
        let mut more: Vec<f64> = second_half.map(|(nth, end)| nth as f64 - most * (end - alone) / 1e9).collect();
        bursts.push(median(&mut more));
    }
    Ok(Measured::median_of(&mut bursts).unwrap_or(Measured::new(0.0, 0.0)))
}

impl FlashFindings {
    /// The file of a volume; `None` before everything for it was measured.
    pub(super) fn volume_text(
        &self,
        session: &Session<'_>,
        limit: VolumeLimit,
        stopped: Option<&ProbeError>,
    ) -> Option<String> {
        let (volume, facts) = (self.volume?, session.facts());
        let most = self.depths.as_ref()?.deepest();
        let (page, stream) = (self.sizes.page(), self.stream?);
        // Uniformly distributed: nine tenths of it are between the two.
        let small = volume.read.small;
        let jitter = (small.slow - small.quick) / 0.9;
        let jitter = if jitter < 0.05 * small.middle() { 0.0 } else { jitter };
        let sectors = volume.sectors;
        // What a single command feels of caps: the rate at which credits are spent, of its units or of its bytes.
        let felt = |sectors: u32| {
            let bytes = f64::from(sectors) * 512.0;
            let units = limit.burst().map(|burst| (bytes / UNIT).ceil() * 1e9 / (burst * most.value));
            units.map_or(0.0, |units| units.max(bytes * 1e8 / stream.value))
        };
        let line = |alone: &Alone| {
            let small = alone.small.middle() - felt(8);
            let per_byte = (alone.large.middle() - felt(sectors) - small).max(1.0) / (f64::from(sectors - 8) * 512.0);
            let service = Measured::new((small - jitter / 2.0 - 4096.0 * per_byte).max(0.0), page.spread);
            (service, Measured::new(1e9 / per_byte, 0.0), 4096.0 * per_byte)
        };
        let (service, read_rate, way) = line(&volume.read);
        let (write_service, write_rate, _) = volume.write.as_ref().map_or((service, read_rate, way), line);
        let channels = match limit {
            VolumeLimit::Channels => {
                (most.value * (service.value + way) / 1e9).round().clamp(1.0, f64::from(facts.depth))
            }
            VolumeLimit::Caps | VolumeLimit::Paced => facts.depth.into(),
        };
        let figures = format!("{:.0} MB/s, {:.0}us", stream.value / 1e6, self.sizes.page().value / 1e3);
        let mut out = self.head("fixed", &figures, session, stopped);
        let _ = writeln!(out, "# What was measured is nearer to this than to a disk of flash.");
        let said = if limit == VolumeLimit::Channels { "MEASURED" } else { "FIT: its caps bind first" };
        let _ = writeln!(out, "channels = {channels}   # {said}");
        let _ = writeln!(out, "service = {}", times([service, write_service]));
        let _ = writeln!(out, "rate = {}", rates([read_rate, write_rate]));
        if let Some(burst) = limit.burst() {
            let credits = Measured::new(volume.beyond.value.round().max(1.0), volume.beyond.spread);
            let operations = most.value.round();
            let _ = writeln!(out, "\n[caps]\noperations = \"{operations}/s\"   # MEASURED ±{:.0}/s", most.spread);
            let _ = writeln!(out, "unit = \"{}KiB\"   # {NOT_SEEN}", UNIT / 1024.0);
            let _ = writeln!(out, "bytes = {}", rate(stream));
            let _ = writeln!(out, "credits = {}   # MEASURED ±{:.0}", credits.value, credits.spread.ceil());
            let said =
                if limit == VolumeLimit::Paced { "MEASURED: nearest; or credits that outlast this" } else { NOT_SEEN };
            let _ = writeln!(out, "burst = \"{:.0}/s\"   # {said}", burst * operations);
        }
        if jitter > 0.0 {
            let _ = writeln!(out, "\n[delay]\ntime = \"0us\"   # FIT: in `service`");
            let _ = writeln!(out, "jitter = {}", time(Measured::new(jitter, page.spread), "MEASURED"));
        }
        Some(out)
    }
}
