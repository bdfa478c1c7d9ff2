//! Ctrl-C: once, and what is done so far is printed; twice, and it is over.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Becomes true at the first interrupt from now on; the second ends the program as it always did.
pub(crate) fn noticed() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGINT;
        use signal_hook::flag::{register, register_conditional_default};
        // Where there are no signals to be had, there is no interrupt to be noticed.
        let _ = register_conditional_default(SIGINT, flag.clone()).and_then(|_| register(SIGINT, flag.clone()));
    }
    flag
}
