//! A separate tracefs instance: other tracing is not affected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

const TRACEFS: &str = "/sys/kernel/tracing";
const INSTANCE: &str = "blksched-live-kernel";
const EVENTS: [&str; 3] = ["block_rq_insert", "block_rq_issue", "block_rq_complete"];
/// Room for three seconds of events, per CPU.
const BUFFER_KIB: &str = "16384";

/// A recording; removed when dropped.
pub struct Tracing {
    folder: PathBuf,
}

/// What is missing for it; tracefs is mounted if this kernel has it.
pub fn missing() -> Option<String> {
    let instances = Path::new(TRACEFS).join("instances");
    if !instances.is_dir() && Path::new(TRACEFS).is_dir() {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tracefs", "tracefs", TRACEFS]);
        shell::capture(mount).ok();
    }
    (!instances.is_dir()).then(|| format!("no tracefs at {TRACEFS}"))
}

impl Tracing {
    /// Records the events of one device from now on.
    pub fn begin(device: u32) -> Result<Tracing> {
        let folder = Path::new(TRACEFS).join("instances").join(INSTANCE);
        if folder.is_dir() {
            // Left behind by a run that was killed.
            fs::remove_dir(&folder).ok();
        }
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let tracing = Tracing { folder };
        tracing.write("tracing_on", "0")?;
        tracing.write("buffer_size_kb", BUFFER_KIB)?;
        for event in EVENTS {
            tracing.write(&format!("events/block/{event}/filter"), &format!("dev == {device}"))?;
            tracing.write(&format!("events/block/{event}/enable"), "1")?;
        }
        tracing.write("tracing_on", "1")?;
        Ok(tracing)
    }

    /// The recorded text.
    pub fn end(self) -> Result<String> {
        self.write("tracing_on", "0")?;
        let lost = fs::read_to_string(self.folder.join("trace"))?;
        Ok(lost)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.write("tracing_on", "0").ok();
        if let Err(error) = fs::remove_dir(&self.folder) {
            eprintln!("{} stays: {error}", self.folder.display());
        }
    }
}
