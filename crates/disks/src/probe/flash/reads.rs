//! **What for**: the latency of a single read by size, the rate by depth, and the rate of a stream.
//!
//! **Rule**: alone, the smallest read costs a command, a page and its transfer; larger ones additionally cost the
//! transfer of their data. Twice the depth gives twice the rate, until a resource is exhausted: that depth is the knee,
//! that rate the limit.

use blksched::Op;

use super::super::ProbeError;
use super::super::session::{ProbeStep, Session, Timed};
use super::super::value::Measured;
use super::pace::Pace;

/// The latency of single commands by size \[sectors, ns\].
#[derive(Clone, Debug)]
pub(super) struct Sizes(pub(super) Vec<(u32, Measured)>);

impl Sizes {
    /// The latency of 4 KiB \[ns\].
    pub(super) fn page(&self) -> Measured {
        self.0[0].1
    }

    /// The data rate between the two largest sizes \[bytes/s\].
    pub(super) fn slope(&self) -> Option<f64> {
        let [.., (small, quick), (large, slow)] = self.0.as_slice() else { return None };
        let more = slow.value - quick.value;
        (more > 1_000.0).then(|| f64::from(large - small) * 512e9 / more)
    }

    /// The latency of this size, if it was measured \[ns\].
    pub(super) fn of(&self, sectors: u32) -> Option<Measured> {
        self.0.iter().find(|(size, _)| *size == sectors).map(|(_, took)| *took)
    }
}

/// Measures each size, after a rest if a command would otherwise wait.
pub(super) fn sizes(session: &mut Session<'_>, pace: Option<&Pace>) -> Result<Sizes, ProbeError> {
    session.stage("latency by size")?;
    let most = session.facts().max_sectors;
    let mut sizes: Vec<(u32, Vec<f64>)> =
        [8, 32, 128, 512].into_iter().filter(|sectors| *sectors <= most).map(|sectors| (sectors, Vec::new())).collect();
    // Interleaved, so that a disturbance affects all.
    for _ in 0..session.scaled(200) {
        for (sectors, times) in &mut sizes {
            // Aligned to its own size: one page is one page.
            if let Some(pace) = pace {
                session.rest(pace.rest());
            }
            let place = session.place(*sectors) / u64::from(*sectors) * u64::from(*sectors);
            times.push(session.read(place, *sectors)?.latency());
        }
    }
    let median = |(sectors, mut times): (u32, Vec<f64>)| Some((sectors, Measured::median_of(&mut times)?));
    let sizes = sizes.into_iter().filter_map(median).collect();
    Ok(Sizes(sizes))
}

/// Random 4 KiB reads per second by depth.
#[derive(Clone, Debug)]
pub(super) struct Depths {
    pub(super) at: Vec<(u32, f64)>,
}

impl Depths {
    /// The most per second, and how far the two deepest differ.
    pub(super) fn most(&self) -> Measured {
        let most = self.at.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let last = &self.at[self.at.len().saturating_sub(2)..];
        Measured::new(most, last.iter().map(|(_, rate)| (most - rate).abs()).fold(0.0, f64::max) / 2.0)
    }

    /// The rate at the greatest depth, where credits at the beginning count least.
    pub(super) fn deepest(&self) -> Measured {
        Measured::new(self.at.last().map_or(1.0, |(_, rate)| *rate), self.most().spread)
    }

    /// The depth beyond which more depth gives less than a quarter more.
    pub(super) fn knee(&self) -> u32 {
        let flat = self.at.windows(2).find(|pair| pair[1].1 < 1.25 * pair[0].1);
        flat.or(self.at.windows(2).last()).map_or(1, |pair| pair[0].0)
    }
}

pub(super) fn depths(session: &mut Session<'_>) -> Result<Depths, ProbeError> {
    session.stage("reads by depth")?;
    let mut at = Vec::new();
    let mut depth = 1;
    let most = session.facts().depth.min(512);
    loop {
        let count = 600 + 40 * depth as usize;
        let steps: Vec<ProbeStep> =
            (0..count).map(|_| ProbeStep { op: Op::Read, start: session.place(8), sectors: 8 }).collect();
        let reads = session.closed_loop(depth, steps)?;
        at.push((depth, per_second(&reads, depth as usize)));
        if depth == most {
            return Ok(Depths { at });
        }
        depth = (2 * depth).min(most);
    }
}

/// Completions per second, without the first `warm_up` and the last.
pub(super) fn per_second(timed: &[Timed], warm_up: usize) -> f64 {
    let mut ends: Vec<u64> = timed.iter().map(|timed| timed.ended.as_ns()).collect();
    ends.sort_unstable();
    let (first, last) = (warm_up.min(ends.len() / 2), ends.len() - 1 - warm_up.min(ends.len() / 4));
    (last - first) as f64 * 1e9 / (ends[last] - ends[first]).max(1) as f64
}

/// Sequential reads, deep \[bytes/s\].
pub(super) fn stream(session: &mut Session<'_>) -> Result<Measured, ProbeError> {
    session.stage("rates")?;
    let sectors = 2048.min(session.facts().max_sectors);
    let mut rates = Vec::new();
    for _ in 0..3 {
        let start = session.place(700 * sectors) / u64::from(sectors) * u64::from(sectors);
        let step = |nth: u64| ProbeStep { op: Op::Read, start: start + nth * u64::from(sectors), sectors };
        let reads = session.closed_loop(16, (0..600).map(step))?;
        rates.push(per_second(&reads, 16) * f64::from(sectors) * 512.0);
    }
    Ok(Measured::median_of(&mut rates).unwrap_or(Measured::new(0.0, 0.0)))
}
