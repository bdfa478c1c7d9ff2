//! Types for reasons of schedulers that give each process budgets of sectors, and weights.

/// Why a queue's weight is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Raised {
    /// It starts something new, such as an application.
    Interactive,
    /// Soft real-time raising has ended, and the rest of interactive raising continues.
    InteractiveAgain,
    /// It needs little service, but in time, such as a video player.
    SoftRealTime,
    /// Write-back after a pause.
    WriteBack,
    /// A raised queue was merged into it.
    ByMerging,
    /// It is no longer shared, and was raised before it was.
    Restored,
}

/// Why a queue's weight is no longer raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum RaisingEnd {
    /// Raising has lasted its time.
    TimeUp,
    /// It has received more service than the start of an application takes.
    ServedEnough,
    /// It was created in a large burst, and users do not wait for such queues one by one.
    LargeBurst,
    /// It only seeks.
    Seeks,
}

/// Why a request of another queue is dispatched during the in-service queue's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Injected {
    /// It is write-back of the same process.
    OwnWriteBack,
    /// The in-service queue waits for it.
    Waker,
    /// It waits for the in-service queue.
    Woken,
    /// This few requests do not delay the in-service queue.
    Harmless,
}
