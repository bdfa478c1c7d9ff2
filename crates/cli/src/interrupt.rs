//! Ctrl-C: the first prints the results so far; the second ends the program.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

thread_local! {
    static SAID: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Lets the caller instead of a signal interrupt the work of this thread.
#[cfg(feature = "sweep")]
pub(crate) fn by_caller(stop: Arc<AtomicBool>) {
    SAID.set(Some(stop));
}

/// Becomes true at the first interrupt from now on; the second ends the program as usual.
pub(crate) fn noticed() -> Arc<AtomicBool> {
    if let Some(said) = SAID.with_borrow(Clone::clone) {
        return said;
    }
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGINT;
        use signal_hook::flag::{register, register_conditional_default};
        // Where signals are not available, no interrupt can be noticed.
        let _ = register_conditional_default(SIGINT, flag.clone()).and_then(|_| register(SIGINT, flag.clone()));
    }
    flag
}
