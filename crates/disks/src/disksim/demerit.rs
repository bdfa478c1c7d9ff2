//! The error of a model compared with a drive: a replayed trace of measured response times, and the *demerit*.
//!
//! The demerit is the root mean square of the horizontal distance between the two cumulative distributions of response
//! times: both sorted, comparing the n-th of one with the n-th of the other (Ruemmler and Wilkes, 1994).

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, Span, SubmitterId};

use crate::{Disk, DiskSpec};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredRequest {
    /// The command.
    pub command: Command,
    /// The drive's response time.
    pub response: Span,
    /// The time from its completion to the next request.
    pub think: Span,
}

/// The distance between a model and a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demerit {
    /// Root mean square \[ms\].
    pub rms_ms: f64,
    /// The drive's mean \[ms\].
    pub mean_ms: f64,
    /// The model's mean \[ms\].
    pub model_mean_ms: f64,
    /// Requests.
    pub requests: usize,
}

/// Parses lines of `R|W Hit|Miss LBN SECTORS RESPONSE_us THINK_us`; the second word is an annotation and ignored.
///
/// # Errors
/// What is wrong, with its line.
pub fn parse(text: &str) -> Result<Vec<MeasuredRequest>, String> {
    let read = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let op = match words.next()? {
            "R" => Op::Read,
            "W" => Op::Write,
            _ => return None,
        };
        words.next()?;
        let (start, sectors) = (words.next()?.parse().ok()?, words.next()?.parse::<u32>().ok()?);
        let mut us = || Some(Span::from_ns((words.next()?.parse::<f64>().ok()? * 1000.0).round() as u64));
        let (response, think) = (us()?, us()?);
        let (rq, submitter) = (RequestId::from_index(0), SubmitterId(1));
        let command = Command { rq, op, start: Sector(start), sectors, fua: false, submitter };
        (sectors > 0).then_some(MeasuredRequest { command, response, think })
    };
    let numbered = |(nth, line): (usize, &str)| {
        read(line).ok_or_else(|| format!("line {}: `{line}`: expected `R|W Hit|Miss LBN SECTORS US US`", nth + 1))
    };
    text.lines().enumerate().map(numbered).collect()
}

/// The model's time for each request, one at a time, with the drive's time between requests.
///
/// # Errors
/// If a request reaches beyond the disk.
pub fn replay(spec: &DiskSpec, trace: &[MeasuredRequest], seed: u64) -> Result<Vec<Span>, String> {
    let mut disk = spec.build(seed);
    let (sectors, mut now) = (disk.facts().sectors, Instant::ZERO);
    let mut responses = Vec::with_capacity(trace.len());
    for (nth, measured) in trace.iter().enumerate() {
        let end = measured.command.start.0 + u64::from(measured.command.sectors);
        if end > sectors {
            return Err(format!("request {} ends at sector {end}, but the disk has {sectors}", nth + 1));
        }
        let ended = serve(&mut *disk, now, measured.command);
        responses.push(ended.since(now));
        now = ended + measured.think;
    }
    Ok(responses)
}

/// When a single command completes.
fn serve(disk: &mut dyn Disk, now: Instant, command: Command) -> Instant {
    while let Some(step) = disk.next().filter(|&step| step <= now) {
        disk.finish(step);
    }
    disk.start(now, command);
    loop {
        let step = disk.next().expect("a command is in flight");
        if let Some(finished) = disk.finish(step) {
            return finished.at;
        }
    }
}

/// The distance between the model's and the drive's times.
pub fn demerit(responses: &[Span], trace: &[MeasuredRequest]) -> Demerit {
    let sorted = |mut times: Vec<Span>| {
        times.sort_unstable();
        times
    };
    let ours = sorted(responses.to_vec());
    let theirs = sorted(trace.iter().map(|measured| measured.response).collect());
    let squares = ours.iter().zip(&theirs).map(|(our, their)| (our.as_ms_f64() - their.as_ms_f64()).powi(2));
    let mean = |times: &[Span]| times.iter().map(|time| time.as_ms_f64()).sum::<f64>() / times.len().max(1) as f64;
    Demerit {
        rms_ms: (squares.sum::<f64>() / theirs.len().max(1) as f64).sqrt(),
        mean_ms: mean(&theirs),
        model_mean_ms: mean(&ours),
        requests: theirs.len(),
    }
}
