//! Work without the interpreter: on a thread of its own, while this one looks whether the user has interrupted.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use blksched_cli::library::Error;
use pyo3::prelude::*;

use crate::raised;

/// How long a Ctrl-C may go unnoticed.
const LOOK: Duration = Duration::from_millis(50);

/// An exception of an elevator written in Python, carried through the simulation as a panic.
pub(crate) struct Raised(pub(crate) PyErr);

/// Does the work; a Ctrl-C tells it to stop, and is raised when it has.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (done, ended) = channel();
    std::thread::scope(|scope| {
        let flag = stop.clone();
        scope.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&flag)));
            // The waiting thread is still there: the scope ends after this thread.
            let _ = done.send(result);
        });
        let (mut interrupted, mut ended) = (None, ended);
        loop {
            let (back, result) = py.detach(move || {
                let result = ended.recv_timeout(LOOK);
                (ended, result)
            });
            ended = back;
            match result {
                Ok(Ok(result)) => {
                    return interrupted.map_or_else(|| result.map_err(|error| raised(py, &error)), Err);
                }
                Ok(Err(panic)) => match panic.downcast::<Raised>() {
                    Ok(raised) => return Err(raised.0),
                    Err(panic) => resume_unwind(panic),
                },
                Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                    if let Err(interrupt) = py.check_signals() {
                        stop.store(true, Ordering::Relaxed);
                        interrupted = Some(interrupt);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread says how it ended"),
            }
        }
    })
}
