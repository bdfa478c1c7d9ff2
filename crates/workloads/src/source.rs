//! The contract between a workload and its driver.

use blksched::{Bio, Instant, SubmitterId, Tag};

use crate::host::{HostCall, Memory, OpenFile};

/// One submitter: a process of a job file, a thread of a replayed trace.
///
/// The driver calls [`emit`](Source::emit) at [`next`](Source::next), asks `next` again (it may be the same moment:
/// one call emits one *burst*), and tells the source everything that comes back.
pub trait Source: Send {
    /// When [`emit`](Source::emit) wants to be called next; `None` while it waits for something to be delivered, and
    /// when it has finished.
    fn next(&self) -> Option<Instant>;

    /// What happens at `now`, which is not before [`next`](Source::next): at most one burst, that is what one system
    /// call submits, closed by [`Emission::Waits`]; or [`Emission::Exit`]; or nothing, if all that happens is
    /// that its time is over. `next` then differs. Called too early, it emits nothing.
    ///
    /// A burst of several I/Os comes one bio a call, all at the same moment, and the last call closes it.
    ///
    /// One burst at a time, so that a submitter that goes to sleep inside of it has submitted nothing beyond it.
    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>);

    /// Something came back; `next` may have become `now`.
    fn delivered(&mut self, now: Instant, what: Delivered);

    /// The bio just submitted found no request slot: the submitter sleeps inside its system call and submits nothing
    /// until [`Delivered::Awake`].
    fn asleep(&mut self);

    /// False if others sleep in its place when there is no request slot, as the kernel's workers do for io_uring: it is
    /// never told that it sleeps.
    fn sleeps_for_slots(&self) -> bool {
        true
    }

    /// True once [`Emission::Exit`] has been emitted: nothing more will happen.
    fn is_finished(&self) -> bool;

    /// False once nothing that it does hangs on whether others have exited: it need not hear of that any more.
    fn awaits_exits(&self) -> bool {
        true
    }

    /// True if an I/O of its is over for it when it says so ([`Emission::Taken`]), not when it hears of it.
    fn takes_completions(&self) -> bool {
        false
    }

    /// True if what it does next also hangs on what happens to its like on other disks of a world of several: `next`
    /// may change without a call.
    fn hangs_on_other_disks(&self) -> bool {
        false
    }

    /// Whose bios these are.
    fn submitter(&self) -> SubmitterId;

    /// What went wrong with it so far.
    fn trouble(&self) -> Trouble {
        Trouble::default()
    }
}

/// What went wrong with a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// I/Os that failed.
    pub errors: u64,
    /// Why it ended before its time, if it did.
    pub gave_up: Option<GaveUp>,
}

/// Why a source ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// An I/O failed.
    Io,
    /// It fell below fio's `rate_min` or `rate_iops_min`.
    RateMin,
    /// An I/O took longer than fio's `max_latency`.
    MaxLatency,
}

impl GaveUp {
    /// The error number that fio reports: EIO, or ETIMEDOUT (tried).
    pub fn errno(self) -> i32 {
        match self {
            GaveUp::Io | GaveUp::RateMin => 5,
            GaveUp::MaxLatency => 110,
        }
    }
}

/// What a source does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission {
    /// Give this bio to the queue: direct I/O.
    Submit(Bio),
    /// A system call that goes through the host's page cache; its return is delivered as [`Delivered::Done`].
    Call(HostCall),
    /// The source says something about a file's place in memory.
    Remember {
        /// Which file.
        file: OpenFile,
        /// What.
        memory: Memory,
    },
    /// Its burst is over: the system call returns or sleeps, and plugs open.
    Waits,
    /// Another source is to hear this at the same moment: a pipe, a semaphore, a message. What the word means is
    /// between the two; one to a source that has exited is lost.
    Tell {
        /// The source that is told.
        to: SubmitterId,
        /// What.
        word: u64,
    },
    /// The source takes the completion of one of its I/Os: for its own books, and so for reports, the I/O ends now.
    /// Only of sources that [take](Source::takes_completions) theirs.
    Taken {
        /// Which.
        tag: Tag,
        /// When its submission was over, if that was not at once.
        accepted: Option<Instant>,
    },
    /// The submitter is gone; every other source wants to hear of it ([`Delivered::Exited`]).
    Exit,
}

/// What comes back to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A bio of its own is complete, or a call has returned.
    Done {
        /// Which.
        tag: Tag,
        /// The disk could not do it.
        failed: bool,
    },
    /// A slot came free: the submission that slept went through.
    Awake,
    /// Another source said something ([`Emission::Tell`]).
    Told {
        /// The submitter.
        from: SubmitterId,
        /// What.
        word: u64,
    },
    /// Another submitter has exited. Told to every source, so that those behind a stonewall can begin.
    Exited(SubmitterId),
}
