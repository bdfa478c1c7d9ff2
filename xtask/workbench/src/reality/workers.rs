//! The kernel's workers that carry a loop device's requests: they get priority on a busy processor while we measure.

use std::fs;

use crate::timed_disk::real_time;

/// Workers that were given priority, which is restored when dropped.
#[derive(Default)]
pub struct Workers {
    hurried: Vec<String>,
}

impl Workers {
    /// Gives priority to the present workers. The kernel creates new ones, so this is repeated before each run.
    pub fn hurry(&mut self) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let number = process.file_name().to_string_lossy().into_owned();
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            if name.starts_with("kworker/u") && !self.hurried.contains(&number) {
                real_time(&number, 45);
                self.hurried.push(number);
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.hurried.iter().for_each(|number| real_time(number, 0));
    }
}
