//! Memory that is free goes back to the system: the C library keeps what lies between pieces in use, until it is asked.
//!
//! Why it is sound: `malloc_trim` has no arguments that matter and may be called by any thread at any time.
#![cfg_attr(target_env = "gnu", allow(unsafe_code))]

/// From this much on it is worth asking \[bytes\].
const WORTH: usize = 1 << 20;

/// This much was freed: it is given back, on a thread, as that can take a moment.
pub fn freed(bytes: usize) {
    if bytes >= WORTH {
        // Without one, it is given back another time.
        let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(give_back);
    }
}

#[cfg(target_env = "gnu")]
fn give_back() {
    // SAFETY: see above.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn give_back() {}
