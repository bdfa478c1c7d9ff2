//! A progress bar on a terminal, once the work has taken a second.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blksched_lab::Watch;

/// The bar itself.
#[cfg(feature = "progress")]
struct Bar(indicatif::ProgressBar);

#[cfg(feature = "progress")]
impl Bar {
    fn new(total: u64) -> Bar {
        use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left").expect("a valid template");
        bar.set_style(style);
        Bar(bar)
    }

    fn at(&self, done: u64, is_awaited: bool) {
        if is_awaited && self.0.is_hidden() {
            self.0.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        // Some work finds more to do as it goes.
        if self.0.length().is_some_and(|length| length < done) {
            self.0.set_length(done);
        }
        self.0.set_position(done);
    }

    fn clear(&self) {
        self.0.finish_and_clear();
    }

    fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }
}

/// No bar.
#[cfg(not(feature = "progress"))]
struct Bar;

#[cfg(not(feature = "progress"))]
impl Bar {
    fn new(_total: u64) -> Bar {
        Bar
    }

    fn at(&self, _done: u64, _is_awaited: bool) {}

    fn clear(&self) {}

    fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// Counts what is done; shows itself only to a person who has waited.
pub(crate) struct Progress {
    bar: Bar,
    began: Instant,
    done: AtomicU64,
}

impl Progress {
    /// For `total` runs.
    pub(crate) fn new(total: usize) -> Progress {
        Progress { bar: Bar::new(total as u64), began: Instant::now(), done: AtomicU64::new(0) }
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let is_awaited = self.began.elapsed() >= Duration::from_secs(1) && std::io::stderr().is_terminal();
        self.bar.at(done, is_awaited);
    }

    /// Something is printed meanwhile.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.aside(work)
    }

    /// All is done.
    pub(crate) fn finish(&self) {
        self.bar.clear();
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
