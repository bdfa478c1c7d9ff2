//! Where a disk's settings are.

/// The files of the machine's memory that an arm may set: the limits of dirty pages, for all disks together.
pub(super) const OF_THE_MEMORY: [&str; 4] =
    ["dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio"];

/// Where the memory's files are.
const VM: &str = "/proc/sys/vm/";

/// A file of a disk's queue, of a control group's I/O controller, or of the memory behind them; the order is that in
/// which they are written (io.cost changes a file of the queue).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `queue/scheduler`.
    Scheduler,
    /// The disk's line in a file of a control group.
    Group {
        /// The group's path below the root group; empty for that itself.
        group: String,
        /// The file's name.
        file: String,
    },
    /// `queue/iosched/…`.
    Knob(String),
    /// `queue/…`.
    Queue(String),
    /// `/proc/sys/vm/…`.
    Memory(String),
}

impl Place {
    /// Its path below the disk's `queue`; of the memory's files the absolute one; of a group's that below the root
    /// group.
    pub fn path(&self) -> String {
        match self {
            Place::Scheduler => "scheduler".to_owned(),
            Place::Group { group, file } if group.is_empty() => file.clone(),
            Place::Group { group, file } => format!("{group}/{file}"),
            Place::Knob(name) => format!("iosched/{name}"),
            Place::Queue(name) => name.clone(),
            Place::Memory(name) => format!("{VM}{name}"),
        }
    }

    /// Its name on a command line.
    pub fn name(&self) -> String {
        match self {
            Place::Group { .. } => self.path(),
            _ => self.path().rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    /// Whether one number has both names: writing one changes what the other reads.
    pub(super) fn is_the_same_knob(&self, other: &Place) -> bool {
        let both = |names: [&str; 2], one: &str, other: &str| names.iter().all(|name| *name == one || *name == other);
        match (self, other) {
            // BFQ's. The order of names writes the coarser one first.
            (Place::Knob(one), Place::Knob(other)) => both(["slice_idle", "slice_idle_us"], one, other),
            // Bytes or a part of the memory: each zeroes the other.
            (Place::Memory(one), Place::Memory(other)) => {
                let pairs = [["dirty_bytes", "dirty_ratio"], ["dirty_background_bytes", "dirty_background_ratio"]];
                pairs.into_iter().any(|names| both(names, one, other))
            }
            _ => false,
        }
    }

    /// The place with this path.
    pub fn of_path(path: &str) -> Place {
        match (path, path.strip_prefix("iosched/"), path.strip_prefix(VM)) {
            ("scheduler", ..) => Place::Scheduler,
            (_, Some(knob), _) => Place::Knob(knob.to_owned()),
            (.., Some(file)) => Place::Memory(file.to_owned()),
            _ if path.rsplit('/').next().is_some_and(|last| last.starts_with("io.")) => {
                let (group, file) = path.rsplit_once('/').unwrap_or(("", path));
                Place::Group { group: group.to_owned(), file: file.to_owned() }
            }
            _ => Place::Queue(path.to_owned()),
        }
    }
}
