//! Types for reasons of schedulers that give each process budgets of sectors, and weights.

/// As what a queue's weight is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raised {
    /// It begins something new: an application starts.
    Interactive,
    /// Soft real-time is over, and what is left of being interactive goes on.
    InteractiveAgain,
    /// It needs little, but in time: a video plays.
    SoftRealTime,
    /// Write-back after a pause.
    WriteBack,
    /// A queue that was raised joined it.
    ByMerging,
    /// It is alone again, and had been raised before it was shared.
    Restored,
}

/// Why a queue's weight is no longer raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisingEnd {
    /// It has lasted long enough.
    TimeUp,
    /// It has been served more than an application's start takes.
    ServedEnough,
    /// It was made among many others, none of which a user waits for by itself.
    LargeBurst,
    /// It does nothing but seek.
    Seeks,
}

/// Why a request of another queue goes during the slice of the queue that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// It is write-back of the same process.
    OwnWriteBack,
    /// The queue waits for this one.
    Waker,
    /// This one waits for the queue.
    Woken,
    /// So few requests do no harm.
    Harmless,
}
