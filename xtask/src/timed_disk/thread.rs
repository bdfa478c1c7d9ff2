//! A thread that answers in time although the machine is busy.

use std::fs;
use std::process::{Command, Stdio};

/// This thread, and those it starts: first on the processor, and woken to the microsecond. Without the right to, as is.
pub fn hurry() {
    let Some(own) = fs::read_link("/proc/thread-self").ok() else { return };
    let number = own.file_name().unwrap_or_default().to_owned();
    let mut renice = Command::new("renice");
    renice.args(["-n", "-20", "-p"]).arg(&number).stdout(Stdio::null()).stderr(Stdio::null());
    renice.status().ok();
    exact();
}

/// This thread is woken when it says, not up to 50 us later.
pub fn exact() {
    if let Some(own) = fs::read_link("/proc/thread-self").ok()
        && let Some(number) = own.file_name()
    {
        fs::write(std::path::Path::new("/proc").join(number).join("timerslack_ns"), "1").ok();
    }
}
