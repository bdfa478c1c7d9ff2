//! Ctrl-C: the first prints the results so far; the second ends the program.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Becomes true at the first interrupt from now on; the second ends the program as usual.
pub(crate) fn noticed() -> Arc<AtomicBool> {
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
