//! A run with onlookers: stories, a picture for Perfetto, a block trace.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blksched::Instant;
use blksched_lab::why::names::Names;
use blksched_lab::why::reason::reason;
use blksched_measure::Reasons;
#[cfg(feature = "perfetto")]
use blksched_simulate::story::Picture;
use blksched_simulate::story::{BlockTrace, SharedOnlooker, StoriesAsked, Storyteller, Together};
use blksched_simulate::{Findings, Trial};
use clap::Args;

use crate::failure::Failure;

/// Where to write a run in other programs' formats.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Outputs {
    /// Write the run as a trace for ui.perfetto.dev: processes, slices and batches, commands, counters, flows, reasons
    #[cfg(feature = "perfetto")]
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write the run in blktrace's binary format, with the scheduler's reasons as messages, for blkparse and btt
    #[arg(long, value_name = "FILE")]
    pub(crate) blktrace: Option<PathBuf>,
}

impl Outputs {
    /// Where the picture goes, if one was asked for.
    fn perfetto(&self) -> Option<&Path> {
        #[cfg(feature = "perfetto")]
        return self.perfetto.as_deref();
        #[cfg(not(feature = "perfetto"))]
        None
    }

    pub(crate) fn any(&self) -> bool {
        self.perfetto().is_some() || self.blktrace.is_some()
    }
}

/// Runs `trial` with observers.
pub(crate) fn watch(
    trial: &Trial,
    names: &Names,
    outputs: &Outputs,
    asked: StoriesAsked,
    reasons: Reasons,
) -> Result<(Findings, Storyteller), Failure> {
    observed(trial.storyteller(asked), names, outputs, |onlooker| {
        let findings = trial.simulate_before(onlooker, reasons).map_err(Failure::input)?;
        let end = Instant::ZERO + findings.elapsed;
        Ok((findings, end))
    })
}

/// Runs `run` with observers; returns its result and when it ended.
pub(super) fn observed<T>(
    teller: Storyteller,
    names: &Names,
    outputs: &Outputs,
    run: impl FnOnce(SharedOnlooker) -> Result<(T, Instant), Failure>,
) -> Result<(T, Storyteller), Failure> {
    let block_trace = outputs.blktrace.as_deref().map(|path| {
        let (names, told) = (names.clone(), names.clone());
        let words = Box::new(move |why| reason(why, &told));
        Ok::<_, Failure>((path, shared(BlockTrace::new(create(path)?, Box::new(move |by| names.process(by)), words))))
    });
    let block_trace = block_trace.transpose()?;
    let with = |onlooker: SharedOnlooker| match &block_trace {
        Some((_, trace)) => shared(Together(vec![onlooker, trace.clone()])) as SharedOnlooker,
        None => onlooker,
    };
    let (found, teller) = match outputs.perfetto() {
        #[cfg(feature = "perfetto")]
        Some(path) => {
            let picture = shared(Picture::new(teller, names.clone(), create(path)?));
            let (found, end) = run(with(picture.clone()))?;
            (found, whole(picture).finish(end).map_err(unwritten(path))?)
        }
        _ => {
            let teller = shared(teller);
            let (found, _) = run(with(teller.clone()))?;
            (found, whole(teller))
        }
    };
    if let Some((path, trace)) = block_trace {
        whole(trace).finish().map_err(unwritten(path))?;
    }
    Ok((found, teller))
}

fn shared<T>(onlooker: T) -> Rc<RefCell<T>> {
    Rc::new(RefCell::new(onlooker))
}

/// Takes back what the finished run shared.
fn whole<T>(onlooker: Rc<RefCell<T>>) -> T {
    Rc::into_inner(onlooker).expect("the run is over").into_inner()
}

fn create(path: &Path) -> Result<Box<dyn Write>, Failure> {
    let file = File::create(path).map_err(unwritten(path))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn unwritten(path: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::Outside(format!("{}: {error}", path.display()))
}
