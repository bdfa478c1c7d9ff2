//! `--report FILE.html` and `--plot KIND --out FILE.svg`, as words.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Pictures that a verb can make.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Pictures {
    /// Write what happened, why and what to do as one HTML file that needs no network (docs/report.md)
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Draw one picture as SVG, into --out: lba, latency, timeline, blame, shares
    #[arg(long, value_name = "KIND", value_enum, requires = "out", hide_possible_values = true)]
    pub(crate) plot: Option<Plot>,
    /// The file that --plot writes
    #[arg(long, value_name = "FILE.svg", requires = "plot")]
    pub(crate) out: Option<PathBuf>,
}

/// A picture for documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plot {
    /// Places on the disk over time.
    Lba,
    /// Latency by percentile.
    Latency,
    /// What the scheduler decided.
    Timeline,
    /// Who waited for whom.
    Blame,
    /// What each job got.
    Shares,
}

impl Pictures {
    /// Whether any was asked for.
    pub(crate) fn any(&self) -> bool {
        self.report.is_some() || self.plot.is_some()
    }
}
