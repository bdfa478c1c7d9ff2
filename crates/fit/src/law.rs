//! What is discrete in a spinning drive.

use blksched_disks::QueueOrder;

/// What is discrete in a spinning drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurningLaw {
    /// Revolutions per minute.
    pub rpm: u32,
    /// Which queued command is next.
    pub order: QueueOrder,
    /// So many commands are decided ahead: 0 to 31.
    pub ahead: u32,
}

impl TurningLaw {
    /// A revolution \[us\].
    pub(crate) fn revolution_us(self) -> f64 {
        60e6 / f64::from(self.rpm)
    }

    /// The order as a disk's file has it.
    pub(crate) fn order_word(self) -> &'static str {
        match self.order {
            QueueOrder::Arrival => "arrival",
            QueueOrder::Positioning => "positioning",
            QueueOrder::Seek => "seek",
        }
    }
}
