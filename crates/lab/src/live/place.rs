//! Where a disk's settings are.

/// A file of a disk's queue; the order is that in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `queue/scheduler`.
    Scheduler,
    /// `queue/iosched/…`.
    Knob(String),
    /// `queue/…`.
    Queue(String),
}

impl Place {
    /// Its path below the disk's `queue`.
    pub fn path(&self) -> String {
        match self {
            Place::Scheduler => "scheduler".to_owned(),
            Place::Knob(name) => format!("iosched/{name}"),
            Place::Queue(name) => name.clone(),
        }
    }

    /// Whether one number has both names: writing one changes what the other reads.
    pub(super) fn is_the_same_knob(&self, other: &Place) -> bool {
        let (Place::Knob(one), Place::Knob(other)) = (self, other) else { return false };
        // BFQ's. The order of names writes the coarser one first.
        ["slice_idle", "slice_idle_us"].iter().all(|name| name == one || name == other)
    }

    /// The place with this path.
    pub fn of_path(path: &str) -> Place {
        match (path, path.strip_prefix("iosched/")) {
            ("scheduler", _) => Place::Scheduler,
            (_, Some(knob)) => Place::Knob(knob.to_owned()),
            _ => Place::Queue(path.to_owned()),
        }
    }
}
