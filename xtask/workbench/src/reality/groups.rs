//! Separate cgroups, with BFQ's weights: version 1's `blkio`. A machine that has it in version 2 skips those jobs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// Groups with a prefix of our own; removed when dropped.
pub struct Groups {
    prefix: String,
    made: Vec<PathBuf>,
}

/// Why weights cannot be set here, if they cannot.
pub fn missing() -> Option<String> {
    let has = Path::new(BLKIO).join("cgroup.procs").exists();
    (!has).then(|| format!("no blkio controller of cgroup version 1 at {BLKIO}"))
}

impl Groups {
    pub fn make(prefix: &str, wanted: &[(String, u32)]) -> Result<Groups> {
        let mut groups = Groups { prefix: prefix.to_owned(), made: Vec::new() };
        for (name, weight) in wanted {
            let folder = groups.folder(name);
            fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
            groups.made.push(folder.clone());
            let file = folder.join("blkio.bfq.weight");
            if file.exists() {
                fs::write(&file, weight.to_string()).with_context(|| format!("writing {}", file.display()))?;
            }
        }
        Ok(groups)
    }

    fn folder(&self, name: &str) -> PathBuf {
        Path::new(BLKIO).join(format!("{}-{name}", self.prefix))
    }

    /// A process that writes its number to this file joins the group.
    pub fn tasks(&self, name: &str) -> PathBuf {
        self.folder(name).join("cgroup.procs")
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in &self.made {
            if let Err(error) = fs::remove_dir(folder) {
                eprintln!("{} stays: {error}", folder.display());
            }
        }
    }
}
