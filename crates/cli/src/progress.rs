//! A progress bar on a terminal, once the work has taken a second.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blksched_lab::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts what is done; shows itself only to a person who has waited.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    done: AtomicU64,
}

impl Progress {
    /// For `total` runs.
    pub(crate) fn new(total: usize) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left").expect("a valid template");
        bar.set_style(style);
        Progress { bar, began: Instant::now(), done: AtomicU64::new(0) }
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.began.elapsed() >= Duration::from_secs(1) && std::io::stderr().is_terminal() && self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        // Some work finds more to do as it goes.
        if self.bar.length().is_some_and(|length| length < done) {
            self.bar.set_length(done);
        }
        self.bar.set_position(done);
    }

    /// All is done.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How work of the library is followed here: by a bar, and ended by Ctrl-C.
pub(crate) struct Followed {
    bar: Mutex<Option<Arc<Progress>>>,
    stop: Arc<AtomicBool>,
}

impl Followed {
    /// From now on Ctrl-C ends the work instead of the program.
    pub(crate) fn new() -> Followed {
        Followed { bar: Mutex::new(None), stop: crate::interrupt::noticed() }
    }

    fn bar(&self) -> MutexGuard<'_, Option<Arc<Progress>>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Followed {
    fn begins(&self, runs: usize) {
        *self.bar() = Some(Arc::new(Progress::new(runs)));
    }

    fn step(&self) {
        let bar = self.bar().clone();
        if let Some(bar) = bar {
            bar.step();
        }
    }

    fn ends(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish();
        }
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
