//! Loads that show what single commands do not: dies, pages, reads that find a die programming.

use blksched::{Op, Span};

use super::super::ProbeError;
use super::super::fit::{Mixture, Parameter, Took};
use super::super::session::{ProbeStep, Random, Session, Timed};

/// A load whose outcome is compared with the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mixed {
    /// Random reads, several and many at a time.
    Deep,
    /// Large random reads, several at a time.
    Large,
    /// Random reads beside a stream of writes.
    BesideStream,
    /// Random reads beside random writes.
    BesideRandom,
}

impl Mixed {
    pub(super) const ALL: [Mixed; 4] = [Mixed::Deep, Mixed::Large, Mixed::BesideStream, Mixed::BesideRandom];

    /// Whether it writes.
    pub(super) fn writes(self) -> bool {
        matches!(self, Mixed::BesideStream | Mixed::BesideRandom)
    }
}

/// Parameters that only mixtures show.
pub(super) const PARAMETERS: &[Parameter<Mixed>] = &[
    Parameter {
        key: "flash.dies",
        values: &["1", "2", "4", "8", "16", "32"],
        shows_in: &[Mixed::Deep, Mixed::Large],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "flash.channels",
        values: &["1", "2", "4", "8", "16"],
        shows_in: &[Mixed::Deep, Mixed::Large],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "flash.page",
        values: &["4KiB", "8KiB", "16KiB", "32KiB"],
        shows_in: &[Mixed::Large],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "interference.state",
        values: &["wait", "suspend", "off"],
        shows_in: &[Mixed::BesideStream, Mixed::BesideRandom],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "flash.program_size",
        values: &["16KiB", "32KiB", "48KiB", "64KiB", "96KiB", "128KiB", "192KiB", "256KiB"],
        shows_in: &[Mixed::BesideStream, Mixed::BesideRandom],
        between: false,
        with: None,
        highest: None,
    },
    Parameter {
        key: "flash.program",
        values: &["100us", "200us", "400us", "800us", "1600us", "3200us", "6400us"],
        shows_in: &[Mixed::BesideStream, Mixed::BesideRandom],
        between: true,
        with: None,
        highest: None,
    },
    Parameter {
        key: "interference.patience",
        values: &["0", "2", "4", "8", "16", "64"],
        shows_in: &[Mixed::BesideStream, Mixed::BesideRandom],
        between: false,
        with: Some("flash.program"),
        highest: None,
    },
];

impl Mixture for Mixed {
    fn run(self, session: &mut Session<'_>) -> Result<Took, ProbeError> {
        session.rest(Span::from_ms(500));
        let (sectors, most) = (session.facts().sectors, session.facts().max_sectors);
        let mut random = Random::new(79);
        let mut anywhere = move |size: u32| random.below((sectors - u64::from(size)) / 8) * 8;
        let mut read = |size: u32| ProbeStep { op: Op::Read, start: anywhere(size), sectors: size };
        let latencies = |timed: Vec<Timed>| timed.iter().map(|timed| timed.latency()).collect::<Vec<f64>>();
        match self {
            Mixed::Deep => {
                let mut took = Vec::new();
                for depth in [4, 16, 64] {
                    let steps: Vec<ProbeStep> = (0..700).map(|_| read(8)).collect();
                    took.push(latencies(session.closed_loop(depth, steps)?));
                }
                Ok(took)
            }
            Mixed::Large => {
                let steps: Vec<ProbeStep> = (0..400).map(|_| read(128.min(most))).collect();
                let first = latencies(session.closed_loop(2, steps)?);
                let steps: Vec<ProbeStep> = (0..400).map(|_| read(64.min(most))).collect();
                Ok(vec![first, latencies(session.closed_loop(8, steps)?)])
            }
            Mixed::BesideStream | Mixed::BesideRandom => {
                let is_stream = self == Mixed::BesideStream;
                let mut reads = (0..300).map(|_| read(8));
                let mut random = Random::new(80);
                let mut at = sectors / 5 / 256 * 256;
                let size = if is_stream { 256.min(most) } else { 8 };
                let mut writes = core::iter::from_fn(|| {
                    at += u64::from(size);
                    let start = if is_stream { at } else { random.below((sectors - 8) / 8) * 8 };
                    Some(ProbeStep { op: Op::Write, start, sectors: size })
                });
                let depth = session.facts().depth.min(9);
                let [reads, writes] = session.two_loops((1, &mut reads), (depth - 1, &mut writes))?;
                Ok(vec![latencies(reads), latencies(writes)])
            }
        }
    }
}
