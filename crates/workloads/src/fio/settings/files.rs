//! A job's settings about its files.

use super::replay::ReplaySettings;
use crate::fio::distribution::Distribution;

/// Which of several files is next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FileTurn {
    RoundRobin,
    Sequential,
    Random,
    /// By a skewed distribution.
    Skewed(Distribution),
}

/// How a job goes through its files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Service {
    pub turn: FileTurn,
    /// I/Os until the next file.
    pub every: u64,
}

/// Names, number, lengths, order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileSettings {
    pub filename: Option<String>,
    pub filename_format: Option<String>,
    pub directory: Option<String>,
    pub nrfiles: u64,
    pub openfiles: Option<u64>,
    pub service: Service,
    /// From, to \[bytes\].
    pub filesize: Option<(u64, u64)>,
    pub fill_device: bool,
    pub create_only: bool,
    /// A trace instead of them.
    pub replay: ReplaySettings,
}

impl Default for FileSettings {
    fn default() -> FileSettings {
        FileSettings {
            filename: None,
            filename_format: None,
            directory: None,
            nrfiles: 1,
            openfiles: None,
            service: Service { turn: FileTurn::RoundRobin, every: 1 },
            filesize: None,
            fill_device: false,
            create_only: false,
            replay: ReplaySettings::default(),
        }
    }
}
